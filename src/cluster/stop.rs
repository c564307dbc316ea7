//! The end of the threads that keep a session.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Tells threads to end.
#[derive(Default)]
pub(super) struct Stop {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Ends all waits, now and later.
    pub(super) fn set(&self) {
        *self.is_set.lock() = true;
        self.changed.notify_all();
    }

    /// Waits for a time. Returns false if the thread must end.
    pub(super) fn wait(&self, time: Duration) -> bool {
        let mut is_set = self.is_set.lock();
        if !*is_set {
            self.changed.wait_for(&mut is_set, time);
        }
        !*is_set
    }

    /// Whether the threads must end.
    pub(super) fn is_set(&self) -> bool {
        *self.is_set.lock()
    }
}
