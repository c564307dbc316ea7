//! The parts of meters, when several processes share the database.
//!
//! Each process writes what it counted itself: one record per meter, under its own id. The sum of a meter's parts is
//! its usage. No process changes the part of another one, so parts are written without reading them first.
//!
//! Each batch expects the part as this process wrote it last. If the answer to a batch was lost, the part is read before
//! the next one, and if that batch is applied even later, the next one fails instead of replacing a part that it does
//! not know.
//!
//! A process counts under the id of its node, or under an id of its own before it has a session. The id has a record,
//! and every batch with a part expects that record to be empty. `usage_fold.rs` ends the ids of dead nodes and adds
//! their parts to the record without an id. A process whose id was ended cannot write its part again, which would count
//! the units twice: its batch fails, and it continues under a new id with what it had not written before.

use parking_lot::Mutex;

use super::ownership::NodeId;
use super::store::{Store, decode, encode};
use super::usage_keys::{id_key, part_key};
use super::usage_record::{Meter, UsageRecord};
use super::usage_state::{OwnParts, PartWrite, UsageParts};
use crate::error::Result;
use crate::identity::AccountId;
use crate::key_value::columns::joined;
use crate::key_value::{Batch, Column, Durability};

impl Store {
    /// Whether other processes may count units of the same accounts.
    pub fn shares_usage(&self) -> bool {
        matches!(self.usage_parts, UsageParts::OfProcess(_))
    }

    /// Returns what this process counted of a meter, as far as it wrote it. If no other process counts, that is the
    /// usage.
    pub fn own_usage(&self, account: &AccountId, meter: Meter) -> Result<UsageRecord> {
        if let UsageParts::OfProcess(parts) = &self.usage_parts {
            self.confirm_part(parts, account, meter)?;
            return Ok(parts.lock().written(account, meter));
        }
        let stored = self.usage(account, meter)?;
        Ok(stored.unwrap_or_else(|| UsageRecord::new(account, meter)))
    }

    /// Returns what other processes wrote of a meter until now, including processes that ended.
    pub fn usage_of_others(&self, account: &AccountId, meter: Meter) -> Result<UsageRecord> {
        let UsageParts::OfProcess(parts) = &self.usage_parts else { return Ok(UsageRecord::new(account, meter)) };
        loop {
            let (id, former) = {
                let own = parts.lock();
                (own.id, own.former.get(&(account.clone(), meter)).cloned())
            };
            let own_key = id.map(|id| part_key(account, meter, id));
            let read = self.sum_of_parts(account, meter, own_key.as_deref())?;
            if let Some(id) = id
                && !self.is_counting(id)?
            {
                parts.lock().end(id);
            }
            // Under another id than before, the own part may be among those that were read.
            if parts.lock().id == id {
                let mut others = read.unwrap_or_else(|| UsageRecord::new(account, meter));
                if let Some(former) = &former {
                    others.subtract(former);
                }
                return Ok(others);
            }
        }
    }

    /// Adds up the parts of a meter. `None` if there are none.
    pub(super) fn sum_of_parts(
        &self,
        account: &AccountId,
        meter: Meter,
        excluded: Option<&[u8]>,
    ) -> Result<Option<UsageRecord>> {
        let mut sum: Option<UsageRecord> = None;
        for (key, value) in self.kv.scan(Column::Usage, &joined(account, meter.name()), None, usize::MAX)? {
            if excluded == Some(key.as_slice()) {
                continue;
            }
            let part: UsageRecord = decode(Column::Usage, &value)?;
            match &mut sum {
                Some(sum) => sum.add(&part),
                None => sum = Some(part),
            }
        }
        Ok(sum)
    }

    /// Adds a meter to a batch, as it is after the units that this process counted. Returns the part that
    /// [`Self::write_with_parts`] needs to know about, if it is one.
    pub(super) fn put_usage(&self, batch: &mut Batch, usage: &UsageRecord) -> Result<Option<PartWrite>> {
        let UsageParts::OfProcess(parts) = &self.usage_parts else {
            batch.put(Column::Usage, joined(&usage.account, usage.meter.name()), encode(usage)?);
            return Ok(None);
        };
        // A level has no parts: one process removes what another one stored. It is read from the records of the files.
        if usage.meter == Meter::MediaBytes {
            return Ok(None);
        }
        let id = self.counting_id(parts)?;
        self.confirm_part(parts, &usage.account, usage.meter)?;
        let (part, stored) = {
            // If the id was ended in the meantime, the batch fails.
            let own = parts.lock();
            (own.part_of(usage), own.stored_part(&usage.account, usage.meter).map(encode).transpose()?)
        };
        let key = part_key(&part.account, part.meter, id);
        // Expected before the part, which is deleted after its id was ended.
        batch.expect(Column::Usage, id_key(id), Some(Vec::new()));
        batch.expect(Column::Usage, key.as_slice(), stored);
        batch.put(Column::Usage, key, encode(&part)?);
        Ok(Some(PartWrite { id, part }))
    }

    /// Reads the own part of a meter, if the outcome of its last write is unknown.
    fn confirm_part(&self, parts: &Mutex<OwnParts>, account: &AccountId, meter: Meter) -> Result<()> {
        let Some(id) = parts.lock().unknown_part(account, meter) else { return Ok(()) };
        let stored = self.get_record(Column::Usage, &part_key(account, meter, id))?;
        // A part is deleted only after its id was ended.
        if self.is_counting(id)? {
            parts.lock().confirm(id, account, meter, stored);
        } else {
            parts.lock().end(id);
        }
        Ok(())
    }

    /// Writes a batch, with the parts that [`Self::put_usage`] added to it.
    ///
    /// # Errors
    /// [`Error::ConditionFailed`](crate::Error::ConditionFailed) in [`Column::Usage`] if the id of this process was
    /// ended, or if an earlier write with a lost answer was applied in the meantime. The caller makes the batch again.
    pub(super) fn write_with_parts(&self, batch: &Batch, writes: &[PartWrite], durability: Durability) -> Result<()> {
        if writes.is_empty() {
            return self.kv.write(batch, durability);
        }
        self.usage_parts.begin_write(writes);
        let outcome = self.kv.write(batch, durability);
        self.usage_parts.end_write(writes, &outcome);
        outcome
    }

    /// Adds the id of a new node to the batch that begins its session, so that no id of a node lacks a session unless
    /// the node is dead.
    pub(super) fn add_counting_id(&self, batch: &mut Batch, id: NodeId) {
        if self.shares_usage() {
            put_id(batch, id);
        }
    }

    /// Counts under the id of a new node, whose session has begun.
    pub(super) fn count_under(&self, id: NodeId) {
        let UsageParts::OfProcess(parts) = &self.usage_parts else { return };
        let mut own = parts.lock();
        if let Some(former) = own.id {
            own.end(former);
        }
        own.id = Some(id);
    }

    /// Returns the id under which this process counts. Records a new one if it has none.
    fn counting_id(&self, parts: &Mutex<OwnParts>) -> Result<NodeId> {
        let mut own = parts.lock();
        if let Some(id) = own.id {
            return Ok(id);
        }
        let id = NodeId::generate();
        let mut batch = Batch::new();
        put_id(&mut batch, id);
        self.kv.write(&batch, Durability::Synced)?;
        own.id = Some(id);
        Ok(id)
    }

    /// Whether parts may be written under an id.
    fn is_counting(&self, id: NodeId) -> Result<bool> {
        Ok(self.kv.get(Column::Usage, &id_key(id))?.is_some_and(|state| state.is_empty()))
    }
}

fn put_id(batch: &mut Batch, id: NodeId) {
    batch.put_if_absent(Column::Usage, id_key(id), "");
}
