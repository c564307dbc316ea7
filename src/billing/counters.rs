//! The counters in memory, and their records in the store.
//!
//! Each counter has two locks. `write_order` is held while a record of the counter is written: records are absolute
//! totals and must reach the store in the order of counting. `state` is held for a few instructions only, so that
//! neither [`Permit::charge`](super::permit::Permit::charge) nor reading a meter waits for a write in progress.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebase_storage::records::{Meter, UsageRecord};
use cuebase_storage::{AccountId, Store};
use jiff::Timestamp;
use parking_lot::{Condvar, Mutex};

use super::month::month_of;
use crate::clock::Clock;
use crate::error::Result;

/// Maximum number of records written in one batch.
const BATCH_RECORDS_MAX: usize = 1000;

/// Every counter that was used since the start.
pub(super) struct CounterRegistry {
    store: Arc<Store>,
    /// The time by which a unit belongs to a month.
    pub(super) clock: Clock,
    by_meter: Mutex<HashMap<(AccountId, Meter), Arc<Counter>>>,
    unwritten: Mutex<UnwrittenCounters>,
    /// Notified when `unwritten` gets a counter, and when the registry is closed.
    has_work: Condvar,
}

/// Counters whose record in the store is out of date.
#[derive(Default)]
struct UnwrittenCounters {
    counters: Vec<Arc<Counter>>,
    is_closed: bool,
}

/// The counter of one account and meter.
pub(super) struct Counter {
    pub(super) state: Mutex<CounterState>,
    /// Held while a record of this counter is written.
    pub(super) write_order: Mutex<()>,
}

pub(super) struct CounterState {
    pub(super) record: UsageRecord,
    /// Units of permits that are neither charged nor dropped.
    pub(super) reserved: u64,
    /// Whether the counter is in [`UnwrittenCounters`], or about to be.
    is_listed: bool,
}

/// A change of a usage record.
#[derive(Clone, Copy)]
pub(super) enum UsageChange {
    /// Adds units used this month.
    Count(u64),
    /// Adds stored bytes.
    Keep(u64),
    /// Subtracts bytes that are no longer stored.
    Release(u64),
}

impl CounterRegistry {
    pub(super) fn new(store: Arc<Store>, clock: Clock) -> Self {
        Self { store, clock, by_meter: Mutex::default(), unwritten: Mutex::default(), has_work: Condvar::new() }
    }

    /// Returns the counter of an account and meter, read from the store at its first use.
    pub(super) fn counter(&self, account: &AccountId, meter: Meter) -> Result<Arc<Counter>> {
        let key = (account.clone(), meter);
        if let Some(counter) = self.by_meter.lock().get(&key) {
            return Ok(Arc::clone(counter));
        }
        // Read without the lock: a slow read for one account must not delay the others.
        let record = self.read(account, meter)?;
        let mut by_meter = self.by_meter.lock();
        let counter = by_meter.entry(key).or_insert_with(|| Arc::new(Counter::new(record)));
        Ok(Arc::clone(counter))
    }

    fn read(&self, account: &AccountId, meter: Meter) -> Result<UsageRecord> {
        let empty = UsageRecord::new(account, meter);
        // A level is the sum over the records of the files, so no crash can make it wrong.
        if meter == Meter::MediaBytes {
            return Ok(UsageRecord { total: self.store.media_bytes(account)?, ..empty });
        }
        Ok(self.store.usage(account, meter)?.unwrap_or(empty))
    }

    /// Lists a counter whose record in the store is out of date.
    pub(super) fn list_unwritten(&self, counter: &Arc<Counter>) {
        if std::mem::replace(&mut counter.state.lock().is_listed, true) {
            return;
        }
        self.unwritten.lock().counters.push(Arc::clone(counter));
        self.has_work.notify_all();
    }

    /// Waits until a record is out of date. Returns false once the registry is closed.
    pub(super) fn wait_for_changes(&self) -> bool {
        let mut unwritten = self.unwritten.lock();
        while unwritten.counters.is_empty() && !unwritten.is_closed {
            self.has_work.wait(&mut unwritten);
        }
        !unwritten.is_closed
    }

    /// Waits for a time, or until the registry is closed.
    pub(super) fn pause(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut unwritten = self.unwritten.lock();
        while !unwritten.is_closed && Instant::now() < until {
            self.has_work.wait_until(&mut unwritten, until);
        }
    }

    /// Ends every wait.
    pub(super) fn close(&self) {
        self.unwritten.lock().is_closed = true;
        self.has_work.notify_all();
    }

    /// Writes the record of every listed counter. Counters whose record could not be written stay listed.
    pub(super) fn flush(&self) -> Result<()> {
        let counters = std::mem::take(&mut self.unwritten.lock().counters);
        let mut result = Ok(());
        for batch in counters.chunks(BATCH_RECORDS_MAX) {
            result = result.and(self.write(batch));
        }
        result
    }

    fn write(&self, counters: &[Arc<Counter>]) -> Result<()> {
        let mut guards = Vec::new();
        let mut free = Vec::new();
        let mut busy = Vec::new();
        for counter in counters {
            // Waiting for one lock while holding others could deadlock.
            match counter.write_order.try_lock() {
                Some(guard) => {
                    guards.push(guard);
                    free.push(counter);
                }
                None => busy.push(counter),
            }
        }
        let mut result = self.write_locked(&free);
        drop(guards);
        for counter in busy {
            let _guard = counter.write_order.lock();
            result = result.and(self.write_locked(&[counter]));
        }
        result
    }

    /// Writes counters whose `write_order` the caller holds.
    fn write_locked(&self, counters: &[&Arc<Counter>]) -> Result<()> {
        let mut records = Vec::with_capacity(counters.len());
        for counter in counters {
            let mut state = counter.state.lock();
            state.is_listed = false;
            records.push(state.record.clone());
        }
        if let Err(error) = self.store.put_usages(&records) {
            for counter in counters {
                self.list_unwritten(counter);
            }
            return Err(error.into());
        }
        Ok(())
    }
}

impl Counter {
    fn new(record: UsageRecord) -> Self {
        let state = CounterState { record, reserved: 0, is_listed: false };
        Self { state: Mutex::new(state), write_order: Mutex::default() }
    }
}

impl CounterState {
    /// Returns the units used in the month of a time; for a level, the level.
    pub(super) fn used(&self, meter: Meter, now: Timestamp) -> u64 {
        match meter {
            Meter::MediaBytes => self.record.total,
            Meter::Writes | Meter::Reads | Meter::Chats => self.record.used_in(&month_of(now)),
        }
    }

    /// Applies a change to the record in memory and releases the units reserved for it.
    pub(super) fn apply(&mut self, change: UsageChange, month: &str, reserved: u64) {
        change.apply(&mut self.record, month);
        self.reserved = self.reserved.saturating_sub(reserved);
    }
}

impl UsageChange {
    pub(super) fn apply(self, record: &mut UsageRecord, month: &str) {
        match self {
            Self::Count(units) => record.count(month, units),
            Self::Keep(bytes) => record.total = record.total.saturating_add(bytes),
            Self::Release(bytes) => record.total = record.total.saturating_sub(bytes),
        }
    }
}
