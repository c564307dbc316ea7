//! Counting units, exactly once each.
//!
//! A meter of an account is one record with its total ever and where the month began. Its lock is held while the record
//! is written, so records reach the store in the order of counting; two meters never wait for each other.

use std::collections::HashMap;
use std::sync::Arc;

use cuebase_storage::Store;
use cuebase_storage::records::UsageRecord;
use jiff::Timestamp;
use parking_lot::Mutex;

use super::period;
use crate::service::Outcome;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meter {
    /// Accepted memory, vocabulary and skills requests.
    Writes,
    /// Retrievals and skill searches.
    Reads,
    /// Answers.
    Chats,
}

impl Meter {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Writes, Self::Reads, Self::Chats];

    /// As the API names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Reads => "reads",
            Self::Chats => "chats",
        }
    }
}

/// The meters of all accounts.
pub struct Meters {
    store: Arc<Store>,
    counters: Mutex<HashMap<(String, Meter), Shared>>,
}

type Shared = Arc<Mutex<Counter>>;

#[derive(Clone)]
struct Counter {
    record: UsageRecord,
    /// Permits that are out.
    reserved: u64,
}

/// Leave to use one unit.
pub struct Permit<'a> {
    meters: &'a Meters,
    counter: Shared,
}

impl Meters {
    pub(super) fn new(store: Arc<Store>) -> Self {
        Self { store, counters: Mutex::new(HashMap::new()) }
    }

    /// Leave to use one unit, unless the month's limit is reached by what was used and what is under way.
    pub(super) fn reserve(&self, account: &str, meter: Meter, limit: u64) -> Outcome<Option<Permit<'_>>> {
        let counter = self.counter(account, meter)?;
        let mut held = counter.lock();
        held.turn(&period(Timestamp::now()));
        if held.used() + held.reserved >= limit {
            return Ok(None);
        }
        held.reserved += 1;
        drop(held);
        Ok(Some(Permit { meters: self, counter }))
    }

    /// Units used in the current month.
    pub(super) fn used(&self, account: &str, meter: Meter) -> Outcome<u64> {
        let counter = self.counter(account, meter)?;
        let mut held = counter.lock();
        held.turn(&period(Timestamp::now()));
        Ok(held.used())
    }

    /// Units ever used.
    pub(super) fn total(&self, account: &str, meter: Meter) -> Outcome<u64> {
        Ok(self.counter(account, meter)?.lock().record.total)
    }

    fn counter(&self, account: &str, meter: Meter) -> Outcome<Shared> {
        let mut counters = self.counters.lock();
        if let Some(counter) = counters.get(&(account.to_owned(), meter)) {
            return Ok(Arc::clone(counter));
        }
        let fresh = || UsageRecord { account: account.into(), meter: meter.name().into(), ..UsageRecord::default() };
        let record = self.store.usage(account, meter.name())?.unwrap_or_else(fresh);
        let counter = Arc::new(Mutex::new(Counter { record, reserved: 0 }));
        counters.insert((account.to_owned(), meter), Arc::clone(&counter));
        Ok(counter)
    }
}

impl Counter {
    fn used(&self) -> u64 {
        self.record.total - self.record.base
    }

    /// Begins a new month where one has begun.
    fn turn(&mut self, period: &str) {
        if self.record.period != period {
            self.record.base = self.record.total;
            period.clone_into(&mut self.record.period);
        }
    }
}

impl Permit<'_> {
    /// Counts the unit. Where the disk takes no writes it counts all the same, and is written with the next one: what
    /// was asked for has been done.
    pub fn charge(self) {
        let mut held = self.counter.lock();
        held.turn(&period(Timestamp::now()));
        held.record.total += 1;
        if let Err(error) = self.meters.store.put_usage(&held.record) {
            tracing::error!(account = held.record.account, %error, "a unit could not be written down yet");
        }
    }

    /// Has the unit counted by whoever writes the record that is handed over, in one batch with what it pays for, and
    /// says so with true. An error, or false, counts nothing.
    pub fn charge_with<T>(self, write: impl FnOnce(&UsageRecord) -> Outcome<(T, bool)>) -> Outcome<T> {
        let mut held = self.counter.lock();
        held.turn(&period(Timestamp::now()));
        let mut next = held.record.clone();
        next.total += 1;
        let (value, counted) = write(&next)?;
        if counted {
            held.record = next;
        }
        Ok(value)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut held = self.counter.lock();
        held.reserved = held.reserved.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_count_once_and_survive_reopening() {
        let folder = tempfile::tempdir().expect("temporary directory");
        {
            let meters = Meters::new(Arc::new(Store::open(folder.path()).expect("opens")));
            let reserve = |limit| meters.reserve("a", Meter::Reads, limit).expect("reads");
            reserve(2).expect("leave").charge();
            let held = reserve(2).expect("leave");
            assert!(reserve(2).is_none(), "a permit that is out counts against the limit");
            drop(held);
            reserve(2).expect("leave").charge();
            assert!(reserve(2).is_none());
            let duplicate = reserve(9).expect("leave").charge_with(|_| Ok(((), false)));
            assert!(duplicate.is_ok());
            assert_eq!(meters.used("b", Meter::Reads).expect("reads"), 0);
        }
        let meters = Meters::new(Arc::new(Store::open(folder.path()).expect("opens")));
        assert_eq!(meters.used("a", Meter::Reads).expect("reads"), 2);
        assert_eq!(meters.total("a", Meter::Reads).expect("reads"), 2);
    }

    #[test]
    fn a_new_month_begins_at_zero_and_forgets_nothing() {
        let record = UsageRecord { total: 7, base: 3, period: "2026-01".into(), ..UsageRecord::default() };
        let mut counter = Counter { record, reserved: 0 };
        counter.turn("2026-01");
        assert_eq!(counter.used(), 4);
        counter.turn("2026-02");
        assert_eq!((counter.used(), counter.record.total), (0, 7));
    }
}
