//! Ingestion: each worker takes one write after another from the queue, and commits and indexes it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebase_language::text::steps::Steps;
use cuebase_storage::Error as StorageError;
use cuebase_storage::records::{DeadLetter, DocumentDraft, QueueEntry, QueuedWork};
use jiff::Timestamp;

use super::attempt::{Attempt, cue_texts};
use super::erasure::{erase, finish_erasure};
use super::ingestion_shared::Ingestion;
use super::job::{Job, JobName, Retry};
use super::late::extract_again_if_changed;
use super::outage;
use super::reextraction::reextract;
use super::stop::{StopSignal, Wake};
use crate::error::{Error, Result};
use crate::ingest::forgetting::{AskedToForget, readable, storable, wishes_of};
use crate::ingest::model_extract::plan::plan_extraction;
use crate::ingest::model_extract::{Operation, SimilarMemory};
use crate::ingest::{direct, documents, remember, skills, vocabulary};
use crate::memory::conversation::Conversation;
use crate::memory::files::Origin;
use crate::memory::skill;
use crate::memory::time::format_ms;
use crate::metrics::IngestionOutcome;
use crate::queue::order::Assignment;
use crate::queue::progress::WorkProgress;
use crate::service::retrieval::RetrievalRequest;
use crate::telemetry;

/// A write that was not ingested within this running time becomes a dead letter: 4 days.
const RETENTION_MS: u64 = 4 * 24 * 60 * 60 * 1000;
/// The wait before a queue entry that could not be read is read again.
const UNREADABLE_BACKOFF: Duration = Duration::from_millis(200);
/// The wait before a write that the disk refused is tried again.
const DISK_BACKOFF: Duration = Duration::from_secs(2);
/// Factor by which each wait before a retry exceeds the one before.
const BACKOFF_GROWTH: u32 = 4;
/// A wait grows at most this many times.
const BACKOFF_GROWTHS_MAX: u32 = 6;
/// Existing memories that a model sees next to a part of a conversation.
const SIMILAR_MAX: usize = 8;
/// Characters of the part that are used to find them.
const SIMILAR_QUERY_CHARS_MAX: usize = 2000;

/// One worker, on a thread of its own.
pub(super) struct IngestionWorker {
    ingestion: Arc<Ingestion>,
    /// The message of the next run.
    next: Option<Assignment>,
}

impl IngestionWorker {
    pub(super) fn new(ingestion: &Arc<Ingestion>) -> Self {
        Self { ingestion: Arc::clone(ingestion), next: None }
    }
}

impl Job for IngestionWorker {
    fn name(&self) -> JobName {
        JobName::Ingestion
    }

    fn wait(&mut self, _stop: &StopSignal) -> Wake {
        self.next = self.ingestion.queue.next();
        if self.next.is_some() { Wake::Work } else { Wake::Stop }
    }

    /// A write that cannot be ingested is not an error of the run: it has its own retries and metrics.
    fn run(&mut self) -> Result<()> {
        match self.next.take() {
            Some(assignment) => self.ingestion.handle(&assignment),
            None => Ok(()),
        }
    }

    /// The queue repeats a message later. Other messages must not wait for that.
    fn retry(&self) -> Retry {
        Retry::OwnSchedule
    }
}

impl Ingestion {
    /// Processes the message of an assignment, and returns the assignment to the queue.
    fn handle(&self, assignment: &Assignment) -> Result<()> {
        match self.store.queue_entry(&assignment.key, assignment.id) {
            // Deleted with its namespace, or acknowledged together with another write.
            Ok(None) => self.finish(assignment),
            Ok(Some(entry)) => self.process(assignment, entry),
            Err(error @ StorageError::Corrupt { .. }) => {
                tracing::error!(message = %assignment.id, %error, "a queue entry cannot be decoded and is set aside");
                match self.store.set_entry_aside(&assignment.key, assignment.id) {
                    Ok(()) => self.finish(assignment),
                    Err(_) => self.queue.retry(assignment, DISK_BACKOFF),
                }
                return Err(error.into());
            }
            Err(error) => {
                tracing::error!(message = %assignment.id, %error, "a queue entry cannot be read");
                self.queue.retry(assignment, UNREADABLE_BACKOFF);
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Removes a message that needs no more work from the queue and from the pending paths.
    fn finish(&self, assignment: &Assignment) {
        self.pending.release(assignment.key.id, assignment.id);
        self.queue.finish(assignment);
    }

    /// Tries to ingest a message, and records outcome and duration for the metrics.
    fn process(&self, assignment: &Assignment, entry: QueueEntry) {
        let now = self.clock.now();
        // The API returns milliseconds, so the memory file stores milliseconds too.
        let now = now.round(jiff::Unit::Millisecond).unwrap_or(now);
        let began = Instant::now();
        let span = telemetry::ingestion_span(self.settings.is_traced, &entry.id.to_string(), entry.work.kind());
        let _entered = span.entered();
        if let Some(outcome) = self.attempt(assignment, entry, now) {
            self.metrics.record_ingestion(outcome, began.elapsed());
        }
    }

    /// Tries to ingest a message once. Returns `None` if the attempt did not take place or was interrupted by a stop.
    fn attempt(&self, assignment: &Assignment, entry: QueueEntry, now: Timestamp) -> Option<IngestionOutcome> {
        if self.running.waited_ms(&entry) > RETENTION_MS {
            let error = Error::internal("the write was not ingested within four days of running time");
            return Some(self.bury(assignment, &entry, now, &error));
        }
        if outage::needs_model(self, &entry) && !outage::admits(self, assignment, now) {
            return None;
        }
        let Err(error) = self.ingest_without_panic(&entry, now) else {
            if matches!(entry.work, QueuedWork::Erase { .. }) {
                // The entry in the store is now the second part of the erasure.
                self.queue.retry(assignment, Duration::ZERO);
                return None;
            }
            self.finish(assignment);
            self.consolidate_packs(assignment);
            return Some(IngestionOutcome::Done);
        };
        if self.queue.is_stopping() {
            // The stop itself may have caused the error. The message is still queued and starts over at the next start.
            tracing::info!(message = %entry.id, "ingestion was interrupted by a stop; it resumes at the next start");
            return None;
        }
        if let Some(outcome) = outage::wait_for_model(self, assignment, now, &error) {
            return Some(outcome);
        }
        Some(self.fail(assignment, entry, now, &error))
    }

    /// Ingests a message. A text that makes the extractor panic must neither end the worker nor stop every later start.
    fn ingest_without_panic(&self, entry: &QueueEntry, now: Timestamp) -> Result<()> {
        let caught = catch_unwind(AssertUnwindSafe(|| self.ingest(entry, now)));
        caught.unwrap_or_else(|_| Err(Error::internal("ingestion panicked")))
    }

    /// Joins the packs of a namespace after a write.
    fn consolidate_packs(&self, assignment: &Assignment) {
        if let Ok(namespace) = self.namespaces.lease_key(&assignment.key)
            && let Err(error) = namespace.consolidate_packs()
        {
            tracing::error!(%error, "joining packs failed; the next write tries again");
        }
    }

    /// Handles a failed attempt: the message waits for the disk, is tried again later, or becomes a dead letter. The
    /// log gets the kind of the error and the message's id only, because the error's text may quote what a client sent.
    /// The full text is stored in the dead letter.
    fn fail(&self, assignment: &Assignment, mut entry: QueueEntry, now: Timestamp, error: &Error) -> IngestionOutcome {
        if error.is_temporary() || matches!(error, Error::DamagedNamespace(_)) {
            // The message is not the cause, so it waits without a limit.
            tracing::error!(message = %entry.id, failure = error.code(), "ingestion waits for the disk or a backup");
            self.queue.retry(assignment, DISK_BACKOFF);
            return IngestionOutcome::Waiting;
        }
        entry.failures += 1;
        tracing::warn!(message = %entry.id, failures = entry.failures, failure = error.code(), "ingestion failed");
        // A message whose commit is in git lacks only its index entry. It must not be ingested again, so it is never
        // buried.
        if entry.failures > self.settings.ingestion.retries && !self.is_committed(assignment) {
            return self.bury(assignment, &entry, now, error);
        }
        let growths = (entry.failures - 1).min(BACKOFF_GROWTHS_MAX);
        let wait = self.settings.ingestion.backoff * BACKOFF_GROWTH.saturating_pow(growths);
        match self.store.record_failure(&entry) {
            Ok(true) => self.queue.retry(assignment, wait),
            // Its namespace was deleted.
            Ok(false) => self.finish(assignment),
            Err(error) => {
                tracing::error!(message = %entry.id, %error, "a failed write could not be recorded; it is tried again");
                self.queue.retry(assignment, UNREADABLE_BACKOFF);
            }
        }
        IngestionOutcome::Failed
    }

    fn is_committed(&self, assignment: &Assignment) -> bool {
        let namespace = self.namespaces.lease_key(&assignment.key);
        namespace.is_ok_and(|namespace| namespace.is_committed(assignment.id))
    }

    /// Moves a message to the dead letters.
    fn bury(&self, assignment: &Assignment, entry: &QueueEntry, now: Timestamp, error: &Error) -> IngestionOutcome {
        let letter = DeadLetter::of(entry, now.as_millisecond(), self.running.now_ms(), error.to_string());
        let letter = DeadLetter { error: Some(error.response_code().to_string()), ..letter };
        match self.store.bury(&letter, entry) {
            // Also where the entry no longer exists: its namespace was deleted.
            Ok(_) => self.finish(assignment),
            Err(error) => {
                tracing::error!(message = %entry.id, %error, "a failed write could not be recorded; it is tried again");
                self.queue.retry(assignment, UNREADABLE_BACKOFF);
                return IngestionOutcome::Waiting;
            }
        }
        IngestionOutcome::Buried
    }

    /// Ingests a message into its namespace. The message of a deleted namespace is dropped.
    fn ingest(&self, entry: &QueueEntry, now: Timestamp) -> Result<()> {
        let key = entry.namespace_key();
        let ingested = match self.namespaces.lease_key(&key) {
            Ok(namespace) => {
                let deadline = Instant::now() + self.settings.ingestion.timeout;
                Attempt { ingestion: self, namespace: &namespace, entry, now, deadline }.ingest()
            }
            Err(error) => Err(error),
        };
        match ingested {
            Err(Error::NamespaceGone) => Ok(self.store.drop_entry(&key, entry.id)?),
            ingested => ingested,
        }
    }
}

impl Attempt<'_> {
    fn ingest(&self) -> Result<()> {
        let Self { namespace, entry, now, .. } = *self;
        match &entry.work {
            QueuedWork::Conversation { request } => self.ingest_conversation(request),
            QueuedWork::Forget { paths } => namespace.ingest(entry, now, |context| direct::forget(context, paths)),
            QueuedWork::Teach { request } => {
                namespace.ingest(entry, now, |context| vocabulary::teach(context, request))
            }
            QueuedWork::ForgetTerms { terms } => {
                namespace.ingest(entry, now, |context| vocabulary::forget(context, terms))
            }
            QueuedWork::Skills { request } => {
                let mut texts = Vec::new();
                for skill in request {
                    texts.extend(skill::cue_texts(skill));
                }
                namespace.prepare(&texts, self.ingestion.models.write_deadline());
                namespace.ingest(entry, now, |context| skills::store(context, request, now))
            }
            QueuedWork::Document { request } => self.ingest_document(request),
            QueuedWork::ForgetDocument { document } => {
                let is_stopping = || self.ingestion.queue.is_stopping();
                let steps = Steps::until(self.deadline).or_when(&is_stopping);
                namespace.ingest(entry, now, |context| documents::forget(context, document, &steps))
            }
            QueuedWork::Reextract { source } => reextract(self, *source),
            QueuedWork::Erase { selection } => erase(self, selection),
            QueuedWork::FinishErasure { report } => finish_erasure(self, report),
            _ => Err(Error::internal("this version does not know the kind of a queued write")),
        }
    }

    /// Embeds the passages of a document in portions, and stores them in one commit.
    ///
    /// Embedding takes at most half of the time limit, so that a slow model does not make the write fail. The vectors
    /// that are then missing are computed in the background.
    fn ingest_document(&self, document: &DocumentDraft) -> Result<()> {
        let Self { namespace, entry, now, .. } = *self;
        let is_stopping = || self.ingestion.queue.is_stopping();
        let steps = Steps::until(self.deadline).or_when(&is_stopping);
        let began = Instant::now();
        let embed_until = began + self.deadline.saturating_duration_since(began) / 2;
        let progress = self.ingestion.queue.progress();
        let total = document.passages.len() as u64;
        let mut done = 0;
        for portion in document.passages.chunks(documents::PASSAGES_PER_CALL) {
            progress.set(entry.id, WorkProgress { done, total });
            let texts = documents::cue_texts(document, portion);
            namespace.prepare(&texts, self.ingestion.models.write_deadline().at_most(embed_until));
            done += portion.len() as u64;
            if is_stopping() || Instant::now() >= embed_until {
                break;
            }
        }
        progress.set(entry.id, WorkProgress { done, total });
        let stored = namespace.ingest(entry, now, |context| documents::store(context, document, now, &steps));
        progress.remove(entry.id);
        stored
    }

    fn ingest_conversation(&self, conversation: &Conversation) -> Result<()> {
        let Self { namespace, entry, now, .. } = *self;
        let origin = Origin { write: entry.id, conversation, before: &[], follows: None };
        let accepted_at = self.accepted_at()?;
        let session = self.session(entry.id, conversation, accepted_at)?;
        let later = session.read_with_this();
        let tail = session.tail();
        let asked = AskedToForget { wishes: wishes_of(&tail, conversation, accepted_at), tail: &tail };
        let readable = readable(conversation, &asked.wishes);
        // A conversation whose commit is in git needs only its index entry, so the model is not called again.
        if let Some(chat) = self.ingestion.models.chat()
            && !namespace.is_committed(entry.id)
        {
            let shown = storable(&readable);
            let extraction =
                self.extract_with_model(chat, &shown, accepted_at, &|text: &str| self.find_similar(text))?;
            self.embed(&cue_texts(extraction.operations.iter().filter_map(Operation::draft)));
            self.check_deadline()?;
            return namespace.ingest(entry, now, |context| plan_extraction(context, origin, &extraction, &asked, now));
        }
        let origin = Origin { before: &tail.sources(), ..origin };
        let previous = self.previous_write(&tail)?;
        let extracted = self.extract(&tail, &readable, accepted_at)?;
        self.embed(&cue_texts(extracted.drafts.iter()));
        for write in later {
            extract_again_if_changed(self, write)?;
        }
        self.check_deadline()?;
        namespace.ingest(entry, now, |context| {
            remember::remember(context, origin, previous.as_ref(), &extracted, &asked, now)
        })
    }

    /// Finds existing memories that are similar to a text. Returns none if the search fails.
    fn find_similar(&self, text: &str) -> Vec<SimilarMemory> {
        let entry = self.entry;
        let query = text.chars().take(SIMILAR_QUERY_CHARS_MAX).collect();
        let request = RetrievalRequest { query: Some(query), limit: SIMILAR_MAX, ..RetrievalRequest::default() };
        let findings = match self.ingestion.reads.find(&entry.account, &entry.namespace, &request) {
            Ok(findings) => findings,
            Err(error) => {
                tracing::warn!(message = %entry.id, failure = error.code(), "the search for similar memories failed");
                return Vec::new();
            }
        };
        let mut similar = Vec::with_capacity(findings.hits.len());
        for hit in findings.hits {
            let occurred_at = hit.memory.occurred.and_then(format_ms);
            similar.push(SimilarMemory { path: hit.memory.path, text: hit.memory.content, occurred_at });
        }
        similar
    }
}
