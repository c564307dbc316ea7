//! The files of the dashboard's page. They are served as written, without a build step, and load nothing from another
//! host.

use std::sync::OnceLock;

use data_encoding::HEXLOWER;

use crate::sha256::sha256;

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
    /// Returns the value of the `etag` header, a hash of the content.
    pub fn tag(&self) -> &str {
        self.tag.get_or_init(|| format!("\"{}\"", HEXLOWER.encode(&sha256(&[self.body])[..12])))
    }
}

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

macro_rules! pages {
    ($($path:literal $file:literal $kind:ident),* $(,)?) => {
        /// All files of the page.
        pub static PAGES: [Page; 19] = [$(Page {
            path: $path,
            media_type: $kind,
            body: include_bytes!(concat!("page/", $file)),
            tag: OnceLock::new(),
        }),*];
    };
}

pages! {
    "/" "index.html" HTML,
    "/style.css" "style.css" STYLE,
    "/icon.svg" "icon.svg" PICTURE,
    "/app.js" "app.js" SCRIPT,
    "/dom.js" "dom.js" SCRIPT,
    "/api.js" "api.js" SCRIPT,
    "/sign_in.js" "sign_in.js" SCRIPT,
    "/parts.js" "parts.js" SCRIPT,
    "/views/overview.js" "views/overview.js" SCRIPT,
    "/views/namespaces.js" "views/namespaces.js" SCRIPT,
    "/views/memories.js" "views/memories.js" SCRIPT,
    "/views/memory.js" "views/memory.js" SCRIPT,
    "/views/search.js" "views/search.js" SCRIPT,
    "/views/graph.js" "views/graph.js" SCRIPT,
    "/views/vocabulary.js" "views/vocabulary.js" SCRIPT,
    "/views/skills.js" "views/skills.js" SCRIPT,
    "/views/conversations.js" "views/conversations.js" SCRIPT,
    "/views/keys.js" "views/keys.js" SCRIPT,
    "/views/billing.js" "views/billing.js" SCRIPT,
}

/// Returns the file at a path.
pub fn find(path: &str) -> Option<&'static Page> {
    PAGES.iter().find(|page| page.path == path)
}
