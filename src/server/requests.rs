//! The path of a request: gateway, router, body, handler, reply.
//!
//! A request is admitted ([`super::admission`]) and takes memory for a large answer ([`super::reply_memory`]) before
//! its handler runs.

use std::sync::Arc;
use std::time::Instant;

use cuebase_storage::records::Meter;
use cuebase_storage::{AccountId, NamespaceKey};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response};
use tokio::sync::oneshot;
use tracing::{Instrument, Span};
use ulid::Ulid;

use super::activity::Activity;
use super::admission::{Admission, RunPermit};
use super::body::{MemoryBudget, ReceivedBody, RequestBody};
use super::client_body::ClientBody;
use super::forwarding::{ForwardedCaller, Forwarding, Questions};
use super::reply_memory::{GrowingMemory, HeldReply, ReplyMemory};
use super::response_body::ResponseBody;
use super::sender::Sender;
use super::slots::HeldSlots;
use super::write_wait::RequestedWait;
use crate::api::error::{self, ErrorFormat};
use crate::api::query::QueryString;
use crate::api::routes::{Access, BodyKind, Executor, Handler, Metering, ResponseSize, Route, RouteMatch, Router};
use crate::api::unknown::UnknownNames;
use crate::api::{AuthenticatedRequest, Reply, ReplyBody, RetrievalSlot, RouteRequest, peers, retrieve};
use crate::app::App;
use crate::config::Config;
use crate::dashboard::Dashboard;
use crate::error::{Error, Result};
use crate::gateway::{Gateway, Principal, Refusal};
use crate::memory::request::invalid_body;
use crate::metrics::Metrics;
use crate::metrics::day::events::AnsweredRequest;
use crate::service::retrieval::ReplyBudget;
use crate::service::search_threads::{ClientPresence, Search};
use crate::telemetry;

/// The header with the id of a request: in the response, and in the request if the client chose the id.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// A longer id of a client is replaced.
const REQUEST_ID_BYTES_MAX: usize = 128;
/// A retrieval that asks for more hits than this may have a large answer.
const HITS_MANY: usize = 50;

/// Answers the requests to the API.
pub(super) struct RequestHandler {
    pub(super) app: Arc<App>,
    pub(super) config: Config,
    pub(super) dashboard: Arc<Dashboard>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) gateway: Arc<Gateway>,
    router: Router,
    /// Memory for bodies of accounts and for answers.
    pub(super) bodies: MemoryBudget,
    /// Memory for bodies of senders without a credential.
    pub(super) open_bodies: MemoryBudget,
    pub(super) reply_memory: ReplyMemory,
    pub(super) admission: Admission,
    pub(super) forwarding: Arc<Forwarding>,
}

/// A request that passed the gateway and the router.
#[derive(Clone)]
pub(super) struct MatchedRequest {
    pub(super) route: &'static Route,
    /// Path and query.
    pub(super) target: String,
    pub(super) arrival: Arrival,
    parameters: Vec<String>,
    query: QueryString,
    pub(super) headers: HeaderMap,
    /// None on a route without a credential.
    pub(super) principal: Option<Principal>,
    unknown: UnknownNames,
    pub(super) error_format: ErrorFormat,
}

/// Where a request comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// From a client.
    Client,
    /// From another node, which has authenticated its caller. It is not forwarded again.
    Node,
}

/// Where a request was answered.
pub(super) enum Answered {
    /// In this process.
    Here(HeldReply),
    /// By the owner of its namespace.
    Elsewhere(HeldReply),
}

/// Why a handler made no reply.
pub(super) enum Failure {
    /// The reply that refuses the request.
    Refused(Reply),
    /// This process does not own the namespace. Nothing has changed.
    NotOwner(NamespaceKey),
}

impl Failure {
    /// The failure of a handler.
    fn of(error: Error, unknown: &UnknownNames, format: &ErrorFormat) -> Self {
        match error {
            Error::NotOwner(namespace) => Self::NotOwner(namespace),
            error => Self::Refused(unknown.add_to(error::reply(&error, format))),
        }
    }

    /// The reply to the request, if nobody else can answer it.
    pub(super) fn into_reply(self) -> Reply {
        match self {
            Self::Refused(reply) => reply,
            Self::NotOwner(namespace) => error::reply(&Error::NotOwner(namespace), &ErrorFormat::Envelope),
        }
    }
}

impl From<Reply> for Failure {
    fn from(reply: Reply) -> Self {
        Self::Refused(reply)
    }
}

/// A handler with its request.
enum HandlerCall {
    Guarded { handler: fn(&AuthenticatedRequest) -> Result<Reply>, request: AuthenticatedRequest },
    Open { handler: fn(&RouteRequest) -> Result<Reply>, request: RouteRequest },
}

/// A handler that is ready to run, and what its execution depends on.
struct RouteTask {
    route: &'static Route,
    sender: Sender,
    response_size: ResponseSize,
    slot: Arc<RetrievalSlot>,
    memory: Arc<GrowingMemory>,
    unknown: UnknownNames,
    error_format: ErrorFormat,
    call: HandlerCall,
}

impl MatchedRequest {
    pub(super) fn sender(&self) -> Sender {
        match &self.principal {
            Some(principal) => Sender::Account(principal.account.clone()),
            None => Sender::Route(self.route.path),
        }
    }

    /// The same request, to be answered again. Warnings of the first answer are left out.
    pub(super) fn again(&self) -> Self {
        let mut again = self.clone();
        // Cannot fail: the query was checked before.
        if let Ok(unknown) = UnknownNames::in_query(&self.route.known_names(), &self.query) {
            again.unknown = unknown;
        }
        again
    }

    /// Returns the wait for its write that the request asks for.
    fn wait(&self) -> Result<Option<RequestedWait>, Reply> {
        let wait = RequestedWait::parse(self.route, &self.query, self.principal.as_ref(), &self.unknown);
        wait.map_err(|error| self.unknown.add_to(error::reply(&error, &self.error_format)))
    }
}

impl RequestHandler {
    pub(super) fn new(
        app: Arc<App>,
        config: Config,
        dashboard: Arc<Dashboard>,
        gateway: Arc<Gateway>,
    ) -> anyhow::Result<Self> {
        let bodies = MemoryBudget::for_accounts(config.server.body_memory_mib);
        let forwarding = Arc::new(Forwarding::new(Arc::clone(&app))?);
        if !app.namespaces.ownership().is_alone() {
            // Before the limits of admission, which depend on it.
            peers::connect(&app, Arc::new(Questions::new(&forwarding)));
        }
        Ok(Self {
            router: Router::new()?,
            reply_memory: ReplyMemory::new(bodies.clone()),
            bodies,
            open_bodies: MemoryBudget::for_anonymous(),
            admission: Admission::new(&config, &app.reads, app.namespaces.ownership()),
            metrics: app.jobs.metrics(),
            forwarding,
            app,
            config,
            dashboard,
            gateway,
        })
    }

    /// Responds to a request from the network.
    pub(super) async fn respond(
        self: Arc<Self>,
        request: Request<ClientBody>,
        activity: Arc<Activity>,
    ) -> Response<ResponseBody> {
        self.respond_by_route(request, activity).await
    }

    /// Responds to a request by the route table, logs it and counts it.
    pub(super) async fn respond_by_route<B: RequestBody>(
        self: Arc<Self>,
        request: Request<B>,
        activity: Arc<Activity>,
    ) -> Response<ResponseBody> {
        let started = Instant::now();
        let id = request_id(request.headers());
        let found = self.router.find(request.method(), request.uri().path());
        let (method, path) = match &found {
            Some((route, _)) => (route.method.as_str(), route.path),
            None => ("", ""),
        };
        // Log lines of this request carry its id and nothing that the client sent.
        let traced = self.config.telemetry.otlp_endpoint.is_some();
        let span = telemetry::request_span(traced, id.to_str().unwrap_or_default(), (method, path), request.headers());
        let (account, reply) = self.answer(request, found, &activity).instrument(span.clone()).await;
        let mut response = reply.unwrap_or_else(HeldReply::from).respond();
        response.headers_mut().insert(REQUEST_ID, id);
        let took = started.elapsed();
        let status = response.status().as_u16();
        self.metrics.record_request(method, path, status, took);
        if let Some(account) = account {
            let request = AnsweredRequest { method, route: path, status, took };
            self.metrics.days().record_request(&account, request);
        }
        span.in_scope(|| tracing::debug!(status, ?took, "answered"));
        if traced {
            telemetry::request_ended(&span, status);
        }
        response
    }

    /// Makes the reply to a request; an error is the reply that refuses it. Also returns the account whose statistics
    /// count the request: that of an admitted request of a client.
    async fn answer<B: RequestBody>(
        &self,
        request: Request<B>,
        found: Option<RouteMatch>,
        activity: &Arc<Activity>,
    ) -> (Option<AccountId>, Result<HeldReply, Reply>) {
        let (mut head, body) = request.into_parts();
        let forwarded = head.extensions.remove::<ForwardedCaller>();
        let target = match head.uri.path_and_query() {
            Some(target) => target.as_str(),
            None => head.uri.path(),
        };
        let found = found.ok_or_else(|| self.no_route(&head.method, head.uri.path()));
        match self.check(head.headers, target, forwarded, found, activity).await {
            Ok(request) => {
                let account = match (request.arrival, &request.principal) {
                    (Arrival::Client, Some(principal)) => Some(principal.account.clone()),
                    // The node that forwarded the request counts it for the account.
                    (Arrival::Node, _) | (_, None) => None,
                };
                (account, self.reply(request, body, activity).await)
            }
            Err(refusal) => (None, Err(refusal)),
        }
    }

    /// Makes the reply to an admitted request.
    async fn reply<B: RequestBody>(
        &self,
        request: MatchedRequest,
        body: B,
        activity: &Arc<Activity>,
    ) -> Result<HeldReply, Reply> {
        let wait = request.wait()?;
        let route = request.route;
        let body = self.read_body(&request, body).await?;
        let _working = activity.work();
        let answered = if self.app.namespaces.ownership().is_alone() {
            Answered::Here(self.answer_here(request, &body).await.map_err(Failure::into_reply)?)
        } else {
            self.answer_at_owner(request, &body).await?
        };
        drop(body);
        match (answered, wait) {
            (Answered::Here(reply), Some(wait)) => Ok(self.wait_for_write(route, &wait, reply).await),
            // The owner has waited for the write.
            (Answered::Here(reply) | Answered::Elsewhere(reply), _) => Ok(reply),
        }
    }

    /// Runs the handler of a request.
    pub(super) async fn answer_here(&self, request: MatchedRequest, body: &ReceivedBody) -> Result<HeldReply, Failure> {
        let task = self.task(request, body)?;
        self.run(task).await
    }

    /// Returns the reply to a request that waits for its write. It is the `202` of the handler if the wait or the memory
    /// for another reply is refused, because the write is accepted in any case.
    async fn wait_for_write(&self, route: &Route, wait: &RequestedWait, accepted: HeldReply) -> HeldReply {
        let Some(write) = accepted.accepted() else { return accepted };
        if let Some(reply) = wait.reply(&self.app, &self.admission, write).await
            && let Ok(held) = self.hold(route, wait.sender(), reply, None)
        {
            return held;
        }
        accepted
    }

    /// Makes the response for a request that no route takes.
    fn no_route(&self, method: &Method, path: &str) -> Reply {
        let mut methods = self.router.methods(path);
        if methods.contains(&method.as_str()) {
            // The method is not at fault: a parameter in the path is not UTF-8.
            methods.clear();
        }
        error::no_route(&methods)
    }

    /// Authenticates the caller and checks that it may call the route. `found` is the refusal if there is no route.
    async fn check(
        &self,
        headers: HeaderMap,
        target: &str,
        forwarded: Option<ForwardedCaller>,
        found: Result<RouteMatch, Reply>,
        activity: &Activity,
    ) -> Result<MatchedRequest, Reply> {
        let is_open = match &found {
            Ok((route, _)) => route.access == Access::Open,
            Err(_) => false,
        };
        // The gateway comes before the router, so that callers without a credential do not learn which routes exist.
        let arrival = if forwarded.is_some() { Arrival::Node } else { Arrival::Client };
        let (headers, principal) = match forwarded {
            Some(ForwardedCaller(caller)) => (headers, caller),
            None if is_open => (headers, None),
            None => {
                let (headers, principal) = authorize(&self.gateway, headers).await?;
                activity.belongs_to(&principal.account);
                (headers, Some(principal))
            }
        };
        let (route, parameters) = found?;
        let query = QueryString::parse(target.split_once('?').unwrap_or_default().1);
        let error_format = error_format(route, &query, principal.as_ref());
        // The node that forwarded a request has counted it.
        if let Some(principal) = &principal
            && arrival == Arrival::Client
        {
            self.check_caller(route, principal).map_err(|error| error::reply(&error, &error_format))?;
        }
        let unknown = UnknownNames::in_query(&route.known_names(), &query);
        let unknown = unknown.map_err(|error| error::reply(&error, &error_format))?;
        let target = target.to_owned();
        Ok(MatchedRequest { route, target, arrival, parameters, query, headers, principal, unknown, error_format })
    }

    /// Counts the request of the account and checks that its credential opens the route.
    fn check_caller(&self, route: &Route, principal: &Principal) -> Result<()> {
        self.gateway.admit(principal).map_err(error::rate_limited)?;
        route.access.check(principal)
    }

    async fn read_body<B: RequestBody>(&self, request: &MatchedRequest, body: B) -> Result<ReceivedBody, Reply> {
        let route = request.route;
        let sender = request.sender();
        let budget = match &sender {
            Sender::Account(_) => &self.bodies,
            Sender::Route(_) => &self.open_bodies,
        };
        budget.read(body, &sender, route.body, self.config.server.body_timeout).await
    }

    /// Combines a request and its body with the handler of its route.
    fn task(&self, request: MatchedRequest, body: &ReceivedBody) -> Result<RouteTask, Reply> {
        let sender = request.sender();
        let MatchedRequest { route, parameters, query, headers, principal, unknown, error_format, .. } = request;
        let (query, error_format) = match route.body {
            BodyKind::Parameters => match query_of_body(route, &unknown, body) {
                // An error of a retrieval names the namespace, which is known only now.
                Ok(query) => {
                    let error_format = self::error_format(route, &query, principal.as_ref());
                    (query, error_format)
                }
                Err(error) => return Err(error::reply(&error, &error_format)),
            },
            _ => (query, error_format),
        };
        let slot = Arc::new(RetrievalSlot::default());
        let memory = self.reply_memory.growing(&sender);
        let response_size = response_size(route, &query);
        let request = RouteRequest {
            app: Arc::clone(&self.app),
            parameters,
            query,
            unknown: unknown.clone(),
            headers,
            body: body.bytes.clone(),
            retrieval_slot: Arc::clone(&slot),
            reply_budget: ReplyBudget::limited(memory.clone()),
        };
        let call = match (&route.handler, principal) {
            (Handler::Guarded(handler), Some(principal)) => {
                let request = AuthenticatedRequest { request, principal };
                HandlerCall::Guarded { handler: *handler, request }
            }
            (Handler::Open(handler), _) => HandlerCall::Open { handler: *handler, request },
            (Handler::Guarded(_), None) => {
                return Err(error::reply(&Error::internal("a guarded route without a caller"), &error_format));
            }
        };
        Ok(RouteTask { route, sender, response_size, slot, memory, unknown, error_format, call })
    }

    /// Admits a task and runs it on the executor of its route. Warnings about unknown names are added to the handler's
    /// replies and errors.
    async fn run(&self, task: RouteTask) -> Result<HeldReply, Failure> {
        let RouteTask { route, sender, response_size, slot, memory, unknown, error_format, call } = task;
        if route.executor == Executor::Inline {
            return match call.run(route) {
                Ok(reply) => Ok(HeldReply::from(reply)),
                Err(error) => Err(Failure::of(error, &unknown, &error_format)),
            };
        }
        let permit = self.admit(route, &sender, response_size).await?;
        // Reserved after the wait: the estimate is better if such answers were made in the meantime.
        memory.begin(self.reply_memory.reserve(route.path, &sender, response_size)?);
        let outcome = match route.executor {
            Executor::Retrieval | Executor::Retrieve => {
                slot.hold(permit);
                self.search(route, slot, call).await
            }
            Executor::Ordinary | Executor::Inline => run_blocking(route, permit, call).await,
        };
        match outcome {
            Ok(reply) => Ok(self.hold(route, &sender, reply, memory.end())?),
            Err(error) => Err(Failure::of(error, &unknown, &error_format)),
        }
    }

    async fn admit(&self, route: &Route, sender: &Sender, response_size: ResponseSize) -> Result<RunPermit, Reply> {
        if matches!(sender, Sender::Route(_)) {
            return self.admission.open_request(sender).await;
        }
        match (route.executor, response_size) {
            (Executor::Retrieval | Executor::Retrieve, _) => self.admission.retrieval(sender, response_size).await,
            (Executor::Ordinary | Executor::Inline, ResponseSize::Large) => self.admission.large_request(sender).await,
            (Executor::Ordinary | Executor::Inline, ResponseSize::Small) => self.admission.request(sender).await,
        }
    }

    /// Runs a handler on the retrieval threads. A panic becomes an internal error.
    async fn search(&self, route: &'static Route, slot: Arc<RetrievalSlot>, call: HandlerCall) -> Result<Reply> {
        let (sender, receiver) = oneshot::channel();
        let client: Arc<ClientPresence> = Arc::default();
        let _waiting = client.guard();
        let account = call.account();
        let search = RouteSearch { route, call, slot, span: Span::current(), client: Arc::clone(&client), sender };
        match account {
            // A handler that waits for the network must not occupy a retrieval thread.
            Some(account) if !self.app.reads.may_wait_for_network() => {
                let work = Box::new(move || search.run());
                self.app.reads.searchers().spawn(Search { account, client, work });
            }
            Some(_) | None => drop(tokio::task::spawn_blocking(move || search.run())),
        }
        match receiver.await {
            Ok(Some(result)) => result,
            Ok(None) | Err(_) => Err(panicked(route)),
        }
    }

    /// Takes what a reply holds until it is written: memory if it is large, memory and a slot if it is a file.
    pub(super) fn hold(
        &self,
        route: &Route,
        sender: &Sender,
        reply: Reply,
        reserved: Option<HeldSlots>,
    ) -> Result<HeldReply, Reply> {
        match &reply.body {
            ReplyBody::Bytes(bytes) => {
                let bytes = bytes.len();
                self.reply_memory.hold(route.path, sender, reply, bytes, reserved)
            }
            ReplyBody::File(file) => {
                let owner = Sender::Account(file.account.clone());
                let slot = self.admission.file(&owner)?;
                let memory = self.reply_memory.for_file(&owner, file.content.memory_bytes())?;
                Ok(HeldReply::file(reply, memory, slot))
            }
        }
    }
}

impl HandlerCall {
    /// Returns the account that asks; `None` on a route without a credential.
    fn account(&self) -> Option<AccountId> {
        match self {
            Self::Guarded { request, .. } => Some(request.account().clone()),
            Self::Open { .. } => None,
        }
    }

    /// Runs the handler. Warnings are added to its reply here, before the memory of the reply is taken.
    fn run(self, route: &Route) -> Result<Reply> {
        match self {
            Self::Guarded { handler, request } => {
                let reply = run_metered(route, &request, handler)?;
                Ok(request.unknown.add_to(reply))
            }
            Self::Open { handler, request } => {
                let reply = handler(&request)?;
                Ok(request.unknown.add_to(reply))
            }
        }
    }
}

/// A retrieval on its way to a thread.
struct RouteSearch {
    route: &'static Route,
    call: HandlerCall,
    slot: Arc<RetrievalSlot>,
    span: Span,
    client: Arc<ClientPresence>,
    /// Receives the result, or none after a panic.
    sender: oneshot::Sender<Option<Result<Reply>>>,
}

impl RouteSearch {
    fn run(self) {
        let Self { route, call, slot, span, client, sender } = self;
        if client.has_left() {
            slot.release();
            return;
        }
        let work = std::panic::AssertUnwindSafe(|| span.in_scope(|| call.run(route)));
        let caught = std::panic::catch_unwind(work);
        // The thread gives the slot back, not the client: a client that leaves does not admit another request.
        slot.release();
        // Fails if the client has left.
        let _ = sender.send(caught.ok());
    }
}

/// Returns how large the answer to a request can become.
fn response_size(route: &Route, query: &QueryString) -> ResponseSize {
    if query.get("detail") == Some("full") {
        return ResponseSize::Large;
    }
    if !matches!(route.executor, Executor::Retrieval | Executor::Retrieve) {
        return route.response_size;
    }
    let limit = query.get("limit").unwrap_or_default();
    match limit.parse::<usize>() {
        Ok(hits) if hits > HITS_MANY => ResponseSize::Large,
        _ => ResponseSize::Small,
    }
}

/// Runs a handler on the blocking pool. A panic becomes an internal error.
async fn run_blocking(route: &'static Route, permit: RunPermit, call: HandlerCall) -> Result<Reply> {
    let span = Span::current();
    let outcome = tokio::task::spawn_blocking(move || {
        // The thread gives the permit back, not the client: a client that leaves does not admit another request.
        let _permit = permit;
        span.in_scope(|| call.run(route))
    });
    outcome.await.unwrap_or_else(|_| Err(panicked(route)))
}

fn panicked(route: &Route) -> Error {
    Error::internal(format!("the handler of {} {} panicked", route.method, route.path))
}

/// Returns the caller of a request, and its headers again.
///
/// A cached result is used at once. Otherwise the lookup reads the store or asks an issuer on a blocking thread.
pub(super) async fn authorize(gateway: &Arc<Gateway>, headers: HeaderMap) -> Result<(HeaderMap, Principal), Reply> {
    if let Some(principal) = gateway.cached(&headers) {
        return Ok((headers, principal));
    }
    let gateway = Arc::clone(gateway);
    // The log line of a refusal carries the id of the request.
    let span = Span::current();
    let look_up = move || (span.in_scope(|| gateway.authorize(&headers)), headers);
    let looked_up = tokio::task::spawn_blocking(look_up).await;
    match looked_up {
        Ok((Ok(principal), headers)) => Ok((headers, principal)),
        Ok((Err(refusal), _)) => Err(error::refusal(refusal)),
        Err(_) => Err(error::refusal(Refusal::Refused)),
    }
}

/// Returns the caller of a request, and its headers again, and counts the request of the account. For routes that are
/// not in the route table.
pub(super) async fn authorize_counted(
    gateway: &Arc<Gateway>,
    headers: HeaderMap,
) -> Result<(HeaderMap, Principal), Reply> {
    let (headers, principal) = authorize(gateway, headers).await?;
    match gateway.admit(&principal) {
        Ok(()) => Ok((headers, principal)),
        Err(seconds) => Err(error::reply(&error::rate_limited(seconds), &ErrorFormat::Envelope)),
    }
}

/// Reserves the unit that a request counts as, runs its handler, and charges the unit if the handler succeeded and this
/// process still owns what it read.
fn run_metered(
    route: &Route,
    request: &AuthenticatedRequest,
    handler: fn(&AuthenticatedRequest) -> Result<Reply>,
) -> Result<Reply> {
    let meter = match route.metering {
        Metering::Read => Meter::Reads,
        Metering::Search if request.query.get("q").is_some() => Meter::Reads,
        Metering::Chat => Meter::Chats,
        // Writes are charged together with the write itself.
        Metering::Free | Metering::Write | Metering::Search => return handler(request),
    };
    let permit = request.app.billing.reserve(request.account(), meter)?;
    let ownership = request.app.namespaces.ownership();
    let reading = ownership.begin_reading();
    let reply = handler(request)?;
    ownership.check_reading(reading)?;
    permit.charge();
    Ok(reply)
}

/// Returns the client's id for a request if it is plain ASCII of a limited length, else a new id.
pub(super) fn request_id(headers: &HeaderMap) -> HeaderValue {
    if let Some(id) = headers.get(REQUEST_ID)
        && is_plain_id(id.as_bytes())
    {
        return id.clone();
    }
    HeaderValue::from_str(&Ulid::generate().to_string()).unwrap_or(HeaderValue::from_static("none"))
}

fn is_plain_id(id: &[u8]) -> bool {
    (1..=REQUEST_ID_BYTES_MAX).contains(&id.len())
        && id.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte))
}

/// Checks the names of a body whose fields are parameters, and returns them as a query.
fn query_of_body(route: &Route, unknown: &UnknownNames, body: &ReceivedBody) -> Result<QueryString> {
    if body.bytes.is_empty() {
        return Err(invalid_body("the body is empty: send a JSON object"));
    }
    unknown.check_body(&body.bytes)?;
    QueryString::of_body(&body.bytes, route.fields)
}

/// Returns the format of a route's errors.
fn error_format(route: &Route, query: &QueryString, principal: Option<&Principal>) -> ErrorFormat {
    match route.executor {
        Executor::Retrieve => ErrorFormat::Retrieve { namespace: retrieve::named_namespace(query, principal) },
        Executor::Inline | Executor::Ordinary | Executor::Retrieval => ErrorFormat::Envelope,
    }
}
