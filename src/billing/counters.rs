//! The counters in memory, and their records in the store.
//!
//! Each counter has two locks. `write_order` is held while a record of the counter is written: records are absolute
//! totals and must reach the store in the order of counting. `state` is held for a few instructions only, so that
//! neither [`Permit::charge`](super::permit::Permit::charge) nor reading a meter waits for a write in progress.
//!
//! A batch with a charge can fail although it was written. Such charges are kept, and the store is read before the next
//! record is written.
//!
//! If several processes share the database, a counter holds what this process counted, which is what it writes, and
//! what the others counted, which it reads again after a second. Reservations are known to their process only. Between
//! two reads, several processes can therefore exceed a limit together, by what they reserve and use in that second.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebase_storage::records::{Meter, UsageRecord};
use cuebase_storage::{AccountId, Error as StorageError, Store};
use jiff::Timestamp;
use parking_lot::{Condvar, Mutex};

use super::month::month_of;
use crate::clock::Clock;
use crate::error::Result;

/// Maximum number of records written in one batch.
const BATCH_RECORDS_MAX: usize = 1000;
/// How long the counts of other processes are used before they are read again, in milliseconds.
const OTHERS_MS_MAX: u64 = 1000;
/// How long a level is used before it is read again, in milliseconds. To read it, the record of each file is read.
const LEVEL_MS_MAX: u64 = 60_000;

/// Every counter that was used since the start.
pub(super) struct CounterRegistry {
    store: Arc<Store>,
    /// The time by which a unit belongs to a month.
    pub(super) clock: Clock,
    by_meter: Mutex<HashMap<(AccountId, Meter), Arc<Counter>>>,
    unwritten: Mutex<UnwrittenCounters>,
    /// Notified when `unwritten` gets a counter, and when the registry is closed.
    has_work: Condvar,
    /// Notified when the registry is closed.
    closing: Condvar,
    /// Held over [`CounterRegistry::flush`], so that a flush also waits for the records that another one is writing.
    flushing: Mutex<()>,
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
    /// What this process counted; for a level, the level. If no other process counts, that is the usage.
    pub(super) record: UsageRecord,
    /// What other processes counted. Empty for a level, and if there are none.
    pub(super) others: UsageRecord,
    /// When `others`, or the level, was read, in milliseconds since the epoch.
    read_at_ms: i64,
    /// Units of permits that are neither charged nor dropped.
    pub(super) reserved: u64,
    /// Whether the counter is in [`UnwrittenCounters`], or about to be.
    is_listed: bool,
    /// Charges whose batch failed and may have been written nevertheless, since the last record that was written. Each
    /// would have replaced that record, so at most one of them was.
    pub(super) unconfirmed: Vec<CountedCharge>,
}

/// A charge and the record that its batch writes.
pub(super) struct CountedCharge {
    pub(super) record: UsageRecord,
    pub(super) change: UsageChange,
    pub(super) month: String,
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
        Self {
            store,
            clock,
            by_meter: Mutex::default(),
            unwritten: Mutex::default(),
            has_work: Condvar::new(),
            closing: Condvar::new(),
            flushing: Mutex::default(),
        }
    }

    /// Whether other processes write parts of the same records.
    pub(super) fn shares_usage(&self) -> bool {
        self.store.shares_usage()
    }

    /// Returns the counter of an account and meter, read from the store at its first use. Reads the part of other
    /// processes again if it is too old.
    pub(super) fn counter(&self, account: &AccountId, meter: Meter) -> Result<Arc<Counter>> {
        let key = (account.clone(), meter);
        let known = self.by_meter.lock().get(&key).cloned();
        if let Some(counter) = known {
            if self.store.shares_usage() {
                self.refresh(&counter, account, meter)?;
            }
            return Ok(counter);
        }
        // Read without the lock: a slow read for one account must not delay the others.
        let read = self.read(account, meter)?;
        let mut by_meter = self.by_meter.lock();
        let counter = by_meter.entry(key).or_insert_with(|| Arc::new(read));
        Ok(Arc::clone(counter))
    }

    fn read(&self, account: &AccountId, meter: Meter) -> Result<Counter> {
        let read_at_ms = self.clock.now_ms();
        let empty = UsageRecord::new(account, meter);
        // A level is the sum over the records of the files, so no crash can make it wrong.
        if meter == Meter::MediaBytes {
            let level = UsageRecord { total: self.store.media_bytes(account)?, ..empty.clone() };
            return Ok(Counter::new(level, empty, read_at_ms));
        }
        let others = self.store.usage_of_others(account, meter)?;
        Ok(Counter::new(self.store.own_usage(account, meter)?, others, read_at_ms))
    }

    /// Reads again what changes in other processes, if it is too old.
    fn refresh(&self, counter: &Counter, account: &AccountId, meter: Meter) -> Result<()> {
        let age_ms_max = if meter == Meter::MediaBytes { LEVEL_MS_MAX } else { OTHERS_MS_MAX };
        let now_ms = self.clock.now_ms();
        let mut state = counter.state.lock();
        // The clock may have gone back.
        if state.read_at_ms.abs_diff(now_ms) < age_ms_max {
            return Ok(());
        }
        // Set before the read, so that concurrent callers use the former value and do not read as well.
        state.read_at_ms = now_ms;
        let level = state.record.total;
        drop(state);
        if meter == Meter::MediaBytes {
            let stored = self.store.media_bytes(account)?;
            let mut state = counter.state.lock();
            // While this process changes the level, the sum may contain a change that is not counted here yet, or lack
            // one that is. Then it is left to the next read.
            if state.record.total == level && state.reserved == 0 {
                state.record.total = stored;
            }
            return Ok(());
        }
        let others = self.store.usage_of_others(account, meter)?;
        counter.state.lock().others = others;
        Ok(())
    }

    /// Returns the units used in the current month, with what other processes wrote until now; for a level, the level.
    pub(super) fn current_used(&self, account: &AccountId, meter: Meter) -> Result<u64> {
        let shares_usage = self.store.shares_usage();
        if shares_usage && meter == Meter::MediaBytes {
            return Ok(self.store.media_bytes(account)?);
        }
        let counter = self.counter(account, meter)?;
        if !shares_usage {
            let used = counter.state.lock().used(meter, self.clock.now());
            return Ok(used);
        }
        let others = self.store.usage_of_others(account, meter)?;
        let mut state = counter.state.lock();
        state.others = others;
        Ok(state.used(meter, self.clock.now()))
    }

    /// Returns the units ever used, with what other processes counted until now.
    pub(super) fn current_total(&self, account: &AccountId, meter: Meter) -> Result<u64> {
        let counter = self.counter(account, meter)?;
        if !self.store.shares_usage() {
            let total = counter.state.lock().total();
            return Ok(total);
        }
        let others = self.store.usage_of_others(account, meter)?;
        let mut state = counter.state.lock();
        state.others = others;
        Ok(state.total())
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
            self.closing.wait_until(&mut unwritten, until);
        }
    }

    /// Ends every wait.
    pub(super) fn close(&self) {
        self.unwritten.lock().is_closed = true;
        self.has_work.notify_all();
        self.closing.notify_all();
    }

    /// Writes the record of every listed counter. Counters whose record could not be written stay listed.
    pub(super) fn flush(&self) -> Result<()> {
        let _flushing = self.flushing.lock();
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
        let written = self.write_records(counters);
        for counter in counters {
            match written {
                Ok(()) => counter.state.lock().unconfirmed.clear(),
                Err(_) => self.list_unwritten(counter),
            }
        }
        Ok(written?)
    }

    fn write_records(&self, counters: &[&Arc<Counter>]) -> Result<(), StorageError> {
        loop {
            let mut records = Vec::with_capacity(counters.len());
            for counter in counters {
                self.confirm(counter)?;
                let mut state = counter.state.lock();
                state.is_listed = false;
                records.push(state.record.clone());
            }
            match self.store.put_usages(&records) {
                // A batch that had failed was written since it was asked for.
                Err(StorageError::ConditionFailed { .. }) => {}
                written => return written,
            }
        }
    }

    /// Counts the charge whose batch was written although it failed, if there is one. The caller holds `write_order`
    /// of the counter.
    pub(super) fn confirm(&self, counter: &Counter) -> Result<(), StorageError> {
        let (account, meter) = {
            let state = counter.state.lock();
            if state.unconfirmed.is_empty() {
                return Ok(());
            }
            (state.record.account.clone(), state.record.meter)
        };
        let stored = self.store.own_usage(&account, meter)?;
        counter.state.lock().confirm(&stored);
        Ok(())
    }
}

impl Counter {
    fn new(record: UsageRecord, others: UsageRecord, read_at_ms: i64) -> Self {
        let state = CounterState { record, others, read_at_ms, reserved: 0, is_listed: false, unconfirmed: Vec::new() };
        Self { state: Mutex::new(state), write_order: Mutex::default() }
    }
}

impl CounterState {
    /// Returns the units used in the month of a time; for a level, the level.
    pub(super) fn used(&self, meter: Meter, now: Timestamp) -> u64 {
        match meter {
            Meter::MediaBytes => self.record.total,
            Meter::Writes | Meter::Reads | Meter::Chats => {
                let month = month_of(now);
                self.record.used_in(&month).saturating_add(self.others.used_in(&month))
            }
        }
    }

    /// Returns the units ever used.
    pub(super) fn total(&self) -> u64 {
        self.record.total.saturating_add(self.others.total)
    }

    /// Applies a change to the record in memory and releases the units reserved for it.
    pub(super) fn apply(&mut self, change: UsageChange, month: &str, reserved: u64) {
        change.apply(&mut self.record, month);
        self.reserved = self.reserved.saturating_sub(reserved);
    }

    /// Counts the charge that is in the stored record. The others remain: unless one of them was written, they may be
    /// written later.
    fn confirm(&mut self, stored: &UsageRecord) {
        for charge in &self.unconfirmed {
            if charge.record.total == stored.total {
                charge.change.apply(&mut self.record, &charge.month);
                self.unconfirmed.clear();
                return;
            }
        }
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
