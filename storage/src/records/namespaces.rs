//! Namespaces: what exists, and up to which commit it can be retrieved from.

use serde::{Deserialize, Serialize};

use super::{Store, decode, encode, vectors};
use crate::error::Result;
use crate::key_value::columns::{joined, prefix};
use crate::key_value::{Batch, Column, Durability};

/// What is known of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceRecord {
    /// The owning account.
    pub account: String,
    /// `[a-z0-9-]{1,64}`.
    pub name: String,
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
}

impl Store {
    /// The namespace, if it was created.
    pub fn namespace(&self, account: &str, name: &str) -> Result<Option<NamespaceRecord>> {
        let found = self.kv.get(Column::Namespaces, &joined(account, name))?;
        found.map(|bytes| decode(Column::Namespaces, &bytes)).transpose()
    }

    /// Creates or rewrites a namespace's record.
    pub fn put_namespace(&self, record: &NamespaceRecord, durability: Durability) -> Result<()> {
        let mut batch = Batch::new();
        put(&mut batch, record)?;
        self.kv.write(&batch, durability)
    }

    /// Up to `limit` namespaces of an account, by name, after the given one.
    pub fn namespaces(&self, account: &str, after: Option<&str>, limit: usize) -> Result<Vec<NamespaceRecord>> {
        let prefix = joined(account, "");
        let after = after.map(|name| joined(account, name));
        let entries = self.kv.scan(Column::Namespaces, &prefix, after.as_deref(), limit)?;
        entries.iter().map(|(_, value)| decode(Column::Namespaces, value)).collect()
    }

    /// Takes a namespace out of every listing, with its vocabulary, conversations and media, and drops its queued and
    /// dead work, in one step; its files are removed afterwards, and [`Store::finish_deletion`] says so. Returns false when there is no such namespace.
    pub fn begin_deletion(&self, account: &str, name: &str) -> Result<bool> {
        let key = joined(account, name);
        if self.kv.get(Column::Namespaces, &key)?.is_none() {
            return Ok(false);
        }
        let mut batch = Batch::new();
        batch.delete(Column::Namespaces, key.clone());
        batch.put(Column::Deletions, key, "");
        self.each_queue_entry(|entry| {
            if entry.account == account && entry.namespace == name {
                batch.delete(Column::Queue, entry.id.to_bytes());
            }
        })?;
        for letter in self.dead_letters()? {
            if letter.entry.account == account && letter.entry.namespace == name {
                batch.delete(Column::DeadLetters, letter.entry.id.to_bytes());
            }
        }
        for column in [Column::Vocab, Column::VocabForms, Column::Imports] {
            for (key, _) in self.kv.scan(column, &prefix(&[account, name]), None, usize::MAX)? {
                batch.delete(column, key);
            }
        }
        self.drop_conversations(&mut batch, account, name)?;
        self.drop_media(&mut batch, account, name)?;
        // Which of the account's vectors are of this namespace is not known; any of them can be made again.
        vectors::drop_all(&mut batch, account);
        self.kv.write(&batch, Durability::Synced)?;
        Ok(true)
    }

    /// Deletions whose files may still be there, as (account, namespace).
    pub fn pending_deletions(&self) -> Result<Vec<(String, String)>> {
        let entries = self.kv.scan(Column::Deletions, b"", None, usize::MAX)?;
        let split = |key: Vec<u8>| {
            let text = String::from_utf8(key).ok()?;
            text.split_once('\0').map(|(account, name)| (account.to_owned(), name.to_owned()))
        };
        Ok(entries.into_iter().filter_map(|(key, _)| split(key)).collect())
    }

    /// The files of a deleted namespace are gone.
    pub fn finish_deletion(&self, account: &str, name: &str) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete(Column::Deletions, joined(account, name));
        self.kv.write(&batch, Durability::Synced)
    }
}

pub(super) fn put(batch: &mut Batch, record: &NamespaceRecord) -> Result<()> {
    batch.put(Column::Namespaces, joined(&record.account, &record.name), encode(record)?);
    Ok(())
}
