//! The last messages of a session before a write, from the conversations that are kept.
//!
//! An application writes each exchange by itself. What the messages before it settle, such as the question that a reply
//! answers, is read from here. Where conversations are not kept, a write stands for itself.

use cuebase_language::conversation::{self, SaidAt};
use cuebase_language::extract::Surroundings;
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

/// Conversations accepted before a write in which its session is searched for. Only their list views are read.
const SCANNED_BEFORE_MAX: usize = 512;
/// Conversations accepted after a write that is extracted again in which its session is searched for: they may have been
/// late.
const SCANNED_AFTER_MAX: usize = 64;
/// List views of the first page of that search. Most sessions are found in it.
const FIRST_PAGE: usize = 32;
/// Messages that are read to find the last ones in the order of their times.
const CANDIDATES_MAX: usize = 2 * MESSAGES_MAX;
/// Bytes of these messages.
const CANDIDATE_BYTES_MAX: usize = 2 * BYTES_MAX;
/// Writes of a session that are named as later than a write accepted after them.
const LATER_MAX: usize = 64;
/// Paths of a write that are read to find the memories of one message.
const MEMORIES_MAX: usize = 200;
/// Paths of the write before that are read to find its last memory.
const PATHS_MAX: usize = 64;

/// The last messages of a session before a write, in the order of their times.
#[derive(Clone, Debug, Default)]
pub struct SessionTail {
    messages: Vec<EarlierMessage>,
    /// The write of the last message before.
    last_write: Option<MessageId>,
    /// The first message after the write, if a later one is kept already.
    next: Option<EarlierMessage>,
}

/// A message of an earlier write.
#[derive(Clone, Debug)]
struct EarlierMessage {
    message: Message,
    said: SaidAt,
    write: MessageId,
    /// The message as the source of a memory.
    source: SourceMessage,
}

impl EarlierMessage {
    /// Returns the messages of a write, in their order in it.
    fn of_write(write: MessageId, conversation: &Conversation, accepted_at: Timestamp) -> Vec<Self> {
        let zone = conversation.zone();
        let mut messages = Vec::with_capacity(conversation.messages.len());
        for (index, message) in conversation.messages.iter().enumerate() {
            let source = SourceMessage {
                session_id: conversation.session_id.clone(),
                message: index as u64,
                write: Some(write.to_string()),
                said_at: None,
            };
            let said = said_at(message, conversation, accepted_at, &zone);
            messages.push(Self { message: message.clone(), said, write, source });
        }
        messages
    }

    /// Returns the message as extraction reads it.
    fn read(&self) -> conversation::Message<'_> {
        let Self { message, said, .. } = self;
        conversation::Message {
            role: message.role,
            name: message.name.as_deref(),
            text: &message.text,
            said: *said,
            is_stored: message.store,
        }
    }
}

/// What is kept of a session around a write.
#[derive(Clone, Debug)]
pub struct Session {
    /// The write.
    write: MessageId,
    /// When its first message was said.
    begins: Timestamp,
    /// Messages before the write, in any order.
    before: Vec<EarlierMessage>,
    /// Bytes of their texts.
    bytes: usize,
    /// The writes that begin later, in any order.
    later: Vec<LaterWrite>,
}

/// A write of a session that begins later than another one.
#[derive(Clone, Debug)]
struct LaterWrite {
    /// Its first message.
    first: EarlierMessage,
    messages: usize,
}

impl LaterWrite {
    /// Returns its place in the order of the session.
    fn place(&self) -> (Timestamp, MessageId) {
        (self.first.said.moment.at, self.first.write)
    }
}

impl Session {
    fn new(write: MessageId, begins: Timestamp) -> Self {
        Self { write, begins, before: Vec::new(), bytes: 0, later: Vec::new() }
    }

    /// Reads the session of a conversation around its write. It is empty without a session.
    pub fn read(
        store: &Store,
        namespace: NamespaceId,
        write: MessageId,
        conversation: &Conversation,
        accepted_at: Timestamp,
    ) -> Result<Self> {
        let mut session = Self::new(write, begin_of(conversation, accepted_at));
        let Some(name) = &conversation.session_id else { return Ok(session) };
        for record in store.sources_after(namespace, Some(write), SCANNED_AFTER_MAX)? {
            if record.session_id.as_ref() == Some(name)
                && let Some((request, accepted_at)) = read_source(store, namespace, record.id)?
            {
                session.add(record.id, &request, accepted_at);
            }
        }
        // Those accepted after the write do not count: they may be many, and none of them is late for it.
        let later_max = session.later.len() + LATER_MAX;
        let (mut before, mut scanned) = (write, 0);
        while scanned < SCANNED_BEFORE_MAX && session.has_room(later_max) {
            let limit = if scanned == 0 { FIRST_PAGE } else { SCANNED_BEFORE_MAX - scanned };
            let page = store.sources(namespace, Some(before), limit)?;
            let Some(last) = page.last() else { break };
            before = last.id;
            scanned += page.len();
            for record in page {
                if record.session_id.as_ref() == Some(name)
                    && session.has_room(later_max)
                    && let Some((request, accepted_at)) = read_source(store, namespace, record.id)?
                {
                    session.add(record.id, &request, accepted_at);
                }
            }
        }
        session.later.sort_by_key(LaterWrite::place);
        Ok(session)
    }

    /// Whether more writes are to be read.
    fn has_room(&self, later_max: usize) -> bool {
        self.before.len() < CANDIDATES_MAX && self.bytes < CANDIDATE_BYTES_MAX && self.later.len() < later_max
    }

    /// Adds another write of the session: its last messages before this one, or that it begins later.
    pub fn add(&mut self, write: MessageId, conversation: &Conversation, accepted_at: Timestamp) {
        let messages = EarlierMessage::of_write(write, conversation, accepted_at);
        let (own, place) = ((self.begins, self.write), (begin_of(conversation, accepted_at), write));
        if place > own {
            let count = messages.len();
            self.later.extend(messages.into_iter().next().map(|first| LaterWrite { first, messages: count }));
            return;
        }
        let mut added = 0;
        for message in messages.into_iter().rev() {
            if (message.said.moment.at, write) <= own && added < MESSAGES_MAX {
                self.bytes += message.message.text.len();
                self.before.push(message);
                added += 1;
            }
        }
    }

    /// Returns the last messages before the write, and the first one after it.
    pub fn tail(mut self) -> SessionTail {
        self.before.sort_by_key(|earlier| (earlier.said.moment.at, earlier.write, earlier.source.message));
        let last_write = self.before.last().map(|earlier| earlier.write);
        let (mut start, mut bytes) = (self.before.len(), 0);
        while start > 0 && self.before.len() - start < MESSAGES_MAX {
            bytes += self.before[start - 1].message.text.len();
            if bytes > BYTES_MAX {
                break;
            }
            start -= 1;
        }
        let next = self.later.into_iter().min_by_key(LaterWrite::place).map(|later| later.first);
        let mut tail = SessionTail { messages: self.before.split_off(start), last_write, next };
        tail.leave_out_unwanted();
        tail
    }

    /// Returns the writes that begin later than this one and are read with its messages, the earliest first. Of a write that
    /// was accepted last, these were extracted without it.
    pub fn read_with_this(&self) -> Vec<MessageId> {
        let mut found = Vec::new();
        let mut between = 0;
        for later in &self.later {
            if between >= MESSAGES_MAX {
                break;
            }
            found.push(later.first.write);
            between += later.messages;
        }
        found
    }
}

/// Returns a kept conversation, and when it was accepted.
fn read_source(store: &Store, namespace: NamespaceId, id: MessageId) -> Result<Option<(Conversation, Timestamp)>> {
    let Some(entry) = store.source(namespace, id)? else { return Ok(None) };
    let QueuedWork::Conversation { request } = entry.work else { return Ok(None) };
    let accepted_at = Timestamp::from_millisecond(entry.accepted_at_ms).map_err(Error::internal)?;
    Ok(Some((request, accepted_at)))
}

/// Returns when the first message of a conversation was said.
fn begin_of(conversation: &Conversation, accepted_at: Timestamp) -> Timestamp {
    match conversation.messages.first() {
        Some(first) => said_at(first, conversation, accepted_at, &conversation.zone()).moment.at,
        None => accepted_at,
    }
}

impl SessionTail {
    /// Leaves out the messages that their speaker asked not to remember, and those that were not stored.
    fn leave_out_unwanted(&mut self) {
        let wishes = wishes::find(&[], &self.messages());
        for (index, text) in wishes.shortened {
            self.messages[index].message.text = text;
        }
        for index in wishes.asked_not_to {
            self.messages[index].message.text.clear();
        }
        self.messages.retain(|earlier| !earlier.message.text.is_empty());
    }

    /// Returns the messages before the write, as extraction reads them.
    pub(super) fn messages(&self) -> Vec<conversation::Message<'_>> {
        self.messages.iter().map(EarlierMessage::read).collect()
    }

    /// Returns the first message after the write, if a later one is kept already.
    pub(super) fn next_message(&self) -> Option<conversation::Message<'_>> {
        self.next.as_ref().map(EarlierMessage::read)
    }

    /// Returns the messages around the write, as extraction reads them.
    pub(super) fn surroundings(&self) -> Surroundings<'_> {
        Surroundings { before: self.messages(), after: self.next_message() }
    }

    /// Returns a message as the source of memories, by its index.
    pub(super) fn source(&self, index: usize) -> Option<&SourceMessage> {
        self.messages.get(index).map(|earlier| &earlier.source)
    }

    /// Returns the write of a message, by its index.
    pub fn write_of(&self, index: Option<usize>) -> Option<MessageId> {
        Some(self.messages.get(index?)?.write)
    }

    /// Returns the memories that were made from a message, by its index, with their paths.
    pub(super) fn memories_of(&self, context: &mut PlanContext<'_>, index: usize) -> Result<Vec<(String, MemoryFile)>> {
        let Some(EarlierMessage { source, write, .. }) = self.messages.get(index) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for path in context.paths_of_source(*write)?.into_iter().take(MEMORIES_MAX) {
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

    /// Returns the messages of the tail after a write with these texts, by their indexes.
    fn tail_of(texts: &[String]) -> Vec<u64> {
        let mut session = Session::new(MessageId::default(), Timestamp::UNIX_EPOCH);
        session.add(MessageId::default(), &conversation(texts), Timestamp::UNIX_EPOCH);
        session.tail().sources().iter().map(|source| source.message).collect()
    }

    #[test]
    fn a_tail_has_the_last_12_messages() {
        let texts: Vec<String> = (0..40).map(|number| format!("Message {number}.")).collect();
        assert_eq!(tail_of(&texts), (28..40).collect::<Vec<u64>>());
        assert_eq!(tail_of(&texts[..3]), [0, 1, 2]);
    }

    #[test]
    fn a_tail_has_at_most_8_kib_of_text() {
        let texts = ["a".repeat(BYTES_MAX), "b".repeat(BYTES_MAX - 1), "c".to_owned()];
        assert_eq!(tail_of(&texts), [1, 2]);
    }

    #[test]
    fn a_late_write_is_in_the_tail_of_a_long_session() {
        let at = |second: i64| Timestamp::from_second(second).expect("a time");
        let mut session = Session::new(MessageId::from(ulid::Ulid::from(90_u128)), at(90));
        for number in 1..=80_i64 {
            let write = MessageId::from(ulid::Ulid::from(u128::from(number.unsigned_abs())));
            session.add(write, &conversation(&[format!("At {number}.")]), at(number));
        }
        let late = MessageId::from(ulid::Ulid::from(91_u128));
        session.add(late, &conversation(&["Late.".to_owned()]), at(85));
        let tail = session.tail();
        let texts: Vec<&str> = tail.messages().iter().map(|message| message.text).collect();
        assert_eq!((texts.len(), texts.last()), (MESSAGES_MAX, Some(&"Late.")));
    }

    #[test]
    fn the_messages_of_a_tail_are_in_the_order_of_their_times() {
        let at = |second: i64| Timestamp::from_second(second).expect("a time");
        let mut session = Session::new(MessageId::from(ulid::Ulid::from(9_u128)), at(40));
        for (number, second) in [(1_u128, 30), (2, 10), (3, 50), (4, 20)] {
            let write = MessageId::from(ulid::Ulid::from(number));
            session.add(write, &conversation(&[format!("At {second}.")]), at(second));
        }
        assert_eq!(session.read_with_this(), [MessageId::from(ulid::Ulid::from(3_u128))]);
        let tail = session.tail();
        let texts: Vec<&str> = tail.messages().iter().map(|message| message.text).collect();
        assert_eq!(texts, ["At 10.", "At 20.", "At 30."]);
        assert_eq!(tail.last_write(), Some(MessageId::from(ulid::Ulid::from(1_u128))));
    }
}
