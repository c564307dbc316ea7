//! A circuit breaker: disables an endpoint for a while after repeated failures.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Consecutive failures after which the breaker opens.
const FAILURES_MAX: u32 = 5;
/// First pause of an open breaker; it doubles with every probe that fails.
const PAUSE: Duration = Duration::from_millis(500);
/// Maximum pause.
const PAUSE_MAX: Duration = Duration::from_secs(15);

/// A circuit breaker. Closed, it admits every call. After [`FAILURES_MAX`] consecutive failures it opens: calls fail
/// immediately, except for one probe after the pause. A probe that succeeds closes the breaker; one that fails doubles
/// the pause.
#[derive(Default)]
pub(super) struct CircuitBreaker {
    state: Mutex<BreakerState>,
}

#[derive(Default)]
struct BreakerState {
    /// Consecutive failures.
    failures: u32,
    /// Time of the next probe; `None` while closed.
    probe_at: Option<Instant>,
    pause: Duration,
}

impl CircuitBreaker {
    /// Returns whether a call may be made now.
    pub(super) fn admits(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        match state.probe_at {
            None => true,
            Some(at) if at > now => false,
            Some(_) => {
                // The next probe waits for the result of this one, at most for another pause.
                state.probe_at = Some(now + state.pause);
                true
            }
        }
    }

    /// Makes an open breaker admit a probe now.
    pub(super) fn allow_probe(&self, now: Instant) {
        let mut state = self.state.lock();
        if state.probe_at.is_some() {
            state.probe_at = Some(now);
        }
    }

    /// Records a response, which may be a refusal.
    pub(super) fn record_success(&self) {
        *self.state.lock() = BreakerState::default();
    }

    /// Records a call without a response. Returns true if the breaker opened.
    pub(super) fn record_failure(&self, now: Instant) -> bool {
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
    fn it_opens_after_failures_and_closes_after_a_success() {
        let breaker = CircuitBreaker::default();
        let start = Instant::now();
        for _ in 1..FAILURES_MAX {
            assert!(!breaker.record_failure(start));
        }
        assert!(breaker.admits(start));
        assert!(breaker.record_failure(start));
        let moment = Duration::from_millis(1);
        let later = start + PAUSE;
        assert!(!breaker.admits(later - moment));
        assert!(breaker.admits(later), "one probe");
        assert!(!breaker.admits(later), "only one");
        assert!(!breaker.record_failure(later));
        assert!(!breaker.admits(later + PAUSE * 2 - moment), "the pause has doubled");
        assert!(breaker.admits(later + PAUSE * 2));
        breaker.record_success();
        assert!(breaker.admits(later) && breaker.admits(later));
    }

    #[test]
    fn a_probe_can_be_allowed_before_the_pause_ends() {
        let breaker = CircuitBreaker::default();
        let start = Instant::now();
        breaker.allow_probe(start);
        for _ in 0..FAILURES_MAX {
            assert!(breaker.admits(start));
            breaker.record_failure(start);
        }
        assert!(!breaker.admits(start));
        breaker.allow_probe(start);
        assert!(breaker.admits(start), "one probe");
        assert!(!breaker.admits(start), "only one");
    }
}
