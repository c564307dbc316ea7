//! Reserved units, and how they are charged.
//!
//! A batch written under a [`Charge`] must be buffered, and its sync belongs after [`Charge::commit`]: other charges of
//! the same meter wait meanwhile.

use std::sync::Arc;

use cuebase_storage::records::UsageRecord;
use parking_lot::MutexGuard;

use super::counters::{Counter, CounterRegistry, UsageChange};
use super::month::month_of;

/// Reserved units, or a reserved change of a level. Dropped without a charge, it changes nothing.
pub struct Permit<'a> {
    registry: &'a CounterRegistry,
    counter: Arc<Counter>,
    change: UsageChange,
    /// Units reserved for this permit; zero once they are charged.
    reserved: u64,
}

/// A charge in progress. No other charge of the same meter is written until it is dropped.
#[must_use = "nothing is counted unless it is committed"]
pub struct Charge<'p> {
    counter: &'p Counter,
    change: UsageChange,
    month: String,
    reserved: &'p mut u64,
    record: UsageRecord,
    _write_order: MutexGuard<'p, ()>,
}

impl<'a> Permit<'a> {
    /// Returns a permit for a change, for which the caller has reserved `reserved` units of the counter.
    pub(super) fn new(
        registry: &'a CounterRegistry,
        counter: Arc<Counter>,
        change: UsageChange,
        reserved: u64,
    ) -> Self {
        Self { registry, counter, change, reserved }
    }
}

impl Permit<'_> {
    /// Charges the units in memory and lists their record to be written soon, without waiting for it.
    pub fn charge(mut self) {
        let month = month_of(self.registry.clock.now());
        let reserved = std::mem::take(&mut self.reserved);
        self.counter.state.lock().apply(self.change, &month, reserved);
        self.registry.list_unwritten(&self.counter);
    }

    /// Begins a charge whose record the caller writes, in one batch with the write that it pays for. Waits while
    /// another record of the same meter is being written.
    pub fn charge_guard(&mut self) -> Charge<'_> {
        let counter: &Counter = &self.counter;
        let write_order = counter.write_order.lock();
        let month = month_of(self.registry.clock.now());
        let mut record = counter.state.lock().record.clone();
        self.change.apply(&mut record, &month);
        Charge { counter, change: self.change, month, reserved: &mut self.reserved, record, _write_order: write_order }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.counter.state.lock();
        state.reserved = state.reserved.saturating_sub(self.reserved);
    }
}

impl Charge<'_> {
    /// Returns the meter's record after the charge, to be written in one batch with the write that it pays for.
    pub fn record(&self) -> &UsageRecord {
        &self.record
    }

    /// Counts the units. To be called once the batch with the record is written.
    pub fn commit(self) {
        let reserved = std::mem::take(self.reserved);
        self.counter.state.lock().apply(self.change, &self.month, reserved);
    }
}
