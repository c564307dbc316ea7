//! The plans of direct writes: a memory that a caller writes, and memories to forget.

use cuebase_storage::memory_file::{FrontMatter, MemoryFile, MemoryPath, Metadata, OccurredPrecision, OccurredSource};
use jiff::Timestamp;

use crate::error::Result;
use crate::memory::conversation::Moment;
use crate::memory::files;
use crate::namespace::plan::{Plan, PlanContext, PlannedFile};

/// A valid memory from a caller.
#[derive(Clone, Debug)]
pub struct DirectWrite {
    /// The path.
    pub path: MemoryPath,
    /// The body, as markdown.
    pub content: String,
    /// The tags, lowercase, sorted and unique.
    pub tags: Vec<String>,
    /// When it happened.
    pub occurred: Option<Moment>,
    /// The texts that are embedded in addition to the body's own.
    pub cues: Vec<String>,
    /// When an incident expires. Expired incidents are not retrieved.
    pub expires_at: Option<Timestamp>,
    /// The values that the caller filters by.
    pub metadata: Metadata,
    /// When the memory begins to hold.
    pub valid_from: Option<Timestamp>,
    /// When the memory stops holding.
    pub valid_until: Option<Timestamp>,
    /// The paths of the memories that it replaces.
    pub supersedes: Vec<String>,
}

impl DirectWrite {
    /// Creates a write of a text without any other field.
    pub fn new(path: MemoryPath, content: String) -> Self {
        Self {
            path,
            content,
            tags: Vec::new(),
            occurred: None,
            cues: Vec::new(),
            expires_at: None,
            metadata: Metadata::new(),
            valid_from: None,
            valid_until: None,
            supersedes: Vec::new(),
        }
    }

    /// Returns the texts that are embedded for the memory.
    pub fn cue_texts(&self) -> Vec<String> {
        let front = FrontMatter { cues: self.cues.clone(), ..FrontMatter::default() };
        files::cue_texts(&front, &self.content)
    }
}

/// Plans the write of a memory. It replaces an existing one at the path, whose text stays in the history.
pub fn write(context: &mut PlanContext<'_>, write: &DirectWrite, now: Timestamp) -> Result<Plan> {
    let path = write.path.as_str();
    let (verb, former) = match context.memory(path)? {
        Some(file) => ("Rewrite", file.front),
        None => ("Write", FrontMatter::default()),
    };
    let file = file_of(write, former, now)?;
    Ok(Plan::new(format!("{verb} {path}"), vec![PlannedFile::memory(path.to_owned(), file)]))
}

/// Returns the file of a direct write over a file with this front matter.
pub fn file_of(write: &DirectWrite, former: FrontMatter, now: Timestamp) -> Result<MemoryFile> {
    let (occurred, source) = match write.occurred {
        Some(moment) => (moment, OccurredSource::User),
        None => (Moment { at: now, precision: OccurredPrecision::default() }, OccurredSource::Written),
    };
    let front = FrontMatter {
        tags: write.tags.clone(),
        cues: write.cues.clone(),
        created_at: former.created_at.or(Some(now)),
        updated_at: Some(now),
        occurred_at: Some(occurred.at),
        occurred_precision: Some(occurred.precision),
        occurred_source: Some(source),
        expires_at: write.expires_at,
        metadata: write.metadata.clone(),
        valid_from: write.valid_from,
        valid_until: write.valid_until,
        supersedes: write.supersedes.clone(),
        standing: former.standing,
        other: former.other,
        ..FrontMatter::default()
    };
    // Rendered and parsed, as when it is read from git, so that a rebuild of the index gives the same memory.
    let rendered = MemoryFile { front, body: write.content.clone() }.render()?;
    Ok(MemoryFile::parse(rendered.as_bytes())?)
}

/// Plans the removal of memories. Paths without a file are skipped.
pub fn forget(context: &mut PlanContext<'_>, paths: &[String]) -> Result<Plan> {
    let mut existing = Vec::new();
    for path in paths {
        if context.contains(path)? {
            existing.push(path.clone());
        }
    }
    let subject = match existing.as_slice() {
        [path] => format!("Forget {path}"),
        _ => format!("Forget {} memories", existing.len()),
    };
    Ok(Plan::new(subject, existing.into_iter().map(PlannedFile::removal).collect()))
}
