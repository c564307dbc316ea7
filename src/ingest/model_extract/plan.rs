//! The plan that writes the memories of an extraction with a chat model.

use std::collections::BTreeMap;

use cuebase_language::extract::draft::Draft;
use cuebase_storage::memory_file::{MemoryFile, OccurredSource};
use cuebase_storage::records::DroppedMessage;
use jiff::Timestamp;

use super::extraction::Extraction;
use super::operations::Operation;
use crate::error::{Error, Result};
use crate::ingest::dropped::{TOO_LONG, dropped_message, unread_messages};
use crate::ingest::forgetting::{AskedToForget, paths_to_forget};
use crate::ingest::remember::with_removals;
use crate::memory::files::Origin;
use crate::namespace::plan::{Plan, PlanContext};
use crate::namespace::report::PlanReport;

/// The trailer that names the model and the version of the prompt.
pub(in crate::ingest) const EXTRACTOR_TRAILER: &str = "Cuebase-Extractor";

/// Plans the operations of an extraction. Fails if a memory to change no longer exists; the retry extracts the
/// conversation again, with the memories that exist then.
pub fn plan_extraction(
    context: &mut PlanContext<'_>,
    origin: Origin<'_>,
    extraction: &Extraction,
    asked: &AskedToForget<'_>,
    now: Timestamp,
) -> Result<Plan> {
    let drafts: Vec<Draft> = extraction.drafts().into_iter().cloned().collect();
    let paths = context.assign_paths(&drafts)?;
    let mut files: BTreeMap<String, MemoryFile> = BTreeMap::new();
    for (path, draft) in paths.iter().zip(&drafts) {
        files.insert(path.clone(), origin.file_of(draft, &paths, now));
    }
    let (mut rewritten, mut expired) = (0, 0);
    for operation in &extraction.operations {
        match operation {
            Operation::New(_) => {}
            Operation::Rewrite { path, draft } => {
                let former = current_file(context, &files, path)?;
                let new = origin.file_of(draft, &paths, now);
                files.insert(path.clone(), rewrite(former, new));
                rewritten += 1;
            }
            Operation::Expire { path, at } => {
                let mut file = current_file(context, &files, path)?;
                file.front.expires_at = Some(*at);
                file.front.updated_at = Some(now);
                files.insert(path.clone(), file);
                expired += 1;
            }
        }
    }
    let forgotten = paths_to_forget(context, asked, now)?;
    let counts = [("remember", drafts.len()), ("rewrite", rewritten), ("expire", expired), ("forget", forgotten.len())];
    let dropped = unread_messages(origin.conversation, &asked.wishes.asked_not_to);
    let mut report = PlanReport { dropped, forgotten, ..PlanReport::default() };
    for message in &extraction.too_long {
        report.dropped.push(dropped_message(*message, TOO_LONG));
    }
    for reason in &extraction.dropped {
        report.dropped.push(DroppedMessage { message: None, reason: reason.clone() });
    }
    let (subject, files) = (subject(&counts), with_removals(files, &report.forgotten));
    let trailers = vec![(EXTRACTOR_TRAILER.to_owned(), extraction.by.clone())];
    Ok(Plan { subject, report, trailers, files })
}

/// Returns the subject of the commit: each verb with a count above zero.
fn subject(counts: &[(&str, usize)]) -> String {
    let mut parts = Vec::new();
    for (verb, count) in counts {
        if *count > 0 {
            parts.push(format!("{verb} {count}"));
        }
    }
    let mut subject = parts.join(", ");
    if let Some(first) = subject.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    subject
}

/// Returns the file of a memory to change, as earlier operations of the extraction left it.
fn current_file(context: &mut PlanContext<'_>, files: &BTreeMap<String, MemoryFile>, path: &str) -> Result<MemoryFile> {
    if let Some(file) = files.get(path) {
        return Ok(file.clone());
    }
    let Some(file) = context.memory(path)? else {
        return Err(Error::internal("a memory to change was removed during the extraction"));
    };
    Ok(file)
}

/// Returns a memory with a new text. Sources, tags, metadata and relations of both files are kept, and what somebody set
/// about when the memory holds.
fn rewrite(former: MemoryFile, new: MemoryFile) -> MemoryFile {
    let MemoryFile { mut front, body } = new;
    let former = former.front;
    front.created_at = former.created_at.or(front.created_at);
    front.tags.extend(former.tags);
    front.tags.sort();
    front.tags.dedup();
    for (key, value) in former.metadata {
        front.metadata.entry(key).or_insert(value);
    }
    front.valid_from = front.valid_from.or(former.valid_from);
    front.valid_until = front.valid_until.or(former.valid_until);
    front.standing = front.standing.or(former.standing);
    front.supersedes.extend(former.supersedes);
    front.sources.splice(0..0, former.sources);
    let new_relations = front.relations.len();
    for relation in former.relations {
        if !front.relations[..new_relations].iter().any(|new| new.path == relation.path) {
            front.relations.push(relation);
        }
    }
    // A time that a text states is more exact than the time of the message.
    if front.occurred_source != Some(OccurredSource::Extracted) && former.occurred_at.is_some() {
        front.occurred_at = former.occurred_at;
        front.occurred_precision = former.occurred_precision;
        front.occurred_source = former.occurred_source;
        front.occurred_until = former.occurred_until;
    }
    front.speaker = front.speaker.or(former.speaker);
    front.name = former.name;
    front.description = former.description;
    front.other = former.other;
    MemoryFile { front, body }
}
