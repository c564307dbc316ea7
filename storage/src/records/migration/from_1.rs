//! The step from format 1 to format 4.
//!
//! Format 2 gave each namespace an id, which begins the keys of its data, and keyed dead letters by account. Format 4
//! begins the keys of the queue with the account, and records which namespaces exist.

use serde::Deserialize;
use serde_json::{Map, Value};
use ulid::Ulid;

use super::step::{LegacyEntries, NamespaceIdOnly, StepChanges};
use crate::error::{Error, Result};
use crate::identity::{AccountId, MessageId, NamespaceId, NamespaceName};
use crate::key_value::columns::{joined, joined_bytes};
use crate::key_value::{Batch, Column, Durability, RocksEngine};
use crate::records::dead_letters::DeadLetter;
use crate::records::namespaces::{RemovalRecord, key};
use crate::records::queue_entry::{QueueEntry, QueuedWork, queue_key};
use crate::records::store::{DIRECTORIES_KEY, NEWEST_ID_KEY, RECORD_FORMAT, Store, decode, encode};

pub(super) fn migrate(store: &Store, engine: &RocksEngine) -> Result<()> {
    let mut step = StepFrom1 { store, engine, changes: StepChanges::new(store), newest_id: Ulid::nil() };
    step.migrate_namespaces()?;
    step.migrate_removals()?;
    step.migrate_queue()?;
    step.migrate_dead_letters()?;
    step.migrate_namespace_data("imports", Column::Imports)?;
    step.migrate_namespace_data("vocab", Column::Terms)?;
    step.migrate_namespace_data("vocab_forms", Column::TermForms)?;
    step.migrate_namespace_data("deduplication", Column::Fingerprints)?;
    step.migrate_conversations()?;
    step.migrate_media()?;
    // Cached vectors belonged to an account and now belong to a namespace. They are requested again when needed.
    step.finish()
}

/// The step with its state.
struct StepFrom1<'a> {
    store: &'a Store,
    engine: &'a RocksEngine,
    changes: StepChanges<'a>,
    /// The greatest id in the keys so far.
    newest_id: Ulid,
}

impl StepFrom1<'_> {
    /// Updates the greatest id with one from a key.
    fn observe_id(&mut self, id: &[u8]) {
        self.newest_id = self.newest_id.max(id_from_key(id));
    }

    fn migrate_namespaces(&mut self) -> Result<()> {
        for (name, value) in self.store.kv.scan(Column::Namespaces, b"", None, usize::MAX)? {
            add_namespace_id(self.store, &name, &value)?;
        }
        self.changes.put_live_namespaces()
    }

    fn migrate_removals(&mut self) -> Result<()> {
        for entry in LegacyEntries::new(self.engine, "deletions") {
            let (name, _) = entry?;
            let id = namespace_id(&name, 0);
            let (account, name) = account_and_name(&name);
            self.changes.put(Column::Removals, id.to_bytes(), encode(&RemovalRecord { account, name, id })?)?;
        }
        Ok(())
    }

    fn migrate_queue(&mut self) -> Result<()> {
        for entry in LegacyEntries::new(self.engine, "queue") {
            let (id, value) = entry?;
            self.observe_id(&id);
            match decode_entry(self.store, &value) {
                Ok(Some(entry)) => {
                    let key = queue_key(&entry.account, entry.namespace_id, entry.id);
                    self.changes.put(Column::Queue, key, encode(&entry)?)?;
                }
                // The namespace was deleted.
                Ok(None) => {}
                Err(_) => self.changes.put(Column::Unreadable, joined_bytes("queue", &id), value)?,
            }
        }
        Ok(())
    }

    fn migrate_dead_letters(&mut self) -> Result<()> {
        for entry in LegacyEntries::new(self.engine, "dead_letters") {
            let (id, value) = entry?;
            self.observe_id(&id);
            match decode_letter(self.store, &value) {
                Ok(Some((letter, work))) => {
                    letter.put(&mut self.changes.batch, &work)?;
                    self.changes.count_change(value.len())?;
                }
                // The namespace was deleted.
                Ok(None) => {}
                Err(_) => self.changes.put(Column::Unreadable, joined_bytes("dead_letters", &id), value)?,
            }
        }
        Ok(())
    }

    /// Replaces `account NUL namespace NUL` with the namespace's id in the keys of a legacy column family.
    fn migrate_namespace_data(&mut self, family: &str, column: Column) -> Result<()> {
        for entry in LegacyEntries::new(self.engine, family) {
            let (old_key, value) = entry?;
            let Some((name, rest)) = split_namespace(&old_key) else { continue };
            let Some(id) = current_id(self.store, name)? else { continue };
            let rest = if column == Column::Fingerprints { hex_hash(rest) } else { rest.to_vec() };
            self.changes.put(column, key(id, &rest), value)?;
        }
        Ok(())
    }

    fn migrate_conversations(&mut self) -> Result<()> {
        for entry in LegacyEntries::new(self.engine, "conversations_by_namespace") {
            let (old_key, _) = entry?;
            let Some((name, id)) = split_namespace(&old_key) else { continue };
            let Some(namespace) = current_id(self.store, name)? else { continue };
            self.observe_id(id);
            let (account, _) = account_and_name(name);
            let record_key = joined_bytes(account.as_str(), id);
            if let Some(value) = self.store.kv.get(Column::Conversations, &record_key)? {
                let value = with_namespace_id(Column::Conversations, &value, namespace)?;
                self.changes.put(Column::Conversations, record_key, value)?;
                self.changes.put(Column::ConversationsByNamespace, key(namespace, id), Vec::new())?;
            }
        }
        Ok(())
    }

    fn migrate_media(&mut self) -> Result<()> {
        for entry in LegacyEntries::new(self.engine, "media_by_namespace") {
            let (old_key, _) = entry?;
            let Some((name, id)) = split_namespace(&old_key) else { continue };
            let Some(namespace) = current_id(self.store, name)? else { continue };
            self.observe_id(id);
            if let Some(value) = self.store.kv.get(Column::Media, id)? {
                let value = with_namespace_id(Column::Media, &value, namespace)?;
                self.changes.put(Column::Media, id, value)?;
                self.changes.put(Column::MediaByNamespace, key(namespace, id), Vec::new())?;
            }
        }
        Ok(())
    }

    /// Writes the remaining changes together with the format number. They include the mark that folders still have the
    /// names of format 1.
    fn finish(mut self) -> Result<()> {
        self.changes.batch.put(Column::Meta, NEWEST_ID_KEY, self.newest_id.to_bytes());
        self.changes.batch.put(Column::Meta, DIRECTORIES_KEY, "");
        self.changes.finish()
    }
}

/// A queue entry in format 1.
#[derive(Deserialize)]
struct QueueEntryV1 {
    id: MessageId,
    account: AccountId,
    namespace: NamespaceName,
    accepted_at_ms: i64,
    failures: u32,
    work: QueuedWork,
}

/// A dead letter in format 1.
#[derive(Deserialize)]
struct DeadLetterV1 {
    entry: QueueEntryV1,
    died_at_ms: i64,
    reason: String,
}

impl QueueEntryV1 {
    /// Converts the entry to the current form. `None` if its namespace was deleted.
    fn with_namespace_id(self, store: &Store) -> Result<Option<QueueEntry>> {
        let name = joined(&self.account, &self.namespace);
        let Some(namespace_id) = current_id(store, &name)? else { return Ok(None) };
        Ok(Some(QueueEntry {
            id: self.id,
            account: self.account,
            namespace: self.namespace,
            namespace_id,
            accepted_at_ms: self.accepted_at_ms,
            accepted_running_ms: 0,
            failures: self.failures,
            fingerprint: None,
            sender: None,
            work: self.work,
        }))
    }
}

/// Decodes a queue entry of format 1. `None` if its namespace was deleted.
fn decode_entry(store: &Store, value: &[u8]) -> Result<Option<QueueEntry>> {
    decode::<QueueEntryV1>(Column::Queue, value)?.with_namespace_id(store)
}

/// Decodes a dead letter of format 1. `None` if its namespace was deleted.
fn decode_letter(store: &Store, value: &[u8]) -> Result<Option<(DeadLetter, QueuedWork)>> {
    let letter: DeadLetterV1 = decode(Column::DeadLetters, value)?;
    let Some(entry) = letter.entry.with_namespace_id(store)? else { return Ok(None) };
    Ok(Some((DeadLetter::of(&entry, letter.died_at_ms, 0, letter.reason), entry.work)))
}

/// Adds an id to the record of a namespace, and its head as the beginning of the recorded history. Written at once,
/// because the other records look the id up.
fn add_namespace_id(store: &Store, name: &[u8], value: &[u8]) -> Result<()> {
    let mut record: Map<String, Value> = decode(Column::Namespaces, value)?;
    if record.contains_key("id") {
        return Ok(());
    }
    let created_at_ms = match record.get("created_at_ms") {
        Some(value) => value.as_u64().unwrap_or(0),
        None => 0,
    };
    let id = namespace_id(name, created_at_ms);
    record.insert("id".into(), id_value(id)?);
    if let Some(head) = record.get("head").cloned()
        && !head.is_null()
    {
        record.insert("history_base".into(), head);
    }
    let mut batch = Batch::new();
    batch.put(Column::Namespaces, name, encode(&record)?);
    store.kv.write(&batch, Durability::Buffered)
}

/// Derives a namespace id from the creation time and the name, so that repeating the step yields the same id.
fn namespace_id(name: &[u8], created_at_ms: u64) -> NamespaceId {
    // FNV-1a, 128 bits.
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in name {
        hash = (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    NamespaceId::new(Ulid::from_parts(created_at_ms, hash))
}

/// Returns the id of the namespace with the key `account NUL name`. `None` if it does not exist.
fn current_id(store: &Store, name: &[u8]) -> Result<Option<NamespaceId>> {
    match store.get_record::<NamespaceIdOnly>(Column::Namespaces, name)? {
        Some(record) => Ok(Some(record.id)),
        None => Ok(None),
    }
}

/// Splits a key `account NUL namespace NUL rest` into `account NUL namespace` and `rest`.
fn split_namespace(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let account_end = key.iter().position(|byte| *byte == 0)?;
    let name_end = account_end + 1 + key[account_end + 1..].iter().position(|byte| *byte == 0)?;
    Some((&key[..name_end], &key[name_end + 1..]))
}

/// The account and the name in a key `account NUL name`.
fn account_and_name(key: &[u8]) -> (AccountId, NamespaceName) {
    let account = AccountId::at_start_of(key);
    let name = key.get(account.as_str().len() + 1..).unwrap_or(&[]);
    (account, NamespaceName::of_key(name))
}

/// Converts `kind NUL` and the 32 bytes of a hash to `kind NUL` and the hash in hex.
fn hex_hash(rest: &[u8]) -> Vec<u8> {
    let hash_start = match rest.iter().position(|byte| *byte == 0) {
        Some(nul) => nul + 1,
        None => rest.len(),
    };
    let mut text = rest[..hash_start].to_vec();
    for byte in &rest[hash_start..] {
        text.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
    text
}

/// Adds the namespace id to an encoded record.
fn with_namespace_id(column: Column, value: &[u8], id: NamespaceId) -> Result<Vec<u8>> {
    let mut record: Map<String, Value> = decode(column, value)?;
    record.insert("namespace_id".into(), id_value(id)?);
    debug_assert_eq!(value.first(), Some(&RECORD_FORMAT));
    encode(&record)
}

fn id_value(id: NamespaceId) -> Result<Value> {
    serde_json::to_value(id).map_err(|error| Error::corrupt("namespace id", error))
}

/// Reads a message id from a key. A key of another length counts as the nil id.
fn id_from_key(key: &[u8]) -> Ulid {
    match <[u8; 16]>::try_from(key) {
        Ok(bytes) => Ulid::from_bytes(bytes),
        Err(_) => Ulid::nil(),
    }
}
