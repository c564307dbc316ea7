//! The queue of accepted writes, its dead letters and the memory of identical bodies.
//!
//! An entry is synced before the client hears `202`. It leaves in one of three ways, each one batch: done (with the
//! namespace's new head), dead (into the dead letters), or dropped after its retention.

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::{NamespaceRecord, Store, TermChange, UsageRecord, decode, encode, namespaces, usage};
use crate::error::{Error, Result};
use crate::key_value::columns::{below, prefix};
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
        }
    }

    /// Which former bodies may come again once this was accepted: `teach A, teach B, teach A` must end with A.
    fn voids(&self) -> Voids {
        match self {
            Self::Conversation { .. } => Voids::Nothing,
            Self::Teach { .. } | Self::Skills { .. } => Voids::ItsKind,
            Self::Forget { .. } | Self::ForgetTerms { .. } => Voids::Everything,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Voids {
    Nothing,
    ItsKind,
    Everything,
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
    /// A new entry.
    Accepted(Ulid),
    /// The same body was accepted a short while ago, under this id.
    Duplicate(Ulid),
}

/// By what a write is known when it comes again.
#[derive(Clone, Copy, Debug)]
pub enum KnownBy<'a> {
    /// By nothing: every one is new.
    Nothing,
    /// By its body, unless something has undone it since.
    Body {
        /// SHA-256 of it.
        hash: [u8; 32],
        /// For so long.
        window_ms: i64,
    },
    /// By each message from elsewhere that it brings, for as long as the namespace is there.
    Imports(&'a [[u8; 32]]),
}

#[derive(Serialize, Deserialize)]
struct Fingerprint {
    id: Ulid,
    at_ms: i64,
}

impl Store {
    /// Accepts a write, unless the same body was accepted for the same kind of work a short while before and nothing since
    /// has undone it. A meter counts with it, or not at all. Whether new or not, it is durable once [`Store::sync`] has
    /// returned.
    ///
    /// Callers serialise calls; the service holds one lock around this.
    pub fn enqueue(&self, entry: &QueueEntry, known_by: KnownBy<'_>, usage: Option<&UsageRecord>) -> Result<Enqueued> {
        let QueueEntry { account, namespace, work, .. } = entry;
        let kind = prefix(&[account, namespace, work.kind()]);
        let (print, window_ms, imports): (_, _, &[_]) = match known_by {
            KnownBy::Nothing => (None, 0, &[]),
            KnownBy::Body { hash, window_ms } => (Some([kind.as_slice(), &hash].concat()), window_ms, &[]),
            KnownBy::Imports(marks) => (None, 0, marks),
        };
        if let Some(print) = &print
            && let Some(bytes) = self.kv.get(Column::Deduplication, print)?
        {
            let seen: Fingerprint = decode(Column::Deduplication, &bytes)?;
            if (0..window_ms).contains(&(entry.accepted_at_ms - seen.at_ms)) {
                return Ok(Enqueued::Duplicate(seen.id));
            }
        }
        let mut batch = Batch::new();
        let voided = match work.voids() {
            Voids::Nothing => None,
            Voids::ItsKind => Some(kind),
            Voids::Everything => Some(prefix(&[account, namespace])),
        };
        if let Some(voided) = voided {
            for (key, _) in self.kv.scan(Column::Deduplication, &voided, None, usize::MAX)? {
                batch.delete(Column::Deduplication, key);
            }
        }
        batch.put(Column::Queue, entry.id.to_bytes(), encode(entry)?);
        if let Some(print) = print {
            let seen = Fingerprint { id: entry.id, at_ms: entry.accepted_at_ms };
            batch.put(Column::Deduplication, print, encode(&seen)?);
        }
        for mark in imports {
            batch.put(Column::Imports, below(&[account, namespace], mark), encode(&entry.id)?);
        }
        if let Some(usage) = usage {
            usage::put(&mut batch, usage)?;
        }
        self.kv.write(&batch, Durability::Buffered)?;
        Ok(Enqueued::Accepted(entry.id))
    }

    /// Which messages from elsewhere were imported into a namespace before, in the same order.
    pub fn imported(&self, account: &str, namespace: &str, marks: &[[u8; 32]]) -> Result<Vec<bool>> {
        let known = |mark: &[u8; 32]| Ok(self.kv.get(Column::Imports, &below(&[account, namespace], mark))?.is_some());
        marks.iter().map(known).collect()
    }

    /// Comes by every entry, oldest first, one in memory at a time: there may be a million.
    pub fn each_queue_entry(&self, mut visit: impl FnMut(QueueEntry)) -> Result<()> {
        let mut unreadable = None;
        self.kv.read_all(Column::Queue, |_, value| match decode(Column::Queue, value) {
            Ok(entry) => visit(entry),
            Err(error) => unreadable = Some(error),
        })?;
        unreadable.map_or(Ok(()), Err)
    }

    /// One entry.
    pub fn queue_entry(&self, id: Ulid) -> Result<Option<QueueEntry>> {
        let found = self.kv.get(Column::Queue, &id.to_bytes())?;
        found.map(|bytes| decode(Column::Queue, &bytes)).transpose()
    }

    /// Writes are in: the entries of those that came through the queue leave as the namespace's head and vocabulary move.
    ///
    /// Buffered: after a loss of power the entry is back and the head behind, and ingestion finds its own commit in git.
    pub fn acknowledge(&self, ids: &[Ulid], namespace: &NamespaceRecord, terms: &[TermChange]) -> Result<()> {
        let mut batch = Batch::new();
        for id in ids {
            batch.delete(Column::Queue, id.to_bytes());
        }
        self.change_terms(&mut batch, namespace, terms)?;
        namespaces::put(&mut batch, namespace)?;
        self.kv.write(&batch, Durability::Buffered)
    }

    /// Notes a failed try.
    pub fn note_failure(&self, entry: &QueueEntry) -> Result<()> {
        let mut batch = Batch::new();
        batch.put(Column::Queue, entry.id.to_bytes(), encode(entry)?);
        self.kv.write(&batch, Durability::Buffered)
    }

    /// Moves an entry to the dead letters.
    pub fn bury(&self, letter: &DeadLetter) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete(Column::Queue, letter.entry.id.to_bytes());
        batch.put(Column::DeadLetters, letter.entry.id.to_bytes(), encode(letter)?);
        self.kv.write(&batch, Durability::Synced)
    }

    /// Drops an entry whose retention is over.
    pub fn drop_entry(&self, id: Ulid) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete(Column::Queue, id.to_bytes());
        self.kv.write(&batch, Durability::Synced)
    }

    /// Every dead letter, oldest first.
    pub fn dead_letters(&self) -> Result<Vec<DeadLetter>> {
        let entries = self.kv.scan(Column::DeadLetters, b"", None, usize::MAX)?;
        entries.iter().map(|(_, value)| decode(Column::DeadLetters, value)).collect()
    }

    /// How many dead letters there are.
    pub fn dead_letter_count(&self) -> Result<u64> {
        let mut count = 0;
        self.kv.read_all(Column::DeadLetters, |_, _| count += 1)?;
        Ok(count)
    }

    /// Puts a dead letter back into the queue, its failures forgotten; none when there is no such letter.
    pub fn revive(&self, id: Ulid) -> Result<Option<QueueEntry>> {
        let Some(bytes) = self.kv.get(Column::DeadLetters, &id.to_bytes())? else { return Ok(None) };
        let letter: DeadLetter = decode(Column::DeadLetters, &bytes)?;
        let entry = QueueEntry { failures: 0, ..letter.entry };
        let mut batch = Batch::new();
        batch.delete(Column::DeadLetters, id.to_bytes());
        batch.put(Column::Queue, id.to_bytes(), encode(&entry)?);
        self.kv.write(&batch, Durability::Synced)?;
        Ok(Some(entry))
    }

    /// Forgets a dead letter; false when there is none.
    pub fn drop_dead_letter(&self, id: Ulid) -> Result<bool> {
        if self.kv.get(Column::DeadLetters, &id.to_bytes())?.is_none() {
            return Ok(false);
        }
        let mut batch = Batch::new();
        batch.delete(Column::DeadLetters, id.to_bytes());
        self.kv.write(&batch, Durability::Synced)?;
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
        self.kv.read_all(Column::Deduplication, |key, value| {
            let seen = decode::<Fingerprint>(Column::Deduplication, value);
            // One that cannot be read is of no use either.
            if seen.map_or(true, |seen| seen.at_ms < seen_before_ms) {
                batch.delete(Column::Deduplication, key);
                gone += 1;
            }
        })?;
        self.kv.write(&batch, Durability::Buffered)?;
        Ok(gone)
    }

    /// The greatest message id ever seen in the queue or the dead letters, so that new ids sort after it.
    pub fn newest_message_id(&self) -> Result<Option<Ulid>> {
        let mut newest = None;
        for column in [Column::Queue, Column::DeadLetters] {
            for (key, _) in self.kv.scan_back(column, b"", None, 1)? {
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

    fn entries(store: &Store) -> Vec<QueueEntry> {
        let mut entries = Vec::new();
        store.each_queue_entry(|entry| entries.push(entry)).expect("reads");
        entries
    }

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
        assert_eq!(
            store.enqueue(&entry(1, 0), KnownBy::Body { hash: print, window_ms: 300 }, None),
            Ok2(Enqueued::Accepted(Ulid::from(1)))
        );
        assert_eq!(
            store.enqueue(&entry(2, 299), KnownBy::Body { hash: print, window_ms: 300 }, None),
            Ok2(Enqueued::Duplicate(Ulid::from(1)))
        );
        assert_eq!(
            store.enqueue(&entry(3, 300), KnownBy::Body { hash: print, window_ms: 300 }, None),
            Ok2(Enqueued::Accepted(Ulid::from(3)))
        );
        let ids: Vec<u128> = entries(&store).iter().map(|e| e.id.into()).collect();
        assert_eq!(ids, [1, 3]);
    }

    #[test]
    fn what_was_rewritten_or_forgotten_meanwhile_may_come_again() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = Store::open(folder.path()).expect("opens");
        let teach = |id| QueueEntry { work: QueuedWork::Teach { request: serde_json::Value::Null }, ..entry(id, 0) };
        let accepted = |entry: &QueueEntry, print: [u8; 32]| {
            matches!(
                store.enqueue(entry, KnownBy::Body { hash: print, window_ms: 300 }, None),
                Ok(Enqueued::Accepted(_))
            )
        };
        assert!(accepted(&teach(1), [1; 32]) && !accepted(&teach(2), [1; 32]));
        assert!(accepted(&teach(3), [2; 32]) && accepted(&teach(4), [1; 32]), "rewritten in between");
        assert!(accepted(&entry(5, 0), [1; 32]) && accepted(&entry(6, 0), [2; 32]) && !accepted(&entry(7, 0), [1; 32]));
        let forget = QueueEntry { work: QueuedWork::Forget { paths: Vec::new() }, ..entry(8, 0) };
        store.enqueue(&forget, KnownBy::Nothing, None).expect("enqueues");
        assert!(accepted(&entry(9, 0), [1; 32]) && accepted(&teach(10), [1; 32]), "forgotten in between");
    }

    #[test]
    fn what_was_imported_is_known_until_the_namespace_goes() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = Store::open(folder.path()).expect("opens");
        let marks = [[1; 32], [2; 32]];
        store.enqueue(&entry(1, 0), KnownBy::Imports(&marks[..1]), None).expect("enqueues");
        let known = |store: &Store| store.imported("default", "default", &marks).expect("reads");
        assert_eq!(known(&store), [true, false]);
        assert_eq!(store.imported("default", "other", &marks).expect("reads"), [false, false]);
        let record = NamespaceRecord {
            account: "default".into(),
            name: "default".into(),
            created_at_ms: 0,
            updated_at_ms: 0,
            memories: 0,
            head: None,
            waiting: 0,
        };
        store.put_namespace(&record, Durability::Synced).expect("writes");
        assert!(store.begin_deletion("default", "default").expect("deletes"));
        assert_eq!(known(&store), [false, false]);
    }

    #[test]
    fn entries_survive_reopening_and_end_in_the_dead_letters_or_nowhere() {
        let folder = tempfile::tempdir().expect("temporary directory");
        {
            let store = Store::open(folder.path()).expect("opens");
            store.enqueue(&entry(1, 5), KnownBy::Body { hash: [1; 32], window_ms: 300 }, None).expect("enqueues");
            store.enqueue(&entry(2, 6), KnownBy::Body { hash: [2; 32], window_ms: 300 }, None).expect("enqueues");
        }
        let store = Store::open(folder.path()).expect("opens again");
        assert_eq!(entries(&store), [entry(1, 5), entry(2, 6)]);
        store.bury(&DeadLetter { entry: entry(1, 5), died_at_ms: 10, reason: "no".into() }).expect("buries");
        store.drop_entry(Ulid::from(2)).expect("drops");
        assert!(entries(&store).is_empty());
        assert_eq!(store.dead_letters().expect("reads").len(), 1);
        assert_eq!(store.newest_message_id().expect("reads"), Some(Ulid::from(1)));
        let revived = store.revive(Ulid::from(1)).expect("revives").expect("was there");
        assert_eq!(entries(&store), std::slice::from_ref(&revived));
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
