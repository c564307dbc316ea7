//! The OpenAPI 3.1 description of the API, which [`super::schema`] generates, as the text of a response.

use std::sync::OnceLock;

use bytes::Bytes;

use crate::error::{Error, Result};

pub use super::schema::document;

/// Returns the description as JSON text. It is generated at the first call and shared by all responses.
pub fn text() -> Result<Bytes> {
    static JSON: OnceLock<Bytes> = OnceLock::new();
    if let Some(text) = JSON.get() {
        return Ok(text.clone());
    }
    let text = Bytes::from(serde_json::to_vec(&document()?).map_err(Error::internal)?);
    Ok(JSON.get_or_init(|| text).clone())
}
