//! Copies between the database of one process and one that several share: what is copied, what is left out, and what
//! an interruption leaves. Repositories on their way into a ledger and back.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ulid::Ulid;

use super::copy::{compare_records, copy_records};
use super::copy_marker::MigrationEnd;
use super::store::{decode, encode};
use super::{Meter, NamespaceRecord, Store, StoreLedger, UsageRecord};
use crate::bucket::Bucket;
use crate::error::{DiskTrouble, Error, Result};
use crate::git::{CommitId, CommitMessage, Edit, Ledger, LedgerState, Repository};
use crate::identity::{AccountId, NamespaceId, NamespaceKey, NamespaceName};
use crate::key_value::postgres_engine::test_database::TestDatabase;
use crate::key_value::{
    Batch, Column, ColumnPrefix, Durability, Engine, EngineStats, KeyValuePair, MemoryEngine, OpenGeneration,
};
use crate::records::ownership::{Claim, NodeSession};

/// An engine that refuses everything after a number of writes and pages, as when a server goes away.
struct FailingEngine {
    inner: Arc<MemoryEngine>,
    calls_left: AtomicU64,
}

impl FailingEngine {
    fn over(inner: &Arc<MemoryEngine>, calls: u64) -> Arc<Self> {
        Arc::new(Self { inner: Arc::clone(inner), calls_left: AtomicU64::new(calls) })
    }

    fn count_call(&self) -> Result<()> {
        let counted = self.calls_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match counted {
            Ok(_) => Ok(()),
            Err(_) => {
                let source = "the server is gone".into();
                Err(Error::Engine { trouble: Some(DiskTrouble::Unreachable), source })
            }
        }
    }
}

impl Engine for FailingEngine {
    fn get(&self, column: Column, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.inner.get(column, key)
    }

    fn scan(&self, column: Column, prefix: &[u8], after: Option<&[u8]>, limit: usize) -> Result<Vec<KeyValuePair>> {
        self.inner.scan(column, prefix, after, limit)
    }

    fn scan_back(
        &self,
        column: Column,
        prefix: &[u8],
        before: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<KeyValuePair>> {
        self.inner.scan_back(column, prefix, before, limit)
    }

    fn read_page(&self, column: Column, after: Option<&[u8]>) -> Result<Vec<KeyValuePair>> {
        self.count_call()?;
        self.inner.read_page(column, after)
    }

    fn write(&self, batch: &Batch, durability: Durability) -> Result<()> {
        self.count_call()?;
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

/// A store of several processes over an engine.
fn shared(engine: &Arc<MemoryEngine>) -> Store {
    let engine: Arc<dyn Engine> = engine.clone();
    Store::open_shared(engine).expect("opens")
}

fn put(store: &Store, column: Column, key: &[u8], value: &[u8]) {
    let mut batch = Batch::new();
    batch.put(column, key, value);
    store.kv.write(&batch, Durability::Buffered).expect("writes");
}

/// Writes enough records that a copy takes several pages and batches.
fn fill(store: &Store) {
    let mut batch = Batch::new();
    for number in 0..2500u32 {
        batch.put(Column::Sources, number.to_be_bytes(), format!("source {number}"));
        batch.put(Column::Vectors, number.to_be_bytes(), vec![(number % 251) as u8; 900]);
    }
    batch.put(Column::Meta, "issuer", "key");
    batch.put(Column::Models, "model", "");
    store.kv.write(&batch, Durability::Buffered).expect("writes");
}

/// Copies with an interruption after each further call, until a copy is complete. Returns the number of interruptions.
fn copy_with_interruptions(copy: impl Fn(u64) -> Result<()>) -> u64 {
    let mut interruptions = 0;
    // Every column needs a page, and a later copy reads fewer entries of each.
    for calls in 1..1000 {
        match copy(calls) {
            Ok(()) => return interruptions,
            Err(error) => assert!(matches!(error, Error::Engine { .. }), "{error}"),
        }
        interruptions += 1;
    }
    interruptions
}

#[test]
fn a_copy_to_a_shared_database_continues_where_it_was_interrupted() {
    let from = Store::in_memory().expect("creates");
    fill(&from);
    let engine = Arc::new(MemoryEngine::new());
    shared(&engine);
    let interruptions = copy_with_interruptions(|calls| {
        let to = Store::open_shared(FailingEngine::over(&engine, calls)).expect("opens");
        copy_records(&from, &to, &|_| {})
    });
    assert!(interruptions > 3, "{interruptions}");
    let totals = compare_records(&from, &shared(&engine), &|_| {}).expect("are equal");
    assert_eq!(totals.records, 5002);
    // The stores of both kinds have the same format, which is not part of the comparison.
    assert_eq!(shared(&engine).check().0, 5003);
}

#[test]
fn a_copy_to_a_store_of_one_process_continues_where_it_was_interrupted() {
    let engine = Arc::new(MemoryEngine::new());
    fill(&shared(&engine));
    let to = Store::in_memory().expect("creates");
    let interruptions = copy_with_interruptions(|calls| {
        let from = Store::open_shared(FailingEngine::over(&engine, calls)).expect("opens");
        copy_records(&from, &to, &|_| {})
    });
    assert!(interruptions > 3, "{interruptions}");
    assert_eq!(compare_records(&shared(&engine), &to, &|_| {}).expect("are equal").records, 5002);
}

#[test]
fn a_complete_copy_is_not_written_again() {
    let from = Store::in_memory().expect("creates");
    fill(&from);
    let to = shared(&Arc::new(MemoryEngine::new()));
    for expected in [5002, 1] {
        let copied = AtomicU64::new(0);
        copy_records(&from, &to, &|records| copied.store(records, Ordering::SeqCst)).expect("copies");
        // The second time, only the secret of the column that is copied in whole.
        assert_eq!(copied.load(Ordering::SeqCst), expected);
    }
}

#[test]
#[ignore = "needs a PostgreSQL server: sh scripts/test-cluster.sh"]
fn records_are_copied_to_postgres_and_back() {
    let database = TestDatabase::create();
    let from = Store::in_memory().expect("creates");
    fill(&from);
    let cluster = Store::open_shared(Arc::new(database.engine("copy"))).expect("opens");
    copy_records(&from, &cluster, &|_| {}).expect("copies");
    assert_eq!(compare_records(&from, &cluster, &|_| {}).expect("are equal").records, 5002);
    let back = Store::in_memory().expect("creates");
    copy_records(&cluster, &back, &|_| {}).expect("copies");
    assert_eq!(compare_records(&from, &back, &|_| {}).expect("are equal").records, 5002);
}

#[test]
fn every_difference_is_found() {
    let from = Store::in_memory().expect("creates");
    fill(&from);
    let engine = Arc::new(MemoryEngine::new());
    let to = shared(&engine);
    copy_records(&from, &to, &|_| {}).expect("copies");
    let key = 2000u32.to_be_bytes();
    let intact = to.kv.get(Column::Sources, &key).expect("reads").expect("a record");
    let is_different = || matches!(compare_records(&from, &to, &|_| {}), Err(Error::Corrupt { .. }));
    put(&to, Column::Sources, &key, b"other");
    assert!(is_different());
    put(&to, Column::Sources, &key, &intact);
    assert!(!is_different());
    put(&to, Column::Sources, &[0xff], b"more");
    assert!(is_different());
    let mut batch = Batch::new();
    batch.delete(Column::Sources, [0xffu8]).delete(Column::Models, "model");
    to.kv.write(&batch, Durability::Buffered).expect("writes");
    assert!(is_different());
}

#[test]
fn what_describes_one_database_is_left_out() {
    let engine = Arc::new(MemoryEngine::new());
    let from = shared(&engine);
    for &column in Column::OF_CLUSTER {
        put(&from, column, b"key", b"value");
    }
    put(&from, Column::Meta, b"cluster-id", b"id");
    put(&from, Column::Usage, &[0; 17], b"");
    from.begin_migration(MigrationEnd::Source, Ulid::from(1u128)).expect("writes");
    let to = Store::in_memory().expect("creates");
    to.begin_migration(MigrationEnd::Target, Ulid::from(1u128)).expect("writes");
    copy_records(&from, &to, &|_| {}).expect("copies");
    assert_eq!(compare_records(&from, &to, &|_| {}).expect("are equal").records, 0);
    assert!(to.is_unused().expect("reads"));
    assert_eq!(to.migration(MigrationEnd::Target).expect("reads"), Some(Ulid::from(1u128)));
    assert_eq!(to.migration(MigrationEnd::Source).expect("reads"), None);
    to.finish_migration(MigrationEnd::Target).expect("writes");
    assert_eq!(to.migration(MigrationEnd::Target).expect("reads"), None);
    put(&to, Column::Meta, b"issuer", b"key");
    assert!(!to.is_unused().expect("reads"));
    assert!(!from.is_unused().expect("reads"), "it has heads and packs");
}

#[test]
fn parts_of_usage_are_summed_on_the_way_to_one_process() {
    let from = shared(&Arc::new(MemoryEngine::new()));
    let account = AccountId::default();
    let mut first = UsageRecord::new(&account, Meter::Reads);
    first.count("2026-01", 3);
    let mut second = UsageRecord::new(&account, Meter::Reads);
    second.count("2026-01", 4);
    second.count("2026-02", 5);
    let mut other = UsageRecord::new(&account, Meter::Writes);
    other.count("2026-02", 7);
    put(&from, Column::Usage, b"default\0reads", &encode(&first).expect("encodes"));
    // A node has a record of its id, and a part of each meter.
    let node = [7u8; 16];
    put(&from, Column::Usage, &[b"\0".as_slice(), &node].concat(), b"");
    put(&from, Column::Usage, &[b"default\0reads\0".as_slice(), &node].concat(), &encode(&second).expect("encodes"));
    put(&from, Column::Usage, &[b"default\0writes\0".as_slice(), &node].concat(), &encode(&other).expect("encodes"));
    let to = Store::in_memory().expect("creates");
    for _ in 0..2 {
        copy_records(&from, &to, &|_| {}).expect("copies");
        assert_eq!(compare_records(&from, &to, &|_| {}).expect("are equal").records, 2);
    }
    let stored = to.kv.get(Column::Usage, b"default\0reads").expect("reads").expect("a record");
    let reads: UsageRecord = decode(Column::Usage, &stored).expect("decodes");
    assert_eq!((reads.total, reads.used_in("2026-01"), reads.used_in("2026-02")), (12, 7, 5));
    let stored = to.kv.get(Column::Usage, b"default\0writes").expect("reads").expect("a record");
    assert_eq!(decode::<UsageRecord>(Column::Usage, &stored).expect("decodes"), other);
    let back = shared(&Arc::new(MemoryEngine::new()));
    copy_records(&to, &back, &|_| {}).expect("copies");
    assert_eq!(compare_records(&to, &back, &|_| {}).expect("are equal").records, 2);
    assert_eq!(back.usage(&account, Meter::Reads).expect("reads"), Some(reads));
}

#[test]
fn a_planned_erasure_is_found() {
    let store = Store::in_memory().expect("creates");
    assert!(!store.has_unfinished_erasures().expect("reads"));
    put(&store, Column::Erasures, b"namespace", b"record");
    assert!(store.has_unfinished_erasures().expect("reads"));
}

#[test]
fn a_namespace_that_cannot_be_decoded_is_reported() {
    let store = Store::in_memory().expect("creates");
    put(&store, Column::Namespaces, b"default\0notes", b"\x01{");
    assert!(matches!(store.all_namespaces(), Err(Error::Corrupt { .. })));
}

/// Bytes that do not compress.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 7u64;
    let mut bytes = Vec::with_capacity(count);
    for _ in 0..count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        bytes.push((state >> 56) as u8);
    }
    bytes
}

/// Writes many packs, one of them large, into a repository. Returns the head.
fn write_repository(repository: &Repository, folder: &str) -> CommitId {
    let mut writer = repository.writer().expect("opens");
    for number in 0..40u32 {
        let content = if number == 20 { noise(200_000) } else { format!("content {number}").into_bytes() };
        let edit = Edit { path: format!("{folder}/{number}.md"), content: Some(content) };
        let message =
            CommitMessage { subject: "change".to_owned(), body: String::new(), trailers: Vec::new(), at_seconds: 1 };
        writer.commit(&[edit], &message).expect("commits");
    }
    writer.head().expect("a head")
}

fn namespace(store: &Store) -> NamespaceKey {
    let id = NamespaceId::new(Ulid::from(1u128));
    let wanted = NamespaceRecord::new(&AccountId::default(), &NamespaceName::default(), id, 0);
    store.create_namespace(&wanted).expect("creates").0.key()
}

/// A ledger of a new node that owns the namespace.
fn ledger(store: Store, bucket: &Arc<Bucket>, namespace: &NamespaceKey) -> (NodeSession, StoreLedger) {
    let store = Arc::new(store);
    let session = NodeSession::begin(&store, "127.0.0.1:1", "1.0.0", Instant::now()).expect("begins");
    assert_eq!(store.claim(session.id(), namespace).expect("claims"), Claim::Held);
    (session, StoreLedger::new(store, Arc::clone(bucket), namespace.clone()))
}

#[test]
fn a_repository_is_copied_into_a_ledger_and_back() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let original = Repository::open_or_create(&folder.path().join("a.git")).expect("creates");
    let head = write_repository(&original, "facts");
    let engine = Arc::new(MemoryEngine::new());
    let bucket = Arc::new(Bucket::in_memory().expect("creates"));
    let namespace = namespace(&shared(&engine));
    let (session, all) = ledger(shared(&engine), &bucket, &namespace);
    original.publish_all(&all).expect("publishes");
    let size = original.compare_with_ledger(&all).expect("are equal");
    assert!(size.packs > 0 && size.bytes > 200_000, "{size:?}");
    all.check_sizes().expect("are complete");
    session.end().expect("ends");
    let path = folder.path().join("b.git");
    let reader = Arc::new(StoreLedger::new(Arc::new(shared(&engine)), Arc::clone(&bucket), namespace));
    drop(Repository::open_with_ledger(&path, reader.clone()).expect("fetches"));
    let copy = Repository::open_existing(&path).expect("opens").expect("exists");
    assert_eq!(copy.compare_with_ledger(&*reader).expect("are equal"), size);
    assert_eq!(copy.head().expect("reads"), Some(head));
    assert_eq!(copy.read(head, "facts/20.md").expect("reads"), Some(noise(200_000)));
    assert!(copy.inspect(head, |_| {}).expect("inspects").problems.is_empty());
    // Without the ledger, it is written as any other repository.
    write_repository(&copy, "more");
    assert!(copy.compare_with_ledger(&*reader).is_err());
}

#[test]
fn an_interrupted_copy_of_a_repository_is_continued() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let original = Repository::open_or_create(&folder.path().join("a.git")).expect("creates");
    let head = write_repository(&original, "facts");
    let engine = Arc::new(MemoryEngine::new());
    let bucket = Arc::new(Bucket::in_memory().expect("creates"));
    let namespace = namespace(&shared(&engine));
    // The session and the claim take two writes, each group of packs takes one, and the head takes the last one.
    let mut interruptions = 0;
    for calls in 3.. {
        let store = Store::open_shared(FailingEngine::over(&engine, calls)).expect("opens");
        let (_, part) = ledger(store, &bucket, &namespace);
        let published = original.publish_all(&part);
        // The node is gone, as after a crash, and was declared dead.
        let mut batch = Batch::new();
        for (id, _) in engine.scan(Column::Nodes, b"", None, usize::MAX).expect("reads") {
            batch.delete(Column::Nodes, id);
        }
        engine.write(&batch, Durability::Synced).expect("writes");
        if published.is_ok() {
            break;
        }
        let state = part.state().expect("reads");
        assert!(state.head.is_none() && original.compare_with_ledger(&part).is_err());
        interruptions += 1;
    }
    assert!(interruptions > 0);
    let reader = StoreLedger::new(Arc::new(shared(&engine)), Arc::clone(&bucket), namespace.clone());
    original.compare_with_ledger(&reader).expect("are equal");
    assert_eq!(reader.state().expect("reads").head, Some(head));
    reader.check_sizes().expect("are complete");
}

#[test]
fn a_ledger_gets_what_was_written_after_an_interrupted_copy() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let original = Repository::open_or_create(&folder.path().join("a.git")).expect("creates");
    write_repository(&original, "facts");
    let engine = Arc::new(MemoryEngine::new());
    let bucket = Arc::new(Bucket::in_memory().expect("creates"));
    let namespace = namespace(&shared(&engine));
    let (_session, ledger) = ledger(shared(&engine), &bucket, &namespace);
    original.publish_all(&ledger).expect("publishes");
    write_repository(&original, "more");
    original.consolidate().expect("joins");
    assert!(original.compare_with_ledger(&ledger).is_err());
    original.publish_all(&ledger).expect("publishes");
    original.compare_with_ledger(&ledger).expect("are equal");
}

#[test]
fn an_empty_repository_needs_nothing_in_a_ledger() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let original = Repository::open_or_create(&folder.path().join("a.git")).expect("creates");
    let engine = Arc::new(MemoryEngine::new());
    let bucket = Arc::new(Bucket::in_memory().expect("creates"));
    let namespace = namespace(&shared(&engine));
    let (_session, ledger) = ledger(shared(&engine), &bucket, &namespace);
    original.publish_all(&ledger).expect("publishes");
    assert_eq!(ledger.state().expect("reads"), LedgerState::default());
    original.compare_with_ledger(&ledger).expect("are equal");
}

#[test]
fn an_object_outside_of_packs_and_a_lost_index_are_refused() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let original = Repository::open_or_create(&folder.path().join("a.git")).expect("creates");
    write_repository(&original, "facts");
    let engine = Arc::new(MemoryEngine::new());
    let bucket = Arc::new(Bucket::in_memory().expect("creates"));
    let namespace = namespace(&shared(&engine));
    let (_session, ledger) = ledger(shared(&engine), &bucket, &namespace);
    let single = original.path().join("objects/0a");
    std::fs::create_dir(&single).expect("creates");
    std::fs::write(single.join("b".repeat(38)), b"").expect("writes");
    let refused = original.publish_all(&ledger).expect_err("is refused").to_string();
    assert!(refused.contains("git repack"), "{refused}");
    std::fs::remove_dir_all(&single).expect("removes");
    for entry in std::fs::read_dir(original.path().join("objects/pack")).expect("lists") {
        let file = entry.expect("an entry").path();
        if file.extension().is_some_and(|extension| extension == "idx") {
            std::fs::remove_file(file).expect("removes");
        }
    }
    let refused = original.publish_all(&ledger).expect_err("is refused").to_string();
    assert!(refused.contains("no index"), "{refused}");
}
