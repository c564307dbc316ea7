//! The queue of accepted writes.
//!
//! An entry is synced before the client hears `202`. It leaves in one of two ways, each one batch: done (with the
//! namespace's new head, see [`Acknowledgement`](super::Acknowledgement)) or dead (into the [dead letters](super::DeadLetter)).
//! Entries are keyed by the namespace's id, so those of a deleted namespace go with it and are never seen by its successor.
//! One that cannot be decoded is set aside in [`Column::Unreadable`] and stops nothing else.

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::dead_letters::DeadLetter;
use super::fingerprints::{Dedup, Subject};
use super::namespaces::key;
use super::{NamespaceId, NamespaceRecord, Store, UsageRecord, decode, encode, usage};
use crate::error::{Error, Result};
use crate::key_value::columns::joined_bytes;
use crate::key_value::{Batch, Column, Durability};

/// What a queue entry asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum QueuedWork {
    /// A conversation to extract memories from: the validated request body.
    Conversation {
        /// The request, as the server's ingestion understands it.
        request: serde_json::Value,
    },
    /// Memories to forget.
    Forget {
        /// Their paths.
        paths: Vec<String>,
    },
    /// Terms to learn.
    Teach {
        /// The terms, as the server's ingestion understands them.
        request: serde_json::Value,
    },
    /// Terms to forget.
    ForgetTerms {
        /// Their canonical forms.
        terms: Vec<String>,
    },
    /// Skills to store.
    Skills {
        /// The skills with their paths, as the server's ingestion understands them.
        request: serde_json::Value,
    },
    /// A kept conversation to extract memories from again.
    Reextract {
        /// The id of the write that carried it.
        source: Ulid,
    },
}

impl QueuedWork {
    /// A word for the kind of work.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Conversation { .. } => "memories",
            Self::Forget { .. } => "forget",
            Self::Teach { .. } => "teach",
            Self::ForgetTerms { .. } => "forget-terms",
            Self::Skills { .. } => "skills",
            Self::Reextract { .. } => "reextract",
        }
    }
}

/// An accepted write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueEntry {
    /// The queue message id; its order is the order of acceptance.
    pub id: Ulid,
    /// The owning account.
    pub account: String,
    /// The namespace to write to.
    pub namespace: String,
    /// That namespace's identity.
    pub namespace_id: NamespaceId,
    /// When it was accepted, milliseconds since the epoch.
    pub accepted_at_ms: i64,
    /// For how long services had run on the data directory when it was accepted, milliseconds.
    pub accepted_running_ms: u64,
    /// How often it was tried and failed.
    pub failures: u32,
    /// SHA-256 of the body in hex, where an identical body is the same write for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// What to do.
    pub work: QueuedWork,
}

/// The outcome of an enqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// A new entry.
    Accepted(Ulid),
    /// The same body was accepted a short while ago, under this id.
    Duplicate(Ulid),
}

/// What belongs to an enqueue besides the entry.
#[derive(Clone, Copy, Debug, Default)]
pub struct EnqueueOptions<'a> {
    /// How a repeated write is recognised.
    pub dedup: Dedup<'a>,
    /// What the write is about, where that is known when it is accepted: fingerprints of earlier writes about the same are
    /// void from now on.
    pub subjects: &'a [Subject],
    /// The meter after this write.
    pub usage: Option<&'a UsageRecord>,
}

impl Store {
    /// Accepts a write, unless it is known already. A meter counts with it, or not at all. Buffered: new or not, it is
    /// durable once [`Store::sync_since`] has returned.
    ///
    /// Callers serialise calls; the service holds one lock around this.
    pub fn enqueue(
        &self,
        namespace: &NamespaceRecord,
        entry: &QueueEntry,
        options: &EnqueueOptions<'_>,
    ) -> Result<Enqueued> {
        if let Some(id) = self.known_duplicate(entry, options.dedup)? {
            return Ok(Enqueued::Duplicate(id));
        }
        let mut batch = Batch::new();
        for subject in options.subjects {
            self.void_subject(&mut batch, namespace.id, *subject, None)?;
        }
        put(&mut batch, entry)?;
        self.note_dedup(&mut batch, entry, options)?;
        if let Some(usage) = options.usage {
            usage::put(&mut batch, usage)?;
        }
        self.note_id(&mut batch, entry.id);
        self.write_live(namespace, &batch)?;
        Ok(Enqueued::Accepted(entry.id))
    }

    /// Visits every entry, one in memory at a time: there may be a million. Entries that cannot be decoded are set aside
    /// and counted in the result.
    pub fn each_queue_entry(&self, mut visit: impl FnMut(QueueEntry)) -> Result<usize> {
        let mut unreadable = Vec::new();
        self.kv.read_all(Column::Queue, |key, value| match decode(Column::Queue, value) {
            Ok(entry) => visit(entry),
            Err(error) => unreadable.push((key.to_vec(), error)),
        })?;
        for (key, error) in &unreadable {
            tracing::error!(%error, "a queue entry cannot be decoded; `cuebase dead-letters list` shows it");
            self.set_aside(Column::Queue, key)?;
        }
        Ok(unreadable.len())
    }

    /// Moves a record that cannot be decoded out of its column, as it is.
    pub fn set_aside(&self, column: Column, key: &[u8]) -> Result<()> {
        let Some(value) = self.kv.get(column, key)? else { return Ok(()) };
        let mut batch = Batch::new();
        batch.put(Column::Unreadable, joined_bytes(column.name(), key), value);
        batch.delete(column, key);
        self.kv.write(&batch, Durability::Synced)
    }

    /// One entry. Fails with [`Error::Corrupt`] where it cannot be decoded.
    pub fn queue_entry(&self, namespace: NamespaceId, id: Ulid) -> Result<Option<QueueEntry>> {
        let found = self.kv.get(Column::Queue, &queue_key(namespace, id))?;
        found.map(|bytes| decode(Column::Queue, &bytes)).transpose()
    }

    /// An entry as it is stored.
    pub(super) fn encoded_entry(&self, namespace: NamespaceId, id: Ulid) -> Result<Option<Vec<u8>>> {
        self.kv.get(Column::Queue, &queue_key(namespace, id))
    }

    /// Whether an entry is in the queue.
    pub fn is_queued(&self, namespace: NamespaceId, id: Ulid) -> Result<bool> {
        Ok(self.encoded_entry(namespace, id)?.is_some())
    }

    /// Sets an entry aside that cannot be decoded.
    pub fn set_entry_aside(&self, namespace: NamespaceId, id: Ulid) -> Result<()> {
        self.set_aside(Column::Queue, &queue_key(namespace, id))
    }

    /// Notes a failed try. False where the entry, or its namespace, is gone.
    pub fn note_failure(&self, entry: &QueueEntry) -> Result<bool> {
        let _held = self.live.read();
        if !self.is_current(entry)? {
            return Ok(false);
        }
        let mut batch = Batch::new();
        put(&mut batch, entry)?;
        self.kv.write(&batch, Durability::Buffered)?;
        Ok(true)
    }

    /// Moves an entry to the dead letters; an identical body is a new write from then on. False where the entry, or its
    /// namespace, is gone.
    pub fn bury(&self, letter: &DeadLetter, entry: &QueueEntry) -> Result<bool> {
        let opening = self.kv.opening();
        {
            let _held = self.live.read();
            if !self.is_current(entry)? {
                return Ok(false);
            }
            let mut batch = Batch::new();
            delete(&mut batch, entry.namespace_id, entry.id);
            self.void_fingerprint(&mut batch, entry);
            letter.put(&mut batch, &entry.work)?;
            self.kv.write(&batch, Durability::Buffered)?;
        }
        self.kv.sync_since(opening)?;
        Ok(true)
    }

    /// Whether an entry is still queued for a namespace that still exists.
    fn is_current(&self, entry: &QueueEntry) -> Result<bool> {
        Ok(self.is_queued(entry.namespace_id, entry.id)?
            && self.is_live(&entry.account, &entry.namespace, entry.namespace_id)?)
    }

    /// Removes an entry that is of no use any more: of a namespace that was deleted.
    pub fn drop_entry(&self, namespace: NamespaceId, id: Ulid) -> Result<()> {
        let mut batch = Batch::new();
        delete(&mut batch, namespace, id);
        self.kv.write(&batch, Durability::Buffered)
    }
}

/// The key of an entry.
fn queue_key(namespace: NamespaceId, id: Ulid) -> Vec<u8> {
    key(namespace, &id.to_bytes())
}

/// Puts an entry into a batch. What was encoded is decoded once more: an entry that could not be read again would be
/// acknowledged and never ingested.
pub(super) fn put(batch: &mut Batch, entry: &QueueEntry) -> Result<()> {
    let bytes = encode(entry)?;
    if let Err(error) = decode::<QueueEntry>(Column::Queue, &bytes) {
        return Err(Error::Invalid { what: "write", reason: format!("it cannot be read back: {error}") });
    }
    batch.put(Column::Queue, queue_key(entry.namespace_id, entry.id), bytes);
    Ok(())
}

/// Takes an entry away in a batch.
pub(super) fn delete(batch: &mut Batch, namespace: NamespaceId, id: Ulid) {
    batch.delete(Column::Queue, queue_key(namespace, id));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(store: &Store) -> Vec<QueueEntry> {
        let mut entries = Vec::new();
        store.each_queue_entry(|entry| entries.push(entry)).expect("reads");
        entries
    }

    fn open(folder: &tempfile::TempDir) -> Store {
        Store::open(folder.path()).expect("opens")
    }

    fn namespace(store: &Store, id: u128) -> NamespaceRecord {
        let wanted = NamespaceRecord::new("default", "default", NamespaceId::new(Ulid::from(id)), 0);
        store.create_namespace(&wanted).expect("creates").0
    }

    fn entry(id: u128, running_ms: u64, namespace: &NamespaceRecord) -> QueueEntry {
        QueueEntry {
            id: Ulid::from(id),
            account: namespace.account.clone(),
            namespace: namespace.name.clone(),
            namespace_id: namespace.id,
            accepted_at_ms: running_ms as i64,
            accepted_running_ms: running_ms,
            failures: 0,
            fingerprint: None,
            work: QueuedWork::Conversation { request: serde_json::json!({"messages": []}) },
        }
    }

    fn body(entry: QueueEntry, hash: &str) -> (QueueEntry, EnqueueOptions<'static>) {
        let entry = QueueEntry { fingerprint: Some(hash.to_owned()), ..entry };
        (entry, EnqueueOptions { dedup: Dedup::Body { window_ms: 300 }, ..EnqueueOptions::default() })
    }

    fn enqueue(store: &Store, namespace: &NamespaceRecord, (entry, options): (QueueEntry, EnqueueOptions)) -> Enqueued {
        store.enqueue(namespace, &entry, &options).expect("enqueues")
    }

    #[test]
    fn an_identical_body_is_taken_once_within_the_window_and_again_after_it() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = open(&folder);
        let home = namespace(&store, 1);
        let accepted = |id: u128| Enqueued::Accepted(Ulid::from(id));
        assert_eq!(enqueue(&store, &home, body(entry(1, 0, &home), "7")), accepted(1));
        assert_eq!(enqueue(&store, &home, body(entry(2, 299, &home), "7")), Enqueued::Duplicate(Ulid::from(1)));
        assert_eq!(enqueue(&store, &home, body(entry(3, 300, &home), "7")), accepted(3));
        let ids: Vec<u128> = entries(&store).iter().map(|e| e.id.into()).collect();
        assert_eq!(ids, [1, 3]);
    }

    #[test]
    fn a_fingerprint_is_void_once_its_subject_is_written_and_only_then() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = open(&folder);
        let home = namespace(&store, 1);
        let teach = |id: u128, hash: &str, term: &str| {
            let entry = QueueEntry {
                work: QueuedWork::Teach { request: serde_json::Value::Null },
                fingerprint: Some(hash.to_owned()),
                ..entry(id, 0, &home)
            };
            let subjects = [Subject::term(term)];
            let options = EnqueueOptions { dedup: Dedup::Body { window_ms: 300 }, subjects: &subjects, usage: None };
            matches!(store.enqueue(&home, &entry, &options), Ok(Enqueued::Accepted(_)))
        };
        assert!(teach(1, "a", "pier") && !teach(2, "a", "pier"));
        assert!(teach(3, "b", "pier") && teach(4, "a", "pier"), "rewritten in between");
        assert!(teach(5, "c", "mole") && !teach(6, "a", "pier"), "another term does not count");
        let forget = QueueEntry { work: QueuedWork::ForgetTerms { terms: Vec::new() }, ..entry(8, 0, &home) };
        let subjects = [Subject::term("mole")];
        let options = EnqueueOptions { subjects: &subjects, ..EnqueueOptions::default() };
        store.enqueue(&home, &forget, &options).expect("enqueues");
        assert!(!teach(9, "a", "pier") && teach(10, "c", "mole"), "only what was forgotten may come again");
    }

    #[test]
    fn nothing_of_a_deleted_namespace_reaches_its_successor() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = open(&folder);
        let former = namespace(&store, 1);
        assert!(matches!(enqueue(&store, &former, body(entry(1, 0, &former), "7")), Enqueued::Accepted(_)));
        let marks = [[1; 32], [2; 32]];
        let options = EnqueueOptions { dedup: Dedup::Imports(&marks[..1]), ..EnqueueOptions::default() };
        enqueue(&store, &former, (entry(2, 0, &former), options));
        assert_eq!(store.imported(former.id, &marks).expect("reads"), [true, false]);
        assert!(store.retire_namespace(&former).expect("deletes"));
        assert!(!store.retire_namespace(&former).expect("is deleted"));
        let successor = namespace(&store, 2);
        assert_ne!(successor.id, former.id);
        assert_eq!(store.imported(successor.id, &marks).expect("reads"), [false, false]);
        assert!(matches!(enqueue(&store, &successor, body(entry(3, 0, &successor), "7")), Enqueued::Accepted(_)));
        let late = store.enqueue(&former, &entry(4, 0, &former), &EnqueueOptions::default());
        assert!(matches!(late, Err(Error::NamespaceGone(_))), "{late:?}");
        assert!(!store.note_failure(&entry(1, 0, &former)).expect("reads"));
        for removal in store.pending_removals().expect("reads") {
            store.remove_records(&removal).expect("removes");
            store.finish_removal(removal.id).expect("finishes");
        }
        assert_eq!(entries(&store).len(), 1);
        assert!(store.pending_removals().expect("reads").is_empty());
    }

    #[test]
    fn an_entry_that_cannot_be_decoded_is_set_aside_and_the_others_are_read() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = open(&folder);
        let home = namespace(&store, 1);
        enqueue(&store, &home, (entry(2, 0, &home), EnqueueOptions::default()));
        let mut batch = Batch::new();
        batch.put(Column::Queue, queue_key(home.id, Ulid::from(1)), b"\x01{\"id\":[".to_vec());
        store.kv.write(&batch, Durability::Buffered).expect("writes");
        assert_eq!(entries(&store).len(), 1);
        assert_eq!(store.unreadable().expect("reads").len(), 1);
        assert_eq!(store.each_queue_entry(drop).expect("reads"), 0, "it is set aside once");
        assert!(store.drop_unreadable(Ulid::from(1)).expect("drops"));
        assert!(store.unreadable().expect("reads").is_empty());
    }

    #[test]
    fn entries_survive_reopening_and_end_in_the_dead_letters_or_nowhere() {
        let folder = tempfile::tempdir().expect("temporary directory");
        {
            let store = open(&folder);
            let home = namespace(&store, 1);
            enqueue(&store, &home, body(entry(1, 5, &home), "1"));
            enqueue(&store, &home, body(entry(2, 6, &home), "2"));
        }
        let store = open(&folder);
        let home = namespace(&store, 1);
        let queued = entries(&store);
        assert_eq!(queued.len(), 2);
        let letter = DeadLetter::of(&queued[0], 10, 10, "no".into());
        assert!(store.bury(&letter, &queued[0]).expect("buries"));
        assert!(!store.bury(&letter, &queued[0]).expect("is buried"));
        store.drop_entry(home.id, Ulid::from(2)).expect("drops");
        assert!(entries(&store).is_empty());
        let page = store.dead_letters("default", None, 10).expect("reads");
        assert_eq!(page.len(), 1);
        assert_eq!(store.newest_id().expect("reads"), Some(Ulid::from(2)));
        let again = body(entry(3, 7, &home), "1");
        assert!(matches!(enqueue(&store, &home, again), Enqueued::Accepted(_)), "what died may come again");
        let revived = store.revive("default", Ulid::from(1), 10).expect("revives").expect("was there");
        assert_eq!(revived.work, queued[0].work);
        assert!(store.dead_letters("default", None, 10).expect("reads").is_empty());
        assert!(!store.drop_dead_letter("default", Ulid::from(1)).expect("drops"));
        store.bury(&letter, &revived).expect("buries");
        store.purge_dead_letters(11).expect("purges");
        assert!(store.dead_letters("default", None, 10).expect("reads").is_empty());
    }
}
