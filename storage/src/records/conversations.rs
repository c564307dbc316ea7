//! Managed conversations: a tree of messages with named branches.

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::namespaces::key;
use super::queue::QueueEntry;
use super::{NamespaceId, NamespaceRecord, Store, UsageRecord, decode, encode, queue, usage};
use crate::error::Result;
use crate::key_value::columns::below;
use crate::key_value::{Batch, Column, Durability};

/// A conversation without its messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationRecord {
    /// Its id.
    pub id: Ulid,
    /// The owning account.
    pub account: String,
    /// The namespace that it is kept in.
    pub namespace: String,
    /// That namespace's identity.
    pub namespace_id: NamespaceId,
    /// Its title.
    pub title: String,
    /// The active branch's name.
    pub branch: String,
    /// Every branch, the oldest first.
    pub branches: Vec<BranchRecord>,
    /// Milliseconds since the epoch.
    pub created_at_ms: i64,
    /// When anything last changed, milliseconds since the epoch.
    pub updated_at_ms: i64,
}

/// A named leaf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchRecord {
    /// Its name.
    pub name: String,
    /// Its last message; none in an empty conversation.
    pub head: Option<Ulid>,
    /// How many messages lead to it.
    pub messages: u64,
    /// The last message that it shares with the branch that it was made from.
    pub forked_from: Option<Ulid>,
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageRecord {
    /// Its id.
    pub id: Ulid,
    /// The message before it.
    pub parent: Option<Ulid>,
    /// Role, content and whatever else the client sent, as it was sent.
    pub body: serde_json::Map<String, serde_json::Value>,
    /// Milliseconds since the epoch.
    pub created_at_ms: i64,
    /// When it was edited in place, milliseconds since the epoch.
    pub edited_at_ms: Option<i64>,
}

impl Store {
    /// A conversation of an account; none where its namespace was deleted.
    pub fn conversation(&self, account: &str, id: Ulid) -> Result<Option<ConversationRecord>> {
        let found = self.kv.get(Column::Conversations, &below(&[account], &id.to_bytes()))?;
        let Some(bytes) = found else { return Ok(None) };
        let record: ConversationRecord = decode(Column::Conversations, &bytes)?;
        let live = self.is_live(account, &record.namespace, record.namespace_id)?;
        Ok(Some(record).filter(|_| live))
    }

    /// A namespace's conversations, newest first, those made before the given one.
    pub fn conversations(
        &self,
        namespace: &NamespaceRecord,
        before: Option<Ulid>,
        limit: usize,
    ) -> Result<Vec<ConversationRecord>> {
        let prefix = namespace.id.to_bytes();
        let before = before.map(|id| key(namespace.id, &id.to_bytes()));
        let mut found = Vec::new();
        for (listed, _) in self.kv.scan_back(Column::ConversationsByNamespace, &prefix, before.as_deref(), limit)? {
            let id = &listed[prefix.len()..];
            if let Some(bytes) = self.kv.get(Column::Conversations, &below(&[&namespace.account], id))? {
                found.push(decode(Column::Conversations, &bytes)?);
            }
        }
        Ok(found)
    }

    /// Writes a conversation's record and some of its messages, with the write to be ingested and its meter, in one
    /// batch. Buffered: the caller waits for [`Store::sync_since`] once it holds no lock.
    pub fn put_conversation(
        &self,
        namespace: &NamespaceRecord,
        record: &ConversationRecord,
        messages: &[MessageRecord],
        ingested: Option<(&QueueEntry, Option<&UsageRecord>)>,
    ) -> Result<()> {
        let mut batch = Batch::new();
        let id = record.id.to_bytes();
        batch.put(Column::Conversations, below(&[&record.account], &id), encode(record)?);
        batch.put(Column::ConversationsByNamespace, key(record.namespace_id, &id), "");
        let mut newest = record.id;
        for message in messages {
            batch.put(Column::Messages, [id, message.id.to_bytes()].concat(), encode(message)?);
            newest = newest.max(message.id);
        }
        if let Some((entry, used)) = ingested {
            queue::put(&mut batch, entry)?;
            newest = newest.max(entry.id);
            if let Some(used) = used {
                usage::put(&mut batch, used)?;
            }
        }
        self.note_id(&mut batch, newest);
        self.write_live(namespace, &batch)
    }

    /// A message of a conversation.
    pub fn message(&self, conversation: Ulid, id: Ulid) -> Result<Option<MessageRecord>> {
        let found = self.kv.get(Column::Messages, &[conversation.to_bytes(), id.to_bytes()].concat())?;
        found.map(|bytes| decode(Column::Messages, &bytes)).transpose()
    }

    /// Every message of a conversation, on whatever branch, oldest first.
    pub fn messages(&self, conversation: Ulid) -> Result<Vec<MessageRecord>> {
        let entries = self.kv.scan(Column::Messages, &conversation.to_bytes(), None, usize::MAX)?;
        entries.iter().map(|(_, value)| decode(Column::Messages, value)).collect()
    }

    /// Removes a conversation with its messages.
    pub fn delete_conversation(&self, record: &ConversationRecord) -> Result<()> {
        let id = record.id.to_bytes();
        let mut batch = Batch::new();
        batch.delete(Column::Conversations, below(&[&record.account], &id));
        batch.delete(Column::ConversationsByNamespace, key(record.namespace_id, &id));
        batch.delete_below(Column::Messages, id.to_vec());
        self.kv.write(&batch, Durability::Synced)
    }
}
