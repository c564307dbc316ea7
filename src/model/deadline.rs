//! Deadlines of calls to a model.

use std::time::{Duration, Instant};

/// The deadline of a call to a model, and its priority.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    /// Time at which the caller gives up.
    pub until: Instant,
    /// Whether a user waits for the result. Such calls do not queue behind background work.
    pub urgent: bool,
}

impl Deadline {
    /// Returns the deadline of a call that a user waits for.
    pub fn urgent(time: Duration) -> Self {
        Self { until: Instant::now() + time, urgent: true }
    }

    /// Returns the deadline of background work.
    pub fn background(time: Duration) -> Self {
        Self { until: Instant::now() + time, urgent: false }
    }

    /// Returns this deadline, or `until` if that is earlier.
    pub fn at_most(self, until: Instant) -> Self {
        Self { until: self.until.min(until), ..self }
    }

    /// Returns the time left.
    pub fn left(self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}
