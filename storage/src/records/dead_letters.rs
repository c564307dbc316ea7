//! Dead letters, which are permanently failed writes, and records that cannot be decoded.
//!
//! A dead letter and its work are two records, so that listing letters does not read request bodies. Letters are keyed
//! by account, so that listing one account does not read the letters of others.

use serde::{Deserialize, Serialize};

use super::namespaces::REMOVAL_BATCH_RECORDS;
use super::queue_entry::{self, QueueEntry, QueuedWork};
use super::store::{Store, decode, encode};
use super::writes::{self, WriteChanges, WriteEnd, WriteOutcome};
use crate::error::Result;
use crate::identity::{AccountId, MessageId, NamespaceId, NamespaceKey, NamespaceName};
use crate::key_value::columns::{prefix, prefixed_key};
use crate::key_value::{Batch, Column, Durability, KeyValuePair};

/// A permanently failed write, without its work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The queue message id.
    pub id: MessageId,
    /// The owning account.
    pub account: AccountId,
    /// The namespace to write to.
    pub namespace: NamespaceName,
    /// The id of the namespace.
    pub namespace_id: NamespaceId,
    /// Kind of the work, see [`QueuedWork::kind`].
    pub kind: String,
    /// Time of acceptance, milliseconds since the epoch.
    pub accepted_at_ms: i64,
    /// Number of failed attempts.
    pub failures: u32,
    /// Time of the permanent failure, milliseconds since the epoch.
    pub died_at_ms: i64,
    /// Total running time of services on the data directory at the permanent failure, in milliseconds.
    pub died_running_ms: u64,
    /// Error message of the last failure.
    pub reason: String,
    /// Error code of the last failure. Letters of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A record that could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableRecord {
    /// The queue message id, if the key contains one.
    pub id: Option<MessageId>,
    /// The original column family.
    pub column: String,
    /// Size of the record in bytes.
    pub bytes: usize,
}

impl DeadLetter {
    /// Creates the dead letter of a queue entry, without an error code.
    pub fn of(entry: &QueueEntry, died_at_ms: i64, died_running_ms: u64, reason: String) -> Self {
        Self {
            id: entry.id,
            account: entry.account.clone(),
            namespace: entry.namespace.clone(),
            namespace_id: entry.namespace_id,
            kind: entry.work.kind().to_owned(),
            accepted_at_ms: entry.accepted_at_ms,
            failures: entry.failures,
            died_at_ms,
            died_running_ms,
            reason,
            error: None,
        }
    }

    /// The namespace of the write.
    pub fn namespace_key(&self) -> NamespaceKey {
        NamespaceKey { account: self.account.clone(), name: self.namespace.clone(), id: self.namespace_id }
    }

    fn key(account: &AccountId, id: MessageId) -> Vec<u8> {
        prefixed_key(&[account.as_str()], &id.to_bytes())
    }

    /// Adds the letter and its work to a batch.
    pub(super) fn put(&self, batch: &mut Batch, work: &QueuedWork) -> Result<()> {
        let key = Self::key(&self.account, self.id);
        batch.put(Column::DeadLetters, key.clone(), encode(self)?);
        batch.put(Column::DeadLetterWork, key, encode(work)?);
        Ok(())
    }

    /// Deletes a letter and its work in a batch.
    pub(super) fn delete(batch: &mut Batch, account: &AccountId, id: MessageId) {
        let key = Self::key(account, id);
        batch.delete(Column::DeadLetters, key.clone());
        batch.delete(Column::DeadLetterWork, key);
    }
}

impl WriteOutcome {
    /// The outcome of a dead letter that is dropped.
    pub(super) fn dropped(letter: &DeadLetter) -> Self {
        Self {
            end: WriteEnd::Dropped,
            attempts: letter.failures,
            finished_at_ms: letter.died_at_ms,
            error: letter.error.clone(),
            changes: WriteChanges::default(),
        }
    }
}

impl Store {
    /// Returns up to `limit` dead letters of an account after `after`, oldest first. Letters that cannot be decoded are
    /// set aside.
    pub fn dead_letters(&self, account: &AccountId, after: Option<MessageId>, limit: usize) -> Result<Vec<DeadLetter>> {
        let after = after.map(|id| DeadLetter::key(account, id));
        let entries = self.kv.scan(Column::DeadLetters, &prefix(&[account.as_str()]), after.as_deref(), limit)?;
        let mut letters = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            match decode(Column::DeadLetters, &value) {
                Ok(letter) => letters.push(letter),
                Err(_) => self.set_aside(Column::DeadLetters, &key)?,
            }
        }
        Ok(letters)
    }

    /// Returns the dead letter with an id, of one account or of any account.
    pub fn dead_letter(&self, account: Option<&AccountId>, id: MessageId) -> Result<Option<DeadLetter>> {
        if let Some(account) = account {
            return self.get_record(Column::DeadLetters, &DeadLetter::key(account, id));
        }
        let mut found = None;
        self.for_each_dead_letter(|letter| {
            if letter.id == id {
                found = Some(letter);
            }
        })?;
        Ok(found)
    }

    /// Whether a write of an account is a dead letter.
    pub(super) fn is_dead_letter(&self, account: &AccountId, id: MessageId) -> Result<bool> {
        Ok(self.kv.get(Column::DeadLetters, &DeadLetter::key(account, id))?.is_some())
    }

    /// Visits the dead letters of all accounts. Letters that cannot be decoded are set aside.
    pub fn for_each_dead_letter(&self, mut visit: impl FnMut(DeadLetter)) -> Result<()> {
        self.for_each_stored_letter(|letter, _| visit(letter))
    }

    /// Visits the dead letters of all accounts, each with its record as it is stored. Letters that cannot be decoded are
    /// set aside.
    fn for_each_stored_letter(&self, mut visit: impl FnMut(DeadLetter, KeyValuePair)) -> Result<()> {
        let mut unreadable = Vec::new();
        for entry in self.kv.read_all(Column::DeadLetters) {
            let (key, value) = entry?;
            match decode(Column::DeadLetters, &value) {
                Ok(letter) => visit(letter, (key, value)),
                Err(_) => unreadable.push(key),
            }
        }
        for key in unreadable {
            self.set_aside(Column::DeadLetters, &key)?;
        }
        Ok(())
    }

    /// Returns the work of a dead letter. `None` if it is missing.
    pub fn dead_letter_work(&self, account: &AccountId, id: MessageId) -> Result<Option<QueuedWork>> {
        self.get_record(Column::DeadLetterWork, &DeadLetter::key(account, id))
    }

    /// Returns the number of dead letters.
    pub fn dead_letter_count(&self) -> Result<u64> {
        let mut count = 0;
        for entry in self.kv.read_all(Column::DeadLetters) {
            entry?;
            count += 1;
        }
        Ok(count)
    }

    /// Moves a dead letter back into the queue, with no failures and with `running_ms` as its new acceptance time.
    /// Returns `None` if the letter does not exist or its namespace was deleted.
    pub fn revive(&self, account: &AccountId, id: MessageId, running_ms: u64) -> Result<Option<QueueEntry>> {
        let key = DeadLetter::key(account, id);
        let stored = self.get_stored::<DeadLetter>(Column::DeadLetters, &key)?;
        let Some(letter) = stored.record else { return Ok(None) };
        let Some(work) = self.get_record(Column::DeadLetterWork, &key)? else { return Ok(None) };
        let entry = QueueEntry {
            id,
            account: letter.account,
            namespace: letter.namespace,
            namespace_id: letter.namespace_id,
            accepted_at_ms: letter.accepted_at_ms,
            accepted_running_ms: running_ms,
            failures: 0,
            fingerprint: None,
            sender: None,
            work,
        };
        let generation = self.kv.generation();
        let mut batch = self.batch();
        batch.require_live_key(entry.namespace_key());
        // Otherwise another caller revived or deleted the letter.
        batch.changes.expect(Column::DeadLetters, key, stored.bytes);
        DeadLetter::delete(&mut batch.changes, account, id);
        queue_entry::put(&mut batch.changes, &entry)?;
        self.put_missing_record(&mut batch.changes, &entry)?;
        if !self.commit_if_current(batch)? {
            return Ok(None);
        }
        self.kv.sync_since(generation)?;
        Ok(Some(entry))
    }

    /// Deletes a dead letter, and records that its write was dropped. Returns false if there is none.
    pub fn drop_dead_letter(&self, account: &AccountId, id: MessageId) -> Result<bool> {
        let key = DeadLetter::key(account, id);
        let stored = self.get_stored::<DeadLetter>(Column::DeadLetters, &key)?;
        let Some(letter) = stored.record else { return Ok(false) };
        let generation = self.kv.generation();
        let mut batch = self.batch();
        // Otherwise another caller revived or deleted the letter.
        batch.changes.expect(Column::DeadLetters, key, stored.bytes);
        DeadLetter::delete(&mut batch.changes, account, id);
        // The outcomes of a deleted namespace are being removed.
        if self.is_live(letter.namespace_id)? {
            batch.require_live_key(letter.namespace_key());
            writes::put_outcome(&mut batch.changes, letter.namespace_id, id, &WriteOutcome::dropped(&letter))?;
        }
        if !self.commit_if_current(batch)? {
            return Ok(false);
        }
        self.kv.sync_since(generation)?;
        Ok(true)
    }

    /// Deletes dead letters that failed before the given total running time, in milliseconds. Returns the number
    /// deleted. A letter that is revived meanwhile, and fails again, is kept, so any node may purge.
    pub fn purge_dead_letters(&self, died_before_running_ms: u64) -> Result<usize> {
        let mut expired = Vec::new();
        self.for_each_stored_letter(|letter, stored| {
            if letter.died_running_ms < died_before_running_ms {
                expired.push(stored);
            }
        })?;
        self.delete_unchanged(Column::DeadLetters, &[Column::DeadLetterWork], &expired)
    }

    /// Deletes the dead letters of a deleted namespace. Needs no condition: without the namespace, no letter of it can be
    /// revived or added, so no other node replaces one. Letters that cannot be decoded are set aside.
    ///
    /// Keys do not contain the namespace, so the letters of the account are read in pages, without their work.
    pub(super) fn drop_dead_letters_of(&self, account: &AccountId, namespace: NamespaceId) -> Result<()> {
        let account_prefix = prefix(&[account.as_str()]);
        let mut after: Option<Vec<u8>> = None;
        loop {
            let page = self.kv.scan(Column::DeadLetters, &account_prefix, after.as_deref(), REMOVAL_BATCH_RECORDS)?;
            if page.is_empty() {
                return Ok(());
            }
            let mut batch = Batch::new();
            for (key, value) in page {
                match decode::<DeadLetter>(Column::DeadLetters, &value) {
                    Ok(letter) if letter.namespace_id == namespace => {
                        DeadLetter::delete(&mut batch, account, letter.id);
                    }
                    Ok(_) => {}
                    Err(_) => self.set_aside(Column::DeadLetters, &key)?,
                }
                after = Some(key);
            }
            self.kv.write(&batch, Durability::Buffered)?;
        }
    }

    /// Returns the records that were set aside because they could not be decoded.
    pub fn unreadable(&self) -> Result<Vec<UnreadableRecord>> {
        let mut found = Vec::new();
        for entry in self.kv.read_all(Column::Unreadable) {
            let (key, value) = entry?;
            found.push(UnreadableRecord { id: id_at_end(&key), column: column_of(&key), bytes: value.len() });
        }
        Ok(found)
    }

    /// Deletes the records set aside whose keys end with a message id. Returns false if there are none.
    pub fn drop_unreadable(&self, id: MessageId) -> Result<bool> {
        let mut batch = Batch::new();
        let mut found = false;
        for entry in self.kv.read_all(Column::Unreadable) {
            let (key, _) = entry?;
            if id_at_end(&key) == Some(id) {
                batch.delete(Column::Unreadable, key);
                found = true;
            }
        }
        self.kv.write(&batch, Durability::Synced)?;
        Ok(found)
    }
}

/// The message id at the end of a key.
fn id_at_end(key: &[u8]) -> Option<MessageId> {
    let bytes: [u8; 16] = *key.last_chunk()?;
    Some(MessageId::from_bytes(bytes))
}

/// The column name at the beginning of a key of [`Column::Unreadable`].
fn column_of(key: &[u8]) -> String {
    let end = key.iter().position(|byte| *byte == 0).unwrap_or(key.len());
    String::from_utf8_lossy(&key[..end]).into_owned()
}
