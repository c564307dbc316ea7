//! The path of a request: gateway, router, body, handler, reply.
//!
//! What is worked on at once is bounded, and no account takes all of it ([`super::shares`]): a request takes a place, waits
//! for one of its account's turns, takes memory for a large answer, and only then runs.

use std::sync::Arc;
use std::time::Instant;

use hyper::body::Incoming as IncomingBody;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, Request, Response};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tracing::Instrument;
use ulid::Ulid;

use super::answers::{Estimates, FILE_BYTES, ResponseBody, SMALL_BYTES};
use super::body::{Budget, RequestBody};
use super::connections::Activity;
use super::shares::{Share, Shares};
use crate::api::error::{self, ErrorFormat};
use crate::api::query::QueryString;
use crate::api::routes::{Access, Executor, Handler, Metering, ResponseSize, Route, RouteMatch, Router};
use crate::api::unknown::UnknownNames;
use crate::api::{AuthenticatedRequest, Reply, ReplyBody, RetrievalSlot, RouteRequest, retrieve};
use crate::billing::meters::{Meter, Permit};
use crate::error::{Error, Result};
use crate::gateway::{Gateway, Principal, Refusal};
use crate::service::Service;
use crate::telemetry;

/// The header that names a request, in the answer and, where the client chose the name, in the question.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longer names are not taken over from a client.
const REQUEST_ID_BYTES_MAX: usize = 128;

/// Requests of git's at once.
const TRANSFERS_MAX: usize = 32;
/// Files sent at once.
const FILES_MAX: usize = 64;
/// Requests of the MCP endpoint at once, and of one account that run at once.
const TOOLS: (usize, usize) = (64, 16);
/// Requests without a credential at once, and of one route that run at once.
const OPEN: (usize, usize) = (1024, 16);
/// Requests of one account that run at once on the blocking pool. Its others wait, so that its threads do not crowd out
/// those of other accounts.
const TURNS: usize = 32;
/// Retrievals of one account that run at once, by retrieval thread: enough to keep all threads busy, few enough that
/// another account's retrieval soon gets one.
const TURNS_BY_THREAD: usize = 4;
/// Large answers of one account that are made at once.
const LARGE_AT_ONCE: usize = 2;
/// A retrieval that asks for more hits than this may have a large answer.
const HITS_MANY: usize = 50;
/// Taken before a large answer is made of which nothing is known yet: 1 MiB, and less where the budget is small.
const UNKNOWN_BYTES: usize = 1 << 20;

/// What answers the API's requests.
pub(super) struct RequestHandler {
    pub(super) service: Arc<Service>,
    pub(super) gateway: Arc<Gateway>,
    router: Router,
    /// Memory for the bodies of accounts, and for answers.
    pub(super) bodies: Budget,
    /// Memory for bodies that come without a credential.
    pub(super) open_bodies: Budget,
    /// What large answers took.
    estimates: Estimates,
    retrievals: Arc<Shares>,
    requests: Arc<Shares>,
    /// Those of the requests whose answers are large.
    listings: Arc<Shares>,
    /// Requests without a credential, by route instead of account.
    open: Arc<Shares>,
    /// Requests of git's, in addition to the others: a clone lasts as long as its client takes.
    transfers: Arc<Shares>,
    /// Requests of the MCP endpoint, in addition to those that their tools make.
    tools: Arc<Shares>,
    /// Files that are being sent.
    files: Arc<Shares>,
}

/// A reply, and what it holds until it is written.
pub(super) struct HeldReply {
    pub(super) reply: Reply,
    /// Its part of the budget, where it is large.
    memory: Option<Share>,
    /// Its place among the files that are sent, where it is one.
    file: Option<Share>,
}

impl From<Reply> for HeldReply {
    fn from(reply: Reply) -> Self {
        Self { reply, memory: None, file: None }
    }
}

/// Places among what is worked on, and the turn that was waited for.
pub(super) struct Running {
    _place: Share,
    _listing: Option<Share>,
    _turn: OwnedSemaphorePermit,
}

/// A request that may be worked on.
struct Job {
    route: &'static Route,
    /// None for a route without a credential.
    account: Option<String>,
    /// Whether memory is taken before the answer is made.
    answer: ResponseSize,
    place: Arc<RetrievalSlot>,
    unknown: UnknownNames,
}

impl RequestHandler {
    pub(super) fn new(service: Arc<Service>, gateway: Arc<Gateway>) -> anyhow::Result<Self> {
        let settings = &service.config.server;
        let retrievals = service.config.retrieval_concurrency;
        // A retrieval that waits for a hosted model's vector keeps no retrieval thread.
        let turns = match service.models.are_remote() {
            true => retrievals,
            false => service.searchers.current_num_threads() * TURNS_BY_THREAD,
        };
        Ok(Self {
            router: Router::new()?,
            bodies: Budget::new(settings.body_memory_mib),
            open_bodies: Budget::open(),
            estimates: Estimates::new(),
            retrievals: Shares::new(retrievals, (retrievals / 2).max(2), turns),
            requests: Shares::new(settings.requests, (settings.requests / 4).max(1), TURNS),
            listings: Shares::new(usize::MAX, 0, LARGE_AT_ONCE),
            open: Shares::new(OPEN.0, OPEN.0 / 16, OPEN.1),
            transfers: Shares::new(TRANSFERS_MAX, TRANSFERS_MAX / 2, TRANSFERS_MAX),
            tools: Shares::new(TOOLS.0, TOOLS.0 / 4, TOOLS.1),
            files: Shares::new(FILES_MAX, FILES_MAX / 2, FILES_MAX),
            service,
            gateway,
        })
    }

    /// Answers one request.
    pub(super) async fn answer(
        self: Arc<Self>,
        request: Request<IncomingBody>,
        activity: Arc<Activity>,
    ) -> Response<ResponseBody> {
        self.answer_route(request, activity).await
    }

    /// Answers one request to the table of routes.
    pub(super) async fn answer_route<B: RequestBody>(
        self: Arc<Self>,
        request: Request<B>,
        activity: Arc<Activity>,
    ) -> Response<ResponseBody> {
        let (began, service) = (Instant::now(), Arc::clone(&self.service));
        let id = request_id(request.headers());
        let found = self.router.find(request.method(), request.uri().path());
        let (method, path) = found.as_ref().map_or(("", ""), |(route, _)| (route.method.as_str(), route.path));
        // What is logged on the way to the answer carries the id, and nothing of what was sent.
        let traced = service.config.collector.is_some();
        let span = telemetry::request_span(traced, id.to_str().unwrap_or_default(), (method, path), request.headers());
        let replied = self.reply(request, found, &activity).instrument(span.clone()).await;
        let mut response = replied.unwrap_or_else(HeldReply::from).respond();
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
        found: Option<RouteMatch>,
        activity: &Arc<Activity>,
    ) -> Result<HeldReply, Reply> {
        let (head, body) = request.into_parts();
        let open = found.as_ref().is_some_and(|(route, _)| route.access == Access::Open);
        // The gateway stands before the router: without a credential nobody learns which routes there are.
        let (headers, principal) = match open {
            true => (head.headers, None),
            false => {
                let (headers, principal) = authorize(&self.gateway, head.headers).await?;
                activity.belongs_to(&principal.account);
                (headers, Some(principal))
            }
        };
        let Some((route, parameters)) = found else {
            return Err(error::reply(&error::no_route(), &ErrorFormat::Envelope));
        };
        let query = QueryString::parse(head.uri.query().unwrap_or_default());
        let shape = shape(route, &query, principal.as_ref());
        if let Some(principal) = &principal {
            let admitted = self.gateway.admit(principal).map_err(error::rate_limited);
            admitted.and_then(|()| route.access.check(principal)).map_err(|failure| error::reply(&failure, &shape))?;
        }
        let unknown = UnknownNames::in_query(&route.known_names(), &query);
        let unknown = unknown.map_err(|failure| error::reply(&failure, &shape))?;
        let (budget, sender) = match &principal {
            Some(principal) => (&self.bodies, principal.account.as_str()),
            None => (&self.open_bodies, route.path),
        };
        let body = budget.read(body, sender, route.body, self.service.config.server.body_timeout).await?;
        let _working = activity.work();
        let place = Arc::new(RetrievalSlot::default());
        let job = Job {
            route,
            account: principal.as_ref().map(|principal| principal.account.clone()),
            answer: answer_of(route, &query),
            place: Arc::clone(&place),
            unknown: unknown.clone(),
        };
        let request = RouteRequest {
            service: Arc::clone(&self.service),
            parameters,
            query,
            unknown,
            headers,
            body: body.bytes.clone(),
            retrieval_slot: place,
        };
        let answered = match (&route.handler, principal) {
            (Handler::Guarded(handler), Some(principal)) => {
                let call = AuthenticatedRequest { request, gateway: Arc::clone(&self.gateway), principal };
                let handler = *handler;
                self.run(job, &shape, move || metered(route, &call, handler)).await
            }
            (Handler::Open(handler), _) => {
                let handler = *handler;
                self.run(job, &shape, move || handler(&request)).await
            }
            (Handler::Guarded(_), None) => {
                Err(error::reply(&Error::internal("a guarded route without a caller"), &shape))
            }
        };
        drop(body);
        answered
    }

    /// Runs a handler on its executor, and takes the memory for its answer. A panic is a failure like any other; no
    /// free place, or no memory, is a reply of its own. Replies and failures of the handler get the warnings about unknown
    /// names.
    async fn run(
        &self,
        job: Job,
        shape: &ErrorFormat,
        work: impl FnOnce() -> Result<Reply> + Send + 'static,
    ) -> Result<HeldReply, Reply> {
        let Job { route, account, answer, place, unknown } = job;
        let refuse = |failure: Error| unknown.add_to(error::reply(&failure, shape));
        let names = unknown.clone();
        // Added where the reply is made, before its size is known to the budget.
        let work = move || work().map(|reply| names.add_to(reply));
        if route.executor == Executor::Inline {
            return work().map(HeldReply::from).map_err(refuse);
        }
        let sender = account.as_deref().unwrap_or(route.path);
        let running = match (&account, route.executor) {
            (None, _) => run_turn(&self.open, sender, 1).await?,
            (Some(_), Executor::Retrieval | Executor::Retrieve) => {
                let turns = match answer {
                    ResponseSize::Small => 1,
                    ResponseSize::Large => self.retrievals.turns().div_ceil(LARGE_AT_ONCE),
                };
                run_turn(&self.retrievals, sender, turns).await?
            }
            (Some(_), _) if answer == ResponseSize::Large => self.listing_turn(sender).await?,
            (Some(_), _) => run_turn(&self.requests, sender, 1).await?,
        };
        // Known better after the wait for the turn: answers of the same kind were made meanwhile.
        let memory = self.memory_for(route, sender, answer)?;
        let outcome = match route.executor {
            Executor::Retrieval | Executor::Retrieve => {
                place.hold(running);
                self.search(route, place, work).await
            }
            Executor::Ordinary | Executor::Inline => blocking(route, running, work).await,
        };
        match outcome {
            Ok(reply) => self.keep(route, sender, reply, memory),
            Err(failure) => Err(refuse(failure)),
        }
    }

    /// Takes the memory for an answer before it is made: what such answers took of late, or little where nothing is
    /// known of a large one.
    fn memory_for(&self, route: &Route, sender: &str, answer: ResponseSize) -> Result<Option<Share>, Reply> {
        let known = self.estimates.of(route.path, sender).min(self.bodies.bytes() / 2);
        let wanted = match answer {
            ResponseSize::Small => known,
            ResponseSize::Large => known.max(UNKNOWN_BYTES.min(self.bodies.bytes() / 64)),
        };
        if wanted == 0 {
            return Ok(None);
        }
        self.bodies.hold(sender, wanted).map(Some).ok_or_else(error::unavailable)
    }

    /// Runs a handler on the retrieval threads.
    async fn search(
        &self,
        route: &'static Route,
        place: Arc<RetrievalSlot>,
        work: impl FnOnce() -> Result<Reply> + Send + 'static,
    ) -> Result<Reply> {
        let span = tracing::Span::current();
        let (send, receive) = oneshot::channel();
        let work = move || {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| span.in_scope(work)));
            // Given back by the work itself: a client that left does not make room for one more.
            place.release();
            // The client may be gone; then nobody waits for the answer.
            let _ = send.send(caught.ok());
        };
        if self.service.models.are_remote() {
            // Whoever waits for the network must not keep a thread that could search.
            tokio::task::spawn_blocking(work);
        } else {
            self.service.searchers.spawn(work);
        }
        receive.await.ok().flatten().unwrap_or_else(|| Err(panicked(route)))
    }

    /// Takes what an answer holds until it is written: memory where it is large, a place where it is a file.
    fn keep(
        &self,
        route: &'static Route,
        sender: &str,
        reply: Reply,
        mut memory: Option<Share>,
    ) -> Result<HeldReply, Reply> {
        let bytes = match &reply.body {
            ReplyBody::Bytes(bytes) => bytes.len(),
            ReplyBody::File(file) => {
                let place = self.files.take(&file.account, 1).ok_or_else(error::unavailable)?;
                let memory = self.bodies.hold(&file.account, FILE_BYTES).ok_or_else(error::unavailable)?;
                return Ok(HeldReply { reply, memory: Some(memory), file: Some(place) });
            }
        };
        self.estimates.learn(route.path, sender, bytes);
        if bytes <= SMALL_BYTES {
            return Ok(reply.into());
        }
        let held = match &mut memory {
            Some(memory) => memory.resize(Budget::pieces(bytes)),
            None => {
                memory = self.bodies.hold(sender, bytes);
                memory.is_some()
            }
        };
        if !held {
            return Err(error::unavailable());
        }
        Ok(HeldReply { reply, memory, file: None })
    }

    /// The memory that an answer of `bytes` bytes holds until it is written; none for a small one.
    pub(super) fn answer_memory(&self, account: &str, bytes: usize) -> Result<Option<Share>, Reply> {
        if bytes <= SMALL_BYTES {
            return Ok(None);
        }
        self.bodies.hold(account, bytes).map(Some).ok_or_else(error::unavailable)
    }

    /// A reply that no table of routes made, with the memory that it holds.
    pub(super) fn keep_for(&self, account: &str, reply: Reply) -> Result<HeldReply, Reply> {
        let bytes = match &reply.body {
            ReplyBody::Bytes(bytes) => bytes.len(),
            ReplyBody::File(_) => 0,
        };
        let memory = self.answer_memory(account, bytes)?;
        Ok(HeldReply { reply, memory, file: None })
    }

    /// A place among the requests of an account, and one of its few turns to make a large answer.
    async fn listing_turn(&self, account: &str) -> Result<Running, Reply> {
        let place = self.requests.take(account, 1).ok_or_else(error::unavailable)?;
        let running = run_turn(&self.listings, account, 1).await?;
        Ok(Running { _listing: Some(place), ..running })
    }

    /// A place and a turn among the requests of an account, for what no table of routes knows.
    pub(super) async fn request_turn(&self, account: &str) -> Result<Running, Reply> {
        run_turn(&self.requests, account, 1).await
    }

    /// The same for a route without a credential that no table of routes knows.
    pub(super) async fn open_turn(&self, path: &str) -> Result<Running, Reply> {
        run_turn(&self.open, path, 1).await
    }

    /// The same for the MCP endpoint.
    pub(super) async fn tool_turn(&self, account: &str) -> Result<Running, Reply> {
        run_turn(&self.tools, account, 1).await
    }

    /// A place among the transfers of git's. They wait for no turns.
    pub(super) fn transfer_place(&self, account: &str) -> Result<Share, Reply> {
        self.transfers.take(account, 1).ok_or_else(error::unavailable)
    }
}

impl HeldReply {
    /// As hyper sends it.
    pub(super) fn respond(self) -> Response<ResponseBody> {
        let Reply { status, headers, body } = self.reply;
        let body = match body {
            ReplyBody::Bytes(bytes) => ResponseBody::Bytes { bytes, memory: self.memory },
            ReplyBody::File(file) => ResponseBody::file(file, (self.memory, self.file)),
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in headers {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// How large this request's answer can become.
fn answer_of(route: &Route, query: &QueryString) -> ResponseSize {
    if query.get("detail") == Some("full") {
        return ResponseSize::Large;
    }
    if !matches!(route.executor, Executor::Retrieval | Executor::Retrieve) {
        return route.response_size;
    }
    let hits: usize = query.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(0);
    if hits > HITS_MANY { ResponseSize::Large } else { ResponseSize::Small }
}

/// Takes a place, and waits for turns of the account that has it.
async fn run_turn(places: &Arc<Shares>, account: &str, turns: usize) -> Result<Running, Reply> {
    let place = places.take(account, 1).ok_or_else(error::unavailable)?;
    let turns = u32::try_from(turns).unwrap_or(1);
    let turn = place.turns().acquire_many_owned(turns).await.map_err(|_| error::unavailable())?;
    Ok(Running { _place: place, _listing: None, _turn: turn })
}

/// Runs a handler on the blocking pool.
async fn blocking(
    route: &'static Route,
    running: Running,
    work: impl FnOnce() -> Result<Reply> + Send + 'static,
) -> Result<Reply> {
    let span = tracing::Span::current();
    let outcome = tokio::task::spawn_blocking(move || {
        // Given back by the work itself: a client that left does not make room for one more.
        let _running = running;
        span.in_scope(work)
    });
    outcome.await.unwrap_or_else(|_| Err(panicked(route)))
}

fn panicked(route: &Route) -> Error {
    Error::internal(format!("the handler of {} {} panicked", route.method, route.path))
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

/// The headers of a caller who is let in, and who it is, counted as a request of the account; for what no table of routes
/// knows.
pub(super) async fn admitted(gateway: &Arc<Gateway>, headers: HeaderMap) -> Result<(HeaderMap, Principal), Reply> {
    let (headers, principal) = authorize(gateway, headers).await?;
    let counted = gateway.admit(&principal).map_err(error::rate_limited);
    counted.map_err(|failure| error::reply(&failure, &ErrorFormat::Envelope))?;
    Ok((headers, principal))
}

/// Reserves the unit that a call counts as, runs it, and counts it when it was answered.
fn metered(
    route: &Route,
    call: &AuthenticatedRequest,
    handler: fn(&AuthenticatedRequest) -> Result<Reply>,
) -> Result<Reply> {
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
fn shape(route: &Route, query: &QueryString, principal: Option<&Principal>) -> ErrorFormat {
    match route.executor {
        Executor::Retrieve => ErrorFormat::Retrieve { namespace: retrieve::named_namespace(query, principal) },
        Executor::Inline | Executor::Ordinary | Executor::Retrieval => ErrorFormat::Envelope,
    }
}

/// A small reply as hyper sends it.
pub(super) fn respond(reply: Reply) -> Response<ResponseBody> {
    HeldReply::from(reply).respond()
}
