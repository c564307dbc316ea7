//! What a process knows of the parts of meters that it writes, see `usage_parts.rs`.

use std::collections::HashMap;
use std::mem;

use parking_lot::Mutex;

use super::ownership::NodeId;
use super::usage_keys::{id_of_key, part_key};
use super::usage_record::{Meter, UsageRecord};
use crate::error::{Error, Result};
use crate::identity::AccountId;
use crate::key_value::Column;

/// A meter of an account.
type MeterKey = (AccountId, Meter);

/// Where this process writes what it counts.
pub(super) enum UsageParts {
    /// The process is the only one with the database. A meter is one record.
    Alone,
    /// The process shares the database, and writes parts.
    OfProcess(Mutex<OwnParts>),
}

/// The parts of this process.
#[derive(Default)]
pub(super) struct OwnParts {
    /// The id under which the process counts. `None` before its first part, and after the id was ended.
    pub(super) id: Option<NodeId>,
    /// The parts under `id`.
    written: HashMap<MeterKey, WrittenPart>,
    /// The sums of the parts that this process wrote under ended ids. They belong to the others' part now.
    pub(super) former: HashMap<MeterKey, UsageRecord>,
}

/// A part as far as this process knows it.
#[derive(Default)]
struct WrittenPart {
    /// The part that was written last.
    stored: Option<UsageRecord>,
    /// A later part that is being written, or whose write failed with an unknown outcome.
    unconfirmed: Option<UsageRecord>,
    /// Whether a batch met another part than `stored`: an earlier write was applied after its answer was lost.
    is_outdated: bool,
}

/// A part that a batch writes.
pub(super) struct PartWrite {
    pub(super) id: NodeId,
    pub(super) part: UsageRecord,
}

impl UsageParts {
    /// The parts of a process that shares the database and has counted nothing.
    pub(super) fn of_process() -> Self {
        Self::OfProcess(Mutex::default())
    }

    /// Takes note of the parts that a batch is about to write.
    pub(super) fn begin_write(&self, writes: &[PartWrite]) {
        let Self::OfProcess(parts) = self else { return };
        let mut own = parts.lock();
        for write in writes {
            if own.id == Some(write.id) {
                own.written.entry(write.key()).or_default().unconfirmed = Some(write.part.clone());
            }
        }
    }

    /// Takes note of the outcome of a batch with parts.
    pub(super) fn end_write(&self, writes: &[PartWrite], outcome: &Result<()>) {
        let Self::OfProcess(parts) = self else { return };
        let mut own = parts.lock();
        for write in writes {
            if own.id != Some(write.id) {
                continue;
            }
            let Some(written) = own.written.get_mut(&write.key()) else { continue };
            match outcome {
                Ok(()) => *written = WrittenPart { stored: Some(write.part.clone()), ..WrittenPart::default() },
                Err(Error::ConditionFailed { column: Column::Usage, key }) => {
                    written.unconfirmed = None;
                    written.is_outdated = *key == write.part_key();
                }
                Err(Error::ConditionFailed { .. }) => written.unconfirmed = None,
                Err(_) => {}
            }
        }
        if let Err(error) = outcome
            && let Some(id) = ended_id(error)
        {
            own.end(id);
        }
    }
}

impl OwnParts {
    /// Stops counting under an id, if it is the current one. A write with an unknown outcome counts as written: if it
    /// was not, its units are lost, in the account's favour.
    pub(super) fn end(&mut self, id: NodeId) {
        if self.id != Some(id) {
            return;
        }
        self.id = None;
        for (key, written) in mem::take(&mut self.written) {
            let Some(last) = written.unconfirmed.or(written.stored) else { continue };
            let former = self.former.entry(key).or_insert_with(|| UsageRecord::new(&last.account, last.meter));
            former.add(&last);
        }
    }

    /// Returns what this process wrote of a meter, under all its ids.
    pub(super) fn written(&self, account: &AccountId, meter: Meter) -> UsageRecord {
        let key = (account.clone(), meter);
        let mut sum = UsageRecord::new(account, meter);
        if let Some(former) = self.former.get(&key) {
            sum.add(former);
        }
        if let Some(written) = self.written.get(&key)
            && let Some(last) = written.unconfirmed.as_ref().or(written.stored.as_ref())
        {
            sum.add(last);
        }
        sum
    }

    /// Returns the id of a part that has to be read before it is written again. `None` if the part is known.
    pub(super) fn unknown_part(&self, account: &AccountId, meter: Meter) -> Option<NodeId> {
        let written = self.written.get(&(account.clone(), meter))?;
        if written.unconfirmed.is_none() && !written.is_outdated {
            return None;
        }
        self.id
    }

    /// Takes note of a part that was read.
    pub(super) fn confirm(&mut self, id: NodeId, account: &AccountId, meter: Meter, stored: Option<UsageRecord>) {
        if self.id == Some(id) {
            let known = WrittenPart { stored, ..WrittenPart::default() };
            self.written.insert((account.clone(), meter), known);
        }
    }

    /// Returns the part of a meter that is stored under the current id, as far as this process knows.
    pub(super) fn stored_part(&self, account: &AccountId, meter: Meter) -> Option<&UsageRecord> {
        self.written.get(&(account.clone(), meter))?.stored.as_ref()
    }

    /// Returns the part to write under the current id, for all that this process counted of a meter.
    pub(super) fn part_of(&self, usage: &UsageRecord) -> UsageRecord {
        let mut part = usage.clone();
        if let Some(former) = self.former.get(&(usage.account.clone(), usage.meter)) {
            part.subtract(former);
        }
        part
    }
}

impl PartWrite {
    fn key(&self) -> MeterKey {
        (self.part.account.clone(), self.part.meter)
    }

    fn part_key(&self) -> Vec<u8> {
        part_key(&self.part.account, self.part.meter, self.id)
    }
}

/// The id that a batch with parts met ended. `None` if it failed otherwise.
pub(super) fn ended_id(error: &Error) -> Option<NodeId> {
    match error {
        Error::ConditionFailed { column: Column::Usage, key } => id_of_key(key),
        _ => None,
    }
}
