//! Ids that only increase, even if the clock goes back.

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use ulid::Ulid;

/// New ids begin this long after the greatest recorded one, because of two ids taken at the same time the smaller may
/// be the recorded one.
const MARGIN_MS: u64 = 1000;

/// The source of ids of queue messages, conversations, their messages, and media.
pub struct Ids {
    newest: Mutex<Ulid>,
}

/// The locked source of ids. Records that are written under this lock are written in the order of their ids.
pub struct HeldIds<'a> {
    newest: MutexGuard<'a, Ulid>,
}

impl Ids {
    /// A source whose ids sort after the greatest one that an earlier process recorded.
    pub fn after(recorded: Option<Ulid>) -> Self {
        let newest = match recorded {
            Some(id) => Ulid::from_parts(id.timestamp_ms() + MARGIN_MS, 0),
            None => Ulid::nil(),
        };
        Self { newest: Mutex::new(newest) }
    }

    /// Returns an id that sorts after all earlier ones.
    pub fn fresh(&self) -> Ulid {
        self.hold().next(Timestamp::now().as_millisecond())
    }

    /// Prevents others from taking ids until the guard is dropped.
    pub fn hold(&self) -> HeldIds<'_> {
        HeldIds { newest: self.newest.lock() }
    }
}

impl HeldIds<'_> {
    /// Returns the next id at a time in milliseconds since the epoch.
    pub fn next(&mut self, now_ms: i64) -> Ulid {
        let fresh = Ulid::from_parts(now_ms.max(0).unsigned_abs(), Ulid::generate().random());
        *self.newest = if fresh > *self.newest { fresh } else { Ulid::from(u128::from(*self.newest) + 1) };
        *self.newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_rise_even_when_the_clock_goes_back() {
        let ids = Ids::after(None);
        let first = ids.hold().next(2_000_000);
        let second = ids.hold().next(1_000_000);
        assert!(second > first);
        let later = Ids::after(Some(second));
        assert!(later.hold().next(500_000) > second);
    }
}
