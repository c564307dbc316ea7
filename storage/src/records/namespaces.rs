//! Namespaces: what exists, and up to which commit it can be retrieved from.
//!
//! A namespace has a name, which is used again after a deletion, and an id, which never is. Keys and folders are named by
//! the id. A write to a namespace is conditional: it fails with [`Error::NamespaceGone`] where the namespace with that id
//! was deleted since it was looked up, so nothing of a deleted namespace reaches its successor.
//!
//! Deleting takes two steps. [`Store::retire_namespace`] is one small batch: from then on the namespace does not exist.
//! [`Store::remove_records`] then removes what is left of it in the other columns, in as many batches as it takes, and
//! can be repeated until [`Store::finish_removal`].

use std::fmt;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::{Store, decode, encode};
use crate::error::{Error, Result};
use crate::key_value::columns::{below, joined};
use crate::key_value::{Batch, Column, Durability};

/// Records that one batch of a removal takes away at most.
const REMOVAL_BATCH: usize = 1000;

/// The identity of one creation of a namespace. A namespace that is deleted and created again has another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NamespaceId(Ulid);

impl NamespaceId {
    /// An id from a ULID.
    pub fn new(id: Ulid) -> Self {
        Self(id)
    }

    /// As it begins the keys of what belongs to the namespace.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_bytes()
    }
}

impl fmt::Display for NamespaceId {
    /// Lowercase, as it stands in the names of folders.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_string().to_lowercase())
    }
}

/// What is known of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceRecord {
    /// The owning account.
    pub account: String,
    /// `[a-z0-9-]{1,64}`.
    pub name: String,
    /// Its identity.
    pub id: NamespaceId,
    /// Milliseconds since the epoch.
    pub created_at_ms: i64,
    /// When the head last moved, milliseconds since the epoch.
    pub updated_at_ms: i64,
    /// How many memories it holds.
    pub memories: u64,
    /// The recorded head, a commit id in hex: every commit up to here can be retrieved from.
    pub head: Option<String>,
    /// How many memories wait for vectors of their cues.
    #[serde(default)]
    pub waiting: u64,
    /// Commits whose changed paths are in [`Column::Revisions`].
    #[serde(default)]
    pub commits: u64,
    /// The commit before the first of those, where the history is longer: of a namespace from before format 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history_base: Option<String>,
}

impl NamespaceRecord {
    /// A namespace with nothing in it.
    pub fn new(account: &str, name: &str, id: NamespaceId, now_ms: i64) -> Self {
        Self {
            account: account.to_owned(),
            name: name.to_owned(),
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
}

/// A deleted namespace with files or records that are still to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovalRecord {
    /// The account that owned it.
    pub account: String,
    /// What it was called.
    pub name: String,
    /// Its identity.
    pub id: NamespaceId,
}

/// Whether a creation made a namespace or found one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    /// There was none of that name.
    Made,
    /// It was there.
    Found,
}

impl Store {
    /// The namespace, if it was created.
    pub fn namespace(&self, account: &str, name: &str) -> Result<Option<NamespaceRecord>> {
        let found = self.kv.get(Column::Namespaces, &joined(account, name))?;
        found.map(|bytes| decode(Column::Namespaces, &bytes)).transpose()
    }

    /// Whether the namespace of that name is still the one with that id.
    pub fn is_live(&self, account: &str, name: &str, id: NamespaceId) -> Result<bool> {
        Ok(self.namespace(account, name)?.is_some_and(|record| record.id == id))
    }

    /// Creates a namespace unless there is one of that name; durable when this returns.
    pub fn create_namespace(&self, wanted: &NamespaceRecord) -> Result<(NamespaceRecord, Creation)> {
        let opening = self.kv.opening();
        let created = self.put_if_absent(wanted)?;
        // Also where another call made it a moment ago: its sync may not have ended.
        self.kv.sync_since(opening)?;
        Ok(created)
    }

    fn put_if_absent(&self, wanted: &NamespaceRecord) -> Result<(NamespaceRecord, Creation)> {
        let _held = self.live.write();
        if let Some(record) = self.namespace(&wanted.account, &wanted.name)? {
            return Ok((record, Creation::Found));
        }
        let mut batch = Batch::new();
        put(&mut batch, wanted)?;
        self.kv.write(&batch, Durability::Buffered)?;
        Ok((wanted.clone(), Creation::Made))
    }

    /// Rewrites a namespace's record. Buffered.
    pub fn put_namespace(&self, record: &NamespaceRecord) -> Result<()> {
        let mut batch = Batch::new();
        put(&mut batch, record)?;
        self.write_live(record, &batch)
    }

    /// Applies a batch of changes to a namespace, buffered, unless the namespace was deleted since it was looked up.
    pub(super) fn write_live(&self, namespace: &NamespaceRecord, batch: &Batch) -> Result<()> {
        let _held = self.live.read();
        if !self.is_live(&namespace.account, &namespace.name, namespace.id)? {
            return Err(Error::NamespaceGone(namespace.name.clone()));
        }
        self.kv.write(batch, Durability::Buffered)
    }

    /// Up to `limit` namespaces of an account, by name, after the given one. A record that cannot be decoded is left out
    /// and logged: it must not hide the others.
    pub fn namespaces(&self, account: &str, after: Option<&str>, limit: usize) -> Result<Vec<NamespaceRecord>> {
        let prefix = joined(account, "");
        let after = after.map(|name| joined(account, name));
        let mut records = Vec::new();
        for (key, value) in self.kv.scan(Column::Namespaces, &prefix, after.as_deref(), limit)? {
            match decode(Column::Namespaces, &value) {
                Ok(record) => records.push(record),
                Err(error) => {
                    let key = String::from_utf8_lossy(&key).replace('\0', "/");
                    tracing::error!(%error, namespace = ?key, "the record of a namespace cannot be decoded");
                }
            }
        }
        Ok(records)
    }

    /// The accounts that have a namespace.
    pub fn accounts_of_namespaces(&self) -> Result<Vec<String>> {
        let mut accounts: Vec<String> = Vec::new();
        for (key, _) in self.kv.scan(Column::Namespaces, b"", None, usize::MAX)? {
            let end = key.iter().position(|byte| *byte == 0).unwrap_or(key.len());
            let account = String::from_utf8_lossy(&key[..end]).into_owned();
            // In the order of keys, so an account's namespaces stand together.
            if accounts.last() != Some(&account) {
                accounts.push(account);
            }
        }
        Ok(accounts)
    }

    /// Deletes a namespace: durable when this returns. False where it was deleted already. What it leaves in other
    /// columns and on disk is listed by [`Store::pending_removals`].
    pub fn retire_namespace(&self, record: &NamespaceRecord) -> Result<bool> {
        let opening = self.kv.opening();
        {
            let _held = self.live.write();
            if !self.is_live(&record.account, &record.name, record.id)? {
                return Ok(false);
            }
            let removal = RemovalRecord { account: record.account.clone(), name: record.name.clone(), id: record.id };
            let mut batch = Batch::new();
            batch.delete(Column::Namespaces, joined(&record.account, &record.name));
            batch.put(Column::Removals, record.id.to_bytes(), encode(&removal)?);
            self.kv.write(&batch, Durability::Buffered)?;
        }
        self.kv.sync_since(opening)?;
        Ok(true)
    }

    /// Deleted namespaces of which something may be left.
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

    /// Removes the records of a deleted namespace. Can be repeated.
    pub fn remove_records(&self, removal: &RemovalRecord) -> Result<()> {
        let id = removal.id.to_bytes();
        while let conversations @ [_, ..] =
            self.kv.scan(Column::ConversationsByNamespace, &id, None, REMOVAL_BATCH)?.as_slice()
        {
            let mut batch = Batch::new();
            for (key, _) in conversations {
                let conversation = &key[id.len()..];
                batch.delete(Column::Conversations, below(&[&removal.account], conversation));
                batch.delete_below(Column::Messages, conversation.to_vec());
                batch.delete(Column::ConversationsByNamespace, key.clone());
            }
            self.kv.write(&batch, Durability::Buffered)?;
        }
        while let media @ [_, ..] = self.kv.scan(Column::MediaByNamespace, &id, None, REMOVAL_BATCH)?.as_slice() {
            let mut batch = Batch::new();
            for (key, _) in media {
                batch.delete(Column::Media, &key[id.len()..]);
                batch.delete(Column::MediaByNamespace, key.clone());
            }
            self.kv.write(&batch, Durability::Buffered)?;
        }
        self.drop_dead_letters_of(&removal.account, removal.id)?;
        let mut batch = Batch::new();
        for column in Column::BY_NAMESPACE {
            batch.delete_below(column, id.to_vec());
        }
        self.kv.write(&batch, Durability::Buffered)
    }

    /// Nothing of a deleted namespace is left.
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

/// The key of something that belongs to a namespace.
pub(super) fn key(id: NamespaceId, rest: &[u8]) -> Vec<u8> {
    [&id.to_bytes(), rest].concat()
}
