//! How far a write is: in the queue, a dead letter, or finished.

use serde::Deserialize;

use super::dead_letters::DeadLetter;
use super::queue_entry::queue_key;
use super::store::Store;
use super::writes::{WriteOutcome, WriteRecord, outcome_key};
use crate::error::{Error, Result};
use crate::identity::AccountId;
use crate::key_value::Column;

/// Reads of the places that can hold the state of a write, at most. A write that moves from one place to another during
/// a read is found by the next one.
const READS_MAX: usize = 4;

/// How far a write is.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteProgress {
    /// It is in the queue.
    Queued {
        /// Number of failed attempts.
        failures: u32,
    },
    /// It failed permanently.
    Dead(Box<DeadLetter>),
    /// It is finished.
    Finished(WriteOutcome),
    /// Its namespace was deleted.
    NamespaceGone,
    /// Its queue entry, dead letter or outcome cannot be decoded. It may have been set aside.
    Unreadable,
}

/// The part of a queue entry that shows its progress. The work is not decoded.
#[derive(Deserialize)]
struct QueuedProgress {
    failures: u32,
}

impl Store {
    /// Returns how far a write of an account is.
    pub fn write_progress(&self, account: &AccountId, record: &WriteRecord) -> Result<WriteProgress> {
        match self.readable_progress(account, record) {
            // Otherwise one record would hide all other writes of a list.
            Err(Error::Corrupt { .. }) => Ok(WriteProgress::Unreadable),
            progress => progress,
        }
    }

    fn readable_progress(&self, account: &AccountId, record: &WriteRecord) -> Result<WriteProgress> {
        let WriteRecord { id, namespace_id, .. } = *record;
        for _ in 0..READS_MAX {
            if !self.is_live(namespace_id)? {
                return Ok(WriteProgress::NamespaceGone);
            }
            if let Some(outcome) = self.get_record(Column::WriteOutcomes, &outcome_key(namespace_id, id))? {
                return Ok(WriteProgress::Finished(outcome));
            }
            let queued = queue_key(account, namespace_id, id);
            if let Some(QueuedProgress { failures }) = self.get_record(Column::Queue, &queued)? {
                return Ok(WriteProgress::Queued { failures });
            }
            if let Some(letter) = self.dead_letter(Some(account), id)? {
                return Ok(WriteProgress::Dead(Box::new(letter)));
            }
        }
        Ok(WriteProgress::Unreadable)
    }
}
