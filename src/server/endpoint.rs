//! What a listener serves.

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::Context;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response};
use tower::{Layer, ServiceExt};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::activity::Activity;
use super::client_body::ClientBody;
use super::pets::PetsEndpoint;
use super::requests::RequestHandler;
use super::response_body::ResponseBody;
use super::{dashboard, git, mcp, metrics, nodes, sandbox};
use crate::billing::Billing;
use crate::config::Config;
use crate::dashboard::Dashboard;

/// The content of one listener.
#[derive(Clone)]
pub(super) enum Endpoint {
    /// The API, git and the Model Context Protocol.
    Api {
        /// Answers the requests.
        handler: Arc<RequestHandler>,
        /// Adds CORS headers for the dashboard's origins.
        cors: Arc<CorsLayer>,
    },
    /// The pets API.
    Pets(Arc<PetsEndpoint>),
    /// The page of the sandbox payment provider.
    Sandbox(Arc<Billing>),
    /// Requests that other nodes forward.
    Nodes(Arc<RequestHandler>),
    /// `GET /metrics`.
    Metrics(Arc<RequestHandler>),
    /// The dashboard's page, and the API below the same origin.
    Dashboard(Arc<RequestHandler>),
}

impl Endpoint {
    /// Returns the API's endpoint.
    ///
    /// # Errors
    ///
    /// A configured origin of the dashboard cannot be sent as a header.
    pub(super) fn api(handler: Arc<RequestHandler>) -> anyhow::Result<Self> {
        let cors = Arc::new(cors(&handler.config, &handler.dashboard)?);
        Ok(Self::Api { handler, cors })
    }

    /// Responds to one request.
    pub(super) async fn respond(self, request: Request<ClientBody>, activity: Arc<Activity>) -> Response<ResponseBody> {
        match self {
            // Browsers do not speak git, so it needs no CORS headers.
            Self::Api { handler, .. } if git::matches(&request) => git::respond(handler, request, activity).await,
            Self::Api { handler, cors } => respond_with_cors(handler, &cors, request, activity).await,
            Self::Pets(pets) => pets.respond(request, activity).await,
            Self::Sandbox(billing) => sandbox::respond(billing, request, activity).await,
            Self::Nodes(handler) => nodes::respond(handler, request, activity).await,
            Self::Metrics(handler) => metrics::respond(handler, request, activity).await,
            Self::Dashboard(handler) => dashboard::respond(handler, request, activity).await,
        }
    }
}

/// Responds to a request to the API or to the Model Context Protocol.
async fn respond_with_cors(
    handler: Arc<RequestHandler>,
    cors: &CorsLayer,
    request: Request<ClientBody>,
    activity: Arc<Activity>,
) -> Response<ResponseBody> {
    let inner = tower::service_fn(move |request| respond(Arc::clone(&handler), request, Arc::clone(&activity)));
    match cors.layer(inner).oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

async fn respond(
    handler: Arc<RequestHandler>,
    request: Request<ClientBody>,
    activity: Arc<Activity>,
) -> Result<Response<ResponseBody>, Infallible> {
    if mcp::matches(&request) {
        return Ok(mcp::respond_counted(handler, request, activity).await);
    }
    Ok(handler.respond(request, activity).await)
}

/// Returns the CORS rules: the dashboard's origins are allowed, preflight requests from other origins get no
/// permission.
fn cors(config: &Config, dashboard: &Dashboard) -> anyhow::Result<CorsLayer> {
    let mut origins = Vec::new();
    for origin in config.listeners.dashboard.origins.iter().map(String::as_str).chain(dashboard.url()) {
        let header = HeaderValue::from_str(origin);
        origins.push(header.with_context(|| format!("setting dashboard.origins: {origin:?} is not a valid origin"))?);
    }
    let methods = [Method::GET, Method::POST, Method::PATCH, Method::DELETE, Method::OPTIONS];
    Ok(CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods(methods)
        .allow_headers([AUTHORIZATION, CONTENT_TYPE]))
}
