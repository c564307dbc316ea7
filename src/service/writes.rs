//! The state of accepted writes: how far a write is, and what it changed.
//!
//! The records have the state ([`WriteProgress`]). Only the queue in memory knows which write a worker has now.

use cuebase_storage::Error as StorageError;
use cuebase_storage::records::{WriteChanges, WriteEnd, WriteOutcome, WriteProgress, WriteRecord, WriteSender};
use cuebase_storage::{AccountId, MessageId, NamespaceId, NamespaceName};
use strum::{EnumString, IntoStaticStr, VariantNames};

use super::intake::Intake;
use super::write_vectors::VectorState;
use crate::error::Result;
use crate::error_codes::ErrorCode;
use crate::queue::progress::WorkProgress;
use crate::queue::waits::WriteWait;

/// Retention of the records of writes: 14 days after the time in the write's id.
pub const WRITE_RETENTION_MS: i64 = 14 * 24 * 60 * 60 * 1000;

/// Records that are read together for a list.
const PAGE_RECORDS: usize = 256;
/// Writes that are read for one page of a list, so that a filter that few writes pass does not read all.
const PAGE_READS_MAX: usize = 4096;

/// How far a write is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum WriteStatus {
    /// It waits in the queue for its first attempt.
    Queued,
    /// A worker has it now.
    Ingesting,
    /// It failed and waits in the queue for another attempt.
    Retrying,
    /// It is ingested, and retrieval finds what it wrote.
    Ingested,
    /// It failed permanently and is a dead letter.
    Dead,
    /// Its namespace was deleted, or its dead letter was dropped.
    Dropped,
}

impl WriteStatus {
    /// The names of all statuses.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;

    /// Returns the name of the status.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the status with a name.
    pub fn named(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// Whether no worker will process the write any more, unless an operator retries its dead letter.
    pub fn is_final(self) -> bool {
        match self {
            Self::Queued | Self::Ingesting | Self::Retrying => false,
            Self::Ingested | Self::Dead | Self::Dropped => true,
        }
    }
}

/// An accepted write and its state.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// The id of the write.
    pub id: MessageId,
    /// The namespace to write to.
    pub namespace: NamespaceName,
    /// The id of the namespace. A later namespace of the same name has another id.
    pub namespace_id: NamespaceId,
    /// How far the write is.
    pub status: WriteStatus,
    /// Number of attempts, including a current one.
    pub attempts: u32,
    /// Time of acceptance, milliseconds since the epoch.
    pub accepted_at_ms: i64,
    /// Time at which the write ended, milliseconds since the epoch. `None` until then, and if it is not known.
    pub finished_at_ms: Option<i64>,
    /// Code of the last failure of a write that failed permanently.
    pub error: Option<ErrorCode>,
    /// How far its worker is, if the write is long.
    pub progress: Option<WriteParts>,
    /// What the write changed.
    pub changes: WriteChanges,
    /// Who sent the write. `None` for a write of the server itself, and if an older version accepted it.
    pub sender: Option<Sender>,
    /// Whether its memories have their vectors. `None` in a list, and for a model whose vectors do not follow in the
    /// background.
    pub vectors: Option<VectorState>,
}

/// Who sent a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The holder of an API key.
    Key {
        /// The id of the key.
        id: String,
        /// The name of the key. `None` if its record no longer exists or cannot be decoded.
        name: Option<String>,
    },
    /// A person with a session of the dashboard.
    Session {
        /// The email address, if the issuer provides it.
        email: Option<String>,
    },
}

/// Which writes a list has.
#[derive(Clone, Debug, Default)]
pub struct WriteFilter {
    /// The id of the namespace of the writes; `None` for all. The writes of a deleted namespace are not those of a later
    /// one with the same name.
    pub namespace: Option<NamespaceId>,
    /// The statuses of the writes; empty for all.
    pub statuses: Vec<WriteStatus>,
    /// Only writes that were accepted before this one.
    pub before: Option<MessageId>,
}

/// A page of a list of writes, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WritePage {
    /// The writes.
    pub writes: Vec<Write>,
    /// The last write that was read, if there are older ones.
    pub next: Option<MessageId>,
}

/// How far the worker of a long write is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteParts {
    /// Parts that are done.
    pub done: u64,
    /// All parts.
    pub total: u64,
}

impl WriteParts {
    fn of(progress: WorkProgress) -> Self {
        let WorkProgress { done, total } = progress;
        Self { done, total }
    }
}

impl Write {
    /// A write that has not ended.
    fn unfinished(record: WriteRecord, status: WriteStatus, attempts: u32) -> Self {
        Self {
            id: record.id,
            namespace: record.namespace,
            namespace_id: record.namespace_id,
            status,
            attempts,
            accepted_at_ms: record.accepted_at_ms,
            finished_at_ms: None,
            error: None,
            progress: None,
            changes: WriteChanges::default(),
            sender: None,
            vectors: None,
        }
    }

    fn finished(record: WriteRecord, outcome: WriteOutcome) -> Self {
        let status = match outcome.end {
            WriteEnd::Ingested => WriteStatus::Ingested,
            WriteEnd::Dropped => WriteStatus::Dropped,
        };
        Self {
            finished_at_ms: Some(outcome.finished_at_ms),
            error: code_of(outcome.error.as_deref()),
            changes: outcome.changes,
            ..Self::unfinished(record, status, outcome.attempts)
        }
    }
}

impl Intake {
    /// Returns a write of an account. `None` if the account has none with this id, or if it is older than 14 days.
    pub fn write(&self, account: &AccountId, id: MessageId) -> Result<Option<Write>> {
        if self.is_expired(id) {
            return Ok(None);
        }
        match self.store.write_record(account, id)? {
            Some(record) => {
                let write = self.write_of(account, record)?;
                Ok(Some(Write { vectors: self.vector_state(account, &write)?, ..write }))
            }
            None => Ok(None),
        }
    }

    /// Returns up to `limit` writes of an account, newest first. A page that ends before `limit` because few writes
    /// pass the filter has a `next`.
    pub fn writes(&self, account: &AccountId, filter: &WriteFilter, limit: usize) -> Result<WritePage> {
        let mut page = WritePage::default();
        let mut before = filter.before;
        let mut reads = 0;
        while reads < PAGE_READS_MAX {
            let records = self.store.write_records(account, before, PAGE_RECORDS)?;
            let is_last = records.len() < PAGE_RECORDS;
            reads += records.len();
            for record in records {
                if self.is_expired(record.id) {
                    return Ok(page);
                }
                if page.writes.len() == limit {
                    page.next = before;
                    return Ok(page);
                }
                before = Some(record.id);
                if filter.namespace.is_some_and(|namespace| namespace != record.namespace_id) {
                    continue;
                }
                let write = self.write_of(account, record)?;
                if filter.statuses.is_empty() || filter.statuses.contains(&write.status) {
                    page.writes.push(write);
                }
            }
            if is_last {
                return Ok(page);
            }
        }
        page.next = before;
        Ok(page)
    }

    /// Whether a write is too old to be shown.
    fn is_expired(&self, id: MessageId) -> bool {
        let accepted_ms = i64::try_from(id.timestamp_ms()).unwrap_or(i64::MAX);
        accepted_ms < self.clock.now_ms() - WRITE_RETENTION_MS
    }

    fn write_of(&self, account: &AccountId, record: WriteRecord) -> Result<Write> {
        let sender = self.sender_of(&record)?;
        let id = record.id;
        // Read before the progress: a write that a worker has is still in the queue's record, or is finished.
        let was_in_progress = self.queue.is_in_progress(record.namespace_id, id);
        let write = match self.store.write_progress(account, &record)? {
            WriteProgress::Queued { failures } if was_in_progress => Write {
                progress: self.queue.progress().get(id).map(WriteParts::of),
                ..Write::unfinished(record, WriteStatus::Ingesting, failures.saturating_add(1))
            },
            WriteProgress::Queued { failures: 0 } => Write::unfinished(record, WriteStatus::Queued, 0),
            WriteProgress::Queued { failures } => Write::unfinished(record, WriteStatus::Retrying, failures),
            // The worker still has to publish the vocabulary.
            WriteProgress::Finished(outcome) if self.queue.is_in_progress(record.namespace_id, id) => {
                Write::unfinished(record, WriteStatus::Ingesting, outcome.attempts)
            }
            WriteProgress::Finished(outcome) => Write::finished(record, outcome),
            WriteProgress::Dead(letter) => Write {
                finished_at_ms: Some(letter.died_at_ms),
                error: code_of(letter.error.as_deref()),
                ..Write::unfinished(record, WriteStatus::Dead, letter.failures)
            },
            WriteProgress::NamespaceGone => Write::unfinished(record, WriteStatus::Dropped, 0),
            WriteProgress::Unreadable => {
                Write { error: Some(ErrorCode::Internal), ..Write::unfinished(record, WriteStatus::Dead, 0) }
            }
        };
        Ok(Write { sender, ..write })
    }

    /// Returns whether the memories of a write have their vectors. `None` for a model whose vectors do not follow in the
    /// background.
    fn vector_state(&self, account: &AccountId, write: &Write) -> Result<Option<VectorState>> {
        if !self.vectors.are_deferred() {
            return Ok(None);
        }
        match write.status {
            WriteStatus::Queued | WriteStatus::Ingesting | WriteStatus::Retrying => Ok(Some(VectorState::Pending)),
            WriteStatus::Dead | WriteStatus::Dropped => Ok(None),
            WriteStatus::Ingested => {
                let paths: Vec<&str> =
                    write.changes.made.iter().chain(&write.changes.rewritten).map(String::as_str).collect();
                self.vectors.state_of(account, &write.namespace, write.namespace_id, &paths)
            }
        }
    }

    fn sender_of(&self, record: &WriteRecord) -> Result<Option<Sender>> {
        Ok(match record.sender.clone() {
            Some(WriteSender::Key { id }) => {
                let name = match self.store.api_key(&id) {
                    Ok(key) => key.map(|key| key.name),
                    // Otherwise one key would hide all writes of a list.
                    Err(StorageError::Corrupt { .. }) => None,
                    Err(error) => return Err(error.into()),
                };
                Some(Sender::Key { id, name })
            }
            Some(WriteSender::Session { email }) => Some(Sender::Session { email }),
            None => None,
        })
    }

    /// Begins a wait for a write. The caller reads the write afterwards, because it may have ended already.
    pub fn wait_for_write(&self, id: MessageId) -> WriteWait {
        self.queue.waits().register(id)
    }

    /// Ends all waits for writes because the server stops.
    pub fn end_waits(&self) {
        self.queue.waits().end();
        self.vectors.wake_all();
    }

    /// Whether all waits for writes have ended because the server stops.
    pub fn waits_have_ended(&self) -> bool {
        self.queue.waits().have_ended()
    }
}

/// Returns a stored error code. `None` for a code that this version does not know.
fn code_of(text: Option<&str>) -> Option<ErrorCode> {
    ErrorCode::from_text(text?)
}
