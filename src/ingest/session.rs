//! The last messages of a session before a write, from the conversations that are kept.
//!
//! An application writes each exchange by itself. What the messages before it settle, such as the question that a reply
//! answers, is read from here. Where conversations are not kept, a write stands for itself.

use cuebase_language::conversation::{self, SaidAt};
use cuebase_language::memory::{Moment, OccurredPrecision, OccurredSource};
use cuebase_storage::memory_file::SourceMessage;
use cuebase_storage::records::{Message, QueueEntry, QueuedWork, Store};
use cuebase_storage::{MessageId, NamespaceId};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::error::{Error, Result};
use crate::memory::conversation::Conversation;

/// Messages before a write that are read.
const MESSAGES_MAX: usize = 12;
/// Bytes of these messages.
const BYTES_MAX: usize = 8 << 10;
/// Conversations before a write in which its session is searched for: the reading of their list views takes a
/// millisecond.
const SOURCES_SCANNED: usize = 512;

/// The last messages of a session before a write, in the order of their times.
#[derive(Clone, Debug, Default)]
pub struct SessionTail {
    messages: Vec<EarlierMessage>,
    /// The write of the latest of them.
    last_write: Option<MessageId>,
}

/// A message of an earlier write.
#[derive(Clone, Debug)]
struct EarlierMessage {
    message: Message,
    said: SaidAt,
    session: String,
    write: MessageId,
    /// The place of the message in its write.
    index: u64,
}

impl SessionTail {
    /// Reads the messages before a write of a conversation. There are none without a session.
    pub fn read(store: &Store, namespace: NamespaceId, write: MessageId, conversation: &Conversation) -> Result<Self> {
        let Some(session) = &conversation.session_id else { return Ok(Self::default()) };
        let entries = store.session_sources(namespace, session, write, SOURCES_SCANNED, MESSAGES_MAX)?;
        let mut tail = Self { messages: Vec::new(), last_write: entries.first().map(|entry| entry.id) };
        let mut bytes = 0;
        for entry in entries {
            if !tail.add(entry, session, &mut bytes)? {
                break;
            }
        }
        tail.messages.reverse();
        tail.messages.sort_by_key(|earlier| earlier.said.moment.at);
        Ok(tail)
    }

    /// Adds the messages of a write, the last ones first. Returns false if the tail is complete.
    fn add(&mut self, entry: QueueEntry, session: &str, bytes: &mut usize) -> Result<bool> {
        let QueuedWork::Conversation { request } = entry.work else { return Ok(true) };
        let accepted_at = Timestamp::from_millisecond(entry.accepted_at_ms).map_err(Error::internal)?;
        let zone = request.zone();
        for (index, message) in request.messages.iter().enumerate().rev() {
            *bytes += message.text.len();
            if self.messages.len() == MESSAGES_MAX || *bytes > BYTES_MAX {
                return Ok(false);
            }
            let said = said_at(message, &request, accepted_at, &zone);
            self.messages.push(EarlierMessage {
                message: message.clone(),
                said,
                session: session.to_owned(),
                write: entry.id,
                index: index as u64,
            });
        }
        Ok(true)
    }

    /// Returns the messages that were said before a time, as extraction reads them.
    pub(super) fn messages_until(&self, until: Timestamp) -> Vec<conversation::Message<'_>> {
        let mut messages = Vec::with_capacity(self.messages.len());
        for EarlierMessage { message, said, .. } in &self.messages {
            if said.moment.at <= until {
                let name = message.name.as_deref();
                messages.push(conversation::Message { role: message.role, name, text: &message.text, said: *said });
            }
        }
        messages
    }

    /// Returns the messages as sources of memories, in the same order.
    pub fn sources(&self) -> Vec<SourceMessage> {
        let mut sources = Vec::with_capacity(self.messages.len());
        for earlier in &self.messages {
            sources.push(SourceMessage {
                session_id: Some(earlier.session.clone()),
                message: earlier.index,
                write: Some(earlier.write.to_string()),
                said_at: None,
            });
        }
        sources
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
