//! The path of a request: gateway, router, body, handler, reply.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::channel::Channel;
use http_body_util::{Either, Full};
use hyper::body::Incoming as IncomingBody;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tracing::Instrument;
use ulid::Ulid;

use super::body::{Budget, RequestBody};
use super::connections::Activity;
use super::mcp;
use crate::api::error::{self, Shape};
use crate::api::query::QueryString;
use crate::api::routes::{Access, Found, Handler, Lane, Metering, Route, Router};
use crate::api::{Call, Incoming, Place, Reply, retrieve};
use crate::billing::meters::{Meter, Permit};
use crate::gateway::{Gateway, Principal, Refusal};
use crate::service::{Failure, Outcome, Service};
use crate::telemetry;

/// The header that names a request, in the answer and, where the client chose the name, in the question.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longer names are not taken over from a client.
const REQUEST_ID_BYTES_MAX: usize = 128;

/// An answer's body: at hand, or made while it is sent.
pub(super) type ResponseBody = Either<Full<Bytes>, Channel<Bytes, std::io::Error>>;

/// What answers the API's requests.
pub(super) struct Api {
    pub(super) service: Arc<Service>,
    pub(super) gateway: Arc<Gateway>,
    router: Router,
    pub(super) bodies: Budget,
    retrievals: Arc<Semaphore>,
    requests: Arc<Semaphore>,
    /// Requests of git's, apart from the others: a clone lasts as long as its client takes.
    pub(super) transfers: Arc<Semaphore>,
}

/// Requests of git's at once.
const TRANSFERS_MAX: usize = 32;

impl Api {
    pub(super) fn new(service: Arc<Service>, gateway: Arc<Gateway>, bodies: Budget) -> anyhow::Result<Self> {
        Ok(Self {
            router: Router::new()?,
            bodies,
            retrievals: Arc::new(Semaphore::new(service.config.retrieval_concurrency)),
            requests: Arc::new(Semaphore::new(service.config.server.requests)),
            transfers: Arc::new(Semaphore::new(TRANSFERS_MAX)),
            service,
            gateway,
        })
    }

    /// Answers one request.
    pub(super) async fn answer(
        self: Arc<Self>,
        request: Request<IncomingBody>,
        activity: Arc<Activity>,
    ) -> Response<Full<Bytes>> {
        if request.uri().path() == mcp::PATH {
            let (began, id) = (Instant::now(), request_id(request.headers()));
            // What else is sent there is refused, and its methods are of the client's making.
            let method = if request.method() == Method::POST { "POST" } else { "" };
            let mut response = mcp::answer(&self, request, &activity).await.unwrap_or_else(respond);
            response.headers_mut().insert(REQUEST_ID, id);
            self.service.metrics.answered(method, mcp::PATH, response.status().as_u16(), began.elapsed());
            return response;
        }
        self.answer_route(request, activity).await
    }

    /// Answers one request to the table of routes.
    pub(super) async fn answer_route<B: RequestBody>(
        self: Arc<Self>,
        request: Request<B>,
        activity: Arc<Activity>,
    ) -> Response<Full<Bytes>> {
        let (began, service) = (Instant::now(), Arc::clone(&self.service));
        let id = request_id(request.headers());
        let found = self.router.find(request.method(), request.uri().path());
        let (method, path) = found.as_ref().map_or(("", ""), |(route, _)| (route.method.as_str(), route.path));
        // What is logged on the way to the answer carries the id, and nothing of what was sent.
        let traced = service.config.collector.is_some();
        let span = telemetry::request_span(traced, id.to_str().unwrap_or_default(), (method, path), request.headers());
        let replied = self.reply(request, found, &activity).instrument(span.clone()).await;
        let mut response = respond(replied.unwrap_or_else(|refused| refused));
        response.headers_mut().insert(REQUEST_ID, id);
        let took = began.elapsed();
        let status = response.status().as_u16();
        service.metrics.answered(method, path, status, took);
        span.in_scope(|| tracing::debug!(status, ?took, "answered"));
        if traced {
            telemetry::request_ended(&span, status);
        }
        response
    }

    async fn reply<B: RequestBody>(
        self: Arc<Self>,
        request: Request<B>,
        found: Option<Found>,
        activity: &Arc<Activity>,
    ) -> Result<Reply, Reply> {
        let (head, body) = request.into_parts();
        let open = found.as_ref().is_some_and(|(route, _)| route.access == Access::Open);
        // The gateway stands before the router: without a credential nobody learns which routes there are.
        let (headers, principal) = match open {
            true => (head.headers, None),
            false => {
                let (headers, principal) = authorize(&self.gateway, head.headers).await?;
                (headers, Some(principal))
            }
        };
        let Some((route, parameters)) = found else {
            return Err(error::reply(&error::no_route(), &Shape::Envelope));
        };
        let query = QueryString::parse(head.uri.query().unwrap_or_default());
        let shape = shape(route, &query, principal.as_ref());
        if let Some(principal) = &principal {
            let admitted = self.gateway.admit(principal).map_err(error::rate_limited);
            admitted.and_then(|()| route.access.check(principal)).map_err(|failure| error::reply(&failure, &shape))?;
        }
        let body = self.bodies.read(body, route.body, self.service.config.server.body_timeout).await?;
        let _working = activity.work();
        let place = Arc::new(Place::default());
        let request = Incoming {
            service: Arc::clone(&self.service),
            parameters,
            query,
            headers,
            body: body.bytes.clone(),
            place: Arc::clone(&place),
        };
        let outcome = match (&route.handler, principal) {
            (Handler::Guarded(handler), Some(principal)) => {
                let call = Call { request, gateway: Arc::clone(&self.gateway), principal };
                let handler = *handler;
                self.run(route, place, move || metered(route, &call, handler)).await?
            }
            (Handler::Open(handler), _) => {
                let handler = *handler;
                self.run(route, place, move || handler(&request)).await?
            }
            (Handler::Guarded(_), None) => Err(Failure::internal("a guarded route without a caller")),
        };
        drop(body);
        Ok(outcome.unwrap_or_else(|failure| error::reply(&failure, &shape)))
    }

    /// Runs a handler where its lane says. A panic is a failure like any other; no free thread is a reply of its own.
    async fn run(
        &self,
        route: &'static Route,
        place: Arc<Place>,
        work: impl FnOnce() -> Outcome<Reply> + Send + 'static,
    ) -> Result<Outcome<Reply>, Reply> {
        let span = tracing::Span::current();
        let work = move || span.in_scope(work);
        let panicked = || Failure::internal(format!("the handler of {} {} panicked", route.method, route.path));
        if route.lane == Lane::Ordinary {
            // What is taken in is answered soon; the rest is told to come back rather than to wait in a growing line.
            // What needs no credential is cheap, and health must be told above all when there is much to do.
            let permit = match route.access {
                Access::Open => None,
                _ => Some(place_in(&self.requests)?),
            };
            let work = move || {
                let _permit = permit;
                work()
            };
            let outcome = tokio::task::spawn_blocking(work).await;
            return Ok(outcome.unwrap_or_else(|_| Err(panicked())));
        }
        let permit = place_in(&self.retrievals)?;
        place.take(permit);
        let (send, receive) = oneshot::channel();
        let work = move || {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            // Given back by the work itself: a client that left does not make room for one more.
            place.leave();
            // The client may be gone; then nobody waits for the answer.
            let _ = send.send(caught.ok());
        };
        if self.service.models.are_remote() {
            // Whoever waits for the network must not keep a thread that could search.
            tokio::task::spawn_blocking(work);
        } else {
            self.service.searchers.spawn(work);
        }
        Ok(receive.await.ok().flatten().unwrap_or_else(|| Err(panicked())))
    }
}

/// A place among what is worked on at once; no free one is a reply of its own.
pub(super) fn place_in(places: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Reply> {
    Arc::clone(places).try_acquire_owned().map_err(|_| error::unavailable())
}

/// Who calls, with the headers handed back. What the gateway remembers is answered here; the rest reads the store, or
/// asks an issuer, off the async threads.
pub(super) async fn authorize(gateway: &Arc<Gateway>, headers: HeaderMap) -> Result<(HeaderMap, Principal), Reply> {
    if let Some(principal) = gateway.recall(&headers) {
        return Ok((headers, principal));
    }
    let gateway = Arc::clone(gateway);
    let asked = tokio::task::spawn_blocking(move || (gateway.authorize(&headers), headers)).await;
    match asked {
        Ok((Ok(principal), headers)) => Ok((headers, principal)),
        Ok((Err(refusal), _)) => Err(error::refusal(refusal)),
        Err(_) => Err(error::refusal(Refusal::Refused)),
    }
}

/// The headers of a caller who is let in, and counted as a request of their account; for what no table of routes knows.
pub(super) async fn admitted(gateway: &Arc<Gateway>, headers: HeaderMap) -> Result<HeaderMap, Reply> {
    let (headers, principal) = authorize(gateway, headers).await?;
    let counted = gateway.admit(&principal).map_err(error::rate_limited);
    counted.map_err(|failure| error::reply(&failure, &Shape::Envelope))?;
    Ok(headers)
}

/// Reserves the unit that a call counts as, runs it, and counts it when it was answered.
fn metered(route: &Route, call: &Call, handler: fn(&Call) -> Outcome<Reply>) -> Outcome<Reply> {
    let meter = match route.metering {
        // Writes are counted with the write itself.
        Metering::Free | Metering::Write => None,
        Metering::Read => Some(Meter::Reads),
        Metering::Search => call.query.get("q").map(|_| Meter::Reads),
        Metering::Chat => Some(Meter::Chats),
    };
    let permit = meter.map(|meter| call.service.billing.reserve(call.account(), meter, || Ok(0))).transpose()?;
    let reply = handler(call)?;
    permit.into_iter().for_each(Permit::charge);
    Ok(reply)
}

/// The client's own name for a request, where it is plain, else a new one.
pub(super) fn request_id(headers: &HeaderMap) -> HeaderValue {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    let own = headers.get(REQUEST_ID).filter(|value| {
        let bytes = value.as_bytes();
        (1..=REQUEST_ID_BYTES_MAX).contains(&bytes.len()) && bytes.iter().copied().all(plain)
    });
    let fresh = || HeaderValue::from_str(&Ulid::generate().to_string()).unwrap_or(HeaderValue::from_static("none"));
    own.cloned().unwrap_or_else(fresh)
}

/// How this request's failures look.
fn shape(route: &Route, query: &QueryString, principal: Option<&Principal>) -> Shape {
    match route.lane {
        Lane::Retrieve => Shape::Retrieve { namespace: retrieve::named_namespace(query, principal) },
        Lane::Ordinary | Lane::Retrieval => Shape::Envelope,
    }
}

/// A reply as hyper sends it.
pub(super) fn respond(reply: Reply) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(reply.body));
    *response.status_mut() = reply.status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in reply.headers {
        response.headers_mut().insert(name, value);
    }
    response
}
