//! Repositories in the records and the bucket: what survives the loss of the local one, and what a node without the
//! namespace cannot do.

use std::sync::Arc;
use std::time::Instant;

use tempfile::TempDir;
use ulid::Ulid;

use super::StoreLedger;
use crate::bucket::Bucket;
use crate::error::{Error, Result};
use crate::git::{CommitId, CommitMessage, Edit, Repository, Writer};
use crate::identity::{AccountId, NamespaceId, NamespaceName};
use crate::key_value::LossyEngine;
use crate::records::ownership::{Claim, NodeSession};
use crate::records::{NamespaceRecord, Store};

/// The storage that all nodes share.
struct Shared {
    engine: Arc<LossyEngine>,
    bucket: Arc<Bucket>,
    namespace: NamespaceRecord,
}

impl Shared {
    fn create() -> Self {
        let engine = Arc::new(LossyEngine::default());
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
        let ledger = StoreLedger::new(Arc::clone(&store), Arc::clone(&self.bucket), self.namespace.key());
        Node { store, session, ledger: Arc::new(ledger), folder: tempfile::tempdir().expect("temporary directory") }
    }
}

/// A node with the cache of its own.
struct Node {
    store: Arc<Store>,
    session: NodeSession,
    ledger: Arc<StoreLedger>,
    folder: TempDir,
}

impl Node {
    fn repository(&self) -> Repository {
        Repository::open_with_ledger(&self.folder.path().join("n.git"), self.ledger.clone()).expect("opens")
    }

    fn writer(&self) -> Writer {
        self.repository().writer().expect("opens")
    }

    /// Ends the node. What it owns can be claimed.
    fn end(self) {
        self.session.end().expect("ends");
    }
}

fn message(subject: &str) -> CommitMessage {
    CommitMessage { subject: subject.to_owned(), body: String::new(), trailers: Vec::new(), at_seconds: 1 }
}

fn edit(path: &str, content: &[u8]) -> Edit {
    Edit { path: path.to_owned(), content: Some(content.to_vec()) }
}

fn commit(writer: &mut Writer, path: &str, content: &[u8]) -> Result<CommitId> {
    writer.commit(&[edit(path, content)], &message(path))
}

/// Bytes that do not compress.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut bytes = Vec::with_capacity(count);
    for _ in 0..count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        bytes.push((state >> 56) as u8);
    }
    bytes
}

#[test]
fn commits_are_read_by_the_next_owner() {
    let shared = Shared::create();
    let first = shared.node();
    let mut writer = first.writer();
    for number in 0..40 {
        commit(&mut writer, &format!("facts/{number}.md"), format!("content {number}").as_bytes()).expect("commits");
        first.repository().consolidate().expect("joins");
    }
    let head = writer.head();
    first.end();
    let second = shared.node();
    let repository = second.repository();
    assert_eq!(repository.head().expect("reads"), head);
    let head = head.expect("a head");
    for number in 0..40 {
        let content = repository.read(head, &format!("facts/{number}.md")).expect("reads");
        assert_eq!(content, Some(format!("content {number}").into_bytes()));
    }
    assert!(repository.inspect(head, |_| {}).expect("inspects").problems.is_empty());
    commit(&mut second.writer(), "facts/next.md", b"next").expect("commits");
}

#[test]
fn a_large_pack_is_an_object_of_the_bucket() {
    let shared = Shared::create();
    let first = shared.node();
    let content = noise(300_000);
    let head = commit(&mut first.writer(), "facts/large.md", &content).expect("commits");
    commit(&mut first.writer(), "facts/small.md", b"small").expect("commits");
    let objects = first.store.pack_objects(shared.namespace.id).expect("lists");
    assert_eq!(objects.len(), 2, "a pack and its index");
    assert_eq!(shared.bucket.list("").expect("lists").len(), 2);
    first.end();
    let second = shared.node();
    assert_eq!(second.repository().read(head, "facts/large.md").expect("reads"), Some(content));
}

#[test]
fn a_former_owner_cannot_commit_and_drops_what_it_wrote() {
    let shared = Shared::create();
    let first = shared.node();
    let mut stale = first.writer();
    let base = commit(&mut stale, "facts/a.md", b"first").expect("commits");
    first.session.end().expect("ends");
    let second = shared.node();
    let mut writer = second.writer();
    let head = commit(&mut writer, "facts/b.md", b"second").expect("commits");
    assert!(matches!(commit(&mut stale, "facts/c.md", b"lost"), Err(Error::NotOwner(_))));
    // The cache of the former owner has no trace of its last commit.
    let cache = first.repository();
    assert_eq!(cache.head().expect("reads"), Some(head));
    assert_eq!(cache.read(head, "facts/c.md").expect("reads"), None);
    assert_eq!(cache.read(base, "facts/a.md").expect("reads").as_deref(), Some(&b"first"[..]));
    assert_eq!(second.repository().head().expect("reads"), Some(head));
}

#[test]
fn a_commit_whose_answer_was_lost_is_found_again() {
    let shared = Shared::create();
    let node = shared.node();
    let mut writer = node.writer();
    commit(&mut writer, "facts/a.md", b"first").expect("commits");
    shared.engine.lose_next_answer();
    assert!(matches!(commit(&mut writer, "facts/b.md", b"second"), Err(Error::Engine { .. })));
    assert!(writer.is_consistent());
    let head = writer.head().expect("a head");
    assert_eq!(node.repository().read(head, "facts/b.md").expect("reads").as_deref(), Some(&b"second"[..]));
    commit(&mut writer, "facts/c.md", b"third").expect("commits");
    node.end();
    let next = shared.node();
    let head = next.writer().head().expect("a head");
    for (path, content) in [("facts/a.md", "first"), ("facts/b.md", "second"), ("facts/c.md", "third")] {
        assert_eq!(next.repository().read(head, path).expect("reads"), Some(content.as_bytes().to_vec()), "{path}");
    }
}

#[test]
fn a_push_is_read_by_the_next_owner() {
    let shared = Shared::create();
    let first = shared.node();
    let mut writer = first.writer();
    let base = commit(&mut writer, "facts/a.md", b"first").expect("commits");
    let scratch = first.repository().open_scratch(&first.folder.path().join("pushed.git")).expect("opens");
    assert!(scratch.restore_branch(base).expect("sets the branch"));
    let pushed = commit(&mut scratch.writer().expect("opens"), "facts/b.md", b"pushed").expect("commits");
    writer.accept_push(&scratch, Some(base), pushed).expect("accepts");
    first.end();
    let second = shared.node();
    assert_eq!(second.repository().head().expect("reads"), Some(pushed));
    assert_eq!(second.repository().read(pushed, "facts/b.md").expect("reads").as_deref(), Some(&b"pushed"[..]));
}
