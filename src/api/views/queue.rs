//! Responses of `/v1/queue` and `/v1/dead-letters`.

use cuebase_storage::records::DeadLetter;
use cuebase_storage::{MessageId, NamespaceName};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::node_queue::JobLevels;
use crate::api::schema::values;
use crate::jobs::JobState;
use crate::memory::time::format_ms;

/// A minute, in milliseconds.
const MINUTE_MS: i64 = 60_000;

/// The response of `GET /v1/queue`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueueView<'a> {
    /// Number of writes in the queue.
    pub waiting: usize,
    /// Number of memories that wait for their vectors, and are found by their words until then. Absent unless the embedding
    /// model computes vectors in the background (`model.builtin = encoder`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub vectors_waiting: Option<u64>,
    /// Time at which the oldest of them was accepted.
    #[schemars(with = "Option<values::Time>")]
    pub waiting_since: Option<String>,
    /// Start of the current outage of the chat model, for which conversations wait. Absent while the model responds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "values::Time")]
    pub model_unavailable_since: Option<String>,
    /// The writes that failed permanently, oldest first.
    pub dead_letters: Vec<DeadLetterView<'a>>,
    /// The background jobs of the server, which work for all accounts.
    pub jobs: Vec<JobView<'a>>,
    /// Id to send as `after` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "values::Id")]
    pub next: Option<MessageId>,
}

/// A background job of the server.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Job")]
pub struct JobView<'a> {
    /// Name of the job.
    pub name: &'static str,
    /// `active`, or `backing_off` after a failure.
    pub state: &'static str,
    /// Start of the last run, to the minute. Null before the first one.
    #[schemars(with = "Option<values::Time>")]
    pub last_run_at: Option<String>,
    /// Number of runs that failed since the start of the server.
    pub failures: u64,
    /// Code of the last failure. Null if there was none.
    pub last_error: Option<&'a str>,
}

impl<'a> JobView<'a> {
    /// Makes the view of a job. Jobs work for all accounts, and an account must not learn when another one writes. So the
    /// view does not show whether the job runs at the moment, and shows the time of its last run to the minute.
    pub(in crate::api) fn of(job: &'a JobLevels) -> Self {
        let last_run_at = match job.last_run_ms {
            Some(at_ms) => format_ms(at_ms / MINUTE_MS * MINUTE_MS),
            None => None,
        };
        Self {
            name: job.name.as_str(),
            state: match job.state {
                JobState::Waiting | JobState::Running => "active",
                JobState::BackingOff => "backing_off",
            },
            last_run_at,
            failures: job.failures,
            last_error: job.last_error.as_ref().map(|error| error.code.as_str()),
        }
    }
}

/// A write that failed permanently.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DeadLetter")]
pub struct DeadLetterView<'a> {
    /// Id of the write.
    #[schemars(with = "values::Id")]
    pub id: MessageId,
    /// Namespace of the write.
    #[schemars(with = "values::Name")]
    pub namespace: &'a NamespaceName,
    /// Time of acceptance.
    #[schemars(with = "values::Time")]
    pub accepted_at: Option<String>,
    /// Time of the last failure.
    #[schemars(with = "values::Time")]
    pub died_at: Option<String>,
    /// Number of attempts that failed.
    pub failures: u32,
    /// Reason of the last failure.
    pub reason: &'a str,
}

impl<'a> DeadLetterView<'a> {
    /// Makes the view of a record.
    pub fn of(letter: &'a DeadLetter) -> Self {
        Self {
            id: letter.id,
            namespace: &letter.namespace,
            accepted_at: format_ms(letter.accepted_at_ms),
            died_at: format_ms(letter.died_at_ms),
            failures: letter.failures,
            reason: &letter.reason,
        }
    }
}

/// The response of `POST /v1/dead-letters/{id}/retry`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RetriedLetterView<'a> {
    /// Id of the write.
    #[schemars(with = "values::Id")]
    pub id: &'a str,
    /// Always true.
    #[schemars(extend("const" = true))]
    pub retried: bool,
}

/// The response of `DELETE /v1/dead-letters/{id}`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DroppedLetterView<'a> {
    /// Id of the write.
    #[schemars(with = "values::Id")]
    pub id: &'a str,
    /// Always true.
    #[schemars(extend("const" = true))]
    pub dropped: bool,
}
