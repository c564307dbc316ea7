//! `/health`, `/v1/whoami`, and the API's own description.

use hyper::StatusCode;
use hyper::header::CONTENT_TYPE;
use serde_json::json;

use super::{AuthenticatedRequest, Content, Reply, RouteRequest, document};
use crate::error::Result;
use crate::gateway::Credential;

/// `GET /health`: the server is running. How many namespaces were found damaged stands there, but not which.
pub fn health(request: &RouteRequest) -> Result<Reply> {
    let mut body = json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")});
    let damaged = request.service.namespaces.damaged().len();
    if damaged > 0 {
        body["damaged_namespaces"] = json!(damaged);
    }
    Reply::ok(&body)
}

/// `GET /v1/whoami`: what the credential resolved to.
pub fn whoami(call: &AuthenticatedRequest) -> Result<Reply> {
    let (auth, env) = match &call.principal.credential {
        Credential::Key { env, .. } => ("api_key", env.name()),
        Credential::Session { .. } => ("jwt", ""),
    };
    Reply::ok(&json!({"account": call.principal.account, "auth": auth, "env": env}))
}

/// `GET /v1/openapi.json`.
pub fn document(_: &AuthenticatedRequest) -> Result<Reply> {
    let reply = Reply { status: StatusCode::OK, headers: Vec::new(), body: Content::Bytes(document::text()?) };
    // A reply that sets its content type gets no warnings: they are no part of an OpenAPI document.
    Ok(reply.with(CONTENT_TYPE, "application/json"))
}
