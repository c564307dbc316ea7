//! How a worker handles a write while the chat model does not answer: the write waits, its attempts are not used up,
//! and requests to forget that are queued behind it are ingested.
//!
//! [`hold`](crate::queue::hold) decides when which write is tried. An outage of the embedding model holds no writes:
//! memories are committed without vectors, which are computed later.

use cuebase_storage::records::{QueueEntry, QueuedWork};
use jiff::Timestamp;

use super::ingestion_shared::Ingestion;
use crate::error::{Error, Result};
use crate::ingest::direct;
use crate::metrics::IngestionOutcome;
use crate::model::ModelError;
use crate::queue::dispatch::Assignment;
use crate::queue::hold::{Cause, FailedCall, Verdict};

/// The HTTP status of an endpoint that limits the rate of calls.
const RATE_LIMITED: u16 = 429;

/// Whether a write cannot be ingested without the chat model.
pub(super) fn needs_model(ingestion: &Ingestion, entry: &QueueEntry) -> bool {
    let is_extraction = matches!(entry.work, QueuedWork::Conversation { .. } | QueuedWork::Reextract { .. });
    is_extraction && ingestion.models.chat().is_some()
}

/// Whether a write may be ingested now. Otherwise its namespace is held, and the worker must take other work.
pub(super) fn admits(ingestion: &Ingestion, assignment: &Assignment, now: Timestamp) -> bool {
    if ingestion.queue.may_call_model(assignment, ingestion.settings.backoff) {
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
    let cause = if *status == Some(RATE_LIMITED) { Cause::RateLimit } else { Cause::Other };
    let call = FailedCall { cause, retry_after: *retry_after };
    match ingestion.queue.model_failed(assignment, ingestion.settings.backoff, call) {
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
    if let Some(lasted) = ingestion.queue.model_answered() {
        tracing::info!(?lasted, "the chat model answers again: waiting conversations are ingested");
    }
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
