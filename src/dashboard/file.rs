//! A file of the dashboard's page.

use std::sync::OnceLock;

use data_encoding::HEXLOWER;

use crate::sha256::sha256;

/// Folder of the files whose name contains a hash of their content.
const HASHED: &str = "/assets/";

/// A file of the page.
pub struct Page {
    /// Path in the URL.
    pub path: &'static str,
    /// Media type.
    pub media_type: &'static str,
    /// Content.
    pub body: &'static [u8],
    tag: OnceLock<String>,
}

impl Page {
    /// Creates a file of the page.
    pub(super) const fn new(path: &'static str, media_type: &'static str, body: &'static [u8]) -> Self {
        Self { path, media_type, body, tag: OnceLock::new() }
    }

    /// Returns the value of the `etag` header, a hash of the content.
    pub fn tag(&self) -> &str {
        self.tag.get_or_init(|| format!("\"{}\"", HEXLOWER.encode(&sha256(&[self.body])[..12])))
    }

    /// Returns the value of the `cache-control` header. The content at a hashed name never changes.
    pub fn cache_control(&self) -> &'static str {
        if self.path.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "no-cache" }
    }
}

pub(super) const HTML: &str = "text/html; charset=utf-8";
pub(super) const STYLE: &str = "text/css; charset=utf-8";
pub(super) const SCRIPT: &str = "text/javascript; charset=utf-8";
pub(super) const TEXT: &str = "text/markdown; charset=utf-8";
pub(super) const PICTURE: &str = "image/svg+xml";
