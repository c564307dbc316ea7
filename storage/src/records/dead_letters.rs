//! Writes that failed for good, and records that cannot be read.
//!
//! What a list shows of a dead letter and the work itself are two records: a list reads no bodies. Letters are keyed by
//! account, so that nobody's list reads another account's.

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::queue::{self, QueueEntry, QueuedWork};
use super::{NamespaceId, Store, decode, encode};
use crate::error::Result;
use crate::key_value::columns::{below, prefix};
use crate::key_value::{Batch, Column, Durability};

/// A write that failed for good, without its work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The queue message id.
    pub id: Ulid,
    /// The owning account.
    pub account: String,
    /// The namespace to write to.
    pub namespace: String,
    /// That namespace's identity.
    pub namespace_id: NamespaceId,
    /// What kind of work it was.
    pub kind: String,
    /// When it was accepted, milliseconds since the epoch.
    pub accepted_at_ms: i64,
    /// How often it was tried.
    pub failures: u32,
    /// When it died, milliseconds since the epoch.
    pub died_at_ms: i64,
    /// For how long services had run on the data directory when it died, milliseconds.
    pub died_running_ms: u64,
    /// The last failure, in words.
    pub reason: String,
}

/// A record that could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The queue message id, where its key holds one.
    pub id: Option<Ulid>,
    /// The column family it was in.
    pub column: String,
    /// Its size in bytes.
    pub bytes: usize,
}

impl DeadLetter {
    /// The letter of an entry that dies.
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
        }
    }

    fn key(account: &str, id: Ulid) -> Vec<u8> {
        below(&[account], &id.to_bytes())
    }

    /// Puts the letter and its work into a batch.
    pub(super) fn put(&self, batch: &mut Batch, work: &QueuedWork) -> Result<()> {
        let key = Self::key(&self.account, self.id);
        batch.put(Column::DeadLetters, key.clone(), encode(self)?);
        batch.put(Column::DeadLetterWork, key, encode(work)?);
        Ok(())
    }

    fn delete(batch: &mut Batch, account: &str, id: Ulid) {
        let key = Self::key(account, id);
        batch.delete(Column::DeadLetters, key.clone());
        batch.delete(Column::DeadLetterWork, key);
    }
}

impl Store {
    /// An account's dead letters, oldest first, at most `limit` after a given one.
    pub fn dead_letters(&self, account: &str, after: Option<Ulid>, limit: usize) -> Result<Vec<DeadLetter>> {
        let after = after.map(|id| DeadLetter::key(account, id));
        let entries = self.kv.scan(Column::DeadLetters, &prefix(&[account]), after.as_deref(), limit)?;
        let mut letters = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            match decode(Column::DeadLetters, &value) {
                Ok(letter) => letters.push(letter),
                Err(_) => self.set_aside(Column::DeadLetters, &key)?,
            }
        }
        Ok(letters)
    }

    /// The dead letter with an id; of that account, or of any.
    pub fn dead_letter(&self, account: Option<&str>, id: Ulid) -> Result<Option<DeadLetter>> {
        if let Some(account) = account {
            let found = self.kv.get(Column::DeadLetters, &DeadLetter::key(account, id))?;
            return found.map(|bytes| decode(Column::DeadLetters, &bytes)).transpose();
        }
        let mut found = None;
        self.each_dead_letter(|letter| {
            if letter.id == id {
                found = Some(letter);
            }
        })?;
        Ok(found)
    }

    /// Visits the dead letters of every account. Letters that cannot be decoded are set aside.
    pub fn each_dead_letter(&self, mut visit: impl FnMut(DeadLetter)) -> Result<()> {
        let mut unreadable = Vec::new();
        self.kv.read_all(Column::DeadLetters, |key, value| match decode(Column::DeadLetters, value) {
            Ok(letter) => visit(letter),
            Err(_) => unreadable.push(key.to_vec()),
        })?;
        for key in unreadable {
            self.set_aside(Column::DeadLetters, &key)?;
        }
        Ok(())
    }

    /// How many dead letters there are.
    pub fn dead_letter_count(&self) -> Result<u64> {
        let mut count = 0;
        self.kv.read_all(Column::DeadLetters, |_, _| count += 1)?;
        Ok(count)
    }

    /// Puts a dead letter back into the queue, its failures forgotten, its time there beginning again at a running time;
    /// none where there is no such letter, or its namespace was deleted.
    pub fn revive(&self, account: &str, id: Ulid, running_ms: u64) -> Result<Option<QueueEntry>> {
        let Some(letter) = self.dead_letter(Some(account), id)? else { return Ok(None) };
        let key = DeadLetter::key(account, id);
        let Some(work) = self.kv.get(Column::DeadLetterWork, &key)? else { return Ok(None) };
        let entry = QueueEntry {
            id,
            account: letter.account,
            namespace: letter.namespace,
            namespace_id: letter.namespace_id,
            accepted_at_ms: letter.accepted_at_ms,
            accepted_running_ms: running_ms,
            failures: 0,
            fingerprint: None,
            work: decode(Column::DeadLetterWork, &work)?,
        };
        let opening = self.kv.opening();
        {
            let _held = self.live.read();
            if !self.is_live(account, &entry.namespace, entry.namespace_id)? {
                return Ok(None);
            }
            let mut batch = Batch::new();
            DeadLetter::delete(&mut batch, account, id);
            queue::put(&mut batch, &entry)?;
            self.kv.write(&batch, Durability::Buffered)?;
        }
        self.kv.sync_since(opening)?;
        Ok(Some(entry))
    }

    /// Forgets a dead letter; false where there is none.
    pub fn drop_dead_letter(&self, account: &str, id: Ulid) -> Result<bool> {
        if self.kv.get(Column::DeadLetters, &DeadLetter::key(account, id))?.is_none() {
            return Ok(false);
        }
        let mut batch = Batch::new();
        DeadLetter::delete(&mut batch, account, id);
        self.kv.write(&batch, Durability::Synced)?;
        Ok(true)
    }

    /// Forgets dead letters that died before services had run for that long, milliseconds. Returns how many.
    pub fn purge_dead_letters(&self, died_before_running_ms: u64) -> Result<usize> {
        let mut batch = Batch::new();
        let mut gone = 0;
        self.each_dead_letter(|letter| {
            if letter.died_running_ms < died_before_running_ms {
                DeadLetter::delete(&mut batch, &letter.account, letter.id);
                gone += 1;
            }
        })?;
        self.kv.write(&batch, Durability::Buffered)?;
        Ok(gone)
    }

    /// Removes the dead letters of a deleted namespace.
    pub(super) fn drop_dead_letters_of(&self, account: &str, namespace: NamespaceId) -> Result<()> {
        let mut batch = Batch::new();
        for letter in self.dead_letters(account, None, usize::MAX)? {
            if letter.namespace_id == namespace {
                DeadLetter::delete(&mut batch, account, letter.id);
            }
        }
        self.kv.write(&batch, Durability::Buffered)
    }

    /// The records that were set aside because they could not be decoded.
    pub fn unreadable(&self) -> Result<Vec<Unreadable>> {
        let mut found = Vec::new();
        self.kv.read_all(Column::Unreadable, |key, value| {
            found.push(Unreadable { id: id_at_end(key), column: column_of(key), bytes: value.len() });
        })?;
        Ok(found)
    }

    /// Forgets a record that was set aside, by the message id at the end of its key; false where there is none.
    pub fn drop_unreadable(&self, id: Ulid) -> Result<bool> {
        let mut batch = Batch::new();
        let mut gone = false;
        self.kv.read_all(Column::Unreadable, |key, _| {
            if id_at_end(key) == Some(id) {
                batch.delete(Column::Unreadable, key);
                gone = true;
            }
        })?;
        self.kv.write(&batch, Durability::Synced)?;
        Ok(gone)
    }
}

/// The message id that a key ends with.
fn id_at_end(key: &[u8]) -> Option<Ulid> {
    let bytes: [u8; 16] = *key.last_chunk()?;
    Some(Ulid::from_bytes(bytes))
}

/// The column name that a key of [`Column::Unreadable`] begins with.
fn column_of(key: &[u8]) -> String {
    let end = key.iter().position(|byte| *byte == 0).unwrap_or(key.len());
    String::from_utf8_lossy(&key[..end]).into_owned()
}
