//! `/v1/queue` and `/v1/dead-letters`: what waits, and what failed for good.

use cuebase_storage::records::DeadLetter;
use serde_json::{Value, json};

use super::{Call, Reply};
use crate::service::Outcome;
use crate::time::format_ms;

/// `GET /v1/queue`: the account's own.
pub fn show(call: &Call) -> Outcome<Reply> {
    let waiting = call.service.queue.of_account(call.account());
    let letters = call.service.dead_letters(call.account())?;
    Reply::ok(&json!({
        "waiting": waiting.messages,
        "waiting_since": waiting.oldest.and_then(|id| format_ms(id.timestamp_ms().try_into().unwrap_or(i64::MAX))),
        "dead_letters": letters.iter().map(dead_letter).collect::<Vec<_>>(),
    }))
}

/// `POST /v1/dead-letters/{id}/retry`.
pub fn retry(call: &Call) -> Outcome<Reply> {
    let id = call.parameter(0);
    call.service.retry_dead_letter(Some(call.account()), id)?;
    Reply::ok(&json!({"id": id, "retried": true}))
}

/// `DELETE /v1/dead-letters/{id}`.
pub fn drop_letter(call: &Call) -> Outcome<Reply> {
    let id = call.parameter(0);
    call.service.drop_dead_letter(Some(call.account()), id)?;
    Reply::ok(&json!({"id": id, "dropped": true}))
}

/// A dead letter in a listing.
pub fn dead_letter(letter: &DeadLetter) -> Value {
    json!({
        "id": letter.entry.id.to_string(),
        "namespace": letter.entry.namespace,
        "accepted_at": format_ms(letter.entry.accepted_at_ms),
        "died_at": format_ms(letter.died_at_ms),
        "failures": letter.entry.failures,
        "reason": letter.reason,
    })
}
