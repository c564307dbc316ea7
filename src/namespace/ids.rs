//! Ids that only increase, even if the clock goes back.

use std::time::{Duration, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use ulid::{Generator, Ulid};

use crate::clock::Clock;

/// New ids begin this long after the greatest recorded one, because of two ids taken at the same time the smaller may
/// be the recorded one.
const MARGIN_MS: u64 = 1000;

/// The source of ids of queue messages, conversations, their messages, and media.
pub struct Ids {
    generator: Mutex<Generator>,
    clock: Clock,
}

/// The locked source of ids. Records that are written under this lock are written in the order of their ids.
pub struct HeldIds<'a> {
    generator: MutexGuard<'a, Generator>,
}

impl Ids {
    /// A source whose ids sort after the greatest one that an earlier process recorded.
    pub fn after(recorded: Option<Ulid>, clock: Clock) -> Self {
        let mut generator = Generator::new();
        if let Some(id) = recorded {
            // A generator begins at a time by generating an id of that time. This id is not used.
            next_at(&mut generator, id.timestamp_ms() + MARGIN_MS);
        }
        Self { generator: Mutex::new(generator), clock }
    }

    /// Returns an id that sorts after all earlier ones.
    pub fn fresh(&self) -> Ulid {
        self.hold().next(self.clock.now_ms())
    }

    /// Prevents others from taking ids until the guard is dropped.
    pub fn hold(&self) -> HeldIds<'_> {
        HeldIds { generator: self.generator.lock() }
    }
}

impl HeldIds<'_> {
    /// Returns the next id at a time in milliseconds since the epoch.
    pub fn next(&mut self, now_ms: i64) -> Ulid {
        next_at(&mut self.generator, now_ms.max(0).unsigned_abs())
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

    #[test]
    fn ids_rise_even_when_the_clock_goes_back() {
        let ids = Ids::after(None, Clock::system());
        let first = ids.hold().next(2_000_000);
        let second = ids.hold().next(1_000_000);
        assert!(second > first);
        let later = Ids::after(Some(second), Clock::system());
        assert!(later.hold().next(500_000) > second);
    }

    #[test]
    fn ids_begin_one_second_after_the_greatest_recorded_one() {
        let clock = Clock::manual(Timestamp::from_second(1_000).expect("a time"));
        let recorded = Ulid::from_parts(2_000_000, 7);
        let ids = Ids::after(Some(recorded), clock.clone());
        let first = ids.fresh();
        assert_eq!(first.timestamp_ms(), 2_001_000);
        assert!(ids.fresh() > first);
        clock.advance(SignedDuration::from_secs(2_000));
        assert_eq!(ids.fresh().timestamp_ms(), 3_000_000);
    }
}
