//! How a worker handles a write while the chat model does not answer: the write waits, its attempts are not used up,
//! and requests to forget that are queued behind it are ingested.
//!
//! [`hold`](crate::queue::hold) decides when which write is tried. An outage of the embedding model holds no writes:
//! memories are committed without vectors, which are computed later.

use std::ops::RangeInclusive;
use std::time::Duration;

use cuebase_storage::records::{QueueEntry, QueuedWork};
use jiff::Timestamp;

use super::ingestion_shared::Ingestion;
use crate::error::{Error, Result};
use crate::ingest::direct;
use crate::metrics::IngestionOutcome;
use crate::model::{Deadline, ModelError};
use crate::queue::hold::{Cause, FailedCall, Verdict};
use crate::queue::order::Assignment;
use crate::service::peers::PeerTopic;

/// The HTTP status of an endpoint that limits the rate of calls.
const RATE_LIMITED: u16 = 429;
/// The HTTP statuses of an endpoint that fails, which a write can cause.
const SERVER_ERRORS: RangeInclusive<u16> = 500..=599;
/// Time limit of a test call.
const TEST_TIME: Duration = Duration::from_secs(10);

/// Whether a write cannot be ingested without the chat model.
pub(super) fn needs_model(ingestion: &Ingestion, entry: &QueueEntry) -> bool {
    let is_extraction = matches!(entry.work, QueuedWork::Conversation { .. } | QueuedWork::Reextract { .. });
    is_extraction && ingestion.models.chat().is_some()
}

/// Whether a write may be ingested now. Otherwise its namespace is held, and the worker must take other work.
pub(super) fn admits(ingestion: &Ingestion, assignment: &Assignment, now: Timestamp) -> bool {
    if ingestion.queue.may_call_model(assignment, ingestion.settings.ingestion.backoff) {
        return true;
    }
    ingest_forget_requests(ingestion, assignment, now);
    ingestion.queue.hold(assignment);
    false
}

/// Makes a write wait after the chat model did not answer. Returns `None` if the error counts as the write's own.
pub(super) fn wait_for_model(
    ingestion: &Ingestion,
    assignment: &Assignment,
    now: Timestamp,
    error: &Error,
) -> Option<IngestionOutcome> {
    let Error::ModelOutage { status, retry_after, .. } = error else { return None };
    ingest_forget_requests(ingestion, assignment, now);
    if status.is_some_and(|status| SERVER_ERRORS.contains(&status)) && answers_elsewhere(ingestion, assignment) {
        log_end(ingestion.queue.model_answered());
    }
    let cause = if *status == Some(RATE_LIMITED) { Cause::RateLimit } else { Cause::Other };
    let call = FailedCall { cause, retry_after: *retry_after };
    match ingestion.queue.model_failed(assignment, ingestion.settings.ingestion.backoff, call) {
        Verdict::Own => return None,
        Verdict::Held => tracing::debug!(message = %assignment.id, status, "a write waits for the chat model"),
        Verdict::Began => log_outage(ingestion, *status),
    }
    Some(IngestionOutcome::Waiting)
}

fn log_outage(ingestion: &Ingestion, status: Option<u16>) {
    let Some(chat) = ingestion.models.chat() else { return };
    tracing::warn!(
        model = chat.name(),
        url = chat.endpoint().url(),
        status,
        advice = advice(status),
        "the chat model does not answer: conversations wait until it does, and none is lost"
    );
}

/// Ends the outage if the model answered a write, even with an unusable answer.
pub(super) fn end_if_answered<T>(ingestion: &Ingestion, answered: bool, extracted: &Result<T, ModelError>) {
    if !answered || extracted.as_ref().is_err_and(ModelError::is_outage) {
        return;
    }
    ingestion.answers.count();
    log_end(ingestion.queue.model_answered());
}

/// Logs the end of an outage that lasted for a time.
fn log_end(lasted: Option<Duration>) {
    if let Some(lasted) = lasted {
        tracing::info!(?lasted, "the chat model answers again: waiting conversations are ingested");
    }
}

/// Whether the chat model answered writes of other nodes since the last call, and answers a test call of this node. If
/// a node owns few namespaces, all its writes that need the model may wait behind one that breaks it. The test call is
/// needed because each node may have a model of its own at the same URL. False in a process that is alone.
fn answers_elsewhere(ingestion: &Ingestion, assignment: &Assignment) -> bool {
    let Some(chat) = ingestion.models.chat() else { return false };
    let peers = ingestion.reads.peers();
    if peers.is_alone() {
        return false;
    }
    let Ok(answers) = peers.ask_all::<u64>(&assignment.key.account, PeerTopic::AnsweredWrites) else { return false };
    // A node that cannot be reached is left out.
    let answered_writes: u64 = answers.into_values().flatten().sum();
    if !ingestion.answers.have_grown_elsewhere(answered_writes) {
        return false;
    }
    let tested = chat.test(Deadline::background(TEST_TIME.min(ingestion.models.chat_time())));
    !tested.as_ref().is_err_and(ModelError::is_outage)
}

/// Returns what the operator can check.
fn advice(status: Option<u16>) -> &'static str {
    match status {
        None => "check that the model runs at model.base_url and can be reached from here",
        Some(401 | 403) => "the endpoint refuses model.api_key, or the key may not use model.chat",
        Some(402) => "the provider reports that the account has no credit",
        Some(300..=399 | 404 | 405 | 407 | 410) => "check model.base_url and model.chat; `cuebase models` calls them",
        Some(429) => "the endpoint limits the rate of calls, or the account's quota is used up",
        Some(_) => "the endpoint fails or is overloaded",
    }
}

/// Ingests the requests to forget that are queued behind a waiting write. Writes accepted before such a request can no
/// longer write its paths, so the result is the same as in the order of acceptance.
fn ingest_forget_requests(ingestion: &Ingestion, assignment: &Assignment, now: Timestamp) {
    for message in ingestion.pending.forget_requests(assignment.key.id) {
        if ingestion.queue.is_stopping() {
            return;
        }
        let forgotten = match ingestion.store.queue_entry(&assignment.key, message) {
            Ok(Some(entry)) => forget(ingestion, assignment, &entry, now),
            // Acknowledged together with another write.
            Ok(None) => Ok(()),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = forgotten {
            // A worker tries the request again in the order of the queue, with its usual retries.
            tracing::warn!(%message, failure = error.code(), "a request to forget could not be ingested early");
            return;
        }
        ingestion.queue.remove(assignment, message);
        ingestion.pending.release(assignment.key.id, message);
    }
}

fn forget(ingestion: &Ingestion, assignment: &Assignment, entry: &QueueEntry, now: Timestamp) -> Result<()> {
    let QueuedWork::Forget { paths } = &entry.work else { return Ok(()) };
    let namespace = ingestion.namespaces.lease_key(&assignment.key)?;
    namespace.block_older_writes(entry.id, paths)?;
    namespace.ingest(entry, now, |context| direct::forget(context, paths))
}
