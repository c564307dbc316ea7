//! Backups of a cluster in memory: they are restored as a data directory, and go back to a cluster.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebase_storage::bucket::Bucket;
use cuebase_storage::git::{CommitId, CommitMessage, Edit, Repository};
use cuebase_storage::key_value::MemoryEngine;
use cuebase_storage::records::ownership::NodeSession;
use cuebase_storage::records::{AccountRecord, BackupHold, ErasureRecord, MediaRecord, NamespaceRecord, StoreLedger};
use cuebase_storage::{AccountId, NamespaceId, NamespaceName, Store};
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use tempfile::TempDir;
use ulid::Ulid;

use super::SharedSource;
use crate::maintenance::backup::copy::BackupCopy;
use crate::maintenance::backup::publish;
use crate::maintenance::manifest::{self, FORMAT, Manifest};
use crate::maintenance::migrate::{Cluster, to_cluster};
use crate::maintenance::progress::Progress;
use crate::maintenance::restore::restore;
use crate::namespace::registry::repository_folder;
use crate::sha256::sha256;

/// The content of the uploaded file.
const UPLOAD: &[u8] = b"a picture";

/// A node that owns a namespace with a small and a large pack and an uploaded file.
struct Node {
    folder: TempDir,
    store: Arc<Store>,
    bucket: Arc<Bucket>,
    session: NodeSession,
    namespace: NamespaceRecord,
}

impl Node {
    fn start() -> Self {
        let store = Arc::new(Store::open_shared(Arc::new(MemoryEngine::new())).expect("opens"));
        let session = NodeSession::begin(&store, "node:1", "1.0.0", Instant::now()).expect("begins");
        let account = AccountRecord { account: AccountId::default(), created_at_ms: 1, suspended: false };
        let mut batch = store.batch();
        batch.create_account(&account).expect("encodes");
        store.commit_synced(batch).expect("writes");
        let id = NamespaceId::new(Ulid::from(2u128));
        let wanted = NamespaceRecord::new(&account.account, &NamespaceName::default(), id, 1);
        let namespace = store.create_namespace(&wanted).expect("creates").0;
        store.claim(session.id(), &namespace.key()).expect("claims");
        let folder = tempfile::tempdir().expect("temporary directory");
        let bucket = Arc::new(Bucket::in_memory().expect("creates"));
        let node = Self { folder, store, bucket, session, namespace };
        node.commit("facts/large.md", &noise(200_000));
        node.commit("facts/small.md", b"small");
        node.upload();
        node
    }

    fn commit(&self, path: &str, content: &[u8]) -> CommitId {
        let ledger = StoreLedger::new(Arc::clone(&self.store), Arc::clone(&self.bucket), self.namespace.key());
        let cache = self.folder.path().join("cache.git");
        let repository = Repository::open_with_ledger(&cache, Arc::new(ledger)).expect("opens");
        let edit = Edit { path: path.to_owned(), content: Some(content.to_vec()) };
        let message =
            CommitMessage { subject: "change".to_owned(), body: String::new(), trailers: Vec::new(), at_seconds: 1 };
        let head = repository.writer().expect("opens").commit(&[edit], &message).expect("commits");
        let record = NamespaceRecord { head: Some(head), ..self.namespace.clone() };
        self.store.put_namespace(&record).expect("writes");
        head
    }

    fn upload(&self) {
        let record = MediaRecord {
            id: Ulid::from(7u128),
            account: self.namespace.account.clone(),
            namespace: self.namespace.name.clone(),
            namespace_id: self.namespace.id,
            content_type: "image/png".to_owned(),
            filename: None,
            bytes: UPLOAD.len() as u64,
            sha256: HEXLOWER.encode(&sha256(&[UPLOAD])),
        };
        self.bucket.put(&format!("media/{}/{}", record.namespace_id, record.id), UPLOAD.to_vec()).expect("writes");
        let mut batch = self.store.batch();
        batch.put_media(&record).expect("encodes");
        self.store.commit_synced(batch).expect("writes");
    }

    fn begin(&self) -> anyhow::Result<SharedSource> {
        SharedSource::begin(&self.store, &self.bucket, self.session.id(), Duration::ZERO)
    }

    fn backups(&self) -> PathBuf {
        self.folder.path().join("backups")
    }

    /// Writes a backup of a name. Returns the number of bytes that were not shared with the previous one.
    fn write(&self, source: SharedSource, name: &str) -> u64 {
        let unfinished = self.folder.path().join(format!("unfinished-{name}"));
        fs::create_dir(&unfinished).expect("creates");
        fs::create_dir_all(self.backups()).expect("creates");
        let previous = manifest::newest(&self.backups()).expect("reads");
        let mut copy = BackupCopy::begin(&unfinished, previous, &ignore);
        drop(source.copy_to(&mut copy, &self.folder.path().join("data"), name).expect("copies"));
        let made_at = Timestamp::UNIX_EPOCH.to_string();
        let manifest = Manifest { format: FORMAT, version: "1.0.0".to_owned(), made_at, files: copy.files };
        publish(&manifest, &unfinished, &self.backups().join(name)).expect("publishes");
        copy.written
    }

    fn restore(&self, name: &str) -> PathBuf {
        let data = self.folder.path().join(format!("restored-{name}"));
        restore(&self.backups().join(name), &data, &|_| {}).expect("restores");
        data
    }

    fn repository_of(&self, data: &Path) -> PathBuf {
        let NamespaceRecord { account, name, id, .. } = &self.namespace;
        repository_folder(data, account, name, *id)
    }
}

/// Receives progress.
fn ignore(_: Progress) {}

/// Text that a pack does not make much smaller.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut bytes = Vec::with_capacity(count);
    for _ in 0..count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        bytes.push(b' ' + (state >> 58) as u8);
    }
    bytes
}

#[test]
fn a_backup_has_the_records_and_packs_of_one_moment() {
    let node = Node::start();
    let head = node.commit("facts/last.md", b"last");
    let source = node.begin().expect("begins");
    node.commit("facts/later.md", b"later");
    node.write(source, "first");
    let data = node.restore("first");
    let store = Store::open(&data.join("records")).expect("opens");
    let found = store.namespace(&node.namespace.account, &node.namespace.name).expect("reads").expect("exists");
    assert_eq!((found.id, found.head), (node.namespace.id, Some(head)));
    let repository = Repository::open_existing(&node.repository_of(&data)).expect("opens").expect("exists");
    assert_eq!(repository.head().expect("reads"), Some(head));
    assert_eq!(repository.read(head, "facts/large.md").expect("reads"), Some(noise(200_000)));
    assert_eq!(repository.read(head, "facts/last.md").expect("reads").as_deref(), Some(&b"last"[..]));
    assert_eq!(repository.read(head, "facts/later.md").expect("reads"), None);
    assert!(repository.inspect(head, |_| {}).expect("inspects").problems.is_empty());
    let upload = data.join("media").join(node.namespace.id.to_string()).join(Ulid::from(7u128).to_string());
    assert_eq!(fs::read(upload).expect("reads"), UPLOAD);
    assert!(fs::read_dir(node.folder.path().join("data/trash")).expect("lists").next().is_none());
}

#[test]
fn a_backup_goes_to_another_cluster() {
    let node = Node::start();
    node.write(node.begin().expect("begins"), "first");
    let data = node.restore("first");
    let store = Arc::new(Store::open_shared(Arc::new(MemoryEngine::new())).expect("opens"));
    let cluster = Cluster::new(store, Arc::new(Bucket::in_memory().expect("creates")));
    let report = to_cluster(&data, &cluster, &|_| {}).expect("migrates");
    assert_eq!((report.namespaces, report.packs, report.files), (1, 2, 1));
}

#[test]
fn packs_and_files_of_the_previous_backup_are_linked() {
    let node = Node::start();
    let first = node.write(node.begin().expect("begins"), "first");
    node.commit("facts/later.md", b"later");
    let second = node.write(node.begin().expect("begins"), "second");
    assert!(first > 100_000 + second, "{first} {second}");
    let folders = [node.backups().join("first"), node.backups().join("second")];
    let upload = format!("media/{}/{}", node.namespace.id, Ulid::from(7u128));
    let mut files = Vec::new();
    for folder in &folders {
        files.push(fs::metadata(folder.join(&upload)).expect("exists").ino());
    }
    assert_eq!(files[0], files[1]);
    let data = node.restore("second");
    let repository = Repository::open_existing(&node.repository_of(&data)).expect("opens").expect("exists");
    let head = repository.head().expect("reads").expect("a head");
    assert_eq!(repository.read(head, "facts/later.md").expect("reads").as_deref(), Some(&b"later"[..]));
}

#[test]
fn nothing_is_deleted_while_a_backup_is_in_progress() {
    let node = Node::start();
    let source = node.begin().expect("begins");
    assert!(node.store.retire_namespace(&node.namespace).is_err());
    assert!(BackupHold::begin(&node.store, node.session.id()).is_err());
    node.write(source, "first");
    assert!(node.store.retire_namespace(&node.namespace).expect("deletes"));
}

#[test]
fn a_backup_waits_for_an_erasure() {
    let node = Node::start();
    let erasure = ErasureRecord::Applied { former_files: Vec::new() };
    node.store.put_erasure(&node.namespace, &erasure).expect("writes");
    let refused = node.begin().err().expect("is refused").to_string();
    assert!(refused.contains("an erasure is not finished"), "{refused}");
    assert!(!node.store.is_backup_in_progress().expect("reads"), "the erasure can continue");
    node.store.finish_erasure(&node.namespace.key()).expect("finishes");
    drop(node.begin().expect("begins"));
}

#[test]
fn a_backup_whose_node_was_declared_dead_fails() {
    let node = Node::start();
    let source = node.begin().expect("begins");
    node.session.end().expect("ends");
    let target = node.folder.path().join("unfinished");
    fs::create_dir(&target).expect("creates");
    let mut copy = BackupCopy::begin(&target, None, &ignore);
    let failed = source.copy_to(&mut copy, &node.folder.path().join("data"), "first").err().expect("fails");
    assert!(format!("{failed:#}").contains("try again"), "{failed:#}");
}
