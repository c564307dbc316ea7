//! Counting units, exactly once each.
//!
//! A meter of an account is one record: its total, and its units by month. Used and reserved units are kept in memory,
//! so limits are exact at every moment. A unit reaches the store in one of two ways:
//!
//! - With the write that it pays for, in one batch: `batch.charge(charge.record())` adds the record of a charge
//!   that [`Permit::charge_guard`] began, and [`Charge::commit`] counts the unit once the batch is written.
//! - Buffered: [`Permit::charge`] counts in memory and wakes a thread that writes all changed records in one batch,
//!   without a sync, usually within a millisecond. The caller never waits for the disk. If the process is killed while
//!   the disk takes no writes, the units of that time are lost, in the account's favour.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use cuebase_storage::records::Meter;
use cuebase_storage::{AccountId, Store};

use super::counters::{CounterRegistry, UsageChange};
use crate::clock::Clock;
use crate::error::Result;

pub use super::permit::{Charge, Permit};

/// Pause between two batches, so that counts made meanwhile share one.
const WRITE_INTERVAL: Duration = Duration::from_millis(1);
/// Pause after a batch that could not be written.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// The meters of all accounts, and the thread that writes them.
pub struct Meters {
    registry: Arc<CounterRegistry>,
    writer: Option<JoinHandle<()>>,
}

impl Meters {
    /// Opens the meters and starts the thread that writes them.
    pub(super) fn new(store: Arc<Store>, clock: Clock) -> std::io::Result<Self> {
        let registry = Arc::new(CounterRegistry::new(store, clock));
        let for_writer = Arc::clone(&registry);
        let writer = std::thread::Builder::new().name("meters".into()).spawn(move || write_changes(&for_writer))?;
        Ok(Self { registry, writer: Some(writer) })
    }

    /// Reserves units of a meter. Returns `None` when the limit leaves no room for them in addition to used and
    /// reserved units.
    pub(super) fn reserve(
        &self,
        account: &AccountId,
        meter: Meter,
        units: u64,
        limit: u64,
    ) -> Result<Option<Permit<'_>>> {
        let counter = self.registry.counter(account, meter)?;
        let now = self.registry.clock.now();
        let mut state = counter.state.lock();
        let total = state.used(meter, now).saturating_add(state.reserved).saturating_add(units);
        if total > limit {
            return Ok(None);
        }
        state.reserved = state.reserved.saturating_add(units);
        drop(state);
        let change = if meter == Meter::MediaBytes { UsageChange::Keep(units) } else { UsageChange::Count(units) };
        Ok(Some(Permit::new(&self.registry, counter, change, units)))
    }

    /// Returns a permit that lowers the level of stored media.
    pub(super) fn release_media(&self, account: &AccountId, bytes: u64) -> Result<Permit<'_>> {
        let counter = self.registry.counter(account, Meter::MediaBytes)?;
        Ok(Permit::new(&self.registry, counter, UsageChange::Release(bytes), 0))
    }

    /// Returns the units used in the current month; for a level, the level.
    pub(super) fn used(&self, account: &AccountId, meter: Meter) -> Result<u64> {
        let counter = self.registry.counter(account, meter)?;
        let used = counter.state.lock().used(meter, self.registry.clock.now());
        Ok(used)
    }

    /// Returns the units ever used.
    pub(super) fn total(&self, account: &AccountId, meter: Meter) -> Result<u64> {
        let counter = self.registry.counter(account, meter)?;
        let total = counter.state.lock().record.total;
        Ok(total)
    }

    /// Writes every record that is out of date, without a sync. Must not be called by a thread that holds a [`Charge`].
    pub(super) fn flush(&self) -> Result<()> {
        self.registry.flush()
    }
}

impl Drop for Meters {
    fn drop(&mut self) {
        self.registry.close();
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
fn write_changes(registry: &CounterRegistry) {
    let mut is_failing = false;
    while registry.wait_for_changes() {
        match registry.flush() {
            Ok(()) => {
                if is_failing {
                    tracing::info!("counts of used units are written again");
                }
                is_failing = false;
                registry.pause(WRITE_INTERVAL);
            }
            Err(error) => {
                if !is_failing {
                    tracing::error!(%error, "counts of used units cannot be written and are kept in memory");
                }
                is_failing = true;
                registry.pause(RETRY_INTERVAL);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn account(id: &str) -> AccountId {
        AccountId::new(id).expect("is valid")
    }

    fn open(folder: &std::path::Path) -> Meters {
        Meters::new(Arc::new(Store::open(folder).expect("opens")), Clock::system()).expect("starts")
    }

    #[test]
    fn units_count_once_and_survive_reopening() {
        let folder = tempfile::tempdir().expect("temporary directory");
        {
            let meters = open(folder.path());
            let reserve = |limit| meters.reserve(&account("a"), Meter::Reads, 1, limit).expect("reads");
            reserve(2).expect("a permit").charge();
            let held = reserve(2).expect("a permit");
            assert!(reserve(2).is_none(), "a reserved unit counts against the limit");
            drop(held);
            reserve(2).expect("a permit").charge();
            assert!(reserve(2).is_none());
            // The write was a duplicate: its charge is not committed.
            drop(reserve(9).expect("a permit").charge_guard());
            assert_eq!(meters.used(&account("b"), Meter::Reads).expect("reads"), 0);
        }
        let meters = open(folder.path());
        assert_eq!(meters.used(&account("a"), Meter::Reads).expect("reads"), 2);
        assert_eq!(meters.total(&account("a"), Meter::Reads).expect("reads"), 2);
    }

    #[test]
    fn a_buffered_count_is_written_in_the_background() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = Arc::new(Store::open(folder.path()).expect("opens"));
        let meters = Meters::new(Arc::clone(&store), Clock::system()).expect("starts");
        meters.reserve(&account("a"), Meter::Reads, 1, 9).expect("reads").expect("a permit").charge();
        let deadline = Instant::now() + Duration::from_secs(60);
        while store.usage(&account("a"), Meter::Reads).expect("reads").is_none_or(|record| record.total == 0) {
            assert!(Instant::now() < deadline, "the count was never written");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_count_does_not_wait_for_a_charge_that_is_being_written() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = Arc::new(Store::open(folder.path()).expect("opens"));
        let meters = Meters::new(Arc::clone(&store), Clock::system()).expect("starts");
        let reserve = || meters.reserve(&account("a"), Meter::Writes, 1, 9).expect("reads").expect("a permit");
        let (mut slow, quick) = (reserve(), reserve());
        let charge = slow.charge_guard();
        quick.charge();
        assert_eq!(meters.used(&account("a"), Meter::Writes).expect("reads"), 1, "the slow charge is not committed");
        store.put_usages(std::slice::from_ref(charge.record())).expect("writes");
        charge.commit();
        drop(slow);
        assert_eq!(meters.used(&account("a"), Meter::Writes).expect("reads"), 2);
        meters.flush().expect("writes");
        drop(meters);
        assert_eq!(store.usage(&account("a"), Meter::Writes).expect("reads").expect("a record").total, 2);
    }

    #[test]
    fn a_charge_that_fails_or_is_dropped_counts_nothing() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let meters = open(folder.path());
        let reserve = || meters.reserve(&account("a"), Meter::Writes, 3, 3).expect("reads").expect("a permit");
        // A caller whose batch fails returns, which drops the charge and its permit.
        let mut permit = reserve();
        drop(permit.charge_guard());
        drop(permit);
        assert_eq!(meters.used(&account("a"), Meter::Writes).expect("reads"), 0);
        reserve().charge();
        assert_eq!(meters.used(&account("a"), Meter::Writes).expect("reads"), 3);
    }

    #[test]
    fn the_level_of_media_rises_falls_and_is_limited() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let meters = open(folder.path());
        let mut upload = meters.reserve(&account("a"), Meter::MediaBytes, 60, 100).expect("reads").expect("room");
        assert!(
            meters.reserve(&account("a"), Meter::MediaBytes, 41, 100).expect("reads").is_none(),
            "the room is reserved"
        );
        let charge = upload.charge_guard();
        assert_eq!(charge.record().total, 60);
        charge.commit();
        drop(upload);
        let mut release = meters.release_media(&account("a"), 50).expect("reads");
        release.charge_guard().commit();
        drop(release);
        assert_eq!(meters.used(&account("a"), Meter::MediaBytes).expect("reads"), 10);
        assert!(meters.reserve(&account("a"), Meter::MediaBytes, 90, 100).expect("reads").is_some());
    }
}
