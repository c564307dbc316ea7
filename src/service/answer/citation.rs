//! The citation of a quote, as the API returns it.

use cuebase_storage::memory_file::markdown;
use serde::Serialize;

/// A quote from a memory, with the memory's path and the section that the quote is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Citation {
    pub(super) path: String,
    pub(super) section: Option<String>,
    pub(super) quote: String,
}

/// Returns the name of the innermost section that contains a byte offset.
pub(super) fn section_at(content: &str, offset: usize) -> Option<String> {
    let sections = markdown::sections(content).into_iter();
    let innermost = sections.filter(|section| section.range.contains(&offset)).max_by_key(|section| section.level)?;
    Some(innermost.name)
}
