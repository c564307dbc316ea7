//! The step from formats 2 and 3 to format 4.
//!
//! Format 4 begins the keys of the queue with the account, and records which namespaces exist
//! ([`Column::LiveNamespaces`]), so that batches can expect it.

use serde::Deserialize;

use super::step::{LegacyEntries, StepChanges};
use crate::error::{Error, Result};
use crate::identity::AccountId;
use crate::key_value::columns::{joined_bytes, prefixed_key};
use crate::key_value::{Column, RocksEngine};
use crate::records::store::{Store, decode};

/// The queue of formats 2 and 3: `namespace id`, `message id` → queue entry.
const LEGACY_QUEUE: &str = "queue_by_namespace";
/// Length of its keys.
const LEGACY_KEY_BYTES: usize = 32;

pub(super) fn migrate(store: &Store, engine: &RocksEngine) -> Result<()> {
    let mut changes = StepChanges::new(store);
    changes.put_live_namespaces()?;
    for entry in LegacyEntries::new(engine, LEGACY_QUEUE) {
        let (key, value) = entry?;
        match account_of(&key, &value) {
            Ok(account) => changes.put(Column::Queue, prefixed_key(&[account.as_str()], &key), value)?,
            Err(error) => {
                tracing::error!(%error, "cannot decode a queue entry; `cuebase dead-letters list` shows it");
                changes.put(Column::Unreadable, joined_bytes(LEGACY_QUEUE, &key), value)?;
            }
        }
    }
    changes.finish()
}

/// The account of a queue entry. The rest of the entry is copied as it is, and decoded when the queue is read.
fn account_of(key: &[u8], value: &[u8]) -> Result<AccountId> {
    #[derive(Deserialize)]
    struct EntryAccount {
        account: AccountId,
    }
    if key.len() != LEGACY_KEY_BYTES {
        return Err(Error::corrupt("key of a queue entry", format!("it has {} bytes", key.len())));
    }
    Ok(decode::<EntryAccount>(Column::Queue, value)?.account)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ulid::Ulid;

    use super::*;
    use crate::identity::{MessageId, NamespaceId, NamespaceName};
    use crate::key_value::{Batch, Durability, Engine, KeyValuePair};
    use crate::records::store::{FORMAT_KEY, encode};
    use crate::records::{Dedup, Enqueued, NamespaceRecord, QueueEntry, QueuedWork};

    fn message(id: u128) -> MessageId {
        MessageId::from(Ulid::from(id))
    }

    fn home() -> NamespaceRecord {
        let id = NamespaceId::new(Ulid::from(1u128));
        NamespaceRecord::new(&AccountId::default(), &NamespaceName::default(), id, 0)
    }

    fn entry(id: u128) -> QueueEntry {
        QueueEntry {
            id: message(id),
            account: home().account,
            namespace: home().name,
            namespace_id: home().id,
            accepted_at_ms: 1,
            accepted_running_ms: 1,
            failures: 0,
            fingerprint: None,
            sender: None,
            work: QueuedWork::Forget { paths: vec!["facts/a.md".into()] },
        }
    }

    fn legacy_key(id: u128) -> Vec<u8> {
        [home().id.to_bytes(), message(id).to_bytes()].concat()
    }

    fn legacy(id: u128) -> KeyValuePair {
        (legacy_key(id), encode(&entry(id)).expect("encodes"))
    }

    /// Creates a database of an earlier format with a namespace and these queue entries.
    fn create_legacy(path: &Path, format: u32, queue: &[KeyValuePair]) {
        let store = Store::open(path).expect("opens");
        store.create_namespace(&home()).expect("creates");
        drop(store);
        let engine = RocksEngine::open(path).expect("opens");
        let mut batch = Batch::new();
        batch.put(Column::Meta, FORMAT_KEY, format.to_le_bytes());
        batch.delete(Column::LiveNamespaces, home().id.to_bytes());
        engine.write(&batch, Durability::Synced).expect("writes");
        engine.create_legacy(LEGACY_QUEUE, queue);
    }

    fn queued(store: &Store) -> Vec<QueueEntry> {
        let mut entries = Vec::new();
        assert_eq!(store.for_each_queue_entry(|entry| entries.push(entry)).expect("reads"), 0);
        entries
    }

    fn assert_is_format_4(path: &Path) {
        let engine = RocksEngine::open(path).expect("opens");
        assert_eq!(engine.get(Column::Meta, FORMAT_KEY).expect("reads"), Some(4u32.to_le_bytes().to_vec()));
        assert!(engine.legacy_families().is_empty());
    }

    #[test]
    fn the_queue_and_the_namespaces_of_format_2_and_3_are_kept() {
        for format in [2, 3] {
            let folder = tempfile::tempdir().expect("temporary directory");
            create_legacy(folder.path(), format, &[legacy(1), legacy(2)]);
            let store = Store::open(folder.path()).expect("migrates");
            assert_eq!(queued(&store), [entry(1), entry(2)]);
            assert_eq!(store.queue_entry(&home().key(), message(1)).expect("reads"), Some(entry(1)));
            assert!(store.is_live(home().id).expect("reads"));
            let mut batch = store.batch();
            batch.require_live(&home());
            let enqueued = batch.enqueue(&entry(3), Dedup::Off, &[]).expect("enqueues");
            assert_eq!(enqueued, Enqueued::Accepted(message(3)));
            store.commit(batch).expect("the namespace exists");
            drop(store);
            assert_is_format_4(folder.path());
        }
    }

    #[test]
    fn a_queue_entry_that_cannot_be_decoded_is_set_aside() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let garbage = (legacy_key(2), b"garbage".to_vec());
        let cut = (legacy_key(3), b"\x01{\"account\":\"default\",\"id\":[".to_vec());
        let misplaced = (b"short".to_vec(), encode(&entry(4)).expect("encodes"));
        create_legacy(folder.path(), 3, &[legacy(1), garbage, cut, misplaced]);
        let store = Store::open(folder.path()).expect("migrates");
        assert_eq!(queued(&store), [entry(1)]);
        let unreadable = store.unreadable().expect("reads");
        assert_eq!(unreadable.len(), 3);
        assert!(unreadable.iter().all(|record| record.column == LEGACY_QUEUE));
        assert!(store.drop_unreadable(message(2)).expect("drops"));
    }

    #[test]
    fn an_interrupted_step_starts_again() {
        let folder = tempfile::tempdir().expect("temporary directory");
        create_legacy(folder.path(), 3, &[legacy(1), legacy(2)]);
        {
            let engine = RocksEngine::open(folder.path()).expect("opens");
            let (key, value) = legacy(1);
            let mut batch = Batch::new();
            batch.put(Column::Queue, prefixed_key(&["default"], &key), value);
            engine.write(&batch, Durability::Synced).expect("writes");
        }
        let store = Store::open(folder.path()).expect("migrates");
        assert_eq!(queued(&store), [entry(1), entry(2)]);
        drop(store);
        assert_is_format_4(folder.path());
    }

    #[test]
    fn a_completed_step_does_not_run_again() {
        let folder = tempfile::tempdir().expect("temporary directory");
        create_legacy(folder.path(), 3, &[legacy(1)]);
        let store = Store::open(folder.path()).expect("migrates");
        store.drop_entry(&home().key(), message(1)).expect("drops");
        drop(store);
        // The process died before it dropped the column family.
        RocksEngine::open(folder.path()).expect("opens").create_legacy(LEGACY_QUEUE, &[legacy(1)]);
        assert!(queued(&Store::open(folder.path()).expect("opens")).is_empty());
        assert_is_format_4(folder.path());
    }

    #[test]
    fn the_queue_of_a_deleted_namespace_is_removed_after_the_step() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = Store::open(folder.path()).expect("opens");
        store.create_namespace(&home()).expect("creates");
        assert!(store.retire_namespace(&home()).expect("deletes"));
        drop(store);
        {
            let engine = RocksEngine::open(folder.path()).expect("opens");
            let mut batch = Batch::new();
            batch.put(Column::Meta, FORMAT_KEY, 3u32.to_le_bytes());
            engine.write(&batch, Durability::Synced).expect("writes");
            engine.create_legacy(LEGACY_QUEUE, &[legacy(1)]);
        }
        let store = Store::open(folder.path()).expect("migrates");
        assert!(!store.is_live(home().id).expect("reads"));
        assert!(store.is_queued(&home().key(), message(1)).expect("reads"));
        for removal in store.pending_removals().expect("reads") {
            store.remove_records(&removal).expect("removes");
        }
        assert!(!store.is_queued(&home().key(), message(1)).expect("reads"));
    }
}
