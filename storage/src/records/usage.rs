//! How much each account used, by meter.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Store, decode, encode};
use crate::error::Result;
use crate::key_value::columns::joined;
use crate::key_value::{Batch, Column, Durability};

/// Months whose counts are kept.
const MONTHS_MAX: usize = 24;

/// One meter of an account.
///
/// The former form of the record held one month: `period` (`YYYY-MM`) and `base`, the total when that month began.
/// Reading turns it into an entry of `months`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredUsage")]
pub struct UsageRecord {
    /// The account's id.
    pub account: String,
    /// `writes`, `reads`, `chats`, or `media_bytes`.
    pub meter: String,
    /// Units ever used, which only grows; of `media_bytes`, the bytes stored now.
    pub total: u64,
    /// Units used by month (`YYYY-MM`), the newest months only. Empty for `media_bytes`.
    pub months: BTreeMap<String, u64>,
}

/// A record as it may be stored, in the former or the present form.
#[derive(Deserialize)]
struct StoredUsage {
    account: String,
    meter: String,
    total: u64,
    #[serde(default)]
    months: BTreeMap<String, u64>,
    #[serde(default)]
    period: String,
    #[serde(default)]
    base: u64,
}

impl From<StoredUsage> for UsageRecord {
    fn from(stored: StoredUsage) -> Self {
        let StoredUsage { account, meter, total, mut months, period, base } = stored;
        let counted = total.saturating_sub(base);
        if months.is_empty() && !period.is_empty() && counted > 0 {
            months.insert(period, counted);
        }
        Self { account, meter, total, months }
    }
}

impl UsageRecord {
    /// Units used in a month, `YYYY-MM`.
    pub fn used_in(&self, month: &str) -> u64 {
        self.months.get(month).copied().unwrap_or(0)
    }

    /// Counts units of a month. The oldest other month is dropped when there are more than 24.
    pub fn count(&mut self, month: &str, units: u64) {
        self.total = self.total.saturating_add(units);
        let counted = self.months.entry(month.to_owned()).or_insert(0);
        *counted = counted.saturating_add(units);
        while self.months.len() > MONTHS_MAX {
            // A clock that went back counts in a month that may be the oldest: it stays.
            let Some(oldest) = self.months.keys().find(|kept| *kept != month).cloned() else { return };
            self.months.remove(&oldest);
        }
    }
}

impl Store {
    /// Returns a meter of an account; none when it never counted.
    pub fn usage(&self, account: &str, meter: &str) -> Result<Option<UsageRecord>> {
        let found = self.kv.get(Column::Usage, &joined(account, meter))?;
        found.map(|bytes| decode(Column::Usage, &bytes)).transpose()
    }

    /// Writes meters in one batch. Survives the death of the process, not the loss of power.
    pub fn put_usages(&self, records: &[UsageRecord]) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::new();
        for record in records {
            put(&mut batch, record)?;
        }
        self.kv.write(&batch, Durability::Buffered)
    }

    /// Adds up the bytes of an account's uploaded files from their records. Reads every one of them.
    pub fn media_bytes(&self, account: &str) -> Result<u64> {
        let mut bytes = 0u64;
        for namespace in self.namespaces(account, None, usize::MAX)? {
            for record in self.media_of(namespace.id)? {
                bytes = bytes.saturating_add(record.bytes);
            }
        }
        Ok(bytes)
    }
}

pub(super) fn put(batch: &mut Batch, record: &UsageRecord) -> Result<()> {
    batch.put(Column::Usage, joined(&record.account, &record.meter), encode(record)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_the_former_form_becomes_one_month() {
        let former = r#"{"account":"a","meter":"reads","total":57,"period":"2026-01","base":7}"#;
        let record: UsageRecord = serde_json::from_str(former).expect("reads");
        assert_eq!((record.total, record.used_in("2026-01"), record.used_in("2026-02")), (57, 50, 0));
        let present = serde_json::to_string(&record).expect("writes");
        assert!(!present.contains("period") && !present.contains("base"), "{present}");
        assert_eq!(serde_json::from_str::<UsageRecord>(&present).expect("reads"), record);
    }

    #[test]
    fn months_are_kept_apart_and_the_oldest_ones_dropped() {
        let mut record = UsageRecord::default();
        for month in ["2026-01", "2026-02", "2026-01"] {
            record.count(month, 5);
        }
        assert_eq!((record.used_in("2026-01"), record.used_in("2026-02"), record.total), (10, 5, 15));
        for year in 2027..2060 {
            record.count(&format!("{year}-01"), 1);
        }
        assert_eq!((record.months.len(), record.used_in("2026-01"), record.used_in("2059-01")), (MONTHS_MAX, 0, 1));
        record.count("1999-12", 3);
        assert_eq!((record.months.len(), record.used_in("1999-12")), (MONTHS_MAX, 3));
        assert_eq!(record.total, 15 + 33 + 3);
    }
}
