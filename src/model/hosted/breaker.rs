//! Leaving an endpoint alone that fails again and again.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Failures in a row after which it is left alone.
const FAILURES_MAX: u32 = 5;
/// For how long at first; it doubles with every probe that fails.
const PAUSE: Duration = Duration::from_millis(500);
/// For how long at most.
const PAUSE_MAX: Duration = Duration::from_secs(15);

/// A circuit breaker. Closed, it lets every call through. After [`FAILURES_MAX`] failures in a row it opens: calls fail
/// at once, but for one probe when the pause is over, which closes it or opens it for twice as long.
#[derive(Default)]
pub(super) struct Breaker {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    failures: u32,
    /// While open: when the next probe may go out.
    probe_at: Option<Instant>,
    pause: Duration,
}

impl Breaker {
    /// Whether a call may go out now.
    pub(super) fn admits(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        match state.probe_at {
            None => true,
            Some(at) if at > now => false,
            Some(_) => {
                // The next one waits for what this probe brings, or for its own turn should that never end.
                state.probe_at = Some(now + state.pause);
                true
            }
        }
    }

    /// A call was answered, be it with a refusal.
    pub(super) fn worked(&self) {
        *self.state.lock() = State::default();
    }

    /// A call was not answered. True when that opened it.
    pub(super) fn failed(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        state.failures += 1;
        if state.failures < FAILURES_MAX {
            return false;
        }
        let opened = state.probe_at.is_none();
        state.pause = if opened { PAUSE } else { (state.pause * 2).min(PAUSE_MAX) };
        state.probe_at = Some(now + state.pause);
        opened
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_after_failures_in_a_row_and_closes_with_a_probe_that_works() {
        let breaker = Breaker::default();
        let start = Instant::now();
        for _ in 1..FAILURES_MAX {
            assert!(!breaker.failed(start));
        }
        assert!(breaker.admits(start));
        assert!(breaker.failed(start));
        let moment = Duration::from_millis(1);
        let later = start + PAUSE;
        assert!(!breaker.admits(later - moment));
        assert!(breaker.admits(later), "one probe");
        assert!(!breaker.admits(later), "and no other beside it");
        assert!(!breaker.failed(later));
        assert!(!breaker.admits(later + PAUSE * 2 - moment), "the pause has doubled");
        assert!(breaker.admits(later + PAUSE * 2));
        breaker.worked();
        assert!(breaker.admits(later) && breaker.admits(later));
    }
}
