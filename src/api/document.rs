//! The OpenAPI 3.1 description of the API. Its source is `openapi.yaml` in this folder, which a test compares with the
//! route table.

use std::sync::OnceLock;

use bytes::Bytes;
use serde_json::Value;

use crate::error::{Error, Result};

const SOURCE: &str = include_str!("openapi.yaml");

/// Returns the description as JSON text. It is made at the first call and shared by all responses.
pub fn text() -> Result<Bytes> {
    static JSON: OnceLock<Bytes> = OnceLock::new();
    if let Some(text) = JSON.get() {
        return Ok(text.clone());
    }
    let text = Bytes::from(serde_json::to_vec(&document()?).map_err(Error::internal)?);
    Ok(JSON.get_or_init(|| text).clone())
}

/// Returns the description as JSON, with the version of this build.
pub fn document() -> Result<Value> {
    let mut document: Value = serde_saphyr::from_str(SOURCE).map_err(Error::internal)?;
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    Ok(document)
}
