//! Namespaces: creation, conditional writes and deletion, with the commit up to which each can be retrieved from.
//!
//! A namespace has a name, which may be reused after a deletion, and an id, which is never reused. Keys and folders
//! contain the id. A write to a namespace is conditional: it fails with [`Error::NamespaceGone`](crate::Error) if the
//! namespace with that id was deleted after the caller looked it up (see [`Column::LiveNamespaces`]). No data of a
//! deleted namespace can therefore reach its successor.
//!
//! Deletion has two steps. [`Store::retire_namespace`] writes one small batch, after which the namespace does not
//! exist. [`Store::remove_records`] then deletes its records in the other columns, in several batches. It can be
//! repeated until [`Store::finish_removal`].

use serde::{Deserialize, Serialize};

use super::backup_hold;
use super::queue_entry::queue_prefix;
use super::store::{Store, decode, encode};
use crate::error::{Error, Result};
use crate::git::CommitId;
use crate::identity::{AccountId, NamespaceId, NamespaceKey, NamespaceName};
use crate::key_value::columns::{joined, prefixed_key};
use crate::key_value::{Batch, Column, Durability};

/// Maximum number of records that one batch of a removal deletes.
pub(super) const REMOVAL_BATCH_RECORDS: usize = 1000;

/// A namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceRecord {
    /// The owning account.
    pub account: AccountId,
    /// The name, `[a-z0-9-]{1,64}`.
    pub name: NamespaceName,
    /// The namespace id.
    pub id: NamespaceId,
    /// Creation time, milliseconds since the epoch.
    pub created_at_ms: i64,
    /// Time of the last change of the head, milliseconds since the epoch.
    pub updated_at_ms: i64,
    /// Number of memories.
    pub memories: u64,
    /// The recorded head. All commits up to this one are indexed.
    pub head: Option<CommitId>,
    /// Number of memories whose cues are not embedded yet.
    #[serde(default)]
    pub waiting: u64,
    /// Number of commits whose changed paths are in [`Column::Revisions`].
    #[serde(default)]
    pub commits: u64,
    /// The parent of the first of these commits, if the history is longer: set for namespaces created in format 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history_base: Option<CommitId>,
}

impl NamespaceRecord {
    /// Creates the record of an empty namespace.
    pub fn new(account: &AccountId, name: &NamespaceName, id: NamespaceId, now_ms: i64) -> Self {
        Self {
            account: account.clone(),
            name: name.clone(),
            id,
            created_at_ms: now_ms,
            updated_at_ms: now_ms,
            memories: 0,
            head: None,
            waiting: 0,
            commits: 0,
            history_base: None,
        }
    }

    /// Returns the identity of the namespace.
    pub fn key(&self) -> NamespaceKey {
        NamespaceKey { account: self.account.clone(), name: self.name.clone(), id: self.id }
    }
}

/// A deleted namespace whose files or records are not fully removed yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovalRecord {
    /// The account that owned the namespace.
    pub account: AccountId,
    /// The name of the namespace.
    pub name: NamespaceName,
    /// The id of the namespace.
    pub id: NamespaceId,
}

/// The result of [`Store::create_namespace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    /// The namespace was created.
    Created,
    /// A namespace of that name already existed.
    Existing,
}

impl Store {
    /// Returns a namespace. `None` if it does not exist.
    pub fn namespace(&self, account: &AccountId, name: &NamespaceName) -> Result<Option<NamespaceRecord>> {
        self.get_record(Column::Namespaces, &joined(account, name))
    }

    /// Whether the namespace with an id exists.
    pub fn is_live(&self, id: NamespaceId) -> Result<bool> {
        Ok(self.kv.get(Column::LiveNamespaces, &id.to_bytes())?.is_some())
    }

    /// Creates a namespace, or returns the existing one of that name. The namespace is durable on return.
    pub fn create_namespace(&self, wanted: &NamespaceRecord) -> Result<(NamespaceRecord, Creation)> {
        let generation = self.kv.generation();
        let created = self.find_or_create(wanted)?;
        // Synced even if the namespace existed: the sync of a concurrent creation may not be complete.
        self.kv.sync_since(generation)?;
        Ok(created)
    }

    fn find_or_create(&self, wanted: &NamespaceRecord) -> Result<(NamespaceRecord, Creation)> {
        loop {
            if let Some(record) = self.namespace(&wanted.account, &wanted.name)? {
                return Ok((record, Creation::Existing));
            }
            let mut batch = self.batch();
            batch.create(Column::Namespaces, &joined(&wanted.account, &wanted.name), wanted)?;
            put_live(&mut batch.changes, wanted.id);
            // A concurrent creation of the name may be first. The next round finds it, unless it was deleted again.
            if self.commit_if_current(batch)? {
                return Ok((wanted.clone(), Creation::Created));
            }
        }
    }

    /// Writes the record of an existing namespace. Buffered.
    pub fn put_namespace(&self, record: &NamespaceRecord) -> Result<()> {
        let mut batch = self.batch();
        batch.require_live(record);
        put(&mut batch.changes, record)?;
        self.commit(batch)
    }

    /// Returns up to `limit` namespaces of an account with names greater than `after`, ordered by name. Logs and omits
    /// records that cannot be decoded, so that they do not hide the others.
    pub fn namespaces(&self, account: &AccountId, after: Option<&str>, limit: usize) -> Result<Vec<NamespaceRecord>> {
        let prefix = joined(account, "");
        let after = after.map(|name| joined(account, name));
        let mut records = Vec::new();
        for (key, value) in self.kv.scan(Column::Namespaces, &prefix, after.as_deref(), limit)? {
            match decode(Column::Namespaces, &value) {
                Ok(record) => records.push(record),
                Err(error) => {
                    let key = String::from_utf8_lossy(&key).replace('\0', "/");
                    tracing::error!(%error, namespace = ?key, "cannot decode the record of a namespace");
                }
            }
        }
        Ok(records)
    }

    /// Returns the accounts that have at least one namespace.
    pub fn accounts_with_namespaces(&self) -> Result<Vec<AccountId>> {
        let mut accounts: Vec<AccountId> = Vec::new();
        for (key, _) in self.kv.scan(Column::Namespaces, b"", None, usize::MAX)? {
            let account = AccountId::at_start_of(&key);
            // In key order, the namespaces of an account are consecutive.
            if accounts.last() != Some(&account) {
                accounts.push(account);
            }
        }
        Ok(accounts)
    }

    /// Deletes a namespace. The deletion is durable on return. Returns false if it was already deleted. Until its
    /// records and files are removed, [`Store::pending_removals`] lists it.
    ///
    /// # Errors
    /// [`Error::BackupInProgress`] if several nodes share the database and one of them makes a backup.
    pub fn retire_namespace(&self, record: &NamespaceRecord) -> Result<bool> {
        let generation = self.kv.generation();
        let removal = RemovalRecord { account: record.account.clone(), name: record.name.clone(), id: record.id };
        let mut batch = self.batch();
        batch.require_live(record);
        self.expect_no_backup(&mut batch.changes)?;
        batch.changes.delete(Column::LiveNamespaces, record.id.to_bytes());
        batch.changes.delete(Column::Namespaces, joined(&record.account, &record.name));
        batch.changes.put(Column::Removals, record.id.to_bytes(), encode(&removal)?);
        match self.commit(batch).map_err(backup_hold::explained) {
            Ok(()) => {}
            Err(Error::ConditionFailed { .. } | Error::NamespaceGone(_)) => return Ok(false),
            Err(error) => return Err(error),
        }
        self.kv.sync_since(generation)?;
        Ok(true)
    }

    /// Returns the deleted namespaces whose records or files may not be fully removed.
    pub fn pending_removals(&self) -> Result<Vec<RemovalRecord>> {
        let mut removals = Vec::new();
        for (key, value) in self.kv.scan(Column::Removals, b"", None, usize::MAX)? {
            match decode(Column::Removals, &value) {
                Ok(removal) => removals.push(removal),
                Err(_) => self.set_aside(Column::Removals, &key)?,
            }
        }
        Ok(removals)
    }

    /// Deletes the records of a deleted namespace. Can be repeated.
    pub fn remove_records(&self, removal: &RemovalRecord) -> Result<()> {
        self.remove_conversations(removal)?;
        self.remove_media(removal.id)?;
        self.drop_dead_letters_of(&removal.account, removal.id)?;
        let mut batch = Batch::new();
        self.keep_newest_id(&mut batch, removal.id)?;
        for column in Column::BY_NAMESPACE {
            batch.delete_prefix(*column, removal.id.to_bytes().to_vec());
        }
        batch.delete_prefix(Column::Queue, queue_prefix(&removal.account, removal.id));
        self.kv.write(&batch, Durability::Buffered)
    }

    fn remove_conversations(&self, removal: &RemovalRecord) -> Result<()> {
        let prefix = removal.id.to_bytes();
        loop {
            let listed = self.kv.scan(Column::ConversationsByNamespace, &prefix, None, REMOVAL_BATCH_RECORDS)?;
            if listed.is_empty() {
                return Ok(());
            }
            let mut batch = Batch::new();
            for (key, _) in listed {
                let conversation = &key[prefix.len()..];
                batch.delete(Column::Conversations, prefixed_key(&[removal.account.as_str()], conversation));
                batch.delete_prefix(Column::Messages, conversation.to_vec());
                batch.delete(Column::ConversationsByNamespace, key);
            }
            self.kv.write(&batch, Durability::Buffered)?;
        }
    }

    fn remove_media(&self, namespace: NamespaceId) -> Result<()> {
        let prefix = namespace.to_bytes();
        loop {
            let listed = self.kv.scan(Column::MediaByNamespace, &prefix, None, REMOVAL_BATCH_RECORDS)?;
            if listed.is_empty() {
                return Ok(());
            }
            let mut batch = Batch::new();
            for (key, _) in listed {
                batch.delete(Column::Media, &key[prefix.len()..]);
                batch.delete(Column::MediaByNamespace, key);
            }
            self.kv.write(&batch, Durability::Buffered)?;
        }
    }

    /// Records that a deleted namespace is fully removed.
    pub fn finish_removal(&self, id: NamespaceId) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete(Column::Removals, id.to_bytes());
        self.kv.write(&batch, Durability::Buffered)
    }
}

pub(super) fn put(batch: &mut Batch, record: &NamespaceRecord) -> Result<()> {
    batch.put(Column::Namespaces, joined(&record.account, &record.name), encode(record)?);
    Ok(())
}

/// Records that a namespace exists.
pub(super) fn put_live(batch: &mut Batch, id: NamespaceId) {
    batch.put(Column::LiveNamespaces, id.to_bytes(), "");
}

/// Returns a key of a namespace's data: the namespace id, then `rest`.
pub(super) fn key(id: NamespaceId, rest: &[u8]) -> Vec<u8> {
    [&id.to_bytes(), rest].concat()
}
