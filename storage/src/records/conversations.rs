//! Managed conversations: a tree of messages with named branches.

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::namespaces::{NamespaceRecord, key};
use super::queue_entry::{self, QueueEntry};
use super::store::{Store, decode, encode};
use super::usage::{self, UsageRecord};
use crate::error::Result;
use crate::identity::{AccountId, NamespaceId, NamespaceName};
use crate::key_value::columns::prefixed_key;
use crate::key_value::{Batch, Column, Durability};

/// A conversation without its messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationRecord {
    /// The conversation id.
    pub id: Ulid,
    /// The owning account.
    pub account: AccountId,
    /// The namespace that stores the conversation.
    pub namespace: NamespaceName,
    /// The id of the namespace.
    pub namespace_id: NamespaceId,
    /// The title.
    pub title: String,
    /// Name of the active branch.
    pub branch: String,
    /// All branches, oldest first.
    pub branches: Vec<BranchRecord>,
    /// Creation time, milliseconds since the epoch.
    pub created_at_ms: i64,
    /// Time of the last change, milliseconds since the epoch.
    pub updated_at_ms: i64,
}

/// A branch: a named leaf of the message tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchRecord {
    /// The branch name.
    pub name: String,
    /// The last message. `None` in an empty conversation.
    pub head: Option<Ulid>,
    /// Number of messages from the root to `head`.
    pub messages: u64,
    /// The last message shared with the branch that this one was forked from.
    pub forked_from: Option<Ulid>,
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageRecord {
    /// The message id.
    pub id: Ulid,
    /// The preceding message.
    pub parent: Option<Ulid>,
    /// Role, content and further fields, exactly as the client sent them.
    pub body: serde_json::Map<String, serde_json::Value>,
    /// Creation time, milliseconds since the epoch.
    pub created_at_ms: i64,
    /// Time of the last edit in place, milliseconds since the epoch.
    pub edited_at_ms: Option<i64>,
}

impl Store {
    /// Returns a conversation of an account. `None` if it is missing or its namespace was deleted.
    pub fn conversation(&self, account: &AccountId, id: Ulid) -> Result<Option<ConversationRecord>> {
        let key = prefixed_key(&[account.as_str()], &id.to_bytes());
        let Some(record) = self.get_record::<ConversationRecord>(Column::Conversations, &key)? else { return Ok(None) };
        let is_live = self.is_live(account, &record.namespace, record.namespace_id)?;
        Ok(if is_live { Some(record) } else { None })
    }

    /// Returns up to `limit` conversations of a namespace that are older than `before`, newest first.
    pub fn conversations(
        &self,
        namespace: &NamespaceRecord,
        before: Option<Ulid>,
        limit: usize,
    ) -> Result<Vec<ConversationRecord>> {
        let prefix = namespace.id.to_bytes();
        let before = before.map(|id| key(namespace.id, &id.to_bytes()));
        let mut records = Vec::new();
        for (listed, _) in self.kv.scan_back(Column::ConversationsByNamespace, &prefix, before.as_deref(), limit)? {
            let record_key = prefixed_key(&[namespace.account.as_str()], &listed[prefix.len()..]);
            records.extend(self.get_record::<ConversationRecord>(Column::Conversations, &record_key)?);
        }
        Ok(records)
    }

    /// Writes the record of a conversation, the given messages, and the queue entry to be ingested with its meter, in
    /// one batch. The write is buffered: the caller calls [`Store::sync_since`] after it has released its locks.
    pub fn put_conversation(
        &self,
        namespace: &NamespaceRecord,
        record: &ConversationRecord,
        messages: &[MessageRecord],
        ingested: Option<(&QueueEntry, Option<&UsageRecord>)>,
    ) -> Result<()> {
        let mut batch = Batch::new();
        let id = record.id.to_bytes();
        batch.put(Column::Conversations, prefixed_key(&[record.account.as_str()], &id), encode(record)?);
        batch.put(Column::ConversationsByNamespace, key(record.namespace_id, &id), "");
        let mut newest = record.id;
        for message in messages {
            batch.put(Column::Messages, [id, message.id.to_bytes()].concat(), encode(message)?);
            newest = newest.max(message.id);
        }
        if let Some((entry, usage)) = ingested {
            queue_entry::put(&mut batch, entry)?;
            newest = newest.max(entry.id.into());
            if let Some(usage) = usage {
                usage::put(&mut batch, usage)?;
            }
        }
        self.record_id(&mut batch, newest);
        self.write_if_live(namespace, &batch)
    }

    /// Returns a message of a conversation.
    pub fn message(&self, conversation: Ulid, id: Ulid) -> Result<Option<MessageRecord>> {
        self.get_record(Column::Messages, &[conversation.to_bytes(), id.to_bytes()].concat())
    }

    /// Returns all messages of a conversation, on all branches, oldest first.
    pub fn messages(&self, conversation: Ulid) -> Result<Vec<MessageRecord>> {
        let entries = self.kv.scan(Column::Messages, &conversation.to_bytes(), None, usize::MAX)?;
        entries.iter().map(|(_, value)| decode(Column::Messages, value)).collect()
    }

    /// Deletes a conversation with its messages.
    pub fn delete_conversation(&self, record: &ConversationRecord) -> Result<()> {
        let id = record.id.to_bytes();
        let mut batch = Batch::new();
        batch.delete(Column::Conversations, prefixed_key(&[record.account.as_str()], &id));
        batch.delete(Column::ConversationsByNamespace, key(record.namespace_id, &id));
        batch.delete_prefix(Column::Messages, id.to_vec());
        self.kv.write(&batch, Durability::Synced)
    }
}
