//! Failures as HTTP: the one place where a code becomes a status and a body.
//!
//! Three shapes. The envelope: `{"error":{"code","message"}}`. Retrieve's own: `{"error","namespace","message"}`. The
//! gateway's: `{"message"}`, which says nothing about why.

use hyper::StatusCode;
use hyper::header::RETRY_AFTER;
use serde_json::{Value, json};

use super::Reply;
use crate::error::Failure;
use crate::error::says;
use crate::gateway::Refusal;

/// A disk in trouble is seldom well within less.
const DISK_RETRY_AFTER_SECONDS: &str = "5";

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
        Failure::Unauthenticated => return refusal(Refusal::Missing),
        Failure::PaymentRequired(_) => (StatusCode::PAYMENT_REQUIRED, "payment_required"),
        Failure::Forbidden { code, .. } => (StatusCode::FORBIDDEN, *code),
        Failure::NotFound { code, .. } => (StatusCode::NOT_FOUND, *code),
        Failure::TooLarge { code, .. } => (StatusCode::PAYLOAD_TOO_LARGE, *code),
        Failure::LimitReached { code, .. } => (StatusCode::TOO_MANY_REQUESTS, *code),
        Failure::Unavailable { code, .. } => (StatusCode::SERVICE_UNAVAILABLE, *code),
        Failure::ModelOutage { .. } => (StatusCode::SERVICE_UNAVAILABLE, "model_unavailable"),
        Failure::Disk { .. } => {
            tracing::error!(error = %failure, "the disk refuses");
            (StatusCode::SERVICE_UNAVAILABLE, "storage_unavailable")
        }
        Failure::DamagedNamespace(error) => {
            tracing::error!(%error, "a request to a damaged namespace was refused");
            (StatusCode::SERVICE_UNAVAILABLE, "namespace_damaged")
        }
        Failure::Damaged(error) => {
            tracing::error!(%error, "`cuebase doctor` tells what is damaged, and names the backup to restore");
            (StatusCode::INTERNAL_SERVER_ERROR, "internal")
        }
        Failure::Internal(error) => {
            tracing::error!(%error, "internal failure");
            (StatusCode::INTERNAL_SERVER_ERROR, "internal")
        }
    };
    let message = match failure {
        Failure::Internal(_) | Failure::Damaged(_) => {
            "something failed on our side; it is safe to try again".to_owned()
        }
        Failure::Disk { trouble, .. } => format!("{}; it is safe to try again", says(*trouble)),
        Failure::DamagedNamespace(_) => {
            "the namespace is damaged: its operator can restore it from a backup (`cuebase doctor` says more)"
                .to_owned()
        }
        other => other.to_string(),
    };
    let body = match shape {
        Shape::Envelope => json!({"error": {"code": code, "message": message}}),
        Shape::Retrieve { namespace } => json!({"error": code, "namespace": namespace, "message": message}),
    };
    let reply = plain(status, &body);
    match failure {
        Failure::LimitReached { retry_after, .. } => reply.with(RETRY_AFTER, &retry_after.to_string()),
        Failure::Disk { .. } => reply.with(RETRY_AFTER, DISK_RETRY_AFTER_SECONDS),
        _ => reply,
    }
}

/// The gateway's answer to a credential that is missing or not good.
pub fn refusal(refusal: Refusal) -> Reply {
    match refusal {
        Refusal::Missing => plain(StatusCode::UNAUTHORIZED, &json!({"message": "Unauthorized"})),
        Refusal::Refused => plain(StatusCode::FORBIDDEN, &json!({"message": "Forbidden"})),
    }
}

/// The gateway's answer above the retrieval ceiling, and when too much is being read in at once.
pub fn unavailable() -> Reply {
    plain(StatusCode::SERVICE_UNAVAILABLE, &json!({"message": "Service Unavailable"})).with(RETRY_AFTER, "1")
}

fn plain(status: StatusCode, body: &Value) -> Reply {
    Reply { status, headers: Vec::new(), body: body.to_string().into() }
}

/// A body of few bytes and very many values.
pub fn too_rich() -> Failure {
    let message = "the body holds more values than there is memory for: send it in parts".into();
    Failure::TooLarge { code: "payload_too_large", message }
}

/// Too many requests of one account.
pub fn rate_limited(retry_after: u64) -> Failure {
    let message = format!("too many requests: try again in {retry_after} s");
    Failure::LimitReached { code: "rate_limited", message, retry_after }
}

/// No such route, or not with that method.
pub fn no_route() -> Failure {
    Failure::not_found("not_found", "there is no such route")
}

/// A body above the limit.
pub fn too_large(limit: usize) -> Failure {
    Failure::TooLarge { code: "payload_too_large", message: format!("the body is larger than {limit} bytes") }
}
