//! The files of the dashboard's page. They are built from the sources in `dashboard`, and load nothing from another
//! host. `bundle.rs`, which the build writes, lists them.

use super::bundle::PAGES;
pub use super::file::Page;

/// Returns the file at a path.
pub fn find(path: &str) -> Option<&'static Page> {
    PAGES.iter().find(|page| page.path == path)
}
