//! The OpenAPI 3.1 description of the API, kept beside the code as `openapi.yaml`; a test walks it and the route table
//! against each other.

use serde_json::Value;

use crate::service::{Failure, Outcome};

const TEXT: &str = include_str!("openapi.yaml");

/// The description as JSON.
pub fn document() -> Outcome<Value> {
    let mut document: Value = serde_saphyr::from_str(TEXT).map_err(Failure::internal)?;
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    Ok(document)
}
