//! A skill that is to be stored.

use serde::{Deserialize, Serialize};

use super::Moment;
use crate::memory_file::Metadata;

/// A validated skill with the path that was returned to the caller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SkillDraft {
    /// Path of the skill's file.
    pub path: String,
    /// Name of the skill, one line.
    pub name: String,
    /// Purpose of the skill, one line.
    pub description: Option<String>,
    /// The procedure in markdown.
    pub content: Option<String>,
    /// Tags: lowercase, sorted, without repeats.
    pub tags: Vec<String>,
    /// The cues by which the skill is found.
    pub triggers: Vec<String>,
    /// Confidence from 0 to 1.
    pub confidence: Option<f64>,
    /// The time that the skill is about.
    pub occurred: Option<Moment>,
    /// Values that the caller filters by.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}
