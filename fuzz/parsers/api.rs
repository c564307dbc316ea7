//! A complete request (path, query, headers and body) through the gateway, the router and the handler to the response.
//!
//! An input is a request in the form of HTTP/1.1. The first header may be `as: wide`, `as: scoped` or `as: session`, which
//! selects a valid credential of that kind. No request may cause an internal error.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use cuebase::accounts::NewKey;
use cuebase::api::query::QueryString;
use cuebase::api::routes::{Handler, Router};
use cuebase::api::unknown::UnknownNames;
use cuebase::api::{AuthenticatedRequest, JSON_DEPTH_MAX, ReplyBody, RetrievalSlot, RouteRequest, error};
use cuebase::app::App;
use cuebase::config::{Config, setting};
use cuebase::error::Error;
use cuebase::gateway::{Credential, Gateway, Principal};
use cuebase::service::retrieval::ReplyBudget;
use cuebase_storage::records::Environment;
use cuebase_storage::{AccountId, NamespaceName};
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, Uri};

/// Requests per data directory. A fresh directory limits how much earlier requests affect later ones.
const REQUESTS_PER_DIRECTORY: u32 = 2_000;
/// The namespace next to the default one. The scoped key is limited to it.
const NAMESPACE: &str = "notes";

pub(super) fn enter(bytes: &[u8]) {
    thread_local! {
        static API: RefCell<Option<InProcessServer>> = const { RefCell::new(None) };
    }
    API.with_borrow_mut(|server| {
        if server.as_ref().is_none_or(|server| server.requests >= REQUESTS_PER_DIRECTORY) {
            *server = None;
            *server = Some(InProcessServer::new());
        }
        if let Some(server) = server {
            server.requests += 1;
            server.handle(bytes);
        }
    });
}

/// An open data directory with gateway and router, without sockets and workers.
struct InProcessServer {
    app: Arc<App>,
    gateway: Arc<Gateway>,
    router: Router,
    wide_key: String,
    scoped_key: String,
    requests: u32,
    _folder: tempfile::TempDir,
}

impl InProcessServer {
    fn new() -> Self {
        let folder = super::scratch();
        let options = BTreeMap::from([
            (setting::general::data.key, folder.path().join("data").display().to_string()),
            (setting::payments::provider.key, "sandbox".to_owned()),
            (setting::model::builtin.key, "table".to_owned()),
        ]);
        let config = Config::resolve(&options, |_| None, None).expect("settings");
        let app = App::open(&config).expect("opens");
        let key = |namespace: Option<&str>| {
            let namespace = namespace.map(|name| NamespaceName::new(name).expect("a valid name"));
            let wanted = NewKey { name: String::new(), env: Environment::Live, namespace };
            app.accounts.create_key(&AccountId::default(), wanted).expect("a key").1
        };
        let access = &config.access;
        let gateway = Gateway::new(Arc::clone(&app.accounts), access.identity.as_ref(), &access.rate_limit);
        let gateway = gateway.expect("a gateway");
        let (wide_key, gateway) = (key(None), Arc::new(gateway));
        let mut server = Self {
            gateway,
            router: Router::new().expect("routes"),
            wide_key,
            scoped_key: String::new(),
            requests: 0,
            _folder: folder,
            app: Arc::clone(&app),
        };
        let new_namespace = format!("POST /v1/namespaces\nas: wide\n\n{{\"name\":\"{NAMESPACE}\"}}");
        server.handle(new_namespace.as_bytes());
        server.scoped_key = key(Some(NAMESPACE));
        server
    }

    fn handle(&self, bytes: &[u8]) {
        let Some((method, uri, headers, body)) = parse_request(bytes) else { return };
        if may_be_too_deep(body) {
            return;
        }
        let found = self.router.find(&method, uri.path());
        let open = found.as_ref().is_some_and(|(route, _)| matches!(route.handler, Handler::Open(_)));
        let principal = match (open, self.caller(headers)) {
            (true, _) => None,
            (false, Some((principal, headers))) => Some((principal, headers)),
            (false, None) => return,
        };
        let Some((route, parameters)) = found else { return };
        let (principal, headers) = principal.map_or((None, HeaderMap::new()), |(who, headers)| (Some(who), headers));
        let query = QueryString::parse(uri.query().unwrap_or_default());
        let Ok(unknown) = UnknownNames::in_query(&route.known_names(), &query) else { return };
        let request = RouteRequest {
            app: Arc::clone(&self.app),
            parameters,
            query,
            unknown,
            headers,
            body: body.to_vec().into(),
            retrieval_slot: Arc::new(RetrievalSlot::default()),
            reply_budget: ReplyBudget::default(),
        };
        let outcome = match (&route.handler, principal) {
            (Handler::Open(handler), _) => handler(&request),
            (Handler::Guarded(handler), Some(principal)) => {
                route.access.check(&principal).and_then(|()| handler(&AuthenticatedRequest { request, principal }))
            }
            (Handler::Guarded(_), None) => return,
        };
        match outcome {
            Ok(reply) => assert!(!reply.status.is_server_error(), "{}", reply.status),
            Err(failure @ (Error::Internal(_) | Error::Damaged(_) | Error::DamagedNamespace(_))) => {
                panic!("{} {}: {failure}", route.method, route.path)
            }
            Err(failure) => {
                let reply = error::reply(&failure, &error::ErrorFormat::Envelope);
                let has_message = matches!(&reply.body, ReplyBody::Bytes(bytes) if !bytes.is_empty());
                assert!(has_message && (reply.status.is_client_error() || reply.status == 503), "{failure}");
            }
        }
    }

    /// Returns the caller with these headers, or `None` without a valid credential.
    fn caller(&self, mut headers: HeaderMap) -> Option<(Principal, HeaderMap)> {
        let key = match headers.get("as").and_then(|value| value.to_str().ok()) {
            Some("wide") => &self.wide_key,
            Some("scoped") => &self.scoped_key,
            Some("session") => {
                let credential = Credential::Session { email: None };
                return Some((Principal { account: AccountId::default(), credential }, headers));
            }
            _ => "",
        };
        if !key.is_empty() {
            headers.insert(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {key}")).ok()?);
        }
        Some((self.gateway.authorize(&headers).ok()?, headers))
    }
}

/// Returns whether a body may nest deeper than the server accepts. The number of opening brackets is an upper bound.
fn may_be_too_deep(body: &[u8]) -> bool {
    let opening = body.iter().filter(|byte| matches!(byte, b'[' | b'{')).count();
    opening > JSON_DEPTH_MAX
}

/// Parses an input. Returns `None` for anything that no HTTP library would accept.
fn parse_request(bytes: &[u8]) -> Option<(Method, Uri, HeaderMap, &[u8])> {
    let end = bytes.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = end.map_or((bytes, &[][..]), |end| (&bytes[..end], &bytes[end + 2..]));
    let mut lines = head.split(|byte| *byte == b'\n');
    let mut first = lines.next()?.splitn(2, |byte| *byte == b' ');
    let method = Method::from_bytes(first.next()?).ok()?;
    let uri = Uri::try_from(first.next()?).ok()?;
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_at(line.iter().position(|byte| *byte == b':')?);
        headers.append(HeaderName::from_bytes(name).ok()?, HeaderValue::from_bytes(value[1..].trim_ascii()).ok()?);
    }
    Some((method, uri, headers, body))
}
