//! The signal that ends the waits of all jobs, and what a wait returns.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// There is work: the job runs.
    Work,
    /// The service stops: the job ends.
    Stop,
}

/// A signal that is set once, when the service stops.
#[derive(Default)]
pub struct StopSignal {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl StopSignal {
    /// Sets the signal and ends all waits.
    pub fn set(&self) {
        *self.is_set.lock() = true;
        self.changed.notify_all();
    }

    /// Returns whether the signal is set.
    pub fn is_set(&self) -> bool {
        *self.is_set.lock()
    }

    /// Returns [`Wake::Stop`] if the signal is set, otherwise [`Wake::Work`].
    pub fn check(&self) -> Wake {
        if self.is_set() { Wake::Stop } else { Wake::Work }
    }

    /// Waits for a time, or until the signal is set.
    pub fn wait_for(&self, time: Duration) -> Wake {
        let until = Instant::now() + time;
        let mut is_set = self.is_set.lock();
        while !*is_set {
            if self.changed.wait_until(&mut is_set, until).timed_out() {
                break;
            }
        }
        if *is_set { Wake::Stop } else { Wake::Work }
    }
}
