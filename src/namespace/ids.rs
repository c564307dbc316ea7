//! Ids that only rise, whatever the clock does.

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use ulid::Ulid;

/// New ids begin so long after the greatest that was noted: of two at the same time the smaller may have been noted.
const MARGIN_MS: u64 = 1000;

/// The source of ids of queue messages, conversations, their messages, and media.
pub struct Ids {
    newest: Mutex<Ulid>,
}

/// The source, held: what is written meanwhile is written in the order of its ids.
pub struct HeldIds<'a> {
    newest: MutexGuard<'a, Ulid>,
}

impl Ids {
    /// A source whose ids sort after the greatest that was noted by an earlier process.
    pub fn after(noted: Option<Ulid>) -> Self {
        let newest = noted.map_or(Ulid::nil(), |id| Ulid::from_parts(id.timestamp_ms() + MARGIN_MS, 0));
        Self { newest: Mutex::new(newest) }
    }

    /// An id that sorts after every one before it.
    pub fn fresh(&self) -> Ulid {
        self.hold().next(Timestamp::now().as_millisecond())
    }

    /// Keeps others from taking ids until the guard is dropped.
    pub fn hold(&self) -> HeldIds<'_> {
        HeldIds { newest: self.newest.lock() }
    }
}

impl HeldIds<'_> {
    /// The next id at a time, milliseconds since the epoch.
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
