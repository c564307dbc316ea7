//! Recognising a write that comes again: identical bodies for a short while, messages from elsewhere for good.
//!
//! A fingerprint says that a body was accepted under an id. It is void once what the body made is no longer as the body
//! made it: the write died, or a path or term that it wrote was written or forgotten since. For that, each fingerprint
//! is also found by its subjects. A conversation's subjects are the paths it became, known when it is ingested.

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::namespaces::key;
use super::queue::{EnqueueOptions, QueueEntry};
use super::{NamespaceId, Store, decode, encode};
use crate::error::Result;
use crate::key_value::columns::joined;
use crate::key_value::{Batch, Column, Durability};

/// Entries that a purge reads at once.
const PAGE: usize = 1000;
/// Bytes of a subject's hash in a key.
const SUBJECT_BYTES: usize = 16;

/// How a repeated write is recognised.
#[derive(Clone, Copy, Debug, Default)]
pub enum Dedup<'a> {
    /// Every write is new.
    #[default]
    Nothing,
    /// By the entry's fingerprint.
    Body {
        /// For how long, milliseconds.
        window_ms: u64,
    },
    /// By each message from elsewhere that it brings, for as long as the namespace exists.
    Imports(&'a [[u8; 32]]),
}

/// Something that a write changes: a path, or a term of the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject([u8; SUBJECT_BYTES]);

impl Subject {
    /// A file's path.
    pub fn path(path: &str) -> Self {
        Self::of("path", path)
    }

    /// A term by the form that makes two spellings one.
    pub fn term(identity: &str) -> Self {
        Self::of("term", identity)
    }

    fn of(kind: &str, name: &str) -> Self {
        let text = joined(kind, name);
        let mut hash = [0; SUBJECT_BYTES];
        let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
        hasher.update(&text);
        // SHA-1 with detection of collisions fails only on a crafted one, whose subject then is all zeros.
        if let Ok(digest) = hasher.try_finalize() {
            hash.copy_from_slice(&digest.as_slice()[..SUBJECT_BYTES]);
        }
        Self(hash)
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Fingerprint {
    pub(super) id: Ulid,
    pub(super) at_ms: i64,
    #[serde(default)]
    pub(super) running_ms: u64,
}

/// `kind NUL hash`: the rest of a fingerprint's key.
fn rest(entry: &QueueEntry) -> Option<Vec<u8>> {
    entry.fingerprint.as_ref().map(|hash| joined(entry.work.kind(), hash))
}

fn subject_key(namespace: NamespaceId, subject: Subject, rest: &[u8]) -> Vec<u8> {
    key(namespace, &[&subject.0, rest].concat())
}

impl Store {
    /// The id under which the same body was accepted a short while ago.
    pub(super) fn known_duplicate(&self, entry: &QueueEntry, dedup: Dedup<'_>) -> Result<Option<Ulid>> {
        let (Dedup::Body { window_ms }, Some(rest)) = (dedup, rest(entry)) else { return Ok(None) };
        let Some(bytes) = self.kv.get(Column::Fingerprints, &key(entry.namespace_id, &rest))? else { return Ok(None) };
        // One that cannot be decoded recognises nothing; it is written over.
        let Ok(seen) = decode::<Fingerprint>(Column::Fingerprints, &bytes) else { return Ok(None) };
        let window = i64::try_from(window_ms).unwrap_or(i64::MAX);
        let by_clock = entry.accepted_at_ms.saturating_sub(seen.at_ms) < window;
        // Negative where the running time of the last minute was not noted before a crash: still within.
        let by_running_time = entry.accepted_running_ms < seen.running_ms.saturating_add(window_ms);
        Ok(Some(seen.id).filter(|_| by_clock && by_running_time))
    }

    /// Notes in a batch how an entry is recognised from now on.
    pub(super) fn note_dedup(&self, batch: &mut Batch, entry: &QueueEntry, options: &EnqueueOptions<'_>) -> Result<()> {
        if let Dedup::Imports(marks) = options.dedup {
            for mark in marks {
                batch.put(Column::Imports, key(entry.namespace_id, mark), encode(&entry.id)?);
            }
        }
        let Some(rest) = rest(entry) else { return Ok(()) };
        let seen = Fingerprint { id: entry.id, at_ms: entry.accepted_at_ms, running_ms: entry.accepted_running_ms };
        batch.put(Column::Fingerprints, key(entry.namespace_id, &rest), encode(&seen)?);
        for subject in options.subjects {
            batch.put(Column::FingerprintSubjects, subject_key(entry.namespace_id, *subject, &rest), "");
        }
        Ok(())
    }

    /// Notes in a batch which paths an ingested entry became.
    pub(super) fn note_paths(&self, batch: &mut Batch, entry: &QueueEntry, paths: &[String]) {
        let Some(rest) = rest(entry) else { return };
        for path in paths {
            let key = subject_key(entry.namespace_id, Subject::path(path), &rest);
            batch.put(Column::FingerprintSubjects, key, "");
        }
    }

    /// Makes every fingerprint void, in a batch, that a subject belongs to; where an id is given, only those of bodies
    /// accepted before it.
    pub(super) fn void_subject(
        &self,
        batch: &mut Batch,
        namespace: NamespaceId,
        subject: Subject,
        before: Option<Ulid>,
    ) -> Result<()> {
        let prefix = subject_key(namespace, subject, b"");
        for (found, _) in self.kv.scan(Column::FingerprintSubjects, &prefix, None, usize::MAX)? {
            let fingerprint = key(namespace, &found[prefix.len()..]);
            if let Some(before) = before
                && self.accepted_under(&fingerprint)?.is_some_and(|id| id >= before)
            {
                continue;
            }
            batch.delete(Column::Fingerprints, fingerprint);
            batch.delete(Column::FingerprintSubjects, found);
        }
        Ok(())
    }

    /// The id that a fingerprint's body was accepted under.
    fn accepted_under(&self, key: &[u8]) -> Result<Option<Ulid>> {
        let Some(bytes) = self.kv.get(Column::Fingerprints, key)? else { return Ok(None) };
        Ok(decode::<Fingerprint>(Column::Fingerprints, &bytes).ok().map(|seen| seen.id))
    }

    /// Makes an entry's own fingerprint void, in a batch.
    pub(super) fn void_fingerprint(&self, batch: &mut Batch, entry: &QueueEntry) {
        if let Some(rest) = rest(entry) {
            batch.delete(Column::Fingerprints, key(entry.namespace_id, &rest));
        }
    }

    /// Which messages from elsewhere were imported into a namespace before, in the same order.
    pub fn imported(&self, namespace: NamespaceId, marks: &[[u8; 32]]) -> Result<Vec<bool>> {
        let mut known = Vec::with_capacity(marks.len());
        for mark in marks {
            known.push(self.kv.get(Column::Imports, &key(namespace, mark))?.is_some());
        }
        Ok(known)
    }

    /// Forgets fingerprints of bodies accepted before services had run for that long, milliseconds. Returns how many.
    pub fn purge_fingerprints(&self, before_running_ms: u64) -> Result<usize> {
        let mut gone = 0;
        let mut after: Option<Vec<u8>> = None;
        loop {
            let page = self.kv.scan(Column::Fingerprints, b"", after.as_deref(), PAGE)?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            let mut batch = Batch::new();
            for (key, value) in &page {
                let seen = decode::<Fingerprint>(Column::Fingerprints, value);
                // One that cannot be decoded recognises nothing.
                if seen.map_or(true, |seen| seen.running_ms < before_running_ms) {
                    batch.delete(Column::Fingerprints, key.clone());
                    gone += 1;
                }
            }
            self.kv.write(&batch, Durability::Buffered)?;
        }
        self.purge_subjects()?;
        Ok(gone)
    }

    /// Forgets the subjects of fingerprints that are gone.
    fn purge_subjects(&self) -> Result<()> {
        let namespace_bytes = size_of::<Ulid>();
        let mut after: Option<Vec<u8>> = None;
        loop {
            let page = self.kv.scan(Column::FingerprintSubjects, b"", after.as_deref(), PAGE)?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = Some(last.clone());
            let mut batch = Batch::new();
            for (key, _) in &page {
                let (namespace, rest) = key.split_at(namespace_bytes.min(key.len()));
                let rest = rest.get(SUBJECT_BYTES..).unwrap_or_default();
                if self.kv.get(Column::Fingerprints, &[namespace, rest].concat())?.is_none() {
                    batch.delete(Column::FingerprintSubjects, key.clone());
                }
            }
            self.kv.write(&batch, Durability::Buffered)?;
        }
    }
}
