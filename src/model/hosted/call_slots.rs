//! The limit of concurrent calls to an endpoint.

use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::model::deadline::Deadline;

/// CallSlots for concurrent calls. Background work leaves a quarter of them free for urgent calls.
pub(super) struct CallSlots {
    count: usize,
    /// CallSlots that background work may take.
    background_count: usize,
    taken: Mutex<usize>,
    freed: Condvar,
}

/// A taken slot, freed when dropped.
pub(super) struct CallSlot<'a>(&'a CallSlots);

impl CallSlots {
    pub(super) fn new(count: usize) -> Self {
        let count = count.max(1);
        Self { count, background_count: (count - count / 4).max(1), taken: Mutex::new(0), freed: Condvar::new() }
    }

    /// Waits for a slot. Returns `None` when the deadline passes first.
    pub(super) fn take(&self, deadline: Deadline) -> Option<CallSlot<'_>> {
        let limit = if deadline.urgent { self.count } else { self.background_count };
        let mut taken = self.taken.lock();
        while *taken >= limit {
            // A freed slot wakes all threads, because some of them may not take it: those wait again.
            if self.freed.wait_until(&mut taken, deadline.until).timed_out() && Instant::now() >= deadline.until {
                return None;
            }
        }
        *taken += 1;
        Some(CallSlot(self))
    }
}

impl Drop for CallSlot<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock() -= 1;
        self.0.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn background_work_leaves_slots_for_urgent_calls() {
        let slots = CallSlots::new(4);
        let background = || slots.take(Deadline::background(Duration::from_millis(1)));
        let held = [background(), background(), background()];
        assert!(held.iter().all(Option::is_some));
        assert!(background().is_none());
        let urgent = slots.take(Deadline::urgent(Duration::from_millis(1)));
        assert!(urgent.is_some());
        assert!(slots.take(Deadline::urgent(Duration::from_millis(1))).is_none());
        drop(held);
        assert!(background().is_some());
        assert!(CallSlots::new(1).take(Deadline::background(Duration::ZERO)).is_some());
    }
}
