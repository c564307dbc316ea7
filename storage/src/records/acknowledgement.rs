//! What one batch records after a commit: the head moves, ingested entries leave the queue, their conversations are kept,
//! and whatever else became true with the commit.

use ulid::Ulid;

use super::fingerprints::Subject;
use super::namespaces::{self, key};
use super::queue::{self, QueueEntry, QueuedWork};
use super::{NamespaceId, NamespaceRecord, SourceRecord, Store, TermChange, UsageRecord, usage};
use crate::error::{Error, Result};
use crate::git::CommitId;
use crate::key_value::columns::prefix;
use crate::key_value::{Batch, Column, Durability};

/// Bytes of a commit's id.
const COMMIT_BYTES: usize = 20;

/// An entry of the queue whose commit is in git and in the index.
#[derive(Clone, Debug)]
pub struct Ingested {
    /// The entry.
    pub entry: QueueEntry,
    /// The paths that it changed.
    pub paths: Vec<String>,
    /// What a list shows of its conversation, where that is kept.
    pub source: Option<SourceRecord>,
}

/// A commit that changed files, for their histories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedCommit {
    /// Which.
    pub id: CommitId,
    /// Its time, seconds since the epoch.
    pub at_seconds: i64,
    /// The paths that it changed.
    pub paths: Vec<String>,
}

/// A commit that changed a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Which.
    pub id: CommitId,
    /// Its time, seconds since the epoch.
    pub at_seconds: i64,
}

/// What is recorded with a namespace's new head, in one batch.
#[derive(Debug)]
pub struct Acknowledgement<'a> {
    /// The namespace with its new head.
    pub namespace: &'a NamespaceRecord,
    /// Entries that leave the queue.
    pub ingested: &'a [Ingested],
    /// Ids that leave the queue and of which nothing else is known.
    pub dropped: &'a [Ulid],
    /// Changes of the vocabulary's lookup.
    pub terms: &'a [TermChange],
    /// The commits since the former head, oldest first; their places in the history end at `namespace.commits`.
    pub commits: &'a [RecordedCommit],
    /// What was written other than through the queue: fingerprints that belong to it are void.
    pub voids: &'a [Subject],
    /// Paths that entries accepted before an id do not touch any more.
    pub path_writes: &'a [(String, Ulid)],
    /// The meter after this write.
    pub usage: Option<&'a UsageRecord>,
}

impl<'a> Acknowledgement<'a> {
    /// One that records a head and nothing else.
    pub fn of(namespace: &'a NamespaceRecord) -> Self {
        Self {
            namespace,
            ingested: &[],
            dropped: &[],
            terms: &[],
            commits: &[],
            voids: &[],
            path_writes: &[],
            usage: None,
        }
    }
}

impl Store {
    /// Records what a commit made true. Buffered: after a loss of power the entries are back and the head behind, and
    /// ingestion finds its own commit in git. Synced where paths are noted that earlier entries must not touch, since
    /// those entries are there after a loss of power.
    pub fn acknowledge(&self, done: &Acknowledgement<'_>) -> Result<()> {
        let opening = self.kv.opening();
        let id = done.namespace.id;
        let mut batch = Batch::new();
        for ingested in done.ingested {
            queue::delete(&mut batch, id, ingested.entry.id);
            // A conversation makes new memories: nothing that was known by their paths.
            let is_conversation =
                matches!(ingested.entry.work, QueuedWork::Conversation { .. } | QueuedWork::Reextract { .. });
            for path in ingested.paths.iter().filter(|_| !is_conversation) {
                self.void_subject(&mut batch, id, Subject::path(path), Some(ingested.entry.id))?;
            }
            self.note_paths(&mut batch, &ingested.entry, &ingested.paths);
            self.keep_source(&mut batch, ingested)?;
        }
        for message in done.dropped {
            queue::delete(&mut batch, id, *message);
        }
        for subject in done.voids {
            self.void_subject(&mut batch, id, *subject, None)?;
        }
        for (path, message) in done.path_writes {
            batch.put(Column::PathWrites, key(id, path.as_bytes()), message.to_bytes());
        }
        let first = done.namespace.commits.saturating_sub(done.commits.len() as u64);
        for (place, commit) in (first..).zip(done.commits) {
            let value = [commit.id.as_bytes(), &commit.at_seconds.to_le_bytes()].concat();
            for path in &commit.paths {
                batch.put(Column::Revisions, revision_key(id, path, place), value.clone());
            }
        }
        if let Some(usage) = done.usage {
            usage::put(&mut batch, usage)?;
        }
        self.change_terms(&mut batch, id, done.terms)?;
        namespaces::put(&mut batch, done.namespace)?;
        if let Some((_, newest)) = done.path_writes.iter().max_by_key(|(_, message)| *message) {
            self.note_id(&mut batch, *newest);
        }
        self.write_live(done.namespace, &batch)?;
        if done.path_writes.is_empty() { Ok(()) } else { self.kv.sync_since(opening) }
    }

    /// The id that entries must have been accepted after to touch a path; none where any may.
    pub fn path_written(&self, namespace: NamespaceId, path: &str) -> Result<Option<Ulid>> {
        let Some(bytes) = self.kv.get(Column::PathWrites, &key(namespace, path.as_bytes()))? else { return Ok(None) };
        let bytes: [u8; 16] =
            bytes.try_into().map_err(|_| Error::corrupt(Column::PathWrites.name(), "not 16 bytes"))?;
        Ok(Some(Ulid::from_bytes(bytes)))
    }

    /// Whether a namespace has paths that earlier entries must not touch.
    pub fn has_path_writes(&self, namespace: NamespaceId) -> Result<bool> {
        Ok(!self.kv.scan(Column::PathWrites, &namespace.to_bytes(), None, 1)?.is_empty())
    }

    /// Forgets the marks of [`Store::path_written`] that no entry of the queue was accepted before. Returns how many.
    pub fn purge_path_writes(&self, oldest_queued: Option<Ulid>) -> Result<usize> {
        let mut batch = Batch::new();
        let mut gone = 0;
        self.kv.read_all(Column::PathWrites, |key, value| {
            let written = value.try_into().ok().map(Ulid::from_bytes);
            if oldest_queued.is_none_or(|oldest| written.is_none_or(|written| written < oldest)) {
                batch.delete(Column::PathWrites, key);
                gone += 1;
            }
        })?;
        self.kv.write(&batch, Durability::Buffered)?;
        Ok(gone)
    }

    /// The newest commits that changed a file, newest first, at most `limit`.
    pub fn revisions(&self, namespace: NamespaceId, path: &str, limit: usize) -> Result<Vec<Revision>> {
        let prefix = key(namespace, &prefix(&[path]));
        let mut revisions = Vec::new();
        for (_, value) in self.kv.scan_back(Column::Revisions, &prefix, None, limit)? {
            revisions.push(decode_revision(&value)?);
        }
        Ok(revisions)
    }
}

fn revision_key(namespace: NamespaceId, path: &str, place: u64) -> Vec<u8> {
    key(namespace, &[&prefix(&[path]), &place.to_be_bytes()[..]].concat())
}

fn decode_revision(value: &[u8]) -> Result<Revision> {
    let corrupt = || Error::corrupt(Column::Revisions.name(), "a value of another length");
    let (id, seconds) = value.split_at_checked(COMMIT_BYTES).ok_or_else(corrupt)?;
    let id = CommitId::from_bytes(id).ok_or_else(corrupt)?;
    let seconds: [u8; 8] = seconds.try_into().map_err(|_| corrupt())?;
    Ok(Revision { id, at_seconds: i64::from_le_bytes(seconds) })
}
