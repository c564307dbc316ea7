//! Errors as HTTP responses. Only this file maps an error to a status and a body.
//!
//! There are three formats of a body. The envelope: `{"error":{"code","message"}}`. The format of `GET /v1/retrieve`:
//! `{"error","namespace","message"}`. The gateway's: `{"message"}`, which gives no reason.

use hyper::StatusCode;
use hyper::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE};
use serde::Serialize;

use super::reply::Reply;
use super::views::errors::{ErrorBody, ErrorDetail, RefusalBody, RetrieveErrorBody};
use crate::error::{Error, disk_message};
use crate::error_codes::ErrorCode;
use crate::gateway::Refusal;

/// Seconds after which a client may retry when the disk refused an operation. It seldom recovers sooner.
const DISK_RETRY_AFTER_SECONDS: &str = "5";

/// The `www-authenticate` of a `401`: the scheme of the credential that is missing.
pub const BEARER_CHALLENGE: &str = "Bearer realm=\"cuebase\"";

/// The format of an error's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorFormat {
    /// The format of every route but one.
    Envelope,
    /// The format of `GET /v1/retrieve`, which repeats the namespace.
    Retrieve {
        /// Namespace as the caller named it; several are separated by commas.
        namespace: String,
    },
}

impl ErrorFormat {
    /// Returns the format of an error of one of the namespaces that a request names.
    fn in_namespace(&self, namespace: &str) -> Self {
        match self {
            Self::Envelope => Self::Envelope,
            Self::Retrieve { .. } => Self::Retrieve { namespace: namespace.to_owned() },
        }
    }
}

/// Makes the response for an error. Details of internal errors go to the log, not to the client.
pub fn reply(error: &Error, format: &ErrorFormat) -> Reply {
    if let Error::InNamespace { namespace, error } = error {
        return reply(error, &format.in_namespace(namespace));
    }
    log(error);
    match error {
        Error::Unauthenticated => return refusal(Refusal::Missing),
        Error::OutOfMemory => return unavailable(),
        _ => {}
    }
    let code = error.response_code();
    let message = match error {
        Error::Internal(_) | Error::Damaged(_) => "internal server error; it is safe to try again".to_owned(),
        Error::Disk { trouble, .. } => format!("{}; it is safe to try again", disk_message(*trouble)),
        Error::DamagedNamespace(_) => {
            "the namespace is damaged: its operator can restore it from a backup (`cuebase doctor` gives the details)"
                .to_owned()
        }
        // Only operators learn the addresses of nodes.
        Error::Elsewhere { .. } => "another node owns the namespace: try again".to_owned(),
        other => other.to_string(),
    };
    let status = code.status();
    let reply = match format {
        ErrorFormat::Envelope => json_reply(status, &ErrorBody { error: ErrorDetail { code, message } }),
        ErrorFormat::Retrieve { namespace } => {
            json_reply(status, &RetrieveErrorBody { error: code, message, namespace })
        }
    };
    match error {
        Error::LimitReached { retry_after, .. } => reply.with(RETRY_AFTER, &retry_after.to_string()),
        Error::Disk { .. } => reply.with(RETRY_AFTER, DISK_RETRY_AFTER_SECONDS),
        _ => reply,
    }
}

/// Logs an error that an operator has to see.
fn log(error: &Error) {
    match error {
        Error::Disk { .. } => tracing::error!(%error, "the disk refused an operation"),
        Error::DamagedNamespace(detail) => tracing::error!(error = %detail, "refused a request to a damaged namespace"),
        Error::Damaged(detail) => {
            tracing::error!(error = %detail, "data is damaged: `cuebase doctor` lists it and names the backup to restore");
        }
        Error::Internal(detail) => tracing::error!(error = %detail, "internal failure"),
        _ => {}
    }
}

/// Makes the gateway's response to a missing or invalid credential.
pub fn refusal(refusal: Refusal) -> Reply {
    match refusal {
        Refusal::Missing => json_reply(StatusCode::UNAUTHORIZED, &RefusalBody { message: "Unauthorized" })
            .with(WWW_AUTHENTICATE, BEARER_CHALLENGE),
        Refusal::Refused => json_reply(StatusCode::FORBIDDEN, &RefusalBody { message: "Forbidden" }),
        Refusal::Unavailable => unavailable(),
    }
}

/// Makes the response when a limit of concurrent requests, or of memory for bodies, is reached.
pub fn unavailable() -> Reply {
    let body = RefusalBody { message: "Service Unavailable" };
    json_reply(StatusCode::SERVICE_UNAVAILABLE, &body).with(RETRY_AFTER, "1")
}

fn json_reply(status: StatusCode, body: &impl Serialize) -> Reply {
    // Bodies of errors consist of texts, which cannot fail to become JSON.
    let body = serde_json::to_vec(body).unwrap_or_default();
    Reply::new(status, body)
}

/// The error for a body whose decoded values need more memory than there is.
pub fn too_many_values() -> Error {
    let message = "the body has more values than there is memory for: send it in parts".into();
    Error::TooLarge { code: ErrorCode::PayloadTooLarge, message }
}

/// The error for a document whose reading takes more memory than an account can have.
pub fn too_large_to_read(body_bytes: usize, needed: usize, available: usize) -> Error {
    let message = format!(
        "reading a document of {body_bytes} bytes takes up to {} MiB of memory, and server.body_memory_mib allows {} MiB: \
         send it in parts",
        needed.div_ceil(1 << 20),
        available >> 20
    );
    Error::TooLarge { code: ErrorCode::PayloadTooLarge, message }
}

/// The error for an account that exceeded its rate of requests.
pub fn rate_limited(retry_after: u64) -> Error {
    let message = format!("too many requests: try again in {retry_after} s");
    Error::LimitReached { code: ErrorCode::RateLimited, message, retry_after }
}

/// Makes the response for a path that no route has, or not with the method. `methods` are those that the path takes;
/// none for an unknown path.
pub fn no_route(methods: &[&str]) -> Reply {
    let message = "no route has this path and method";
    if methods.is_empty() {
        return reply(&Error::not_found(ErrorCode::NotFound, message), &ErrorFormat::Envelope);
    }
    let methods = methods.join(", ");
    let error = Error::not_found(ErrorCode::NotFound, format!("{message}: the path takes {methods}"));
    reply(&error, &ErrorFormat::Envelope).with(ALLOW, &methods)
}

/// The error for a body above a limit in bytes.
pub fn too_large(limit: usize) -> Error {
    Error::TooLarge { code: ErrorCode::PayloadTooLarge, message: format!("the body is larger than {limit} bytes") }
}

#[cfg(test)]
mod tests {
    use super::super::ReplyBody;
    use super::*;

    #[test]
    fn an_error_does_not_show_the_address_of_a_node() {
        let reply = reply(&Error::Elsewhere { address: "10.0.0.2:7071".into() }, &ErrorFormat::Envelope);
        let ReplyBody::Bytes(body) = reply.body else { panic!("the body is a text") };
        let body = String::from_utf8_lossy(&body).into_owned();
        assert!(body.contains("another node owns the namespace") && !body.contains("10.0.0.2"), "{body}");
    }
}
