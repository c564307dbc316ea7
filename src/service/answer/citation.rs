//! The citation of a quote, as the API returns it.

use cuebase_storage::memory_file::markdown;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::memory::values::Name;

/// A quote from a memory, with the memory's path and the section that the quote is in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Citation {
    /// Path of the memory.
    pub path: String,
    /// Name of the innermost section; null if the quote is in no section.
    pub section: Option<String>,
    /// The quote, word for word.
    pub quote: String,
    /// Namespace of the memory. Absent unless the request names several namespaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Name")]
    pub namespace: Option<String>,
}

/// Returns the name of the innermost section that contains a byte offset.
pub(super) fn section_at(content: &str, offset: usize) -> Option<String> {
    let sections = markdown::sections(content).into_iter();
    let innermost = sections.filter(|section| section.range.contains(&offset)).max_by_key(|section| section.level)?;
    Some(innermost.name)
}
