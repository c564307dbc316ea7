//! The last messages of a session before a write, from the conversations that are kept.
//!
//! An application writes each exchange by itself. What the messages before it settle, such as the question that a reply
//! answers, is read from here. Where conversations are not kept, a write stands for itself.

use cuebase_language::conversation::{self, SaidAt};
use cuebase_language::extract::drafts::first_words;
use cuebase_language::extract::window::{BYTES_MAX, MESSAGES_MAX};
use cuebase_language::memory::{Moment, OccurredPrecision, OccurredSource};
use cuebase_language::wishes;
use cuebase_storage::memory_file::{MemoryFile, Relation, RelationKind, SourceMessage};
use cuebase_storage::records::{Message, QueuedWork, Store};
use cuebase_storage::{MessageId, NamespaceId};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::error::{Error, Result};
use crate::memory::conversation::Conversation;
use crate::namespace::plan::PlanContext;

/// Conversations before a write in which its session is searched for. Only their list views are read.
const SOURCES_SCANNED: usize = 512;
/// Paths of a write that are read to find the memories of one message.
const MEMORIES_MAX: usize = 200;
/// Paths of the write before that are read to find its last memory.
const PATHS_MAX: usize = 64;

/// The last messages of a session before a write, in the order of their times.
#[derive(Clone, Debug, Default)]
pub struct SessionTail {
    messages: Vec<EarlierMessage>,
    /// Bytes of their texts.
    bytes: usize,
    /// The latest write of the session.
    last_write: Option<MessageId>,
}

/// A message of an earlier write.
#[derive(Clone, Debug)]
struct EarlierMessage {
    message: Message,
    said: SaidAt,
    /// The message as the source of a memory.
    source: SourceMessage,
}

/// Whether a tail has room for an earlier message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Left,
    Full,
}

impl SessionTail {
    /// Reads the messages before a write of a conversation. There are none without a session.
    pub fn read(store: &Store, namespace: NamespaceId, write: MessageId, conversation: &Conversation) -> Result<Self> {
        let Some(session) = &conversation.session_id else { return Ok(Self::default()) };
        let mut tail = Self::default();
        for record in store.sources(namespace, Some(write), SOURCES_SCANNED)? {
            if record.session_id.as_ref() != Some(session) {
                continue;
            }
            tail.last_write.get_or_insert(record.id);
            let Some(entry) = store.source(namespace, record.id)? else { continue };
            let QueuedWork::Conversation { request } = entry.work else { continue };
            let accepted_at = Timestamp::from_millisecond(entry.accepted_at_ms).map_err(Error::internal)?;
            if tail.add(record.id, &request, accepted_at) == Room::Full {
                break;
            }
        }
        tail.messages.reverse();
        tail.messages.sort_by_key(|earlier| earlier.said.moment.at);
        tail.leave_out_unwanted();
        Ok(tail)
    }

    /// Leaves out the messages that their speaker asked not to remember, and those that were not stored.
    fn leave_out_unwanted(&mut self) {
        let wishes = wishes::find(&[], &self.as_messages(self.messages.len()));
        for (index, text) in wishes.shortened {
            self.messages[index].message.text = text;
        }
        for index in wishes.asked_not_to {
            self.messages[index].message.text.clear();
        }
        self.messages.retain(|earlier| !earlier.message.text.is_empty());
    }

    /// Adds the messages of an earlier write, the last ones first.
    fn add(&mut self, write: MessageId, conversation: &Conversation, accepted_at: Timestamp) -> Room {
        let zone = conversation.zone();
        for (index, message) in conversation.messages.iter().enumerate().rev() {
            let bytes = self.bytes + message.text.len();
            if self.messages.len() == MESSAGES_MAX || bytes > BYTES_MAX {
                return Room::Full;
            }
            self.bytes = bytes;
            let said = said_at(message, conversation, accepted_at, &zone);
            let source = SourceMessage {
                session_id: conversation.session_id.clone(),
                message: index as u64,
                write: Some(write.to_string()),
                said_at: None,
            };
            self.messages.push(EarlierMessage { message: message.clone(), said, source });
        }
        Room::Left
    }

    /// Returns the messages that were said before a time, as extraction reads them.
    pub(super) fn messages_until(&self, until: Timestamp) -> Vec<conversation::Message<'_>> {
        self.as_messages(self.messages.partition_point(|earlier| earlier.said.moment.at <= until))
    }

    /// Returns the first messages, as extraction reads them.
    fn as_messages(&self, count: usize) -> Vec<conversation::Message<'_>> {
        let mut messages = Vec::with_capacity(count);
        for EarlierMessage { message, said, .. } in &self.messages[..count] {
            messages.push(conversation::Message {
                role: message.role,
                name: message.name.as_deref(),
                text: &message.text,
                said: *said,
                is_stored: message.store,
            });
        }
        messages
    }

    /// Returns a message as the source of memories, by its index.
    pub(super) fn source(&self, index: usize) -> Option<&SourceMessage> {
        self.messages.get(index).map(|earlier| &earlier.source)
    }

    /// Returns the memories that were made from a message, by its index, with their paths.
    pub(super) fn memories_of(&self, context: &mut PlanContext<'_>, index: usize) -> Result<Vec<(String, MemoryFile)>> {
        let Some(source) = self.source(index) else { return Ok(Vec::new()) };
        let Some(write) = source.write.as_deref().and_then(|write| write.parse::<MessageId>().ok()) else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for path in context.paths_of_source(write)?.into_iter().take(MEMORIES_MAX) {
            let Some(file) = context.memory(&path)? else { continue };
            if file.front.sources.contains(source) {
                found.push((path, file));
            }
        }
        Ok(found)
    }

    /// Returns the messages as sources of memories, in the same order.
    pub fn sources(&self) -> Vec<SourceMessage> {
        self.messages.iter().map(|earlier| earlier.source.clone()).collect()
    }

    /// Returns the latest write of the session before this one.
    pub fn last_write(&self) -> Option<MessageId> {
        self.last_write
    }
}

/// Returns the message's own time, else that of the conversation, else that of its acceptance.
pub(super) fn said_at(
    message: &Message,
    conversation: &Conversation,
    accepted_at: Timestamp,
    zone: &TimeZone,
) -> SaidAt {
    let (moment, source) = match (message.occurred_at, conversation.occurred_at) {
        (Some(moment), _) => (moment, OccurredSource::Said),
        (None, Some(moment)) => (moment, OccurredSource::User),
        (None, None) => (Moment { at: accepted_at, precision: OccurredPrecision::Instant }, OccurredSource::Written),
    };
    SaidAt::new(moment, source, zone)
}

/// The write before another one in its session.
pub struct PreviousWrite {
    /// The id of the write.
    pub write: MessageId,
    /// The paths that it changed.
    pub paths: Vec<String>,
}

/// Returns the link to the last memory of the write before, except those at some paths. `None` if that write changed more
/// than [`PATHS_MAX`] paths.
pub(super) fn link_to_previous(
    context: &mut PlanContext<'_>,
    previous: Option<&PreviousWrite>,
    except: &[String],
) -> Result<Option<Relation>> {
    let Some(PreviousWrite { write, paths }) = previous else { return Ok(None) };
    if paths.len() > PATHS_MAX {
        return Ok(None);
    }
    let write = write.to_string();
    let mut last: Option<(u64, Relation)> = None;
    for path in paths {
        if except.contains(path) {
            continue;
        }
        let Some(file) = context.memory(path)? else { continue };
        let Some(message) = last_message(&file, &write) else { continue };
        if last.as_ref().is_none_or(|(other, _)| message >= *other) {
            let snippet = first_words(&file.body);
            last = Some((message, Relation { path: path.clone(), kind: RelationKind::Follows, snippet }));
        }
    }
    Ok(last.map(|(_, relation)| relation))
}

/// Returns the last message of a write that a memory was made from.
fn last_message(file: &MemoryFile, write: &str) -> Option<u64> {
    let mut last = None;
    for source in &file.front.sources {
        if source.write.as_deref() == Some(write) {
            last = last.max(Some(source.message));
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuebase_storage::records::Role;

    fn conversation(texts: &[String]) -> Conversation {
        let mut messages = Vec::new();
        for text in texts {
            let text = text.clone();
            messages.push(Message {
                role: Role::User,
                name: None,
                text,
                references: Vec::new(),
                occurred_at: None,
                store: true,
            });
        }
        Conversation { messages, session_id: Some("s1".to_owned()), ..Conversation::default() }
    }

    fn added(texts: &[String]) -> (Vec<u64>, Room) {
        let mut tail = SessionTail::default();
        let room = tail.add(MessageId::default(), &conversation(texts), Timestamp::UNIX_EPOCH);
        (tail.sources().iter().map(|source| source.message).collect(), room)
    }

    #[test]
    fn a_tail_has_the_last_12_messages() {
        let texts: Vec<String> = (0..20).map(|number| format!("Message {number}.")).collect();
        let (messages, room) = added(&texts);
        assert_eq!((messages.first(), messages.len(), room), (Some(&19), MESSAGES_MAX, Room::Full));
        assert_eq!(added(&texts[..3]), (vec![2, 1, 0], Room::Left));
    }

    #[test]
    fn a_tail_has_at_most_8_kib_of_text() {
        let texts = ["a".repeat(BYTES_MAX), "b".repeat(BYTES_MAX - 1), "c".to_owned()];
        assert_eq!(added(&texts), (vec![2, 1], Room::Full));
    }
}
