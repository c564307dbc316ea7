//! `/v1/git/<namespace>`: the repository of a namespace, for git to clone, pull and, if allowed, push.
//!
//! git does not send bearer tokens. A key is the password of basic authentication, with any user name. A separate
//! thread makes a pack while it is sent, through a channel that holds few chunks.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Instant;

use cuebase_storage::records::NamespaceRecord;
use cuebase_storage::{AccountId, NamespaceKey, NamespaceName};
use data_encoding::BASE64;
use flate2::read::GzDecoder;
use hyper::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT, WWW_AUTHENTICATE,
};
use hyper::http::uri::PathAndQuery;
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use serde_json::Value;

use super::activity::{Activity, Working};
use super::at_owner::{OWNER_PAUSE, OWNER_WAIT};
use super::body::RequestBody;
use super::chunk_writer::{CHUNKS_AHEAD, ChunkWriter, Turns};
use super::chunks::chunk_channel;
use super::forwarding::{self, ForwardError, ForwardedCaller, ForwardedRequest, misdirected, owner_unreachable};
use super::reply_memory::small_response;
use super::requests::{Arrival, REQUEST_ID, RequestHandler, authorize, request_id};
use super::response_body::ResponseBody;
use super::sender::Sender;
use super::slots::HeldSlots;
use crate::accounts::credentials::KeyText;
use crate::accounts::scope::{Selection, select_namespace};
use crate::api::error::{self, ErrorFormat};
use crate::api::query::QueryString;
use crate::api::routes::BodyKind;
use crate::api::{BODY_BYTES_MAX, Reply, ReplyBody};
use crate::app::App;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::gateway::Principal;
use crate::git_protocol::fetch_request::FetchRequest;
use crate::git_protocol::push::{Push, Update};
use crate::git_protocol::{Action, ProtocolVersion, advertisement, fetch};
use crate::service::push::PushError;

/// The prefix of all git paths.
const PREFIX: &str = "/v1/git/";
/// The header with the protocol version of the client.
const PROTOCOL: HeaderName = HeaderName::from_static("git-protocol");
/// The media type of the answer to a fetch.
const FETCH_RESULT: &str = "application/x-git-upload-pack-result";

/// A git request's endpoint below a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GitEndpoint {
    /// `info/refs`: the first request of every fetch and push.
    References(Action),
    /// The fetch or push itself.
    Transfer(Action),
}

impl GitEndpoint {
    /// Returns the path for the metrics.
    fn route(self) -> &'static str {
        match self {
            Self::References(_) => "/v1/git/{namespace}/info/refs",
            Self::Transfer(Action::Fetch) => "/v1/git/{namespace}/git-upload-pack",
            Self::Transfer(Action::Push) => "/v1/git/{namespace}/git-receive-pack",
        }
    }

    fn action(self) -> Action {
        match self {
            Self::References(action) | Self::Transfer(action) => action,
        }
    }
}

/// Where a request's path leads.
#[derive(Debug, PartialEq, Eq)]
struct GitTarget {
    /// The name in the path, not checked yet.
    namespace: String,
    endpoint: GitEndpoint,
}

/// Returns the target of a request. The name of the namespace may end in `.git`.
fn find(method: &Method, path: &str, query: Option<&str>) -> Option<GitTarget> {
    let (name, rest) = path.strip_prefix(PREFIX)?.split_once('/')?;
    let namespace = name.strip_suffix(".git").unwrap_or(name).to_owned();
    let endpoint = match (method, rest) {
        (&Method::GET, "info/refs") => {
            let query = QueryString::parse(query.unwrap_or_default());
            GitEndpoint::References(Action::of(query.last("service")?)?)
        }
        (&Method::POST, service) => GitEndpoint::Transfer(Action::of(service)?),
        _ => return None,
    };
    Some(GitTarget { namespace, endpoint })
}

/// Returns the methods that a path takes.
fn methods(uri: &Uri) -> Vec<&'static str> {
    let mut methods = Vec::new();
    for (method, name) in [(Method::GET, "GET"), (Method::POST, "POST")] {
        if find(&method, uri.path(), uri.query()).is_some() {
            methods.push(name);
        }
    }
    methods
}

/// Returns whether a request is for git.
pub(super) fn matches<B>(request: &Request<B>) -> bool {
    request.uri().path().starts_with(PREFIX)
}

/// Responds to one request and counts it.
pub(super) async fn respond<B: RequestBody>(
    handler: Arc<RequestHandler>,
    request: Request<B>,
    activity: Arc<Activity>,
) -> Response<ResponseBody> {
    let started = Instant::now();
    let id = request_id(request.headers());
    let target = find(request.method(), request.uri().path(), request.uri().query());
    let (method, route) = match &target {
        Some(target) if request.method() == Method::POST => ("POST", target.endpoint.route()),
        Some(target) => ("GET", target.endpoint.route()),
        None => ("", ""),
    };
    let is_git_client = match request.headers().get(USER_AGENT) {
        Some(agent) => agent.as_bytes().starts_with(b"git/"),
        None => false,
    };
    let mut response = match answer(&handler, request, target, &activity).await {
        Ok(response) => response,
        Err(refusal) if is_git_client => small_response(as_text(refusal)),
        Err(refusal) => small_response(refusal),
    };
    response.headers_mut().insert(REQUEST_ID, id);
    handler.metrics.record_request(method, route, response.status().as_u16(), started.elapsed());
    response
}

/// Converts a refusal from JSON to text, which git shows to its user.
fn as_text(refusal: Reply) -> Reply {
    let body: Value = match &refusal.body {
        ReplyBody::Bytes(bytes) => serde_json::from_slice(bytes).unwrap_or_default(),
        ReplyBody::File(_) => Value::Null,
    };
    let message = body.pointer("/error/message").or(body.get("message"));
    let text = format!("{}\n", message.and_then(Value::as_str).unwrap_or_default());
    Reply { body: text.into(), ..refusal }.with(CONTENT_TYPE, "text/plain; charset=utf-8")
}

/// Answers one request; an error is the reply that refuses it.
async fn answer<B: RequestBody>(
    handler: &Arc<RequestHandler>,
    request: Request<B>,
    target: Option<GitTarget>,
    activity: &Arc<Activity>,
) -> Result<Response<ResponseBody>, Reply> {
    let (mut head, body) = request.into_parts();
    let (headers, principal, arrival) = match head.extensions.remove::<ForwardedCaller>() {
        // Another node has authenticated the caller and counted the request.
        Some(ForwardedCaller(Some(principal))) => (head.headers, principal, Arrival::Node),
        _ => {
            let (headers, principal) = authenticate(handler, head.headers).await?;
            activity.belongs_to(&principal.account);
            handler.gateway.admit(&principal).map_err(|seconds| refuse(&error::rate_limited(seconds)))?;
            (headers, principal, Arrival::Client)
        }
    };
    let Some(GitTarget { namespace, endpoint }) = target else { return Err(error::no_route(&methods(&head.uri))) };
    let allowed = check_permission(handler.config.access.git.accept_push, &principal, &namespace, endpoint.action());
    let namespace = allowed.map_err(|error| refuse(&error))?;
    let kind = match endpoint {
        GitEndpoint::Transfer(Action::Push) => BodyKind::Pack,
        GitEndpoint::Transfer(Action::Fetch) | GitEndpoint::References(_) => BodyKind::Nothing,
    };
    let timeout = handler.config.server.body_timeout;
    let sender = Sender::Account(principal.account.clone());
    let body = handler.bodies.read(body, &sender, kind, timeout).await?;
    let slot = handler.admission.transfer(&sender)?;
    let working = activity.work();
    let ownership = handler.app.namespaces.ownership();
    let reading = ownership.begin_reading();
    let deadline = Instant::now() + OWNER_WAIT;
    while let Some(Owner { namespace, address }) = owner_elsewhere(handler, &principal, &namespace).await? {
        if arrival == Arrival::Node {
            // The sender reads the owner again.
            return Err(misdirected());
        }
        let target = head.uri.path_and_query().map_or(head.uri.path(), PathAndQuery::as_str);
        let forwarded = ForwardedRequest {
            caller: Some(&principal),
            method: head.method.clone(),
            target,
            headers: &headers,
            body: body.bytes.clone(),
        };
        let failure = match handler.forwarding.begin_answer(&address, &forwarded).await {
            Ok(answer) => return Ok(forwarding::stream(answer, (slot, working))),
            Err(failure) => failure,
        };
        if matches!(failure, ForwardError::Lost) || Instant::now() >= deadline {
            return Err(refuse(&owner_unreachable(&failure)));
        }
        handler.app.namespaces.ownership().forget_owner(&namespace);
        tokio::time::sleep(OWNER_PAUSE).await;
    }
    let request = GitRequest {
        app: Arc::clone(&handler.app),
        account: principal.account,
        namespace,
        version: protocol_version(&headers),
        is_compressed: is_compressed(&headers),
    };
    let task = tokio::task::spawn_blocking(move || match endpoint {
        GitEndpoint::References(action) => request.references(action).map(GitOutcome::Reply),
        GitEndpoint::Transfer(Action::Push) => request.push(&body.bytes).map(GitOutcome::Reply),
        GitEndpoint::Transfer(Action::Fetch) => match request.fetch(&body.bytes)? {
            FetchAnswer::Reply(reply) => Ok(GitOutcome::Reply(reply)),
            FetchAnswer::Pack(fetch) => Ok(GitOutcome::Pack { request, fetch, slot, working }),
        },
    });
    let outcome = task.await.unwrap_or_else(|_| Err(Error::internal("a git request panicked")));
    if arrival == Arrival::Node && matches!(outcome, Err(Error::NotOwner(_))) {
        // The namespace was given up in the meantime, and nothing has changed.
        return Err(misdirected());
    }
    let outcome = outcome.map_err(|error| refuse(&error))?;
    if endpoint.action() == Action::Fetch && !ownership.may_return(reading) {
        // Another node may have changed what was read.
        return Err(error::unavailable());
    }
    match outcome {
        GitOutcome::Reply(reply) => Ok(small_response(reply)),
        GitOutcome::Pack { request, fetch, slot, working } => {
            // A client that leaves while it waits gives its slot back.
            let turns = Turns::first(slot.running()).await;
            Ok(request.stream(fetch, turns, (slot, working)))
        }
    }
}

/// Another node that owns a namespace.
struct Owner {
    namespace: NamespaceKey,
    address: String,
}

/// Claims the namespace of a request, or returns its owner. Does nothing in a process that is alone.
async fn owner_elsewhere(
    handler: &Arc<RequestHandler>,
    principal: &Principal,
    namespace: &NamespaceName,
) -> Result<Option<Owner>, Reply> {
    if handler.app.namespaces.ownership().is_alone() {
        return Ok(None);
    }
    let app = Arc::clone(&handler.app);
    let (account, namespace) = (principal.account.clone(), namespace.clone());
    let held = tokio::task::spawn_blocking(move || {
        let namespace = app.namespaces.existing(&account, &namespace)?.key();
        match app.namespaces.ownership().hold(&namespace) {
            Ok(()) => Ok(None),
            Err(Error::Elsewhere { address }) => Ok(Some(Owner { namespace, address })),
            Err(error) => Err(error),
        }
    });
    let held = held.await.unwrap_or_else(|_| Err(Error::internal("the claim of a namespace panicked")));
    held.map_err(|error| refuse(&error))
}

/// The result of a request on a blocking thread.
enum GitOutcome {
    /// The whole answer.
    Reply(Reply),
    /// The answer is a pack, which is made while it is sent.
    Pack { request: GitRequest, fetch: FetchRequest, slot: HeldSlots, working: Working },
}

fn refuse(error: &Error) -> Reply {
    error::reply(error, &ErrorFormat::Envelope)
}

/// Authenticates the caller by the password. A refusal for a missing credential asks git for one.
async fn authenticate(handler: &RequestHandler, mut headers: HeaderMap) -> Result<(HeaderMap, Principal), Reply> {
    use_password_as_token(&mut headers);
    match authorize(&handler.gateway, headers).await {
        Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => {
            Err(refusal.with(WWW_AUTHENTICATE, "Basic realm=\"Cuebase\", charset=\"UTF-8\""))
        }
        outcome => outcome,
    }
}

/// Checks that a caller may fetch from a namespace or push to it. Returns its name.
fn check_permission(accept_push: bool, principal: &Principal, name: &str, action: Action) -> Result<NamespaceName> {
    let name = match select_namespace(principal.scope(), Some(name))? {
        Selection::Allowed(name) => name,
        Selection::Refused(own) => {
            let message = format!("this key is confined to the namespace {own:?}");
            return Err(Error::forbidden(ErrorCode::ForbiddenNamespace, message));
        }
    };
    if action == Action::Push && !accept_push {
        let message = "this server does not accept pushes: set git.accept_push = true in its settings to allow them";
        return Err(Error::forbidden(ErrorCode::PushNotAccepted, message));
    }
    Ok(name)
}

/// Replaces basic authentication by a bearer token: the password, or the user name if that is a key.
///
/// A user name that has no password and is not a key does not count as a credential. git sends it first, and asks its
/// user for a password after a `401`.
fn use_password_as_token(headers: &mut HeaderMap) {
    let Some(value) = headers.get(AUTHORIZATION) else { return };
    let text = value.to_str().unwrap_or_default();
    let Some((scheme, encoded)) = text.split_once(' ') else { return };
    if !scheme.eq_ignore_ascii_case("basic") {
        return;
    }
    let decoded = BASE64.decode(encoded.trim().as_bytes()).unwrap_or_default();
    let decoded = String::from_utf8_lossy(&decoded);
    let (user, password) = decoded.split_once(':').unwrap_or((&decoded, ""));
    if password.is_empty() && KeyText::parse(user).is_none() {
        headers.remove(AUTHORIZATION);
        return;
    }
    let token = if password.is_empty() { user } else { password };
    // The gateway refuses the replacement of a token that does not fit into a header.
    let bearer = HeaderValue::from_str(&format!("Bearer {token}")).unwrap_or(HeaderValue::from_static("Bearer -"));
    headers.insert(AUTHORIZATION, bearer);
}

/// Returns the protocol version that the client asks for. The header holds words separated by colons.
fn protocol_version(headers: &HeaderMap) -> ProtocolVersion {
    let Some(value) = headers.get(PROTOCOL) else { return ProtocolVersion::V0 };
    match value.as_bytes().split(|byte| *byte == b':').any(|word| word == b"version=2") {
        true => ProtocolVersion::V2,
        false => ProtocolVersion::V0,
    }
}

/// Returns whether the body is compressed with gzip.
fn is_compressed(headers: &HeaderMap) -> bool {
    match headers.get(CONTENT_ENCODING) {
        Some(coding) => coding.as_bytes().ends_with(b"gzip"),
        None => false,
    }
}

/// A request of an authorized caller, for a blocking thread.
struct GitRequest {
    app: Arc<App>,
    account: AccountId,
    namespace: NamespaceName,
    version: ProtocolVersion,
    is_compressed: bool,
}

/// The answer to a fetch.
enum FetchAnswer {
    /// The whole answer.
    Reply(Reply),
    /// The answer is a pack, which is not made yet.
    Pack(FetchRequest),
}

impl GitRequest {
    fn references(&self, action: Action) -> Result<Reply> {
        self.app.namespaces.existing(&self.account, &self.namespace)?;
        let lease = self.app.namespaces.lease(&self.account, &self.namespace)?;
        let head = lease.read_git(|repository| Ok(repository.head()?))?;
        let mut body = Vec::new();
        advertisement::write(action, self.version, head, &mut body)?;
        Ok(reply(&format!("application/x-{}-advertisement", action.service()), body))
    }

    fn fetch(&self, body: &[u8]) -> Result<FetchAnswer> {
        self.app.namespaces.existing(&self.account, &self.namespace)?;
        let decompressed = self.decompress(body)?;
        let fetch = FetchRequest::parse(self.version, decompressed.as_deref().unwrap_or(body))?;
        if !fetch.is_small() {
            return Ok(FetchAnswer::Pack(fetch));
        }
        let lease = self.app.namespaces.lease(&self.account, &self.namespace)?;
        let mut answer = Vec::new();
        lease.read_git(|repository| Ok(fetch::answer(repository, &fetch, &mut answer)?))?;
        Ok(FetchAnswer::Reply(reply(FETCH_RESULT, answer)))
    }

    /// Decompresses a body; none if it is not compressed. git compresses long lists of commits.
    fn decompress(&self, body: &[u8]) -> Result<Option<Vec<u8>>> {
        if !self.is_compressed {
            return Ok(None);
        }
        let mut plain = Vec::new();
        let read = GzDecoder::new(body).take(BODY_BYTES_MAX as u64 + 1).read_to_end(&mut plain);
        read.map_err(|error| Error::invalid(ErrorCode::InvalidBody, format!("body: invalid gzip: {error}")))?;
        if plain.len() > BODY_BYTES_MAX {
            return Err(error::too_large(BODY_BYTES_MAX));
        }
        Ok(Some(plain))
    }

    /// Sends a pack while it is made, in the turns of its account, and drops `held` at the end.
    fn stream(self, fetch: FetchRequest, turns: Turns, held: impl Send + 'static) -> Response<ResponseBody> {
        let (sender, chunks) = chunk_channel(CHUNKS_AHEAD);
        tokio::task::spawn_blocking(move || {
            let _held = held;
            let mut writer = ChunkWriter::new(sender, turns);
            match self.write_pack(&fetch, &mut writer) {
                Ok(()) => writer.finish(),
                Err(error) => {
                    // Most likely the client has left. One that has not must not take an incomplete pack for the whole.
                    tracing::debug!(code = error.code(), "a fetch ended early");
                    writer.abort(io::ErrorKind::BrokenPipe.into());
                }
            }
        });
        let mut response = Response::new(ResponseBody::Stream { chunks, left: None });
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(FETCH_RESULT));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }

    fn write_pack(&self, fetch: &FetchRequest, writer: &mut ChunkWriter) -> Result<()> {
        let lease = self.app.namespaces.lease(&self.account, &self.namespace)?;
        Ok(fetch::answer(lease.repository(), fetch, writer)?)
    }

    fn push(&self, body: &[u8]) -> Result<Reply> {
        let namespace = self.app.namespaces.existing(&self.account, &self.namespace)?;
        let decompressed = self.decompress(body)?;
        let push = Push::parse(decompressed.as_deref().unwrap_or(body))?;
        let mut refusals = Vec::new();
        let mut messages = String::new();
        // The pack is unpacked once: a push names each reference once, and only main is accepted.
        for update in &push.updates {
            refusals.push(self.apply(&namespace, update, &push, &mut messages)?);
        }
        let mut answer = Vec::new();
        push.report(&refusals, &messages, &mut answer)?;
        Ok(reply("application/x-git-receive-pack-result", answer))
    }

    /// Applies one update of a push. Returns the reason if it is refused.
    fn apply(
        &self,
        namespace: &NamespaceRecord,
        update: &Update,
        push: &Push<'_>,
        messages: &mut String,
    ) -> Result<Option<String>> {
        match self.app.writes.push(namespace, update, push.pack) {
            Ok(()) => Ok(None),
            Err(PushError::Refused(refusal)) => {
                for line in &refusal.details {
                    messages.push_str(line);
                    messages.push('\n');
                }
                Ok(Some(refusal.reason))
            }
            // Limits of the account are reported by git next to the reference.
            Err(PushError::Failed(
                error @ (Error::PaymentRequired(_) | Error::LimitReached { .. } | Error::Unavailable { .. }),
            )) => Ok(Some(error.to_string())),
            Err(PushError::Failed(error)) => Err(error),
        }
    }
}

fn reply(media_type: &str, body: Vec<u8>) -> Reply {
    let reply = Reply::new(StatusCode::OK, body);
    reply.with(CONTENT_TYPE, media_type).with(CACHE_CONTROL, "no-cache")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetch_references(path: &str, query: Option<&str>) -> Option<GitTarget> {
        find(&Method::GET, path, query)
    }

    #[test]
    fn paths_are_those_that_git_requests() {
        let fetch = || Some(GitTarget { namespace: "a-b".into(), endpoint: GitEndpoint::References(Action::Fetch) });
        let service = Some("service=git-upload-pack");
        assert_eq!(fetch_references("/v1/git/a-b/info/refs", service), fetch());
        assert_eq!(fetch_references("/v1/git/a-b.git/info/refs", service), fetch());
        assert_eq!(fetch_references("/v1/git/a-b/info/refs", None), None, "the dumb protocol");
        assert_eq!(fetch_references("/v1/git/a-b/HEAD", None), None);
        assert_eq!(fetch_references("/v1/git/a-b/../c/info/refs", service), None);
        let push = find(&Method::POST, "/v1/git/a/git-receive-pack", None);
        let endpoint = GitEndpoint::Transfer(Action::Push);
        assert_eq!(push, Some(GitTarget { namespace: "a".into(), endpoint }));
    }

    #[test]
    fn the_password_is_the_credential() {
        let taken = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_str(text).expect("a header's value"));
            use_password_as_token(&mut headers);
            headers.get(AUTHORIZATION).map(|value| value.to_str().expect("text").to_owned()).unwrap_or_default()
        };
        let basic = |text: &str| taken(&format!("Basic {}", BASE64.encode(text.as_bytes())));
        assert_eq!(basic("git:svc_live_1"), "Bearer svc_live_1");
        let key = format!("svc_live_0123456789abcdef_{}", "x".repeat(32));
        assert_eq!(basic(&format!("{key}:")), format!("Bearer {key}"));
        assert_eq!(basic(&key), format!("Bearer {key}"));
        assert_eq!(basic("git:"), "", "a user alone");
        assert_eq!(basic("git:a\nb"), "Bearer -");
        assert_eq!(taken("Bearer x"), "Bearer x");
        assert_eq!(taken("basic ???"), "");
    }
}
