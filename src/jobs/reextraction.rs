//! Re-extraction: memories of a kept conversation are extracted again with the configured models.
//!
//! Memories that came from this conversation only are replaced ([`crate::ingest::reextract`]). Memories that were
//! edited, forgotten or rewritten by another conversation stay as they are, and so do memories that share a message
//! with them. The chat model sees no existing memories here, so it can neither rewrite nor expire those of other
//! conversations.

use cuebase_language::extract::draft::Draft;
use cuebase_storage::MessageId;
use jiff::Timestamp;

use super::attempt::{Attempt, cue_texts};
use crate::error::Result;
use crate::ingest::forgetting::{readable, wishes_of};
use crate::ingest::model_extract::Operation;
use crate::ingest::reextract::Replacement;
use crate::ingest::session::{PreviousWrite, SessionTail};
use crate::memory::files::Origin;
use crate::namespace::plan::{FileChange, Plan, PlanContext};
use crate::service::sources::KeptSource;

/// The memories extracted from a conversation.
struct Extracted {
    drafts: Vec<Draft>,
    /// The message before the conversation that needs no memory of its own any more.
    answered: Option<usize>,
    /// The model and the version of the prompt, for the commit; none for the built-in extractor.
    by: Option<String>,
}

/// A kept conversation that was extracted again, with what its plan needs.
struct ReadAgain {
    source: MessageId,
    kept: KeptSource,
    tail: SessionTail,
    previous: Option<PreviousWrite>,
    /// The paths that the write and its earlier re-extractions changed.
    paths: Vec<String>,
    extracted: Extracted,
}

/// Ingests a queued re-extraction. A source that was deleted in the meantime changes nothing.
pub(super) fn reextract(attempt: &Attempt<'_>, source: MessageId) -> Result<()> {
    let Attempt { namespace, entry, now, .. } = *attempt;
    if namespace.is_committed(entry.id) {
        return acknowledge(attempt);
    }
    let Some(again) = ReadAgain::read(attempt, source)? else { return acknowledge(attempt) };
    attempt.embed(&cue_texts(again.extracted.drafts.iter()));
    attempt.check_deadline()?;
    namespace.ingest(entry, now, |context| again.plan(context, now))
}

/// Returns what a re-extraction would change, and changes nothing. A source that was deleted changes nothing.
pub(super) fn preview(attempt: &Attempt<'_>, source: MessageId) -> Result<Vec<FileChange>> {
    let Some(again) = ReadAgain::read(attempt, source)? else { return Ok(Vec::new()) };
    attempt.namespace.preview(attempt.now, |context| again.plan(context, attempt.now))
}

impl ReadAgain {
    /// Extracts a kept conversation again. Returns `None` if it was deleted.
    fn read(attempt: &Attempt<'_>, source: MessageId) -> Result<Option<Self>> {
        let store = &attempt.ingestion.store;
        let namespace = attempt.entry.namespace_id;
        let (Some(kept), Some(paths)) = (store.source(namespace, source)?, store.source_paths(namespace, source)?)
        else {
            return Ok(None);
        };
        let kept = KeptSource::of(&kept)?;
        let tail = attempt.session(source, &kept.conversation, kept.accepted_at()?)?.tail();
        let previous = attempt.previous_write(&tail)?;
        let extracted = extract_drafts(attempt, &tail, &kept)?;
        Ok(Some(Self { source, kept, tail, previous, paths, extracted }))
    }

    fn plan(&self, context: &mut PlanContext<'_>, now: Timestamp) -> Result<Plan> {
        let Self { source, kept, tail, previous, paths, extracted } = self;
        let origin =
            Origin { write: *source, conversation: &kept.conversation, before: &tail.sources(), follows: None };
        let replacement = Replacement {
            origin,
            previous: previous.as_ref(),
            drafts: &extracted.drafts,
            answered: extracted.answered,
            tail,
            paths,
            extractor: extracted.by.as_deref(),
            now,
        };
        replacement.plan(context)
    }
}

/// Indexes and acknowledges the write without a change to any file.
fn acknowledge(attempt: &Attempt<'_>) -> Result<()> {
    attempt.namespace.ingest(attempt.entry, attempt.now, |_| Ok(Plan::empty()))
}

fn extract_drafts(attempt: &Attempt<'_>, tail: &SessionTail, kept: &KeptSource) -> Result<Extracted> {
    let accepted_at = kept.accepted_at()?;
    // What the conversation asks to forget was forgotten when it was ingested.
    let wishes = wishes_of(tail, &kept.conversation, accepted_at);
    let readable = readable(&kept.conversation, &wishes);
    let Some(chat) = attempt.ingestion.models.chat() else {
        let extracted = attempt.extract(tail, &readable, accepted_at)?;
        return Ok(Extracted { drafts: extracted.drafts, answered: extracted.answered, by: None });
    };
    let extraction = attempt.extract_with_model(chat, &readable, accepted_at, &|_| Vec::new())?;
    let mut drafts = Vec::new();
    for operation in extraction.operations {
        // All other operations change an existing memory, and the model saw none.
        if let Operation::New(draft) = operation {
            drafts.push(draft);
        }
    }
    Ok(Extracted { drafts, answered: None, by: Some(extraction.by) })
}
