//! Failures as HTTP: the one place where a code becomes a status and a body.
//!
//! Three shapes. The envelope: `{"error":{"code","message"}}`. Retrieve's own: `{"error","namespace","message"}`. The
//! gateway's: `{"message"}`, which says nothing about why.

use hyper::StatusCode;
use hyper::header::RETRY_AFTER;
use serde_json::{Value, json};

use super::Reply;
use crate::error::Error;
use crate::error::says;
use crate::gateway::Refusal;

/// A disk in trouble is seldom well within less.
const DISK_RETRY_AFTER_SECONDS: &str = "5";

/// How a route shows its failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorFormat {
    /// Like every route but one.
    Envelope,
    /// Like retrieve, with the namespace that was asked for.
    Retrieve {
        /// As the caller named it.
        namespace: String,
    },
}

/// A failure as a reply; what is internal goes to the log, not to the client.
pub fn reply(failure: &Error, shape: &ErrorFormat) -> Reply {
    let (status, code) = match failure {
        Error::Invalid { code, .. } => (StatusCode::BAD_REQUEST, *code),
        Error::Unauthenticated => return refusal(Refusal::Missing),
        Error::PaymentRequired(_) => (StatusCode::PAYMENT_REQUIRED, "payment_required"),
        Error::Forbidden { code, .. } => (StatusCode::FORBIDDEN, *code),
        Error::NotFound { code, .. } => (StatusCode::NOT_FOUND, *code),
        Error::TooLarge { code, .. } => (StatusCode::PAYLOAD_TOO_LARGE, *code),
        Error::LimitReached { code, .. } => (StatusCode::TOO_MANY_REQUESTS, *code),
        Error::Unavailable { code, .. } => (StatusCode::SERVICE_UNAVAILABLE, *code),
        Error::ModelOutage { .. } => (StatusCode::SERVICE_UNAVAILABLE, "model_unavailable"),
        Error::Disk { .. } => {
            tracing::error!(error = %failure, "the disk refuses");
            (StatusCode::SERVICE_UNAVAILABLE, "storage_unavailable")
        }
        Error::DamagedNamespace(error) => {
            tracing::error!(%error, "a request to a damaged namespace was refused");
            (StatusCode::SERVICE_UNAVAILABLE, "namespace_damaged")
        }
        Error::Damaged(error) => {
            tracing::error!(%error, "`cuebase doctor` tells what is damaged, and names the backup to restore");
            (StatusCode::INTERNAL_SERVER_ERROR, "internal")
        }
        Error::Internal(error) => {
            tracing::error!(%error, "internal failure");
            (StatusCode::INTERNAL_SERVER_ERROR, "internal")
        }
    };
    let message = match failure {
        Error::Internal(_) | Error::Damaged(_) => "something failed on our side; it is safe to try again".to_owned(),
        Error::Disk { trouble, .. } => format!("{}; it is safe to try again", says(*trouble)),
        Error::DamagedNamespace(_) => {
            "the namespace is damaged: its operator can restore it from a backup (`cuebase doctor` says more)"
                .to_owned()
        }
        other => other.to_string(),
    };
    let body = match shape {
        ErrorFormat::Envelope => json!({"error": {"code": code, "message": message}}),
        ErrorFormat::Retrieve { namespace } => json!({"error": code, "namespace": namespace, "message": message}),
    };
    let reply = plain(status, &body);
    match failure {
        Error::LimitReached { retry_after, .. } => reply.with(RETRY_AFTER, &retry_after.to_string()),
        Error::Disk { .. } => reply.with(RETRY_AFTER, DISK_RETRY_AFTER_SECONDS),
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
pub fn too_rich() -> Error {
    let message = "the body holds more values than there is memory for: send it in parts".into();
    Error::TooLarge { code: "payload_too_large", message }
}

/// Too many requests of one account.
pub fn rate_limited(retry_after: u64) -> Error {
    let message = format!("too many requests: try again in {retry_after} s");
    Error::LimitReached { code: "rate_limited", message, retry_after }
}

/// No such route, or not with that method.
pub fn no_route() -> Error {
    Error::not_found("not_found", "there is no such route")
}

/// A body above the limit.
pub fn too_large(limit: usize) -> Error {
    Error::TooLarge { code: "payload_too_large", message: format!("the body is larger than {limit} bytes") }
}
