//! The YAML front matter of a memory file.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// What is known about a memory beside its text. Empty fields are left out of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FrontMatter {
    /// A skill's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What a skill is for, one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How sure whoever wrote it was, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Tags set by the caller: lowercase, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Tags that extraction added: lowercase, sorted, none of them in `tags`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inferred_tags: Vec<String>,
    /// The texts that should bring this memory to mind; these are embedded, not the body.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cues: Vec<String>,
    /// Names of people, places and things in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<String>,
    /// Whose words these are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// When the memory was first written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it was last rewritten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// When what it tells happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurred_at: Option<Timestamp>,
    /// How exact `occurred_at` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurred_precision: Option<OccurredPrecision>,
    /// Where `occurred_at` comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurred_source: Option<OccurredSource>,
    /// From then on an incident is no longer retrieved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The messages that it was made from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// Links to other memories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<Relation>,
    /// Keys that are not ours; kept as they are through a rewrite.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How exact a time is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OccurredPrecision {
    /// A calendar date, held as noon UTC.
    Day,
    /// A point in time.
    #[default]
    Instant,
}

/// Where a time comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OccurredSource {
    /// The caller gave it with the request.
    User,
    /// It was read in the text ("last Friday").
    Extracted,
    /// It is when the message was said.
    Said,
    /// It is when the memory was written.
    Written,
}

/// A message that a memory was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The caller's session, where it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The message's index in the request.
    pub message: u64,
    /// The id of the write that carried the message, as its `202` returned it; none in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<String>,
}

/// A link to another memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// The other memory's path.
    pub path: String,
    /// What kind of link, one word: `follows`, `shares`, `links`.
    pub kind: String,
    /// A few words that show it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub snippet: String,
}

impl FrontMatter {
    /// Reads the YAML between the fences; nothing at all is an empty front matter.
    pub fn parse(yaml: &str) -> Result<Self> {
        if yaml.trim().is_empty() {
            return Ok(Self::default());
        }
        super::from_yaml(yaml)
    }

    /// Writes the YAML, ending in a newline unless it is empty.
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
