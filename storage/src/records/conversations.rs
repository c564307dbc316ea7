//! Managed conversations: a tree of messages with named branches.

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::queue::QueueEntry;
use super::{Store, UsageRecord, decode, encode, usage};
use crate::error::Result;
use crate::key_value::columns::{below, prefix};
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
    /// A conversation of an account.
    pub fn conversation(&self, account: &str, id: Ulid) -> Result<Option<ConversationRecord>> {
        let found = self.kv.get(Column::Conversations, &below(&[account], &id.to_bytes()))?;
        found.map(|bytes| decode(Column::Conversations, &bytes)).transpose()
    }

    /// A namespace's conversations, newest first, those made before the given one.
    pub fn conversations(
        &self,
        account: &str,
        namespace: &str,
        before: Option<Ulid>,
        limit: usize,
    ) -> Result<Vec<ConversationRecord>> {
        let prefix = prefix(&[account, namespace]);
        let before = before.map(|id| below(&[account, namespace], &id.to_bytes()));
        let mut found = Vec::new();
        for (key, _) in self.kv.scan_back(Column::ConversationsByNamespace, &prefix, before.as_deref(), limit)? {
            let value = self.kv.get(Column::Conversations, &below(&[account], &key[prefix.len()..]))?;
            found.extend(value.map(|bytes| decode(Column::Conversations, &bytes)).transpose()?);
        }
        Ok(found)
    }

    /// Writes a conversation's record and some of its messages, with the write to be ingested and its meter, in one
    /// synced batch.
    pub fn put_conversation(
        &self,
        record: &ConversationRecord,
        messages: &[MessageRecord],
        ingested: Option<(&QueueEntry, Option<&UsageRecord>)>,
    ) -> Result<()> {
        let mut batch = Batch::new();
        let id = record.id.to_bytes();
        batch.put(Column::Conversations, below(&[&record.account], &id), encode(record)?);
        batch.put(Column::ConversationsByNamespace, below(&[&record.account, &record.namespace], &id), "");
        for message in messages {
            batch.put(Column::Messages, [id, message.id.to_bytes()].concat(), encode(message)?);
        }
        if let Some((entry, used)) = ingested {
            batch.put(Column::Queue, entry.id.to_bytes(), encode(entry)?);
            used.map_or(Ok(()), |used| usage::put(&mut batch, used))?;
        }
        self.kv.write(&batch, Durability::Synced)
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
        let mut batch = Batch::new();
        self.drop_conversation(&mut batch, &record.account, &record.namespace, &record.id.to_bytes())?;
        self.kv.write(&batch, Durability::Synced)
    }

    /// Removes a namespace's conversations, in a batch.
    pub(super) fn drop_conversations(&self, batch: &mut Batch, account: &str, namespace: &str) -> Result<()> {
        let prefix = prefix(&[account, namespace]);
        for (key, _) in self.kv.scan(Column::ConversationsByNamespace, &prefix, None, usize::MAX)? {
            self.drop_conversation(batch, account, namespace, &key[prefix.len()..])?;
        }
        Ok(())
    }

    fn drop_conversation(&self, batch: &mut Batch, account: &str, namespace: &str, id: &[u8]) -> Result<()> {
        batch.delete(Column::Conversations, below(&[account], id));
        batch.delete(Column::ConversationsByNamespace, below(&[account, namespace], id));
        for (key, _) in self.kv.scan(Column::Messages, id, None, usize::MAX)? {
            batch.delete(Column::Messages, key);
        }
        Ok(())
    }
}
