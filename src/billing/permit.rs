//! Reserved units, and how they are charged.
//!
//! A batch written under a [`Charge`] must be buffered, and its sync belongs after [`Charge::finish`]: other charges of
//! the same meter wait meanwhile.

use std::sync::Arc;

use cuebase_storage::Error as StorageError;
use cuebase_storage::records::UsageRecord;
use parking_lot::MutexGuard;

use super::counters::{CountedCharge, Counter, CounterRegistry, UsageChange};
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
#[must_use = "nothing is counted unless it is finished"]
pub struct Charge<'p> {
    registry: &'p CounterRegistry,
    counter: &'p Arc<Counter>,
    counted: CountedCharge,
    reserved: &'p mut u64,
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
    ///
    /// # Errors
    /// Those of reading the store, which is only read if the outcome of an earlier charge is unknown.
    pub fn charge_guard(&mut self) -> Result<Charge<'_>, StorageError> {
        let write_order = self.counter.write_order.lock();
        self.registry.confirm(&self.counter)?;
        let month = month_of(self.registry.clock.now());
        let mut record = self.counter.state.lock().record.clone();
        self.change.apply(&mut record, &month);
        Ok(Charge {
            registry: self.registry,
            counter: &self.counter,
            counted: CountedCharge { record, change: self.change, month },
            reserved: &mut self.reserved,
            _write_order: write_order,
        })
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
        &self.counted.record
    }

    /// Counts the units if the batch with the record was written. To be called with the outcome of that batch. If it
    /// failed, it may have been written nevertheless, which the store is asked later.
    pub fn finish(self, outcome: &Result<(), StorageError>) {
        let mut state = self.counter.state.lock();
        match outcome {
            Ok(()) => {
                state.apply(self.counted.change, &self.counted.month, std::mem::take(self.reserved));
                state.unconfirmed.clear();
            }
            // The batch changed nothing.
            Err(StorageError::ConditionFailed { .. } | StorageError::NamespaceGone(_) | StorageError::NotOwner(_)) => {}
            Err(_) => {
                state.unconfirmed.push(self.counted);
                drop(state);
                self.registry.list_unwritten(self.counter);
            }
        }
    }
}
