//! Owner records and node records that cannot be decoded.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use ulid::Ulid;

use super::{Claim, NodeSession, NodeWatch, SESSION_TTL};
use crate::error::Error;
use crate::identity::{AccountId, NamespaceId, NamespaceName};
use crate::key_value::{Batch, Column, Durability, Engine, MemoryEngine};
use crate::records::{NamespaceRecord, Store};

/// Two stores of nodes over the same data.
fn stores() -> [Arc<Store>; 2] {
    let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
    [(), ()].map(|()| Arc::new(Store::open_shared(Arc::clone(&engine)).expect("opens")))
}

fn session(store: &Arc<Store>) -> NodeSession {
    NodeSession::begin(store, "127.0.0.1:1", "1.0.0", Instant::now()).expect("begins")
}

/// Creates a namespace and claims it for a node.
fn claimed(store: &Store, node: &NodeSession, number: u128) -> NamespaceRecord {
    let name = NamespaceName::new(&format!("n{number}")).expect("a name");
    let id = NamespaceId::new(Ulid::from(number));
    let wanted = NamespaceRecord::new(&AccountId::default(), &name, id, 0);
    let created = store.create_namespace(&wanted).expect("creates").0;
    assert_eq!(store.claim(node.id(), &created.key()).expect("claims"), Claim::Held);
    created
}

/// Stores bytes that cannot be decoded.
fn damage(store: &Store, column: Column, key: [u8; 16]) {
    let mut batch = Batch::new();
    batch.put(column, key, b"garbage".to_vec());
    store.kv.write(&batch, Durability::Synced).expect("writes");
}

#[test]
fn a_namespace_with_an_undecodable_owner_has_no_owner_and_cannot_be_claimed() {
    let [first, second] = stores();
    let (owner, other) = (session(&first), session(&second));
    let home = claimed(&first, &owner, 1);
    damage(&first, Column::Owners, home.id.to_bytes());
    for (store, node) in [(&second, &other), (&first, &owner)] {
        let claim = store.claim(node.id(), &home.key());
        assert!(matches!(claim, Err(Error::Corrupt { .. })), "{claim:?}");
    }
    let written = first.put_namespace(&home);
    assert!(matches!(written, Err(Error::NotOwner(_))), "{written:?}");
}

#[test]
fn an_undecodable_owner_does_not_affect_other_namespaces() {
    let [first, second] = stores();
    let (owner, other) = (session(&first), session(&second));
    let (damaged, sound) = (claimed(&first, &owner, 1), claimed(&first, &owner, 2));
    damage(&first, Column::Owners, damaged.id.to_bytes());
    first.put_namespace(&sound).expect("is the owner");
    assert!(matches!(second.claim(other.id(), &sound.key()), Ok(Claim::OwnedBy(id, _)) if id == owner.id()));
    assert_eq!(second.owner_counts().expect("reads"), BTreeMap::from([(owner.id(), 1)]));
    owner.end().expect("ends");
    assert_eq!(second.stale_owners().expect("reads"), 1);
    assert_eq!(second.claim(other.id(), &sound.key()).expect("claims"), Claim::Held);
    let (_, problems) = second.check();
    assert_eq!(problems, ["owners: 1 records cannot be read"]);
}

#[test]
fn the_namespaces_of_a_node_with_an_undecodable_record_cannot_be_claimed() {
    let [first, second] = stores();
    let (owner, other) = (session(&first), session(&second));
    let home = claimed(&first, &owner, 1);
    damage(&first, Column::Nodes, owner.id().to_bytes());
    let claim = second.claim(other.id(), &home.key());
    assert!(matches!(claim, Err(Error::NotOwner(_))), "{claim:?}");
    assert_eq!(second.stale_owners().expect("reads"), 0);
    let nodes = second.nodes().expect("reads");
    assert_eq!(nodes.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [other.id()]);
    assert!(second.sessions().expect("reads").contains(&(owner.id(), None)));
}

#[test]
fn a_node_replaces_its_undecodable_record() {
    let [first, second] = stores();
    let (owner, other) = (session(&first), session(&second));
    let home = claimed(&first, &owner, 1);
    damage(&first, Column::Nodes, owner.id().to_bytes());
    for _ in 0..2 {
        // The first renewal finds the record changed, the second one replaces it.
        owner.renew(Instant::now()).expect("the node is not dead");
    }
    assert!(matches!(second.claim(other.id(), &home.key()), Ok(Claim::OwnedBy(id, _)) if id == owner.id()));
    first.put_namespace(&home).expect("is still the owner");
}

#[test]
fn a_node_with_an_undecodable_record_is_declared_dead_if_it_does_not_renew_it() {
    let [first, second] = stores();
    let (owner, other) = (session(&first), session(&second));
    let home = claimed(&first, &owner, 1);
    damage(&first, Column::Nodes, owner.id().to_bytes());
    let (mut watch, now) = (NodeWatch::new(), Instant::now());
    for at in [now, now + SESSION_TTL] {
        watch.observe(&second, second.node_rows().expect("reads"), at).expect("observes");
        other.renew(at).expect("renews");
    }
    assert_eq!(second.claim(other.id(), &home.key()).expect("claims"), Claim::Held);
    assert!(matches!(owner.renew(now), Err(Error::SessionEnded)));
}
