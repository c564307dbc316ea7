//! The route table: method, path, who may call, and which handler, on one screen.

use hyper::Method;

use super::{Call, Reply, identity, keys, memories, namespaces, retrieve};
use crate::service::Outcome;

/// A blocking handler.
pub type Handler = fn(&Call) -> Outcome<Reply>;

/// How a route's work is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// On the blocking pool.
    Ordinary,
    /// On the retrieval threads, under the ceiling, with retrieve's error shape.
    Retrieval,
}

/// A route behind the gateway. Who exactly may call is the handler's business; it knows the spec's codes.
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path, parameters in braces.
    pub path: &'static str,
    /// How it is run.
    pub lane: Lane,
    /// What it does.
    pub handler: Handler,
}

const fn route(method: Method, path: &'static str, handler: Handler) -> Route {
    Route { method, path, lane: Lane::Ordinary, handler }
}

/// The only path that needs no credential.
pub const HEALTH: &str = "/health";

/// Every route behind the gateway.
pub static ROUTES: [Route; 9] = [
    route(Method::GET, "/v1/whoami", identity::whoami),
    route(Method::POST, "/v1/keys", keys::create),
    route(Method::GET, "/v1/keys", keys::list),
    route(Method::DELETE, "/v1/keys/{key_id}", keys::revoke),
    route(Method::POST, "/v1/namespaces", namespaces::create),
    route(Method::GET, "/v1/namespaces", namespaces::list),
    route(Method::DELETE, "/v1/namespaces/{name}", namespaces::delete),
    route(Method::POST, "/v1/memories", memories::remember),
    Route { method: Method::GET, path: "/v1/retrieve", lane: Lane::Retrieval, handler: retrieve::retrieve },
];

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
                Ok(found) => found.value.push(route),
                Err(_) => paths.insert(route.path, vec![route])?,
            }
        }
        Ok(Self { paths })
    }

    /// The route for a request and its path parameters, percent-decoded; none when nothing fits, or a parameter is no
    /// UTF-8.
    pub fn find(&self, method: &Method, path: &str) -> Option<(&'static Route, Vec<String>)> {
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
        assert!(router.find(&Method::PUT, "/v1/keys").is_none());
        assert!(router.find(&Method::GET, "/v1/nothing").is_none());
        assert!(router.find(&Method::DELETE, "/v1/keys/%ff").is_none());
    }
}
