//! `/v1/queue` and `/v1/dead-letters`: what waits, and what failed for good.

use cuebase_storage::records::{DeadLetter, UnreadableRecord};
use serde_json::{Value, json};

use super::{AuthenticatedRequest, Reply};
use crate::error::Result;
use crate::memory::time::format_ms;
use crate::service::dead_letters::message_id;

/// Dead letters of a page when no limit is given, and at most.
const LETTERS: (usize, usize) = (200, 1000);

/// `GET /v1/queue`: the account's own, dead letters in pages.
pub fn show(call: &AuthenticatedRequest) -> Result<Reply> {
    let limit = call.query.number("limit", 1..=LETTERS.1, "invalid_limit")?.unwrap_or(LETTERS.0);
    let after = call.query.value("after").map(message_id).transpose()?;
    let waiting = call.service.queue.of_account(call.account());
    // One more than is shown says whether there is another page.
    let mut letters = call.service.dead_letters(call.account(), after, limit + 1)?;
    let more = letters.len() > limit;
    letters.truncate(limit);
    let mut body = json!({
        "waiting": waiting.messages,
        "waiting_since": waiting.oldest.and_then(|id| format_ms(id.timestamp_ms().try_into().unwrap_or(i64::MAX))),
        "dead_letters": letters.iter().map(dead_letter).collect::<Vec<_>>(),
    });
    if let Some(outage) = call.service.queue.outage() {
        body["model_unavailable_since"] = json!(format_ms(outage.since.as_millisecond()));
    }
    if let Some(last) = letters.last().filter(|_| more) {
        body["next"] = json!(last.id.to_string());
    }
    Reply::ok(&body)
}

/// `POST /v1/dead-letters/{id}/retry`.
pub fn retry(call: &AuthenticatedRequest) -> Result<Reply> {
    let id = call.parameter(0);
    call.service.retry_dead_letter(Some(call.account()), id)?;
    Reply::ok(&json!({"id": id, "retried": true}))
}

/// `DELETE /v1/dead-letters/{id}`.
pub fn drop_letter(call: &AuthenticatedRequest) -> Result<Reply> {
    let id = call.parameter(0);
    call.service.drop_dead_letter(Some(call.account()), id)?;
    Reply::ok(&json!({"id": id, "dropped": true}))
}

/// A dead letter in a listing.
pub fn dead_letter(letter: &DeadLetter) -> Value {
    json!({
        "id": letter.id.to_string(),
        "namespace": letter.namespace,
        "accepted_at": format_ms(letter.accepted_at_ms),
        "died_at": format_ms(letter.died_at_ms),
        "failures": letter.failures,
        "reason": letter.reason,
    })
}

/// A record that cannot be decoded, in a listing of dead letters.
pub fn unreadable(record: &UnreadableRecord) -> Value {
    let reason = format!("a record of {} bytes in {} cannot be decoded", record.bytes, record.column);
    json!({"id": record.id.map(|id| id.to_string()), "account": null, "namespace": null, "reason": reason})
}
