//! Sessions, claims and fences, on the engine in memory and in PostgreSQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ulid::Ulid;

use super::{Claim, NodeId, NodeSession, NodeWatch, SESSION_MARGIN, SESSION_TTL};
use crate::error::Error;
use crate::identity::{AccountId, NamespaceId, NamespaceKey, NamespaceName};
use crate::key_value::postgres_engine::test_database::TestDatabase;
use crate::key_value::{Column, Engine, MemoryEngine};
use crate::records::{NamespaceRecord, Store};

/// The nodes of a test. Each has a store of its own over the same data.
struct Nodes {
    stores: Vec<Arc<Store>>,
    /// Removed after the stores.
    _database: Option<TestDatabase>,
}

impl Nodes {
    fn in_memory() -> Self {
        let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
        let mut stores = Vec::new();
        for _ in 0..2 {
            stores.push(Arc::new(Store::open_shared(Arc::clone(&engine)).expect("opens")));
        }
        Self { stores, _database: None }
    }

    fn in_postgres() -> Self {
        let database = TestDatabase::create();
        let mut stores = Vec::new();
        for process in ["first", "second"] {
            stores.push(Arc::new(Store::open_shared(Arc::new(database.engine(process))).expect("opens")));
        }
        Self { stores, _database: Some(database) }
    }

    fn first(&self) -> &Arc<Store> {
        &self.stores[0]
    }

    fn second(&self) -> &Arc<Store> {
        &self.stores[1]
    }
}

/// Declares a test in memory and a test in PostgreSQL for each behaviour.
macro_rules! test_shared_stores {
    ($($behaviour:ident,)*) => {
        mod in_memory {
            $(
                #[test]
                fn $behaviour() {
                    super::$behaviour(&super::Nodes::in_memory());
                }
            )*
        }

        mod in_postgres {
            $(
                #[test]
                #[ignore = "needs a PostgreSQL server: sh scripts/test-cluster.sh"]
                fn $behaviour() {
                    super::$behaviour(&super::Nodes::in_postgres());
                }
            )*
        }
    };
}

test_shared_stores! {
    a_namespace_is_written_by_its_owner_only,
    a_namespace_has_one_owner_while_that_node_has_a_session,
    a_released_namespace_can_be_claimed_at_once,
    the_namespaces_of_a_dead_node_can_be_claimed,
    a_former_owner_writes_nothing_after_a_claim,
    a_node_that_renews_its_session_is_not_declared_dead,
    a_node_that_was_declared_dead_cannot_renew_its_session,
    a_node_that_ended_its_session_is_seen_as_dead,
    a_deleted_namespace_cannot_be_claimed,
    a_claim_can_be_repeated,
    of_two_nodes_that_claim_at_once_one_is_the_owner,
    no_write_follows_the_claim_of_another_node,
}

/// Creates a namespace.
fn namespace(store: &Store, number: u128) -> NamespaceRecord {
    let name = NamespaceName::new(&format!("n{number}")).expect("a name");
    let id = NamespaceId::new(Ulid::from(number));
    store.create_namespace(&NamespaceRecord::new(&AccountId::default(), &name, id, 0)).expect("creates").0
}

fn session(store: &Arc<Store>, now: Instant) -> NodeSession {
    NodeSession::begin(store, "127.0.0.1:1", "1.0.0", now).expect("begins")
}

/// Observes the nodes at a time.
fn observe(watch: &mut NodeWatch, store: &Store, now: Instant) -> Vec<NodeId> {
    let rows = store.node_rows().expect("reads");
    watch.observe(store, rows, now).expect("observes")
}

/// Declares every node dead that does not renew its session.
fn declare_dead(store: &Store) {
    let (mut watch, now) = (NodeWatch::new(), Instant::now());
    observe(&mut watch, store, now);
    observe(&mut watch, store, now + SESSION_TTL);
}

/// Writes the number of commits to the record of a namespace.
fn write(store: &Store, namespace: &NamespaceRecord, commits: u64) -> Result<(), Error> {
    store.put_namespace(&NamespaceRecord { commits, ..namespace.clone() })
}

fn commits(store: &Store, namespace: &NamespaceRecord) -> u64 {
    store.namespace(&namespace.account, &namespace.name).expect("reads").expect("exists").commits
}

fn is_not_owner(written: &Result<(), Error>, namespace: &NamespaceKey) -> bool {
    matches!(written, Err(Error::NotOwner(refused)) if refused == namespace)
}

fn claim(store: &Store, node: NodeId, namespace: &NamespaceRecord) -> Claim {
    store.claim(node, &namespace.key()).expect("claims")
}

fn a_namespace_is_written_by_its_owner_only(nodes: &Nodes) {
    let node = session(nodes.first(), Instant::now());
    let home = namespace(nodes.first(), 1);
    assert!(is_not_owner(&write(nodes.first(), &home, 1), &home.key()));
    assert_eq!(claim(nodes.first(), node.id(), &home), Claim::Held);
    write(nodes.first(), &home, 2).expect("the owner writes");
    assert!(is_not_owner(&write(nodes.second(), &home, 3), &home.key()));
    assert_eq!(commits(nodes.second(), &home), 2);
}

fn a_namespace_has_one_owner_while_that_node_has_a_session(nodes: &Nodes) {
    let (first, second) = (session(nodes.first(), Instant::now()), session(nodes.second(), Instant::now()));
    let home = namespace(nodes.first(), 1);
    assert_eq!(nodes.first().owner(home.id).expect("reads"), None);
    assert_eq!(claim(nodes.first(), first.id(), &home), Claim::Held);
    match claim(nodes.second(), second.id(), &home) {
        Claim::OwnedBy(owner, record) => {
            assert_eq!(owner, first.id());
            assert_eq!(record.address, "127.0.0.1:1");
        }
        other => panic!("{other:?}"),
    }
    let owner = nodes.second().owner(home.id).expect("reads");
    assert_eq!(owner.map(|(owner, _)| owner), Some(first.id()));
}

fn a_released_namespace_can_be_claimed_at_once(nodes: &Nodes) {
    let (first, second) = (session(nodes.first(), Instant::now()), session(nodes.second(), Instant::now()));
    let home = namespace(nodes.first(), 1);
    assert_eq!(claim(nodes.first(), first.id(), &home), Claim::Held);
    nodes.first().release(home.id).expect("releases");
    assert!(is_not_owner(&write(nodes.first(), &home, 1), &home.key()));
    assert_eq!(claim(nodes.second(), second.id(), &home), Claim::Held);
    // A second release of the former owner leaves the new one alone.
    nodes.first().release(home.id).expect("has nothing to release");
    write(nodes.second(), &home, 2).expect("the owner writes");
}

fn the_namespaces_of_a_dead_node_can_be_claimed(nodes: &Nodes) {
    let first = session(nodes.first(), Instant::now());
    let home = namespace(nodes.first(), 1);
    assert_eq!(claim(nodes.first(), first.id(), &home), Claim::Held);
    declare_dead(nodes.second());
    assert_eq!(nodes.second().owner(home.id).expect("reads"), None);
    let second = session(nodes.second(), Instant::now());
    assert_eq!(claim(nodes.second(), second.id(), &home), Claim::Held);
}

fn a_former_owner_writes_nothing_after_a_claim(nodes: &Nodes) {
    let first = session(nodes.first(), Instant::now());
    let home = namespace(nodes.first(), 1);
    assert_eq!(claim(nodes.first(), first.id(), &home), Claim::Held);
    write(nodes.first(), &home, 1).expect("the owner writes");
    declare_dead(nodes.second());
    let second = session(nodes.second(), Instant::now());
    assert_eq!(claim(nodes.second(), second.id(), &home), Claim::Held);
    // The first node does not know yet that it was declared dead.
    assert!(is_not_owner(&write(nodes.first(), &home, 2), &home.key()));
    assert!(is_not_owner(&write(nodes.first(), &home, 2), &home.key()));
    assert_eq!(commits(nodes.second(), &home), 1);
}

fn a_node_that_renews_its_session_is_not_declared_dead(nodes: &Nodes) {
    let start = Instant::now();
    let node = session(nodes.first(), start);
    let mut watch = NodeWatch::new();
    for seconds in 0..10 {
        let now = start + Duration::from_secs(seconds);
        node.renew(now).expect("renews");
        assert!(observe(&mut watch, nodes.second(), now).is_empty());
    }
    assert_eq!(nodes.second().node(node.id()).expect("reads").expect("has a session").renewals, 10);
    let last = start + Duration::from_secs(9);
    assert!(observe(&mut watch, nodes.second(), last + SESSION_TTL - Duration::from_millis(1)).is_empty());
    assert_eq!(observe(&mut watch, nodes.second(), last + SESSION_TTL), [node.id()]);
}

fn a_node_that_was_declared_dead_cannot_renew_its_session(nodes: &Nodes) {
    let start = Instant::now();
    let node = session(nodes.first(), start);
    assert!(node.may_read(start));
    assert!(node.may_read(start + SESSION_TTL - SESSION_MARGIN - Duration::from_millis(1)));
    assert!(!node.may_read(start + SESSION_TTL - SESSION_MARGIN));
    declare_dead(nodes.second());
    for _ in 0..2 {
        assert!(matches!(node.renew(start), Err(Error::SessionEnded)));
        assert!(!node.may_read(start));
    }
}

fn a_node_that_ended_its_session_is_seen_as_dead(nodes: &Nodes) {
    let start = Instant::now();
    let node = session(nodes.first(), start);
    let mut watch = NodeWatch::new();
    assert!(observe(&mut watch, nodes.second(), start).is_empty());
    node.end().expect("ends");
    assert!(!node.may_read(start));
    assert_eq!(observe(&mut watch, nodes.second(), start), [node.id()]);
    assert!(observe(&mut watch, nodes.second(), start).is_empty());
}

fn a_deleted_namespace_cannot_be_claimed(nodes: &Nodes) {
    let node = session(nodes.first(), Instant::now());
    let home = namespace(nodes.first(), 1);
    assert_eq!(claim(nodes.first(), node.id(), &home), Claim::Held);
    assert!(nodes.first().retire_namespace(&home).expect("deletes"));
    assert!(matches!(write(nodes.first(), &home, 1), Err(Error::NamespaceGone(_))));
    assert_eq!(claim(nodes.first(), node.id(), &home), Claim::Gone);
    for removal in nodes.first().pending_removals().expect("lists") {
        nodes.first().remove_records(&removal).expect("removes");
    }
    assert_eq!(nodes.first().kv.get(Column::Owners, &home.id.to_bytes()).expect("reads"), None);
}

/// As after a claim whose answer was lost.
fn a_claim_can_be_repeated(nodes: &Nodes) {
    let node = session(nodes.first(), Instant::now());
    let home = namespace(nodes.first(), 1);
    assert_eq!(claim(nodes.first(), node.id(), &home), Claim::Held);
    nodes.first().forget_claims();
    assert!(is_not_owner(&write(nodes.first(), &home, 1), &home.key()));
    assert_eq!(claim(nodes.first(), node.id(), &home), Claim::Held);
    write(nodes.first(), &home, 1).expect("the owner writes");
}

fn of_two_nodes_that_claim_at_once_one_is_the_owner(nodes: &Nodes) {
    let sessions = [session(nodes.first(), Instant::now()), session(nodes.second(), Instant::now())];
    for number in 1..50 {
        let home = namespace(nodes.first(), number);
        let mut held = 0;
        thread::scope(|scope| {
            let mut claims = Vec::new();
            for (store, session) in nodes.stores.iter().zip(&sessions) {
                let home = &home;
                claims.push(scope.spawn(move || claim(store, session.id(), home)));
            }
            for claim in claims {
                held += u32::from(claim.join().expect("ends") == Claim::Held);
            }
        });
        assert_eq!(held, 1, "{number}");
    }
}

/// The first node writes as fast as it can. The second one claims the namespace meanwhile, and reads it: nothing may
/// change after that.
fn no_write_follows_the_claim_of_another_node(nodes: &Nodes) {
    for number in 1..30 {
        let first = session(nodes.first(), Instant::now());
        let home = namespace(nodes.first(), number);
        assert_eq!(claim(nodes.first(), first.id(), &home), Claim::Held);
        first.end().expect("ends");
        let second = session(nodes.second(), Instant::now());
        let is_started = AtomicBool::new(false);
        let (read, last) = thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut written = 0;
                loop {
                    match write(nodes.first(), &home, written + 1) {
                        Ok(()) => written += 1,
                        Err(Error::NotOwner(_)) => return written,
                        Err(error) => panic!("{error}"),
                    }
                    is_started.store(true, Ordering::SeqCst);
                }
            });
            while !is_started.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            assert_eq!(claim(nodes.second(), second.id(), &home), Claim::Held);
            let read = commits(nodes.second(), &home);
            (read, writer.join().expect("ends"))
        });
        assert_eq!(read, last, "an acknowledged write is missing");
        assert_eq!(commits(nodes.second(), &home), read, "a write followed the claim");
        second.end().expect("ends");
    }
}
