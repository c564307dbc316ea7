//! A skill that is to be stored, and its memory file.

use cuebase_storage::memory_file::{FrontMatter, MemoryFile, OccurredPrecision, OccurredSource};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::files;
use crate::memory::conversation::Moment;

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
}

impl SkillDraft {
    /// Returns the texts of the skill that are embedded.
    pub fn cue_texts(&self) -> Vec<String> {
        let file = self.file(None, Timestamp::UNIX_EPOCH);
        files::cue_texts(&file.front, &file.body)
    }

    /// Returns the skill's file. It keeps the creation time and the unknown fields of the file that it replaces.
    pub fn file(&self, replaced: Option<MemoryFile>, now: Timestamp) -> MemoryFile {
        let replaced = match replaced {
            Some(file) => file.front,
            None => FrontMatter::default(),
        };
        let (occurred_at, occurred_precision, occurred_source) = match self.occurred {
            Some(moment) => (moment.at, moment.precision, OccurredSource::User),
            None => (now, OccurredPrecision::default(), OccurredSource::Written),
        };
        let mut body = format!("# {}", self.name);
        for part in [&self.description, &self.content].into_iter().flatten() {
            body.push_str("\n\n");
            body.push_str(part);
        }
        let mut body = body.replace("\r\n", "\n");
        body.truncate(body.trim_end().len());
        body.push('\n');
        let front = FrontMatter {
            name: Some(self.name.clone()),
            description: self.description.clone(),
            confidence: self.confidence,
            tags: self.tags.clone(),
            cues: self.triggers.clone(),
            created_at: replaced.created_at.or(Some(now)),
            updated_at: Some(now),
            occurred_at: Some(occurred_at),
            occurred_precision: Some(occurred_precision),
            occurred_source: Some(occurred_source),
            other: replaced.other,
            ..FrontMatter::default()
        };
        MemoryFile { front, body }
    }
}
