//! Counting units, exactly once each.
//!
//! A meter of an account is one record: its total, and its units by month. Used and reserved units are kept in memory,
//! so limits are exact at every moment. If several processes share the database, each of them has a record of its own,
//! and limits include what the others used until a second ago. A unit reaches the store in one of two ways:
//!
//! - With the write that it pays for, in one batch: `batch.charge(charge.record())` adds the record of a charge
//!   that [`Permit::charge_guard`] began, and [`Charge::finish`] counts the unit once the batch is written.
//! - Buffered: [`Permit::charge`] counts in memory and wakes a thread that writes all changed records in one batch,
//!   without a sync, usually within a millisecond. The caller never waits for the disk. If the process is killed while
//!   the disk takes no writes, the units of that time are lost, in the account's favour.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use cuebase_storage::records::Meter;
use cuebase_storage::{AccountId, Store};

use super::counters::{CounterRegistry, UsageChange};
use super::funds::Funds;
use crate::clock::Clock;
use crate::error::Result;

pub use super::permit::{Charge, Permit};

/// How recent the counts of other processes must be. Those of this process always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recency {
    /// Up to a second old.
    Recent,
    /// Read for the call.
    Current,
}

/// What units may be reserved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    /// Maximum number of units in the month; for a level, the maximum level.
    pub(super) limit: u64,
    /// The balance that the units use. `None` if they need none.
    pub(super) funds: Option<Funds>,
}

impl Allowance {
    /// Units that need no balance, up to a limit.
    pub(super) fn up_to(limit: u64) -> Self {
        Self { limit, funds: None }
    }
}

/// The outcome of a reservation.
pub(super) enum Reservation<'a> {
    /// The units are reserved.
    Granted(Permit<'a>),
    /// The limit leaves no room for the units.
    AboveLimit,
    /// Earlier units use up the balance.
    WithoutFunds,
}

/// Pause between two batches, so that counts made meanwhile share one.
const WRITE_INTERVAL: Duration = Duration::from_millis(1);
/// The same if the records are in a database that all nodes share: each batch is a transaction there.
const SHARED_WRITE_INTERVAL: Duration = Duration::from_millis(100);
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

    /// Reserves units of a meter, if the limit leaves room for them and the funds are not used up. Units that are
    /// reserved but not charged yet count as used.
    pub(super) fn reserve_within(
        &self,
        account: &AccountId,
        meter: Meter,
        units: u64,
        allowance: &Allowance,
    ) -> Result<Reservation<'_>> {
        let counter = self.registry.counter(account, meter)?;
        let now = self.registry.clock.now();
        // Held until the units are reserved, so that concurrent calls do not count on the same room or funds.
        let mut state = counter.state.lock();
        if let Some(funds) = &allowance.funds
            && !funds.remain_after(state.total().saturating_add(state.reserved))
        {
            return Ok(Reservation::WithoutFunds);
        }
        let total = state.used(meter, now).saturating_add(state.reserved).saturating_add(units);
        if total > allowance.limit {
            return Ok(Reservation::AboveLimit);
        }
        state.reserved = state.reserved.saturating_add(units);
        drop(state);
        let change = if meter == Meter::MediaBytes { UsageChange::Keep(units) } else { UsageChange::Count(units) };
        Ok(Reservation::Granted(Permit::new(&self.registry, counter, change, units)))
    }

    /// Reserves units of a meter that need no balance. Returns `None` when the limit leaves no room for them.
    #[cfg(test)]
    pub(super) fn reserve(
        &self,
        account: &AccountId,
        meter: Meter,
        units: u64,
        limit: u64,
    ) -> Result<Option<Permit<'_>>> {
        match self.reserve_within(account, meter, units, &Allowance::up_to(limit))? {
            Reservation::Granted(permit) => Ok(Some(permit)),
            Reservation::AboveLimit | Reservation::WithoutFunds => Ok(None),
        }
    }

    /// Returns a permit that lowers the level of stored media.
    pub(super) fn release_media(&self, account: &AccountId, bytes: u64) -> Result<Permit<'_>> {
        let counter = self.registry.counter(account, Meter::MediaBytes)?;
        Ok(Permit::new(&self.registry, counter, UsageChange::Release(bytes), 0))
    }

    /// Returns the units used in the current month; for a level, the level.
    pub(super) fn used(&self, account: &AccountId, meter: Meter, recency: Recency) -> Result<u64> {
        if recency == Recency::Current {
            return self.registry.current_used(account, meter);
        }
        let counter = self.registry.counter(account, meter)?;
        let used = counter.state.lock().used(meter, self.registry.clock.now());
        Ok(used)
    }

    /// Returns the units ever used.
    pub(super) fn total(&self, account: &AccountId, meter: Meter, recency: Recency) -> Result<u64> {
        if recency == Recency::Current {
            return self.registry.current_total(account, meter);
        }
        let counter = self.registry.counter(account, meter)?;
        let total = counter.state.lock().total();
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
    let interval = if registry.shares_usage() { SHARED_WRITE_INTERVAL } else { WRITE_INTERVAL };
    let mut is_failing = false;
    while registry.wait_for_changes() {
        match registry.flush() {
            Ok(()) => {
                if is_failing {
                    tracing::info!("counts of used units are written again");
                }
                is_failing = false;
                registry.pause(interval);
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

    use cuebase_storage::key_value::{Engine, MemoryEngine};
    use cuebase_storage::records::ownership::{Claim, NodeSession};
    use cuebase_storage::records::{MediaRecord, NamespaceRecord};
    use cuebase_storage::{NamespaceId, NamespaceName};
    use jiff::SignedDuration;
    use ulid::Ulid;

    use super::*;

    fn account(id: &str) -> AccountId {
        AccountId::new(id).expect("is valid")
    }

    fn open(folder: &std::path::Path) -> Meters {
        Meters::new(Arc::new(Store::open(folder).expect("opens")), Clock::system()).expect("starts")
    }

    /// The stores of two processes that share a database.
    fn shared_stores() -> [Arc<Store>; 2] {
        let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
        let first = Store::open_shared(Arc::clone(&engine)).expect("opens");
        let second = Store::open_shared(engine).expect("opens");
        [Arc::new(first), Arc::new(second)]
    }

    fn manual_clock() -> Clock {
        Clock::manual("2026-01-15T00:00:00Z".parse().expect("a time"))
    }

    /// Counts one read, if the limit allows it.
    fn count(meters: &Meters, limit: u64) -> bool {
        match meters.reserve(&account("a"), Meter::Reads, 1, limit).expect("reads") {
            Some(permit) => {
                permit.charge();
                true
            }
            None => false,
        }
    }

    /// Waits until the sum over all processes is written.
    fn wait_for_reads(store: &Store, total: u64) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let written = store.usage(&account("a"), Meter::Reads).expect("reads").map_or(0, |record| record.total);
            if written == total {
                return;
            }
            assert!(Instant::now() < deadline, "{written} of {total} units were written");
            std::thread::yield_now();
        }
    }

    #[test]
    fn processes_that_count_at_once_lose_no_unit() {
        let [first_store, second_store] = shared_stores();
        let first = Meters::new(Arc::clone(&first_store), manual_clock()).expect("starts");
        let second = Meters::new(second_store, manual_clock()).expect("starts");
        std::thread::scope(|scope| {
            for meters in [&first, &second] {
                for _ in 0..2 {
                    scope.spawn(move || {
                        for _ in 0..50 {
                            assert!(count(meters, 1000));
                        }
                    });
                }
            }
        });
        drop(first);
        drop(second);
        let usage = first_store.usage(&account("a"), Meter::Reads).expect("reads").expect("counted");
        assert_eq!((usage.total, usage.used_in("2026-01")), (200, 200));
    }

    #[test]
    fn a_limit_includes_what_other_processes_used() {
        let clock = manual_clock();
        let [first_store, second_store] = shared_stores();
        let first = Meters::new(Arc::clone(&first_store), clock.clone()).expect("starts");
        let second = Meters::new(second_store, clock.clone()).expect("starts");
        assert!(count(&first, 2));
        wait_for_reads(&first_store, 1);
        assert!(count(&second, 2));
        assert!(!count(&second, 2), "the unit of the first process counts");
        wait_for_reads(&first_store, 2);
        assert_eq!(
            first.used(&account("a"), Meter::Reads, Recency::Recent).expect("reads"),
            1,
            "read less than a second ago"
        );
        assert_eq!(first.total(&account("a"), Meter::Reads, Recency::Recent).expect("reads"), 1);
        clock.advance(SignedDuration::from_secs(1));
        assert!(!count(&first, 2));
        assert_eq!(first.used(&account("a"), Meter::Reads, Recency::Recent).expect("reads"), 2);
        assert_eq!(first.total(&account("a"), Meter::Reads, Recency::Recent).expect("reads"), 2);
    }

    #[test]
    fn a_current_total_does_not_wait_for_the_next_second() {
        let [first_store, second_store] = shared_stores();
        let first = Meters::new(Arc::clone(&first_store), manual_clock()).expect("starts");
        let second = Meters::new(second_store, manual_clock()).expect("starts");
        assert!(count(&first, 9));
        assert!(count(&second, 9));
        wait_for_reads(&first_store, 2);
        for meters in [&first, &second] {
            assert_eq!(meters.total(&account("a"), Meter::Reads, Recency::Current).expect("reads"), 2);
        }
    }

    #[test]
    fn units_are_shown_by_another_process_as_soon_as_they_are_flushed() {
        let [first_store, second_store] = shared_stores();
        let first = Meters::new(first_store, manual_clock()).expect("starts");
        let second = Meters::new(second_store, manual_clock()).expect("starts");
        for counted in 1..=100 {
            assert!(count(&first, 1000));
            // The thread of the first meters may be writing the unit already.
            first.flush().expect("writes");
            assert_eq!(second.used(&account("a"), Meter::Reads, Recency::Current).expect("reads"), counted);
        }
    }

    #[test]
    fn folded_units_are_counted_once() {
        let clock = manual_clock();
        let [first_store, second_store] = shared_stores();
        let first = Meters::new(Arc::clone(&first_store), clock.clone()).expect("starts");
        let second = Meters::new(Arc::clone(&second_store), clock.clone()).expect("starts");
        for meters in [&first, &first, &second] {
            assert!(count(meters, 9));
        }
        wait_for_reads(&first_store, 3);
        // Neither process has a session, so the parts of both are folded.
        assert_eq!(second_store.fold_usage().expect("folds"), 2);
        clock.advance(SignedDuration::from_secs(1));
        for meters in [&first, &second] {
            assert_eq!(meters.used(&account("a"), Meter::Reads, Recency::Recent).expect("reads"), 3);
            assert_eq!(meters.total(&account("a"), Meter::Reads, Recency::Current).expect("reads"), 3);
        }
        assert!(count(&first, 9));
        wait_for_reads(&second_store, 4);
        assert_eq!(second.total(&account("a"), Meter::Reads, Recency::Current).expect("reads"), 4);
        drop(first);
        drop(second);
        let usage = first_store.usage(&account("a"), Meter::Reads).expect("reads").expect("counted");
        assert_eq!((usage.total, usage.used_in("2026-01")), (4, 4));
    }

    #[test]
    fn a_level_follows_the_files_of_other_processes() {
        let clock = manual_clock();
        let [first_store, second_store] = shared_stores();
        let meters = Meters::new(second_store, clock.clone()).expect("starts");
        assert_eq!(meters.used(&account("a"), Meter::MediaBytes, Recency::Recent).expect("reads"), 0);
        let id = NamespaceId::new(Ulid::from(1u128));
        let home = NamespaceRecord::new(&account("a"), &NamespaceName::default(), id, 0);
        let (home, _) = first_store.create_namespace(&home).expect("creates");
        let session = NodeSession::begin(&first_store, "127.0.0.1:1", "1.0.0", Instant::now()).expect("begins");
        assert_eq!(first_store.claim(session.id(), &home.key()).expect("claims"), Claim::Held);
        let file = MediaRecord {
            id: Ulid::from(2u128),
            account: account("a"),
            namespace: NamespaceName::default(),
            namespace_id: home.id,
            content_type: "text/plain".into(),
            filename: None,
            bytes: 70,
            sha256: String::new(),
        };
        let mut batch = first_store.batch();
        batch.put_media(&file).expect("encodes");
        first_store.commit(batch).expect("writes");
        clock.advance(SignedDuration::from_secs(1));
        assert_eq!(
            meters.used(&account("a"), Meter::MediaBytes, Recency::Recent).expect("reads"),
            0,
            "read less than a minute ago"
        );
        assert_eq!(meters.used(&account("a"), Meter::MediaBytes, Recency::Current).expect("reads"), 70);
        clock.advance(SignedDuration::from_mins(1));
        assert!(meters.reserve(&account("a"), Meter::MediaBytes, 31, 100).expect("reads").is_none());
        assert_eq!(meters.used(&account("a"), Meter::MediaBytes, Recency::Recent).expect("reads"), 70);
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
            drop(reserve(9).expect("a permit").charge_guard().expect("reads"));
            assert_eq!(meters.used(&account("b"), Meter::Reads, Recency::Recent).expect("reads"), 0);
        }
        let meters = open(folder.path());
        assert_eq!(meters.used(&account("a"), Meter::Reads, Recency::Recent).expect("reads"), 2);
        assert_eq!(meters.total(&account("a"), Meter::Reads, Recency::Recent).expect("reads"), 2);
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
        let charge = slow.charge_guard().expect("reads");
        quick.charge();
        assert_eq!(
            meters.used(&account("a"), Meter::Writes, Recency::Recent).expect("reads"),
            1,
            "the slow charge is not committed"
        );
        let outcome = store.put_usages(std::slice::from_ref(charge.record()));
        charge.finish(&outcome);
        drop(slow);
        assert_eq!(meters.used(&account("a"), Meter::Writes, Recency::Recent).expect("reads"), 2);
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
        drop(permit.charge_guard().expect("reads"));
        drop(permit);
        assert_eq!(meters.used(&account("a"), Meter::Writes, Recency::Recent).expect("reads"), 0);
        reserve().charge();
        assert_eq!(meters.used(&account("a"), Meter::Writes, Recency::Recent).expect("reads"), 3);
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
        let charge = upload.charge_guard().expect("reads");
        assert_eq!(charge.record().total, 60);
        charge.finish(&Ok(()));
        drop(upload);
        let mut release = meters.release_media(&account("a"), 50).expect("reads");
        release.charge_guard().expect("reads").finish(&Ok(()));
        drop(release);
        assert_eq!(meters.used(&account("a"), Meter::MediaBytes, Recency::Recent).expect("reads"), 10);
        assert!(meters.reserve(&account("a"), Meter::MediaBytes, 90, 100).expect("reads").is_some());
    }
}
