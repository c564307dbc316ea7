//! `POST /v1/explain`: why a query returns a memory, or why it does not.

use schemars::JsonSchema;
use serde::Deserialize;

use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::retrieve::{RetrieveFilter, RetrieveQuery, SEARCH_FIELDS};
use super::schema::values;
use super::values::memory_path;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::fields::{Field, Fields, joined, request_type};
use crate::memory::request::decode;

request_type! {
    /// The memory that `POST /v1/explain` is about.
    #[derive(Debug, Deserialize, JsonSchema)]
    pub(super) struct ExplainedMemory {
        #[schemars(with = "values::Path")]
        path: Option<String> => InvalidPath,
        #[schemars(default, with = "values::WantedName")]
        namespace: Option<String> => InvalidNamespace,
    }
}

/// The body of `POST /v1/explain`, which is decoded as its three parts.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only describes the three parts as one")]
pub(super) struct ExplainBody {
    #[serde(flatten)]
    memory: ExplainedMemory,
    #[serde(flatten)]
    query: RetrieveQuery,
    #[serde(flatten)]
    filter: RetrieveFilter,
}

/// All fields of the body.
pub const FIELDS: [Field; ExplainedMemory::FIELDS.len() + SEARCH_FIELDS.len()] =
    joined(ExplainedMemory::FIELDS, &SEARCH_FIELDS);

/// `POST /v1/explain`.
pub fn explain(request: &AuthenticatedRequest) -> Result<Reply> {
    let query: RetrieveQuery = request.json()?;
    let filter: RetrieveFilter = decode(&request.body)?;
    let memory: ExplainedMemory = decode(&request.body)?;
    let namespace = request.readable_namespace(memory.namespace.as_deref())?;
    let Some(path) = &memory.path else {
        return Err(Error::invalid(ErrorCode::InvalidPath, "path is missing: send the path of a memory"));
    };
    let path = memory_path(path)?;
    Reply::ok(&request.app.reads.explain(request.account(), &namespace, &query.request(&filter)?, &path)?)
}
