//! When a repeated body or a repeated import is a new write: after its write failed permanently, and after a later
//! conversation changed the memory.

use ulid::Ulid;

use super::{
    Acknowledgement, Conversation, DeadLetter, Dedup, Enqueued, IngestedEntry, NamespaceRecord, QueueEntry, QueuedWork,
    Store, WriteChanges,
};
use crate::identity::{AccountId, MessageId, NamespaceId, NamespaceName};

/// The detection of repeated bodies. All bodies of these tests are within its window.
const BODY: Dedup<'static> = Dedup::Body { window_ms: 300 };
/// The path of the memory of the first body.
const PATH: &str = "facts/a.md";

fn message(id: u128) -> MessageId {
    MessageId::from(Ulid::from(id))
}

fn namespace(store: &Store) -> NamespaceRecord {
    let id = NamespaceId::new(Ulid::from(1u128));
    let wanted = NamespaceRecord::new(&AccountId::default(), &NamespaceName::default(), id, 0);
    store.create_namespace(&wanted).expect("creates").0
}

/// A conversation with a body that has the given fingerprint.
fn conversation(home: &NamespaceRecord, id: u128, fingerprint: Option<&str>) -> QueueEntry {
    QueueEntry {
        id: message(id),
        account: home.account.clone(),
        namespace: home.name.clone(),
        namespace_id: home.id,
        accepted_at_ms: 0,
        accepted_running_ms: 0,
        failures: 0,
        fingerprint: fingerprint.map(str::to_owned),
        sender: None,
        work: QueuedWork::Conversation { request: Conversation::default() },
    }
}

fn enqueue(store: &Store, entry: &QueueEntry, dedup: Dedup<'_>) -> Enqueued {
    let mut batch = store.batch();
    let enqueued = batch.enqueue(entry, dedup, &[]).expect("enqueues");
    store.commit(batch).expect("commits");
    enqueued
}

/// Completes an entry that changed the memory at [`PATH`].
fn ingest(store: &Store, home: &NamespaceRecord, entry: &QueueEntry, changes: WriteChanges) {
    let ingested =
        IngestedEntry { entry: entry.clone(), paths: vec![PATH.to_owned()], source: None, changes, finished_at_ms: 9 };
    store.acknowledge(&Acknowledgement { ingested: &[ingested], ..Acknowledgement::new(home) }).expect("acknowledges");
}

/// Ingests a conversation that makes a memory, then another one with the given changes. Returns what the body of the
/// first and then the body of the second are when they are repeated.
fn repeat_after(changes: WriteChanges) -> [Enqueued; 2] {
    let store = Store::in_memory().expect("creates");
    let home = namespace(&store);
    let (first, second) = (conversation(&home, 1, Some("a")), conversation(&home, 2, Some("b")));
    enqueue(&store, &first, BODY);
    ingest(&store, &home, &first, WriteChanges { made: vec![PATH.to_owned()], ..WriteChanges::default() });
    enqueue(&store, &second, BODY);
    ingest(&store, &home, &second, changes);
    let repeated = |id, fingerprint| enqueue(&store, &conversation(&home, id, Some(fingerprint)), BODY);
    [repeated(3, "a"), repeated(4, "b")]
}

#[test]
fn a_body_is_a_new_write_after_its_memory_was_rewritten() {
    let changes = WriteChanges { rewritten: vec![PATH.to_owned()], ..WriteChanges::default() };
    assert_eq!(repeat_after(changes), [Enqueued::Accepted(message(3)), Enqueued::Duplicate(message(2))]);
}

#[test]
fn a_body_is_a_new_write_after_its_memory_ended() {
    let changes = WriteChanges { ended: vec![PATH.to_owned()], ..WriteChanges::default() };
    assert_eq!(repeat_after(changes), [Enqueued::Accepted(message(3)), Enqueued::Duplicate(message(2))]);
}

#[test]
fn a_body_is_a_repetition_after_another_said_the_same() {
    let changes = WriteChanges { merged: vec![PATH.to_owned()], ..WriteChanges::default() };
    assert_eq!(repeat_after(changes), [Enqueued::Duplicate(message(1)), Enqueued::Duplicate(message(2))]);
}

#[test]
fn a_message_is_not_imported_while_its_write_is_a_dead_letter() {
    let store = Store::in_memory().expect("creates");
    let home = namespace(&store);
    let hashes = [[1; 32], [2; 32]];
    let (failing, other) = (conversation(&home, 1, None), conversation(&home, 2, None));
    enqueue(&store, &failing, Dedup::Imports(&hashes[..1]));
    enqueue(&store, &other, Dedup::Imports(&hashes[1..]));
    let imported = || store.imported(&home.key(), &hashes).expect("reads");
    assert_eq!(imported(), [true, true]);
    let letter = DeadLetter::of(&failing, 10, 10, "no".into());
    assert!(store.bury(&letter, &failing).expect("buries"));
    assert_eq!(imported(), [false, true]);
    let revived = store.revive(&home.account, failing.id, 10).expect("revives").expect("a letter");
    assert_eq!(imported(), [true, true], "the write is in the queue again");
    assert!(store.bury(&letter, &revived).expect("buries"));
    assert!(store.drop_dead_letter(&home.account, failing.id).expect("drops"));
    assert_eq!(imported(), [false, true], "the letter was dropped");
    let again = conversation(&home, 3, None);
    enqueue(&store, &again, Dedup::Imports(&hashes[..1]));
    assert_eq!(imported(), [true, true], "the message was imported again");
}
