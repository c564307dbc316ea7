//! The OpenAPI 3.1 description of the API, kept beside the code as `openapi.yaml`; a test walks it and the route table
//! against each other.

use std::sync::OnceLock;

use bytes::Bytes;
use serde_json::Value;

use crate::error::{Error, Result};

const TEXT: &str = include_str!("openapi.yaml");

/// The description as JSON text, made at the first call and shared by all answers.
pub fn text() -> Result<Bytes> {
    static MADE: OnceLock<Bytes> = OnceLock::new();
    if let Some(text) = MADE.get() {
        return Ok(text.clone());
    }
    let text = Bytes::from(serde_json::to_vec(&document()?).map_err(Error::internal)?);
    Ok(MADE.get_or_init(|| text).clone())
}

/// The description as JSON.
pub fn document() -> Result<Value> {
    let mut document: Value = serde_saphyr::from_str(TEXT).map_err(Error::internal)?;
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    Ok(document)
}
