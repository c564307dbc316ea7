//! What a worker does with a write while the chat model does not answer: the write waits, its attempts are not used up,
//! and requests to forget behind it are carried out.
//!
//! [`hold`](crate::queue::hold) decides which write is tried when. An embedding model that does not answer holds nothing: memories
//! are committed without vectors, which follow later.

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

/// Whether a write may be ingested now. Where it may not, its namespace is held and the worker is done with it.
pub(super) fn admits(service: &Service, assignment: &Assignment, now: Timestamp) -> bool {
    if service.queue.admits_to_model(assignment, service.config.ingestion_backoff) {
        return true;
    }
    forget_ahead(service, assignment, now);
    service.queue.hold(assignment);
    false
}

/// Lets a write wait for the model that did not answer. Returns none where the failure is the write's own.
pub(super) fn wait_for_model(
    service: &Service,
    assignment: &Assignment,
    now: Timestamp,
    failure: &Error,
) -> Option<IngestionOutcome> {
    let Error::ModelOutage { status, retry_after, .. } = failure else { return None };
    forget_ahead(service, assignment, now);
    let cause = if *status == Some(RATE_LIMITED) { Cause::RateLimit } else { Cause::Other };
    let call = FailedCall { cause, retry_after: *retry_after };
    match service.queue.model_failed(assignment, service.config.ingestion_backoff, call) {
        Verdict::Own => return None,
        Verdict::Held => tracing::debug!(message = %assignment.id, status, "a write waits for the chat model"),
        Verdict::Began => {
            let chat = service.models.chat();
            let (model, url) = chat.map_or(("", ""), |chat| (chat.name(), chat.endpoint().url()));
            let advice = advice(*status);
            tracing::warn!(
                model,
                url,
                status,
                advice,
                "the chat model does not answer: conversations wait until it does, and none is lost"
            );
        }
    }
    Some(IngestionOutcome::Waiting)
}

/// Ends the outage where the model answered a write, be it with something that cannot be used.
pub(super) fn note_answer<T>(service: &Service, answered: bool, outcome: &Result<T, ModelError>) {
    if !answered || outcome.as_ref().is_err_and(ModelError::is_outage) {
        return;
    }
    if let Some(lasted) = service.queue.model_answered() {
        tracing::info!(?lasted, "the chat model answers again: the conversations that waited are ingested");
    }
}

/// What the operator can do.
fn advice(status: Option<u16>) -> &'static str {
    match status {
        None => "is it running at model.base_url, and can it be reached from here?",
        Some(401 | 403) => "the endpoint refuses model.api_key, or the key may not use model.chat",
        Some(402) => "the account with the provider cannot pay",
        Some(300..=399 | 404 | 405 | 407 | 410) => "check model.base_url and model.chat; `cuebase models` tries them",
        Some(429) => "the endpoint limits the rate, or the account's quota there is used up",
        Some(_) => "the endpoint fails or is overloaded",
    }
}

/// Carries out the requests to forget that are queued behind the write that waits. What was accepted before them cannot
/// bring the paths back: the end is the same as in the order of acceptance.
fn forget_ahead(service: &Service, assignment: &Assignment, now: Timestamp) {
    for message in service.pending.forgets(assignment.key.id) {
        if service.queue.is_stopping() {
            return;
        }
        let forgotten = match service.store.queue_entry(assignment.key.id, message) {
            Ok(Some(entry)) => forget(service, assignment, &entry, now),
            // Acknowledged with another write meanwhile.
            Ok(None) => Ok(()),
            Err(error) => Err(error.into()),
        };
        if let Err(failure) = forgotten {
            // In its turn the request is tried again, with its retries.
            tracing::warn!(%message, failure = failure.code(), "a request to forget could not be carried out ahead");
            return;
        }
        service.queue.take_out(assignment, message);
        service.pending.release(assignment.key.id, message);
    }
}

fn forget(service: &Service, assignment: &Assignment, entry: &QueueEntry, now: Timestamp) -> Result<()> {
    let QueuedWork::Forget { paths } = &entry.work else { return Ok(()) };
    let namespace = service.namespaces.lease_key(&assignment.key)?;
    namespace.close_paths(entry.id, paths)?;
    namespace.ingest(entry, now, |context| direct::forget(context, paths))
}
