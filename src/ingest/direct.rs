//! A memory that the caller writes itself, and memories that it wants forgotten.

use cuebase_storage::memory_file::{FrontMatter, MemoryFile, MemoryPath, OccurredSource};
use jiff::Timestamp;

use crate::error::Result;
use crate::memory::conversation::Moment;
use crate::memory::files;
use crate::namespace::plan::{Content, Plan, PlanContext};

/// A memory as the caller wrote it, checked.
#[derive(Clone, Debug)]
pub struct DirectWrite {
    /// Where.
    pub path: MemoryPath,
    /// The body, markdown.
    pub content: String,
    /// Lowercase, sorted, without repeats.
    pub tags: Vec<String>,
    /// When it happened.
    pub occurred: Option<Moment>,
    /// What should bring it to mind.
    pub cues: Vec<String>,
    /// From when on an incident is no longer retrieved.
    pub expires_at: Option<Timestamp>,
}

impl DirectWrite {
    /// The texts that are embedded for it.
    pub fn cue_texts(&self) -> Vec<String> {
        let front = FrontMatter { cues: self.cues.clone(), ..FrontMatter::default() };
        files::cue_texts(&front, &self.content)
    }
}

/// Writes the memory, in place of the one that was there; its former text stays in the history.
pub fn write(context: &mut PlanContext<'_>, write: &DirectWrite, now: Timestamp) -> Result<Plan> {
    let path = write.path.as_str();
    let known = context.memory(path)?;
    let subject = format!("{} {path}", if known.is_some() { "Rewrite" } else { "Write" });
    let known = known.map(|file| file.front).unwrap_or_default();
    let front = FrontMatter {
        tags: write.tags.clone(),
        cues: write.cues.clone(),
        created_at: known.created_at.or(Some(now)),
        updated_at: Some(now),
        occurred_at: Some(write.occurred.map_or(now, |moment| moment.at)),
        occurred_precision: Some(write.occurred.map_or_else(Default::default, |moment| moment.precision)),
        occurred_source: Some(write.occurred.map_or(OccurredSource::Written, |_| OccurredSource::User)),
        expires_at: write.expires_at,
        other: known.other,
        ..FrontMatter::default()
    };
    // As it would be read back from git, so that the index holds the same now and after a rebuild.
    let rendered = MemoryFile { front, body: write.content.clone() }.render()?;
    let file = MemoryFile::parse(rendered.as_bytes())?;
    Ok(Plan::new(subject, vec![(path.to_owned(), Some(Content::Memory(Box::new(file))))]))
}

/// Takes memories away; one that was never written is skipped.
pub fn forget(context: &mut PlanContext<'_>, paths: &[String]) -> Result<Plan> {
    let mut there = Vec::new();
    for path in paths {
        if context.contains(path)? {
            there.push(path.clone());
        }
    }
    let subject = match there.as_slice() {
        [path] => format!("Forget {path}"),
        _ => format!("Forget {} memories", there.len()),
    };
    Ok(Plan::new(subject, there.into_iter().map(|path| (path, None)).collect()))
}
