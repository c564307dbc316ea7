//! `/v1/queue` and `/v1/dead-letters`: writes that wait for ingestion, and writes that failed permanently.

use cuebase_storage::MessageId;
use cuebase_storage::records::{DeadLetter, UnreadableRecord};
use serde_json::{Value, json};

use super::reply::Reply;
use super::request::AuthenticatedRequest;
use crate::error::Result;
use crate::error_codes::ErrorCode;
use crate::memory::time::format_ms;
use crate::service::dead_letters::message_id;

/// Dead letters in a page when no limit is given.
const LETTERS_DEFAULT: usize = 200;
/// Most dead letters in a page.
const LETTERS_MAX: usize = 1000;

/// `GET /v1/queue`: the queue of the account. Dead letters come in pages.
pub fn show(request: &AuthenticatedRequest) -> Result<Reply> {
    let limit = request.query.number("limit", 1..=LETTERS_MAX, ErrorCode::InvalidLimit)?.unwrap_or(LETTERS_DEFAULT);
    let after = match request.query.last("after") {
        Some(id) => Some(message_id(id)?),
        None => None,
    };
    let waiting = request.service.queue.account_levels(request.account());
    // One letter beyond the page shows whether there is another page.
    let mut letters = request.service.dead_letters(request.account(), after, limit + 1)?;
    let has_next_page = letters.len() > limit;
    letters.truncate(limit);
    let mut body = json!({
        "waiting": waiting.messages,
        "waiting_since": waiting.oldest.and_then(accepted_at),
        "dead_letters": letters.iter().map(dead_letter_json).collect::<Vec<_>>(),
    });
    if let Some(outage) = request.service.queue.outage() {
        body["model_unavailable_since"] = json!(format_ms(outage.since.as_millisecond()));
    }
    if let Some(last) = letters.last()
        && has_next_page
    {
        body["next"] = json!(last.id.to_string());
    }
    Reply::ok(&body)
}

/// Returns the time at which a message was accepted, which its id holds.
fn accepted_at(id: MessageId) -> Option<String> {
    format_ms(id.timestamp_ms().try_into().unwrap_or(i64::MAX))
}

/// `POST /v1/dead-letters/{id}/retry`.
pub fn retry(request: &AuthenticatedRequest) -> Result<Reply> {
    let id = request.parameter(0);
    request.service.retry_dead_letter(Some(request.account()), id)?;
    Reply::ok(&json!({"id": id, "retried": true}))
}

/// `DELETE /v1/dead-letters/{id}`.
pub fn drop_letter(request: &AuthenticatedRequest) -> Result<Reply> {
    let id = request.parameter(0);
    request.service.drop_dead_letter(Some(request.account()), id)?;
    Reply::ok(&json!({"id": id, "dropped": true}))
}

/// Makes the JSON of a dead letter in a list.
pub fn dead_letter_json(letter: &DeadLetter) -> Value {
    json!({
        "id": letter.id.to_string(),
        "namespace": letter.namespace,
        "accepted_at": format_ms(letter.accepted_at_ms),
        "died_at": format_ms(letter.died_at_ms),
        "failures": letter.failures,
        "reason": letter.reason,
    })
}

/// Makes the JSON of a record that cannot be decoded, in a list of dead letters.
pub fn unreadable_json(record: &UnreadableRecord) -> Value {
    let reason = format!("a record of {} bytes in {} cannot be decoded", record.bytes, record.column);
    json!({"id": record.id.map(|id| id.to_string()), "account": null, "namespace": null, "reason": reason})
}
