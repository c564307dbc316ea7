//! Repetitions: a statement that a memory has already becomes a further source of that memory, not another memory.

use std::collections::HashMap;

use cuebase_storage::memory_file::{Claim, MemoryFile, OccurredSource};
use jiff::Timestamp;

use crate::error::Result;
use crate::memory::statement;
use crate::namespace::plan::PlanContext;

/// The statements that a plan makes or repeats.
#[derive(Default)]
pub(super) struct Repetitions {
    /// The planned files of existing memories, by path.
    pub(super) merged: HashMap<String, MemoryFile>,
    /// The path and the file of each new memory, by its statement.
    new: HashMap<String, (String, MemoryFile)>,
}

impl Repetitions {
    /// Returns the path of the memory that says the same as a new file; `None` if the file is a new memory, at `path`. The
    /// memory then has the new file's sources.
    pub(super) fn merge(
        &mut self,
        context: &mut PlanContext<'_>,
        file: &MemoryFile,
        path: &str,
        now: Timestamp,
    ) -> Result<Option<String>> {
        let statement = statement::of_body(&file.body);
        if let Some(path) = self.merge_with_existing(context, &statement, file, now)? {
            return Ok(Some(path));
        }
        if let Some((path, planned)) = self.new.get_mut(&statement)
            && is_repetition(planned, file)
        {
            *planned = merged(planned.clone(), file, now);
            return Ok(Some(path.clone()));
        }
        self.new.insert(statement, (path.to_owned(), file.clone()));
        Ok(None)
    }

    fn merge_with_existing(
        &mut self,
        context: &mut PlanContext<'_>,
        statement: &str,
        file: &MemoryFile,
        now: Timestamp,
    ) -> Result<Option<String>> {
        let Some(path) = context.path_with_statement(statement, now)? else { return Ok(None) };
        let existing = match self.merged.get(&path) {
            Some(existing) => existing.clone(),
            None => match context.memory(&path)? {
                Some(existing) => existing,
                None => return Ok(None),
            },
        };
        if statement::of_body(&existing.body) != statement || !is_repetition(&existing, file) {
            return Ok(None);
        }
        self.merged.insert(path.clone(), merged(existing, file, now));
        Ok(Some(path))
    }

    /// Returns the file of a new memory with the sources of its repetitions in the same plan.
    pub(super) fn with_sources(&self, path: &str, mut file: MemoryFile) -> MemoryFile {
        if let Some((_, planned)) = self.new.get(&statement::of_body(&file.body)).filter(|(of, _)| of == path) {
            file.front.sources.clone_from(&planned.front.sources);
        }
        file
    }
}

/// Whether a new file says the same as an existing one with the same statement. An event on another day is another
/// event, and a claim from before the existing one may have been interrupted by another one.
fn is_repetition(existing: &MemoryFile, new: &MemoryFile) -> bool {
    let (old, new) = (&existing.front, &new.front);
    let same_event = new.occurred_source != Some(OccurredSource::Extracted) || new.occurred_at == old.occurred_at;
    let is_later = old.claims.is_empty() || new.occurred_at >= old.occurred_at;
    let same_claims = claims_without_times(&old.claims) == claims_without_times(&new.claims);
    same_event && is_later && same_claims && old.metadata == new.metadata && old.expires_at == new.expires_at
}

fn claims_without_times(claims: &[Claim]) -> Vec<Claim> {
    let mut plain = claims.to_vec();
    for claim in &mut plain {
        claim.from = None;
    }
    plain
}

/// Returns an existing memory with the sources and tags of a new file.
fn merged(existing: MemoryFile, new: &MemoryFile, now: Timestamp) -> MemoryFile {
    let MemoryFile { mut front, body } = existing;
    for source in &new.front.sources {
        let mut source = source.clone();
        source.said_at = source.said_at.or(new.front.occurred_at);
        if !front.sources.contains(&source) {
            front.sources.push(source);
        }
    }
    front.tags.extend(new.front.tags.iter().cloned());
    front.tags.sort();
    front.tags.dedup();
    front.inferred_tags.retain(|tag| !front.tags.contains(tag));
    front.updated_at = Some(now);
    MemoryFile { front, body }
}
