//! What becomes of accepted writes: a record for each accepted write, and its outcome once the write is finished.
//!
//! The batch that accepts a write adds its record. The batch that removes an ingested write from the queue adds its
//! outcome, so both survive a crash together. In between, the queue entry or the dead letter has the state of the
//! write; no state is stored twice. Records are keyed by account, because a caller knows only the id of a write.
//! Outcomes hold paths, so they are keyed by namespace and deleted with it.

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::namespaces::key;
use super::queue_entry::QueueEntry;
use super::sender::WriteSender;
use super::store::{Store, decode, encode};
use crate::error::{Error, Result};
use crate::identity::{AccountId, MessageId, NamespaceId, NamespaceName};
use crate::key_value::columns::prefixed_key;
use crate::key_value::{Batch, Column, Durability};

/// Length of an id at the end of a key, in bytes.
const ID_BYTES: usize = size_of::<MessageId>();
/// Records that one batch of a purge deletes.
const PAGE_ENTRIES: usize = 1000;

/// An accepted write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteRecord {
    /// The id of the write.
    pub id: MessageId,
    /// The namespace to write to.
    pub namespace: NamespaceName,
    /// The id of the namespace.
    pub namespace_id: NamespaceId,
    /// Time of acceptance, milliseconds since the epoch.
    pub accepted_at_ms: i64,
    /// Who sent the write. `None` for a write of the server itself, and if an older version accepted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<WriteSender>,
}

/// How a write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteEnd {
    /// It was ingested.
    Ingested,
    /// Its dead letter was dropped.
    Dropped,
}

/// A message of a conversation, or a part of one, that became no memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedMessage {
    /// Index of the message. `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<u64>,
    /// Why it became no memory.
    pub reason: String,
}

/// What a write changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WriteChanges {
    /// Paths of new files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<String>,
    /// Paths of existing files with a new text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rewritten: Vec<String>,
    /// Paths of existing memories that already said the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<String>,
    /// Paths of existing memories that are no longer valid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<String>,
    /// Paths of memories that the user asked to forget.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forgotten: Vec<String>,
    /// Messages that became no memory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedMessage>,
}

/// The outcome of a finished write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteOutcome {
    /// How the write ended.
    pub end: WriteEnd,
    /// Number of attempts, including the last one.
    pub attempts: u32,
    /// Time at which the write ended, milliseconds since the epoch.
    pub finished_at_ms: i64,
    /// Error code of the last failure of a dropped write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the write changed.
    #[serde(default)]
    pub changes: WriteChanges,
}

impl WriteOutcome {
    /// The outcome of an ingested entry.
    pub(super) fn ingested(entry: &QueueEntry, changes: &WriteChanges, finished_at_ms: i64) -> Self {
        Self {
            end: WriteEnd::Ingested,
            attempts: entry.failures.saturating_add(1),
            finished_at_ms,
            error: None,
            changes: changes.clone(),
        }
    }
}

impl Store {
    /// Returns the record of a write. `None` if the account has none with this id.
    pub fn write_record(&self, account: &AccountId, id: MessageId) -> Result<Option<WriteRecord>> {
        self.get_record(Column::Writes, &record_key(account, id))
    }

    /// Returns up to `limit` writes of an account that are older than `before`, newest first. There are fewer only if
    /// there are no older ones. Records that cannot be decoded are set aside.
    pub fn write_records(
        &self,
        account: &AccountId,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<WriteRecord>> {
        let prefix = prefixed_key(&[account.as_str()], &[]);
        let mut before = before.map(|id| record_key(account, id));
        let mut records = Vec::new();
        while records.len() < limit {
            let missing = limit - records.len();
            let page = self.kv.scan_back(Column::Writes, &prefix, before.as_deref(), missing)?;
            let is_last = page.len() < missing;
            for (key, bytes) in page {
                match decode(Column::Writes, &bytes) {
                    Ok(record) => records.push(record),
                    Err(error) => self.set_record_aside(&key, &error),
                }
                before = Some(key);
            }
            if is_last {
                break;
            }
        }
        Ok(records)
    }

    /// Sets aside the record of a write that cannot be decoded. A disk that refuses this does not refuse the list.
    fn set_record_aside(&self, key: &[u8], error: &Error) {
        tracing::error!(%error, "cannot decode the record of a write; `cuebase dead-letters list` shows it");
        if let Err(error) = self.set_aside(Column::Writes, key) {
            tracing::warn!(%error, "the record of a write could not be set aside; the next list tries again");
        }
    }

    /// Adds the record of a write to a batch, if an earlier version accepted the write and it has none.
    pub(super) fn put_missing_record(&self, batch: &mut Batch, entry: &QueueEntry) -> Result<()> {
        if self.kv.get(Column::Writes, &record_key(&entry.account, entry.id))?.is_none() {
            put_record(batch, entry)?;
        }
        Ok(())
    }

    /// Deletes the records and outcomes of writes that were accepted before a time in milliseconds since the epoch, by
    /// the time in their ids. Returns the number of records deleted. Needs no condition, on any node: only the id in the
    /// key decides, and a record that another node writes under that id meanwhile is past its retention as well.
    pub fn purge_writes(&self, accepted_before_ms: i64) -> Result<usize> {
        let first_kept = MessageId::from(Ulid::from_parts(accepted_before_ms.max(0).unsigned_abs(), 0));
        self.purge_older(Column::WriteOutcomes, first_kept)?;
        self.purge_older(Column::Writes, first_kept)
    }

    /// Deletes the records of a column with smaller ids than `first_kept`. Keys end with an id, and ids ascend within
    /// the keys of one account or namespace, so only records to delete and the first other one of each are read.
    fn purge_older(&self, column: Column, first_kept: MessageId) -> Result<usize> {
        let mut deleted = 0;
        let mut after: Option<Vec<u8>> = None;
        let mut limit = 1;
        loop {
            let page = self.kv.scan(column, b"", after.as_deref(), limit)?;
            if page.is_empty() {
                return Ok(deleted);
            }
            let mut batch = Batch::new();
            limit = PAGE_ENTRIES;
            for (key, _) in page {
                let (owner, id) = key.split_at(key.len().saturating_sub(ID_BYTES));
                if id >= first_kept.to_bytes().as_slice() {
                    // No id is greater than this one, so the next page begins with another account or namespace.
                    after = Some([owner, &[u8::MAX; ID_BYTES]].concat());
                    limit = 1;
                    break;
                }
                after = Some(key.clone());
                batch.delete(column, key);
                deleted += 1;
            }
            self.kv.write(&batch, Durability::Buffered)?;
        }
    }
}

/// Adds the record of an accepted write to a batch.
pub(super) fn put_record(batch: &mut Batch, entry: &QueueEntry) -> Result<()> {
    let record = WriteRecord {
        id: entry.id,
        namespace: entry.namespace.clone(),
        namespace_id: entry.namespace_id,
        accepted_at_ms: entry.accepted_at_ms,
        sender: entry.sender.clone(),
    };
    batch.put(Column::Writes, record_key(&entry.account, entry.id), encode(&record)?);
    Ok(())
}

/// Adds the outcome of a finished write to a batch.
pub(super) fn put_outcome(
    batch: &mut Batch,
    namespace: NamespaceId,
    id: MessageId,
    outcome: &WriteOutcome,
) -> Result<()> {
    batch.put(Column::WriteOutcomes, outcome_key(namespace, id), encode(outcome)?);
    Ok(())
}

fn record_key(account: &AccountId, id: MessageId) -> Vec<u8> {
    prefixed_key(&[account.as_str()], &id.to_bytes())
}

pub(super) fn outcome_key(namespace: NamespaceId, id: MessageId) -> Vec<u8> {
    key(namespace, &id.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{
        Acknowledgement, DeadLetter, Dedup, IngestedEntry, NamespaceRecord, QueuedWork, WriteProgress,
    };

    fn message(ms: u64, number: u128) -> MessageId {
        MessageId::from(Ulid::from_parts(ms, number))
    }

    fn namespace(store: &Store, account: &str, id: u128) -> NamespaceRecord {
        let account = AccountId::new(account).expect("is valid");
        let id = NamespaceId::new(Ulid::from(id));
        let wanted = NamespaceRecord::new(&account, &NamespaceName::default(), id, 0);
        store.create_namespace(&wanted).expect("creates").0
    }

    /// Accepts a write to a namespace.
    fn accept(store: &Store, home: &NamespaceRecord, id: MessageId) -> QueueEntry {
        let entry = QueueEntry {
            id,
            account: home.account.clone(),
            namespace: home.name.clone(),
            namespace_id: home.id,
            accepted_at_ms: 7,
            accepted_running_ms: 0,
            failures: 0,
            fingerprint: None,
            sender: Some(WriteSender::Key { id: "5ec2e7".into() }),
            work: QueuedWork::Forget { paths: Vec::new() },
        };
        let mut batch = store.batch();
        batch.enqueue(&entry, Dedup::Off, &[]).expect("enqueues");
        store.commit(batch).expect("accepts");
        entry
    }

    fn acknowledge(store: &Store, home: &NamespaceRecord, entry: &QueueEntry, changes: &WriteChanges) {
        let ingested = [IngestedEntry {
            entry: entry.clone(),
            paths: Vec::new(),
            source: None,
            changes: changes.clone(),
            finished_at_ms: 9,
        }];
        let done = Acknowledgement { ingested: &ingested, ..Acknowledgement::new(home) };
        store.acknowledge(&done).expect("acknowledges");
    }

    fn progress(store: &Store, home: &NamespaceRecord, id: MessageId) -> WriteProgress {
        let record = store.write_record(&home.account, id).expect("reads").expect("a record");
        store.write_progress(&home.account, &record).expect("reads")
    }

    #[test]
    fn a_write_is_queued_then_ingested_with_what_it_changed() {
        let store = Store::in_memory().expect("creates");
        let home = namespace(&store, "a", 1);
        let mut entry = accept(&store, &home, message(1, 1));
        assert_eq!(progress(&store, &home, entry.id), WriteProgress::Queued { failures: 0 });
        entry.failures = 2;
        assert!(store.record_failure(&entry).expect("records"));
        assert_eq!(progress(&store, &home, entry.id), WriteProgress::Queued { failures: 2 });
        let dropped = vec![DroppedMessage { message: Some(3), reason: "small_talk".into() }];
        let changes = WriteChanges { made: vec!["facts/a.md".into()], dropped, ..WriteChanges::default() };
        let accepted = store.write_record(&home.account, entry.id).expect("reads");
        let stored = QueueEntry { sender: None, ..entry.clone() };
        acknowledge(&store, &home, &stored, &changes);
        assert_eq!(store.write_record(&home.account, entry.id).expect("reads"), accepted, "the sender stays");
        let outcome = WriteOutcome { end: WriteEnd::Ingested, attempts: 3, finished_at_ms: 9, error: None, changes };
        assert_eq!(progress(&store, &home, entry.id), WriteProgress::Finished(outcome));
        let other = AccountId::new("b").expect("is valid");
        assert_eq!(store.write_record(&other, entry.id).expect("reads"), None);
    }

    #[test]
    fn the_writes_of_an_account_are_listed_newest_first_with_their_senders() {
        let store = Store::in_memory().expect("creates");
        let homes = [namespace(&store, "a", 1), namespace(&store, "ab", 2)];
        for ms in 1..=3 {
            accept(&store, &homes[0], message(ms, 1));
            accept(&store, &homes[1], message(ms, 2));
        }
        let page = store.write_records(&homes[0].account, None, 2).expect("reads");
        assert_eq!(page.iter().map(|write| write.id).collect::<Vec<_>>(), [message(3, 1), message(2, 1)]);
        let rest = store.write_records(&homes[0].account, Some(page[1].id), 2).expect("reads");
        assert_eq!(rest.iter().map(|write| write.id).collect::<Vec<_>>(), [message(1, 1)]);
        assert_eq!(rest[0].sender, Some(WriteSender::Key { id: "5ec2e7".into() }));
    }

    #[test]
    fn a_dead_letter_is_dead_until_it_is_retried_or_dropped() {
        let store = Store::in_memory().expect("creates");
        let home = namespace(&store, "a", 1);
        let entry = QueueEntry { failures: 4, ..accept(&store, &home, message(1, 1)) };
        let letter = DeadLetter { error: Some("internal".into()), ..DeadLetter::of(&entry, 8, 8, "no".into()) };
        assert!(store.bury(&letter, &entry).expect("buries"));
        assert_eq!(progress(&store, &home, entry.id), WriteProgress::Dead(Box::new(letter.clone())));
        let revived = store.revive(&home.account, entry.id, 9).expect("reads").expect("revives");
        assert_eq!(progress(&store, &home, entry.id), WriteProgress::Queued { failures: 0 });
        assert!(store.bury(&letter, &revived).expect("buries"));
        assert!(store.drop_dead_letter(&home.account, entry.id).expect("drops"));
        let outcome = WriteOutcome {
            end: WriteEnd::Dropped,
            attempts: 4,
            finished_at_ms: 8,
            error: Some("internal".into()),
            changes: WriteChanges::default(),
        };
        assert_eq!(progress(&store, &home, entry.id), WriteProgress::Finished(outcome));
    }

    #[test]
    fn a_deleted_namespace_leaves_no_outcome() {
        let store = Store::in_memory().expect("creates");
        let home = namespace(&store, "a", 1);
        let entry = accept(&store, &home, message(1, 1));
        let changes = WriteChanges { made: vec!["facts/a.md".into()], ..WriteChanges::default() };
        acknowledge(&store, &home, &entry, &changes);
        assert!(store.retire_namespace(&home).expect("deletes"));
        assert_eq!(progress(&store, &home, entry.id), WriteProgress::NamespaceGone);
        for removal in store.pending_removals().expect("reads") {
            store.remove_records(&removal).expect("removes");
        }
        assert!(store.kv.scan(Column::WriteOutcomes, b"", None, 1).expect("reads").is_empty());
        assert_eq!(progress(&store, &home, entry.id), WriteProgress::NamespaceGone);
    }

    #[test]
    fn an_entry_that_was_set_aside_is_unreadable() {
        let store = Store::in_memory().expect("creates");
        let home = namespace(&store, "a", 1);
        let entry = accept(&store, &home, message(1, 1));
        store.set_entry_aside(&home.key(), entry.id).expect("sets aside");
        assert_eq!(progress(&store, &home, entry.id), WriteProgress::Unreadable);
    }

    /// Stores bytes that cannot be decoded.
    fn damage(store: &Store, column: Column, key: Vec<u8>) {
        let mut batch = Batch::new();
        batch.put(column, key, b"garbage".to_vec());
        store.kv.write(&batch, Durability::Buffered).expect("writes");
    }

    #[test]
    fn a_record_that_cannot_be_decoded_does_not_hide_older_writes() {
        let store = Store::in_memory().expect("creates");
        let home = namespace(&store, "a", 1);
        for ms in 1..=4 {
            accept(&store, &home, message(ms, 1));
        }
        damage(&store, Column::Writes, record_key(&home.account, message(3, 1)));
        let page = store.write_records(&home.account, None, 2).expect("reads");
        assert_eq!(page.iter().map(|write| write.id).collect::<Vec<_>>(), [message(4, 1), message(2, 1)]);
        let all = store.write_records(&home.account, None, 10).expect("reads");
        assert_eq!(all.len(), 3);
        let set_aside = store.unreadable().expect("reads");
        assert_eq!(set_aside.iter().map(|record| record.id).collect::<Vec<_>>(), [Some(message(3, 1))]);
    }

    #[test]
    fn a_write_whose_outcome_cannot_be_decoded_is_unreadable() {
        let store = Store::in_memory().expect("creates");
        let home = namespace(&store, "a", 1);
        let entry = accept(&store, &home, message(1, 1));
        damage(&store, Column::WriteOutcomes, outcome_key(home.id, entry.id));
        assert_eq!(progress(&store, &home, entry.id), WriteProgress::Unreadable);
    }

    #[test]
    fn a_purge_deletes_the_old_writes_of_every_account() {
        let store = Store::in_memory().expect("creates");
        let homes = [namespace(&store, "a", 1), namespace(&store, "b", 2), namespace(&store, "c", 3)];
        let mut kept = Vec::new();
        for (number, home) in homes.iter().enumerate() {
            for ms in 1..=3 {
                let entry = accept(&store, home, message(ms, number as u128));
                acknowledge(&store, home, &entry, &WriteChanges::default());
                if ms == 3 {
                    kept.push(entry.id);
                }
            }
        }
        assert_eq!(store.purge_writes(3).expect("purges"), 6);
        assert_eq!(store.purge_writes(3).expect("purges"), 0);
        for column in [Column::Writes, Column::WriteOutcomes] {
            let mut ids = Vec::new();
            for (key, _) in store.kv.scan(column, b"", None, 10).expect("reads") {
                ids.push(MessageId::from_bytes(*key.last_chunk().expect("an id")));
            }
            assert_eq!(ids, kept, "{}", column.name());
        }
    }
}
