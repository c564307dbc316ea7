//! The document that a memory is a passage of.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};

/// Longest id of a document, in bytes.
pub const DOCUMENT_ID_BYTES_MAX: usize = 80;
/// The directory of all documents. Each has a directory of its own in it, named by its id.
pub const DOCUMENTS_FOLDER: &str = "facts/documents";

/// The id of a document in a namespace: lowercase letters, digits and dashes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentId(String);

impl DocumentId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the directory of the document's memories.
    pub fn folder(&self) -> String {
        format!("{DOCUMENTS_FOLDER}/{}", self.0)
    }
}

impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for DocumentId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if text.is_empty() || text.len() > DOCUMENT_ID_BYTES_MAX || !is_plain {
            let rule = format!("must be 1 to {DOCUMENT_ID_BYTES_MAX} lowercase letters, digits or dashes");
            return Err(Error::invalid("document id", rule));
        }
        Ok(Self(text.to_owned()))
    }
}

impl Serialize for DocumentId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for DocumentId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// The place of a memory in the document that it is a passage of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentPlace {
    /// Id of the document.
    pub id: DocumentId,
    /// Name of the document, such as the name of its file.
    pub name: String,
    /// The headings above the passage, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub titles: Vec<String>,
    /// Position of the passage in the document, from 0.
    pub position: u32,
    /// First page of the passage, from 1, if the document has pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// First line of the passage, from 1, if the document is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_segment_of_a_path() {
        for good in ["a", "handbook-2026-pdf", &"x".repeat(DOCUMENT_ID_BYTES_MAX)] {
            let id: DocumentId = good.parse().expect(good);
            assert_eq!(id.folder(), format!("facts/documents/{good}"));
        }
        for bad in ["", "A", "a b", "a/b", "..", "a.pdf", "ä", &"x".repeat(DOCUMENT_ID_BYTES_MAX + 1)] {
            assert!(bad.parse::<DocumentId>().is_err(), "{bad:?}");
        }
    }
}
