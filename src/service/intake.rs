//! Accepting writes: a write is durable in the queue before its id is returned, and a job carries it out later.

use std::sync::Arc;

use cuebase_storage::Error as StorageError;
use cuebase_storage::records::{
    Dedup, Enqueued, FingerprintSubject, Meter, NamespaceRecord, QueueEntry, QueuedWork, RecordBatch, WriteSender,
};
use cuebase_storage::{AccountId, MessageId, Store};
use data_encoding::HEXLOWER;
use jiff::Timestamp;

use super::running_time::RunningTime;
use super::shared_parts::SharedParts;
use super::write_vectors::WriteVectors;
use crate::billing::Billing;
use crate::billing::meters::Permit;
use crate::clock::Clock;
use crate::documents::readers::DocumentReaders;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::conversation::Conversation;
use crate::namespace::ids::{HeldIds, Ids};
use crate::namespace::pending::PendingPaths;
use crate::namespace::registry::Namespaces;
use crate::queue::dispatch::Queue;
use crate::secrets::fingerprint;

/// Identical bodies within this running time are one write: 5 minutes.
pub const DEDUP_WINDOW_MS: u64 = 5 * 60 * 1000;

/// A write that is not accepted yet.
pub struct NewWrite {
    /// What to do.
    pub work: QueuedWork,
    /// Who sent it. `None` for a write of the server itself.
    pub sender: Option<WriteSender>,
}

impl NewWrite {
    /// Makes a write of the server itself.
    pub fn of_server(work: QueuedWork) -> Self {
        Self { work, sender: None }
    }
}

/// How a repeated write is recognized.
#[derive(Clone, Copy)]
pub(super) enum DedupKey<'a> {
    /// Never: each write is new.
    Nothing,
    /// By its body, within [`DEDUP_WINDOW_MS`].
    Body(&'a [u8]),
    /// By each imported message that it contains.
    Marks {
        /// The marks of the messages.
        marks: &'a [[u8; 32]],
        /// Time of acceptance in the system that the messages come from, milliseconds since the epoch.
        accepted_at_ms: Option<i64>,
    },
}

/// Accepts writes into the queue.
pub struct Intake {
    /// The open records.
    pub(super) store: Arc<Store>,
    /// The namespaces of all accounts.
    pub(super) namespaces: Arc<Namespaces>,
    /// Order of the accepted writes.
    pub(super) queue: Arc<Queue>,
    /// Paths of accepted writes that are not committed yet.
    pub(super) pending: Arc<PendingPaths>,
    /// Source of ids in ascending order. Those of a namespace are held from the lookup of a fingerprint until the
    /// write is in the queue.
    pub(super) ids: Arc<Ids>,
    /// Limits and counts the writes.
    pub(super) billing: Arc<Billing>,
    /// Running time, which the age of a waiting write is measured in.
    pub(super) running: Arc<RunningTime>,
    /// The source of the time of acceptance.
    pub(super) clock: Clock,
    /// The processes that read uploaded and imported files.
    pub(super) document_readers: DocumentReaders,
    /// Which memories of writes wait for their vectors.
    pub vectors: WriteVectors,
}

impl Intake {
    /// Makes the part of an open data directory.
    pub(crate) fn new(shared: &SharedParts) -> Self {
        Self {
            store: Arc::clone(&shared.store),
            namespaces: Arc::clone(&shared.namespaces),
            queue: Arc::clone(&shared.queue),
            pending: Arc::clone(&shared.pending),
            ids: Arc::clone(&shared.ids),
            billing: Arc::clone(&shared.billing),
            running: Arc::clone(&shared.running),
            clock: shared.clock.clone(),
            document_readers: DocumentReaders::default(),
            vectors: WriteVectors::new(shared),
        }
    }

    /// Returns the time by the clock of the service, in milliseconds since the epoch.
    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Accepts a write. It is durable when this returns. An identical body within five minutes is the same write.
    ///
    /// `subjects` are the paths and terms that the write changes, if they are already known. Fingerprints of earlier
    /// writes to them become invalid.
    pub fn accept(
        &self,
        namespace: &NamespaceRecord,
        write: NewWrite,
        body: Option<&[u8]>,
        subjects: &[FingerprintSubject],
    ) -> Result<MessageId> {
        let permit = self.reserve_write(&namespace.account, &write.work)?;
        let key = match body {
            Some(body) => DedupKey::Body(body),
            None => DedupKey::Nothing,
        };
        self.accept_permitted(namespace, write, key, subjects, permit)
    }

    /// Accepts an imported conversation, and records the marks of its messages permanently.
    ///
    /// `accepted_at` is the time at which another Cuebase accepted the conversation. Missing times and words such as
    /// "yesterday" refer to it.
    pub fn accept_import(
        &self,
        namespace: &NamespaceRecord,
        request: Conversation,
        marks: &[[u8; 32]],
        accepted_at: Option<Timestamp>,
    ) -> Result<MessageId> {
        let work = QueuedWork::Conversation { request };
        let permit = self.reserve_write(&namespace.account, &work)?;
        let key = DedupKey::Marks { marks, accepted_at_ms: accepted_at.map(Timestamp::as_millisecond) };
        self.accept_permitted(namespace, NewWrite::of_server(work), key, &[], permit)
    }

    /// Queues a kept conversation for another extraction. A re-extraction does not count as a write.
    pub fn accept_reextraction(&self, namespace: &NamespaceRecord, source: MessageId) -> Result<MessageId> {
        self.accept(namespace, NewWrite::of_server(QueuedWork::Reextract { source }), None, &[])
    }

    /// Returns, for each mark of a message, whether the message was imported before, by a write that did not fail
    /// permanently.
    pub fn imported(&self, namespace: &NamespaceRecord, marks: &[[u8; 32]]) -> Result<Vec<bool>> {
        Ok(self.store.imported(&namespace.key(), marks)?)
    }

    /// Accepts a write whose unit is reserved. Concurrent calls share one sync of the disk.
    pub(super) fn accept_permitted(
        &self,
        namespace: &NamespaceRecord,
        write: NewWrite,
        key: DedupKey<'_>,
        subjects: &[FingerprintSubject],
        permit: Option<Permit<'_>>,
    ) -> Result<MessageId> {
        self.namespaces.require_undamaged(namespace)?;
        let generation = self.store.generation();
        let id = self.enqueue(&mut self.ids.hold(namespace.id), namespace, write, key, subjects, permit)?;
        self.store.sync_since(generation)?;
        Ok(id)
    }

    /// Reserves a unit for a write. Returns `None` for work that is free.
    pub(super) fn reserve_write(&self, account: &AccountId, work: &QueuedWork) -> Result<Option<Permit<'_>>> {
        let is_free = matches!(
            work,
            QueuedWork::Forget { .. }
                | QueuedWork::ForgetTerms { .. }
                | QueuedWork::ForgetDocument { .. }
                | QueuedWork::Reextract { .. }
                | QueuedWork::Erase { .. }
        );
        if is_free {
            return Ok(None);
        }
        self.billing.require_balance(account)?;
        let permit = self.billing.reserve(account, Meter::Writes)?;
        Ok(Some(permit))
    }

    /// Adds a write to the queue, with the charge for it. The caller holds the ids of the namespace, so that its queue is
    /// in the order of ids.
    fn enqueue(
        &self,
        ids: &mut HeldIds<'_>,
        namespace: &NamespaceRecord,
        write: NewWrite,
        key: DedupKey<'_>,
        subjects: &[FingerprintSubject],
        mut permit: Option<Permit<'_>>,
    ) -> Result<MessageId> {
        let mut entry = self.new_entry(ids, namespace, write);
        let dedup = match key {
            DedupKey::Nothing => Dedup::Off,
            DedupKey::Body(body) => {
                entry.fingerprint = Some(HEXLOWER.encode(&fingerprint(&[body])));
                Dedup::Body { window_ms: DEDUP_WINDOW_MS }
            }
            DedupKey::Marks { marks, accepted_at_ms } => {
                entry.accepted_at_ms = accepted_at_ms.unwrap_or(entry.accepted_at_ms);
                Dedup::Imports(marks)
            }
        };
        loop {
            let mut batch = self.store.batch();
            if let Enqueued::Duplicate(id) = batch.enqueue(&entry, dedup, subjects).map_err(enqueue_error)? {
                return self.accept_again(namespace, id);
            }
            match self.commit_charged(batch, permit.as_mut()) {
                Ok(()) => break,
                // The fingerprint was invalidated or recorded in the meantime.
                Err(StorageError::ConditionFailed { .. }) => {}
                Err(error) => return Err(enqueue_error(error)),
            }
        }
        self.add_to_queue(&entry);
        Ok(entry.id)
    }

    /// Returns the id of an earlier write with the same body. The call for that write may have returned an error
    /// although the write became durable. It is accepted now, so it must run.
    fn accept_again(&self, namespace: &NamespaceRecord, id: MessageId) -> Result<MessageId> {
        if let Some(earlier) = self.store.queue_entry(&namespace.key(), id)? {
            self.add_to_queue(&earlier);
        }
        Ok(id)
    }

    /// Commits a batch, with the charge of a permit if there is one. Buffered.
    pub(super) fn commit_charged(
        &self,
        mut batch: RecordBatch<'_>,
        permit: Option<&mut Permit<'_>>,
    ) -> Result<(), StorageError> {
        let Some(permit) = permit else { return self.store.commit(batch) };
        let charge = permit.charge_guard()?;
        batch.charge(charge.record())?;
        let outcome = self.store.commit(batch);
        charge.finish(&outcome);
        outcome
    }

    /// Adds an entry of the records to the queue in memory, and its paths to the pending ones.
    pub(super) fn add_to_queue(&self, entry: &QueueEntry) {
        self.pending.add(entry);
        self.queue.add(entry);
    }

    /// Returns a queue entry with the next id.
    pub(super) fn new_entry(&self, ids: &mut HeldIds<'_>, namespace: &NamespaceRecord, write: NewWrite) -> QueueEntry {
        let NewWrite { work, sender } = write;
        let now_ms = self.clock.now_ms();
        QueueEntry {
            id: ids.next(now_ms).into(),
            account: namespace.account.clone(),
            namespace: namespace.name.clone(),
            namespace_id: namespace.id,
            accepted_at_ms: now_ms,
            accepted_running_ms: self.running.now_ms(),
            failures: 0,
            fingerprint: None,
            sender,
            work,
        }
    }
}

/// Converts an error of accepting a write. An entry that cannot be decoded again is an error of the client.
fn enqueue_error(error: StorageError) -> Error {
    match error {
        StorageError::Invalid { .. } => {
            Error::invalid(ErrorCode::InvalidBody, "the body cannot be stored: it may be nested too deeply")
        }
        error => error.into(),
    }
}
