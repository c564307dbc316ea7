//! The ingestion workers: threads that take a message from the queue to a namespace's head.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cuebase_storage::records::{DeadLetter, QueueEntry, QueuedWork};
use jiff::Timestamp;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::conversation::Conversation;
use super::extract::Draft;
use super::model_extract::plan::carry_out;
use super::model_extract::{Known, Operation, Reading};
use super::queue::Assignment;
use super::skills::{self, SkillDraft};
use super::vocabulary::{self, TermDraft};
use super::{direct, extract, files, model_extract};
use crate::metrics::Ingested;
use crate::service::namespace::plan::Desk;
use crate::service::retrieval::{Found, Retrieve};
use crate::service::{Failure, Outcome, Service};
use crate::telemetry;
use crate::time::format_ms;

/// A message that was not processed for so long is dropped: 4 days.
const RETENTION_MS: i64 = 4 * 24 * 60 * 60 * 1000;
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
/// How often it is noted how much models were called, and packs are removed that joined ones have replaced.
const NOTE_INTERVAL: Duration = Duration::from_secs(60);
/// After so many of those, what is old is swept out and wallets are settled: every hour.
const NOTES_PER_SWEEP: u32 = 60;

/// Running workers.
pub struct Workers {
    service: Arc<Service>,
    threads: Vec<JoinHandle<()>>,
    sweeper: std::sync::mpsc::Sender<()>,
}

impl Workers {
    /// Starts the workers that the configuration asks for.
    pub fn start(service: &Arc<Service>) -> std::io::Result<Self> {
        let mut threads = Vec::new();
        for number in 0..service.config.ingestion_workers.max(1) {
            let service = Arc::clone(service);
            let thread = std::thread::Builder::new().name(format!("ingest-{number}"));
            threads.push(thread.spawn(move || run(&service))?);
        }
        let (sweeper, stopped) = std::sync::mpsc::channel::<()>();
        let sweeping = Arc::clone(service);
        let renewing = Arc::clone(service);
        let renewal = std::thread::Builder::new().name("vectors".into());
        // Not waited for when the service ends: it may be asking a model that hangs, and all that it makes is derived.
        renewal.spawn(move || renewing.keep_vectors_up_to_date())?;
        threads.push(std::thread::Builder::new().name("sweep".into()).spawn(move || {
            let mut notes = 0u32;
            while stopped.recv_timeout(NOTE_INTERVAL) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                if let Err(error) = sweeping.models.note_calls() {
                    tracing::error!(%error, "calls of models could not be noted");
                }
                sweeping.namespaces.sweep();
                notes += 1;
                if !notes.is_multiple_of(NOTES_PER_SWEEP) {
                    continue;
                }
                let swept =
                    sweeping.purge().and_then(|_| sweeping.sweep_media()).and_then(|_| sweeping.sweep_vectors());
                if let Err(error) = swept {
                    tracing::error!(%error, "sweeping out what is old failed");
                }
                sweeping.mirror_all();
            }
        })?);
        Ok(Self { service: Arc::clone(service), threads, sweeper })
    }

    /// Lets every worker finish the message at hand and ends them. What is still queued is durable and goes on at the
    /// next start.
    pub fn drain(self) {
        self.service.queue.stop();
        self.service.backlog.stop();
        drop(self.sweeper);
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("an ingestion worker panicked");
            }
        }
        if let Err(error) = self.service.models.note_calls() {
            tracing::error!(%error, "calls of models could not be noted");
        }
    }
}

fn run(service: &Arc<Service>) {
    while let Some(assignment) = service.queue.next() {
        match service.store.queue_entry(assignment.id) {
            // Dropped with its namespace, or acknowledged with a later write, meanwhile.
            Ok(None) => {
                service.promises.keep(&assignment.key, assignment.id);
                service.queue.finish(&assignment);
            }
            Ok(Some(entry)) => work(service, &assignment, entry),
            Err(error) => {
                tracing::error!(message = %assignment.id, %error, "a queue entry cannot be read");
                service.queue.retry(&assignment, UNREADABLE_BACKOFF);
            }
        }
    }
}

fn work(service: &Service, assignment: &Assignment, mut entry: QueueEntry) {
    // Milliseconds are what the API tells; the file says the same.
    let now = Timestamp::now().round(jiff::Unit::Millisecond).unwrap_or_else(|_| Timestamp::now());
    let began = Instant::now();
    let tell = |outcome| service.metrics.ingested(outcome, began.elapsed());
    let traced = service.config.collector.is_some();
    let _entered = telemetry::ingestion_span(traced, &entry.id.to_string(), entry.work.kind()).entered();
    let outcome = if service.queue.waited_ms(&entry) > RETENTION_MS {
        tell(Ingested::Dropped);
        tracing::error!(message = %entry.id, "dropped: not processed within 4 days");
        service.store.drop_entry(entry.id).map_err(Failure::from)
    } else {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ingest(service, &entry, now)));
        // A text that makes the extractor panic must not stop the service, nor come back at every start.
        caught.unwrap_or_else(|_| Err(Failure::internal("ingestion panicked")))
    };
    let Err(failure) = outcome else {
        tell(Ingested::Done);
        service.queue.finish(assignment);
        service.promises.keep(&assignment.key, assignment.id);
        if let Ok(namespace) = service.namespaces.lease(&entry.account, &entry.namespace)
            && let Err(error) = namespace.tidy()
        {
            tracing::error!(%error, "joining packs failed; it is tried again with the next write");
        }
        return;
    };
    if service.queue.is_stopping() {
        // It may have been left half way for that; it is still queued, and begun anew at the next start.
        tracing::info!(message = %entry.id, "left for the next start");
        return;
    }
    if failure.passes() {
        // Nothing is wrong with the message: it waits, however long that takes.
        tell(Ingested::Waiting);
        tracing::error!(message = %entry.id, error = %failure, "ingestion waits for the disk");
        service.queue.retry(assignment, DISK_BACKOFF);
        return;
    }
    entry.failures += 1;
    tracing::warn!(message = %entry.id, failures = entry.failures, error = %failure, "ingestion failed");
    // What is in git is not lost and must not be done again: only its index entry is missing, so it never dies.
    let committed = || {
        let namespace = service.namespaces.lease(&entry.account, &entry.namespace);
        namespace.is_ok_and(|namespace| namespace.is_committed(entry.id))
    };
    let kept = if entry.failures > service.config.ingestion_retries && !committed() {
        tell(Ingested::Buried);
        let reason = failure.to_string();
        let letter = DeadLetter { entry: entry.clone(), died_at_ms: now.as_millisecond(), reason };
        service.store.bury(&letter).map(|()| {
            service.promises.keep(&assignment.key, assignment.id);
            service.queue.finish(assignment);
        })
    } else {
        tell(Ingested::Failed);
        let wait = service.config.ingestion_backoff
            * BACKOFF_GROWTH.saturating_pow((entry.failures - 1).min(BACKOFF_GROWTHS_MAX));
        service.store.note_failure(&entry).map(|()| service.queue.retry(assignment, wait))
    };
    if let Err(error) = kept {
        tracing::error!(message = %entry.id, %error, "a failed write could not be noted; it is tried again");
        service.queue.retry(assignment, UNREADABLE_BACKOFF);
    }
}

fn ingest(service: &Service, entry: &QueueEntry, now: Timestamp) -> Outcome<()> {
    let namespace = match service.namespaces.lease(&entry.account, &entry.namespace) {
        // Deleted meanwhile: what was queued for it must not reach a later one of the same name.
        Err(Failure::NotFound { .. }) => return Ok(service.store.drop_entry(entry.id)?),
        leased => leased?,
    };
    let until = Instant::now() + service.config.ingestion_timeout;
    let outcome = match &entry.work {
        QueuedWork::Conversation { request } => {
            let conversation: Conversation = read(request)?;
            let accepted_at = Timestamp::from_millisecond(entry.accepted_at_ms).map_err(Failure::internal)?;
            let prepare = |drafts: &mut dyn Iterator<Item = &Draft>| {
                let texts: Vec<String> = drafts.flat_map(|draft| draft.cues.iter().cloned()).collect();
                namespace.prepare(&texts, service.models.write_patience().at_most(until));
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
                    };
                    let extraction = model_extract::extract(&reading)?;
                    prepare(&mut extraction.operations.iter().filter_map(Operation::draft));
                    in_time(until)?;
                    let plan = |desk: &mut Desk<'_>| carry_out(desk, &conversation, &extraction, now);
                    namespace.ingest(entry.id, now, plan)
                }
                _ => {
                    let drafts = extract::extract(&conversation, accepted_at);
                    prepare(&mut drafts.iter());
                    in_time(until)?;
                    namespace.ingest(entry.id, now, |desk| files::remember(desk, &conversation, &drafts, now))
                }
            }
        }
        QueuedWork::Forget { paths } => namespace.ingest(entry.id, now, |desk| direct::forget(desk, paths)),
        QueuedWork::Teach { request } => {
            let terms: Vec<TermDraft> = read(request)?;
            namespace.ingest(entry.id, now, |desk| vocabulary::teach(desk, &terms))
        }
        QueuedWork::ForgetTerms { terms } => namespace.ingest(entry.id, now, |desk| vocabulary::forget(desk, terms)),
        QueuedWork::Skills { request } => {
            let skills: Vec<SkillDraft> = read(request)?;
            let texts: Vec<String> = skills.iter().flat_map(SkillDraft::cue_texts).collect();
            namespace.prepare(&texts, service.models.write_patience());
            namespace.ingest(entry.id, now, |desk| skills::store(desk, &skills, now))
        }
        _ => Err(Failure::internal("a kind of work that this version does not know")),
    };
    match outcome {
        Err(Failure::NotFound { .. }) => Ok(service.store.drop_entry(entry.id)?),
        outcome => outcome,
    }
}

/// The memories that say something like a text.
fn resembling(service: &Service, entry: &QueueEntry, text: &str) -> Vec<Known> {
    let text = text.chars().take(RESEMBLING_CHARS_MAX).collect();
    let request = Retrieve { query: Some(text), limit: RESEMBLING_MAX, ..Retrieve::default() };
    let found = service.find(&entry.account, &entry.namespace, &request);
    let found = found.inspect_err(|error| tracing::warn!(%error, "looking for memories that resemble failed"));
    let known = |hit: Found| Known {
        path: hit.memory.path,
        text: hit.memory.content,
        occurred_at: hit.memory.occurred.and_then(format_ms),
    };
    found.map(|found| found.hits.into_iter().map(known).collect()).unwrap_or_default()
}

/// A write that takes too long has failed, as long as nothing of it is there.
fn in_time(until: Instant) -> Outcome<()> {
    if Instant::now() < until { Ok(()) } else { Err(Failure::internal("it took longer than a write may take")) }
}

/// A request as it was accepted.
fn read<T: DeserializeOwned>(request: &Value) -> Outcome<T> {
    T::deserialize(request).map_err(Failure::internal)
}
