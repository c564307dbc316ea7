//! Which messages before another one can settle what it says: the last ones of its conversation.
//!
//! An application writes exchange by exchange or a whole session at once. Both must make the same memories, so every
//! message is read with the same messages before it, however the conversation was divided.

use std::ops::Range;

use crate::conversation::{Message, Role};
use crate::text::small_talk::{Participants, greeted};

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

/// Who takes part in the messages that are read with one: their speakers, and whom they greet.
#[derive(Default)]
pub(super) struct Present {
    participants: Participants,
    /// The indexes of these messages.
    messages: Range<usize>,
}

impl Present {
    /// Returns the participants of the messages in a range, which only moves forward.
    pub(super) fn in_range(&mut self, messages: &[Message<'_>], range: Range<usize>) -> &Participants {
        for message in &messages[self.messages.end..range.end] {
            self.participants.add(message.speaker());
            self.participants.add(greeted(message.text).unwrap_or_default());
        }
        for message in &messages[self.messages.start..range.start] {
            self.participants.remove(message.speaker());
            self.participants.remove(greeted(message.text).unwrap_or_default());
        }
        self.messages = range;
        &self.participants
    }
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
    fn speakers_and_those_whom_they_greet_are_present_until_they_leave() {
        let messages = [
            message(Some("Ann Lee"), "Hey Mel! Good to see you!"),
            message(Some("Bo"), "Good morning."),
            message(Some("Bo"), "Yes."),
        ];
        let mut present = Present::default();
        let mut found = Vec::new();
        for range in [0..1, 0..2, 1..3, 2..3] {
            let participants = present.in_range(&messages, range);
            found.push(["ann", "lee", "mel", "good", "bo"].map(|word| participants.contains(word)));
        }
        let (before, both, after) =
            ([true, true, true, false, false], [true, true, true, false, true], [false, false, false, false, true]);
        assert_eq!(found, [before, both, after, after]);
    }
}
