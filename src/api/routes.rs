//! The route table: for each route its method, path, access, meter, handler, and the names of its query and body.
//!
//! A name that is missing here is reported as unknown ([`super::unknown`]), and a test compares the names with the
//! OpenAPI document ([`super::schema`]).

use hyper::Method;

use super::fields::Field;
use super::reply::Reply;
use super::request::{AuthenticatedRequest, RouteRequest};
use super::unknown::{KnownNames, OCCURRED_AT};
use super::{
    answer, billing, context, conversations, documents, erase, explain, fields, identity, intake, keys, listing, media,
    memories, namespaces, profile, queue, retrieve, skills, sources, statistics, vocabulary, writes,
};
use crate::documents::memory_bytes_max;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::gateway::{Credential, Principal};

/// The function of a route. It blocks.
pub enum Handler {
    /// Takes a request that the gateway has authenticated.
    Guarded(GuardedHandler),
    /// Takes a request without a credential; the handler checks what proves it, such as a signature.
    Open(OpenHandler),
}

type GuardedHandler = fn(&AuthenticatedRequest) -> Result<Reply>;
type OpenHandler = fn(&RouteRequest) -> Result<Reply>;

/// Who may call a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anybody, without a credential.
    Open,
    /// Any credential.
    Any,
    /// Any credential except a key that is limited to a namespace.
    Wide,
    /// A dashboard session.
    Session,
    /// A dashboard session. A key that is limited to a namespace gets the error of [`Access::Wide`].
    WideSession,
}

/// The unit that a request is charged, once it was answered without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metering {
    /// Nothing.
    Free,
    /// A write, charged in the same batch as the write itself.
    Write,
    /// A read.
    Read,
    /// A read if the query has a `q`, else nothing.
    Search,
    /// A chat.
    Chat,
}

/// The kind of body that a route takes, which decides its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// None. A body that is sent is read and ignored.
    Nothing,
    /// JSON, up to [`super::BODY_BYTES_MAX`].
    Json,
    /// JSON whose fields are the parameters of the query, up to [`super::PARAMETERS_BYTES_MAX`].
    Parameters,
    /// Any bytes, up to [`super::MEDIA_BYTES_MAX`].
    Media,
    /// A document, up to [`super::MEDIA_BYTES_MAX`]. A process reads it, whose memory counts as that of the body.
    Document,
    /// A pack pushed by git, up to [`super::PACK_BYTES_MAX`].
    Pack,
    /// Any bytes, up to [`super::OPEN_BODY_BYTES_MAX`]. The body is decoded only after its signature was verified.
    Signed,
}

impl BodyKind {
    /// Returns the memory in bytes that the process takes that reads a body; zero if none does.
    pub fn reader_bytes(self, body_bytes: usize) -> usize {
        match self {
            Self::Document if body_bytes > 0 => memory_bytes_max(body_bytes),
            Self::Nothing
            | Self::Json
            | Self::Parameters
            | Self::Media
            | Self::Document
            | Self::Pack
            | Self::Signed => 0,
        }
    }
}

/// How large a response can become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseSize {
    /// Bounded by the request or by one stored object.
    Small,
    /// Grows with the data of the account. Memory is reserved before the response is made.
    Large,
}

/// Where the handler of a route runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executor {
    /// On the async thread: the handler does no I/O and does not block.
    Inline,
    /// On the blocking pool.
    Ordinary,
    /// On the retrieval threads, under the limit of concurrent retrievals.
    Retrieval,
    /// Like `Retrieval`, and errors take the format of `GET /v1/retrieve`.
    Retrieve,
}

/// A route.
pub struct Route {
    /// HTTP method.
    pub method: Method,
    /// Path, with parameters in braces.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// The unit that a request is charged.
    pub metering: Metering,
    /// Names of the query parameters.
    pub query: &'static [&'static str],
    /// Kind of body.
    pub body: BodyKind,
    /// Fields of the JSON body.
    pub fields: &'static [Field],
    /// Where the handler runs.
    pub executor: Executor,
    /// How large a response can become.
    pub response_size: ResponseSize,
    /// The function that responds.
    pub handler: Handler,
}

impl Route {
    const fn with_query(mut self, names: &'static [&'static str]) -> Self {
        self.query = names;
        self
    }

    const fn with_body(mut self, fields: &'static [Field]) -> Self {
        self.fields = fields;
        self
    }

    /// Returns the names that the route knows.
    pub fn known_names(&self) -> KnownNames {
        let fields = match self.body {
            BodyKind::Json | BodyKind::Parameters => Some(self.fields),
            BodyKind::Nothing | BodyKind::Media | BodyKind::Document | BodyKind::Pack | BodyKind::Signed => None,
        };
        KnownNames { parameters: self.query, fields }
    }
}

impl Access {
    /// Refuses an authenticated caller who may not call the route.
    pub fn check(self, principal: &Principal) -> Result<()> {
        let is_limited = principal.scope().is_some();
        let is_key = matches!(principal.credential, Credential::Key { .. });
        match self {
            Self::Wide | Self::WideSession if is_limited => Err(Error::forbidden(
                ErrorCode::ScopedKey,
                "a key that is limited to one namespace cannot call this route",
            )),
            Self::Session | Self::WideSession if is_key => Err(Error::forbidden(
                ErrorCode::DashboardOnly,
                "this route requires a dashboard session, not an API key",
            )),
            _ => Ok(()),
        }
    }
}

const fn route(
    method: Method,
    path: &'static str,
    access: Access,
    metering: Metering,
    handler: GuardedHandler,
) -> Route {
    let body = match method {
        Method::POST | Method::PATCH => BodyKind::Json,
        _ => BodyKind::Nothing,
    };
    Route {
        method,
        path,
        access,
        metering,
        query: &[],
        body,
        fields: &[],
        executor: Executor::Ordinary,
        response_size: ResponseSize::Small,
        handler: Handler::Guarded(handler),
    }
}

/// A list of stored objects. It is free.
const fn listing(path: &'static str, access: Access, handler: GuardedHandler) -> Route {
    let mut listing = route(Method::GET, path, access, Metering::Free, handler);
    listing.response_size = ResponseSize::Large;
    listing
}

const fn retrieval(
    method: Method,
    path: &'static str,
    metering: Metering,
    executor: Executor,
    handler: GuardedHandler,
) -> Route {
    let mut retrieval = route(method, path, Access::Any, metering, handler);
    retrieval.executor = executor;
    retrieval
}

/// A retrieval whose parameters are the fields of its JSON body, for long queries.
const fn long_retrieval(path: &'static str, executor: Executor, handler: GuardedHandler) -> Route {
    let mut retrieval = retrieval(Method::POST, path, Metering::Read, executor, handler);
    retrieval.body = BodyKind::Parameters;
    retrieval
}

const fn upload(path: &'static str, body: BodyKind, metering: Metering, handler: GuardedHandler) -> Route {
    let mut upload = route(Method::POST, path, Access::Any, metering, handler);
    upload.body = body;
    upload
}

const fn open(method: Method, path: &'static str, body: BodyKind, executor: Executor, handler: OpenHandler) -> Route {
    Route {
        method,
        path,
        access: Access::Open,
        metering: Metering::Free,
        query: &[],
        body,
        fields: &[],
        executor,
        response_size: ResponseSize::Small,
        handler: Handler::Open(handler),
    }
}

/// A route that reads no store and needs no thread of its own.
const fn inline(path: &'static str, handler: GuardedHandler) -> Route {
    let mut inline = route(Method::GET, path, Access::Any, Metering::Free, handler);
    inline.executor = Executor::Inline;
    inline
}

/// The query of routes that take a namespace and nothing else.
const NAMESPACE: &[&str] = &["namespace"];
/// The query of routes that accept a write and can wait for it. Their body names the namespace.
const WAIT: &[&str] = &[writes::WAIT, writes::WAIT_FOR];
/// `DELETE /v1/memories/{path}`.
const FORGET: &[&str] = &["namespace", writes::WAIT, writes::WAIT_FOR];
/// `DELETE /v1/vocab`.
const FORGET_TERMS: &[&str] = &["namespace", "term", writes::WAIT, writes::WAIT_FOR];
/// `POST /v1/documents`.
const DOCUMENT: &[&str] =
    &["namespace", "filename", "document_id", "tags", "metadata", OCCURRED_AT, writes::WAIT, writes::WAIT_FOR];
/// `GET /v1/memories/{path}`.
const MEMORY: &[&str] = &["namespace", "section", "revision", "detail"];
/// `GET /v1/skills`.
const SKILLS: &[&str] = &["namespace", "q", "paths", "tags", "where", "limit"];

/// Every route.
pub static ROUTES: [Route; 63] = {
    use Access::{Any, Session, Wide, WideSession};
    use Metering::{Chat, Free, Read, Search, Write};
    const GET: Method = Method::GET;
    const POST: Method = Method::POST;
    const PATCH: Method = Method::PATCH;
    const DELETE: Method = Method::DELETE;
    [
        open(GET, "/health", BodyKind::Nothing, Executor::Inline, identity::health),
        inline("/v1/whoami", identity::whoami),
        route(POST, "/v1/keys", Wide, Free, keys::create).with_body(fields::KEY),
        listing("/v1/keys", Session, keys::list),
        route(DELETE, "/v1/keys/{key_id}", Session, Free, keys::revoke),
        route(POST, "/v1/namespaces", Wide, Free, namespaces::create).with_body(fields::NAMESPACE),
        listing("/v1/namespaces", Any, namespaces::list).with_query(&["after"]),
        route(DELETE, "/v1/namespaces/{name}", WideSession, Free, namespaces::delete),
        route(POST, "/v1/memories", Any, Write, intake::remember).with_query(WAIT).with_body(fields::WRITE),
        listing("/v1/memories", Any, listing::list).with_query(listing::MEMORIES),
        listing("/v1/facets", Any, listing::facets).with_query(listing::FACETS),
        route(GET, "/v1/memories/{*path}", Any, Free, memories::get).with_query(MEMORY),
        route(POST, "/v1/memories/{*path}", Any, Write, memories::write)
            .with_query(NAMESPACE)
            .with_body(fields::DIRECT_WRITE),
        route(DELETE, "/v1/memories/{*path}", Any, Free, memories::forget).with_query(FORGET),
        listing("/v1/tree", Any, memories::tree).with_query(&["namespace", "path"]),
        listing("/v1/topics", Any, memories::topics).with_query(NAMESPACE),
        listing("/v1/graph", Any, memories::graph).with_query(&["namespace", "path", "depth", "limit"]),
        listing("/v1/timeline", Any, profile::timeline).with_query(&["namespace", "path"]),
        retrieval(GET, "/v1/retrieve", Read, Executor::Retrieve, retrieve::retrieve).with_query(retrieve::PARAMETERS),
        long_retrieval("/v1/retrieve", Executor::Retrieve, retrieve::retrieve).with_body(fields::RETRIEVAL),
        retrieval(GET, "/v1/context", Read, Executor::Retrieval, context::context).with_query(context::PARAMETERS),
        long_retrieval("/v1/context", Executor::Retrieval, context::context).with_body(fields::CONTEXT),
        retrieval(GET, "/v1/profile", Read, Executor::Retrieval, profile::profile).with_query(profile::PARAMETERS),
        retrieval(POST, "/v1/answer", Chat, Executor::Retrieval, answer::answer).with_body(fields::ANSWER),
        retrieval(POST, "/v1/explain", Read, Executor::Retrieval, explain::explain).with_body(fields::EXPLAIN),
        route(POST, "/v1/vocab", Any, Write, vocabulary::teach).with_query(WAIT).with_body(fields::VOCABULARY),
        listing("/v1/vocab", Any, vocabulary::list).with_query(&["namespace", "word", "like", "limit"]),
        route(DELETE, "/v1/vocab", Any, Free, vocabulary::forget).with_query(FORGET_TERMS),
        route(POST, "/v1/skills", Any, Write, skills::store).with_query(WAIT).with_body(fields::SKILLS),
        retrieval(GET, "/v1/skills", Search, Executor::Retrieval, skills::list).with_query(SKILLS),
        route(POST, "/v1/conversations", Any, Free, conversations::create).with_body(fields::CONVERSATION),
        listing("/v1/conversations", Any, conversations::list).with_query(&["namespace", "limit", "before"]),
        listing("/v1/conversations/{id}", Any, conversations::get).with_query(&["namespace", "branch"]),
        route(PATCH, "/v1/conversations/{id}", Any, Free, conversations::update)
            .with_query(NAMESPACE)
            .with_body(fields::CONVERSATION_CHANGE),
        route(DELETE, "/v1/conversations/{id}", Any, Free, conversations::delete).with_query(NAMESPACE),
        route(POST, "/v1/conversations/{id}/messages", Any, Write, conversations::append)
            .with_query(NAMESPACE)
            .with_body(fields::APPENDED),
        route(POST, "/v1/conversations/{id}/rewind", Any, Free, conversations::rewind)
            .with_query(NAMESPACE)
            .with_body(fields::REWIND),
        route(PATCH, "/v1/conversations/{id}/messages/{mid}", Any, Free, conversations::edit_in_place)
            .with_query(NAMESPACE)
            .with_body(fields::EDIT),
        route(POST, "/v1/conversations/{id}/messages/{mid}/edit", Any, Free, conversations::edit)
            .with_query(NAMESPACE)
            .with_body(fields::EDIT),
        listing("/v1/conversations/{id}/branches", Any, conversations::branches).with_query(NAMESPACE),
        listing("/v1/sources", Any, sources::list).with_query(&["namespace", "session_id", "limit", "before"]),
        listing("/v1/sources/{id}", Any, sources::get).with_query(NAMESPACE),
        route(DELETE, "/v1/sources/{id}", Any, Free, sources::delete).with_query(NAMESPACE),
        route(POST, "/v1/erase", Session, Free, erase::erase).with_body(fields::ERASURE),
        upload("/v1/documents", BodyKind::Document, Write, documents::upload).with_query(DOCUMENT),
        listing("/v1/documents", Any, documents::list).with_query(&["namespace", "limit", "after"]),
        listing("/v1/documents/{id}", Any, documents::get).with_query(NAMESPACE),
        route(DELETE, "/v1/documents/{id}", Any, Free, documents::forget).with_query(FORGET),
        upload("/v1/media", BodyKind::Media, Free, media::upload).with_query(&["namespace", "filename"]),
        route(GET, "/v1/media/{id}", Any, Free, media::address).with_query(NAMESPACE),
        open(GET, "/v1/media/{id}/content", BodyKind::Nothing, Executor::Ordinary, media::content)
            .with_query(&["expires", "signature"]),
        listing("/v1/writes", Any, writes::list).with_query(&["namespace", "status", "limit", "before"]),
        route(GET, "/v1/writes/{id}", Any, Free, writes::show),
        route(GET, "/v1/statistics", Wide, Free, statistics::show),
        listing("/v1/queue", Wide, queue::show).with_query(&["limit", "after"]),
        route(POST, "/v1/dead-letters/{id}/retry", WideSession, Free, queue::retry),
        route(DELETE, "/v1/dead-letters/{id}", WideSession, Free, queue::drop_letter),
        route(GET, "/v1/usage", Any, Free, billing::usage),
        route(GET, "/v1/billing", Any, Free, billing::statement),
        route(POST, "/v1/billing/recharge", Session, Free, billing::recharge).with_body(fields::RECHARGE),
        route(POST, "/v1/billing/subscribe", Session, Free, billing::subscribe).with_body(fields::SUBSCRIPTION),
        open(POST, "/v1/billing/notifications", BodyKind::Signed, Executor::Ordinary, billing::notification),
        route(GET, "/v1/openapi.json", Any, Free, identity::document),
    ]
};

/// A route and its path parameters, percent-decoded.
pub type RouteMatch = (&'static Route, Vec<String>);

/// Finds routes by method and path.
pub struct Router {
    paths: matchit::Router<Vec<&'static Route>>,
}

impl Router {
    /// Makes a router of [`ROUTES`].
    pub fn new() -> Result<Self, matchit::InsertError> {
        let mut paths: matchit::Router<Vec<&'static Route>> = matchit::Router::new();
        for route in &ROUTES {
            // A different path may match this one as well, for example through a parameter.
            if let Ok(matched) = paths.at_mut(route.path)
                && matched.value.iter().any(|other| other.path == route.path)
            {
                matched.value.push(route);
            } else {
                paths.insert(route.path, vec![route])?;
            }
        }
        Ok(Self { paths })
    }

    /// Finds the route of a request. Returns `None` where no route matches or a path parameter is not UTF-8.
    pub fn find(&self, method: &Method, path: &str) -> Option<RouteMatch> {
        let matched = self.paths.at(path).ok()?;
        let route = matched.value.iter().find(|route| route.method == *method)?;
        let mut parameters = Vec::new();
        for (_, value) in matched.params.iter() {
            let decoded = percent_encoding::percent_decode_str(value).decode_utf8().ok()?;
            parameters.push(decoded.into_owned());
        }
        Some((route, parameters))
    }

    /// Returns the methods of the routes with a path, in alphabetical order.
    pub fn methods(&self, path: &str) -> Vec<&'static str> {
        let Ok(matched) = self.paths.at(path) else { return Vec::new() };
        let mut methods = Vec::with_capacity(matched.value.len());
        for route in matched.value {
            methods.push(route.method.as_str());
        }
        methods.sort_unstable();
        methods
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_found_by_method_and_path() {
        let router = Router::new().expect("the table has no conflicts");
        let (route, parameters) = router.find(&Method::DELETE, "/v1/keys/0123%20x").expect("a route");
        assert_eq!((route.path, parameters.as_slice()), ("/v1/keys/{key_id}", &["0123 x".to_owned()][..]));
        let (_, parameters) = router.find(&Method::GET, "/v1/memories/facts/a.md%23Top").expect("a route");
        assert_eq!(parameters, ["facts/a.md#Top"]);
        assert!(router.find(&Method::PUT, "/v1/keys").is_none());
        assert_eq!(router.methods("/v1/keys"), ["GET", "POST"]);
        assert!(router.methods("/v1/nothing").is_empty());
        assert!(router.find(&Method::GET, "/v1/nothing").is_none());
        assert!(router.find(&Method::DELETE, "/v1/keys/%ff").is_none());
        for route in &ROUTES {
            let (found, _) = router.find(&route.method, route.path).expect("every route is found");
            assert_eq!(found.path, route.path);
        }
    }

    #[test]
    fn only_three_routes_take_no_credential() {
        let open = ROUTES.iter().filter(|route| route.access == Access::Open).map(|route| route.path);
        let expected = ["/health", "/v1/media/{id}/content", "/v1/billing/notifications"];
        assert_eq!(open.collect::<Vec<_>>(), expected);
    }
}
