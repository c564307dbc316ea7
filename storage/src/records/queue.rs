//! The queue of accepted writes, its dead letters and the memory of identical bodies.
//!
//! An entry is synced before the client hears `202`. It leaves in one of three ways, each one batch: done (with the
//! namespace's new head), dead (into the dead letters), or dropped after its retention.

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::namespaces;
use super::{NamespaceRecord, Store, decode, encode};
use crate::error::{Error, Result};
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
    /// When it was accepted, milliseconds since the epoch.
    pub accepted_at_ms: i64,
    /// How often it was tried and failed.
    pub failures: u32,
    /// What to do.
    pub work: QueuedWork,
}

/// A write that failed for good, kept for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The write.
    pub entry: QueueEntry,
    /// When it died, milliseconds since the epoch.
    pub died_at_ms: i64,
    /// The last failure, in words.
    pub reason: String,
}

/// The outcome of an enqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// A new entry, now durable.
    Accepted(Ulid),
    /// The same body was accepted a short while ago, under this id.
    Duplicate(Ulid),
}

#[derive(Serialize, Deserialize)]
struct Fingerprint {
    id: Ulid,
    at_ms: i64,
}

impl Store {
    /// Accepts a write durably, unless the same fingerprint was accepted less than `window_ms` before.
    ///
    /// Callers serialise calls with the same fingerprint; the service holds one lock around this.
    pub fn enqueue(&self, entry: &QueueEntry, fingerprint: [u8; 32], window_ms: i64) -> Result<Enqueued> {
        if let Some(bytes) = self.kv.get(Column::Deduplication, &fingerprint)? {
            let seen: Fingerprint = decode(Column::Deduplication, &bytes)?;
            if (0..window_ms).contains(&(entry.accepted_at_ms - seen.at_ms)) {
                return Ok(Enqueued::Duplicate(seen.id));
            }
        }
        let mut batch = Batch::new();
        batch.put(Column::Queue, entry.id.to_bytes(), encode(entry)?);
        let seen = Fingerprint { id: entry.id, at_ms: entry.accepted_at_ms };
        batch.put(Column::Deduplication, fingerprint, encode(&seen)?);
        self.kv.write(batch, Durability::Synced)?;
        Ok(Enqueued::Accepted(entry.id))
    }

    /// Every entry, oldest first.
    pub fn queue_entries(&self) -> Result<Vec<QueueEntry>> {
        let entries = self.kv.scan(Column::Queue, b"", None, usize::MAX)?;
        entries.iter().map(|(_, value)| decode(Column::Queue, value)).collect()
    }

    /// One entry.
    pub fn queue_entry(&self, id: Ulid) -> Result<Option<QueueEntry>> {
        let found = self.kv.get(Column::Queue, &id.to_bytes())?;
        found.map(|bytes| decode(Column::Queue, &bytes)).transpose()
    }

    /// An entry is ingested: it leaves the queue as the namespace's head moves.
    ///
    /// Buffered: after a loss of power the entry is back and the head behind, and ingestion finds its own commit in git.
    pub fn acknowledge(&self, id: Ulid, namespace: &NamespaceRecord) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete(Column::Queue, id.to_bytes());
        namespaces::put(&mut batch, namespace)?;
        self.kv.write(batch, Durability::Buffered)
    }

    /// Notes a failed try.
    pub fn note_failure(&self, entry: &QueueEntry) -> Result<()> {
        let mut batch = Batch::new();
        batch.put(Column::Queue, entry.id.to_bytes(), encode(entry)?);
        self.kv.write(batch, Durability::Buffered)
    }

    /// Moves an entry to the dead letters.
    pub fn bury(&self, letter: &DeadLetter) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete(Column::Queue, letter.entry.id.to_bytes());
        batch.put(Column::DeadLetters, letter.entry.id.to_bytes(), encode(letter)?);
        self.kv.write(batch, Durability::Synced)
    }

    /// Drops an entry whose retention is over.
    pub fn drop_entry(&self, id: Ulid) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete(Column::Queue, id.to_bytes());
        self.kv.write(batch, Durability::Synced)
    }

    /// Every dead letter, oldest first.
    pub fn dead_letters(&self) -> Result<Vec<DeadLetter>> {
        let entries = self.kv.scan(Column::DeadLetters, b"", None, usize::MAX)?;
        entries.iter().map(|(_, value)| decode(Column::DeadLetters, value)).collect()
    }

    /// Puts a dead letter back into the queue, its failures forgotten; none when there is no such letter.
    pub fn revive(&self, id: Ulid) -> Result<Option<QueueEntry>> {
        let Some(bytes) = self.kv.get(Column::DeadLetters, &id.to_bytes())? else { return Ok(None) };
        let letter: DeadLetter = decode(Column::DeadLetters, &bytes)?;
        let entry = QueueEntry { failures: 0, ..letter.entry };
        let mut batch = Batch::new();
        batch.delete(Column::DeadLetters, id.to_bytes());
        batch.put(Column::Queue, id.to_bytes(), encode(&entry)?);
        self.kv.write(batch, Durability::Synced)?;
        Ok(Some(entry))
    }

    /// Forgets a dead letter; false when there is none.
    pub fn drop_dead_letter(&self, id: Ulid) -> Result<bool> {
        if self.kv.get(Column::DeadLetters, &id.to_bytes())?.is_none() {
            return Ok(false);
        }
        let mut batch = Batch::new();
        batch.delete(Column::DeadLetters, id.to_bytes());
        self.kv.write(batch, Durability::Synced)?;
        Ok(true)
    }

    /// Forgets dead letters that died, and fingerprints that were seen, before the given times. Returns how many went.
    pub fn purge(&self, dead_before_ms: i64, seen_before_ms: i64) -> Result<usize> {
        let mut batch = Batch::new();
        let mut gone = 0;
        for letter in self.dead_letters()?.iter().filter(|letter| letter.died_at_ms < dead_before_ms) {
            batch.delete(Column::DeadLetters, letter.entry.id.to_bytes());
            gone += 1;
        }
        for (key, value) in self.kv.scan(Column::Deduplication, b"", None, usize::MAX)? {
            if decode::<Fingerprint>(Column::Deduplication, &value)?.at_ms < seen_before_ms {
                batch.delete(Column::Deduplication, key);
                gone += 1;
            }
        }
        self.kv.write(batch, Durability::Buffered)?;
        Ok(gone)
    }

    /// The greatest message id ever seen in the queue or the dead letters, so that new ids sort after it.
    pub fn newest_message_id(&self) -> Result<Option<Ulid>> {
        let mut newest = None;
        for column in [Column::Queue, Column::DeadLetters] {
            for (key, _) in self.kv.scan(column, b"", None, usize::MAX)? {
                let bytes = key.try_into().map_err(|_| Error::corrupt(column.name(), "key is not 16 bytes"))?;
                newest = newest.max(Some(Ulid::from_bytes(bytes)));
            }
        }
        Ok(newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: u128, at_ms: i64) -> QueueEntry {
        QueueEntry {
            id: Ulid::from(id),
            account: "default".into(),
            namespace: "default".into(),
            accepted_at_ms: at_ms,
            failures: 0,
            work: QueuedWork::Conversation { request: serde_json::json!({"messages": []}) },
        }
    }

    #[test]
    fn an_identical_body_is_taken_once_within_the_window_and_again_after_it() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = Store::open(folder.path()).expect("opens");
        let print = [7; 32];
        assert_eq!(store.enqueue(&entry(1, 0), print, 300), Ok2(Enqueued::Accepted(Ulid::from(1))));
        assert_eq!(store.enqueue(&entry(2, 299), print, 300), Ok2(Enqueued::Duplicate(Ulid::from(1))));
        assert_eq!(store.enqueue(&entry(3, 300), print, 300), Ok2(Enqueued::Accepted(Ulid::from(3))));
        let ids: Vec<u128> = store.queue_entries().expect("reads").iter().map(|e| e.id.into()).collect();
        assert_eq!(ids, [1, 3]);
    }

    #[test]
    fn entries_survive_reopening_and_end_in_the_dead_letters_or_nowhere() {
        let folder = tempfile::tempdir().expect("temporary directory");
        {
            let store = Store::open(folder.path()).expect("opens");
            store.enqueue(&entry(1, 5), [1; 32], 300).expect("enqueues");
            store.enqueue(&entry(2, 6), [2; 32], 300).expect("enqueues");
        }
        let store = Store::open(folder.path()).expect("opens again");
        assert_eq!(store.queue_entries().expect("reads"), [entry(1, 5), entry(2, 6)]);
        store.bury(&DeadLetter { entry: entry(1, 5), died_at_ms: 10, reason: "no".into() }).expect("buries");
        store.drop_entry(Ulid::from(2)).expect("drops");
        assert!(store.queue_entries().expect("reads").is_empty());
        assert_eq!(store.dead_letters().expect("reads").len(), 1);
        assert_eq!(store.newest_message_id().expect("reads"), Some(Ulid::from(1)));
        let revived = store.revive(Ulid::from(1)).expect("revives").expect("was there");
        assert_eq!(store.queue_entries().expect("reads"), std::slice::from_ref(&revived));
        assert!(store.dead_letters().expect("reads").is_empty());
        assert!(!store.drop_dead_letter(Ulid::from(1)).expect("drops"));
        store.bury(&DeadLetter { entry: revived, died_at_ms: 10, reason: "no".into() }).expect("buries");
        store.purge(11, 0).expect("purges");
        assert!(store.dead_letters().expect("reads").is_empty());
    }

    /// Lets `assert_eq!` compare results whose error has no equality.
    #[derive(Debug)]
    struct Ok2(Enqueued);

    impl PartialEq<Ok2> for Result<Enqueued> {
        fn eq(&self, other: &Ok2) -> bool {
            self.as_ref().is_ok_and(|found| *found == other.0)
        }
    }
}
