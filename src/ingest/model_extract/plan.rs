//! What a model extracted, into files.

use std::collections::BTreeMap;

use cuebase_storage::memory_file::{MemoryFile, OccurredSource};
use jiff::Timestamp;

use super::{Extraction, Operation};
use crate::error::{Error, Result};
use crate::memory::draft::Draft;
use crate::memory::files::Origin;
use crate::namespace::plan::{Content, Plan, PlanContext};

/// The trailer that names the model and the version of the prompt.
pub(in crate::ingest) const EXTRACTOR_TRAILER: &str = "Cuebase-Extractor";

/// Carries out an extraction. Fails where a memory that it changes is gone by now: extracted anew, the conversation is
/// read with what is there.
pub fn carry_out(
    context: &mut PlanContext<'_>,
    origin: Origin<'_>,
    extraction: &Extraction,
    now: Timestamp,
) -> Result<Plan> {
    let drafts: Vec<Draft> = extraction.drafts().cloned().collect();
    let paths = context.name(&drafts)?;
    let mut files: BTreeMap<String, MemoryFile> = BTreeMap::new();
    for (path, draft) in paths.iter().zip(&drafts) {
        files.insert(path.clone(), origin.file_of(draft, &paths, now));
    }
    let (mut rewritten, mut expired) = (0, 0);
    for operation in &extraction.operations {
        match operation {
            Operation::New(_) => {}
            Operation::Rewrite { path, draft } => {
                let known = standing(context, &files, path)?;
                let fresh = origin.file_of(draft, &paths, now);
                files.insert(path.clone(), rewrite(known, fresh));
                rewritten += 1;
            }
            Operation::Expire { path, at } => {
                let mut known = standing(context, &files, path)?;
                known.front.expires_at = Some(*at);
                known.front.updated_at = Some(now);
                files.insert(path.clone(), known);
                expired += 1;
            }
        }
    }
    let subject = [(drafts.len(), "remember"), (rewritten, "rewrite"), (expired, "expire")];
    let subject = subject.into_iter().filter(|(count, _)| *count > 0).map(|(count, verb)| format!("{verb} {count}"));
    let mut subject = subject.collect::<Vec<_>>().join(", ");
    if let Some(first) = subject.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let body = extraction.dropped.iter().map(|reason| format!("Dropped: {reason}")).collect::<Vec<_>>().join("\n");
    let files = files.into_iter().map(|(path, file)| (path, Some(Content::Memory(Box::new(file))))).collect();
    let trailers = vec![(EXTRACTOR_TRAILER.to_owned(), extraction.by.clone())];
    Ok(Plan { subject, body, trailers, files })
}

/// A memory as it stands, earlier operations counted.
fn standing(context: &mut PlanContext<'_>, files: &BTreeMap<String, MemoryFile>, path: &str) -> Result<MemoryFile> {
    match files.get(path) {
        Some(file) => Ok(file.clone()),
        None => context.memory(path)?.ok_or_else(|| Error::internal("a memory to change was removed meanwhile")),
    }
}

/// A memory with a new text: what it says is the new one's, where it comes from is both's.
fn rewrite(known: MemoryFile, fresh: MemoryFile) -> MemoryFile {
    let MemoryFile { mut front, body } = fresh;
    let known = known.front;
    front.created_at = known.created_at.or(front.created_at);
    front.tags.extend(known.tags);
    front.tags.sort();
    front.tags.dedup();
    front.sources.splice(0..0, known.sources);
    let links = known.relations.into_iter().filter(|old| !front.relations.iter().any(|new| new.path == old.path));
    let links: Vec<_> = links.collect();
    front.relations.extend(links);
    // When it happened is known better from a text that says so than from when that was said.
    if front.occurred_source != Some(OccurredSource::Extracted) && known.occurred_at.is_some() {
        front.occurred_at = known.occurred_at;
        front.occurred_precision = known.occurred_precision;
        front.occurred_source = known.occurred_source;
    }
    front.speaker = front.speaker.or(known.speaker);
    front.name = known.name;
    front.description = known.description;
    front.other = known.other;
    MemoryFile { front, body }
}
