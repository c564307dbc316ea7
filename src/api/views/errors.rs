//! Bodies of responses with an error.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error_codes::ErrorCode;

/// The body of an error, on every route but `GET /v1/retrieve`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorDetail,
}

/// The code and the message of an error.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ErrorDetail {
    /// The code, which does not change between versions.
    pub code: ErrorCode,
    /// What is wrong and what to do, for a person.
    pub message: String,
}

/// The body of an error of `GET /v1/retrieve`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RetrieveError")]
pub struct RetrieveErrorBody<'a> {
    /// The code, which does not change between versions.
    pub error: ErrorCode,
    /// What is wrong and what to do, for a person.
    pub message: String,
    /// The namespace as the request named it. Of several, the one that failed.
    pub namespace: &'a str,
}

/// The body of a response that gives no reason: a missing or invalid credential, or a server at its limits.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Refusal")]
pub struct RefusalBody {
    /// The name of the status.
    pub message: &'static str,
}
