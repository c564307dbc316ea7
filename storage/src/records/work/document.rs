//! A document that is to be stored, as the passages that were read from its file.

use serde::{Deserialize, Serialize};

use super::Moment;
use crate::memory_file::{DocumentId, Metadata};

/// A document in passages. It replaces the document with the same id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentDraft {
    /// Id of the document.
    pub id: DocumentId,
    /// Name of the document, such as the name of its file.
    pub name: String,
    /// Tags of every passage: lowercase, sorted, without repeats.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Values that the caller filters by.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// The time that the document is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurred: Option<Moment>,
    /// The passages in order; at least one.
    pub passages: Vec<PassageDraft>,
}

/// A passage of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassageDraft {
    /// The headings above the passage, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub titles: Vec<String>,
    /// The text, as markdown.
    pub text: String,
    /// First page of the passage, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// First line of the passage, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}
