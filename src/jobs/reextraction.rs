//! A kept conversation into memories again, with the models that are configured now.
//!
//! The memories that came from the conversation alone are replaced ([`crate::ingest::reextract`]). What anybody changed since stays as it is:
//! memories that were edited, forgotten, or taken up by another conversation, and everything that was made from the same
//! messages. A chat model is shown no memory here, so it can neither rewrite nor expire what other conversations made.

use std::cell::Cell;
use std::time::Instant;

use cuebase_storage::records::QueueEntry;
use jiff::Timestamp;
use ulid::Ulid;

use super::outage;
use crate::error::{Error, Result};
use crate::ingest::model_extract::{Operation, Reading};
use crate::ingest::reextract::Replacement;
use crate::ingest::{extract, model_extract};
use crate::memory::draft::Draft;
use crate::memory::files::Origin;
use crate::namespace::open::Namespace;
use crate::namespace::plan::Plan;
use crate::service::Service;
use crate::service::sources::KeptSource;
use crate::text::steps::Steps;

/// What an extraction made of a conversation.
struct Extracted {
    drafts: Vec<Draft>,
    /// The model and the version of the prompt, for the commit; none for the built-in extractor.
    by: Option<String>,
}

/// Carries out a queued re-extraction. A source that was deleted meanwhile is left alone.
pub(super) fn reextract(
    service: &Service,
    namespace: &Namespace,
    entry: &QueueEntry,
    source: Ulid,
    now: Timestamp,
    until: Instant,
) -> Result<()> {
    let kept = service.store.source(entry.namespace_id, source)?;
    let paths = service.store.source_paths(entry.namespace_id, source)?;
    let (Some(kept), Some(paths)) = (kept, paths) else {
        return namespace.ingest(entry, now, |_| Ok(nothing()));
    };
    if namespace.is_committed(entry.id) {
        // Only its index entry is missing.
        return namespace.ingest(entry, now, |_| Ok(nothing()));
    }
    let kept = KeptSource::of(&kept)?;
    let extracted = extract_drafts(service, namespace, &kept, until)?;
    let mut texts = Vec::new();
    for draft in &extracted.drafts {
        texts.extend_from_slice(&draft.cues);
    }
    namespace.prepare(&texts, service.models.write_deadline().at_most(until));
    if Instant::now() >= until {
        return Err(Error::internal("it took longer than a write may take"));
    }
    let replacement = Replacement {
        origin: Origin { write: source, conversation: &kept.conversation },
        drafts: &extracted.drafts,
        paths: &paths,
        extractor: extracted.by.as_deref(),
        now,
    };
    namespace.ingest(entry, now, |context| replacement.plan(context))
}

fn nothing() -> Plan {
    Plan::new(String::new(), Vec::new())
}

fn extract_drafts(service: &Service, namespace: &Namespace, kept: &KeptSource, until: Instant) -> Result<Extracted> {
    let accepted_at = Timestamp::from_millisecond(kept.accepted_at_ms).map_err(Error::internal)?;
    let stopping = || service.queue.is_stopping();
    let Some(chat) = service.models.chat() else {
        let steps = Steps::until(until).or_when(&stopping);
        let drafts = extract::extract(&kept.conversation, accepted_at, &steps)?;
        return Ok(Extracted { drafts, by: None });
    };
    let reading = Reading {
        chat,
        conversation: &kept.conversation,
        accepted_at,
        vocabulary: &namespace.vocabulary(),
        resembling: &|_| Vec::new(),
        call_time: service.models.chat_time(),
        until,
        stopping: &stopping,
        answered: Cell::new(false),
    };
    let extraction = model_extract::extract(&reading);
    outage::note_answer(service, reading.answered.get(), &extraction);
    let extraction = extraction?;
    let mut drafts = Vec::new();
    for operation in extraction.operations {
        // Others change a memory that the model was shown, and it was shown none.
        if let Operation::New(draft) = operation {
            drafts.push(draft);
        }
    }
    Ok(Extracted { drafts, by: Some(extraction.by) })
}
