//! A skill that is to be stored, and its memory file.

use cuebase_storage::memory_file::{FrontMatter, MemoryFile, OccurredPrecision, OccurredSource};
pub use cuebase_storage::records::SkillDraft;
use jiff::Timestamp;

use super::files;

/// Returns the texts of a skill that are embedded.
pub fn cue_texts(skill: &SkillDraft) -> Vec<String> {
    let file = file(skill, None, Timestamp::UNIX_EPOCH);
    files::cue_texts(&file.front, &file.body)
}

/// Returns the file of a skill. It keeps the creation time and the unknown fields of the file that it replaces.
pub fn file(skill: &SkillDraft, replaced: Option<MemoryFile>, now: Timestamp) -> MemoryFile {
    let replaced = match replaced {
        Some(file) => file.front,
        None => FrontMatter::default(),
    };
    let (occurred_at, occurred_precision, occurred_source) = match skill.occurred {
        Some(moment) => (moment.at, moment.precision, OccurredSource::User),
        None => (now, OccurredPrecision::default(), OccurredSource::Written),
    };
    let mut body = format!("# {}", skill.name);
    for part in [&skill.description, &skill.content].into_iter().flatten() {
        body.push_str("\n\n");
        body.push_str(part);
    }
    let mut body = body.replace("\r\n", "\n");
    body.truncate(body.trim_end().len());
    body.push('\n');
    let front = FrontMatter {
        name: Some(skill.name.clone()),
        description: skill.description.clone(),
        confidence: skill.confidence,
        tags: skill.tags.clone(),
        metadata: skill.metadata.clone(),
        cues: skill.triggers.clone(),
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
