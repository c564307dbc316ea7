//! A work counter for text processing that can be interrupted.
//!
//! Extraction reports each character that it examines to [`Steps`]. The count lets tests bound the work per character
//! without a clock, and determines when the deadline and the stop flag are checked.

use std::cell::Cell;
use std::time::Instant;

/// Steps between two checks of the clock. A step takes some tens of nanoseconds, so an interruption takes effect within
/// a few milliseconds. Reading the clock costs about as much as one step.
const STEPS_PER_CHECK: u64 = 8192;

/// The reason why work on a text was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Interrupted {
    /// The deadline has passed.
    #[error("the text could not be processed within the time limit of a write")]
    TimedOut,
    /// The service is stopping.
    #[error("the service is stopping")]
    Stopped,
}

/// Counts the characters that are examined, and interrupts the work at a deadline or when the service stops.
pub struct Steps<'a> {
    taken: Cell<u64>,
    /// The count at which the deadline and the stop flag are checked again.
    next_check: Cell<u64>,
    deadline: Option<Instant>,
    stopping: Option<&'a dyn Fn() -> bool>,
}

impl<'a> Steps<'a> {
    /// Returns a counter that never interrupts.
    pub fn unlimited() -> Self {
        Self { taken: Cell::new(0), next_check: Cell::new(u64::MAX), deadline: None, stopping: None }
    }

    /// Returns a counter that interrupts after a deadline. The first call of [`Self::take`] checks the clock, so a
    /// deadline in the past interrupts at once.
    pub fn until(deadline: Instant) -> Self {
        Self { taken: Cell::new(0), next_check: Cell::new(0), deadline: Some(deadline), stopping: None }
    }

    /// Makes the counter interrupt also when `stopping` returns true.
    pub fn or_when(self, stopping: &'a dyn Fn() -> bool) -> Self {
        Self { next_check: Cell::new(0), stopping: Some(stopping), ..self }
    }

    /// Returns the number of steps so far.
    pub fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// Counts steps.
    ///
    /// # Errors
    ///
    /// [`Interrupted`] after the deadline, or when the service is stopping.
    pub fn take(&self, steps: usize) -> Result<(), Interrupted> {
        let taken = self.taken.get().saturating_add(steps as u64);
        self.taken.set(taken);
        if taken < self.next_check.get() {
            return Ok(());
        }
        self.next_check.set(taken.saturating_add(STEPS_PER_CHECK));
        if let Some(stopping) = self.stopping
            && stopping()
        {
            return Err(Interrupted::Stopped);
        }
        if let Some(deadline) = self.deadline
            && Instant::now() >= deadline
        {
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
        let is_stopping = || stopping.get();
        let steps = Steps::unlimited().or_when(&is_stopping);
        assert_eq!(steps.take(1), Ok(()));
        stopping.set(true);
        let mut taken = 0;
        while steps.take(1).is_ok() {
            taken += 1;
        }
        assert!(taken <= STEPS_PER_CHECK, "{taken}");
    }
}
