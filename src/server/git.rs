//! `/v1/git/<namespace>`: a namespace's repository for git itself, to clone and pull, and to push where that is allowed.
//!
//! git knows no bearer tokens: a key is the password of its basic authentication, whatever the user's name. A pack is sent
//! as it is made, through a channel that holds little, from a thread of its own.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use cuebase_storage::records::NamespaceRecord;
use data_encoding::BASE64;
use flate2::read::GzDecoder;
use http_body_util::channel::{Channel, Sender};
use hyper::body::Incoming;
use hyper::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT, WWW_AUTHENTICATE,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use serde_json::Value;
use tokio::runtime::Handle;

use super::answers::ResponseBody;
use super::connections::{Activity, Working};
use super::requests::{REQUEST_ID, RequestHandler, authorize, request_id, respond};
use super::shares::Share;
use crate::accounts::credentials::KeyText;
use crate::accounts::scope::select_namespace;
use crate::api::error::{self, ErrorFormat};
use crate::api::query::QueryString;
use crate::api::routes::BodyKind;
use crate::api::{BODY_BYTES_MAX, Reply, ReplyBody};
use crate::error::{Error, Result};
use crate::gateway::Principal;
use crate::git_protocol::push::{Push, Update};
use crate::git_protocol::{Action, advertisement, fetch};
use crate::service::Service;

/// What all its addresses begin with.
const PREFIX: &str = "/v1/git/";
/// Says which version of the protocol the client speaks.
const PROTOCOL: HeaderName = HeaderName::from_static("git-protocol");
/// A pack is sent in pieces of this size.
const PIECE_BYTES: usize = 64 << 10;
/// Pieces that are made ahead of what the client has taken.
const PIECES_AHEAD: usize = 4;

/// One of the addresses below a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GitEndpoint {
    References(Action),
    Work(Action),
}

impl GitEndpoint {
    /// As metrics name it.
    fn route(self) -> &'static str {
        match self {
            Self::References(_) => "/v1/git/{namespace}/info/refs",
            Self::Work(Action::Fetch) => "/v1/git/{namespace}/git-upload-pack",
            Self::Work(Action::Push) => "/v1/git/{namespace}/git-receive-pack",
        }
    }

    fn action(self) -> Action {
        match self {
            Self::References(action) | Self::Work(action) => action,
        }
    }
}

/// What a request asks for, and of which namespace. `.git` behind the name is taken as well.
fn find(method: &Method, path: &str, query: Option<&str>) -> Option<(String, GitEndpoint)> {
    let (name, rest) = path.strip_prefix(PREFIX)?.split_once('/')?;
    let name = name.strip_suffix(".git").unwrap_or(name).to_owned();
    let place = match (method, rest) {
        (&Method::GET, "info/refs") => {
            GitEndpoint::References(Action::of(QueryString::parse(query.unwrap_or_default()).last("service")?)?)
        }
        (&Method::POST, service) => GitEndpoint::Work(Action::of(service)?),
        _ => return None,
    };
    Some((name, place))
}

/// Whether a request is git's.
pub(super) fn is_asked(request: &Request<Incoming>) -> bool {
    request.uri().path().starts_with(PREFIX)
}

/// Answers one request.
pub(super) async fn answer(
    api: Arc<RequestHandler>,
    request: Request<Incoming>,
    activity: Arc<Activity>,
) -> Response<ResponseBody> {
    let (began, id) = (Instant::now(), request_id(request.headers()));
    let found = find(request.method(), request.uri().path(), request.uri().query());
    let method = if request.method() == Method::POST { "POST" } else { "GET" };
    let (method, route) = found.as_ref().map_or(("", ""), |(_, place)| (method, place.route()));
    let by_git = request.headers().get(USER_AGENT).is_some_and(|agent| agent.as_bytes().starts_with(b"git/"));
    let answered = attend(&api, request, found, &activity).await;
    let mut response = answered.unwrap_or_else(|refused| {
        let refused = if by_git { in_words(refused) } else { refused };
        respond(refused)
    });
    response.headers_mut().insert(REQUEST_ID, id);
    api.service.metrics.answered(method, route, response.status().as_u16(), began.elapsed());
    response
}

/// A refusal as git shows it to people: text, not JSON.
fn in_words(refused: Reply) -> Reply {
    let body: Value = match &refused.body {
        ReplyBody::Bytes(bytes) => serde_json::from_slice(bytes).unwrap_or_default(),
        ReplyBody::File(_) => Value::Null,
    };
    let message = body.pointer("/error/message").or_else(|| body.get("message")).and_then(Value::as_str);
    let text = format!("{}\n", message.unwrap_or_default());
    Reply { body: text.into(), ..refused }.with(CONTENT_TYPE, "text/plain; charset=utf-8")
}

async fn attend(
    api: &Arc<RequestHandler>,
    request: Request<Incoming>,
    found: Option<(String, GitEndpoint)>,
    activity: &Arc<Activity>,
) -> Result<Response<ResponseBody>, Reply> {
    let (mut head, body) = request.into_parts();
    take_password(&mut head.headers);
    let (headers, principal) = authorize(&api.gateway, head.headers).await.map_err(|refused| match refused.status {
        StatusCode::UNAUTHORIZED => refused.with(WWW_AUTHENTICATE, "Basic realm=\"Cuebase\", charset=\"UTF-8\""),
        _ => refused,
    })?;
    activity.belongs_to(&principal.account);
    let refuse = |failure: Error| error::reply(&failure, &ErrorFormat::Envelope);
    api.gateway.admit(&principal).map_err(|seconds| refuse(error::rate_limited(seconds)))?;
    let (name, place) = found.ok_or_else(|| refuse(error::no_route()))?;
    let action = place.action();
    permitted(&api.service, &principal, &name, action).map_err(refuse)?;
    let kind = if place == GitEndpoint::Work(Action::Push) { BodyKind::Pack } else { BodyKind::Nothing };
    let body = api.bodies.read(body, &principal.account, kind, api.service.config.server.body_timeout).await?;
    let permit = api.transfer_place(&principal.account)?;
    let working = activity.work();
    let request = GitRequest {
        service: Arc::clone(&api.service),
        account: principal.account,
        namespace: name,
        version_2: headers.get(PROTOCOL).is_some_and(|said| speaks_version_2(said.as_bytes())),
        zipped: headers.get(CONTENT_ENCODING).is_some_and(|coding| coding.as_bytes().ends_with(b"gzip")),
    };
    let done = tokio::task::spawn_blocking(move || {
        let answer = match place {
            GitEndpoint::References(_) => request.references(action),
            GitEndpoint::Work(Action::Push) => request.push(&body.bytes),
            GitEndpoint::Work(Action::Fetch) => match request.small_fetch(&body.bytes) {
                Ok(Fetched::Small(reply)) => Ok(reply),
                Ok(Fetched::Large(asked)) => return Ok(Done::Fetch { request, asked, held: (permit, working) }),
                Err(failure) => Err(failure),
            },
        };
        answer.map(Done::Reply)
    });
    let done = done.await.unwrap_or_else(|_| Err(Error::internal("a request of git's panicked")));
    match done.map_err(refuse)? {
        Done::Reply(reply) => Ok(respond(reply)),
        Done::Fetch { request, asked, held } => Ok(request.stream(asked, held)),
    }
}

/// What became of a request off the async threads.
enum Done {
    /// It is answered.
    Reply(Reply),
    /// Its pack is made while it is sent.
    Fetch { request: GitRequest, asked: fetch::Request, held: (Share, Working) },
}

/// Whether a caller may do that to a namespace.
fn permitted(service: &Service, principal: &Principal, name: &str, action: Action) -> Result<()> {
    select_namespace(principal.scope(), Some(name), |own| {
        Error::forbidden("forbidden_namespace", format!("this key opens {own:?} alone"))
    })?;
    if action == Action::Push && !service.config.accept_push {
        let message = "nothing is pushed to this server: git.accept_push = true in its settings allows it";
        return Err(Error::forbidden("push_not_accepted", message));
    }
    Ok(())
}

/// Makes a bearer's token of basic authentication: the password, or the user where that is a key. A user alone that is
/// none is no credential yet: git sends it first, and asks for a password once it is told that one is missing.
fn take_password(headers: &mut HeaderMap) {
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
    // One that fits into no header is refused by the gateway.
    let bearer = HeaderValue::from_str(&format!("Bearer {token}")).unwrap_or(HeaderValue::from_static("Bearer -"));
    headers.insert(AUTHORIZATION, bearer);
}

/// `version=2` among what the client says, which are words with colons between.
fn speaks_version_2(said: &[u8]) -> bool {
    said.split(|byte| *byte == b':').any(|word| word == b"version=2")
}

/// A request that is let in, off the async threads.
struct GitRequest {
    service: Arc<Service>,
    account: String,
    namespace: String,
    version_2: bool,
    zipped: bool,
}

/// The answer to a fetch.
enum Fetched {
    /// It is at hand.
    Small(Reply),
    /// It is made while it is sent.
    Large(fetch::Request),
}

impl GitRequest {
    fn references(&self, action: Action) -> Result<Reply> {
        self.service.namespaces.existing(&self.account, &self.namespace)?;
        let lease = self.service.namespaces.lease(&self.account, &self.namespace)?;
        let head = lease.read_git(|repository| Ok(repository.head()?))?;
        let mut body = Vec::new();
        advertisement::write(action, self.version_2, head, &mut body)?;
        Ok(reply(&format!("application/x-{}-advertisement", action.service()), body))
    }

    fn small_fetch(&self, body: &[u8]) -> Result<Fetched> {
        self.service.namespaces.existing(&self.account, &self.namespace)?;
        let plain = self.plain(body)?;
        let asked = fetch::Request::parse(self.version_2, plain.as_deref().unwrap_or(body))?;
        if !asked.is_small() {
            return Ok(Fetched::Large(asked));
        }
        let lease = self.service.namespaces.lease(&self.account, &self.namespace)?;
        let mut answer = Vec::new();
        lease.read_git(|repository| Ok(fetch::answer(repository, &asked, &mut answer)?))?;
        Ok(Fetched::Small(reply(FETCHED, answer)))
    }

    /// A body that was sent compressed, as git does with a long list of commits.
    fn plain(&self, body: &[u8]) -> Result<Option<Vec<u8>>> {
        if !self.zipped {
            return Ok(None);
        }
        let mut plain = Vec::new();
        let read = GzDecoder::new(body).take(BODY_BYTES_MAX as u64 + 1).read_to_end(&mut plain);
        read.map_err(|error| Error::invalid("invalid_body", format!("body: it is no gzip: {error}")))?;
        if plain.len() > BODY_BYTES_MAX {
            return Err(error::too_large(BODY_BYTES_MAX));
        }
        Ok(Some(plain))
    }

    /// Sends a pack while it is made. What is held is let go at the end.
    fn stream(self, asked: fetch::Request, held: impl Send + 'static) -> Response<ResponseBody> {
        let (sender, body) = Channel::new(PIECES_AHEAD);
        tokio::task::spawn_blocking(move || {
            let _held = held;
            let mut out = Pieces { sender, runtime: Handle::current(), held: BytesMut::with_capacity(PIECE_BYTES) };
            let sent = self.service.namespaces.lease(&self.account, &self.namespace).and_then(|lease| {
                fetch::answer(lease.repository(), &asked, &mut out)?;
                Ok(out.flush()?)
            });
            if let Err(failure) = sent {
                // The client is gone, most likely; one that is not must not take a part for the whole.
                tracing::debug!(failure = failure.code(), "a fetch ended early");
                out.sender.abort(io::ErrorKind::BrokenPipe.into());
            }
        });
        let mut response = Response::new(ResponseBody::Stream { pieces: body, left: None });
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(FETCHED));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }

    fn push(&self, body: &[u8]) -> Result<Reply> {
        let namespace = self.service.namespaces.existing(&self.account, &self.namespace)?;
        let plain = self.plain(body)?;
        let push = Push::parse(plain.as_deref().unwrap_or(body))?;
        let (mut fates, mut words) = (Vec::new(), String::new());
        // No reference comes twice and main alone is taken, so the pack is unpacked once.
        for update in &push.updates {
            fates.push(self.take(&namespace, update, &push, &mut words)?);
        }
        let mut answer = Vec::new();
        push.report(&fates, &words, &mut answer)?;
        Ok(reply("application/x-git-receive-pack-result", answer))
    }

    /// Takes one of a push's updates, or says why not.
    fn take(
        &self,
        namespace: &NamespaceRecord,
        update: &Update,
        push: &Push<'_>,
        words: &mut String,
    ) -> Result<Option<String>> {
        match self.service.push(namespace, update, push.pack) {
            Ok(Ok(())) => Ok(None),
            Ok(Err(refused)) => {
                refused.words.iter().for_each(|line| words.push_str(&format!("{line}\n")));
                Ok(Some(refused.reason))
            }
            // What the account may not do is said where git shows it.
            Err(failure @ (Error::PaymentRequired(_) | Error::LimitReached { .. } | Error::Unavailable { .. })) => {
                Ok(Some(failure.to_string()))
            }
            Err(failure) => Err(failure),
        }
    }
}

/// What an answer to a fetch is.
const FETCHED: &str = "application/x-git-upload-pack-result";

fn reply(media_type: &str, body: Vec<u8>) -> Reply {
    let reply = Reply { status: StatusCode::OK, headers: Vec::new(), body: body.into() };
    reply.with(CONTENT_TYPE, media_type).with(CACHE_CONTROL, "no-cache")
}

/// A body that is written piece by piece from a thread that may wait.
struct Pieces {
    sender: Sender<Bytes, io::Error>,
    runtime: Handle,
    held: BytesMut,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PIECE_BYTES - self.held.len());
        self.held.extend_from_slice(&bytes[..taken]);
        if self.held.len() == PIECE_BYTES {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.held, BytesMut::with_capacity(PIECE_BYTES)).freeze();
        self.runtime.block_on(self.sender.send_data(piece)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_that_git_asks_for() {
        let get = |path, query| find(&Method::GET, path, query);
        let fetch = Some(("a-b".to_owned(), GitEndpoint::References(Action::Fetch)));
        assert_eq!(get("/v1/git/a-b/info/refs", Some("service=git-upload-pack")), fetch);
        assert_eq!(get("/v1/git/a-b.git/info/refs", Some("service=git-upload-pack")), fetch);
        assert_eq!(get("/v1/git/a-b/info/refs", None), None, "the dumb protocol");
        assert_eq!(get("/v1/git/a-b/HEAD", None), None);
        assert_eq!(get("/v1/git/a-b/../c/info/refs", Some("service=git-upload-pack")), None);
        let push = find(&Method::POST, "/v1/git/a/git-receive-pack", None);
        assert_eq!(push, Some(("a".to_owned(), GitEndpoint::Work(Action::Push))));
    }

    #[test]
    fn the_password_is_the_credential() {
        let taken = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_str(text).expect("a header's value"));
            take_password(&mut headers);
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
