//! Responses with an error, which routes share.

use schemars::{Schema, json_schema};
use serde_json::{Map, Value, json};

use super::schemas::Schemas;
use crate::api::error::BEARER_CHALLENGE;
use crate::api::views::errors::{ErrorBody, RefusalBody, RetrieveErrorBody};

/// A status, and the name of the response that a route has with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ErrorResponse {
    /// The status.
    pub(super) status: u16,
    /// Name of the response in `components.responses`.
    pub(super) name: &'static str,
}

const INVALID: ErrorResponse = ErrorResponse { status: 400, name: "Invalid" };
pub(super) const UNAUTHORIZED: ErrorResponse = ErrorResponse { status: 401, name: "Unauthorized" };
pub(super) const PAYMENT_REQUIRED: ErrorResponse = ErrorResponse { status: 402, name: "PaymentRequired" };
pub(super) const FORBIDDEN: ErrorResponse = ErrorResponse { status: 403, name: "Forbidden" };
pub(super) const NOT_FOUND: ErrorResponse = ErrorResponse { status: 404, name: "NotFound" };
pub(super) const TOO_LARGE: ErrorResponse = ErrorResponse { status: 413, name: "TooLarge" };
const TOO_MANY: ErrorResponse = ErrorResponse { status: 429, name: "TooMany" };
const INTERNAL: ErrorResponse = ErrorResponse { status: 500, name: "Internal" };
pub(super) const BUSY: ErrorResponse = ErrorResponse { status: 503, name: "Busy" };
/// Takes the place of [`BUSY`] on routes that call the payment provider.
pub(super) const UNAVAILABLE: ErrorResponse = ErrorResponse { status: 503, name: "Unavailable" };

/// The errors of every route that requires a credential.
pub(super) const GUARDED: [ErrorResponse; 5] = [INVALID, UNAUTHORIZED, FORBIDDEN, TOO_MANY, INTERNAL];
/// The errors of every route without a credential.
pub(super) const OPEN: [ErrorResponse; 2] = [INVALID, INTERNAL];
/// The errors of `GET /v1/retrieve`, in its format.
pub(super) const RETRIEVE: [ErrorResponse; 7] = [
    ErrorResponse { status: 400, name: "RetrieveFailed" },
    UNAUTHORIZED,
    ErrorResponse { status: 403, name: "RetrieveForbidden" },
    ErrorResponse { status: 404, name: "RetrieveFailed" },
    ErrorResponse { status: 429, name: "RetrieveTooMany" },
    ErrorResponse { status: 500, name: "RetrieveFailed" },
    BUSY,
];

/// The formats of an error's body.
#[derive(Clone, Copy)]
enum Format {
    /// The format of every route but one.
    Envelope,
    /// The format of `GET /v1/retrieve`.
    Retrieve,
    /// A message alone, which gives no reason.
    Message,
    /// A message alone for an invalid credential, else the envelope.
    MessageOrEnvelope,
    /// A message alone for an invalid credential, else the format of `GET /v1/retrieve`.
    MessageOrRetrieve,
}

/// The header that a response has in addition to those of every response.
#[derive(Clone, Copy)]
enum ResponseHeader {
    None,
    /// When to try again.
    RetryAfter,
    /// The scheme of the missing credential.
    WwwAuthenticate,
}

/// Name, format, header and description of every response with an error.
const SHARED: [(&str, Format, ResponseHeader, &str); 13] = [
    ("Invalid", Format::Envelope, ResponseHeader::None, "The request is invalid. Nothing was changed."),
    ("Unauthorized", Format::Message, ResponseHeader::WwwAuthenticate, "The credential is missing."),
    (
        "PaymentRequired",
        Format::Envelope,
        ResponseHeader::None,
        "`payment_required`: the wallet is empty and the server enforces a balance. Reads continue.",
    ),
    (
        "Forbidden",
        Format::MessageOrEnvelope,
        ResponseHeader::None,
        "The credential is invalid (only `message`) or does not allow the request (`error`).",
    ),
    ("NotFound", Format::Envelope, ResponseHeader::None, "The requested object does not exist."),
    ("TooLarge", Format::Envelope, ResponseHeader::None, "The body, or a list in it, is larger than allowed."),
    (
        "TooMany",
        Format::Envelope,
        ResponseHeader::RetryAfter,
        "`rate_limited` clears within a minute. `quota_exceeded` lasts until the month ends for units, and until some \
         are deleted for memories and media.",
    ),
    (
        "Internal",
        Format::Envelope,
        ResponseHeader::None,
        "Internal error. It is safe to retry with exponential backoff and jitter.",
    ),
    (
        "Unavailable",
        Format::Envelope,
        ResponseHeader::None,
        "`merchant_not_live`: payments are not enabled. `provider_unavailable`: try again later.",
    ),
    (
        "Busy",
        Format::Message,
        ResponseHeader::RetryAfter,
        "A limit of concurrent requests or of memory is reached. Try again.",
    ),
    ("RetrieveFailed", Format::Retrieve, ResponseHeader::None, "An error in the format of `GET /v1/retrieve`."),
    (
        "RetrieveForbidden",
        Format::MessageOrRetrieve,
        ResponseHeader::None,
        "The credential is invalid (only `message`) or does not allow this namespace.",
    ),
    (
        "RetrieveTooMany",
        Format::Retrieve,
        ResponseHeader::RetryAfter,
        "`rate_limited` clears within a minute; `quota_exceeded` does not.",
    ),
];

/// Returns the responses with an error by name.
pub(super) fn shared_responses(schemas: &mut Schemas) -> Map<String, Value> {
    let mut responses = Map::new();
    for (name, format, header, description) in SHARED {
        let schema = schema_of(format, schemas);
        let mut response = json!({
            "description": description,
            "content": {"application/json": {"schema": schema}},
        });
        match header {
            ResponseHeader::None => {}
            ResponseHeader::RetryAfter => {
                response["headers"] = json!({"retry-after": {"$ref": "#/components/headers/RetryAfter"}});
            }
            ResponseHeader::WwwAuthenticate => {
                response["headers"] = json!({"www-authenticate": {"$ref": "#/components/headers/WwwAuthenticate"}});
            }
        }
        responses.insert(name.to_owned(), response);
    }
    responses
}

fn schema_of(format: Format, schemas: &mut Schemas) -> Schema {
    match format {
        Format::Envelope => schemas.shared_response::<ErrorBody>(),
        Format::Retrieve => schemas.shared_response::<RetrieveErrorBody<'_>>(),
        Format::Message => schemas.response_reference::<RefusalBody>(),
        Format::MessageOrEnvelope => {
            let message = schemas.response_reference::<RefusalBody>();
            json_schema!({"anyOf": [message, schemas.shared_response::<ErrorBody>()]})
        }
        Format::MessageOrRetrieve => {
            let message = schemas.response_reference::<RefusalBody>();
            json_schema!({"anyOf": [message, schemas.shared_response::<RetrieveErrorBody<'_>>()]})
        }
    }
}

/// Returns the headers that responses share, by name.
pub(super) fn shared_headers() -> Value {
    json!({
        "RetryAfter": {
            "description": "Seconds to wait before a retry.",
            "required": true,
            "schema": {"type": "integer", "minimum": 1},
        },
        "WwwAuthenticate": {
            "description": "The authentication scheme that the server accepts (RFC 6750).",
            "required": true,
            "schema": {"type": "string", "const": BEARER_CHALLENGE},
        },
    })
}
