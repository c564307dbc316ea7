//! [`AccountDay`]: the intervals of an account's last day.

use std::collections::HashMap;

use super::interval::Interval;

/// Length of an interval, in milliseconds.
pub(super) const INTERVAL_MS: i64 = 15 * 60 * 1000;
/// Intervals of a day.
pub(super) const INTERVALS: i64 = 96;

/// The last day of an account.
#[derive(Clone, Debug)]
pub(super) struct AccountDay {
    /// Begin of the record, milliseconds since the epoch.
    pub(super) began_ms: i64,
    /// Time of the last change, milliseconds since the epoch.
    pub(super) changed_ms: i64,
    /// The intervals with a request, by their number since the epoch.
    pub(super) intervals: HashMap<i64, Interval>,
}

impl AccountDay {
    pub(super) fn new(now_ms: i64) -> Self {
        Self { began_ms: now_ms, changed_ms: now_ms, intervals: HashMap::new() }
    }

    /// Returns the present interval. A new one drops those that are older than a day.
    pub(super) fn interval(&mut self, now_ms: i64) -> &mut Interval {
        self.changed_ms = now_ms;
        let number = number_of(now_ms);
        if !self.intervals.contains_key(&number) {
            self.intervals.retain(|kept, _| *kept > number - INTERVALS);
        }
        self.intervals.entry(number).or_default()
    }
}

/// Returns the number of the interval that contains a time.
pub(super) fn number_of(at_ms: i64) -> i64 {
    at_ms.div_euclid(INTERVAL_MS)
}
