//! How a worker handles a write while the chat model does not answer: the write waits, its attempts are not used up,
//! and requests to forget that are queued behind it are ingested.
//!
//! [`hold`](crate::queue::hold) decides when which write is tried. An outage of the embedding model holds no writes:
//! memories are committed without vectors, which are computed later.

use cuebase_storage::records::{QueueEntry, QueuedWork};
use jiff::Timestamp;

use crate::error::{Error, Result};
use crate::ingest::direct;
use crate::metrics::IngestionOutcome;
use crate::model::ModelError;
use crate::queue::dispatch::Assignment;
use crate::queue::hold::{Cause, FailedCall, Verdict};
use crate::service::Service;

/// The HTTP status of an endpoint that limits the rate of calls.
const RATE_LIMITED: u16 = 429;

/// Whether a write cannot be ingested without the chat model.
pub(super) fn needs_model(service: &Service, entry: &QueueEntry) -> bool {
    let is_extraction = matches!(entry.work, QueuedWork::Conversation { .. } | QueuedWork::Reextract { .. });
    is_extraction && service.models.chat().is_some()
}

/// Whether a write may be ingested now. Otherwise its namespace is held, and the worker must take other work.
pub(super) fn admits(service: &Service, assignment: &Assignment, now: Timestamp) -> bool {
    if service.queue.may_call_model(assignment, service.config.ingestion.backoff) {
        return true;
    }
    ingest_forget_requests(service, assignment, now);
    service.queue.hold(assignment);
    false
}

/// Makes a write wait after the chat model did not answer. Returns `None` if the error counts as the write's own.
pub(super) fn wait_for_model(
    service: &Service,
    assignment: &Assignment,
    now: Timestamp,
    error: &Error,
) -> Option<IngestionOutcome> {
    let Error::ModelOutage { status, retry_after, .. } = error else { return None };
    ingest_forget_requests(service, assignment, now);
    let cause = if *status == Some(RATE_LIMITED) { Cause::RateLimit } else { Cause::Other };
    let call = FailedCall { cause, retry_after: *retry_after };
    match service.queue.model_failed(assignment, service.config.ingestion.backoff, call) {
        Verdict::Own => return None,
        Verdict::Held => tracing::debug!(message = %assignment.id, status, "a write waits for the chat model"),
        Verdict::Began => log_outage(service, *status),
    }
    Some(IngestionOutcome::Waiting)
}

fn log_outage(service: &Service, status: Option<u16>) {
    let Some(chat) = service.models.chat() else { return };
    tracing::warn!(
        model = chat.name(),
        url = chat.endpoint().url(),
        status,
        advice = advice(status),
        "the chat model does not answer: conversations wait until it does, and none is lost"
    );
}

/// Ends the outage if the model answered a write, even with an unusable answer.
pub(super) fn end_if_answered<T>(service: &Service, answered: bool, extracted: &Result<T, ModelError>) {
    if !answered || extracted.as_ref().is_err_and(ModelError::is_outage) {
        return;
    }
    if let Some(lasted) = service.queue.model_answered() {
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
fn ingest_forget_requests(service: &Service, assignment: &Assignment, now: Timestamp) {
    for message in service.pending.forget_requests(assignment.key.id) {
        if service.queue.is_stopping() {
            return;
        }
        let forgotten = match service.store.queue_entry(assignment.key.id, message) {
            Ok(Some(entry)) => forget(service, assignment, &entry, now),
            // Acknowledged together with another write.
            Ok(None) => Ok(()),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = forgotten {
            // A worker tries the request again in the order of the queue, with its usual retries.
            tracing::warn!(%message, failure = error.code(), "a request to forget could not be ingested early");
            return;
        }
        service.queue.remove(assignment, message);
        service.pending.release(assignment.key.id, message);
    }
}

fn forget(service: &Service, assignment: &Assignment, entry: &QueueEntry, now: Timestamp) -> Result<()> {
    let QueuedWork::Forget { paths } = &entry.work else { return Ok(()) };
    let namespace = service.namespaces.lease_key(&assignment.key)?;
    namespace.block_older_writes(entry.id, paths)?;
    namespace.ingest(entry, now, |context| direct::forget(context, paths))
}
