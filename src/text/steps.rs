//! A work counter for text processing that can be interrupted.
//!
//! Extraction reports each character that it examines to [`Steps`]. The count bounds the work per character in tests
//! without a clock, and it decides when to look at the deadline and at the stop flag.

use std::cell::Cell;
use std::time::Instant;

/// Steps between two looks at the clock. A step takes some tens of nanoseconds, so an interruption takes effect within a
/// few milliseconds; a look at the clock costs about as much as one step.
const STEPS_PER_CHECK: u64 = 8192;

/// Why work on a text was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Interrupted {
    /// The deadline has passed.
    #[error("the text could not be processed within the time limit of a write")]
    TimedOut,
    /// The service is being stopped.
    #[error("the service is being stopped")]
    Stopped,
}

/// Counts the characters that are examined, and interrupts the work at a deadline or when the service stops.
pub struct Steps<'a> {
    taken: Cell<u64>,
    /// The count at which the deadline and the stop flag are looked at again.
    next_check: Cell<u64>,
    deadline: Option<Instant>,
    stopping: Option<&'a dyn Fn() -> bool>,
}

impl<'a> Steps<'a> {
    /// Counts and never interrupts.
    pub fn unlimited() -> Self {
        Self { taken: Cell::new(0), next_check: Cell::new(u64::MAX), deadline: None, stopping: None }
    }

    /// Interrupts after a deadline. The first count looks at the clock, so a deadline in the past interrupts at once.
    pub fn until(deadline: Instant) -> Self {
        Self { taken: Cell::new(0), next_check: Cell::new(0), deadline: Some(deadline), stopping: None }
    }

    /// Interrupts also once `stopping` returns true.
    pub fn or_when(self, stopping: &'a dyn Fn() -> bool) -> Self {
        Self { next_check: Cell::new(0), stopping: Some(stopping), ..self }
    }

    /// The steps taken so far.
    pub fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// Counts steps.
    ///
    /// # Errors
    ///
    /// [`Interrupted`] after the deadline, or when the service is being stopped.
    pub fn take(&self, steps: usize) -> Result<(), Interrupted> {
        let taken = self.taken.get().saturating_add(steps as u64);
        self.taken.set(taken);
        if taken < self.next_check.get() {
            return Ok(());
        }
        self.next_check.set(taken.saturating_add(STEPS_PER_CHECK));
        if self.stopping.is_some_and(|stopping| stopping()) {
            return Err(Interrupted::Stopped);
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Interrupted::TimedOut);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn steps_are_counted_without_a_limit() {
        let steps = Steps::unlimited();
        assert_eq!(steps.take(3).and_then(|()| steps.take(usize::MAX)), Ok(()));
        assert_eq!(steps.take(usize::MAX), Ok(()));
        assert_eq!(steps.taken(), u64::MAX);
    }

    #[test]
    fn a_passed_deadline_interrupts_the_first_count() {
        assert_eq!(Steps::until(Instant::now()).take(1), Err(Interrupted::TimedOut));
        let later = Steps::until(Instant::now() + Duration::from_secs(3600));
        assert_eq!(later.take(1_000_000), Ok(()));
    }

    #[test]
    fn a_stop_interrupts_within_the_steps_between_two_checks() {
        let stopping = Cell::new(false);
        let asks = || stopping.get();
        let steps = Steps::unlimited().or_when(&asks);
        assert_eq!(steps.take(1), Ok(()));
        stopping.set(true);
        let mut taken = 0;
        while steps.take(1).is_ok() {
            taken += 1;
        }
        assert!(taken <= STEPS_PER_CHECK, "{taken}");
    }
}
