//! One attempt to ingest a write: what all kinds of work share.

use std::cell::Cell;
use std::time::Instant;

use cuebase_language::extract::ExtractedDrafts;
use cuebase_language::extract::draft::Draft;
use cuebase_language::text::steps::Steps;
use cuebase_storage::MessageId;
use cuebase_storage::records::QueueEntry;
use jiff::Timestamp;

use super::ingestion_shared::Ingestion;
use super::outage;
use crate::error::{Error, Result};
use crate::ingest::extraction;
use crate::ingest::model_extract::{Extraction, ModelExtractor, SimilarMemory};
use crate::ingest::session::{PreviousWrite, Session, SessionTail};
use crate::memory::conversation::Conversation;
use crate::model::hosted::Chat;
use crate::namespace::open::Namespace;

/// One attempt to ingest a queued write.
pub(super) struct Attempt<'a> {
    pub(super) ingestion: &'a Ingestion,
    pub(super) namespace: &'a Namespace,
    pub(super) entry: &'a QueueEntry,
    /// The time of ingestion, to the millisecond.
    pub(super) now: Timestamp,
    /// The attempt fails if nothing is committed by then.
    pub(super) deadline: Instant,
}

impl Attempt<'_> {
    /// Returns the time of acceptance of the write.
    pub(super) fn accepted_at(&self) -> Result<Timestamp> {
        Timestamp::from_millisecond(self.entry.accepted_at_ms).map_err(Error::internal)
    }

    /// Reads the session of a conversation around its write. `write` is the write that is extracted.
    pub(super) fn session(
        &self,
        write: MessageId,
        conversation: &Conversation,
        accepted_at: Timestamp,
    ) -> Result<Session> {
        Session::read(&self.ingestion.store, self.entry.namespace_id, write, conversation, accepted_at)
    }

    /// Returns the write before in the session, if it is kept.
    pub(super) fn previous_write(&self, tail: &SessionTail) -> Result<Option<PreviousWrite>> {
        let Some(write) = tail.last_write() else { return Ok(None) };
        let paths = self.ingestion.store.source_paths(self.entry.namespace_id, write)?;
        Ok(paths.map(|paths| PreviousWrite { write, paths }))
    }

    /// Extracts memories with the built-in extractor.
    pub(super) fn extract(
        &self,
        tail: &SessionTail,
        conversation: &Conversation,
        accepted_at: Timestamp,
    ) -> Result<ExtractedDrafts> {
        let stopping: &dyn Fn() -> bool = &|| self.ingestion.queue.is_stopping();
        Ok(extraction::extract_after(tail, conversation, accepted_at, &Steps::until(self.deadline).or_when(stopping))?)
    }

    /// Extracts memories with a chat model. `find_similar` returns the memories that the model sees next to a text.
    pub(super) fn extract_with_model(
        &self,
        chat: &Chat,
        conversation: &Conversation,
        accepted_at: Timestamp,
        find_similar: &dyn Fn(&str) -> Vec<SimilarMemory>,
    ) -> Result<Extraction> {
        let extractor = ModelExtractor {
            chat,
            conversation,
            accepted_at,
            vocabulary: &self.namespace.vocabulary(),
            find_similar,
            call_time: self.ingestion.models.chat_time(),
            deadline: self.deadline,
            is_stopping: &|| self.ingestion.queue.is_stopping(),
            model_answered: Cell::new(false),
        };
        let extraction = extractor.extract();
        outage::end_if_answered(self.ingestion, extractor.model_answered.get(), &extraction);
        Ok(extraction?)
    }

    /// Embeds the texts that the write needs, before it takes the writer lock.
    pub(super) fn embed(&self, texts: &[String]) {
        let deadline = self.ingestion.models.write_deadline().at_most(self.deadline);
        self.namespace.prepare(texts, deadline);
    }

    /// Fails after the deadline. Must be called before anything is committed.
    pub(super) fn check_deadline(&self) -> Result<()> {
        if Instant::now() < self.deadline {
            return Ok(());
        }
        Err(Error::internal("the write exceeded its time limit (ingestion.timeout_ms)"))
    }
}

/// Returns the cues of drafts, in order.
pub(super) fn cue_texts<'a>(drafts: impl Iterator<Item = &'a Draft>) -> Vec<String> {
    let mut texts = Vec::new();
    for draft in drafts {
        texts.extend_from_slice(&draft.cues);
    }
    texts
}
