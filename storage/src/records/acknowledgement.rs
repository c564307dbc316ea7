//! The batch that records a commit: the namespace's new head, the queue entries that the commit completes, their kept
//! conversations, and derived records such as revisions and terms.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use super::dedup::FingerprintSubject;
use super::namespaces::{self, NamespaceRecord, key};
use super::queue_entry::{self, QueuedWork};
use super::sources::IngestedEntry;
use super::store::Store;
use super::usage_record::UsageRecord;
use super::usage_state::ended_id;
use super::vocabulary::TermChange;
use super::writes::{self, WriteOutcome};
use crate::error::{Error, Result};
use crate::git::CommitId;
use crate::identity::{MessageId, NamespaceId};
use crate::key_value::columns::prefix;
use crate::key_value::{Batch, Column};

/// A commit and the files that it changed, for their histories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedCommit {
    /// The commit id.
    pub id: CommitId,
    /// Commit time, seconds since the epoch.
    pub at_seconds: i64,
    /// The paths that the commit changed.
    pub paths: Vec<String>,
}

/// A commit that changed a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The commit id.
    pub id: CommitId,
    /// Commit time, seconds since the epoch.
    pub at_seconds: i64,
}

/// The changes recorded together with a namespace's new head, in one batch.
#[derive(Debug)]
pub struct Acknowledgement<'a> {
    /// The namespace with its new head.
    pub namespace: &'a NamespaceRecord,
    /// Entries that leave the queue.
    pub ingested: &'a [IngestedEntry],
    /// Ids of further entries that leave the queue; their content is unknown.
    pub dropped: &'a [MessageId],
    /// Changes of the vocabulary lookup.
    pub terms: &'a [TermChange],
    /// The commits since the previous head, oldest first. Their positions in the history end at `namespace.commits`.
    pub commits: &'a [RecordedCommit],
    /// Subjects written without the queue. Their fingerprints become invalid.
    pub invalidates: &'a [FingerprintSubject],
    /// Paths that entries accepted before the given id must not change.
    pub path_writes: &'a [(String, MessageId)],
    /// What this process counted of the meter, after this write.
    pub usage: Option<&'a UsageRecord>,
}

impl<'a> Acknowledgement<'a> {
    /// An acknowledgement that records only the head.
    pub fn new(namespace: &'a NamespaceRecord) -> Self {
        Self {
            namespace,
            ingested: &[],
            dropped: &[],
            terms: &[],
            commits: &[],
            invalidates: &[],
            path_writes: &[],
            usage: None,
        }
    }
}

/// Ids of path writes that are deleted together.
const PURGE_PAGE_ENTRIES: usize = 1000;

/// Whether the id of a path write is older than the oldest queued entry of its namespace, or cannot be decoded.
fn is_before_queue(key: &[u8], value: &[u8], oldest: &HashMap<NamespaceId, MessageId>) -> bool {
    let Ok(written) = value.try_into() else { return true };
    let Some(namespace) = NamespaceId::at_start_of(key) else { return true };
    match oldest.get(&namespace) {
        Some(oldest) => MessageId::from_bytes(written) < *oldest,
        None => true,
    }
}

/// Whether an entry had messages that must not be stored.
fn has_unstored_messages(ingested: &IngestedEntry) -> bool {
    match &ingested.entry.work {
        QueuedWork::Conversation { request } => request.messages.iter().any(|message| !message.store),
        _ => false,
    }
}

impl Store {
    /// Records a commit. The write is buffered: after a loss of power the entries are queued again with the old head,
    /// and ingestion finds its own commit in git. The write is synced if `path_writes` is not empty, because the
    /// entries that must not change these paths survive a loss of power. In a shared store it is always synced: a
    /// fail-over of the database would take it back while the owner, which remembers it, continues.
    ///
    /// # Errors
    /// With `usage`, the errors of [`Store::put_usages`]. The caller makes the charge again.
    pub fn acknowledge(&self, done: &Acknowledgement<'_>) -> Result<()> {
        loop {
            match self.write_acknowledgement(done) {
                // The id under which this process counts was ended. The next batch has a new one.
                Err(error) if ended_id(&error).is_some() => {}
                outcome => {
                    if done.ingested.iter().any(has_unstored_messages) {
                        self.has_unstored.store(true, Ordering::Relaxed);
                    }
                    return outcome;
                }
            }
        }
    }

    fn write_acknowledgement(&self, done: &Acknowledgement<'_>) -> Result<()> {
        let generation = self.kv.generation();
        let id = done.namespace.id;
        let mut batch = self.batch();
        batch.require_live(done.namespace);
        for ingested in done.ingested {
            self.complete_entry(&mut batch.changes, done.namespace, ingested)?;
        }
        for message in done.dropped {
            queue_entry::delete(&mut batch.changes, &done.namespace.account, id, *message);
        }
        for subject in done.invalidates {
            self.invalidate_subject(&mut batch.changes, id, *subject, None)?;
        }
        for (path, message) in done.path_writes {
            batch.changes.put(Column::PathWrites, key(id, path.as_bytes()), message.to_bytes());
            batch.assign_id(id, (*message).into());
        }
        put_revisions(&mut batch.changes, done);
        if let Some(usage) = done.usage {
            batch.charge(usage)?;
        }
        self.change_terms(&mut batch.changes, id, done.terms)?;
        namespaces::put(&mut batch.changes, done.namespace)?;
        if self.is_shared() {
            return self.commit_synced(batch);
        }
        self.commit(batch)?;
        if done.path_writes.is_empty() { Ok(()) } else { self.kv.sync_since(generation) }
    }

    /// Removes an ingested entry from the queue and records its outcome, and the paths and the conversation that it
    /// leaves.
    fn complete_entry(&self, batch: &mut Batch, namespace: &NamespaceRecord, ingested: &IngestedEntry) -> Result<()> {
        let entry = &ingested.entry;
        queue_entry::delete(batch, &namespace.account, namespace.id, entry.id);
        self.put_missing_record(batch, entry)?;
        let outcome = WriteOutcome::ingested(entry, &ingested.changes, ingested.finished_at_ms);
        writes::put_outcome(batch, namespace.id, entry.id, &outcome)?;
        for path in overwritten_paths(ingested) {
            self.invalidate_subject(batch, namespace.id, FingerprintSubject::path(path), Some(entry.id))?;
        }
        self.record_paths(batch, entry, &ingested.paths);
        self.keep_source(batch, ingested)
    }

    /// Returns the id that entries must be newer than to change a path. `None` if all entries may change it.
    pub fn newest_path_write(&self, namespace: NamespaceId, path: &str) -> Result<Option<MessageId>> {
        let Some(bytes) = self.kv.get(Column::PathWrites, &key(namespace, path.as_bytes()))? else { return Ok(None) };
        let bytes: [u8; 16] =
            bytes.try_into().map_err(|_| Error::corrupt(Column::PathWrites.name(), "not 16 bytes"))?;
        Ok(Some(MessageId::from_bytes(bytes)))
    }

    /// Whether a namespace has paths that earlier entries must not change.
    pub fn has_path_writes(&self, namespace: NamespaceId) -> Result<bool> {
        Ok(!self.kv.scan(Column::PathWrites, &namespace.to_bytes(), None, 1)?.is_empty())
    }

    /// Deletes the ids of [`Store::newest_path_write`] that are older than every queued entry of their namespace. Returns
    /// the number deleted. An id that a newer write replaces meanwhile is kept, so any node may purge.
    pub fn purge_path_writes(&self) -> Result<usize> {
        let mut deleted = 0;
        let mut after: Option<Vec<u8>> = None;
        loop {
            let page = self.kv.scan(Column::PathWrites, b"", after.as_deref(), PURGE_PAGE_ENTRIES)?;
            let Some((last, _)) = page.last() else { return Ok(deleted) };
            after = Some(last.clone());
            // Read after the ids: an entry that is older than one of them was in the queue before it was written.
            let oldest = self.oldest_queued()?;
            let mut expired = Vec::new();
            for (key, value) in page {
                if is_before_queue(&key, &value, &oldest) {
                    expired.push((key, value));
                }
            }
            // A newer write of the path may replace the id meanwhile.
            deleted += self.delete_unchanged(Column::PathWrites, &[], &expired)?;
        }
    }

    /// Returns the newest commits that changed a file, newest first, at most `limit`.
    pub fn revisions(&self, namespace: NamespaceId, path: &str, limit: usize) -> Result<Vec<Revision>> {
        let prefix = key(namespace, &prefix(&[path]));
        let mut revisions = Vec::new();
        for (_, value) in self.kv.scan_back(Column::Revisions, &prefix, None, limit)? {
            revisions.push(decode_revision(&value)?);
        }
        Ok(revisions)
    }
}

/// Returns the paths at which earlier writes no longer have what they wrote.
fn overwritten_paths(ingested: &IngestedEntry) -> Vec<&String> {
    let work = &ingested.entry.work;
    let is_extraction = matches!(work, QueuedWork::Conversation { .. } | QueuedWork::Reextract { .. });
    if !is_extraction {
        return ingested.paths.iter().collect();
    }
    // No fingerprint belongs to the paths of new memories yet. A memory that already said the same still says it.
    let changes = &ingested.changes;
    changes.rewritten.iter().chain(&changes.ended).collect()
}

fn put_revisions(batch: &mut Batch, done: &Acknowledgement<'_>) {
    let first = done.namespace.commits.saturating_sub(done.commits.len() as u64);
    for (position, commit) in (first..).zip(done.commits) {
        let value = [&commit.id.to_bytes()[..], &commit.at_seconds.to_le_bytes()].concat();
        for path in &commit.paths {
            batch.put(Column::Revisions, revision_key(done.namespace.id, path, position), value.clone());
        }
    }
}

fn revision_key(namespace: NamespaceId, path: &str, position: u64) -> Vec<u8> {
    key(namespace, &[&prefix(&[path]), &position.to_be_bytes()[..]].concat())
}

fn decode_revision(value: &[u8]) -> Result<Revision> {
    match parse_revision(value) {
        Some(revision) => Ok(revision),
        None => Err(Error::corrupt(Column::Revisions.name(), "a value has the wrong length")),
    }
}

fn parse_revision(value: &[u8]) -> Option<Revision> {
    let (id, seconds) = value.split_first_chunk()?;
    let at_seconds = i64::from_le_bytes(seconds.try_into().ok()?);
    Some(Revision { id: CommitId::from_bytes(*id), at_seconds })
}
