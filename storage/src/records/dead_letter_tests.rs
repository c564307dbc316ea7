//! What a list of dead letters reads: only the letters of the account, and no bodies.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use ulid::Ulid;

use super::{DeadLetter, QueueEntry, QueuedWork, Store};
use crate::error::Result;
use crate::identity::{AccountId, MessageId, NamespaceId, NamespaceName};
use crate::key_value::{
    Batch, Column, ColumnPrefix, Durability, Engine, EngineStats, KeyValuePair, MemoryEngine, OpenGeneration,
};

/// A [`MemoryEngine`] that remembers the entries that it returned.
#[derive(Default)]
struct WatchedEngine {
    inner: MemoryEngine,
    returned: Mutex<Vec<(Column, Vec<u8>)>>,
}

impl WatchedEngine {
    fn remember(&self, column: Column, entries: Vec<KeyValuePair>) -> Vec<KeyValuePair> {
        self.returned.lock().extend(entries.iter().map(|(key, _)| (column, key.clone())));
        entries
    }
}

impl Engine for WatchedEngine {
    fn get(&self, column: Column, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.returned.lock().push((column, key.to_vec()));
        self.inner.get(column, key)
    }

    fn scan(&self, column: Column, prefix: &[u8], after: Option<&[u8]>, limit: usize) -> Result<Vec<KeyValuePair>> {
        Ok(self.remember(column, self.inner.scan(column, prefix, after, limit)?))
    }

    fn scan_back(
        &self,
        column: Column,
        prefix: &[u8],
        before: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<KeyValuePair>> {
        Ok(self.remember(column, self.inner.scan_back(column, prefix, before, limit)?))
    }

    fn read_page(&self, column: Column, after: Option<&[u8]>) -> Result<Vec<KeyValuePair>> {
        Ok(self.remember(column, self.inner.read_page(column, after)?))
    }

    fn write(&self, batch: &Batch, durability: Durability) -> Result<()> {
        self.inner.write(batch, durability)
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }

    fn sync_since(&self, generation: OpenGeneration) -> Result<()> {
        self.inner.sync_since(generation)
    }

    fn generation(&self) -> OpenGeneration {
        self.inner.generation()
    }

    fn stats(&self) -> EngineStats {
        self.inner.stats()
    }

    fn checkpoint(&self, folder: &Path) -> Result<()> {
        self.inner.checkpoint(folder)
    }

    fn purge_deleted(&self, prefixes: &[ColumnPrefix]) -> Result<()> {
        self.inner.purge_deleted(prefixes)
    }
}

fn message(id: u128) -> MessageId {
    MessageId::from(Ulid::from(id))
}

/// Stores the dead letter of a write, with its work.
fn put_letter(store: &Store, account: &AccountId, id: MessageId) {
    let entry = QueueEntry {
        id,
        account: account.clone(),
        namespace: NamespaceName::default(),
        namespace_id: NamespaceId::new(Ulid::from(1u128)),
        accepted_at_ms: 0,
        accepted_running_ms: 0,
        failures: 1,
        fingerprint: None,
        sender: None,
        work: QueuedWork::Forget { paths: vec!["facts/a.md".to_owned()] },
    };
    let mut batch = Batch::new();
    DeadLetter::of(&entry, 0, 0, "no".into()).put(&mut batch, &entry.work).expect("encodes");
    store.kv.write(&batch, Durability::Buffered).expect("writes");
}

#[test]
fn a_list_reads_only_the_letters_of_its_account_and_no_bodies() {
    let engine = Arc::new(WatchedEngine::default());
    let mut store = Store::in_memory().expect("creates");
    store.kv = engine.clone();
    let [mine, other, next] = ["acme", "acm", "acme2"].map(|name| AccountId::new(name).expect("is valid"));
    for id in 1..=3 {
        put_letter(&store, &mine, message(id));
        put_letter(&store, &other, message(10 + id));
        put_letter(&store, &next, message(20 + id));
    }
    engine.returned.lock().clear();
    assert_eq!(store.dead_letters(&mine, Some(message(1)), 10).expect("lists").len(), 2);
    let mut expected = Vec::new();
    for id in [2, 3] {
        expected.push((Column::DeadLetters, [b"acme\0", &message(id).to_bytes()[..]].concat()));
    }
    assert_eq!(*engine.returned.lock(), expected);
}
