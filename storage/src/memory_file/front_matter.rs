//! The YAML front matter of a memory file.

use cuebase_language::claims::Claim;
use cuebase_language::memory::{OccurredPrecision, OccurredSource, Relation};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::document::DocumentPlace;
use super::metadata::Metadata;
use crate::error::{Error, Result};

/// The metadata of a memory. Empty fields are omitted from the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FrontMatter {
    /// Name of a skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Purpose of a skill, one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Confidence of the author, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Tags set by the caller: lowercase, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Tags added by extraction: lowercase, sorted, disjoint from `tags`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inferred_tags: Vec<String>,
    /// The texts that should retrieve this memory. The cues are embedded, the body is not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cues: Vec<String>,
    /// Names of people, places and things in the memory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<String>,
    /// Name of the speaker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// When the memory was first written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When the memory was last rewritten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// When the event in the memory happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurred_at: Option<Timestamp>,
    /// Precision of `occurred_at`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurred_precision: Option<OccurredPrecision>,
    /// Origin of `occurred_at`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurred_source: Option<OccurredSource>,
    /// End, exclusive, of the month or year that begins at `occurred_at`, if the text names one ("last
    /// month").
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurred_until: Option<Timestamp>,
    /// Time at which an incident stops being retrieved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When the memory begins to hold, if somebody set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<Timestamp>,
    /// When the memory stops holding, if somebody set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
    /// Paths of the memories that this one replaces, if somebody set them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<String>,
    /// Whether the memory is a standing one, if somebody set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing: Option<bool>,
    /// What the memory claims.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// Values that the caller filters by.
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// The messages that the memory was made from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceMessage>,
    /// The place in the document that the memory is a passage of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<DocumentPlace>,
    /// Links to other memories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<Relation>,
    /// Unknown keys. A rewrite keeps them unchanged.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A message that a memory was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceMessage {
    /// The session id from the request, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Index of the message in the request.
    pub message: u64,
    /// The id of the write that contained the message, as returned with `202`. `None` in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<String>,
    /// When the message was said, if it repeats a memory that existed, or if the memory is about another time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said_at: Option<Timestamp>,
}

impl FrontMatter {
    /// Parses the YAML between the fences. Blank YAML is an empty front matter.
    pub fn parse(yaml: &str) -> Result<Self> {
        if yaml.trim().is_empty() {
            return Ok(Self::default());
        }
        super::from_yaml(yaml)
    }

    /// Renders the YAML. The result ends in a newline unless it is empty.
    pub fn render(&self) -> Result<String> {
        if *self == Self::default() {
            return Ok(String::new());
        }
        let mut yaml = serde_saphyr::to_string(self).map_err(|e| Error::invalid("front matter", e))?;
        if !yaml.ends_with('\n') {
            yaml.push('\n');
        }
        Ok(yaml)
    }
}
