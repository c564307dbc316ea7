//! A skill that is to be stored, and its memory file.

use cuebase_storage::memory_file::{FrontMatter, MemoryFile, OccurredSource};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::files;
use crate::memory::conversation::Moment;

/// A skill to store, checked, at the path that was promised for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SkillDraft {
    /// Where it will live.
    pub path: String,
    /// Its name, one line.
    pub name: String,
    /// What it is for, one line.
    pub description: Option<String>,
    /// The procedure, markdown.
    pub content: Option<String>,
    /// Lowercase, sorted, without repeats.
    pub tags: Vec<String>,
    /// The cues that bring it to mind.
    pub triggers: Vec<String>,
    /// From 0 to 1.
    pub confidence: Option<f64>,
    /// What it is about, in time.
    pub occurred: Option<Moment>,
}

impl SkillDraft {
    /// The texts that are embedded for it.
    pub fn cue_texts(&self) -> Vec<String> {
        let file = self.file(None, Timestamp::UNIX_EPOCH);
        files::cue_texts(&file.front, &file.body)
    }

    /// The file, in place of the one that was there.
    pub fn file(&self, known: Option<MemoryFile>, now: Timestamp) -> MemoryFile {
        let known = known.map(|file| file.front).unwrap_or_default();
        let parts = [Some(format!("# {}", self.name)), self.description.clone(), self.content.clone()];
        let mut body = parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n").replace("\r\n", "\n");
        body.truncate(body.trim_end().len());
        body.push('\n');
        let front = FrontMatter {
            name: Some(self.name.clone()),
            description: self.description.clone(),
            confidence: self.confidence,
            tags: self.tags.clone(),
            cues: self.triggers.clone(),
            created_at: known.created_at.or(Some(now)),
            updated_at: Some(now),
            occurred_at: Some(self.occurred.map_or(now, |moment| moment.at)),
            occurred_precision: Some(self.occurred.map_or_else(Default::default, |moment| moment.precision)),
            occurred_source: Some(self.occurred.map_or(OccurredSource::Written, |_| OccurredSource::User)),
            other: known.other,
            ..FrontMatter::default()
        };
        MemoryFile { front, body }
    }
}
