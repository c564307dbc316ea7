//! Sessions, claims and fences, on the engine in memory and in PostgreSQL.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ulid::Ulid;

use super::{Claim, NodeId, NodeSession, NodeWatch, SESSION_MARGIN, SESSION_TTL};
use crate::error::Error;
use crate::identity::{AccountId, MessageId, NamespaceId, NamespaceKey, NamespaceName};
use crate::key_value::postgres_engine::test_database::TestDatabase;
use crate::key_value::{Batch, Column, Durability, Engine, MemoryEngine};
use crate::records::namespaces::key;
use crate::records::queue_entry::queue_key;
use crate::records::{BranchRecord, ConversationRecord, LinkRecord, NamespaceRecord, Store, VectorKey};

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
    the_namespaces_of_each_node_are_counted,
    a_namespace_is_unused_until_it_is_asked_for,
    the_namespaces_of_a_dead_node_can_be_claimed,
    a_former_owner_writes_nothing_after_a_claim,
    a_node_that_renews_its_session_is_not_declared_dead,
    a_node_is_not_declared_dead_after_a_pause_without_observations,
    a_node_that_was_declared_dead_cannot_renew_its_session,
    a_node_that_ended_its_session_is_seen_as_dead,
    a_deleted_namespace_cannot_be_claimed,
    a_claim_can_be_repeated,
    of_two_nodes_that_claim_at_once_one_is_the_owner,
    no_write_follows_the_claim_of_another_node,
    every_write_of_a_namespace_meets_the_fence,
    a_record_is_set_aside_by_the_owner_only,
    the_entry_of_a_deleted_namespace_is_dropped_without_an_owner,
    unused_vectors_are_dropped_by_the_owner_only,
    a_link_is_used_by_one_of_several_nodes,
    the_running_times_that_nodes_add_are_summed,
    namespaces_are_counted_by_their_owner,
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

fn the_namespaces_of_each_node_are_counted(nodes: &Nodes) {
    let (first, second) = (session(nodes.first(), Instant::now()), session(nodes.second(), Instant::now()));
    for number in 1..=3 {
        assert_eq!(claim(nodes.first(), first.id(), &namespace(nodes.first(), number)), Claim::Held);
    }
    let other = namespace(nodes.first(), 4);
    assert_eq!(claim(nodes.second(), second.id(), &other), Claim::Held);
    nodes.first().release(NamespaceId::new(Ulid::from(2))).expect("releases");
    let owned = nodes.second().owner_counts().expect("counts");
    assert_eq!((owned.len(), owned[&first.id()], owned[&second.id()]), (2, 2, 1));
}

fn a_namespace_is_unused_until_it_is_asked_for(nodes: &Nodes) {
    let node = session(nodes.first(), Instant::now());
    let (asked, written) = (namespace(nodes.first(), 1), namespace(nodes.first(), 2));
    for home in [&asked, &written] {
        assert_eq!(claim(nodes.first(), node.id(), home), Claim::Held);
    }
    assert!(nodes.first().unused_namespaces().is_empty(), "they have just been claimed");
    let unused = || {
        let mut unused = nodes.first().unused_namespaces();
        unused.sort_unstable();
        unused
    };
    assert_eq!(unused(), [asked.id, written.id]);
    nodes.first().require_owned(&asked.key()).expect("is the owner");
    assert_eq!(unused(), [written.id]);
    write(nodes.first(), &written, 1).expect("the owner writes");
    assert_eq!(unused(), [asked.id]);
    assert!(nodes.second().unused_namespaces().is_empty(), "it owns nothing");
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

fn a_node_is_not_declared_dead_after_a_pause_without_observations(nodes: &Nodes) {
    let start = Instant::now();
    let node = session(nodes.first(), start);
    let mut watch = NodeWatch::new();
    observe(&mut watch, nodes.second(), start);
    let later = start + 4 * SESSION_TTL;
    assert!(observe(&mut watch, nodes.second(), later).is_empty(), "the database could not be reached");
    node.renew(later).expect("renews");
    observe(&mut watch, nodes.second(), later);
    assert_eq!(observe(&mut watch, nodes.second(), later + SESSION_TTL), [node.id()]);
}

fn a_node_that_was_declared_dead_cannot_renew_its_session(nodes: &Nodes) {
    let start = Instant::now();
    let node = session(nodes.first(), start);
    assert!(node.may_read(start));
    assert!(node.may_read(start + SESSION_TTL - SESSION_MARGIN - Duration::from_millis(1)));
    assert!(!node.may_read(start + SESSION_TTL - SESSION_MARGIN));
    assert_eq!(node.reads_left(start), SESSION_TTL - SESSION_MARGIN);
    assert_eq!(node.reads_left(start + SESSION_TTL), Duration::ZERO);
    declare_dead(nodes.second());
    for _ in 0..2 {
        assert!(matches!(node.renew(start), Err(Error::SessionEnded)));
        assert!(!node.may_read(start));
        assert_eq!(node.reads_left(start), Duration::ZERO);
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

/// Writes a record under a key, without a fence.
fn put(store: &Store, column: Column, key: Vec<u8>, value: &[u8]) {
    let mut batch = Batch::new();
    batch.put(column, key, value);
    store.kv.write(&batch, Durability::Synced).expect("writes");
}

fn get(store: &Store, column: Column, key: &[u8]) -> Option<Vec<u8>> {
    store.kv.get(column, key).expect("reads")
}

const MESSAGE: Ulid = Ulid(7);

fn vector_key() -> VectorKey {
    VectorKey { model: [1; 8], text: [2; 32] }
}

/// Creates an empty conversation in a namespace that the store holds.
fn create_conversation(store: &Store, home: &NamespaceRecord) {
    let record = ConversationRecord {
        id: MESSAGE,
        account: home.account.clone(),
        namespace: home.name.clone(),
        namespace_id: home.id,
        title: String::new(),
        branch: "main".into(),
        branches: vec![BranchRecord { name: "main".into(), head: None, messages: 0, forked_from: None }],
        created_at_ms: 1,
        updated_at_ms: 1,
    };
    let mut batch = store.batch();
    batch.create_conversation(&record).expect("encodes");
    store.commit(batch).expect("creates");
}

fn delete_conversation(store: &Store, home: &NamespaceRecord) -> Result<(), Error> {
    let stored = store.stored_conversation(&home.account, MESSAGE).expect("reads");
    let record = stored.record.clone().expect("a conversation");
    let mut batch = store.batch();
    batch.delete_conversation(&stored, &record);
    store.commit(batch)
}

/// A write of a namespace.
#[derive(Clone, Copy, Debug)]
enum Write {
    PutNamespace,
    DropEntry,
    DeleteSource,
    DeleteConversation,
    PutVectors,
    FinishErasure,
}

impl Write {
    const ALL: [Self; 6] = [
        Self::PutNamespace,
        Self::DropEntry,
        Self::DeleteSource,
        Self::DeleteConversation,
        Self::PutVectors,
        Self::FinishErasure,
    ];

    fn apply(self, store: &Store, home: &NamespaceRecord) -> Result<(), Error> {
        let (namespace, message) = (home.key(), MessageId::from(MESSAGE));
        match self {
            Self::PutNamespace => write(store, home, 1),
            Self::DropEntry => store.drop_entry(&namespace, message),
            Self::DeleteSource => store.delete_source(&namespace, message).map(drop),
            Self::DeleteConversation => delete_conversation(store, home),
            Self::PutVectors => store.put_vectors(&namespace, vec![(vector_key(), vec![1])]),
            Self::FinishErasure => store.finish_erasure(&namespace),
        }
    }
}

/// The records of a namespace that a [`Write`] deletes.
fn records_of(store: &Store, home: &NamespaceRecord) -> Vec<Option<Vec<u8>>> {
    let message = key(home.id, &MESSAGE.to_bytes());
    vec![
        get(store, Column::Queue, &queue_key(&home.account, home.id, MESSAGE.into())),
        get(store, Column::Sources, &message),
        get(store, Column::ConversationsByNamespace, &message),
        get(store, Column::Erasures, &home.id.to_bytes()),
    ]
}

fn every_write_of_a_namespace_meets_the_fence(nodes: &Nodes) {
    let node = session(nodes.first(), Instant::now());
    let home = namespace(nodes.first(), 1);
    assert_eq!(claim(nodes.first(), node.id(), &home), Claim::Held);
    create_conversation(nodes.first(), &home);
    let message = key(home.id, &MESSAGE.to_bytes());
    put(nodes.first(), Column::Queue, queue_key(&home.account, home.id, MESSAGE.into()), b"entry");
    put(nodes.first(), Column::Sources, message.clone(), b"source");
    put(nodes.first(), Column::SourceConversations, message, b"conversation");
    put(nodes.first(), Column::Erasures, home.id.to_bytes().to_vec(), b"erasure");
    let before = records_of(nodes.first(), &home);
    assert!(before.iter().all(Option::is_some), "{before:?}");
    // The second node never claimed the namespace.
    for each in Write::ALL {
        let written = each.apply(nodes.second(), &home);
        assert!(is_not_owner(&written, &home.key()), "{each:?}: {written:?}");
    }
    let former = get(nodes.first(), Column::Owners, &home.id.to_bytes()).expect("an owner");
    node.end().expect("ends");
    let other = session(nodes.second(), Instant::now());
    assert_eq!(claim(nodes.second(), other.id(), &home), Claim::Held);
    for each in Write::ALL {
        // The former owner does not know of the other claim yet.
        nodes.first().fences.hold(home.id, former.clone());
        let written = each.apply(nodes.first(), &home);
        assert!(is_not_owner(&written, &home.key()), "{each:?}: {written:?}");
    }
    assert_eq!(nodes.first().vector(home.id, &vector_key()).expect("reads"), None);
    assert_eq!(records_of(nodes.first(), &home), before);
    for each in Write::ALL {
        let written = each.apply(nodes.second(), &home);
        assert!(written.is_ok(), "{each:?}: {written:?}");
    }
    let after = records_of(nodes.first(), &home);
    assert!(after.iter().all(Option::is_none), "{after:?}");
    assert_eq!(nodes.first().vector(home.id, &vector_key()).expect("reads"), Some(vec![1]));
}

/// Sets the undecodable records of a namespace aside. Returns how many were set aside so far.
fn set_all_aside(store: &Store, home: &NamespaceRecord) -> usize {
    store.set_entry_aside(&home.key(), MESSAGE.into()).expect("sets aside");
    assert_eq!(store.source(home.id, MESSAGE.into()).expect("reads"), None);
    store.unreadable().expect("reads").len()
}

fn a_record_is_set_aside_by_the_owner_only(nodes: &Nodes) {
    let node = session(nodes.first(), Instant::now());
    let home = namespace(nodes.first(), 1);
    assert_eq!(claim(nodes.first(), node.id(), &home), Claim::Held);
    let message = key(home.id, &MESSAGE.to_bytes());
    put(nodes.first(), Column::Queue, queue_key(&home.account, home.id, MESSAGE.into()), b"entry");
    put(nodes.first(), Column::Sources, message.clone(), b"source");
    put(nodes.first(), Column::SourceConversations, message, b"conversation");
    assert_eq!(set_all_aside(nodes.second(), &home), 0);
    assert!(nodes.second().has_source(home.id, MESSAGE.into()).expect("reads"));
    assert_eq!(set_all_aside(nodes.first(), &home), 2);
    assert!(!nodes.first().has_source(home.id, MESSAGE.into()).expect("reads"));
    assert!(!nodes.first().is_queued(&home.key(), MESSAGE.into()).expect("reads"));
}

fn the_entry_of_a_deleted_namespace_is_dropped_without_an_owner(nodes: &Nodes) {
    let node = session(nodes.first(), Instant::now());
    let home = namespace(nodes.first(), 1);
    assert_eq!(claim(nodes.first(), node.id(), &home), Claim::Held);
    assert!(nodes.first().retire_namespace(&home).expect("deletes"));
    for removal in nodes.second().pending_removals().expect("lists") {
        nodes.second().remove_records(&removal).expect("removes");
    }
    for store in &nodes.stores {
        store.drop_entry(&home.key(), MESSAGE.into()).expect("the removal deleted the entry");
    }
}

/// Claims a namespace and caches a vector in it.
fn claim_with_vector(store: &Store, node: NodeId, home: &NamespaceRecord) {
    assert_eq!(claim(store, node, home), Claim::Held);
    store.put_vectors(&home.key(), vec![(vector_key(), vec![1])]).expect("writes");
}

fn has_vector(store: &Store, home: &NamespaceRecord) -> bool {
    store.vector(home.id, &vector_key()).expect("reads").is_some()
}

fn unused_vectors_are_dropped_by_the_owner_only(nodes: &Nodes) {
    let sessions = [session(nodes.first(), Instant::now()), session(nodes.second(), Instant::now())];
    let homes = [namespace(nodes.first(), 1), namespace(nodes.first(), 2)];
    claim_with_vector(nodes.first(), sessions[0].id(), &homes[0]);
    claim_with_vector(nodes.second(), sessions[1].id(), &homes[1]);
    assert_eq!(nodes.first().drop_vectors_except(&[vector_key().model]).expect("drops"), 0);
    assert_eq!(nodes.first().drop_vectors_except(&[]).expect("drops"), 1);
    assert!(!has_vector(nodes.first(), &homes[0]) && has_vector(nodes.first(), &homes[1]));
    // The second node does not know yet that the first one owns its namespace now.
    let former = get(nodes.second(), Column::Owners, &homes[1].id.to_bytes()).expect("an owner");
    nodes.second().release(homes[1].id).expect("releases");
    assert_eq!(claim(nodes.first(), sessions[0].id(), &homes[1]), Claim::Held);
    nodes.second().fences.hold(homes[1].id, former);
    assert_eq!(nodes.second().drop_vectors_except(&[]).expect("drops"), 0);
    assert!(has_vector(nodes.first(), &homes[1]));
    assert_eq!(nodes.first().drop_vectors_except(&[]).expect("drops"), 1);
    assert!(!has_vector(nodes.first(), &homes[1]));
}

fn a_link_is_used_by_one_of_several_nodes(nodes: &Nodes) {
    let record = LinkRecord { account: AccountId::default(), expires_at_ms: 1 };
    for number in 0..20 {
        let code = [number; 32];
        let mut batch = nodes.first().batch();
        batch.create_link(&code, &record).expect("encodes");
        nodes.first().commit(batch).expect("creates");
        let mut used = 0;
        thread::scope(|scope| {
            let mut callers = Vec::new();
            for store in &nodes.stores {
                callers.push(scope.spawn(move || store.redeem_link(&code).expect("redeems")));
            }
            for caller in callers {
                used += u32::from(caller.join().expect("ends").is_some());
            }
        });
        assert_eq!(used, 1, "{number}");
    }
}

fn the_running_times_that_nodes_add_are_summed(nodes: &Nodes) {
    thread::scope(|scope| {
        for store in &nodes.stores {
            scope.spawn(move || {
                for _ in 0..50 {
                    store.add_running_ms(3).expect("adds");
                }
            });
        }
    });
    assert_eq!(nodes.first().running_ms().expect("reads"), 300);
}

fn namespaces_are_counted_by_their_owner(nodes: &Nodes) {
    let (first, second) = (session(nodes.first(), Instant::now()), session(nodes.second(), Instant::now()));
    assert_eq!(nodes.first().owner_counts().expect("reads"), BTreeMap::new());
    let homes = [namespace(nodes.first(), 1), namespace(nodes.first(), 2), namespace(nodes.first(), 3)];
    assert_eq!(claim(nodes.first(), first.id(), &homes[0]), Claim::Held);
    assert_eq!(claim(nodes.first(), first.id(), &homes[1]), Claim::Held);
    assert_eq!(claim(nodes.second(), second.id(), &homes[2]), Claim::Held);
    let expected = BTreeMap::from([(first.id(), 2), (second.id(), 1)]);
    assert_eq!(nodes.second().owner_counts().expect("reads"), expected);
    nodes.second().release(homes[2].id).expect("releases");
    assert_eq!(nodes.second().owner_counts().expect("reads"), BTreeMap::from([(first.id(), 2)]));
}
