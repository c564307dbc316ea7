//! `/health`, `/v1/whoami` and `/v1/openapi.json`.

use hyper::StatusCode;
use hyper::header::CONTENT_TYPE;

use super::reply::{Reply, ReplyBody};
use super::request::{AuthenticatedRequest, RouteRequest};
use super::views::identity::{HealthView, WhoamiView};
use super::{document, error};
use crate::error::Result;
use crate::gateway::Credential;

/// `GET /health`: the liveness check. It counts the namespaces that were found damaged but does not name them. A node
/// that leaves the others refuses, so that balancers send requests elsewhere.
pub fn health(request: &RouteRequest) -> Result<Reply> {
    if request.app.namespaces.ownership().is_draining() {
        return Ok(error::unavailable());
    }
    let damaged = request.app.namespaces.damaged().len();
    let damaged_namespaces = if damaged > 0 { Some(damaged) } else { None };
    Reply::ok(&HealthView { status: "ok", version: env!("CARGO_PKG_VERSION"), damaged_namespaces })
}

/// `GET /v1/whoami`: the account and the kind of the credential.
pub fn whoami(request: &AuthenticatedRequest) -> Result<Reply> {
    let (auth, env) = match &request.principal.credential {
        Credential::Key { env, .. } => ("api_key", env.name()),
        Credential::Session { .. } => ("jwt", ""),
    };
    Reply::ok(&WhoamiView { account: &request.principal.account, auth, env })
}

/// `GET /v1/openapi.json`: the OpenAPI description.
pub fn document(_: &AuthenticatedRequest) -> Result<Reply> {
    let reply = Reply::new(StatusCode::OK, ReplyBody::Bytes(document::text()?));
    // A reply that sets its content type gets no warnings: an OpenAPI document has no field for them.
    Ok(reply.with(CONTENT_TYPE, "application/json"))
}
