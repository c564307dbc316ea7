//! Generates the reference pages of the documentation, the OpenAPI document and the error codes of the clients from the
//! code.
//!
//! [`PAGES`] lists them. `cargo xtask docs` writes the pages; a test fails while a page in the tree differs from what
//! the code gives. [`api`] writes the OpenAPI document and a page about it. [`cli`] reads the command line, [`errors`]
//! and [`clients`] the error codes, [`settings`] the table of settings.

pub mod api;
pub mod cli;
pub mod clients;
pub mod errors;
pub mod settings;

use std::path::{Path, PathBuf};

/// The command that writes the pages; every page names it.
pub const COMMAND: &str = "cargo xtask docs";

/// A generated page of the documentation, or a generated source file of a client.
pub struct Page {
    /// Its path from the root of the workspace.
    pub path: &'static str,
    /// Generates its text.
    pub generate: fn() -> anyhow::Result<String>,
}

/// Every generated page.
pub const PAGES: [Page; 7] = [
    Page { path: "docs/reference/api.md", generate: api::page },
    Page { path: "docs/reference/cli.md", generate: cli::page },
    Page { path: "docs/reference/errors.md", generate: errors::page },
    Page { path: "docs/reference/openapi.json", generate: api::document },
    Page { path: "docs/reference/settings.md", generate: settings::page },
    Page { path: "clients/python/src/cuebase/error_codes.py", generate: clients::python },
    Page { path: "clients/typescript/src/errorCodes.ts", generate: clients::typescript },
];

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Returns the beginning of a page: its title, and how it is made.
fn heading(title: &str, about: &str) -> String {
    format!("# {title}\n\n{about} Generated from the code: `{COMMAND}`.\n\n")
}

/// Returns text for a cell of a table: on one line, with its bars escaped.
fn cell(text: &str) -> String {
    prose(text).replace('|', "\\|")
}

/// Returns text on one line.
fn prose(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}
