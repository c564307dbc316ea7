//! Late exchanges: a conversation that was said before others of its session, and written after them.
//!
//! The later ones were extracted without it. Those that it changes are queued to be extracted again, so that the session
//! makes the memories that it makes in order.

use cuebase_language::extract::ExtractedDrafts;
use cuebase_language::extract::window::MESSAGES_MAX;
use cuebase_storage::MessageId;
use cuebase_storage::records::QueuedWork;

use super::attempt::Attempt;
use crate::error::Result;
use crate::ingest::forgetting::{readable, wishes_of};
use crate::ingest::session::SessionTail;
use crate::service::sources::KeptSource;

/// Queues a kept conversation to be extracted again if the conversation of the attempt changes what it says, and the write of
/// a question that it then answers no longer.
pub(super) fn extract_again_if_changed(attempt: &Attempt<'_>, source: MessageId) -> Result<()> {
    let Attempt { ingestion, entry, .. } = *attempt;
    let QueuedWork::Conversation { request: late } = &entry.work else { return Ok(()) };
    let Some(kept) = ingestion.store.source(entry.namespace_id, source)? else { return Ok(()) };
    let mut kept = KeptSource::of(&kept)?;
    // No later message is read with the late one.
    kept.conversation.messages.truncate(MESSAGES_MAX + 1);
    let without = attempt.session(source, &kept.conversation, kept.accepted_at()?)?;
    let mut with = without.clone();
    with.add(entry.id, late, attempt.accepted_at()?);
    let (without, with) = (without.tail(), with.tail());
    let former = extract(attempt, &without, &kept)?;
    let new = extract(attempt, &with, &kept)?;
    let (answered, answers) = (without.write_of(former.answered), with.write_of(new.answered));
    if answered == answers && said(&former) == said(&new) {
        return Ok(());
    }
    let Some(namespace) = ingestion.store.namespace(&entry.account, &entry.namespace)? else { return Ok(()) };
    ingestion.intake.accept_reextraction(&namespace, source)?;
    if let Some(question) = answered.filter(|_| answered != answers) {
        ingestion.intake.accept_reextraction(&namespace, question)?;
    }
    Ok(())
}

fn extract(attempt: &Attempt<'_>, tail: &SessionTail, kept: &KeptSource) -> Result<ExtractedDrafts> {
    let accepted_at = kept.accepted_at()?;
    let wishes = wishes_of(tail, &kept.conversation, accepted_at);
    attempt.extract(tail, &readable(&kept.conversation, &wishes), accepted_at)
}

/// Returns what was extracted, without the indexes of earlier messages, which differ.
fn said(extracted: &ExtractedDrafts) -> ExtractedDrafts {
    let mut said = extracted.clone();
    for draft in &mut said.drafts {
        draft.before.fill(0);
    }
    said.answered = None;
    said
}
