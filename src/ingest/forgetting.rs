//! What users ask to be forgotten or not to be remembered, in a conversation that is ingested.
//!
//! [`wishes_of`] reads it from the conversation and the messages of its session before it. [`readable`] returns the
//! conversation without the messages that are not to become memories, as the extractors read it, and [`paths_to_forget`] the
//! memories that are to be forgotten.

use std::borrow::Cow;

use cuebase_language::conversation::Message;
use cuebase_language::wishes::{self, Forgotten, ToForget, Wishes, statement};
use cuebase_storage::memory_file::MemoryFile;
use jiff::Timestamp;

use super::session::{SessionTail, said_at};
use crate::error::Result;
use crate::memory::conversation::Conversation;
use crate::namespace::plan::PlanContext;

/// Memories among which those are looked for that a wish names.
const CANDIDATES_MAX: usize = 50;

/// The wishes of a conversation, and the messages before it that they may be about.
pub struct AskedToForget<'a> {
    /// The wishes.
    pub wishes: Wishes,
    /// The messages of the session before the conversation.
    pub tail: &'a SessionTail,
}

/// Reads the wishes of a conversation. If it comes late, a wish of the next message, which is kept already, counts for its
/// messages, too.
pub fn wishes_of(tail: &SessionTail, conversation: &Conversation, accepted_at: Timestamp) -> Wishes {
    let mut messages = messages_of(conversation, accepted_at);
    let before = tail.messages();
    let own = wishes::find(&before, &messages);
    let Some(next) = tail.next_message() else { return own };
    let count = messages.len();
    messages.push(next);
    let mut all = wishes::find(&before, &messages);
    all.asked_not_to.retain(|index| *index < count);
    all.shortened.retain(|(index, _)| *index < count);
    // What the next message asks to forget of earlier writes was forgotten when it was ingested.
    Wishes { forget: own.forget, ..all }
}

/// Returns the messages of a conversation as the built-in extractor reads them.
pub(super) fn messages_of(conversation: &Conversation, accepted_at: Timestamp) -> Vec<Message<'_>> {
    let zone = conversation.zone();
    let mut messages = Vec::with_capacity(conversation.messages.len());
    for message in &conversation.messages {
        messages.push(Message {
            role: message.role,
            name: message.name.as_deref(),
            text: &message.text,
            said: said_at(message, conversation, accepted_at, &zone),
            is_stored: message.store,
        });
    }
    messages
}

/// Returns a conversation without what is not to be remembered. The indexes of messages do not change.
pub fn readable<'a>(conversation: &'a Conversation, wishes: &Wishes) -> Cow<'a, Conversation> {
    if wishes.asked_not_to.is_empty() && wishes.shortened.is_empty() {
        return Cow::Borrowed(conversation);
    }
    let mut readable = conversation.clone();
    for index in &wishes.asked_not_to {
        readable.messages[*index].text.clear();
    }
    for (index, text) in &wishes.shortened {
        readable.messages[*index].text.clone_from(text);
    }
    Cow::Owned(readable)
}

/// Returns a conversation without the messages that must not be stored, for a chat model, which may repeat any text.
pub fn storable(conversation: &Conversation) -> Cow<'_, Conversation> {
    if conversation.messages.iter().all(|message| message.store) {
        return Cow::Borrowed(conversation);
    }
    let mut storable = conversation.clone();
    for message in &mut storable.messages {
        if !message.store {
            message.text.clear();
        }
    }
    Cow::Owned(storable)
}

/// Returns the paths of the memories that are to be forgotten, sorted.
pub(super) fn paths_to_forget(
    context: &mut PlanContext<'_>,
    asked: &AskedToForget<'_>,
    now: Timestamp,
) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for ToForget { speaker, what } in &asked.wishes.forget {
        match what {
            Forgotten::Message(index) => paths.extend(paths_of_message(context, asked.tail, *index, speaker)?),
            Forgotten::Statement(named) => {
                paths.extend(paths_that_say(context, named, speaker, now, statement::is_named)?);
            }
            Forgotten::Topic(topic) => {
                let about = paths_that_say(context, topic, speaker, now, statement::is_about)?;
                // Of several, it is not certain which one is meant.
                if about.len() == 1 {
                    paths.extend(about);
                }
            }
        }
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Returns the memories of a speaker that were made from a message before the conversation.
fn paths_of_message(
    context: &mut PlanContext<'_>,
    tail: &SessionTail,
    index: usize,
    speaker: &str,
) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (path, file) in tail.memories_of(context, index)? {
        if is_said_by(&file, speaker) {
            found.push(path);
        }
    }
    Ok(found)
}

/// Returns the memories of a speaker for which a condition on the text and their body holds.
fn paths_that_say(
    context: &mut PlanContext<'_>,
    text: &str,
    speaker: &str,
    now: Timestamp,
    says: fn(&str, &str) -> bool,
) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for path in context.paths_with_words(text, CANDIDATES_MAX, now)? {
        let Some(file) = context.memory(&path)? else { continue };
        if is_said_by(&file, speaker) && says(text, &file.body) {
            found.push(path);
        }
    }
    Ok(found)
}

/// Whether a speaker said what a memory says. Whoever has no name is the user of the namespace.
fn is_said_by(file: &MemoryFile, speaker: &str) -> bool {
    match &file.front.speaker {
        Some(of) => of == speaker,
        None => false,
    }
}
