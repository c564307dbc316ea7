//! Snapshots of indexes in a bucket: what the next owner of a namespace begins with, and what an erasure leaves.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebase_storage::bucket::Bucket;
use cuebase_storage::key_value::MemoryEngine;
use cuebase_storage::memory_file::{FrontMatter, MemoryFile};
use cuebase_storage::records::ownership::{Claim, NodeSession};
use cuebase_storage::records::{
    Dedup, ErasureSelection, IndexSnapshotRecord, NamespaceRecord, QueueEntry, QueuedWork, SnapshotFile,
};
use cuebase_storage::{AccountId, MessageId, NamespaceId, NamespaceName, Store};
use tempfile::TempDir;
use ulid::Ulid;

use super::backlog::Backlog;
use super::context::NamespaceContext;
use super::end::End;
use super::ids::Ids;
use super::open::Namespace;
use super::pending::PendingPaths;
use super::plan::{Plan, PlannedFile};
use super::repository_home::RepositoryHome;
use super::retention::SourceRetention;
use super::snapshot_state::UploadReason;
use crate::clock::Clock;
use crate::config::{BuiltInModel, EmbeddingChoice, ModelSettings};
use crate::error::Error;
use crate::metrics::Metrics;
use crate::model::Models;

/// Memories of which a snapshot is stored.
const MEMORIES: usize = 600;
/// A word of one memory only.
const SECRET: &str = "quokka";

/// The storage that all nodes share.
struct Shared {
    engine: Arc<MemoryEngine>,
    bucket: Arc<Bucket>,
    namespace: NamespaceRecord,
}

impl Shared {
    fn create() -> Self {
        let engine = Arc::new(MemoryEngine::new());
        let store = Store::open_shared(engine.clone()).expect("opens");
        let id = NamespaceId::new(Ulid::from(1u128));
        let wanted = NamespaceRecord::new(&AccountId::default(), &NamespaceName::default(), id, 0);
        let namespace = store.create_namespace(&wanted).expect("creates").0;
        Self { engine, bucket: Arc::new(Bucket::in_memory().expect("creates")), namespace }
    }

    /// A node that owns the namespace, if no other one does.
    fn node(&self) -> Node {
        let store = Arc::new(Store::open_shared(self.engine.clone()).expect("opens"));
        let session = NodeSession::begin(&store, "127.0.0.1:1", "1.0.0", Instant::now()).expect("begins");
        let claim = store.claim(session.id(), &self.namespace.key()).expect("claims");
        assert_eq!(claim, Claim::Held);
        let folder = tempfile::tempdir().expect("temporary directory");
        let context = context(&store, RepositoryHome::Records(Arc::clone(&self.bucket)));
        Node { store, session, context, folder, record: self.namespace.clone() }
    }

    /// The names of the objects of all snapshots.
    fn objects(&self) -> Vec<String> {
        let mut names = Vec::new();
        for object in self.bucket.list("index/").expect("lists") {
            names.push(object.name);
        }
        names
    }

    /// Whether the objects of snapshots hold a text.
    fn hold(&self, text: &str) -> bool {
        for name in self.objects() {
            let bytes = self.bucket.get(&name).expect("reads").expect("an object");
            if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                return true;
            }
        }
        false
    }
}

/// A node with the cache of its own.
struct Node {
    store: Arc<Store>,
    session: NodeSession,
    context: NamespaceContext,
    folder: TempDir,
    record: NamespaceRecord,
}

impl Node {
    fn open(&self) -> Namespace {
        let found = self.store.namespace(&self.record.account, &self.record.name).expect("reads");
        let record = found.expect("a namespace");
        let (repository, index) = (self.folder.path().join("n.git"), self.folder.path().join("index"));
        Namespace::open(record, &repository, &index, self.context.clone()).expect("opens")
    }

    fn snapshot(&self) -> IndexSnapshotRecord {
        self.store.index_snapshot(self.record.id).expect("reads").expect("a snapshot")
    }

    fn queue_erasure(&self, path: &str) -> (QueueEntry, ErasureSelection) {
        queue_erasure(&self.store, &self.record, path)
    }
}

/// Queues the erasure of a memory. Returns its entry and selection.
pub(super) fn queue_erasure(store: &Store, record: &NamespaceRecord, path: &str) -> (QueueEntry, ErasureSelection) {
    let selection = ErasureSelection::Paths(vec![path.to_owned()]);
    let entry = QueueEntry {
        id: MessageId::from(Ulid::from(2u128)),
        account: record.account.clone(),
        namespace: record.name.clone(),
        namespace_id: record.id,
        accepted_at_ms: 1,
        accepted_running_ms: 1,
        failures: 0,
        fingerprint: None,
        sender: None,
        work: QueuedWork::Erase { selection: selection.clone() },
    };
    let mut batch = store.batch();
    batch.enqueue(&entry, Dedup::Off, &[]).expect("enqueues");
    store.commit(batch).expect("writes");
    (entry, selection)
}

/// The context of namespaces with the built-in model.
pub(super) fn context(store: &Arc<Store>, repositories: RepositoryHome) -> NamespaceContext {
    let settings = ModelSettings {
        embedding: EmbeddingChoice::BuiltIn(Some(BuiltInModel::Table)),
        chat: None,
        endpoint: None,
        embedding_deadline: Duration::from_secs(1),
        read_budget: Duration::ZERO,
        call_time: Duration::from_secs(1),
    };
    let clock = Clock::system();
    NamespaceContext {
        store: Arc::clone(store),
        models: Arc::new(Models::open(&settings, store).expect("opens")),
        backlog: Arc::new(Backlog::default()),
        metrics: Arc::new(Metrics::new(clock.clone())),
        ids: Arc::new(Ids::after(None, clock.clone())),
        pending: Arc::new(PendingPaths::default()),
        repositories,
        sources: SourceRetention::Keep,
        clock,
    }
}

fn path(number: usize) -> String {
    format!("facts/m{number}.md")
}

/// Commits and indexes a memory for each number.
fn write(namespace: &Namespace, numbers: Range<usize>, text: &str) {
    let numbers = Vec::from_iter(numbers);
    let plan = || {
        let mut files = Vec::new();
        for number in &numbers {
            let front = FrontMatter { cues: vec![format!("the {text} of {number}")], ..FrontMatter::default() };
            let body = format!("# Memory {number}\n\nThe {text} has the number {number}.\n");
            files.push(PlannedFile::memory(path(*number), MemoryFile { front, body }));
        }
        Plan::new("write".to_owned(), files)
    };
    let now = namespace.context.clock.now();
    namespace.write(None, now, |_| Ok(plan())).expect("writes");
}

/// The number of changes in the index. An index that was built from git has one for each memory.
fn changes(namespace: &Namespace) -> usize {
    namespace.snapshot().change_count()
}

fn upload(namespace: &Namespace) -> bool {
    namespace.upload_snapshot(UploadReason::Release).expect("uploads")
}

fn assert_agrees_with_git(namespace: &Namespace) {
    let differences = namespace.compare_index().expect("compares");
    assert!(differences.is_empty(), "{differences:?}");
}

#[test]
fn the_next_owner_begins_with_the_snapshot_and_catches_up() {
    let shared = Shared::create();
    let first = shared.node();
    let namespace = first.open();
    write(&namespace, 0..MEMORIES, "parcel");
    assert!(upload(&namespace));
    assert!(!upload(&namespace), "nothing has changed");
    write(&namespace, 0..20, "letter");
    assert!(upload(&namespace));
    let stored = first.snapshot();
    let log = stored.files.iter().find(|file| file.name == "memories.log").expect("a log");
    assert_eq!(log.segments.len(), 2, "only the rest of the log is stored");
    assert_eq!(shared.objects(), Vec::from_iter(stored.objects()), "replaced objects are removed");
    write(&namespace, MEMORIES..MEMORIES + 3, "parcel");

    first.session.end().expect("ends");
    let second = shared.node();
    let taken = second.open();
    assert_eq!((taken.snapshot().memory_count(), changes(&taken)), (MEMORIES + 3, MEMORIES + 20 + 3));
    assert_agrees_with_git(&taken);
    // The former owner records nothing, and leaves nothing behind.
    assert!(matches!(namespace.upload_snapshot(UploadReason::Release), Err(Error::NotOwner(_))));
    assert_eq!(second.snapshot(), stored);
    assert_eq!(shared.objects(), Vec::from_iter(stored.objects()));

    assert!(upload(&taken), "the index has changed since the snapshot");
    assert_ne!(second.snapshot(), stored);
    assert_eq!(shared.objects(), Vec::from_iter(second.snapshot().objects()));
    drop(taken);
    assert!(!upload(&second.open()), "the local index is as the snapshot");
}

#[test]
fn an_unusable_snapshot_is_ignored() {
    let shared = Shared::create();
    let first = shared.node();
    let namespace = first.open();
    write(&namespace, 0..MEMORIES, "parcel");
    write(&namespace, 0..20, "letter");
    assert!(upload(&namespace));
    let stored = first.snapshot();
    first.session.end().expect("ends");
    let second = shared.node();
    let key = shared.namespace.key();
    let other_state = IndexSnapshotRecord { state: "other\n".to_owned(), ..stored.clone() };
    let missing = SnapshotFile { name: "memories.log".to_owned(), segments: Vec::new() };
    let other_files = IndexSnapshotRecord { files: vec![missing], ..stored.clone() };
    for record in [other_state, other_files] {
        second.store.put_index_snapshot(&key, &record).expect("records");
        let opened = second.open();
        assert_eq!(changes(&opened), MEMORIES, "is built from git");
        assert_agrees_with_git(&opened);
        drop(opened);
        std::fs::remove_dir_all(second.folder.path().join("index")).expect("removes");
    }
    shared.bucket.delete_all("index/").expect("deletes");
    second.store.put_index_snapshot(&key, &stored).expect("records");
    assert_eq!(changes(&second.open()), MEMORIES);
    assert!(!second.folder.path().join("index.download").exists());
}

#[test]
fn a_small_index_has_no_snapshot_and_a_large_change_is_due_at_once() {
    let shared = Shared::create();
    let node = shared.node();
    let namespace = node.open();
    write(&namespace, 0..400, "parcel");
    assert!(!upload(&namespace));
    write(&namespace, 0..600, "letter");
    assert!(namespace.upload_snapshot(UploadReason::Due).expect("uploads"), "a thousand changes");
    write(&namespace, 0..1, "parcel");
    namespace.retire(End::Released);
    assert!(!upload(&namespace), "the namespace is released");
}

#[test]
fn a_process_that_is_alone_stores_nothing() {
    let store = Arc::new(Store::in_memory().expect("creates"));
    let folder = tempfile::tempdir().expect("temporary directory");
    let id = NamespaceId::new(Ulid::from(1u128));
    let wanted = NamespaceRecord::new(&AccountId::default(), &NamespaceName::default(), id, 0);
    let record = store.create_namespace(&wanted).expect("creates").0;
    let (repository, index) = (folder.path().join("n.git"), folder.path().join("index"));
    let context = context(&store, RepositoryHome::Disk);
    let namespace = Namespace::open(record, &repository, &index, context).expect("opens");
    write(&namespace, 0..MEMORIES, "parcel");
    assert!(!upload(&namespace));
    assert_eq!(store.index_snapshot(id).expect("reads"), None);
}

#[test]
fn erased_text_is_in_no_object() {
    let shared = Shared::create();
    let node = shared.node();
    let namespace = node.open();
    write(&namespace, 0..MEMORIES, "parcel");
    write(&namespace, 7..8, SECRET);
    assert!(upload(&namespace));
    assert!(shared.hold(SECRET));
    let (entry, selection) = node.queue_erasure(&path(7));
    namespace.erase(&entry, &selection, namespace.context.clock.now()).expect("erases");
    namespace.remove_erased().expect("removes");
    assert!(shared.objects().is_empty(), "{:?}", shared.objects());
    assert_eq!(node.store.index_snapshot(shared.namespace.id).expect("reads"), None);
    assert!(upload(&namespace));
    assert!(!shared.objects().is_empty() && !shared.hold(SECRET));
    assert_agrees_with_git(&namespace);
}

#[test]
fn a_snapshot_of_the_history_before_an_erasure_is_not_used() {
    let shared = Shared::create();
    let first = shared.node();
    let namespace = first.open();
    write(&namespace, 0..MEMORIES, "parcel");
    write(&namespace, 7..8, SECRET);
    assert!(upload(&namespace));
    let (entry, selection) = first.queue_erasure(&path(7));
    namespace.erase(&entry, &selection, namespace.context.clock.now()).expect("erases");
    // The node ends before it removes what holds the text.
    first.session.end().expect("ends");
    assert!(shared.hold(SECRET));
    let second = shared.node();
    let taken = second.open();
    assert_eq!((taken.snapshot().memory_count(), changes(&taken)), (MEMORIES - 1, MEMORIES - 1));
    assert_agrees_with_git(&taken);
    taken.remove_erased().expect("removes");
    assert!(shared.objects().is_empty(), "{:?}", shared.objects());
}
