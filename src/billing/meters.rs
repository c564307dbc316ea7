//! Counting units, exactly once each.
//!
//! A meter of an account is one record: its total, and its units by month. What is used and what is reserved is known
//! in memory, so limits are exact at every moment. A unit reaches the store in one of two ways:
//!
//! - With the write that it pays for, in one batch: [`Permit::charge_guard`] gives the record to put into the batch, and
//!   [`Charge::commit`] counts the unit once the batch is written.
//! - Buffered: [`Permit::charge`] counts in memory and wakes a thread that writes all changed records in one batch,
//!   without a sync, usually within a millisecond. A caller never waits for the disk there. If the process is killed
//!   while the disk takes no writes, the units of that time are lost, in the account's favour.
//!
//! Each counter has two locks. `order` is held while a record of it is being written, since records are absolute totals
//! and must reach the store in the order of counting. `state` is held for a few instructions only, so that neither
//! [`Permit::charge`] nor reading a meter waits for a write under way. A batch written under a [`Charge`] must be
//! buffered; its sync belongs after [`Charge::commit`], because other charges of that meter wait meanwhile.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cuebase_storage::Store;
use cuebase_storage::records::UsageRecord;
use jiff::Timestamp;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::period;
use crate::error::Result;

/// Records written in one batch.
const BATCH_RECORDS_MAX: usize = 1000;
/// Pause between two batches, so that counts made meanwhile share one.
const WRITE_INTERVAL: Duration = Duration::from_millis(1);
/// Pause after a batch that could not be written.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meter {
    /// Accepted memory, vocabulary and skills requests.
    Writes,
    /// Retrievals and skill searches.
    Reads,
    /// Answers.
    Chats,
    /// Bytes of uploaded files that are stored now: a level, not a count, and never charged.
    MediaBytes,
}

impl Meter {
    /// The meters that count units of a month and have a price.
    pub const ALL: [Self; 3] = [Self::Writes, Self::Reads, Self::Chats];

    /// Returns the name in the API and in the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Reads => "reads",
            Self::Chats => "chats",
            Self::MediaBytes => "media_bytes",
        }
    }
}

/// The meters of all accounts, and the thread that writes them.
pub struct Meters {
    counters: Arc<Counters>,
    writer: Option<JoinHandle<()>>,
}

/// Every counter that was used since the start.
struct Counters {
    store: Arc<Store>,
    by_meter: Mutex<HashMap<(String, Meter), Arc<Counter>>>,
    changed: Mutex<Changed>,
    /// Notified when `changed` gets its first entry, and at the end.
    work: Condvar,
}

/// Counters whose record in the store is behind.
#[derive(Default)]
struct Changed {
    counters: Vec<Arc<Counter>>,
    closed: bool,
}

struct Counter {
    state: Mutex<State>,
    /// Held while a record of this counter is written.
    order: Mutex<()>,
}

struct State {
    record: UsageRecord,
    /// Units of permits that are neither counted nor dropped.
    reserved: u64,
    /// Whether the counter is in [`Changed`], or about to be.
    listed: bool,
}

/// What a permit does to its record.
#[derive(Clone, Copy)]
enum Change {
    /// Units used this month.
    Count(u64),
    /// Bytes that are stored from now on.
    Keep(u64),
    /// Bytes that are no longer stored.
    Release(u64),
}

/// Permission to use units, or to change a level. Dropped without a charge, it changes nothing.
pub struct Permit<'a> {
    counters: &'a Counters,
    counter: Arc<Counter>,
    change: Change,
    /// Units held back for this permit; zero once they are counted.
    reserved: u64,
}

/// A charge under way. No other charge of the same meter is written until it is dropped.
#[must_use = "nothing is counted unless it is committed"]
pub struct Charge<'p> {
    counter: &'p Counter,
    change: Change,
    month: String,
    reserved: &'p mut u64,
    record: UsageRecord,
    _order: MutexGuard<'p, ()>,
}

impl Meters {
    /// Opens the meters and starts the thread that writes them.
    pub(super) fn new(store: Arc<Store>) -> std::io::Result<Self> {
        let counters =
            Arc::new(Counters { store, by_meter: Mutex::default(), changed: Mutex::default(), work: Condvar::new() });
        let writing = Arc::clone(&counters);
        let writer = std::thread::Builder::new().name("meters".into()).spawn(move || write_changes(&writing))?;
        Ok(Self { counters, writer: Some(writer) })
    }

    /// Reserves units of a meter. None when the limit does not leave room for them in addition to what is used and reserved.
    pub(super) fn reserve(&self, account: &str, meter: Meter, units: u64, limit: u64) -> Result<Option<Permit<'_>>> {
        let counter = self.counters.counter(account, meter)?;
        let mut state = counter.state.lock();
        let wanted = state.used(meter).saturating_add(state.reserved).saturating_add(units);
        if wanted > limit {
            return Ok(None);
        }
        state.reserved = state.reserved.saturating_add(units);
        drop(state);
        let change = if meter == Meter::MediaBytes { Change::Keep(units) } else { Change::Count(units) };
        Ok(Some(Permit { counters: &self.counters, counter, change, reserved: units }))
    }

    /// Returns a permit that lowers the level of stored media.
    pub(super) fn release_media(&self, account: &str, bytes: u64) -> Result<Permit<'_>> {
        let counter = self.counters.counter(account, Meter::MediaBytes)?;
        Ok(Permit { counters: &self.counters, counter, change: Change::Release(bytes), reserved: 0 })
    }

    /// Returns the units used in the current month; of a level, the level.
    pub(super) fn used(&self, account: &str, meter: Meter) -> Result<u64> {
        let counter = self.counters.counter(account, meter)?;
        let used = counter.state.lock().used(meter);
        Ok(used)
    }

    /// Returns the units ever used.
    pub(super) fn total(&self, account: &str, meter: Meter) -> Result<u64> {
        let counter = self.counters.counter(account, meter)?;
        let total = counter.state.lock().record.total;
        Ok(total)
    }

    /// Writes every record that is behind, without a sync. Must not be called by a thread that holds a [`Charge`].
    pub(super) fn flush(&self) -> Result<()> {
        self.counters.flush()
    }
}

impl Drop for Meters {
    fn drop(&mut self) {
        self.counters.changed.lock().closed = true;
        self.counters.work.notify_all();
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the thread that writes the meters panicked");
        }
        if let Err(error) = self.flush() {
            tracing::error!(%error, "the last counts of used units could not be written");
        }
    }
}

/// Writes changed records until the meters are closed.
fn write_changes(counters: &Counters) {
    let mut failing = false;
    while counters.wait_for_changes() {
        match counters.flush() {
            Ok(()) => {
                if failing {
                    tracing::info!("counts of used units are written again");
                }
                failing = false;
                counters.pause(WRITE_INTERVAL);
            }
            Err(error) => {
                if !failing {
                    tracing::error!(%error, "counts of used units cannot be written and are kept in memory");
                }
                failing = true;
                counters.pause(RETRY_INTERVAL);
            }
        }
    }
}

impl Counters {
    fn counter(&self, account: &str, meter: Meter) -> Result<Arc<Counter>> {
        let key = (account.to_owned(), meter);
        if let Some(counter) = self.by_meter.lock().get(&key) {
            return Ok(Arc::clone(counter));
        }
        // Read without the lock: an account whose record is slow to read must not hold up the others.
        let record = self.read(account, meter)?;
        let mut by_meter = self.by_meter.lock();
        let counter = by_meter.entry(key).or_insert_with(|| Arc::new(Counter::new(record)));
        Ok(Arc::clone(counter))
    }

    fn read(&self, account: &str, meter: Meter) -> Result<UsageRecord> {
        let empty = UsageRecord { account: account.into(), meter: meter.name().into(), ..UsageRecord::default() };
        // A level is what the records of the files say, so no crash can make it wrong.
        if meter == Meter::MediaBytes {
            return Ok(UsageRecord { total: self.store.media_bytes(account)?, ..empty });
        }
        Ok(self.store.usage(account, meter.name())?.unwrap_or(empty))
    }

    /// Notes that a counter's record in the store is behind.
    fn note_change(&self, counter: &Arc<Counter>) {
        if std::mem::replace(&mut counter.state.lock().listed, true) {
            return;
        }
        self.changed.lock().counters.push(Arc::clone(counter));
        self.work.notify_all();
    }

    /// Waits until a record is behind; false once the meters are closed.
    fn wait_for_changes(&self) -> bool {
        let mut changed = self.changed.lock();
        while changed.counters.is_empty() && !changed.closed {
            self.work.wait(&mut changed);
        }
        !changed.closed
    }

    /// Waits for a time, or until the meters are closed.
    fn pause(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut changed = self.changed.lock();
        while !changed.closed && Instant::now() < until {
            self.work.wait_until(&mut changed, until);
        }
    }

    /// Writes the record of every changed counter. What cannot be written stays noted as changed.
    fn flush(&self) -> Result<()> {
        let counters = std::mem::take(&mut self.changed.lock().counters);
        let mut outcome = Ok(());
        for part in counters.chunks(BATCH_RECORDS_MAX) {
            outcome = outcome.and(self.write(part));
        }
        outcome
    }

    fn write(&self, counters: &[Arc<Counter>]) -> Result<()> {
        let (mut orders, mut free, mut charged) = (Vec::new(), Vec::new(), Vec::new());
        for counter in counters {
            // Waiting for one while others are held could wait in a circle.
            match counter.order.try_lock() {
                Some(order) => {
                    orders.push(order);
                    free.push(counter);
                }
                None => charged.push(counter),
            }
        }
        let mut outcome = self.write_ordered(&free);
        drop(orders);
        for counter in charged {
            let _order = counter.order.lock();
            outcome = outcome.and(self.write_ordered(&[counter]));
        }
        outcome
    }

    /// Writes counters whose `order` the caller holds.
    fn write_ordered(&self, counters: &[&Arc<Counter>]) -> Result<()> {
        let mut records = Vec::with_capacity(counters.len());
        for counter in counters {
            let mut state = counter.state.lock();
            state.listed = false;
            records.push(state.record.clone());
        }
        if let Err(error) = self.store.put_usages(&records) {
            for counter in counters {
                self.note_change(counter);
            }
            return Err(error.into());
        }
        Ok(())
    }
}

impl Counter {
    fn new(record: UsageRecord) -> Self {
        Self { state: Mutex::new(State { record, reserved: 0, listed: false }), order: Mutex::default() }
    }
}

impl State {
    /// Returns the units used in the month of now; of a level, the level.
    fn used(&self, meter: Meter) -> u64 {
        match meter {
            Meter::MediaBytes => self.record.total,
            Meter::Writes | Meter::Reads | Meter::Chats => self.record.used_in(&period(Timestamp::now())),
        }
    }

    /// Applies a change to the record in memory and gives back what was reserved for it.
    fn apply(&mut self, change: Change, month: &str, reserved: u64) {
        change.apply(&mut self.record, month);
        self.reserved = self.reserved.saturating_sub(reserved);
    }
}

impl Change {
    fn apply(self, record: &mut UsageRecord, month: &str) {
        match self {
            Self::Count(units) => record.count(month, units),
            Self::Keep(bytes) => record.total = record.total.saturating_add(bytes),
            Self::Release(bytes) => record.total = record.total.saturating_sub(bytes),
        }
    }
}

impl Permit<'_> {
    /// Counts the units in memory and has the record written soon, without waiting for it.
    pub fn charge(mut self) {
        let reserved = std::mem::take(&mut self.reserved);
        self.counter.state.lock().apply(self.change, &period(Timestamp::now()), reserved);
        self.counters.note_change(&self.counter);
    }

    /// Begins a charge whose record is written by the caller, in one batch with what it pays for. Waits while another
    /// record of the same meter is being written.
    pub fn charge_guard(&mut self) -> Charge<'_> {
        let counter: &Counter = &self.counter;
        let order = counter.order.lock();
        let month = period(Timestamp::now());
        let mut record = counter.state.lock().record.clone();
        self.change.apply(&mut record, &month);
        Charge { counter, change: self.change, month, reserved: &mut self.reserved, record, _order: order }
    }

    /// Charges with a batch that `write` writes: it gets the record to put into the batch, and returns true where the
    /// batch was written. An error, or false, counts nothing.
    ///
    /// # Errors
    ///
    /// Returns the error of `write`.
    pub fn charge_with<T>(mut self, write: impl FnOnce(&UsageRecord) -> Result<(T, bool)>) -> Result<T> {
        let charge = self.charge_guard();
        let (value, counted) = write(charge.record())?;
        if counted {
            charge.commit();
        }
        Ok(value)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.counter.state.lock();
        state.reserved = state.reserved.saturating_sub(self.reserved);
    }
}

impl Charge<'_> {
    /// The meter's record after the charge, to be written in one batch with what it pays for.
    pub fn record(&self) -> &UsageRecord {
        &self.record
    }

    /// Counts the units: the batch with the record is written.
    pub fn commit(self) {
        let reserved = std::mem::take(self.reserved);
        self.counter.state.lock().apply(self.change, &self.month, reserved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn open(folder: &std::path::Path) -> Meters {
        Meters::new(Arc::new(Store::open(folder).expect("opens"))).expect("starts")
    }

    #[test]
    fn units_count_once_and_survive_reopening() {
        let folder = tempfile::tempdir().expect("temporary directory");
        {
            let meters = open(folder.path());
            let reserve = |limit| meters.reserve("a", Meter::Reads, 1, limit).expect("reads");
            reserve(2).expect("a permit").charge();
            let held = reserve(2).expect("a permit");
            assert!(reserve(2).is_none(), "a permit that is out counts against the limit");
            drop(held);
            reserve(2).expect("a permit").charge();
            assert!(reserve(2).is_none());
            let duplicate = reserve(9).expect("a permit").charge_with(|_| Ok(((), false)));
            assert!(duplicate.is_ok());
            assert_eq!(meters.used("b", Meter::Reads).expect("reads"), 0);
        }
        let meters = open(folder.path());
        assert_eq!(meters.used("a", Meter::Reads).expect("reads"), 2);
        assert_eq!(meters.total("a", Meter::Reads).expect("reads"), 2);
    }

    #[test]
    fn a_buffered_count_is_written_without_being_asked_for() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = Arc::new(Store::open(folder.path()).expect("opens"));
        let meters = Meters::new(Arc::clone(&store)).expect("starts");
        meters.reserve("a", Meter::Reads, 1, 9).expect("reads").expect("a permit").charge();
        let deadline = Instant::now() + Duration::from_secs(60);
        while store.usage("a", "reads").expect("reads").is_none_or(|record| record.total == 0) {
            assert!(Instant::now() < deadline, "the count was never written");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_count_does_not_wait_for_a_charge_that_is_being_written() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = Arc::new(Store::open(folder.path()).expect("opens"));
        let meters = Meters::new(Arc::clone(&store)).expect("starts");
        let reserve = || meters.reserve("a", Meter::Writes, 1, 9).expect("reads").expect("a permit");
        let (mut slow, quick) = (reserve(), reserve());
        let charge = slow.charge_guard();
        quick.charge();
        assert_eq!(meters.used("a", Meter::Writes).expect("reads"), 1, "the other one is not committed");
        store.put_usages(std::slice::from_ref(charge.record())).expect("writes");
        charge.commit();
        drop(slow);
        assert_eq!(meters.used("a", Meter::Writes).expect("reads"), 2);
        meters.flush().expect("writes");
        drop(meters);
        assert_eq!(store.usage("a", "writes").expect("reads").expect("a record").total, 2);
    }

    #[test]
    fn a_charge_that_fails_or_is_dropped_counts_nothing() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let meters = open(folder.path());
        let reserve = || meters.reserve("a", Meter::Writes, 3, 3).expect("reads").expect("a permit");
        let failed = reserve().charge_with(|_| Err::<((), bool), _>(Error::internal("the disk is full")));
        assert!(failed.is_err());
        let mut permit = reserve();
        drop(permit.charge_guard());
        drop(permit);
        assert_eq!(meters.used("a", Meter::Writes).expect("reads"), 0);
        reserve().charge();
        assert_eq!(meters.used("a", Meter::Writes).expect("reads"), 3);
    }

    #[test]
    fn the_level_of_media_rises_falls_and_is_limited() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let meters = open(folder.path());
        let mut upload = meters.reserve("a", Meter::MediaBytes, 60, 100).expect("reads").expect("room");
        assert!(meters.reserve("a", Meter::MediaBytes, 41, 100).expect("reads").is_none(), "room is held");
        let charge = upload.charge_guard();
        assert_eq!(charge.record().total, 60);
        charge.commit();
        drop(upload);
        let mut release = meters.release_media("a", 50).expect("reads");
        release.charge_guard().commit();
        drop(release);
        assert_eq!(meters.used("a", Meter::MediaBytes).expect("reads"), 10);
        assert!(meters.reserve("a", Meter::MediaBytes, 90, 100).expect("reads").is_some());
    }
}
