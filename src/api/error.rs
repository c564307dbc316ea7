//! Failures as HTTP: the one place where a code becomes a status and a body.
//!
//! Three shapes. The envelope: `{"error":{"code","message"}}`. Retrieve's own: `{"error","namespace","message"}`. The
//! gateway's: `{"message"}`, which says nothing about why.

use hyper::StatusCode;
use serde_json::json;

use super::Reply;
use crate::gateway::Refusal;
use crate::service::Failure;

/// How a route shows its failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Like every route but one.
    Envelope,
    /// Like retrieve, with the namespace that was asked for.
    Retrieve {
        /// As the caller named it.
        namespace: String,
    },
}

/// A failure as a reply; what is internal goes to the log, not to the client.
pub fn reply(failure: &Failure, shape: &Shape) -> Reply {
    let (status, code) = match failure {
        Failure::Invalid { code, .. } => (StatusCode::BAD_REQUEST, *code),
        Failure::Forbidden { code, .. } => (StatusCode::FORBIDDEN, *code),
        Failure::NotFound { code, .. } => (StatusCode::NOT_FOUND, *code),
        Failure::TooLarge { code, .. } => (StatusCode::PAYLOAD_TOO_LARGE, *code),
        Failure::Internal(error) => {
            tracing::error!(%error, "internal failure");
            (StatusCode::INTERNAL_SERVER_ERROR, "internal")
        }
    };
    let message = match failure {
        Failure::Internal(_) => "something failed on our side; it is safe to try again".to_owned(),
        other => other.to_string(),
    };
    let body = match shape {
        Shape::Envelope => json!({"error": {"code": code, "message": message}}),
        Shape::Retrieve { namespace } => json!({"error": code, "namespace": namespace, "message": message}),
    };
    Reply { status, body: body.to_string().into_bytes() }
}

/// The gateway's answer to a credential that is missing or not good.
pub fn refusal(refusal: Refusal) -> Reply {
    let (status, message) = match refusal {
        Refusal::Missing => (StatusCode::UNAUTHORIZED, "Unauthorized"),
        Refusal::Refused => (StatusCode::FORBIDDEN, "Forbidden"),
    };
    Reply { status, body: json!({"message": message}).to_string().into_bytes() }
}

/// The gateway's answer above the retrieval ceiling.
pub fn unavailable() -> Reply {
    Reply {
        status: StatusCode::SERVICE_UNAVAILABLE,
        body: json!({"message": "Service Unavailable"}).to_string().into_bytes(),
    }
}

/// No such route, or not with that method.
pub fn no_route() -> Failure {
    Failure::not_found("not_found", "there is no such route")
}

/// A body above the limit.
pub fn too_large() -> Failure {
    let message = format!("the body is larger than {} bytes", super::BODY_BYTES_MAX);
    Failure::TooLarge { code: "payload_too_large", message }
}
