//! The record of a meter: what an account used of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

use crate::identity::AccountId;

/// A kind of usage. Ordered by name.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr, EnumString,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Meter {
    /// Answers.
    Chats,
    /// Bytes of uploaded files that are stored now: a level, not a count, and never charged.
    MediaBytes,
    /// Retrievals and skill searches.
    Reads,
    /// Accepted memory, vocabulary and skills requests.
    Writes,
}

impl Meter {
    /// The meters that count units of a month and have a price.
    pub const PRICED: [Self; 3] = [Self::Writes, Self::Reads, Self::Chats];

    /// Returns the name in the API and in the store.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A meter of an account.
///
/// Every month is kept: the clock may return to any of them, and a month must never have a lower count than was accepted
/// in it. A month takes about 16 bytes, so a record grows by about 200 bytes in a year.
///
/// An earlier form of the record contained one month: `period` (`YYYY-MM`) and `base`, the total at the start of that
/// month. Deserialization converts it into an entry of `months`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredUsage")]
pub struct UsageRecord {
    /// The account's id.
    pub account: AccountId,
    /// What is counted.
    pub meter: Meter,
    /// Total units used, which never decreases. For `media_bytes`, the bytes currently stored.
    pub total: u64,
    /// Units used per month (`YYYY-MM`). Empty for `media_bytes`.
    pub months: BTreeMap<String, u64>,
}

/// The stored form of a record, earlier or current.
#[derive(Deserialize)]
struct StoredUsage {
    account: AccountId,
    meter: Meter,
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
    /// Returns the record of a meter that never counted.
    pub fn new(account: &AccountId, meter: Meter) -> Self {
        Self { account: account.clone(), meter, total: 0, months: BTreeMap::new() }
    }

    /// Returns the units used in a month, `YYYY-MM`.
    pub fn used_in(&self, month: &str) -> u64 {
        self.months.get(month).copied().unwrap_or(0)
    }

    /// Adds units to a month.
    pub fn count(&mut self, month: &str, units: u64) {
        self.total = self.total.saturating_add(units);
        let counted = self.months.entry(month.to_owned()).or_insert(0);
        *counted = counted.saturating_add(units);
    }

    /// Adds the units of another record of the same meter.
    pub(super) fn add(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        for (month, units) in &other.months {
            let counted = self.months.entry(month.clone()).or_insert(0);
            *counted = counted.saturating_add(*units);
        }
    }

    /// Subtracts the units of another record of the same meter.
    pub(super) fn subtract(&mut self, other: &Self) {
        self.total = self.total.saturating_sub(other.total);
        for (month, units) in &other.months {
            if let Some(counted) = self.months.get_mut(month) {
                *counted = counted.saturating_sub(*units);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_the_earlier_form_becomes_one_month() {
        let earlier = r#"{"account":"a","meter":"reads","total":57,"period":"2026-01","base":7}"#;
        let record: UsageRecord = serde_json::from_str(earlier).expect("reads");
        assert_eq!((record.total, record.used_in("2026-01"), record.used_in("2026-02")), (57, 50, 0));
        let current = serde_json::to_string(&record).expect("writes");
        assert!(!current.contains("period") && !current.contains("base"), "{current}");
        assert_eq!(serde_json::from_str::<UsageRecord>(&current).expect("reads"), record);
    }

    #[test]
    fn months_are_counted_separately() {
        let mut record = UsageRecord::new(&AccountId::default(), Meter::Reads);
        for month in ["2026-01", "2026-02", "2026-01"] {
            record.count(month, 5);
        }
        assert_eq!((record.used_in("2026-01"), record.used_in("2026-02"), record.total), (10, 5, 15));
    }

    #[test]
    fn a_month_keeps_its_count_after_many_other_months() {
        let mut record = UsageRecord::new(&AccountId::default(), Meter::Reads);
        record.count("2026-01", 25);
        for year in 1990..2060 {
            record.count(&format!("{year}-06"), 1);
        }
        record.count("2026-01", 25);
        assert_eq!((record.used_in("2026-01"), record.used_in("1990-06"), record.total), (50, 1, 120));
    }

    #[test]
    fn a_sum_keeps_all_months() {
        let mut sum = UsageRecord::new(&AccountId::default(), Meter::Reads);
        sum.count("2026-01", 25);
        let mut part = UsageRecord::new(&AccountId::default(), Meter::Reads);
        for year in 2027..2097 {
            part.count(&format!("{year}-06"), 1);
        }
        sum.add(&part);
        assert_eq!((sum.used_in("2026-01"), sum.used_in("2096-06"), sum.total), (25, 1, 95));
    }
}
