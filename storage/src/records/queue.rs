//! The queue of accepted writes.
//!
//! An entry is synced before the server responds with `202`. One batch removes it from the queue in one of two ways:
//! when it is done, together with the namespace's new head (see [`Acknowledgement`](super::Acknowledgement)), or when
//! it failed permanently, into the [dead letters](super::DeadLetter). Entries are keyed by account and the namespace's
//! id, so they are deleted with the namespace and its successor never sees them. An entry that cannot be decoded is set
//! aside in [`Column::Unreadable`], and the others are processed.

use std::collections::HashMap;

use super::batch::RecordBatch;
use super::dead_letters::DeadLetter;
use super::dedup::{Dedup, Enqueued, FingerprintSubject};
use super::queue_entry::{self, QueueEntry, queue_key, queue_prefix};
use super::store::{Store, decode};
use super::writes;
use crate::error::{Error, Result};
use crate::identity::{MessageId, NamespaceId, NamespaceKey};
use crate::key_value::columns::joined_bytes;
use crate::key_value::{Batch, Column, Durability};

/// The queued entries of a namespace.
#[derive(Debug, Default)]
pub struct QueuedEntries {
    /// Oldest first.
    pub entries: Vec<QueueEntry>,
    /// The ids of those that cannot be decoded.
    pub unreadable: Vec<MessageId>,
}

/// A namespace that has queued entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedNamespace {
    /// The namespace.
    pub namespace: NamespaceKey,
    /// Its oldest entry.
    pub oldest: MessageId,
}

impl RecordBatch<'_> {
    /// Accepts a write unless it repeats an earlier one. `subjects` are the paths and terms that the write changes, as
    /// far as they are known at acceptance; fingerprints of earlier writes to them become invalid.
    ///
    /// The batch requires the namespace of the entry to exist. New and repeated writes are durable after
    /// [`Store::sync_since`]. The caller accepts one write at a time, so that ids are in the order of acceptance and
    /// each write invalidates the fingerprints of all earlier ones.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the entry cannot be read back. The commit fails with [`Error::ConditionFailed`] if another
    /// caller accepted the body meanwhile, or if its fingerprint was purged.
    pub fn enqueue(
        &mut self,
        entry: &QueueEntry,
        dedup: Dedup<'_>,
        subjects: &[FingerprintSubject],
    ) -> Result<Enqueued> {
        if let Some(id) = self.find_duplicate(entry, dedup)? {
            return Ok(Enqueued::Duplicate(id));
        }
        self.require_live_key(entry.namespace_key());
        for subject in subjects {
            self.store.invalidate_subject(&mut self.changes, entry.namespace_id, *subject, None)?;
        }
        queue_entry::put(&mut self.changes, entry)?;
        writes::put_record(&mut self.changes, entry)?;
        self.record_dedup(entry, dedup, subjects)?;
        self.assign_id(entry.namespace_id, entry.id.into());
        Ok(Enqueued::Accepted(entry.id))
    }
}

impl Store {
    /// Visits all entries. Only a page of them is in memory at a time, as there may be a million. Entries that cannot
    /// be decoded are set aside; their number is returned.
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

    /// Moves a record that cannot be decoded from its column to [`Column::Unreadable`], unchanged. A record of a
    /// namespace that another node owns stays where it is, for that node. So does a record that changes meanwhile.
    pub fn set_aside(&self, column: Column, key: &[u8]) -> Result<()> {
        self.set_aside_with(column, key, &[])
    }

    /// Moves a record as [`Store::set_aside`], and deletes the records with the same key in other columns.
    pub(super) fn set_aside_with(&self, column: Column, key: &[u8], others: &[Column]) -> Result<()> {
        let Some(value) = self.kv.get(column, key)? else { return Ok(()) };
        let mut batch = Batch::new();
        if let Some(namespace) = namespace_of(column, key)
            && !self.fences.expect_if_held(&mut batch, namespace)
        {
            return Ok(());
        }
        batch.expect(column, key, Some(value.clone()));
        batch.put(Column::Unreadable, joined_bytes(column.name(), key), value);
        batch.delete(column, key);
        for other in others {
            batch.delete(*other, key);
        }
        match self.kv.write(&batch, Durability::Synced) {
            // Somebody else set it aside or replaced it, or the namespace has another owner.
            Err(Error::ConditionFailed { .. }) => Ok(()),
            written => written,
        }
    }

    /// Returns an entry.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the entry cannot be decoded.
    pub fn queue_entry(&self, namespace: &NamespaceKey, id: MessageId) -> Result<Option<QueueEntry>> {
        self.get_record(Column::Queue, &key_of(namespace, id))
    }

    /// Returns the entries of a namespace that were accepted after an id, oldest first. Entries that cannot be decoded
    /// are left out.
    pub fn queue_entries_after(&self, namespace: &NamespaceKey, after: MessageId) -> Result<Vec<QueueEntry>> {
        Ok(self.scan_entries(namespace, Some(&key_of(namespace, after)))?.entries)
    }

    /// Returns the entries of a namespace, oldest first, and the ids of those that cannot be decoded.
    pub fn queued_entries(&self, namespace: &NamespaceKey) -> Result<QueuedEntries> {
        self.scan_entries(namespace, None)
    }

    /// Reads the entries of a namespace whose keys follow a key.
    fn scan_entries(&self, namespace: &NamespaceKey, after: Option<&[u8]>) -> Result<QueuedEntries> {
        let prefix = queue_prefix(&namespace.account, namespace.id);
        let mut queued = QueuedEntries::default();
        for (key, value) in self.kv.scan(Column::Queue, &prefix, after, usize::MAX)? {
            match decode(Column::Queue, &value) {
                Ok(entry) => queued.entries.push(entry),
                Err(_) => queued.unreadable.extend(split_key(&key).map(|(_, _, id)| id)),
            }
        }
        Ok(queued)
    }

    /// Returns the id of the oldest queued entry of each namespace that has one. Takes one lookup for each of them.
    pub fn oldest_queued(&self) -> Result<HashMap<NamespaceId, MessageId>> {
        let mut oldest = HashMap::new();
        let mut after: Option<Vec<u8>> = None;
        while let Some((key, _)) = self.kv.scan(Column::Queue, b"", after.as_deref(), 1)?.pop() {
            let Some((prefix, namespace, id)) = split_key(&key) else {
                after = Some(key);
                continue;
            };
            oldest.insert(namespace, id);
            // Sorts after the keys of all entries of the namespace.
            after = Some([prefix, &[0xff; 17]].concat());
        }
        Ok(oldest)
    }

    /// Returns the namespaces that have queued entries, with the oldest entry of each. Takes one lookup for each of them.
    /// Entries that cannot be decoded are left out.
    pub fn queued_namespaces(&self) -> Result<Vec<QueuedNamespace>> {
        let mut queued = Vec::new();
        let mut after: Option<Vec<u8>> = None;
        while let Some((key, value)) = self.kv.scan(Column::Queue, b"", after.as_deref(), 1)?.pop() {
            let Some((prefix, _, oldest)) = split_key(&key) else {
                after = Some(key);
                continue;
            };
            let Ok(entry) = decode::<QueueEntry>(Column::Queue, &value) else {
                after = Some(key);
                continue;
            };
            // Sorts after the keys of all entries of the namespace.
            after = Some([prefix, &[0xff; 17]].concat());
            queued.push(QueuedNamespace { namespace: entry.namespace_key(), oldest });
        }
        Ok(queued)
    }

    /// Whether an entry is in the queue.
    pub fn is_queued(&self, namespace: &NamespaceKey, id: MessageId) -> Result<bool> {
        Ok(self.kv.get(Column::Queue, &key_of(namespace, id))?.is_some())
    }

    /// Sets aside an entry that cannot be decoded.
    pub fn set_entry_aside(&self, namespace: &NamespaceKey, id: MessageId) -> Result<()> {
        self.set_aside(Column::Queue, &key_of(namespace, id))
    }

    /// Records a failed attempt. Returns false if the entry or its namespace no longer exists.
    pub fn record_failure(&self, entry: &QueueEntry) -> Result<bool> {
        let Some(mut batch) = self.entry_change(entry)? else { return Ok(false) };
        queue_entry::put(&mut batch.changes, entry)?;
        self.commit_if_current(batch)
    }

    /// Moves an entry to the dead letters. A repetition of its body is a new write from then on. Returns false if the
    /// entry or its namespace no longer exists.
    pub fn bury(&self, letter: &DeadLetter, entry: &QueueEntry) -> Result<bool> {
        let generation = self.kv.generation();
        let Some(mut batch) = self.entry_change(entry)? else { return Ok(false) };
        queue_entry::delete(&mut batch.changes, &entry.account, entry.namespace_id, entry.id);
        self.invalidate_fingerprint(&mut batch.changes, entry);
        letter.put(&mut batch.changes, &entry.work)?;
        if !self.commit_if_current(batch)? {
            return Ok(false);
        }
        self.kv.sync_since(generation)?;
        Ok(true)
    }

    /// Begins a batch that changes a queued entry. It requires the entry to be as it is stored now, and its namespace
    /// to exist. Returns `None` if the entry is not in the queue.
    fn entry_change(&self, entry: &QueueEntry) -> Result<Option<RecordBatch<'_>>> {
        let key = queue_key(&entry.account, entry.namespace_id, entry.id);
        let Some(bytes) = self.kv.get(Column::Queue, &key)? else { return Ok(None) };
        let mut batch = self.batch();
        batch.require_live_key(entry.namespace_key());
        batch.changes.expect(Column::Queue, key, Some(bytes));
        Ok(Some(batch))
    }

    /// Deletes an entry of a deleted namespace.
    ///
    /// # Errors
    /// [`Error::NotOwner`] if the namespace exists and another node owns it.
    pub fn drop_entry(&self, namespace: &NamespaceKey, id: MessageId) -> Result<()> {
        let mut batch = self.batch();
        batch.require_held(namespace.clone());
        batch.changes.delete(Column::Queue, key_of(namespace, id));
        let dropped = self.commit(batch);
        let is_refused = matches!(dropped, Err(Error::NotOwner(_) | Error::NamespaceGone(_)));
        if is_refused && !self.is_live(namespace.id)? {
            // The owner record is deleted by the removal of the namespace, which also deletes the entry.
            return Ok(());
        }
        dropped
    }
}

/// The namespace of a record. `None` if the record belongs to none, or its key does not contain the namespace.
fn namespace_of(column: Column, key: &[u8]) -> Option<NamespaceId> {
    if column == Column::Queue {
        let (_, namespace, _) = split_key(key)?;
        return Some(namespace);
    }
    if Column::BY_NAMESPACE.contains(&column) { NamespaceId::at_start_of(key) } else { None }
}

/// Splits the key of an entry into the prefix of its namespace, the id of the namespace and its own id. `None` if the key
/// has another form.
fn split_key(key: &[u8]) -> Option<(&[u8], NamespaceId, MessageId)> {
    let (prefix, id) = key.split_last_chunk()?;
    let namespace: &[u8; 16] = prefix.last_chunk()?;
    Some((prefix, NamespaceId::at_start_of(namespace)?, MessageId::from_bytes(*id)))
}

/// The key of an entry of a namespace.
fn key_of(namespace: &NamespaceKey, id: MessageId) -> Vec<u8> {
    queue_key(&namespace.account, namespace.id, id)
}

#[cfg(test)]
mod tests {
    use ulid::Ulid;

    use super::*;
    use crate::identity::{AccountId, NamespaceId, NamespaceName};
    use crate::records::store::NEWEST_ID_KEY;
    use crate::records::{Acknowledgement, Conversation, Meter, NamespaceRecord, QueuedWork, UsageRecord};

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
        namespace_named(store, "default", id)
    }

    fn namespace_named(store: &Store, name: &str, id: u128) -> NamespaceRecord {
        let name = NamespaceName::new(name).expect("a name");
        let wanted = NamespaceRecord::new(&AccountId::default(), &name, NamespaceId::new(Ulid::from(id)), 0);
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
            sender: None,
            work: QueuedWork::Conversation { request: Conversation::default() },
        }
    }

    /// The detection of bodies that are repeated within 300 ms.
    const BODY: Dedup<'static> = Dedup::Body { window_ms: 300 };

    fn body(entry: QueueEntry, hash: &str) -> QueueEntry {
        QueueEntry { fingerprint: Some(hash.to_owned()), ..entry }
    }

    fn try_enqueue(
        store: &Store,
        namespace: &NamespaceRecord,
        entry: &QueueEntry,
        dedup: Dedup<'_>,
        subjects: &[FingerprintSubject],
    ) -> Result<Enqueued> {
        let mut batch = store.batch();
        batch.require_live(namespace);
        let enqueued = batch.enqueue(entry, dedup, subjects)?;
        store.commit(batch)?;
        Ok(enqueued)
    }

    fn enqueue(store: &Store, namespace: &NamespaceRecord, entry: &QueueEntry) -> Enqueued {
        try_enqueue(store, namespace, entry, BODY, &[]).expect("enqueues")
    }

    #[test]
    fn an_identical_body_is_accepted_once_within_the_window_and_again_after_it() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = open(&folder);
        let home = namespace(&store, 1);
        let accepted = |id: u128| Enqueued::Accepted(message(id));
        assert_eq!(enqueue(&store, &home, &body(entry(1, 0, &home), "7")), accepted(1));
        assert_eq!(enqueue(&store, &home, &body(entry(2, 299, &home), "7")), Enqueued::Duplicate(message(1)));
        assert_eq!(enqueue(&store, &home, &body(entry(3, 300, &home), "7")), accepted(3));
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
                work: QueuedWork::Teach { request: Vec::new() },
                fingerprint: Some(hash.to_owned()),
                ..entry(id, 0, &home)
            };
            let subjects = [FingerprintSubject::term(term)];
            matches!(try_enqueue(&store, &home, &entry, BODY, &subjects), Ok(Enqueued::Accepted(_)))
        };
        assert!(teach(1, "a", "pier") && !teach(2, "a", "pier"));
        assert!(teach(3, "b", "pier") && teach(4, "a", "pier"), "rewritten in between");
        assert!(teach(5, "c", "mole") && !teach(6, "a", "pier"), "another term does not invalidate it");
        let forget = QueueEntry { work: QueuedWork::ForgetTerms { terms: Vec::new() }, ..entry(8, 0, &home) };
        let subjects = [FingerprintSubject::term("mole")];
        try_enqueue(&store, &home, &forget, Dedup::Off, &subjects).expect("enqueues");
        assert!(!teach(9, "a", "pier") && teach(10, "c", "mole"), "only the forgotten term may be taught again");
    }

    #[test]
    fn a_path_write_is_kept_while_an_older_entry_of_its_namespace_is_queued() {
        let store = Store::in_memory().expect("creates");
        let (waiting, idle) = (namespace(&store, 1), namespace_named(&store, "idle", 2));
        enqueue(&store, &waiting, &entry(5, 0, &waiting));
        for home in [&waiting, &idle] {
            let path_writes = [("facts/a.md", message(4)), ("facts/b.md", message(6))];
            let path_writes = path_writes.map(|(path, id)| (path.to_owned(), id));
            store
                .acknowledge(&Acknowledgement { path_writes: &path_writes, ..Acknowledgement::new(home) })
                .expect("writes");
        }
        assert_eq!(store.oldest_queued().expect("reads"), HashMap::from([(waiting.id, message(5))]));
        assert_eq!(store.purge_path_writes().expect("purges"), 3);
        assert_eq!(store.newest_path_write(waiting.id, "facts/a.md").expect("reads"), None);
        assert_eq!(store.newest_path_write(waiting.id, "facts/b.md").expect("reads"), Some(message(6)));
        assert!(!store.has_path_writes(idle.id).expect("reads"));
    }

    #[test]
    fn the_newest_id_stays_when_its_namespace_is_deleted() {
        let store = Store::in_memory().expect("creates");
        let (home, other) = (namespace(&store, 1), namespace_named(&store, "other", 2));
        enqueue(&store, &other, &entry(3, 0, &other));
        enqueue(&store, &home, &entry(7, 0, &home));
        assert!(store.retire_namespace(&home).expect("deletes"));
        for removal in store.pending_removals().expect("lists") {
            store.remove_records(&removal).expect("removes");
        }
        assert_eq!(store.newest_id_of(home.id).expect("reads"), None);
        assert_eq!(store.newest_id_of(other.id).expect("reads"), Some(Ulid::from(3u128)));
        assert_eq!(store.newest_id().expect("reads"), Some(Ulid::from(7u128)));
    }

    #[test]
    fn a_newest_id_that_cannot_be_decoded_is_set_aside() {
        let store = Store::in_memory().expect("creates");
        let (home, other) = (namespace(&store, 1), namespace_named(&store, "other", 2));
        enqueue(&store, &home, &entry(3, 0, &home));
        enqueue(&store, &other, &entry(7, 0, &other));
        let mut batch = Batch::new();
        batch.put(Column::NewestIds, home.id.to_bytes(), b"garbage".to_vec());
        batch.put(Column::NewestIds, other.id.to_bytes(), b"garbage".to_vec());
        store.kv.write(&batch, Durability::Buffered).expect("writes");
        assert_eq!(store.newest_id_of(home.id).expect("reads"), None);
        assert_eq!(store.unreadable().expect("reads").len(), 1);
        assert_eq!(store.newest_id().expect("reads"), None);
        assert_eq!(store.unreadable().expect("reads").len(), 2);
        enqueue(&store, &other, &entry(8, 0, &other));
        assert_eq!(store.newest_id().expect("reads"), Some(Ulid::from(8u128)));
    }

    #[test]
    fn an_undecodable_newest_id_of_deleted_namespaces_is_replaced_by_the_greatest_other_id() {
        let store = Store::in_memory().expect("creates");
        let (home, other) = (namespace(&store, 1), namespace_named(&store, "other", 2));
        enqueue(&store, &home, &entry(3, 0, &home));
        enqueue(&store, &other, &entry(7, 0, &other));
        let mut batch = Batch::new();
        batch.put(Column::Meta, NEWEST_ID_KEY, b"garbage".to_vec());
        store.kv.write(&batch, Durability::Buffered).expect("writes");
        assert_eq!(store.newest_id().expect("reads"), Some(Ulid::from(7u128)));
        let replaced = store.kv.get(Column::Meta, NEWEST_ID_KEY).expect("reads");
        assert_eq!(replaced, Some(Ulid::from(7u128).to_bytes().to_vec()));
    }

    #[test]
    fn a_namespace_is_removed_although_the_newest_id_of_deleted_namespaces_is_undecodable() {
        let store = Store::in_memory().expect("creates");
        let home = namespace(&store, 1);
        enqueue(&store, &home, &entry(3, 0, &home));
        let mut batch = Batch::new();
        batch.put(Column::Meta, NEWEST_ID_KEY, b"garbage".to_vec());
        store.kv.write(&batch, Durability::Buffered).expect("writes");
        assert!(store.retire_namespace(&home).expect("deletes"));
        for removal in store.pending_removals().expect("reads") {
            store.remove_records(&removal).expect("removes");
        }
        assert_eq!(store.newest_id().expect("reads"), Some(Ulid::from(3u128)));
    }

    #[test]
    fn no_data_of_a_deleted_namespace_reaches_its_successor() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = open(&folder);
        let former = namespace(&store, 1);
        assert!(matches!(enqueue(&store, &former, &body(entry(1, 0, &former), "7")), Enqueued::Accepted(_)));
        let hashes = [[1; 32], [2; 32]];
        let imports = Dedup::Imports(&hashes[..1]);
        try_enqueue(&store, &former, &entry(2, 0, &former), imports, &[]).expect("enqueues");
        assert_eq!(store.imported(&former.key(), &hashes).expect("reads"), [true, false]);
        assert!(store.retire_namespace(&former).expect("deletes"));
        assert!(!store.retire_namespace(&former).expect("is already deleted"));
        let successor = namespace(&store, 2);
        assert_ne!(successor.id, former.id);
        assert_eq!(store.imported(&successor.key(), &hashes).expect("reads"), [false, false]);
        assert!(matches!(enqueue(&store, &successor, &body(entry(3, 0, &successor), "7")), Enqueued::Accepted(_)));
        let late = try_enqueue(&store, &former, &entry(4, 0, &former), Dedup::Off, &[]);
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
        enqueue(&store, &home, &entry(2, 0, &home));
        let mut batch = Batch::new();
        batch.put(Column::Queue, queue_key(&home.account, home.id, message(1)), b"\x01{\"id\":[".to_vec());
        store.kv.write(&batch, Durability::Buffered).expect("writes");
        assert_eq!(entries(&store).len(), 1);
        assert_eq!(store.unreadable().expect("reads").len(), 1);
        assert_eq!(store.for_each_queue_entry(drop).expect("reads"), 0, "is set aside once");
        assert!(store.drop_unreadable(message(1)).expect("drops"));
        assert!(store.unreadable().expect("reads").is_empty());
    }

    #[test]
    fn entries_behind_one_that_cannot_be_decoded_are_found() {
        let store = Store::in_memory().expect("creates");
        let (home, other) = (namespace(&store, 1), namespace_named(&store, "other", 2));
        enqueue(&store, &home, &entry(2, 0, &home));
        for (home, id) in [(&home, 1), (&other, 3)] {
            let mut batch = Batch::new();
            batch.put(Column::Queue, queue_key(&home.account, home.id, message(id)), b"not an entry".to_vec());
            store.kv.write(&batch, Durability::Buffered).expect("writes");
        }
        let queued = store.queued_namespaces().expect("reads");
        assert_eq!(queued, [QueuedNamespace { namespace: home.key(), oldest: message(2) }]);
        let entries = store.queued_entries(&home.key()).expect("reads");
        assert_eq!(entries.entries.len(), 1);
        assert_eq!(entries.unreadable, [message(1)]);
    }

    #[test]
    fn a_namespace_is_removed_while_an_entry_of_another_account_cannot_be_decoded() {
        let store = Store::in_memory().expect("creates");
        let home = namespace(&store, 1);
        enqueue(&store, &home, &entry(2, 0, &home));
        let stranger = AccountId::new("stranger").expect("is valid");
        let foreign = queue_key(&stranger, NamespaceId::new(Ulid::from(3u128)), message(1));
        let mut batch = Batch::new();
        batch.put(Column::Queue, foreign.clone(), b"not an entry".to_vec());
        store.kv.write(&batch, Durability::Buffered).expect("writes");
        assert!(store.retire_namespace(&home).expect("deletes"));
        for removal in store.pending_removals().expect("lists") {
            store.remove_records(&removal).expect("removes");
        }
        assert!(!store.is_queued(&home.key(), message(2)).expect("reads"));
        assert!(store.kv.get(Column::Queue, &foreign).expect("reads").is_some(), "the removal does not concern it");
    }

    #[test]
    fn of_two_concurrent_identical_bodies_one_is_accepted() {
        let store = Store::in_memory().expect("creates");
        let home = namespace(&store, 1);
        let usage = UsageRecord { total: 1, ..UsageRecord::new(&home.account, Meter::Writes) };
        let mut late = store.batch();
        let late_entry = body(entry(2, 0, &home), "7");
        assert_eq!(late.enqueue(&late_entry, BODY, &[]).expect("enqueues"), Enqueued::Accepted(message(2)));
        late.charge(&usage).expect("encodes");
        assert_eq!(enqueue(&store, &home, &body(entry(1, 0, &home), "7")), Enqueued::Accepted(message(1)));
        let failed = store.commit(late);
        assert!(matches!(failed, Err(Error::ConditionFailed { column: Column::Fingerprints, .. })), "{failed:?}");
        assert_eq!(store.usage(&home.account, Meter::Writes).expect("reads"), None);
        assert_eq!(enqueue(&store, &home, &late_entry), Enqueued::Duplicate(message(1)));
        assert_eq!(entries(&store).len(), 1);
    }

    #[test]
    fn a_revived_letter_is_neither_revived_nor_dropped_again() {
        let store = Store::in_memory().expect("creates");
        let home = namespace(&store, 1);
        enqueue(&store, &home, &entry(1, 0, &home));
        let letter = DeadLetter::of(&entry(1, 0, &home), 10, 10, "no".into());
        assert!(store.bury(&letter, &entry(1, 0, &home)).expect("buries"));
        assert!(!store.record_failure(&entry(1, 0, &home)).expect("is buried"));
        assert!(store.revive(&home.account, message(1), 10).expect("revives").is_some());
        assert!(store.revive(&home.account, message(1), 10).expect("is revived").is_none());
        assert!(!store.drop_dead_letter(&home.account, message(1)).expect("is revived"));
        assert!(store.is_queued(&home.key(), message(1)).expect("reads"));
        assert!(store.retire_namespace(&home).expect("deletes"));
        assert!(!store.bury(&letter, &entry(1, 0, &home)).expect("its namespace is deleted"));
    }

    #[test]
    fn entries_survive_reopening_until_they_are_buried_or_dropped() {
        let folder = tempfile::tempdir().expect("temporary directory");
        {
            let store = open(&folder);
            let home = namespace(&store, 1);
            enqueue(&store, &home, &body(entry(1, 5, &home), "1"));
            enqueue(&store, &home, &body(entry(2, 6, &home), "2"));
        }
        let store = open(&folder);
        let home = namespace(&store, 1);
        let queued = entries(&store);
        assert_eq!(queued.len(), 2);
        let letter = DeadLetter::of(&queued[0], 10, 10, "no".into());
        assert!(store.bury(&letter, &queued[0]).expect("buries"));
        assert!(!store.bury(&letter, &queued[0]).expect("is already buried"));
        store.drop_entry(&home.key(), message(2)).expect("drops");
        assert!(entries(&store).is_empty());
        let page = store.dead_letters(&AccountId::default(), None, 10).expect("reads");
        assert_eq!(page.len(), 1);
        assert_eq!(store.newest_id().expect("reads"), Some(Ulid::from(2u128)));
        let again = body(entry(3, 7, &home), "1");
        assert!(matches!(enqueue(&store, &home, &again), Enqueued::Accepted(_)), "a buried body is accepted again");
        let revived = store.revive(&AccountId::default(), message(1), 10).expect("revives").expect("a letter");
        assert_eq!(revived.work, queued[0].work);
        assert!(store.dead_letters(&AccountId::default(), None, 10).expect("reads").is_empty());
        assert!(!store.drop_dead_letter(&AccountId::default(), message(1)).expect("drops"));
        store.bury(&letter, &revived).expect("buries");
        store.purge_dead_letters(11).expect("purges");
        assert!(store.dead_letters(&AccountId::default(), None, 10).expect("reads").is_empty());
    }
}
