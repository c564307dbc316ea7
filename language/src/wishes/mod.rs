//! What users ask to be forgotten, or not to be remembered: "forget that I live in Oslo", "don't store this".
//!
//! [`wish::find_wish`] reads one message. [`find`] reads a conversation: which of its messages are not to become memories, and which
//! earlier memories are to be forgotten. [`statement`] decides whether a memory is the statement that a wish names. Only
//! the user's own words count, and only what is named with certainty: "don't forget that I live in Oslo", "forget it" and
//! quoted text ask for nothing.

pub mod statement;
pub mod wish;
mod words;

use self::wish::{FoundWish, Wish, find_wish};
use crate::conversation::{Message, Role};

/// What users ask in the messages of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Indexes of the messages that are not to become memories: those that ask, and those that they are about. Ascending.
    pub asked_not_to: Vec<usize>,
    /// Messages that also say something else, by index, without the sentence that asks.
    pub shortened: Vec<(usize, String)>,
    /// What is to be forgotten of earlier writes.
    pub forget: Vec<ToForget>,
}

/// What a user asks to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToForget {
    /// The speaker who asks, whose memories are meant.
    pub speaker: String,
    /// What is meant.
    pub what: Forgotten,
}

/// What is to be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forgotten {
    /// What came from a message before the conversation, by its index.
    Message(usize),
    /// A statement, such as "I live in Oslo".
    Statement(String),
    /// The only statement about a topic, such as "my divorce".
    Topic(String),
}

/// Reads what users ask in messages. `before` are the messages of the same session before them.
pub fn find(before: &[Message<'_>], messages: &[Message<'_>]) -> Wishes {
    let mut wishes = Wishes::default();
    for (index, message) in messages.iter().enumerate() {
        // What a tool or an assistant says is never a wish, whoever the name says it is.
        if message.role != Role::User {
            continue;
        }
        let Some(FoundWish { wish, sentence }) = find_wish(message.text) else { continue };
        let others = message.text.replacen(sentence, "", 1);
        if wish == Wish::NotThis || others.trim().is_empty() {
            wishes.asked_not_to.push(index);
        } else {
            wishes.shortened.push((index, others.trim().to_owned()));
        }
        let speaker = message.speaker().trim().to_owned();
        let what = match wish {
            Wish::NotThis => continue,
            Wish::NotBefore => {
                if let Some(earlier) = last_of(&speaker, &messages[..index]) {
                    wishes.asked_not_to.push(earlier);
                    continue;
                }
                match last_of(&speaker, before) {
                    Some(earlier) => Forgotten::Message(earlier),
                    None => continue,
                }
            }
            Wish::Statement(named) => {
                wishes.asked_not_to.extend(stating(&speaker, named, &messages[..index]));
                Forgotten::Statement(named.to_owned())
            }
            Wish::Topic(named) => Forgotten::Topic(named.to_owned()),
        };
        wishes.forget.push(ToForget { speaker, what });
    }
    wishes.asked_not_to.sort_unstable();
    wishes.asked_not_to.dedup();
    wishes
}

/// Returns the last message of a speaker.
fn last_of(speaker: &str, messages: &[Message<'_>]) -> Option<usize> {
    messages.iter().rposition(|message| message.speaker().trim() == speaker)
}

/// Returns the messages of a speaker that make a statement.
fn stating(speaker: &str, named: &str, messages: &[Message<'_>]) -> Vec<usize> {
    let mut found = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        if message.speaker().trim() == speaker && statement::is_named(named, message.text) {
            found.push(index);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::TimeZone;

    use super::*;
    use crate::conversation::SaidAt;
    use crate::memory::{Moment, OccurredPrecision, OccurredSource};

    fn message(role: Role, text: &str) -> Message<'_> {
        let moment = Moment { at: Timestamp::UNIX_EPOCH, precision: OccurredPrecision::Instant };
        let said = SaidAt::new(moment, OccurredSource::Written, &TimeZone::UTC);
        Message { role, name: None, text, said, is_stored: true }
    }

    fn user(text: &str) -> Message<'_> {
        message(Role::User, text)
    }

    fn forget(what: Forgotten) -> Vec<ToForget> {
        vec![ToForget { speaker: "User".into(), what }]
    }

    #[test]
    fn the_message_before_is_meant_if_the_wish_stands_alone() {
        let answer = message(Role::Assistant, "Noted.");
        let wishes = find(&[], &[user("My rash is back."), answer, user("Please don't remember this.")]);
        assert_eq!((wishes.asked_not_to, wishes.forget), (vec![0, 2], vec![]));
        let wishes = find(&[user("My rash is back."), answer], &[user("Forget what I just said.")]);
        assert_eq!((wishes.asked_not_to, wishes.forget), (vec![0], forget(Forgotten::Message(0))));
    }

    #[test]
    fn a_statement_is_forgotten_wherever_it_stands() {
        let messages =
            [user("I live in Oslo."), user("The rain is back."), user("Forget that I live in Oslo, please.")];
        let wishes = find(&[], &messages);
        assert_eq!(wishes.asked_not_to, [0, 2]);
        assert_eq!(wishes.forget, forget(Forgotten::Statement("I live in Oslo".into())));
    }

    #[test]
    fn what_a_message_says_beside_a_wish_stays() {
        let wishes = find(&[], &[user("Forget that I live in Oslo. I live in Bergen now.")]);
        assert_eq!((wishes.asked_not_to, wishes.shortened), (vec![], vec![(0, "I live in Bergen now.".to_owned())]));
    }

    #[test]
    fn only_users_have_wishes() {
        for role in [Role::Assistant, Role::System, Role::Tool] {
            let messages = [user("I live in Oslo."), message(role, "Forget that I live in Oslo.")];
            assert_eq!(find(&[], &messages), Wishes::default(), "{role:?}");
        }
    }
}
