//! Migrations between data directories and a cluster in memory: round trips, interruptions and refusals.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use cuebase_storage::bucket::Bucket;
use cuebase_storage::git::{CommitMessage, Edit, Repository};
use cuebase_storage::key_value::MemoryEngine;
use cuebase_storage::records::ownership::NodeSession;
use cuebase_storage::records::{AccountRecord, MediaRecord, MigrationEnd, NamespaceRecord};
use cuebase_storage::{AccountId, NamespaceId, NamespaceName, Store};
use data_encoding::HEXLOWER;
use tempfile::TempDir;
use ulid::Ulid;

use super::{Cluster, MigrationReport, to_cluster, to_directory};
use crate::namespace::registry::repository_folder;
use crate::service::data_directory::require_complete;
use crate::sha256::sha256;

/// The content of the uploaded file.
const UPLOAD: &[u8] = b"a picture";

/// A data directory with an account, a namespace with a history and an uploaded file, and one without commits.
struct Source {
    folder: TempDir,
    data: PathBuf,
    namespace: NamespaceRecord,
    upload: PathBuf,
}

impl Source {
    fn create() -> Self {
        let folder = tempfile::tempdir().expect("temporary directory");
        let data = folder.path().join("data");
        fs::create_dir(&data).expect("creates");
        let store = Store::open(&data.join("records")).expect("opens");
        let account = AccountRecord { account: AccountId::default(), created_at_ms: 1, suspended: false };
        let mut batch = store.batch();
        batch.create_account(&account).expect("encodes");
        store.commit_synced(batch).expect("writes");
        store.put_secret_if_absent("media", b"secret").expect("writes");
        create_namespace(&store, "empty", 1);
        let namespace = write_history(&data, &store, create_namespace(&store, "notes", 2));
        let upload = write_upload(&data, &store, &namespace);
        Self { folder, data, namespace, upload }
    }

    /// A path without a data directory.
    fn other(&self) -> PathBuf {
        self.folder.path().join("other")
    }
}

fn create_namespace(store: &Store, name: &str, id: u128) -> NamespaceRecord {
    let name = NamespaceName::new(name).expect("a name");
    let wanted = NamespaceRecord::new(&AccountId::default(), &name, NamespaceId::new(Ulid::from(id)), 1);
    store.create_namespace(&wanted).expect("creates").0
}

fn repository_of(data: &Path, namespace: &NamespaceRecord) -> PathBuf {
    repository_folder(data, &namespace.account, &namespace.name, namespace.id)
}

fn write_history(data: &Path, store: &Store, namespace: NamespaceRecord) -> NamespaceRecord {
    let repository = Repository::open_or_create(&repository_of(data, &namespace)).expect("creates");
    let mut writer = repository.writer().expect("opens");
    for number in 0..20 {
        let content = format!("content {number}").into_bytes();
        let edit = Edit { path: format!("facts/{number}.md"), content: Some(content) };
        let message =
            CommitMessage { subject: "change".to_owned(), body: String::new(), trailers: Vec::new(), at_seconds: 1 };
        writer.commit(&[edit], &message).expect("commits");
    }
    let record = NamespaceRecord { head: writer.head(), memories: 20, ..namespace };
    store.put_namespace(&record).expect("writes");
    record
}

fn write_upload(data: &Path, store: &Store, namespace: &NamespaceRecord) -> PathBuf {
    let record = MediaRecord {
        id: Ulid::from(7u128),
        account: namespace.account.clone(),
        namespace: namespace.name.clone(),
        namespace_id: namespace.id,
        content_type: "image/png".to_owned(),
        filename: None,
        bytes: UPLOAD.len() as u64,
        sha256: HEXLOWER.encode(&sha256(&[UPLOAD])),
    };
    let folder = data.join("media").join(namespace.id.to_string());
    fs::create_dir_all(&folder).expect("creates");
    let path = folder.join(record.id.to_string());
    fs::write(&path, UPLOAD).expect("writes");
    let mut batch = store.batch();
    batch.put_media(&record).expect("encodes");
    store.commit_synced(batch).expect("writes");
    path
}

fn cluster() -> Cluster {
    let store = Store::open_shared(Arc::new(MemoryEngine::new())).expect("opens");
    Cluster { store: Arc::new(store), bucket: Arc::new(Bucket::in_memory().expect("creates")) }
}

fn upload(data: &Path, cluster: &Cluster) -> anyhow::Result<MigrationReport> {
    to_cluster(data, cluster, &|_| {})
}

fn download(data: &Path, cluster: &Cluster) -> anyhow::Result<MigrationReport> {
    to_directory(data, cluster, &|_| {})
}

/// The text of the error of a refused migration.
fn refusal(result: anyhow::Result<MigrationReport>) -> String {
    format!("{:#}", result.expect_err("is refused"))
}

#[test]
fn a_data_directory_goes_to_a_cluster_and_back() {
    let (source, cluster) = (Source::create(), cluster());
    let report = upload(&source.data, &cluster).expect("migrates");
    assert_eq!((report.namespaces, report.files), (2, 1));
    assert!(report.records > 5 && report.packs > 0 && report.bytes > 0, "{report:?}");
    require_complete(&cluster.store).expect("is complete");
    assert!(!source.data.join("migration").exists());
    let other = source.other();
    assert_eq!(download(&other, &cluster).expect("migrates"), report);
    assert!(!other.join("migration").exists());
    assert_eq!(cluster.store.migration(MigrationEnd::Source).expect("reads"), None);
    let store = Store::open(&other.join("records")).expect("opens");
    require_complete(&store).expect("is complete");
    let found = store.namespace(&AccountId::default(), &source.namespace.name).expect("reads");
    assert_eq!(found.as_ref(), Some(&source.namespace));
    assert_eq!(store.secret("media").expect("reads").expect("a secret").as_slice(), b"secret");
    let repository = Repository::open_existing(&repository_of(&other, &source.namespace)).expect("opens");
    let repository = repository.expect("exists");
    let head = source.namespace.head.expect("a head");
    assert_eq!(repository.head().expect("reads"), Some(head));
    assert_eq!(repository.read(head, "facts/3.md").expect("reads").as_deref(), Some(&b"content 3"[..]));
    assert!(repository.inspect(head, |_| {}).expect("inspects").problems.is_empty());
    let below = source.upload.strip_prefix(&source.data).expect("below the data directory");
    assert_eq!(fs::read(other.join(below)).expect("reads"), UPLOAD);
}

#[test]
fn an_interrupted_migration_to_a_cluster_is_continued_from_the_same_data_directory() {
    let (source, cluster) = (Source::create(), cluster());
    let aside = source.folder.path().join("aside");
    fs::rename(&source.upload, &aside).expect("moves");
    let refused = refusal(upload(&source.data, &cluster));
    assert!(refused.contains("cannot read"), "{refused}");
    assert!(require_complete(&cluster.store).is_err());
    assert!(refusal(upload(&Source::create().data, &cluster)).contains("from another data directory"));
    assert!(refusal(download(&source.other(), &cluster)).contains("migrate to-cluster"));
    fs::rename(&aside, &source.upload).expect("moves back");
    assert_eq!(upload(&source.data, &cluster).expect("continues").files, 1);
    require_complete(&cluster.store).expect("is complete");
}

#[test]
fn an_interrupted_migration_to_a_data_directory_is_continued_from_the_same_cluster() {
    let (source, first, second) = (Source::create(), cluster(), cluster());
    upload(&source.data, &first).expect("migrates");
    upload(&source.data, &second).expect("migrates");
    let object = format!("media/{}/{}", source.namespace.id, Ulid::from(7u128));
    first.bucket.delete(&object).expect("deletes");
    let other = source.other();
    let refused = refusal(download(&other, &first));
    assert!(refused.contains("is missing in the bucket"), "{refused}");
    {
        let store = Store::open(&other.join("records")).expect("opens");
        assert!(require_complete(&store).is_err());
    }
    assert!(refusal(download(&other, &second)).contains("from another cluster"));
    assert!(refusal(upload(&other, &cluster())).contains("migrate to-directory"));
    first.bucket.put(&object, UPLOAD.to_vec()).expect("writes");
    assert_eq!(download(&other, &first).expect("continues").files, 1);
    require_complete(&Store::open(&other.join("records")).expect("opens")).expect("is complete");
}

#[test]
fn a_source_that_changed_meanwhile_is_noticed() {
    let (source, cluster) = (Source::create(), cluster());
    fs::write(&source.upload, b"damaged").expect("writes");
    let refused = refusal(upload(&source.data, &cluster));
    assert!(refused.contains("is damaged"), "{refused}");
    fs::write(&source.upload, UPLOAD).expect("writes");
    {
        let store = Store::open(&source.data.join("records")).expect("opens");
        let changed = NamespaceRecord { memories: 21, ..source.namespace.clone() };
        store.put_namespace(&changed).expect("writes");
    }
    let refused = refusal(upload(&source.data, &cluster));
    assert!(refused.contains("differs from the source"), "{refused}");
    assert!(require_complete(&cluster.store).is_err());
}

#[test]
fn a_target_with_data_is_refused() {
    let (source, first) = (Source::create(), cluster());
    upload(&source.data, &first).expect("migrates");
    assert!(refusal(upload(&source.data, &first)).contains("has records"));
    assert!(refusal(download(&source.data, &first)).contains("is not empty"));
    let second = cluster();
    second.bucket.put("packs/a/b.pack", Vec::new()).expect("writes");
    assert!(refusal(upload(&source.data, &second)).contains("has objects below packs/"));
    assert!(!source.data.join("migration").exists(), "a refusal leaves no mark");
    let other = source.other();
    assert!(refusal(download(&other, &cluster())).contains("has no records"));
    assert!(!other.exists());
    fs::create_dir(&other).expect("creates");
    fs::write(other.join("notes.txt"), b"text").expect("writes");
    assert!(refusal(download(&other, &first)).contains("is not empty"));
    assert_eq!(fs::read_dir(&other).expect("lists").count(), 1);
}

#[test]
fn a_data_directory_in_use_is_refused() {
    let (source, cluster) = (Source::create(), cluster());
    let server = Store::open(&source.data.join("records")).expect("opens");
    assert!(refusal(upload(&source.data, &cluster)).contains("stop it"));
    drop(server);
    upload(&source.data, &cluster).expect("migrates");
}

#[test]
fn a_running_node_is_refused() {
    let (source, cluster) = (Source::create(), cluster());
    let session = NodeSession::begin(&cluster.store, "node-1:8090", "1.0.0", Instant::now()).expect("begins");
    let is_stopped = AtomicBool::new(false);
    let results = thread::scope(|scope| {
        let node = scope.spawn(|| {
            while !is_stopped.load(Ordering::SeqCst) {
                session.renew(Instant::now())?;
            }
            Ok::<(), cuebase_storage::Error>(())
        });
        let results = [upload(&source.data, &cluster), download(&source.other(), &cluster)];
        is_stopped.store(true, Ordering::SeqCst);
        node.join().expect("does not panic").expect("renews");
        results
    });
    for result in results {
        let refused = refusal(result);
        assert!(refused.contains("node-1:8090"), "{refused}");
    }
    session.end().expect("ends");
    upload(&source.data, &cluster).expect("migrates");
}
