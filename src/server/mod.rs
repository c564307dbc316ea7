//! The HTTP server: listeners, connections, requests, and an orderly stop.
//!
//! Async is here and nowhere deeper: a request's body is read ([`body`]), then its handler runs as plain blocking code
//! ([`requests`]), on tokio's blocking pool or, for retrievals, on the retrieval threads, and its answer is sent
//! ([`answers`]). [`shares`] keeps any one account from taking everything. [`connections`] is what every listener has in
//! common: how many, how slow, how silent a client may be. [`git`] and [`mcp`] speak protocols of their own
//! under the API's address; [`animals`], [`dashboard`], [`metrics`] and [`sandbox`] are listeners of their own.

mod animals;
mod answers;
mod body;
mod connections;
mod dashboard;
mod descriptors;
mod git;
mod mcp;
mod metrics;
mod requests;
mod sandbox;
mod shares;
mod stalled;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request};
use tokio::net::{TcpListener, TcpSocket, lookup_host};
use tower::{Layer, ServiceExt};
use tower_http::cors::{AllowOrigin, CorsLayer};

use self::animals::Animals;
use self::connections::Connections;
use self::requests::RequestHandler;
use crate::gateway::Gateway;
use crate::jobs::Workers;
use crate::service::Service;

/// A server that listens, ready to be run.
pub struct Server {
    listener: TcpListener,
    pets: Option<TcpListener>,
    sandbox: Option<TcpListener>,
    metrics: Option<TcpListener>,
    dashboard: Option<TcpListener>,
    api: Arc<RequestHandler>,
    workers: Workers,
}

impl Server {
    /// Binds the addresses and starts the workers.
    pub async fn bind(service: Arc<Service>) -> anyhow::Result<Self> {
        let listener = bind(&service.config.listen, "--listen").await?;
        let pets = match &service.config.pets_listen {
            Some(address) => Some(bind(address, "--pets-listen").await?),
            None => None,
        };
        let metrics = match &service.config.metrics_listen {
            Some(address) => Some(bind(address, "--metrics-listen").await?),
            None => None,
        };
        let dashboard = bind_dashboard(&service).await?;
        let sandbox = match service.billing.sandbox() {
            Some(sandbox) => {
                let listener = bind(&service.config.payments.sandbox_listen, "setting payments.sandbox_listen").await?;
                sandbox.listens_at(format!("http://{}", listener.local_addr()?));
                Some(listener)
            }
            None => None,
        };
        service.listens_at(format!("http://{}", listener.local_addr()?));
        let gateway = Arc::new(Gateway::new(Arc::clone(&service))?);
        let api = Arc::new(RequestHandler::new(Arc::clone(&service), gateway)?);
        Ok(Self { listener, pets, sandbox, metrics, dashboard, api, workers: Workers::start(&service)? })
    }

    /// Where it listens.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Where the animals API listens, if it does.
    pub fn pets_address(&self) -> Option<SocketAddr> {
        self.pets.as_ref().and_then(|listener| listener.local_addr().ok())
    }

    /// Where the metrics are told, if they are.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().and_then(|listener| listener.local_addr().ok())
    }

    /// The gate, so that a revocation on the command line takes effect here at once.
    pub fn gateway(&self) -> Arc<Gateway> {
        Arc::clone(&self.api.gateway)
    }

    /// Serves until `stop` completes, then drains: open requests finish, workers finish the message at hand, and what
    /// was buffered is synced.
    pub async fn run(self, stop: impl Future<Output = ()>) -> anyhow::Result<()> {
        let Self { listener, pets, sandbox, metrics, dashboard, api, workers } = self;
        let service = Arc::clone(&api.service);
        let origins = service.config.dashboard_origins.iter().map(String::as_str).chain(service.dashboard.url());
        let cors = cors(origins)?;
        let mut settings = service.config.server.clone();
        settings.connections = descriptors::connections(settings.connections);
        let settings = &settings;
        let (halt, halted) = tokio::sync::watch::channel(false);
        let mut open = tokio::task::JoinSet::new();

        let animals = Animals::new(Arc::clone(&api));
        if let Some(listener) = pets {
            let connections = Connections::new(settings);
            let answer = move |request, activity| Arc::clone(&animals).answer(request, activity);
            open.spawn(connections.serve(listener, halted.clone(), answer));
        }
        if let Some(listener) = sandbox {
            let connections = Connections::new(settings);
            let service = Arc::clone(&service);
            let answer = move |request, activity| sandbox::answer(Arc::clone(&service), request, activity);
            open.spawn(connections.serve(listener, halted.clone(), answer));
        }
        if let Some(listener) = metrics {
            let connections = Connections::new(settings);
            let service = Arc::clone(&service);
            let answer = move |request, activity| metrics::answer(Arc::clone(&service), request, activity);
            open.spawn(connections.serve(listener, halted.clone(), answer));
        }
        if let Some(listener) = dashboard {
            let connections = Connections::new(settings);
            let api = Arc::clone(&api);
            let answer = move |request, activity| dashboard::answer(Arc::clone(&api), request, activity);
            open.spawn(connections.serve(listener, halted.clone(), answer));
        }
        let answer = move |request: Request<hyper::body::Incoming>, activity| {
            let (api, cors) = (Arc::clone(&api), cors.clone());
            async move {
                // No browser speaks git.
                if git::is_asked(&request) {
                    return git::answer(api, request, activity).await;
                }
                let inner = tower::service_fn(move |request| {
                    let (api, activity) = (Arc::clone(&api), Arc::clone(&activity));
                    async move {
                        let response = if mcp::matches(&request) {
                            mcp::respond_counted(api, request, activity).await
                        } else {
                            api.answer(request, activity).await
                        };
                        Ok::<_, std::convert::Infallible>(response)
                    }
                });
                match cors.layer(inner).oneshot(request).await {
                    Ok(response) => response,
                    Err(never) => match never {},
                }
            }
        };
        open.spawn(Connections::new(settings).serve(listener, halted, answer));

        stop.await;
        // Nobody listening to this is nobody left to stop.
        let _ = halt.send(true);
        let kept = Arc::clone(&service);
        let drained = async move {
            while open.join_next().await.is_some() {}
            tokio::task::spawn_blocking(move || workers.drain()).await
        };
        match tokio::time::timeout(service.config.server.shutdown, drained).await {
            Ok(drained) => drained?,
            // Nothing is lost by it: what was accepted is durable.
            Err(_) => tracing::warn!("some work did not end in time; what was accepted goes on at the next start"),
        }
        if let Err(error) = kept.billing.flush_meters() {
            tracing::error!(%error, "the last counts of used units could not be written");
        }
        Ok(kept.store.sync()?)
    }
}

/// The kernel's send buffer of a connection, 128 KiB, of which Linux makes twice as much. What has gone into it counts as
/// taken by the client: with the usual size, which grows to 4 MiB, answers of a megabyte went into it whole, no write
/// ever waited, and clients that read nothing were not given up.
const SEND_BUFFER_BYTES: u32 = 128 << 10;
/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;

async fn bind(address: &str, option: &str) -> anyhow::Result<TcpListener> {
    let bound = listen(address).await;
    bound.with_context(|| format!("cannot listen on {address} ({option} takes another address)"))
}

/// Listens at the first of an address's meanings that can be had.
async fn listen(address: &str) -> std::io::Result<TcpListener> {
    let mut failed = std::io::Error::new(std::io::ErrorKind::InvalidInput, "the name has no address");
    for address in lookup_host(address).await? {
        match listen_at(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn listen_at(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // As TcpListener::bind does, so that a server that was stopped can be started again at once.
    socket.set_reuseaddr(true)?;
    // Connections have what their listener has.
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// The dashboard's listener. Where nobody chose its address and the usual port is taken, it takes a free one.
async fn bind_dashboard(service: &Service) -> anyhow::Result<Option<TcpListener>> {
    let Some(address) = &service.config.dashboard_listen else { return Ok(None) };
    let listener = match bind(address, "--dashboard-listen").await {
        Err(error) if !service.config.is_chosen("dashboard.listen") => {
            tracing::warn!(error = format!("{error:#}"), "the dashboard takes a free port instead");
            bind("127.0.0.1:0", "--dashboard-listen").await?
        }
        bound => bound?,
    };
    service.dashboard.listens_at(format!("http://{}", listener.local_addr()?));
    Ok(Some(listener))
}

/// CORS for the dashboard's origins; from any other origin the preflight gets no permission.
fn cors<'a>(origins: impl Iterator<Item = &'a str>) -> anyhow::Result<CorsLayer> {
    let origins = origins.map(|origin| {
        HeaderValue::from_str(origin).with_context(|| format!("setting dashboard.origins: {origin:?} is no origin"))
    });
    let origins = origins.collect::<anyhow::Result<Vec<_>>>()?;
    let methods = [Method::GET, Method::POST, Method::PATCH, Method::DELETE, Method::OPTIONS];
    Ok(CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods(methods)
        .allow_headers([AUTHORIZATION, CONTENT_TYPE]))
}
