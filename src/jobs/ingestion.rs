//! The ingestion workers: threads that take a write from the queue and commit and index it.

use std::time::{Duration, Instant};

use cuebase_storage::Error as StorageError;
use cuebase_storage::records::{DeadLetter, QueueEntry, QueuedWork};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::attempt::{Attempt, cue_texts};
use super::outage;
use super::reextraction::reextract;
use crate::error::{Error, Result};
use crate::ingest::model_extract::plan::plan_extraction;
use crate::ingest::model_extract::{Operation, SimilarMemory};
use crate::ingest::{direct, remember, skills, vocabulary};
use crate::memory::conversation::Conversation;
use crate::memory::files::Origin;
use crate::memory::skill::SkillDraft;
use crate::memory::terms::TermDraft;
use crate::memory::time::format_ms;
use crate::metrics::IngestionOutcome;
use crate::queue::dispatch::Assignment;
use crate::service::Service;
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

/// Processes writes until the queue stops.
pub(super) fn run(service: &Service) {
    while let Some(assignment) = service.queue.next() {
        match service.store.queue_entry(assignment.key.id, assignment.id) {
            // Deleted with its namespace, or acknowledged together with another write.
            Ok(None) => finish(service, &assignment),
            Ok(Some(entry)) => process(service, &assignment, entry),
            Err(error @ StorageError::Corrupt { .. }) => {
                tracing::error!(message = %assignment.id, %error, "a queue entry cannot be decoded and is set aside");
                match service.store.set_entry_aside(assignment.key.id, assignment.id) {
                    Ok(()) => finish(service, &assignment),
                    Err(_) => service.queue.retry(&assignment, DISK_BACKOFF),
                }
            }
            Err(error) => {
                tracing::error!(message = %assignment.id, %error, "a queue entry cannot be read");
                service.queue.retry(&assignment, UNREADABLE_BACKOFF);
            }
        }
    }
}

/// Removes a message that needs no more work from the queue and from the pending paths.
fn finish(service: &Service, assignment: &Assignment) {
    service.pending.release(assignment.key.id, assignment.id);
    service.queue.finish(assignment);
}

/// Tries to ingest a message, and records outcome and duration for the metrics.
fn process(service: &Service, assignment: &Assignment, entry: QueueEntry) {
    // The API returns milliseconds, so the memory file stores milliseconds too.
    let now = Timestamp::now().round(jiff::Unit::Millisecond).unwrap_or_else(|_| Timestamp::now());
    let began = Instant::now();
    let is_traced = service.config.telemetry.otlp_endpoint.is_some();
    let _entered = telemetry::ingestion_span(is_traced, &entry.id.to_string(), entry.work.kind()).entered();
    if let Some(outcome) = attempt(service, assignment, entry, now) {
        service.metrics.record_ingestion(outcome, began.elapsed());
    }
}

/// Tries to ingest a message once. Returns `None` if the attempt did not take place or was interrupted by a stop.
fn attempt(service: &Service, assignment: &Assignment, entry: QueueEntry, now: Timestamp) -> Option<IngestionOutcome> {
    if service.waited_ms(&entry) > RETENTION_MS {
        let error = Error::internal("the write was not ingested within four days of running time");
        return Some(bury(service, assignment, &entry, now, &error));
    }
    if outage::needs_model(service, &entry) && !outage::admits(service, assignment, now) {
        return None;
    }
    let Err(error) = ingest_without_panic(service, &entry, now) else {
        finish(service, assignment);
        consolidate_packs(service, assignment);
        return Some(IngestionOutcome::Done);
    };
    if service.queue.is_stopping() {
        // The stop itself may have caused the error. The message is still queued and starts over at the next start.
        tracing::info!(message = %entry.id, "ingestion was interrupted by a stop; it resumes at the next start");
        return None;
    }
    if let Some(outcome) = outage::wait_for_model(service, assignment, now, &error) {
        return Some(outcome);
    }
    Some(fail(service, assignment, entry, now, &error))
}

/// Ingests a message. A text that makes the extractor panic must neither end the worker nor stop every later start.
fn ingest_without_panic(service: &Service, entry: &QueueEntry, now: Timestamp) -> Result<()> {
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ingest(service, entry, now)));
    caught.unwrap_or_else(|_| Err(Error::internal("ingestion panicked")))
}

/// Joins the packs of a namespace after a write.
fn consolidate_packs(service: &Service, assignment: &Assignment) {
    if let Ok(namespace) = service.namespaces.lease_key(&assignment.key)
        && let Err(error) = namespace.consolidate_packs()
    {
        tracing::error!(%error, "joining packs failed; the next write tries again");
    }
}

/// Handles a failed attempt: the message waits for the disk, is tried again later, or becomes a dead letter. The log
/// gets the kind of the error and the message's id only, because the error's text may quote what a client sent. The
/// full text is stored in the dead letter.
fn fail(
    service: &Service,
    assignment: &Assignment,
    mut entry: QueueEntry,
    now: Timestamp,
    error: &Error,
) -> IngestionOutcome {
    if error.is_temporary() || matches!(error, Error::DamagedNamespace(_)) {
        // The message is not the cause, so it waits without a limit.
        tracing::error!(message = %entry.id, failure = error.code(), "ingestion waits for the disk");
        service.queue.retry(assignment, DISK_BACKOFF);
        return IngestionOutcome::Waiting;
    }
    entry.failures += 1;
    tracing::warn!(message = %entry.id, failures = entry.failures, failure = error.code(), "ingestion failed");
    // A message whose commit is in git lacks only its index entry. It must not be ingested again, so it is never
    // buried.
    if entry.failures > service.config.ingestion.retries && !is_committed(service, assignment) {
        return bury(service, assignment, &entry, now, error);
    }
    let growths = (entry.failures - 1).min(BACKOFF_GROWTHS_MAX);
    let wait = service.config.ingestion.backoff * BACKOFF_GROWTH.saturating_pow(growths);
    match service.store.record_failure(&entry) {
        Ok(true) => service.queue.retry(assignment, wait),
        // Its namespace was deleted.
        Ok(false) => finish(service, assignment),
        Err(error) => {
            tracing::error!(message = %entry.id, %error, "a failed write could not be recorded; it is tried again");
            service.queue.retry(assignment, UNREADABLE_BACKOFF);
        }
    }
    IngestionOutcome::Failed
}

fn is_committed(service: &Service, assignment: &Assignment) -> bool {
    let namespace = service.namespaces.lease_key(&assignment.key);
    namespace.is_ok_and(|namespace| namespace.is_committed(assignment.id))
}

/// Moves a message to the dead letters.
fn bury(
    service: &Service,
    assignment: &Assignment,
    entry: &QueueEntry,
    now: Timestamp,
    error: &Error,
) -> IngestionOutcome {
    let letter = DeadLetter::of(entry, now.as_millisecond(), service.running_ms(), error.to_string());
    match service.store.bury(&letter, entry) {
        // Also where the entry no longer exists: its namespace was deleted.
        Ok(_) => finish(service, assignment),
        Err(error) => {
            tracing::error!(message = %entry.id, %error, "a failed write could not be recorded; it is tried again");
            service.queue.retry(assignment, UNREADABLE_BACKOFF);
            return IngestionOutcome::Waiting;
        }
    }
    IngestionOutcome::Buried
}

/// Ingests a message into its namespace. The message of a deleted namespace is dropped.
fn ingest(service: &Service, entry: &QueueEntry, now: Timestamp) -> Result<()> {
    let ingested = match service.namespaces.lease_key(&entry.namespace_key()) {
        Ok(namespace) => {
            let deadline = Instant::now() + service.config.ingestion.timeout;
            Attempt { service, namespace: &namespace, entry, now, deadline }.ingest()
        }
        Err(error) => Err(error),
    };
    match ingested {
        Err(Error::NamespaceGone) => Ok(service.store.drop_entry(entry.namespace_id, entry.id)?),
        ingested => ingested,
    }
}

impl Attempt<'_> {
    fn ingest(&self) -> Result<()> {
        let Self { namespace, entry, now, .. } = *self;
        match &entry.work {
            QueuedWork::Conversation { request } => self.ingest_conversation(request),
            QueuedWork::Forget { paths } => namespace.ingest(entry, now, |context| direct::forget(context, paths)),
            QueuedWork::Teach { request } => {
                let terms: Vec<TermDraft> = decode(request)?;
                namespace.ingest(entry, now, |context| vocabulary::teach(context, &terms))
            }
            QueuedWork::ForgetTerms { terms } => {
                namespace.ingest(entry, now, |context| vocabulary::forget(context, terms))
            }
            QueuedWork::Skills { request } => {
                let skills: Vec<SkillDraft> = decode(request)?;
                let mut texts = Vec::new();
                for skill in &skills {
                    texts.extend(skill.cue_texts());
                }
                namespace.prepare(&texts, self.service.models.write_deadline());
                namespace.ingest(entry, now, |context| skills::store(context, &skills, now))
            }
            QueuedWork::Reextract { source } => reextract(self, *source),
            _ => Err(Error::internal("this version does not know the kind of a queued write")),
        }
    }

    fn ingest_conversation(&self, request: &Value) -> Result<()> {
        let Self { namespace, entry, now, .. } = *self;
        let conversation: Conversation = decode(request)?;
        let origin = Origin { write: entry.id, conversation: &conversation };
        let accepted_at = Timestamp::from_millisecond(entry.accepted_at_ms).map_err(Error::internal)?;
        // A conversation whose commit is in git needs only its index entry, so the model is not called again.
        if let Some(chat) = self.service.models.chat()
            && !namespace.is_committed(entry.id)
        {
            let extraction =
                self.extract_with_model(chat, &conversation, accepted_at, &|text: &str| self.find_similar(text))?;
            self.embed(&cue_texts(extraction.operations.iter().filter_map(Operation::draft)));
            self.check_deadline()?;
            return namespace.ingest(entry, now, |context| plan_extraction(context, origin, &extraction, now));
        }
        let drafts = self.extract(&conversation, accepted_at)?;
        self.embed(&cue_texts(drafts.iter()));
        self.check_deadline()?;
        namespace.ingest(entry, now, |context| remember::remember(context, origin, &drafts, now))
    }

    /// Finds existing memories that are similar to a text. Returns none if the search fails.
    fn find_similar(&self, text: &str) -> Vec<SimilarMemory> {
        let entry = self.entry;
        let query = text.chars().take(SIMILAR_QUERY_CHARS_MAX).collect();
        let request = RetrievalRequest { query: Some(query), limit: SIMILAR_MAX, ..RetrievalRequest::default() };
        let findings = match self.service.find(&entry.account, &entry.namespace, &request) {
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

/// Decodes an accepted request.
fn decode<T: DeserializeOwned>(request: &Value) -> Result<T> {
    // The decoder's error may quote the request, so it is not passed on.
    T::deserialize(request).map_err(|_| Error::internal("an accepted request cannot be decoded"))
}
