//! The queue of accepted writes.
//!
//! An entry is synced before the server responds with `202`. One batch removes it from the queue in one of two ways:
//! when it is done, together with the namespace's new head (see [`Acknowledgement`](super::Acknowledgement)), or when
//! it failed permanently, into the [dead letters](super::DeadLetter). Entries are keyed by the namespace's id, so they
//! are deleted with the namespace and its successor never sees them. An entry that cannot be decoded is set aside in
//! [`Column::Unreadable`], and the others are processed.

use super::dead_letters::DeadLetter;
use super::dedup::{EnqueueOptions, Enqueued};
use super::namespaces::NamespaceRecord;
use super::queue_entry::{QueueEntry, delete, put, queue_key};
use super::store::{Store, decode};
use super::usage;
use crate::error::Result;
use crate::identity::{MessageId, NamespaceId};
use crate::key_value::columns::joined_bytes;
use crate::key_value::{Batch, Column, Durability};

impl Store {
    /// Accepts a write unless it is a repetition, and updates the meter in the same batch. The write is buffered. Both
    /// new and repeated writes are durable after [`Store::sync_since`].
    ///
    /// Calls must not run concurrently; the service holds a lock around them.
    pub fn enqueue(
        &self,
        namespace: &NamespaceRecord,
        entry: &QueueEntry,
        options: &EnqueueOptions<'_>,
    ) -> Result<Enqueued> {
        if let Some(id) = self.find_duplicate(entry, options.dedup)? {
            return Ok(Enqueued::Duplicate(id));
        }
        let mut batch = Batch::new();
        for subject in options.subjects {
            self.invalidate_subject(&mut batch, namespace.id, *subject, None)?;
        }
        put(&mut batch, entry)?;
        self.record_dedup(&mut batch, entry, options)?;
        if let Some(usage) = options.usage {
            usage::put(&mut batch, usage)?;
        }
        self.record_id(&mut batch, entry.id.into());
        self.write_if_live(namespace, &batch)?;
        Ok(Enqueued::Accepted(entry.id))
    }

    /// Visits all entries. Only a page of them is in memory at a time, as there may be a million. Entries that cannot be
    /// decoded are set aside; their number is returned.
    pub fn for_each_queue_entry(&self, mut visit: impl FnMut(QueueEntry)) -> Result<usize> {
        let mut unreadable = Vec::new();
        for entry in self.kv.read_all(Column::Queue) {
            let (key, value) = entry?;
            match decode(Column::Queue, &value) {
                Ok(entry) => visit(entry),
                Err(error) => unreadable.push((key, error)),
            }
        }
        for (key, error) in &unreadable {
            tracing::error!(%error, "cannot decode a queue entry; `cuebase dead-letters list` shows it");
            self.set_aside(Column::Queue, key)?;
        }
        Ok(unreadable.len())
    }

    /// Moves a record that cannot be decoded from its column to [`Column::Unreadable`], unchanged.
    pub fn set_aside(&self, column: Column, key: &[u8]) -> Result<()> {
        let Some(value) = self.kv.get(column, key)? else { return Ok(()) };
        let mut batch = Batch::new();
        batch.put(Column::Unreadable, joined_bytes(column.name(), key), value);
        batch.delete(column, key);
        self.kv.write(&batch, Durability::Synced)
    }

    /// Returns an entry.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the entry cannot be decoded.
    pub fn queue_entry(&self, namespace: NamespaceId, id: MessageId) -> Result<Option<QueueEntry>> {
        self.get_record(Column::Queue, &queue_key(namespace, id))
    }

    /// Returns the stored bytes of an entry.
    pub(super) fn encoded_entry(&self, namespace: NamespaceId, id: MessageId) -> Result<Option<Vec<u8>>> {
        self.kv.get(Column::Queue, &queue_key(namespace, id))
    }

    /// Whether an entry is in the queue.
    pub fn is_queued(&self, namespace: NamespaceId, id: MessageId) -> Result<bool> {
        Ok(self.encoded_entry(namespace, id)?.is_some())
    }

    /// Sets aside an entry that cannot be decoded.
    pub fn set_entry_aside(&self, namespace: NamespaceId, id: MessageId) -> Result<()> {
        self.set_aside(Column::Queue, &queue_key(namespace, id))
    }

    /// Records a failed attempt. Returns false if the entry or its namespace no longer exists.
    pub fn record_failure(&self, entry: &QueueEntry) -> Result<bool> {
        let _existence = self.namespace_existence.read();
        if !self.is_current(entry)? {
            return Ok(false);
        }
        let mut batch = Batch::new();
        put(&mut batch, entry)?;
        self.kv.write(&batch, Durability::Buffered)?;
        Ok(true)
    }

    /// Moves an entry to the dead letters. A repetition of its body is a new write from then on. Returns false if the
    /// entry or its namespace no longer exists.
    pub fn bury(&self, letter: &DeadLetter, entry: &QueueEntry) -> Result<bool> {
        let generation = self.kv.generation();
        {
            let _existence = self.namespace_existence.read();
            if !self.is_current(entry)? {
                return Ok(false);
            }
            let mut batch = Batch::new();
            delete(&mut batch, entry.namespace_id, entry.id);
            self.invalidate_fingerprint(&mut batch, entry);
            letter.put(&mut batch, &entry.work)?;
            self.kv.write(&batch, Durability::Buffered)?;
        }
        self.kv.sync_since(generation)?;
        Ok(true)
    }

    /// Whether an entry is still queued for a namespace that still exists.
    fn is_current(&self, entry: &QueueEntry) -> Result<bool> {
        Ok(self.is_queued(entry.namespace_id, entry.id)?
            && self.is_live(&entry.account, &entry.namespace, entry.namespace_id)?)
    }

    /// Deletes an entry of a deleted namespace.
    pub fn drop_entry(&self, namespace: NamespaceId, id: MessageId) -> Result<()> {
        let mut batch = Batch::new();
        delete(&mut batch, namespace, id);
        self.kv.write(&batch, Durability::Buffered)
    }
}

#[cfg(test)]
mod tests {
    use ulid::Ulid;

    use super::*;
    use crate::error::Error;
    use crate::identity::AccountId;
    use crate::identity::NamespaceName;
    use crate::records::{Dedup, FingerprintSubject, QueuedWork};

    fn message(id: u128) -> MessageId {
        MessageId::from(Ulid::from(id))
    }

    fn entries(store: &Store) -> Vec<QueueEntry> {
        let mut entries = Vec::new();
        store.for_each_queue_entry(|entry| entries.push(entry)).expect("reads");
        entries
    }

    fn open(folder: &tempfile::TempDir) -> Store {
        Store::open(folder.path()).expect("opens")
    }

    fn namespace(store: &Store, id: u128) -> NamespaceRecord {
        let wanted =
            NamespaceRecord::new(&AccountId::default(), &NamespaceName::default(), NamespaceId::new(Ulid::from(id)), 0);
        store.create_namespace(&wanted).expect("creates").0
    }

    fn entry(id: u128, running_ms: u64, namespace: &NamespaceRecord) -> QueueEntry {
        QueueEntry {
            id: message(id),
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
    fn an_identical_body_is_accepted_once_within_the_window_and_again_after_it() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = open(&folder);
        let home = namespace(&store, 1);
        let accepted = |id: u128| Enqueued::Accepted(message(id));
        assert_eq!(enqueue(&store, &home, body(entry(1, 0, &home), "7")), accepted(1));
        assert_eq!(enqueue(&store, &home, body(entry(2, 299, &home), "7")), Enqueued::Duplicate(message(1)));
        assert_eq!(enqueue(&store, &home, body(entry(3, 300, &home), "7")), accepted(3));
        let ids: Vec<u128> = entries(&store).iter().map(|e| Ulid::from(e.id).into()).collect();
        assert_eq!(ids, [1, 3]);
    }

    #[test]
    fn a_fingerprint_becomes_invalid_only_when_its_subject_is_written() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = open(&folder);
        let home = namespace(&store, 1);
        let teach = |id: u128, hash: &str, term: &str| {
            let entry = QueueEntry {
                work: QueuedWork::Teach { request: serde_json::Value::Null },
                fingerprint: Some(hash.to_owned()),
                ..entry(id, 0, &home)
            };
            let subjects = [FingerprintSubject::term(term)];
            let options = EnqueueOptions { dedup: Dedup::Body { window_ms: 300 }, subjects: &subjects, usage: None };
            matches!(store.enqueue(&home, &entry, &options), Ok(Enqueued::Accepted(_)))
        };
        assert!(teach(1, "a", "pier") && !teach(2, "a", "pier"));
        assert!(teach(3, "b", "pier") && teach(4, "a", "pier"), "rewritten in between");
        assert!(teach(5, "c", "mole") && !teach(6, "a", "pier"), "another term does not invalidate it");
        let forget = QueueEntry { work: QueuedWork::ForgetTerms { terms: Vec::new() }, ..entry(8, 0, &home) };
        let subjects = [FingerprintSubject::term("mole")];
        let options = EnqueueOptions { subjects: &subjects, ..EnqueueOptions::default() };
        store.enqueue(&home, &forget, &options).expect("enqueues");
        assert!(!teach(9, "a", "pier") && teach(10, "c", "mole"), "only the forgotten term may be taught again");
    }

    #[test]
    fn no_data_of_a_deleted_namespace_reaches_its_successor() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = open(&folder);
        let former = namespace(&store, 1);
        assert!(matches!(enqueue(&store, &former, body(entry(1, 0, &former), "7")), Enqueued::Accepted(_)));
        let hashes = [[1; 32], [2; 32]];
        let options = EnqueueOptions { dedup: Dedup::Imports(&hashes[..1]), ..EnqueueOptions::default() };
        enqueue(&store, &former, (entry(2, 0, &former), options));
        assert_eq!(store.imported(former.id, &hashes).expect("reads"), [true, false]);
        assert!(store.retire_namespace(&former).expect("deletes"));
        assert!(!store.retire_namespace(&former).expect("is already deleted"));
        let successor = namespace(&store, 2);
        assert_ne!(successor.id, former.id);
        assert_eq!(store.imported(successor.id, &hashes).expect("reads"), [false, false]);
        assert!(matches!(enqueue(&store, &successor, body(entry(3, 0, &successor), "7")), Enqueued::Accepted(_)));
        let late = store.enqueue(&former, &entry(4, 0, &former), &EnqueueOptions::default());
        assert!(matches!(late, Err(Error::NamespaceGone(_))), "{late:?}");
        assert!(!store.record_failure(&entry(1, 0, &former)).expect("reads"));
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
        batch.put(Column::Queue, queue_key(home.id, message(1)), b"\x01{\"id\":[".to_vec());
        store.kv.write(&batch, Durability::Buffered).expect("writes");
        assert_eq!(entries(&store).len(), 1);
        assert_eq!(store.unreadable().expect("reads").len(), 1);
        assert_eq!(store.for_each_queue_entry(drop).expect("reads"), 0, "is set aside once");
        assert!(store.drop_unreadable(message(1)).expect("drops"));
        assert!(store.unreadable().expect("reads").is_empty());
    }

    #[test]
    fn entries_survive_reopening_until_they_are_buried_or_dropped() {
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
        assert!(!store.bury(&letter, &queued[0]).expect("is already buried"));
        store.drop_entry(home.id, message(2)).expect("drops");
        assert!(entries(&store).is_empty());
        let page = store.dead_letters(&AccountId::default(), None, 10).expect("reads");
        assert_eq!(page.len(), 1);
        assert_eq!(store.newest_id().expect("reads"), Some(Ulid::from(2u128)));
        let again = body(entry(3, 7, &home), "1");
        assert!(matches!(enqueue(&store, &home, again), Enqueued::Accepted(_)), "a buried body is accepted again");
        let revived = store.revive(&AccountId::default(), message(1), 10).expect("revives").expect("a letter");
        assert_eq!(revived.work, queued[0].work);
        assert!(store.dead_letters(&AccountId::default(), None, 10).expect("reads").is_empty());
        assert!(!store.drop_dead_letter(&AccountId::default(), message(1)).expect("drops"));
        store.bury(&letter, &revived).expect("buries");
        store.purge_dead_letters(11).expect("purges");
        assert!(store.dead_letters(&AccountId::default(), None, 10).expect("reads").is_empty());
    }
}
