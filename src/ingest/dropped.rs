//! Messages of a conversation that became no memory, or only in part, with the reason of each.

use cuebase_language::extract::ExtractedDrafts;
use cuebase_language::text::questions::only_asks;
use cuebase_language::text::steps::Steps;
use cuebase_storage::records::DroppedMessage;

use crate::memory::conversation::{Conversation, Message, Role};

/// The message is an instruction to the model.
pub const SYSTEM: &str = "system";
/// The message has no text.
pub const NO_TEXT: &str = "no_text";
/// The message consists of small talk, such as greetings and thanks.
pub const SMALL_TALK: &str = "small_talk";
/// The message only asks, and nobody answers it in the same conversation.
pub const QUESTION: &str = "question";
/// A message of an assistant that adds nothing to what was said before it: it acknowledges or repeats.
pub const ADDS_NOTHING: &str = "adds_nothing";
/// The user asked not to remember the message, or it must not be stored.
pub const ASKED_NOT_TO: &str = "asked_not_to";
/// The message has more statements than one message may have memories. The first ones are memories.
pub const TOO_LONG: &str = "too_long";

/// Returns the messages that none of the built-in extractor's drafts was made from, and those that are too long. A
/// question that the memory of its answer quotes is not one of them. `asked_not_to` are the messages that the user asked
/// not to remember.
pub fn dropped_messages(
    conversation: &Conversation,
    extracted: &ExtractedDrafts,
    asked_not_to: &[usize],
) -> Vec<DroppedMessage> {
    let mut is_used = vec![false; conversation.messages.len()];
    for draft in &extracted.drafts {
        for message in &draft.messages {
            if let Some(is_used) = is_used.get_mut(*message) {
                *is_used = true;
            }
        }
    }
    let mut dropped = Vec::new();
    for (index, (message, is_used)) in conversation.messages.iter().zip(is_used).enumerate() {
        if !message.store || asked_not_to.contains(&index) {
            dropped.push(dropped_message(index, ASKED_NOT_TO));
        } else if extracted.too_long.contains(&index) {
            dropped.push(dropped_message(index, TOO_LONG));
        } else if extracted.adds_nothing.contains(&index) {
            dropped.push(dropped_message(index, ADDS_NOTHING));
        } else if !is_used {
            dropped.push(dropped_message(index, unread_reason(message).unwrap_or_else(|| reason_of_text(message))));
        }
    }
    dropped
}

/// Returns why a message with text became no memory.
fn reason_of_text(message: &Message) -> &'static str {
    match only_asks(&message.text, &Steps::unlimited()) {
        Ok(true) => QUESTION,
        _ => SMALL_TALK,
    }
}

/// Returns the messages that no chat model reads. `asked_not_to` are those that the user asked not to remember.
pub fn unread_messages(conversation: &Conversation, asked_not_to: &[usize]) -> Vec<DroppedMessage> {
    let mut unread = Vec::new();
    for (index, message) in conversation.messages.iter().enumerate() {
        if !message.store || asked_not_to.contains(&index) {
            unread.push(dropped_message(index, ASKED_NOT_TO));
        } else if let Some(reason) = unread_reason(message) {
            unread.push(dropped_message(index, reason));
        }
    }
    unread
}

fn unread_reason(message: &Message) -> Option<&'static str> {
    if message.role == Role::System {
        return Some(SYSTEM);
    }
    if message.text.trim().is_empty() {
        return Some(NO_TEXT);
    }
    None
}

pub(super) fn dropped_message(index: usize, reason: &str) -> DroppedMessage {
    DroppedMessage { message: Some(index as u64), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::ingest::extraction::extract;
    use crate::memory::request::conversation;

    #[test]
    fn messages_without_a_memory_are_named_with_the_reason() {
        let body = json!({"messages": [
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "name": "Ann", "content": "Where did you buy the green kayak?"},
            {"role": "user", "name": "Bo", "content": "At the harbour market in Porto."},
            {"role": "user", "name": "Ann", "content": "Thanks!"},
            {"role": "user", "name": "Bo", "content": [{"type": "media", "id": "m1"}]},
        ]});
        let said = conversation(body.as_object().expect("an object")).expect("valid");
        let extracted = extract(&said, Timestamp::UNIX_EPOCH, &Steps::unlimited()).expect("not interrupted");
        let expected = [dropped_message(0, SYSTEM), dropped_message(3, SMALL_TALK), dropped_message(4, NO_TEXT)];
        assert_eq!(dropped_messages(&said, &extracted, &[]), expected);
        assert_eq!(unread_messages(&said, &[]), [dropped_message(0, SYSTEM), dropped_message(4, NO_TEXT)]);
    }

    #[test]
    fn a_message_with_too_many_statements_is_named_although_it_has_memories() {
        let body = json!({"messages": [
            {"role": "user", "name": "Ann", "content": "a ".repeat(100_000)},
            {"role": "user", "name": "Bo", "content": "The harbour market closes on Tuesdays."},
        ]});
        let said = conversation(body.as_object().expect("an object")).expect("valid");
        let extracted = extract(&said, Timestamp::UNIX_EPOCH, &Steps::unlimited()).expect("not interrupted");
        assert_eq!(dropped_messages(&said, &extracted, &[]), [dropped_message(0, TOO_LONG)]);
    }
}
