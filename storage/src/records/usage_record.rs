//! The record of a meter: what an account used of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

use crate::identity::AccountId;

/// Maximum number of months whose counts are kept.
const MONTHS_MAX: usize = 24;

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
    /// Units used per month (`YYYY-MM`), for the newest months. Empty for `media_bytes`.
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

    /// Adds units to a month. If there are more than 24 months, drops the oldest other ones.
    pub fn count(&mut self, month: &str, units: u64) {
        self.total = self.total.saturating_add(units);
        let counted = self.months.entry(month.to_owned()).or_insert(0);
        *counted = counted.saturating_add(units);
        while self.months.len() > MONTHS_MAX {
            // After the clock went back, the current month may be the oldest. It is kept.
            let Some(oldest) = self.months.keys().find(|kept| *kept != month).cloned() else { return };
            self.months.remove(&oldest);
        }
    }

    /// Adds the units of another record of the same meter. Keeps the newest 24 months.
    pub(super) fn add(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        for (month, units) in &other.months {
            let counted = self.months.entry(month.clone()).or_insert(0);
            *counted = counted.saturating_add(*units);
        }
        while self.months.len() > MONTHS_MAX {
            self.months.pop_first();
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
    fn months_are_counted_separately_and_the_oldest_are_dropped() {
        let mut record = UsageRecord::new(&AccountId::default(), Meter::Reads);
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
