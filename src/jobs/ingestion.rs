//! The ingestion workers: threads that take a message from the queue to a namespace's head.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebase_storage::Error as StorageError;
use cuebase_storage::records::{DeadLetter, QueueEntry, QueuedWork};
use jiff::Timestamp;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::outage;
use super::reextraction::reextract;
use crate::error::{Error, Result};
use crate::ingest::model_extract::plan::carry_out;
use crate::ingest::model_extract::{KnownMemory, Operation, Reading};
use crate::ingest::{direct, extract, model_extract, remember, skills, vocabulary};
use crate::memory::conversation::Conversation;
use crate::memory::draft::Draft;
use crate::memory::files::Origin;
use crate::memory::skill::SkillDraft;
use crate::memory::terms::TermDraft;
use crate::memory::time::format_ms;
use crate::metrics::IngestionOutcome;
use crate::namespace::key::NamespaceKey;
use crate::namespace::plan::PlanContext;
use crate::queue::dispatch::Assignment;
use crate::service::Service;
use crate::service::retrieval::{Found, Retrieve};
use crate::telemetry;
use crate::text::steps::Steps;

/// A message that was not processed within so much running time is a dead letter: 4 days.
const RETENTION_MS: u64 = 4 * 24 * 60 * 60 * 1000;
/// The wait before a queue entry that could not be read is read again.
const UNREADABLE_BACKOFF: Duration = Duration::from_millis(200);
/// The wait before a write that the disk refused is tried again.
const DISK_BACKOFF: Duration = Duration::from_secs(2);
/// Each further wait before a retry is so many times as long.
const BACKOFF_GROWTH: u32 = 4;
/// It grows at most so often.
const BACKOFF_GROWTHS_MAX: u32 = 6;
/// Memories that a model is shown beside a part of a conversation.
const RESEMBLING_MAX: usize = 8;
/// Characters of the part that they are looked for with.
const RESEMBLING_CHARS_MAX: usize = 2000;
pub(super) fn run(service: &Arc<Service>) {
    while let Some(assignment) = service.queue.next() {
        match service.store.queue_entry(assignment.key.id, assignment.id) {
            // Gone with its namespace, or acknowledged with another write, meanwhile.
            Ok(None) => leave(service, &assignment),
            Ok(Some(entry)) => work(service, &assignment, entry),
            Err(error @ StorageError::Corrupt { .. }) => {
                tracing::error!(message = %assignment.id, %error, "a queue entry cannot be decoded and is set aside");
                match service.store.set_entry_aside(assignment.key.id, assignment.id) {
                    Ok(()) => leave(service, &assignment),
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

/// A message is done with, one way or another.
fn leave(service: &Service, assignment: &Assignment) {
    service.pending.release(assignment.key.id, assignment.id);
    service.queue.finish(assignment);
}

fn work(service: &Service, assignment: &Assignment, entry: QueueEntry) {
    // Milliseconds are what the API returns; the file says the same.
    let now = Timestamp::now().round(jiff::Unit::Millisecond).unwrap_or_else(|_| Timestamp::now());
    let began = Instant::now();
    let traced = service.config.collector.is_some();
    let _entered = telemetry::ingestion_span(traced, &entry.id.to_string(), entry.work.kind()).entered();
    if service.waited_ms(&entry) > RETENTION_MS {
        let failure = Error::internal("it was not ingested within four days of running time");
        service.metrics.ingested(bury(service, assignment, &entry, now, &failure), began.elapsed());
        return;
    }
    if outage::needs_model(service, &entry) && !outage::admits(service, assignment, now) {
        return;
    }
    // A text that makes the extractor panic must not stop the service, nor come back at every start.
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ingest(service, &entry, now)));
    let outcome = match caught.unwrap_or_else(|_| Err(Error::internal("ingestion panicked"))) {
        Ok(()) => {
            leave(service, assignment);
            tidy(service, assignment);
            IngestionOutcome::Done
        }
        Err(_) if service.queue.is_stopping() => {
            // It may have been left half way for that; it is still queued, and begun again at the next start.
            tracing::info!(message = %entry.id, "left for the next start");
            return;
        }
        Err(failure) => match outage::wait_for_model(service, assignment, now, &failure) {
            Some(waiting) => waiting,
            None => fail(service, assignment, entry, now, &failure),
        },
    };
    service.metrics.ingested(outcome, began.elapsed());
}

/// Joins the packs of a namespace that was written to.
fn tidy(service: &Service, assignment: &Assignment) {
    if let Ok(namespace) = service.namespaces.lease_key(&assignment.key)
        && let Err(error) = namespace.tidy()
    {
        tracing::error!(%error, "joining packs failed; it is tried again with the next write");
    }
}

/// A try failed: the message waits for the disk, is tried again later, or dies. The log holds the kind of the failure and
/// the message's id; what a client sent may stand in the failure itself, which goes into the dead letter alone.
fn fail(
    service: &Service,
    assignment: &Assignment,
    mut entry: QueueEntry,
    now: Timestamp,
    failure: &Error,
) -> IngestionOutcome {
    if failure.passes() || matches!(failure, Error::DamagedNamespace(_)) {
        // Nothing is wrong with the message: it waits, however long that takes.
        tracing::error!(message = %entry.id, failure = failure.code(), "ingestion waits for the disk");
        service.queue.retry(assignment, DISK_BACKOFF);
        return IngestionOutcome::Waiting;
    }
    entry.failures += 1;
    tracing::warn!(message = %entry.id, failures = entry.failures, failure = failure.code(), "ingestion failed");
    // What is in git is not lost and must not be done again: only its index entry is missing, so it never dies.
    if entry.failures > service.config.ingestion_retries && !is_committed(service, assignment) {
        return bury(service, assignment, &entry, now, failure);
    }
    let growths = (entry.failures - 1).min(BACKOFF_GROWTHS_MAX);
    let wait = service.config.ingestion_backoff * BACKOFF_GROWTH.saturating_pow(growths);
    match service.store.record_failure(&entry) {
        Ok(true) => service.queue.retry(assignment, wait),
        // Its namespace was deleted.
        Ok(false) => leave(service, assignment),
        Err(error) => {
            tracing::error!(message = %entry.id, %error, "a failed write could not be noted; it is tried again");
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
    failure: &Error,
) -> IngestionOutcome {
    let letter = DeadLetter::of(entry, now.as_millisecond(), service.running_ms(), failure.to_string());
    match service.store.bury(&letter, entry) {
        // Where it is gone its namespace was deleted.
        Ok(_) => leave(service, assignment),
        Err(error) => {
            tracing::error!(message = %entry.id, %error, "a failed write could not be noted; it is tried again");
            service.queue.retry(assignment, UNREADABLE_BACKOFF);
            return IngestionOutcome::Waiting;
        }
    }
    IngestionOutcome::Buried
}

fn ingest(service: &Service, entry: &QueueEntry, now: Timestamp) -> Result<()> {
    let namespace = match service.namespaces.lease_key(&NamespaceKey::of_entry(entry)) {
        // Deleted meanwhile.
        Err(Error::NotFound { .. }) => return Ok(service.store.drop_entry(entry.namespace_id, entry.id)?),
        leased => leased?,
    };
    let until = Instant::now() + service.config.ingestion_timeout;
    let outcome = match &entry.work {
        QueuedWork::Conversation { request } => {
            let conversation: Conversation = read(request)?;
            let origin = Origin { write: entry.id, conversation: &conversation };
            let accepted_at = Timestamp::from_millisecond(entry.accepted_at_ms).map_err(Error::internal)?;
            let prepare = |drafts: &mut dyn Iterator<Item = &Draft>| {
                let texts: Vec<String> = drafts.flat_map(|draft| draft.cues.iter().cloned()).collect();
                namespace.prepare(&texts, service.models.write_deadline().at_most(until));
            };
            match service.models.chat() {
                // What is committed needs no extraction, only its index entry.
                Some(chat) if !namespace.is_committed(entry.id) => {
                    let resembling = |text: &str| resembling(service, entry, text);
                    let reading = Reading {
                        chat,
                        conversation: &conversation,
                        accepted_at,
                        vocabulary: &namespace.vocabulary(),
                        resembling: &resembling,
                        call_time: service.models.chat_time(),
                        until,
                        stopping: &|| service.queue.is_stopping(),
                        answered: Cell::new(false),
                    };
                    let extraction = model_extract::extract(&reading);
                    outage::note_answer(service, reading.answered.get(), &extraction);
                    let extraction = extraction?;
                    prepare(&mut extraction.operations.iter().filter_map(Operation::draft));
                    in_time(until)?;
                    let plan = |context: &mut PlanContext<'_>| carry_out(context, origin, &extraction, now);
                    namespace.ingest(entry, now, plan)
                }
                _ => {
                    let stopping = || service.queue.is_stopping();
                    let steps = Steps::until(until).or_when(&stopping);
                    let drafts = extract::extract(&conversation, accepted_at, &steps)?;
                    prepare(&mut drafts.iter());
                    in_time(until)?;
                    namespace.ingest(entry, now, |context| remember::remember(context, origin, &drafts, now))
                }
            }
        }
        QueuedWork::Forget { paths } => namespace.ingest(entry, now, |context| direct::forget(context, paths)),
        QueuedWork::Teach { request } => {
            let terms: Vec<TermDraft> = read(request)?;
            namespace.ingest(entry, now, |context| vocabulary::teach(context, &terms))
        }
        QueuedWork::ForgetTerms { terms } => namespace.ingest(entry, now, |context| vocabulary::forget(context, terms)),
        QueuedWork::Skills { request } => {
            let skills: Vec<SkillDraft> = read(request)?;
            let texts: Vec<String> = skills.iter().flat_map(SkillDraft::cue_texts).collect();
            namespace.prepare(&texts, service.models.write_deadline());
            namespace.ingest(entry, now, |context| skills::store(context, &skills, now))
        }
        QueuedWork::Reextract { source } => reextract(service, &namespace, entry, *source, now, until),
        _ => Err(Error::internal("a kind of work that this version does not know")),
    };
    match outcome {
        Err(Error::NotFound { .. }) => Ok(service.store.drop_entry(entry.namespace_id, entry.id)?),
        outcome => outcome,
    }
}

/// The memories that say something like a text.
fn resembling(service: &Service, entry: &QueueEntry, text: &str) -> Vec<KnownMemory> {
    let text = text.chars().take(RESEMBLING_CHARS_MAX).collect();
    let request = Retrieve { query: Some(text), limit: RESEMBLING_MAX, ..Retrieve::default() };
    let found = service.find(&entry.account, &entry.namespace, &request);
    let found = found.inspect_err(|error| {
        tracing::warn!(message = %entry.id, failure = error.code(), "looking for memories that resemble failed");
    });
    let known = |hit: Found| KnownMemory {
        path: hit.memory.path,
        text: hit.memory.content,
        occurred_at: hit.memory.occurred.and_then(format_ms),
    };
    found.map(|found| found.hits.into_iter().map(known).collect()).unwrap_or_default()
}

/// A write that takes too long has failed, as long as nothing of it is there.
fn in_time(until: Instant) -> Result<()> {
    if Instant::now() < until { Ok(()) } else { Err(Error::internal("it took longer than a write may take")) }
}

/// A request as it was accepted.
fn read<T: DeserializeOwned>(request: &Value) -> Result<T> {
    // What the request holds must not stand in an error.
    T::deserialize(request).map_err(|_| Error::internal("an accepted request cannot be read"))
}
