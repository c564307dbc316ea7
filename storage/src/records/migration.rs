//! Bringing a database of an earlier format to the present one, one numbered step after the other.
//!
//! A step copies records into the columns of the next format, in batches, and ends with one batch that moves the format's
//! number. Until then nothing that the former format reads is changed in a way that it would not understand, so a step
//! that is interrupted is begun again. Former columns are dropped once the number has moved.

use serde::Deserialize;
use serde_json::{Map, Value};
use ulid::Ulid;

use super::dead_letters::DeadLetter;
use super::namespaces::{NamespaceId, RemovalRecord, key};
use super::queue::{QueueEntry, QueuedWork};
use super::{
    DATA_FORMAT, DATA_FORMAT_OLDEST, DIRECTORIES_KEY, FORMAT_KEY, NEWEST_ID_KEY, RECORD_FORMAT, Store, decode, encode,
};
use crate::error::{Error, Result};
use crate::key_value::columns::joined_bytes;
use crate::key_value::{Batch, Column, Durability};

/// Changes of one batch at most.
const BATCH_CHANGES: usize = 1000;
/// Entries that are read at once.
const PAGE: usize = 1000;

/// Runs every step from a format to the present one.
pub(super) fn migrate(store: &Store, from: u32) -> Result<()> {
    if from < DATA_FORMAT_OLDEST {
        return Err(Error::corrupt("data format", format!("there is no format {from}")));
    }
    tracing::info!(from, to = DATA_FORMAT, "migrating the records to the present format");
    if from < 2 {
        from_1_to_2(store)?;
    }
    from_2_to_3(store)
}

/// Format 3 adds the column families of kept conversations, empty at first, and a kind of queue entry. Only the number
/// moves: a build of format 2 would drop column families that it does not know, so it must refuse the directory.
fn from_2_to_3(store: &Store) -> Result<()> {
    let mut batch = Batch::new();
    batch.put(Column::Meta, FORMAT_KEY, 3u32.to_le_bytes());
    store.kv.write(&batch, Durability::Synced)
}

/// Format 2 gives each namespace an id that begins the keys of what belongs to it, and keys dead letters by account.
fn from_1_to_2(store: &Store) -> Result<()> {
    let mut writer = Writer { store, batch: Batch::new(), changes: 0 };
    let mut newest = Ulid::nil();
    let entries = store.kv.scan(Column::Namespaces, b"", None, usize::MAX)?;
    for (name, value) in entries {
        namespace_to_2(&mut writer, &name, &value)?;
    }
    each_former(store, "deletions", |name, _| {
        let id = namespace_id(name, 0);
        let (account, name) = account_and_name(name);
        writer.put(Column::Removals, id.to_bytes(), encode(&RemovalRecord { account, name, id })?)
    })?;
    each_former(store, "queue", |id, value| {
        newest = newest.max(id_of(id));
        match decode::<FormerEntry>(Column::Queue, value).and_then(|entry| entry.with_id(store)) {
            Ok(Some(entry)) => {
                writer.put(Column::Queue, key(entry.namespace_id, &entry.id.to_bytes()), encode(&entry)?)
            }
            // Its namespace is gone.
            Ok(None) => Ok(()),
            Err(_) => writer.put(Column::Unreadable, joined_bytes("queue", id), value.to_vec()),
        }
    })?;
    each_former(store, "dead_letters", |id, value| {
        newest = newest.max(id_of(id));
        let letter = decode::<FormerLetter>(Column::DeadLetters, value);
        match letter.and_then(|letter| Ok((letter.entry.with_id(store)?, letter.died_at_ms, letter.reason))) {
            Ok((Some(entry), died_at_ms, reason)) => {
                DeadLetter::of(&entry, died_at_ms, 0, reason).put(&mut writer.batch, &entry.work)?;
                writer.changed()
            }
            Ok((None, ..)) => Ok(()),
            Err(_) => writer.put(Column::Unreadable, joined_bytes("dead_letters", id), value.to_vec()),
        }
    })?;
    for (former, column) in [
        ("imports", Column::Imports),
        ("vocab", Column::Terms),
        ("vocab_forms", Column::TermForms),
        ("deduplication", Column::Fingerprints),
    ] {
        each_former(store, former, |found, value| {
            // `account NUL namespace NUL` and the rest.
            let Some((name, rest)) = split_namespace(found) else { return Ok(()) };
            let Some(id) = current_id(store, name)? else { return Ok(()) };
            let rest = if column == Column::Fingerprints { hex_hash(rest) } else { rest.to_vec() };
            writer.put(column, key(id, &rest), value.to_vec())
        })?;
    }
    for (former, column, record) in [
        ("conversations_by_namespace", Column::ConversationsByNamespace, Column::Conversations),
        ("media_by_namespace", Column::MediaByNamespace, Column::Media),
    ] {
        each_former(store, former, |found, _| {
            let Some((name, id)) = split_namespace(found) else { return Ok(()) };
            let Some(namespace) = current_id(store, name)? else { return Ok(()) };
            newest = newest.max(id_of(id));
            let (account, _) = account_and_name(name);
            let own = if record == Column::Media { id.to_vec() } else { joined_bytes(&account, id) };
            if let Some(value) = store.kv.get(record, &own)? {
                writer.put(record, own, with_field(record, &value, "namespace_id", namespace)?)?;
                writer.put(column, key(namespace, id), Vec::new())?;
            }
            Ok(())
        })?;
    }
    // Remembered vectors were an account's and are a namespace's now: they are requested again when they are needed.
    writer.batch.put(Column::Meta, NEWEST_ID_KEY, newest.to_bytes());
    writer.batch.put(Column::Meta, FORMAT_KEY, 2u32.to_le_bytes());
    writer.batch.put(Column::Meta, DIRECTORIES_KEY, "");
    store.kv.write(&writer.batch, Durability::Synced)
}

/// Visits every entry of a column family of an earlier format, in pages, with no lock held.
fn each_former(store: &Store, name: &str, mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
    let mut after: Option<Vec<u8>> = None;
    loop {
        let page = store.kv.scan_former(name, after.as_deref(), PAGE)?;
        for (key, value) in &page {
            visit(key, value)?;
        }
        match page.into_iter().last() {
            Some((last, _)) => after = Some(last),
            None => return Ok(()),
        }
    }
}

/// Collects changes and writes them in batches.
struct Writer<'a> {
    store: &'a Store,
    batch: Batch,
    changes: usize,
}

impl Writer<'_> {
    fn put(&mut self, column: Column, key: impl Into<Vec<u8>>, value: Vec<u8>) -> Result<()> {
        self.batch.put(column, key, value);
        self.changed()
    }

    fn changed(&mut self) -> Result<()> {
        self.changes += 1;
        if self.changes < BATCH_CHANGES {
            return Ok(());
        }
        self.changes = 0;
        self.store.kv.write(&std::mem::take(&mut self.batch), Durability::Buffered)
    }
}

/// A queue entry as format 1 has it.
#[derive(Deserialize)]
struct FormerEntry {
    id: Ulid,
    account: String,
    namespace: String,
    accepted_at_ms: i64,
    failures: u32,
    work: QueuedWork,
}

/// A dead letter as format 1 has it.
#[derive(Deserialize)]
struct FormerLetter {
    entry: FormerEntry,
    died_at_ms: i64,
    reason: String,
}

impl FormerEntry {
    /// The entry of today; none where its namespace is gone.
    fn with_id(self, store: &Store) -> Result<Option<QueueEntry>> {
        let name = joined_bytes(&self.account, self.namespace.as_bytes());
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
            work: self.work,
        }))
    }
}

/// Gives a namespace's record an id, and notes where its recorded history begins.
fn namespace_to_2(writer: &mut Writer<'_>, name: &[u8], value: &[u8]) -> Result<()> {
    let mut record: Map<String, Value> = decode(Column::Namespaces, value)?;
    if record.contains_key("id") {
        return Ok(());
    }
    let created_at_ms = record.get("created_at_ms").and_then(Value::as_u64).unwrap_or_default();
    let id = namespace_id(name, created_at_ms);
    record.insert("id".into(), serde_json::to_value(id).map_err(|error| Error::corrupt("namespace id", error))?);
    if let Some(head) = record.get("head").filter(|head| !head.is_null()).cloned() {
        record.insert("history_base".into(), head);
    }
    // At once: the copies below look the ids up.
    let mut batch = Batch::new();
    batch.put(Column::Namespaces, name, encode(&record)?);
    writer.store.kv.write(&batch, Durability::Buffered)
}

/// An id that is the same however often the step is begun: of when the namespace was made, and of its name.
fn namespace_id(name: &[u8], created_at_ms: u64) -> NamespaceId {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    // FNV-1a, 128 bits.
    for byte in name {
        hash = (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    NamespaceId::new(Ulid::from_parts(created_at_ms, hash))
}

/// The id of the namespace with a key `account NUL name`, if there is one.
fn current_id(store: &Store, name: &[u8]) -> Result<Option<NamespaceId>> {
    #[derive(Deserialize)]
    struct Identified {
        id: NamespaceId,
    }
    let Some(value) = store.kv.get(Column::Namespaces, name)? else { return Ok(None) };
    Ok(Some(decode::<Identified>(Column::Namespaces, &value)?.id))
}

/// A key `account NUL namespace NUL rest` as the first two parts with the NUL between them, and the rest.
fn split_namespace(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let account = key.iter().position(|byte| *byte == 0)?;
    let name = account + 1 + key[account + 1..].iter().position(|byte| *byte == 0)?;
    Some((&key[..name], &key[name + 1..]))
}

fn account_and_name(key: &[u8]) -> (String, String) {
    let text = String::from_utf8_lossy(key);
    let (account, name) = text.split_once('\0').unwrap_or((&text, ""));
    (account.to_owned(), name.to_owned())
}

/// `kind NUL` and 32 bytes of a hash as `kind NUL` and the hash in hex.
fn hex_hash(rest: &[u8]) -> Vec<u8> {
    let kind = rest.iter().position(|byte| *byte == 0).map_or(rest.len(), |at| at + 1);
    let mut text = rest[..kind].to_vec();
    for byte in &rest[kind..] {
        text.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
    text
}

fn with_field(column: Column, value: &[u8], name: &str, id: NamespaceId) -> Result<Vec<u8>> {
    let mut record: Map<String, Value> = decode(column, value)?;
    record.insert(name.into(), serde_json::to_value(id).map_err(|error| Error::corrupt("namespace id", error))?);
    debug_assert_eq!(value.first(), Some(&RECORD_FORMAT));
    encode(&record)
}

fn id_of(key: &[u8]) -> Ulid {
    key.try_into().map_or(Ulid::nil(), Ulid::from_bytes)
}
