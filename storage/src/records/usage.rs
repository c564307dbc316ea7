//! How much an account used, by meter.

use serde::{Deserialize, Serialize};

use super::{Store, decode, encode};
use crate::error::Result;
use crate::key_value::columns::joined;
use crate::key_value::{Batch, Column, Durability};

/// One meter of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRecord {
    /// Whose.
    pub account: String,
    /// `writes`, `reads` or `chats`.
    pub meter: String,
    /// Units ever used; only grows.
    pub total: u64,
    /// The month that `base` belongs to, `YYYY-MM`.
    pub period: String,
    /// `total` when that month began.
    pub base: u64,
}

impl Store {
    /// A meter of an account, if it ever counted.
    pub fn usage(&self, account: &str, meter: &str) -> Result<Option<UsageRecord>> {
        let found = self.kv.get(Column::Usage, &joined(account, meter))?;
        found.map(|bytes| decode(Column::Usage, &bytes)).transpose()
    }

    /// Writes a meter. Survives the death of the process, not the loss of power.
    pub fn put_usage(&self, record: &UsageRecord) -> Result<()> {
        let mut batch = Batch::new();
        put(&mut batch, record)?;
        self.kv.write(&batch, Durability::Buffered)
    }
}

pub(super) fn put(batch: &mut Batch, record: &UsageRecord) -> Result<()> {
    batch.put(Column::Usage, joined(&record.account, &record.meter), encode(record)?);
    Ok(())
}
