//! Which messages before another one can settle what it says: the last ones of its conversation.
//!
//! An application writes exchange by exchange or a whole session at once. Both must make the same memories, so every
//! message is read with the same messages before it, however the conversation was divided.

use crate::conversation::{Message, Role};
use crate::text::small_talk::Participants;
use crate::text::steps::{Interrupted, Steps};

/// Messages before a message that are read with it.
pub const MESSAGES_MAX: usize = 12;
/// Bytes of these messages. A longer one, and those before it, are not read.
pub const BYTES_MAX: usize = 8 << 10;

/// Returns for each message the index of the first one that is read with it.
pub(super) fn starts(messages: &[Message<'_>]) -> Vec<usize> {
    let mut starts = Vec::with_capacity(messages.len());
    let (mut start, mut bytes) = (0, 0);
    for (index, message) in messages.iter().enumerate() {
        while start < index && (index - start > MESSAGES_MAX || bytes > BYTES_MAX) {
            bytes -= messages[start].text.len();
            start += 1;
        }
        starts.push(start);
        bytes += message.text.len();
    }
    starts
}

/// Returns who takes part in some messages: their speakers, and whom they greet.
///
/// # Errors
///
/// [`Interrupted`] if the steps are interrupted.
pub(super) fn participants(messages: &[Message<'_>], steps: &Steps<'_>) -> Result<Participants, Interrupted> {
    let mut participants = Participants::default();
    for message in messages {
        steps.take(message.speaker().len())?;
        participants.add(message.speaker());
        participants.add_greeted(message.text);
    }
    Ok(participants)
}

/// Whether a message is that of an assistant without a name. One with a name is a person in a conversation.
pub(super) fn is_assistant(message: &Message<'_>) -> bool {
    message.role == Role::Assistant && message.name.is_none()
}

#[cfg(test)]
mod tests {
    use super::super::tests::message;
    use super::*;

    fn starts_of(texts: &[&str]) -> Vec<usize> {
        let messages: Vec<Message<'_>> = texts.iter().map(|text| message(Some("Ann"), text)).collect();
        starts(&messages)
    }

    #[test]
    fn a_message_is_read_with_the_12_before_it() {
        let expected: Vec<usize> = (0..16_usize).map(|index| index.saturating_sub(MESSAGES_MAX)).collect();
        assert_eq!(starts_of(&["Yes."; 16]), expected);
    }

    #[test]
    fn a_message_is_read_with_8_kib_before_it() {
        let (whole, half) = ("a".repeat(BYTES_MAX), "b".repeat(BYTES_MAX / 2));
        assert_eq!(starts_of(&[&half, &half, "c", "d"]), [0, 0, 0, 1]);
        assert_eq!(starts_of(&["c", &whole, "d", "e"]), [0, 0, 1, 2]);
        let longer = format!("{whole}a");
        assert_eq!(starts_of(&["c", &longer, "d"]), [0, 0, 2]);
    }

    #[test]
    fn speakers_and_those_whom_they_greet_take_part() {
        let messages = [message(Some("Ann Lee"), "Hey Mel! Good to see you!")];
        let found = participants(&messages, &Steps::unlimited()).expect("not interrupted");
        let contains: Vec<bool> = ["ann", "lee", "mel", "good"].iter().map(|word| found.contains(word)).collect();
        assert_eq!(contains, [true, true, true, false]);
    }
}
