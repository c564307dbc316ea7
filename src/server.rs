//! The HTTP server: connections, requests, and an orderly stop.
//!
//! Async is here and nowhere deeper: a request's body is read, then the handler runs as plain blocking code, on tokio's
//! blocking pool or, for retrievals, on the retrieval threads.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};
use tower::ServiceBuilder;
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::api::error::{self, Shape};
use crate::api::query::QueryString;
use crate::api::routes::{HEALTH, Lane, Route, Router};
use crate::api::{BODY_BYTES_MAX, Call, Reply, identity, retrieve};
use crate::gateway::{Gateway, Refusal};
use crate::ingest::worker::Workers;
use crate::service::{Failure, Outcome, Service};

/// A request's headers must have arrived within this.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
/// A request's body must have arrived within this.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// Of a body that is too large so much more is read before the connection is given up: 64 MiB.
const DISCARDED_BYTES_MAX: usize = 64 << 20;
/// Headers of one request, at most.
const HEADERS_MAX: usize = 100;
/// Bytes of a request's head, at most.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Open requests get so long to finish when the server stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);

/// A server that listens, ready to be run.
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
    workers: Workers,
    connections: Arc<Semaphore>,
}

struct Shared {
    service: Arc<Service>,
    gateway: Arc<Gateway>,
    router: Router,
    retrieval_threads: rayon::ThreadPool,
    retrievals: Semaphore,
}

impl Server {
    /// Binds the address and starts the workers.
    pub async fn bind(service: Arc<Service>) -> anyhow::Result<Self> {
        let address = service.config.listen.clone();
        let listener = TcpListener::bind(&address)
            .await
            .with_context(|| format!("cannot listen on {address} (--listen takes another address)"))?;
        let threads = rayon::ThreadPoolBuilder::new().thread_name(|n| format!("retrieve-{n}")).build()?;
        let connections = Arc::new(Semaphore::new(service.config.connections));
        let shared = Shared {
            gateway: Arc::new(Gateway::new(Arc::clone(&service))),
            router: Router::new()?,
            retrieval_threads: threads,
            retrievals: Semaphore::new(service.config.retrieval_concurrency),
            service: Arc::clone(&service),
        };
        Ok(Self { listener, shared: Arc::new(shared), workers: Workers::start(&service)?, connections })
    }

    /// Where it listens.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The gate, so that a revocation on the command line takes effect here at once.
    pub fn gateway(&self) -> Arc<Gateway> {
        Arc::clone(&self.shared.gateway)
    }

    /// Serves until `stop` completes, then drains: open requests finish, workers finish the message at hand, and what
    /// was buffered is synced.
    pub async fn run(self, stop: impl Future<Output = ()>) -> anyhow::Result<()> {
        let Self { listener, shared, workers, connections } = self;
        let cors = cors(&shared.service.config.dashboard_origins)?;
        let graceful = GracefulShutdown::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let permit = tokio::select! {
                permit = Arc::clone(&connections).acquire_owned() => permit?,
                () = &mut stop => break,
            };
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut stop => break,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of descriptors, most likely: wait for some to be closed rather than spin.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            // Small replies must not wait for more to send.
            let _ = stream.set_nodelay(true);
            let shared = Arc::clone(&shared);
            let handler = tower::service_fn(move |request| {
                let shared = Arc::clone(&shared);
                async move { Ok::<_, Infallible>(shared.answer(request).await) }
            });
            let service = TowerToHyperService::new(ServiceBuilder::new().layer(cors.clone()).service(handler));
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIMEOUT)
                .max_headers(HEADERS_MAX)
                .max_buf_size(HEAD_BYTES_MAX)
                .serve_connection(TokioIo::new(stream), service);
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                // A client that went away or spoke no HTTP is its own affair.
                let _ = connection.await;
                drop(permit);
            });
        }
        drop(listener);
        if tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown()).await.is_err() {
            tracing::warn!("some requests did not finish in time and are cut off");
        }
        let service = Arc::clone(&shared.service);
        tokio::task::spawn_blocking(move || workers.drain()).await?;
        Ok(service.store.sync()?)
    }
}

/// CORS for the dashboard's origins; from any other origin the preflight gets no permission.
fn cors(origins: &[String]) -> anyhow::Result<CorsLayer> {
    let origins = origins.iter().map(|origin| {
        HeaderValue::from_str(origin).with_context(|| format!("setting dashboard.origins: {origin:?} is no origin"))
    });
    let origins = origins.collect::<anyhow::Result<Vec<_>>>()?;
    let methods = [Method::GET, Method::POST, Method::PATCH, Method::DELETE, Method::OPTIONS];
    Ok(CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods(methods)
        .allow_headers([AUTHORIZATION, CONTENT_TYPE]))
}

impl Shared {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if request.uri().path() == HEALTH && request.method() == Method::GET {
            return respond(reply_of(identity::health(), &Shape::Envelope));
        }
        let (head, body) = request.into_parts();
        let gateway = Arc::clone(&self.gateway);
        let headers = head.headers;
        let authorized = tokio::task::spawn_blocking(move || gateway.authorize(&headers)).await;
        let principal = match authorized.unwrap_or(Err(Refusal::Refused)) {
            Ok(principal) => principal,
            Err(refusal) => return respond(error::refusal(refusal)),
        };
        let Some((route, parameters)) = self.router.find(&head.method, head.uri.path()) else {
            return respond(error::reply(&error::no_route(), &Shape::Envelope));
        };
        let body = match read_body(body).await {
            Ok(body) => body,
            Err(failure) => return respond(error::reply(&failure, &Shape::Envelope)),
        };
        let call = Call {
            service: Arc::clone(&self.service),
            gateway: Arc::clone(&self.gateway),
            principal,
            parameters,
            query: QueryString::parse(head.uri.query().unwrap_or_default()),
            body,
        };
        respond(self.run(route, call).await)
    }

    /// Runs a handler where its lane says, and turns its outcome, or its panic, into a reply.
    async fn run(self: Arc<Self>, route: &'static Route, call: Call) -> Reply {
        match route.lane {
            Lane::Ordinary => {
                let outcome = tokio::task::spawn_blocking(move || (route.handler)(&call)).await;
                reply_of(outcome.unwrap_or_else(|_| Err(panicked(route))), &Shape::Envelope)
            }
            Lane::Retrieval => {
                let Ok(_permit) = self.retrievals.try_acquire() else { return error::unavailable() };
                let shape = Shape::Retrieve { namespace: retrieve::named_namespace(&call) };
                let (send, receive) = oneshot::channel();
                self.retrieval_threads.spawn(move || {
                    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (route.handler)(&call)));
                    // The client may be gone; then nobody waits for the answer.
                    let _ = send.send(caught.unwrap_or_else(|_| Err(panicked(route))));
                });
                reply_of(receive.await.unwrap_or_else(|_| Err(panicked(route))), &shape)
            }
        }
    }
}

fn panicked(route: &Route) -> Failure {
    Failure::internal(format!("the handler of {} {} panicked", route.method, route.path))
}

fn reply_of(outcome: Outcome<Reply>, shape: &Shape) -> Reply {
    outcome.unwrap_or_else(|failure| error::reply(&failure, shape))
}

/// A body up to the limit. What is above is read and thrown away, up to a second limit, so that a client that sends
/// first and reads later gets to see the refusal instead of a broken pipe.
async fn read_body(body: Incoming) -> Outcome<Bytes> {
    match tokio::time::timeout(BODY_TIMEOUT, collect(body)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Failure::invalid("invalid_body", "the body did not arrive in time")),
    }
}

async fn collect(mut body: Incoming) -> Outcome<Bytes> {
    let mut kept = BytesMut::new();
    let mut received = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Failure::invalid("invalid_body", "the body could not be read to its end"))?;
        let Some(data) = frame.data_ref() else { continue };
        received += data.len();
        if received <= BODY_BYTES_MAX {
            kept.extend_from_slice(data);
        } else if received > BODY_BYTES_MAX + DISCARDED_BYTES_MAX {
            break;
        }
    }
    if received > BODY_BYTES_MAX { Err(error::too_large()) } else { Ok(kept.freeze()) }
}

fn respond(reply: Reply) -> Response<Full<Bytes>> {
    let status = reply.status;
    let mut response = Response::new(Full::new(Bytes::from(reply.body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}
