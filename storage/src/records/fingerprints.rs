//! Deduplication of writes: identical bodies within a time window, imported messages for the life of the namespace.
//!
//! A fingerprint records the id under which a body was accepted. It becomes invalid when the write fails permanently,
//! or when another write changes or deletes a path or term that the body wrote. Each fingerprint is therefore also
//! indexed by its subjects. The subjects of a conversation are the paths of its memories, which are known after
//! ingestion. The mark of an imported message names its write, and shows nothing while that write is a dead letter.

use serde::{Deserialize, Serialize};

use super::batch::RecordBatch;
use super::dedup::{Dedup, FingerprintSubject, SUBJECT_BYTES};
use super::namespaces::key;
use super::queue_entry::QueueEntry;
use super::store::{Store, decode, encode};
use super::writes::{WriteEnd, WriteOutcome, outcome_key};
use crate::error::{Error, Result};
use crate::identity::{MessageId, NamespaceId, NamespaceKey};
use crate::key_value::columns::joined;
use crate::key_value::{Batch, Column, Durability};

/// Entries that a purge reads per page.
const PAGE_ENTRIES: usize = 1000;

/// When and under which id a body was accepted.
#[derive(Serialize, Deserialize)]
pub(super) struct Fingerprint {
    pub(super) id: MessageId,
    pub(super) at_ms: i64,
    #[serde(default)]
    pub(super) running_ms: u64,
}

impl Fingerprint {
    /// Whether an entry with the same body is a repetition.
    fn covers(&self, entry: &QueueEntry, window_ms: u64) -> bool {
        let window = i64::try_from(window_ms).unwrap_or(i64::MAX);
        let is_within_by_clock = entry.accepted_at_ms.saturating_sub(self.at_ms) < window;
        // After a crash the entry's running time may be less than the fingerprint's, as the last minute of it may be
        // unrecorded. The entry is then within the window.
        let is_within_by_running_time = entry.accepted_running_ms < self.running_ms.saturating_add(window_ms);
        is_within_by_clock && is_within_by_running_time
    }
}

/// `kind NUL hash`: the part of a fingerprint's key after the namespace id.
fn fingerprint_suffix(entry: &QueueEntry) -> Option<Vec<u8>> {
    let hash = entry.fingerprint.as_ref()?;
    Some(joined(entry.work.kind(), hash))
}

fn subject_key(namespace: NamespaceId, subject: FingerprintSubject, suffix: &[u8]) -> Vec<u8> {
    key(namespace, &[&subject.0, suffix].concat())
}

impl RecordBatch<'_> {
    /// Returns the id under which the same body was accepted within the window. Otherwise the batch requires that no
    /// concurrent caller accepts the body.
    pub(super) fn find_duplicate(&mut self, entry: &QueueEntry, dedup: Dedup<'_>) -> Result<Option<MessageId>> {
        let Dedup::Body { window_ms } = dedup else { return Ok(None) };
        let Some(suffix) = fingerprint_suffix(entry) else { return Ok(None) };
        let key = key(entry.namespace_id, &suffix);
        let bytes = self.store.kv.get(Column::Fingerprints, &key)?;
        if let Some(bytes) = &bytes
            && let Ok(known) = decode::<Fingerprint>(Column::Fingerprints, bytes)
            && known.covers(entry, window_ms)
        {
            return Ok(Some(known.id));
        }
        self.changes.expect(Column::Fingerprints, key, bytes);
        Ok(None)
    }

    /// Adds the records by which repetitions of an entry are detected.
    pub(super) fn record_dedup(
        &mut self,
        entry: &QueueEntry,
        dedup: Dedup<'_>,
        subjects: &[FingerprintSubject],
    ) -> Result<()> {
        if let Dedup::Imports(hashes) = dedup {
            for hash in hashes {
                self.changes.put(Column::Imports, key(entry.namespace_id, hash), encode(&entry.id)?);
            }
        }
        let Some(suffix) = fingerprint_suffix(entry) else { return Ok(()) };
        let fingerprint =
            Fingerprint { id: entry.id, at_ms: entry.accepted_at_ms, running_ms: entry.accepted_running_ms };
        self.changes.put(Column::Fingerprints, key(entry.namespace_id, &suffix), encode(&fingerprint)?);
        for subject in subjects {
            let key = subject_key(entry.namespace_id, *subject, &suffix);
            self.changes.put(Column::FingerprintSubjects, key, "");
        }
        Ok(())
    }
}

impl Store {
    /// Adds the paths of an ingested entry's memories to a batch, as subjects of its fingerprint.
    pub(super) fn record_paths(&self, batch: &mut Batch, entry: &QueueEntry, paths: &[String]) {
        let Some(suffix) = fingerprint_suffix(entry) else { return };
        for path in paths {
            let key = subject_key(entry.namespace_id, FingerprintSubject::path(path), &suffix);
            batch.put(Column::FingerprintSubjects, key, "");
        }
    }

    /// Invalidates, in a batch, all fingerprints of a subject. With `before`, only those of bodies accepted before that
    /// id.
    pub(super) fn invalidate_subject(
        &self,
        batch: &mut Batch,
        namespace: NamespaceId,
        subject: FingerprintSubject,
        before: Option<MessageId>,
    ) -> Result<()> {
        let prefix = subject_key(namespace, subject, b"");
        for (found, _) in self.kv.scan(Column::FingerprintSubjects, &prefix, None, usize::MAX)? {
            let fingerprint = key(namespace, &found[prefix.len()..]);
            if let Some(before) = before
                && let Some(known) = self.fingerprint(&fingerprint)?
                && known.id >= before
            {
                continue;
            }
            batch.delete(Column::Fingerprints, fingerprint);
            batch.delete(Column::FingerprintSubjects, found);
        }
        Ok(())
    }

    /// Returns the fingerprint with a key. `None` if it is missing or cannot be decoded; it then detects no repetition.
    fn fingerprint(&self, key: &[u8]) -> Result<Option<Fingerprint>> {
        let Some(bytes) = self.kv.get(Column::Fingerprints, key)? else { return Ok(None) };
        Ok(decode(Column::Fingerprints, &bytes).ok())
    }

    /// Invalidates, in a batch, the fingerprint of an entry.
    pub(super) fn invalidate_fingerprint(&self, batch: &mut Batch, entry: &QueueEntry) {
        if let Some(suffix) = fingerprint_suffix(entry) {
            batch.delete(Column::Fingerprints, key(entry.namespace_id, &suffix));
        }
    }

    /// Returns, for each hash of a message, whether the message was imported into the namespace. A message of a write
    /// that failed permanently was not, unless the write was returned to the queue.
    pub fn imported(&self, namespace: &NamespaceKey, hashes: &[[u8; 32]]) -> Result<Vec<bool>> {
        let mut imported = Vec::with_capacity(hashes.len());
        for hash in hashes {
            let is_imported = match self.kv.get(Column::Imports, &key(namespace.id, hash))? {
                Some(mark) => !self.has_import_failed(namespace, &mark)?,
                None => false,
            };
            imported.push(is_imported);
        }
        Ok(imported)
    }

    /// Whether the write of an import's mark is a dead letter, or was one that was dropped. The mark itself does not
    /// change when the write fails, because the queue entry does not have the hashes of its messages.
    fn has_import_failed(&self, namespace: &NamespaceKey, mark: &[u8]) -> Result<bool> {
        let Ok(write) = decode::<MessageId>(Column::Imports, mark) else { return Ok(false) };
        if self.is_dead_letter(&namespace.account, write)? {
            return Ok(true);
        }
        let Some(outcome) = self.kv.get(Column::WriteOutcomes, &outcome_key(namespace.id, write))? else {
            return Ok(false);
        };
        match decode::<WriteOutcome>(Column::WriteOutcomes, &outcome) {
            Ok(outcome) => Ok(outcome.end == WriteEnd::Dropped),
            Err(_) => Ok(false),
        }
    }

    /// Deletes fingerprints of bodies accepted before the given total running time, in milliseconds. Returns the number
    /// deleted. A fingerprint that a new acceptance of the body replaces meanwhile is kept, so any node may purge.
    pub fn purge_fingerprints(&self, before_running_ms: u64) -> Result<usize> {
        let mut deleted = 0;
        let mut after: Option<Vec<u8>> = None;
        loop {
            let page = self.kv.scan(Column::Fingerprints, b"", after.as_deref(), PAGE_ENTRIES)?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            let mut expired = Vec::new();
            for (key, value) in page {
                let fingerprint = decode::<Fingerprint>(Column::Fingerprints, &value);
                // A fingerprint that cannot be decoded detects no repetition.
                let is_current = matches!(fingerprint, Ok(known) if known.running_ms >= before_running_ms);
                if !is_current {
                    expired.push((key, value));
                }
            }
            deleted += self.delete_unchanged(Column::Fingerprints, &[], &expired)?;
        }
        self.purge_subjects()?;
        Ok(deleted)
    }

    /// Deletes the subjects of fingerprints that no longer exist. Each batch expects these fingerprints to be absent: a
    /// new acceptance of the body writes the fingerprint together with the same subjects.
    fn purge_subjects(&self) -> Result<()> {
        let namespace_bytes = size_of::<NamespaceId>();
        let mut after: Option<Vec<u8>> = None;
        loop {
            let page = self.kv.scan(Column::FingerprintSubjects, b"", after.as_deref(), PAGE_ENTRIES)?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = Some(last.clone());
            let mut batch = Batch::new();
            for (key, _) in &page {
                let (namespace, rest) = key.split_at(namespace_bytes.min(key.len()));
                let suffix = rest.get(SUBJECT_BYTES..).unwrap_or(&[]);
                let fingerprint = [namespace, suffix].concat();
                if self.kv.get(Column::Fingerprints, &fingerprint)?.is_none() {
                    batch.expect(Column::Fingerprints, fingerprint, None);
                    batch.delete(Column::FingerprintSubjects, key.clone());
                }
            }
            match self.kv.write(&batch, Durability::Buffered) {
                // A body was accepted again meanwhile. The next purge deletes the other subjects of the page.
                Ok(()) | Err(Error::ConditionFailed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
