//! Warnings about times that lie ahead of the server's clock.
//!
//! Such a time is accepted, because a message can be about a planned event. But it is often a mistake, for example
//! milliseconds in place of seconds, so the response names each time that is more than a day ahead. A day allows for
//! time zones and for clients whose clock is ahead.

use cuebase_storage::memory_file::OccurredPrecision;

use super::request::RouteRequest;
use crate::memory::conversation::{Conversation, Moment};
use crate::memory::time::format_ms;

/// How far a time may be ahead without a warning, in milliseconds.
const AHEAD_MS_MAX: i64 = 24 * 60 * 60 * 1000;
/// Time from the start of a day to the noon that stands for it, in milliseconds.
const NOON_MS: i64 = 12 * 60 * 60 * 1000;

/// Adds a warning to the response if a time is more than a day ahead. `field` is the field that the warning names.
pub(super) fn warn_of_time(request: &RouteRequest, field: &str, time: Option<Moment>) {
    if let Some(time) = time
        && let Some(warning) = warning(field, time, request.app.intake.now_ms())
    {
        request.unknown.warn(warning);
    }
}

/// Adds a warning to the response for each time of a conversation that is more than a day ahead.
pub(super) fn warn_of_conversation(request: &RouteRequest, conversation: &Conversation) {
    warn_of_time(request, "occurred_at", conversation.occurred_at);
    for (index, message) in conversation.messages.iter().enumerate() {
        if message.occurred_at.is_some() {
            warn_of_time(request, &format!("messages[{index}].occurred_at"), message.occurred_at);
        }
    }
}

fn warning(field: &str, time: Moment, now_ms: i64) -> Option<String> {
    let begin_ms = match time.precision {
        OccurredPrecision::Day => time.at.as_millisecond().saturating_sub(NOON_MS),
        OccurredPrecision::Instant => time.at.as_millisecond(),
    };
    if begin_ms <= now_ms.saturating_add(AHEAD_MS_MAX) {
        return None;
    }
    let now = format_ms(now_ms)?;
    Some(format!("{field}: {} is more than a day after the server's time, {now}", time.text()))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::TimeZone;

    use super::*;
    use crate::memory::time;

    #[test]
    fn only_times_more_than_a_day_ahead_are_named() {
        let now: Timestamp = "2026-05-04T09:00:00Z".parse().expect("a time");
        for (text, is_named) in [
            ("1999-01-01", false),
            ("2026-05-05T09:00:00Z", false),
            ("2026-05-05T09:00:00.001Z", true),
            ("2026-05-05", false),
            ("2026-05-06", true),
            ("9999-12-30T00:00:00Z", true),
        ] {
            let time = time::parse(text, &TimeZone::UTC).and_then(time::TimeInput::moment).expect("a time");
            let expected =
                format!("occurred_at: {text} is more than a day after the server's time, 2026-05-04T09:00:00Z");
            let named = warning("occurred_at", time, now.as_millisecond());
            assert_eq!(named, is_named.then_some(expected), "{text}");
        }
    }
}
