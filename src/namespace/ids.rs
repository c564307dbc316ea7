//! Ids that only increase, even if the clock goes back.

use std::time::{Duration, SystemTime};

use cuebase_storage::NamespaceId;
use parking_lot::{Mutex, MutexGuard};
use ulid::{Generator, Ulid};

use crate::clock::Clock;

/// New ids begin this long after the greatest recorded one, because of two ids taken at the same time the smaller may
/// be the recorded one.
const MARGIN_MS: u64 = 1000;
/// Locks of the order within a namespace. Namespaces that share a lock wait for each other.
const ORDER_LOCKS: usize = 256;

/// The source of ids of queue messages, conversations, their messages, and media.
pub struct Ids {
    generator: Mutex<Generator>,
    /// Each namespace has one of them, by its id.
    orders: Vec<Mutex<()>>,
    clock: Clock,
}

/// The source of ids, with the order within a namespace locked. Records that are written under this lock are written in
/// the order of their ids.
pub struct HeldIds<'a> {
    ids: &'a Ids,
    _order: MutexGuard<'a, ()>,
}

impl Ids {
    /// A source whose ids sort after the greatest one that an earlier process recorded.
    pub fn after(recorded: Option<Ulid>, clock: Clock) -> Self {
        let mut generator = Generator::new();
        if let Some(id) = recorded {
            // A generator begins at a time by generating an id of that time. This id is not used.
            next_at(&mut generator, id.timestamp_ms() + MARGIN_MS);
        }
        let mut orders = Vec::new();
        orders.resize_with(ORDER_LOCKS, Mutex::default);
        Self { generator: Mutex::new(generator), orders, clock }
    }

    /// Makes later ids sort after one that another process assigned.
    pub fn raise(&self, recorded: Ulid) {
        next_at(&mut self.generator.lock(), recorded.timestamp_ms() + MARGIN_MS);
    }

    /// Returns an id for a namespace. It sorts after all earlier ones, and whoever held the ids of the namespace has
    /// written their records.
    pub fn fresh(&self, namespace: NamespaceId) -> Ulid {
        self.hold(namespace).next(self.clock.now_ms())
    }

    /// Prevents others from taking ids of a namespace until the guard is dropped. The guard is held over a commit, so one
    /// lock for all namespaces would let each wait for the others.
    pub fn hold(&self, namespace: NamespaceId) -> HeldIds<'_> {
        // The last byte is random.
        let lock = usize::from(namespace.to_bytes()[15]) % ORDER_LOCKS;
        HeldIds { ids: self, _order: self.orders[lock].lock() }
    }
}

impl HeldIds<'_> {
    /// Returns the next id at a time in milliseconds since the epoch.
    pub fn next(&mut self, now_ms: i64) -> Ulid {
        next_at(&mut self.ids.generator.lock(), now_ms.max(0).unsigned_abs())
    }
}

/// Returns an id of a time in milliseconds since the epoch. If an earlier id has that time or a later one, returns the
/// id that follows the greatest.
fn next_at(generator: &mut Generator, ms: u64) -> Ulid {
    match generator.generate_from_datetime(SystemTime::UNIX_EPOCH + Duration::from_millis(ms)) {
        Ok(id) => id,
        // The random part is at its maximum. The next id belongs to the next millisecond.
        Err(overflow) => overflow.commit_overflow_increment(),
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::*;

    /// The namespace with this last byte in its id.
    fn namespace(last: u8) -> NamespaceId {
        NamespaceId::new(Ulid::from(u128::from(last)))
    }

    #[test]
    fn ids_rise_even_when_the_clock_goes_back() {
        let ids = Ids::after(None, Clock::system());
        let first = ids.hold(namespace(1)).next(2_000_000);
        let second = ids.hold(namespace(2)).next(1_000_000);
        assert!(second > first);
        let later = Ids::after(Some(second), Clock::system());
        assert!(later.hold(namespace(1)).next(500_000) > second);
    }

    #[test]
    fn ids_begin_one_second_after_the_greatest_recorded_one() {
        let clock = Clock::manual(Timestamp::from_second(1_000).expect("a time"));
        let recorded = Ulid::from_parts(2_000_000, 7);
        let ids = Ids::after(Some(recorded), clock.clone());
        let first = ids.fresh(namespace(1));
        assert_eq!(first.timestamp_ms(), 2_001_000);
        assert!(ids.fresh(namespace(1)) > first);
        clock.advance(SignedDuration::from_secs(2_000));
        assert_eq!(ids.fresh(namespace(1)).timestamp_ms(), 3_000_000);
    }

    #[test]
    fn one_namespace_does_not_wait_for_another_one() {
        let ids = Ids::after(None, Clock::system());
        let mut held = ids.hold(namespace(1));
        let other = ids.fresh(namespace(2));
        assert!(held.next(0) > other);
    }
}
