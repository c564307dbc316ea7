//! `/v1/queue` and `/v1/dead-letters`: writes that wait for ingestion, and writes that failed permanently.

use cuebase_storage::MessageId;
use cuebase_storage::records::{DeadLetter, UnreadableRecord};
use serde_json::{Value, json};

use super::node_queue::NodeQueue;
use super::query::QueryString;
use super::reply::Reply;
use super::request::AuthenticatedRequest;
use super::views::queue::{DeadLetterView, DroppedLetterView, JobView, QueueView, RetriedLetterView};
use crate::error::Result;
use crate::error_codes::ErrorCode;
use crate::memory::time::format_ms;
use crate::service::dead_letters::message_id;

/// Dead letters in a page when no limit is given.
const LETTERS_DEFAULT: usize = 200;
/// Most dead letters in a page.
const LETTERS_MAX: usize = 1000;

/// The query of `GET /v1/queue`.
struct ShowQuery {
    /// Dead letters in the page.
    limit: usize,
    /// The id at which the previous page ended.
    after: Option<MessageId>,
}

impl ShowQuery {
    fn of(query: &QueryString) -> Result<Self> {
        let limit = query.number("limit", 1..=LETTERS_MAX, ErrorCode::InvalidLimit)?.unwrap_or(LETTERS_DEFAULT);
        let after = match query.last("after") {
            Some(id) => Some(message_id(id)?),
            None => None,
        };
        Ok(Self { limit, after })
    }
}

/// `GET /v1/queue`: the queue of the account, and the jobs of the server, or of all nodes. Dead letters come in pages.
pub fn show(request: &AuthenticatedRequest) -> Result<Reply> {
    let ShowQuery { limit, after } = ShowQuery::of(&request.query)?;
    let queue = NodeQueue::of_all_nodes(&request.app, request.account())?;
    // One letter beyond the page shows whether there is another page.
    let mut letters = request.app.intake.dead_letters(request.account(), after, limit + 1)?;
    let has_next_page = letters.len() > limit;
    letters.truncate(limit);
    let next = match letters.last() {
        Some(last) if has_next_page => Some(last.id),
        _ => None,
    };
    Reply::ok(&QueueView {
        waiting: queue.waiting,
        vectors_waiting: queue.vectors_waiting,
        waiting_since: queue.oldest.and_then(accepted_at),
        model_unavailable_since: queue.outage_since_ms.and_then(format_ms),
        dead_letters: letters.iter().map(DeadLetterView::of).collect(),
        jobs: queue.jobs.iter().map(JobView::of).collect(),
        next,
    })
}

/// Returns the time at which a message was accepted, which its id holds.
fn accepted_at(id: MessageId) -> Option<String> {
    format_ms(id.timestamp_ms().try_into().unwrap_or(i64::MAX))
}

/// `POST /v1/dead-letters/{id}/retry`.
pub fn retry(request: &AuthenticatedRequest) -> Result<Reply> {
    let id = request.parameter(0);
    request.app.intake.retry_dead_letter(Some(request.account()), id)?;
    Reply::ok(&RetriedLetterView { id, retried: true })
}

/// `DELETE /v1/dead-letters/{id}`.
pub fn drop_letter(request: &AuthenticatedRequest) -> Result<Reply> {
    let id = request.parameter(0);
    request.app.intake.drop_dead_letter(Some(request.account()), id)?;
    Reply::ok(&DroppedLetterView { id, dropped: true })
}

/// Makes the JSON of a dead letter in a list, for the command line.
pub fn dead_letter_json(letter: &DeadLetter) -> Value {
    json!(DeadLetterView::of(letter))
}

/// Makes the JSON of a record that cannot be decoded, in a list of dead letters.
pub fn unreadable_json(record: &UnreadableRecord) -> Value {
    let reason = format!("a record of {} bytes in {} cannot be decoded", record.bytes, record.column);
    json!({"id": record.id.map(|id| id.to_string()), "account": null, "namespace": null, "reason": reason})
}
