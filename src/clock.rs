//! The source of the current time. Tests set it to chosen moments.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};

/// A source of the current time. Clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// Milliseconds since the epoch at which a manual clock stands; `None` for the clock of the system.
    manual_ms: Option<Arc<AtomicI64>>,
}

impl Clock {
    /// Returns the clock of the system.
    pub fn system() -> Self {
        Self { manual_ms: None }
    }

    /// Returns a clock that stands at a time until [`Self::advance`] moves it.
    pub fn manual(start: Timestamp) -> Self {
        Self { manual_ms: Some(Arc::new(AtomicI64::new(start.as_millisecond()))) }
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        match &self.manual_ms {
            // The times that a manual clock can be set to are valid timestamps.
            Some(manual_ms) => Timestamp::from_millisecond(manual_ms.load(Ordering::SeqCst)).unwrap_or_default(),
            None => Timestamp::now(),
        }
    }

    /// Returns the current time in milliseconds since the epoch.
    pub fn now_ms(&self) -> i64 {
        self.now().as_millisecond()
    }

    /// Moves a manual clock forward. The clock of the system is not changed.
    pub fn advance(&self, by: SignedDuration) {
        if let Some(manual_ms) = &self.manual_ms {
            let by_ms = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
            let _ = manual_ms.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now_ms| {
                Some(now_ms.saturating_add(by_ms).min(Timestamp::MAX.as_millisecond()))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_it_is_advanced() {
        let start = Timestamp::from_second(1_000_000).expect("a time");
        let clock = Clock::manual(start);
        let other = clock.clone();
        assert_eq!(clock.now(), start);
        other.advance(SignedDuration::from_mins(5));
        assert_eq!(clock.now(), start + SignedDuration::from_mins(5));
    }
}
