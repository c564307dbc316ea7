//! Tests of claims, releases and sessions of several nodes in one process.

use std::collections::{BTreeMap, BTreeSet};

use cuebase_storage::bucket::Bucket;
use cuebase_storage::key_value::{Batch, Column, Durability, Engine, MemoryEngine};
use cuebase_storage::records::{Dedup, NamespaceRecord, QueueEntry, QueuedWork};
use cuebase_storage::{AccountId, NamespaceName};
use tempfile::TempDir;
use ulid::Ulid;

use super::*;
use crate::accounts::NewKey;
use crate::clock::Clock;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::model::Models;
use crate::namespace::backlog::Need;
use crate::namespace::context::NamespaceContext;
use crate::namespace::disk_reserve::DiskReserve;
use crate::namespace::repository_home::RepositoryHome;
use crate::namespace::retention::SourceRetention;

/// The data that nodes share.
struct SharedData {
    engine: Arc<dyn Engine>,
    bucket: Arc<Bucket>,
}

/// A node with its cache.
struct TestNode {
    node: Node,
    /// Removed after the node.
    _cache: TempDir,
}

impl std::ops::Deref for TestNode {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.node
    }
}

impl SharedData {
    fn new() -> Self {
        let bucket = Arc::new(Bucket::in_memory().expect("a bucket"));
        Self { engine: Arc::new(MemoryEngine::new()), bucket }
    }

    fn join(&self, address: &str) -> TestNode {
        let cache = tempfile::tempdir().expect("temporary directory");
        let mut config = Config::resolve(&BTreeMap::new(), |_| None, None).expect("resolves");
        config.data = cache.path().to_path_buf();
        let clock = Clock::system();
        let store = Arc::new(Store::open_shared(Arc::clone(&self.engine)).expect("opens"));
        let ids = Arc::new(Ids::after(None, clock.clone()));
        let pending = Arc::new(PendingPaths::default());
        let backlog = Arc::new(Backlog::default());
        let metrics = Arc::new(Metrics::of_node(clock.clone()));
        let context = NamespaceContext {
            store: Arc::clone(&store),
            models: Arc::new(Models::open(&config.model, &store).expect("opens")),
            backlog: Arc::clone(&backlog),
            metrics: Arc::clone(&metrics),
            ids: Arc::clone(&ids),
            pending: Arc::clone(&pending),
            repositories: RepositoryHome::Records(Arc::clone(&self.bucket)),
            sources: SourceRetention::of_setting(config.ingestion.keep_sources),
            clock: clock.clone(),
        };
        let reserve = Arc::new(DiskReserve::of(&config.data));
        let parts = NodeParts {
            accounts: Arc::new(Accounts::open(Arc::clone(&store), clock.clone()).expect("opens")),
            store,
            namespaces: Arc::new(Namespaces::new(&config, context, reserve)),
            queue: Arc::new(Queue::new(4, &clock)),
            pending,
            backlog,
            ids,
            cache_lock: CacheLock::take(cache.path()).expect("locks"),
            metrics,
        };
        TestNode { node: Node::join(parts, address.to_owned()).expect("joins"), _cache: cache }
    }
}

impl TestNode {
    /// Creates a namespace.
    fn create(&self, number: u128) -> NamespaceKey {
        let name = NamespaceName::new(&format!("n{number}")).expect("a name");
        let id = NamespaceId::new(Ulid::from(number));
        let record = NamespaceRecord::new(&AccountId::default(), &name, id, 0);
        self.parts.store.create_namespace(&record).expect("creates").0.key()
    }

    /// Creates namespaces and claims them.
    fn own(&self, numbers: std::ops::RangeInclusive<u128>) -> Vec<NamespaceKey> {
        let mut owned = Vec::new();
        for number in numbers {
            let namespace = self.create(number);
            self.hold(&namespace).expect("claims");
            owned.push(namespace);
        }
        owned
    }

    /// Claims a namespace. No thread renews the session here, and a busy machine can take longer than it lasts.
    fn hold(&self, namespace: &NamespaceKey) -> Result<()> {
        loop {
            let held = self.node.hold(namespace);
            let may_not_read = matches!(&held, Err(Error::Disk { trouble: DiskTrouble::Unreachable, .. }));
            let Some(session) = self.session() else { return held };
            if !may_not_read || session.renew(Instant::now()).is_err() {
                return held;
            }
        }
    }

    /// Claims what has queued writes. Repeats a call that took so long that it may have left some out.
    fn take_queued(&self) -> Result<()> {
        loop {
            let began = Instant::now();
            self.session().expect("a session").renew(began).expect("renews");
            let taken = self.node.take_queued();
            if began.elapsed() < TAKING_MAX {
                return taken;
            }
        }
    }

    /// Accepts a write, as a request does.
    fn accept(&self, namespace: &NamespaceKey) -> MessageId {
        let mut ids = self.parts.ids.hold(namespace.id);
        let entry = QueueEntry {
            id: ids.next(1_000).into(),
            account: namespace.account.clone(),
            namespace: namespace.name.clone(),
            namespace_id: namespace.id,
            accepted_at_ms: 1_000,
            accepted_running_ms: 0,
            failures: 0,
            fingerprint: None,
            sender: None,
            work: QueuedWork::Forget { paths: vec!["facts/a.md".into()] },
        };
        let mut batch = self.parts.store.batch();
        batch.enqueue(&entry, Dedup::Off, &[]).expect("encodes");
        self.parts.store.commit(batch).expect("is the owner");
        self.parts.pending.add(&entry);
        self.parts.queue.add(&entry);
        entry.id
    }

    /// Does what the threads of a node do.
    fn renew_and_observe(&self) {
        self.keep_session().expect("renews");
        self.observe().expect("observes");
    }

    /// Whether the node owns a namespace. This counts as a use.
    fn owns(&self, namespace: &NamespaceKey) -> bool {
        self.parts.store.require_owned(namespace).is_ok()
    }
}

fn is_elsewhere(held: &Result<()>, expected: &str) -> bool {
    matches!(held, Err(Error::Elsewhere { address }) if address == expected)
}

#[test]
fn a_revocation_clears_the_authorized_callers_of_every_other_node_at_its_next_observation() {
    let data = SharedData::new();
    let (first, second) = (data.join("first:1"), data.join("second:1"));
    let account = AccountId::default();
    let (key, _) = first.parts.accounts.create_key(&account, NewKey::default()).expect("a key");
    let cache = second.parts.accounts.cache();
    let before = cache.revocations();
    second.observe().expect("observes");
    assert_eq!(cache.revocations(), before);
    first.parts.accounts.revoke_key(&account, &key.id).expect("revokes");
    second.observe().expect("observes");
    let after_key = cache.revocations();
    assert_ne!(after_key, before);
    first.parts.accounts.suspend(&account, true).expect("suspends");
    second.observe().expect("observes");
    assert_ne!(cache.revocations(), after_key);
}

#[test]
fn a_released_namespace_moves_to_the_node_that_asks_next() {
    let data = SharedData::new();
    let (first, second) = (data.join("first:1"), data.join("second:1"));
    let namespace = first.own(1..=1).remove(0);
    drop(first.parts.namespaces.lease_key(&namespace).expect("opens"));
    assert!(is_elsewhere(&second.hold(&namespace), "first:1"));
    assert!(first.release_namespace(namespace.id).expect("releases"));
    assert_eq!(first.parts.namespaces.open_count(), 0);
    assert!(matches!(first.parts.namespaces.lease_key(&namespace), Err(Error::NotOwner(_))));
    second.forget_owner(namespace.id);
    second.hold(&namespace).expect("claims");
    assert!(is_elsewhere(&first.hold(&namespace), "second:1"));
}

#[test]
fn a_namespace_in_use_is_kept() {
    let data = SharedData::new();
    let node = data.join("first:1");
    let owned = node.own(1..=3);
    let lease = node.parts.namespaces.lease_key(&owned[0]).expect("opens");
    node.accept(&owned[1]);
    node.parts.backlog.add(&owned[2], Need::Missing);
    for namespace in &owned {
        assert!(!node.release_namespace(namespace.id).expect("reads"));
        assert!(node.owns(namespace));
    }
    drop(lease);
    assert!(node.release_namespace(owned[0].id).expect("releases"));
    assert!(!node.owns(&owned[0]));
}

#[test]
fn queued_writes_of_a_namespace_that_is_handed_over_are_read_by_the_next_owner() {
    let data = SharedData::new();
    let (first, second) = (data.join("first:1"), data.join("second:1"));
    let namespace = first.own(1..=1).remove(0);
    let message = first.accept(&namespace);
    let assigned = first.parts.queue.next().expect("work");
    first.hand_over_all();
    assert!(first.parts.queue.messages_of(namespace.id).is_empty());
    assert!(!first.parts.pending.contains(namespace.id, "facts/a.md"));
    // The worker meets the loss of the namespace, and would try again.
    first.parts.queue.retry(&assigned, std::time::Duration::ZERO);
    assert_eq!(first.parts.queue.levels().waiting, 0);
    second.take_queued().expect("claims");
    assert!(second.parts.queue.messages_of(namespace.id).contains(&message));
    assert!(second.parts.pending.contains(namespace.id, "facts/a.md"));
}

#[test]
fn the_next_owner_sets_an_entry_aside_that_cannot_be_decoded_and_takes_the_later_ones() {
    let data = SharedData::new();
    let (first, second) = (data.join("first:1"), data.join("second:1"));
    let namespace = first.own(1..=1).remove(0);
    first.accept(&namespace);
    let later = first.accept(&namespace);
    let (key, _) = data.engine.scan(Column::Queue, b"", None, 1).expect("reads").remove(0);
    let mut batch = Batch::new();
    batch.put(Column::Queue, key, b"not an entry".to_vec());
    data.engine.write(&batch, Durability::Synced).expect("writes");
    first.hand_over_all();
    second.take_queued().expect("claims");
    assert_eq!(second.parts.queue.messages_of(namespace.id), BTreeSet::from([later]));
    assert_eq!(second.parts.store.unreadable().expect("reads").len(), 1);
}

#[test]
fn an_undecodable_owner_record_makes_only_its_namespace_unavailable() {
    let data = SharedData::new();
    let first = data.join("first:1");
    let (damaged, sound) = (first.create(1), first.create(2));
    for namespace in [&damaged, &sound] {
        first.hold(namespace).expect("claims");
        first.accept(namespace);
    }
    first.hand_over_all();
    let mut batch = Batch::new();
    batch.put(Column::Owners, damaged.id.to_bytes(), b"not an owner".to_vec());
    data.engine.write(&batch, Durability::Synced).expect("writes");
    let second = data.join("second:1");
    for node in [&first, &second] {
        let held = node.hold(&damaged);
        assert!(matches!(&held, Err(Error::DamagedNamespace(_))), "{held:?}");
    }
    assert!(second.take_queued().is_err(), "the damaged namespace is reported");
    assert!(second.owns(&sound) && !second.owns(&damaged));
}

#[test]
fn a_node_joins_while_the_record_of_another_one_cannot_be_decoded() {
    let data = SharedData::new();
    let first = data.join("first:1");
    let id = first.session_id().expect("a session");
    let (key, _) = data.engine.scan(Column::Nodes, b"", None, 1).expect("reads").remove(0);
    let mut batch = Batch::new();
    batch.put(Column::Nodes, key, b"not a node".to_vec());
    data.engine.write(&batch, Durability::Synced).expect("writes");
    let second = data.join("second:1");
    assert!(second.read_peer_addresses().is_err(), "the address of one node is unknown");
    first.keep_session().expect("finds the record changed");
    first.keep_session().expect("replaces it");
    assert_eq!(first.session_id(), Some(id));
    assert_eq!(second.read_peer_addresses().expect("reads"), ["first:1"]);
}

#[test]
fn a_node_gives_up_unused_namespaces_above_its_share() {
    let data = SharedData::new();
    let first = data.join("first:1");
    let owned = first.own(1..=20);
    assert_eq!(first.rebalance().expect("counts"), 0, "it is the only node");
    let second = data.join("second:1");
    first.renew_and_observe();
    for namespace in &owned[..10] {
        assert!(first.owns(namespace));
    }
    // Of 20 namespaces, 13 are within the margin of two nodes.
    assert_eq!(first.rebalance().expect("counts"), 7);
    assert!(owned[..10].iter().all(|namespace| first.owns(namespace)), "they were used");
    assert_eq!(second.rebalance().expect("counts"), 0, "it owns nothing");
}

#[test]
fn few_namespaces_are_given_up_at_once() {
    let data = SharedData::new();
    let first = data.join("first:1");
    first.own(1..=40);
    first.rebalance().expect("counts");
    let _second = data.join("second:1");
    first.renew_and_observe();
    assert_eq!(first.rebalance().expect("counts"), RELEASES_MAX);
}

#[test]
fn a_node_that_drains_keeps_what_it_owns_and_claims_nothing() {
    let data = SharedData::new();
    let first = data.join("first:1");
    let owned = first.own(1..=1).remove(0);
    first.begin_drain();
    let alone = first.create(2);
    first.hold(&alone).expect("claims, because nobody else can");
    let second = data.join("second:1");
    first.renew_and_observe();
    let free = first.create(3);
    first.keep_session().expect("renews");
    first.hold(&owned).expect("owns");
    assert!(is_elsewhere(&first.hold(&free), "second:1"));
    second.hold(&free).expect("claims");
    first.hand_over_all();
    assert!(is_elsewhere(&first.hold(&owned), "second:1"));
    second.hold(&owned).expect("claims");
    first.leave();
    assert!(is_elsewhere(&first.hold(&alone), "second:1"), "it has no session any more");
}

#[test]
fn workers_are_divided_by_the_nodes() {
    let data = SharedData::new();
    let first = data.join("first:1");
    assert_eq!(first.shares().of(first.parts.queue.workers()), 4);
    let _second = data.join("second:1");
    first.renew_and_observe();
    assert_eq!(first.shares().of(first.parts.queue.workers()), 2);
}

#[test]
fn a_write_in_progress_delays_only_the_claim_of_its_namespace() {
    let data = SharedData::new();
    let first = data.join("first:1");
    let owned = first.own(1..=2);
    drop(first.parts.namespaces.lease_key(&owned[0]).expect("opens"));
    let record = first.parts.store.namespace(&owned[0].account, &owned[0].name).expect("reads").expect("exists");
    let former = first.session_id();
    let (began, wait_began) = mpsc::channel();
    let (end, wait_end) = mpsc::channel();
    let (joined, wait_joined) = mpsc::channel();
    std::thread::scope(|scope| {
        let node = &first;
        scope.spawn(move || {
            node.parts.namespaces.with_writes_paused(&record, || {
                began.send(()).expect("the test waits");
                wait_end.recv().expect("the test ends the write");
            });
        });
        wait_began.recv().expect("begins");
        first.session().expect("a session").end().expect("ends");
        scope.spawn(move || {
            node.keep_session().expect("joins again");
            node.hold(&node.create(3)).expect("claims another namespace");
            joined.send(node.session_id()).expect("the test waits");
        });
        let session = wait_joined.recv_timeout(Duration::from_secs(30));
        let was_open = first.parts.namespaces.is_open(owned[0].id);
        let claim = scope.spawn(|| node.hold(&owned[0]));
        end.send(()).expect("the write waits");
        claim.join().expect("does not panic").expect("claims");
        assert_ne!(session.expect("the next session begins during the write"), former);
        assert!(was_open, "closed although a write is in progress");
        assert!(!first.parts.namespaces.is_open(owned[0].id), "opened under a claim that has ended");
    });
}

#[test]
fn a_write_in_progress_does_not_delay_the_answer_that_another_node_has_the_namespace() {
    let data = SharedData::new();
    let (first, second) = (data.join("first:1"), data.join("second:1"));
    let owned = first.own(1..=1).remove(0);
    drop(first.parts.namespaces.lease_key(&owned).expect("opens"));
    let record = first.parts.store.namespace(&owned.account, &owned.name).expect("reads").expect("exists");
    let (began, wait_began) = mpsc::channel();
    let (end, wait_end) = mpsc::channel();
    let (asked, wait_asked) = mpsc::channel();
    std::thread::scope(|scope| {
        let node = &first;
        scope.spawn(move || {
            node.parts.namespaces.with_writes_paused(&record, || {
                began.send(()).expect("the test waits");
                wait_end.recv().expect("the test ends the write");
            });
        });
        wait_began.recv().expect("begins");
        first.session().expect("a session").end().expect("ends");
        first.keep_session().expect("joins again");
        second.hold(&owned).expect("claims");
        let namespace = owned.clone();
        scope.spawn(move || asked.send(node.hold(&namespace)).expect("the test waits"));
        let held = wait_asked.recv_timeout(Duration::from_secs(30));
        end.send(()).expect("the write waits");
        assert!(is_elsewhere(&held.expect("answers during the write"), "second:1"));
    });
}
