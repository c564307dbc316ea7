//! Usage of each account, by meter.
//!
//! If several processes share the database, a meter consists of parts, see `usage_parts.rs` and `usage_fold.rs`.

use super::batch::RecordBatch;
use super::store::Store;
use super::usage_record::{Meter, UsageRecord};
use super::usage_state::{UsageParts, ended_id};
use crate::error::Result;
use crate::identity::AccountId;
use crate::key_value::columns::joined;
use crate::key_value::{Batch, Column, Durability};

impl Store {
    /// Returns a meter of an account, as all processes that share the database wrote it. `None` if it never counted.
    pub fn usage(&self, account: &AccountId, meter: Meter) -> Result<Option<UsageRecord>> {
        match &self.usage_parts {
            UsageParts::Alone => self.get_record(Column::Usage, &joined(account, meter.name())),
            UsageParts::OfProcess(_) => self.sum_of_parts(account, meter, None),
        }
    }

    /// Writes what this process counted, in one buffered batch: it survives the death of the process, but not a loss of
    /// power.
    ///
    /// # Errors
    /// [`ConditionFailed`](crate::Error::ConditionFailed) if several processes share the database and an earlier batch
    /// was applied after its answer was lost. The caller compares [`Self::own_usage`] with what it counted, and repeats
    /// the call.
    pub fn put_usages(&self, records: &[UsageRecord]) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        loop {
            let mut batch = Batch::new();
            let mut parts = Vec::new();
            for record in records {
                parts.extend(self.put_usage(&mut batch, record)?);
            }
            if parts.is_empty() && self.shares_usage() {
                return Ok(());
            }
            match self.write_with_parts(&batch, &parts, Durability::Buffered) {
                // The next batch has a new id.
                Err(error) if ended_id(&error).is_some() => {}
                outcome => return outcome,
            }
        }
    }

    /// Adds up the sizes of an account's uploaded files. Reads the record of each file.
    pub fn media_bytes(&self, account: &AccountId) -> Result<u64> {
        let mut bytes = 0u64;
        for namespace in self.namespaces(account, None, usize::MAX)? {
            for record in self.media_of_namespace(namespace.id)? {
                bytes = bytes.saturating_add(record.bytes);
            }
        }
        Ok(bytes)
    }
}

impl RecordBatch<'_> {
    /// Writes what this process counted of a meter, with the units that the batch pays for.
    ///
    /// If several processes share the database, the commit fails with
    /// [`ConditionFailed`](crate::Error::ConditionFailed) in [`Column::Usage`] once the id of this process was ended,
    /// and in the cases of [`Store::put_usages`].
    pub fn charge(&mut self, usage: &UsageRecord) -> Result<()> {
        self.usage_parts.extend(self.store.put_usage(&mut self.changes, usage)?);
        Ok(())
    }
}
