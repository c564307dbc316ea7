//! The route table: method, path, who may call, what it counts as, which handler, and the names that it knows in a query
//! and in a body.
//!
//! A name that is missing here is reported as unknown ([`super::unknown`]), and a test compares the names with
//! `openapi.yaml`.

use hyper::Method;

use super::fields::Field;
use super::{
    AuthenticatedRequest, Reply, RouteRequest, answer, billing, conversations, fields, identity, intake, keys, media,
    memories, namespaces, queue, retrieve, skills, sources, vocabulary,
};
use crate::error::{Error, Result};
use crate::gateway::{Credential, Principal};

/// What does the work, blocking.
pub enum Handler {
    /// For whoever the gateway let in.
    Guarded(fn(&AuthenticatedRequest) -> Result<Reply>),
    /// For anybody: the handler itself finds out whether the request is genuine.
    Open(fn(&RouteRequest) -> Result<Reply>),
}

/// Who may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anybody, without credential.
    Open,
    /// Any credential.
    Any,
    /// Any but a key that is confined to a namespace.
    Wide,
    /// A dashboard session.
    Session,
    /// A dashboard session; a confined key is told so.
    WideSession,
}

/// What the request counts as, once it was answered without error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metering {
    /// Nothing.
    Free,
    /// A write, counted in one step with the write itself.
    Write,
    /// A read.
    Read,
    /// A read where there is a `q`.
    Search,
    /// A chat.
    Chat,
}

/// What body it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// None; what is sent is read and ignored.
    Nothing,
    /// JSON, up to [`super::BODY_BYTES_MAX`].
    Json,
    /// Anything, up to [`super::MEDIA_BYTES_MAX`].
    Media,
    /// What git pushes, up to [`super::PACK_BYTES_MAX`].
    Pack,
    /// Anything, up to [`super::OPEN_BODY_BYTES_MAX`]: it is read only after its signature was found good.
    Signed,
}

/// How large an answer can become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is bounded by what the request says, or by one stored thing.
    Small,
    /// It grows with what the account has stored: memory for it is taken before it is made.
    Large,
}

/// How a route's work is run, and how its failures look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executor {
    /// At once: it reads nothing and waits for nothing.
    Inline,
    /// On the blocking pool.
    Ordinary,
    /// On the retrieval threads, under the ceiling.
    Retrieval,
    /// The same, with retrieve's own shape of errors.
    Retrieve,
}

/// A route.
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path, parameters in braces.
    pub path: &'static str,
    /// Who may call.
    pub access: Access,
    /// What it counts as.
    pub metering: Metering,
    /// The parameters of its query.
    pub query: &'static [&'static str],
    /// What it takes.
    pub body: Body,
    /// The fields of its JSON body.
    pub fields: &'static [Field],
    /// How it is run.
    pub lane: Executor,
    /// How large its answer can become.
    pub answer: Answer,
    /// What it does.
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
}

impl Access {
    /// Refuses a caller that is let in but not here.
    pub fn check(self, principal: &Principal) -> Result<()> {
        let scoped = principal.scope().is_some();
        let key = matches!(principal.credential, Credential::Key { .. });
        match self {
            Self::Wide | Self::WideSession if scoped => {
                Err(Error::forbidden("scoped_key", "a key that is confined to a namespace cannot do this"))
            }
            Self::Session | Self::WideSession if key => {
                Err(Error::forbidden("dashboard_only", "this takes a dashboard session, not an API key"))
            }
            _ => Ok(()),
        }
    }
}

type Guarded = fn(&AuthenticatedRequest) -> Result<Reply>;
type Unguarded = fn(&RouteRequest) -> Result<Reply>;

const fn route(method: Method, path: &'static str, access: Access, metering: Metering, handler: Guarded) -> Route {
    let body = match method {
        Method::POST | Method::PATCH => Body::Json,
        _ => Body::Nothing,
    };
    let (lane, answer, handler) = (Executor::Ordinary, Answer::Small, Handler::Guarded(handler));
    Route { method, path, access, metering, query: &[], body, fields: &[], lane, answer, handler }
}

/// A listing, which is free.
const fn listing(path: &'static str, access: Access, handler: Guarded) -> Route {
    let mut listing = route(Method::GET, path, access, Metering::Free, handler);
    listing.answer = Answer::Large;
    listing
}

const fn retrieval(method: Method, path: &'static str, metering: Metering, lane: Executor, handler: Guarded) -> Route {
    let mut retrieval = route(method, path, Access::Any, metering, handler);
    retrieval.lane = lane;
    retrieval
}

const fn upload(path: &'static str, handler: Guarded) -> Route {
    let mut upload = route(Method::POST, path, Access::Any, Metering::Free, handler);
    upload.body = Body::Media;
    upload
}

const fn open(method: Method, path: &'static str, body: Body, lane: Executor, handler: Unguarded) -> Route {
    let (access, metering, answer, handler) = (Access::Open, Metering::Free, Answer::Small, Handler::Open(handler));
    Route { method, path, access, metering, query: &[], body, fields: &[], lane, answer, handler }
}

/// What needs no store and no thread of its own.
const fn inline(path: &'static str, handler: Guarded) -> Route {
    let mut inline = route(Method::GET, path, Access::Any, Metering::Free, handler);
    inline.lane = Executor::Inline;
    inline
}

/// The query of routes that take a namespace and nothing else.
const NAMESPACE: &[&str] = &["namespace"];
/// `GET /v1/memories/{path}`.
const MEMORY: &[&str] = &["namespace", "section", "revision", "detail"];
/// `GET /v1/skills`.
const SKILLS: &[&str] = &["namespace", "q", "paths", "tags", "limit"];

/// Every route.
pub static ROUTES: [Route; 47] = {
    use Access::{Any, Session, Wide, WideSession};
    use Metering::{Chat, Free, Read, Search, Write};
    const GET: Method = Method::GET;
    const POST: Method = Method::POST;
    const PATCH: Method = Method::PATCH;
    const DELETE: Method = Method::DELETE;
    [
        open(GET, "/health", Body::Nothing, Executor::Inline, identity::health),
        inline("/v1/whoami", identity::whoami),
        route(POST, "/v1/keys", Wide, Free, keys::create).with_body(fields::KEY),
        listing("/v1/keys", Session, keys::list),
        route(DELETE, "/v1/keys/{key_id}", Session, Free, keys::revoke),
        route(POST, "/v1/namespaces", Wide, Free, namespaces::create).with_body(fields::NAMESPACE),
        listing("/v1/namespaces", Any, namespaces::list).with_query(&["after"]),
        route(DELETE, "/v1/namespaces/{name}", WideSession, Free, namespaces::delete),
        route(POST, "/v1/memories", Any, Write, intake::remember).with_body(fields::WRITE),
        route(GET, "/v1/memories/{*path}", Any, Free, memories::get).with_query(MEMORY),
        route(POST, "/v1/memories/{*path}", Any, Write, memories::write)
            .with_query(NAMESPACE)
            .with_body(fields::DIRECT_WRITE),
        route(DELETE, "/v1/memories/{*path}", Any, Free, memories::forget).with_query(NAMESPACE),
        listing("/v1/tree", Any, memories::tree).with_query(&["namespace", "path"]),
        listing("/v1/topics", Any, memories::topics).with_query(NAMESPACE),
        listing("/v1/graph", Any, memories::graph).with_query(&["namespace", "path", "depth", "limit"]),
        retrieval(GET, "/v1/retrieve", Read, Executor::Retrieve, retrieve::retrieve).with_query(retrieve::PARAMETERS),
        retrieval(POST, "/v1/answer", Chat, Executor::Retrieval, answer::answer).with_body(fields::ANSWER),
        route(POST, "/v1/vocab", Any, Write, vocabulary::teach).with_body(fields::VOCABULARY),
        listing("/v1/vocab", Any, vocabulary::list).with_query(&["namespace", "word", "like", "limit"]),
        route(DELETE, "/v1/vocab", Any, Free, vocabulary::forget).with_query(&["namespace", "term"]),
        route(POST, "/v1/skills", Any, Write, skills::store).with_body(fields::SKILLS),
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
        upload("/v1/media", media::upload).with_query(&["namespace", "filename"]),
        route(GET, "/v1/media/{id}", Any, Free, media::address).with_query(NAMESPACE),
        open(GET, "/v1/media/{id}/content", Body::Nothing, Executor::Ordinary, media::content)
            .with_query(&["expires", "signature"]),
        listing("/v1/queue", Wide, queue::show).with_query(&["limit", "after"]),
        route(POST, "/v1/dead-letters/{id}/retry", WideSession, Free, queue::retry),
        route(DELETE, "/v1/dead-letters/{id}", WideSession, Free, queue::drop_letter),
        route(GET, "/v1/usage", Any, Free, billing::usage),
        route(GET, "/v1/billing", Any, Free, billing::statement),
        route(POST, "/v1/billing/recharge", Session, Free, billing::recharge).with_body(fields::RECHARGE),
        route(POST, "/v1/billing/subscribe", Session, Free, billing::subscribe).with_body(fields::SUBSCRIPTION),
        open(POST, "/v1/billing/notifications", Body::Signed, Executor::Ordinary, billing::notification),
        route(GET, "/v1/openapi.json", Any, Free, identity::document),
    ]
};

/// A route and its path parameters, percent-decoded.
pub type Found = (&'static Route, Vec<String>);

/// Finds routes by method and path.
pub struct Router {
    paths: matchit::Router<Vec<&'static Route>>,
}

impl Router {
    /// A router over [`ROUTES`].
    pub fn new() -> Result<Self, matchit::InsertError> {
        let mut paths: matchit::Router<Vec<&'static Route>> = matchit::Router::new();
        for route in &ROUTES {
            match paths.at_mut(route.path) {
                Ok(found) if found.value.first().is_some_and(|held| held.path == route.path) => found.value.push(route),
                _ => paths.insert(route.path, vec![route])?,
            }
        }
        Ok(Self { paths })
    }

    /// What a request asks for; none when nothing fits, or a parameter is no UTF-8.
    pub fn find(&self, method: &Method, path: &str) -> Option<Found> {
        let found = self.paths.at(path).ok()?;
        let route = found.value.iter().find(|route| route.method == *method)?;
        let decode = |(_, value): (&str, &str)| {
            percent_encoding::percent_decode_str(value).decode_utf8().ok().map(std::borrow::Cow::into_owned)
        };
        let parameters = found.params.iter().map(decode).collect::<Option<Vec<String>>>()?;
        Some((route, parameters))
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
        assert!(router.find(&Method::GET, "/v1/nothing").is_none());
        assert!(router.find(&Method::DELETE, "/v1/keys/%ff").is_none());
        for route in &ROUTES {
            let (found, _) = router.find(&route.method, route.path).expect("every route is found");
            assert_eq!(found.path, route.path);
        }
    }

    #[test]
    fn only_what_proves_itself_is_open() {
        let open = ROUTES.iter().filter(|route| route.access == Access::Open).map(|route| route.path);
        let expected = ["/health", "/v1/media/{id}/content", "/v1/billing/notifications"];
        assert_eq!(open.collect::<Vec<_>>(), expected);
    }
}
