//! Sources: accepted conversations that are kept after ingestion. This file lists, reads and deletes them.
//!
//! The id of a source is the id of its write. The batch that removes the write from the queue stores the source
//! (`cuebase_storage::records`). `maintenance/export.rs` exports sources, `ingest/reextract` extracts memories from
//! them again.

use cuebase_storage::memory_file::{MemoryFile, markdown};
use cuebase_storage::records::{NamespaceRecord, QueueEntry, QueuedWork, SourceRecord};
use cuebase_storage::{AccountId, MessageId, NamespaceId, NamespaceName};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::conversations::Conversations;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::conversation::{Conversation, Message};
use crate::memory::time::format_ms;

/// Sources read at a time in a search for those of one session.
const PAGE: usize = 500;
/// Maximum number of memories listed for a source.
const MEMORIES_MAX: usize = 200;

/// Selects the sources of a listing.
#[derive(Clone, Copy, Debug, Default)]
pub struct SourceFilter<'a> {
    /// Only sources of this session.
    pub session_id: Option<&'a str>,
    /// Only sources accepted before this one.
    pub before: Option<MessageId>,
}

/// A memory that was extracted from a source.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ExtractedMemory")]
pub struct ExtractedMemory {
    /// Path of the memory.
    pub path: String,
    /// Title of the memory.
    pub title: String,
    /// Indexes of the messages that the memory comes from.
    pub messages: Vec<u64>,
    /// Whether the memory holds at present.
    pub current: bool,
}

/// A kept conversation.
pub struct KeptSource {
    /// Id of its write.
    pub id: MessageId,
    /// Time of acceptance, milliseconds since the epoch.
    pub accepted_at_ms: i64,
    /// The conversation as it was accepted.
    pub conversation: Conversation,
}

impl KeptSource {
    /// Returns the conversation of a queue entry.
    ///
    /// # Errors
    ///
    /// An internal error if the entry has other work.
    pub fn of(entry: &QueueEntry) -> Result<Self> {
        match &entry.work {
            QueuedWork::Conversation { request } => {
                Ok(Self { id: entry.id, accepted_at_ms: entry.accepted_at_ms, conversation: request.clone() })
            }
            _ => Err(unreadable_source()),
        }
    }

    /// Returns the time of acceptance.
    ///
    /// # Errors
    ///
    /// An internal error if the time is outside the calendar.
    pub fn accepted_at(&self) -> Result<Timestamp> {
        Timestamp::from_millisecond(self.accepted_at_ms).map_err(Error::internal)
    }

    /// Returns the fields that `POST /v1/memories` accepts, and `accepted_at`.
    pub fn body(&self) -> Map<String, Value> {
        let Conversation { messages, session_id, tags, metadata, occurred_at, timezone } = &self.conversation;
        let mut body = Map::new();
        body.insert("messages".into(), messages.iter().map(message_body).collect());
        if let Some(session_id) = session_id {
            body.insert("session_id".into(), json!(session_id));
        }
        if !tags.is_empty() {
            body.insert("tags".into(), json!(tags));
        }
        if !metadata.is_empty() {
            body.insert("metadata".into(), json!(metadata));
        }
        if let Some(moment) = occurred_at {
            body.insert("occurred_at".into(), json!(moment.text()));
        }
        if let Some(timezone) = timezone {
            body.insert("timezone".into(), json!(timezone));
        }
        body.insert("accepted_at".into(), json!(format_ms(self.accepted_at_ms)));
        body
    }
}

/// Returns a message as `POST /v1/memories` accepts it. Its text parts are joined.
fn message_body(message: &Message) -> Value {
    let Message { role, name, text, references, occurred_at, store } = message;
    let mut body = Map::new();
    body.insert("role".into(), json!(role));
    if let Some(name) = name {
        body.insert("name".into(), json!(name));
    }
    let content = if references.is_empty() {
        json!(text)
    } else {
        let mut parts = Vec::with_capacity(references.len() + 1);
        if !text.is_empty() {
            parts.push(json!({"type": "text", "text": text}));
        }
        parts.extend_from_slice(references);
        Value::Array(parts)
    };
    body.insert("content".into(), content);
    if let Some(moment) = occurred_at {
        body.insert("occurred_at".into(), json!(moment.text()));
    }
    if !store {
        body.insert("store".into(), json!(store));
    }
    Value::Object(body)
}

impl Conversations {
    /// Returns up to `limit` sources of a namespace, newest first.
    pub fn sources(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        filter: SourceFilter<'_>,
        limit: usize,
    ) -> Result<Vec<SourceRecord>> {
        let namespace = self.namespaces.existing(account, namespace)?;
        let Some(session_id) = filter.session_id else {
            return Ok(self.store.sources(namespace.id, filter.before, limit)?);
        };
        let mut found = Vec::new();
        let mut before = filter.before;
        loop {
            let page = self.store.sources(namespace.id, before, PAGE)?;
            let Some(last) = page.last() else { return Ok(found) };
            before = Some(last.id);
            for record in page {
                if record.session_id.as_deref() == Some(session_id) {
                    found.push(record);
                }
                if found.len() == limit {
                    return Ok(found);
                }
            }
        }
    }

    /// Returns a source of a namespace.
    pub fn source(&self, namespace: &NamespaceRecord, id: &str) -> Result<KeptSource> {
        match self.store.source(namespace.id, source_id(id)?)? {
            Some(entry) => KeptSource::of(&entry),
            None => Err(no_source()),
        }
    }

    /// Returns the memories that were extracted from a source and still exist, up to 200.
    pub fn source_memories(&self, namespace: &NamespaceRecord, id: MessageId) -> Result<Vec<ExtractedMemory>> {
        let mut memories = Vec::new();
        let Some(paths) = self.store.source_paths(namespace.id, id)? else { return Ok(memories) };
        let lease = self.namespaces.lease_key(&namespace.key())?;
        let write = id.to_string();
        let now_ms = self.intake.clock.now_ms();
        for path in paths {
            if memories.len() == MEMORIES_MAX {
                break;
            }
            let read = lease.read_at_head(|repository, head| Ok(repository.read(head, &path)?))?;
            let Some(bytes) = read else { continue };
            let Ok(file) = MemoryFile::parse(&bytes) else { continue };
            let mut messages = Vec::new();
            for source in &file.front.sources {
                if source.write.as_ref() == Some(&write) {
                    messages.push(source.message);
                }
            }
            if messages.is_empty() {
                continue;
            }
            let validity = lease.read(|snapshot| snapshot.validity_of(&path, now_ms, None))?;
            memories.push(ExtractedMemory {
                title: markdown::title(&file.body),
                messages,
                current: validity.is_none_or(|state| state.current),
                path,
            });
        }
        Ok(memories)
    }

    /// Deletes a source and returns its id. The deletion is durable when this returns. The memories extracted from the
    /// source stay.
    pub fn delete_source(&self, namespace: &NamespaceRecord, id: &str) -> Result<MessageId> {
        let id = source_id(id)?;
        let generation = self.store.generation();
        // Under the writer's lock, so that an ingestion that ends at the same time does not store the source again.
        let key = namespace.key();
        let deleted = self.namespaces.with_writes_paused(namespace, || self.store.delete_source(&key, id))?;
        if !deleted {
            return Err(no_source());
        }
        self.store.sync_since(generation)?;
        Ok(id)
    }

    /// Returns the ids of the sources of a session that were accepted after an id.
    pub(super) fn session_sources(
        &self,
        namespace: NamespaceId,
        session_id: &str,
        mut after: MessageId,
    ) -> Result<Vec<MessageId>> {
        let mut found = Vec::new();
        loop {
            let page = self.store.sources_after(namespace, Some(after), PAGE)?;
            let Some(last) = page.last() else { return Ok(found) };
            after = last.id;
            for record in page {
                if record.session_id.as_deref() == Some(session_id) {
                    found.push(record.id);
                }
            }
        }
    }
}

fn unreadable_source() -> Error {
    Error::internal("this version cannot read a kept conversation")
}

fn source_id(text: &str) -> Result<MessageId> {
    text.parse().map_err(|_| no_source())
}

fn no_source() -> Error {
    Error::not_found(ErrorCode::NotFound, "no kept conversation has that id: use the id of an ingested write")
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::memory::request::conversation;

    #[test]
    fn the_body_of_a_source_reads_back_as_the_same_conversation() {
        let body = json!({
            "messages": [
                {"role": "user", "name": "Ann", "content": "The ferry leaves at nine", "occurred_at": "2026-03-10"},
                {"role": "assistant", "content": [
                    {"type": "text", "text": "From"}, {"type": "media", "id": "m1"}, {"type": "text", "text": "Oban"},
                ]},
                {"role": "tool", "content": [{"type": "media", "id": "m2"}]},
                {"role": "user", "content": "", "occurred_at": 1_773_136_800.5},
            ],
            "session_id": "s1", "tags": ["Trip", "family"], "timezone": "Europe/Paris",
            "occurred_at": "2026-03-10T09:30:00", "metadata": {"team": "blue", "size": 4, "paid": true},
        });
        let Value::Object(body) = body else { panic!("an object") };
        let accepted = conversation(&body).expect("a conversation");
        let kept = KeptSource { id: MessageId::default(), accepted_at_ms: 0, conversation: accepted.clone() };
        assert_eq!(conversation(&kept.body()).expect("reads back"), accepted);
    }
}
