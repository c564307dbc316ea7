//! How many calls of an endpoint may be under way.

use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::model::Deadline;

/// A number of slots, one a call. Work that nobody waits for leaves a quarter of them free for calls that somebody
/// waits for.
pub(super) struct Slots {
    all: usize,
    for_work: usize,
    taken: Mutex<usize>,
    freed: Condvar,
}

/// A slot, free again when dropped.
pub(super) struct Slot<'a>(&'a Slots);

impl Slots {
    pub(super) fn new(all: usize) -> Self {
        let all = all.max(1);
        Self { all, for_work: (all - all / 4).max(1), taken: Mutex::new(0), freed: Condvar::new() }
    }

    /// Waits for a slot; none when the deadline ends first.
    pub(super) fn take(&self, deadline: Deadline) -> Option<Slot<'_>> {
        let limit = if deadline.urgent { self.all } else { self.for_work };
        let mut taken = self.taken.lock();
        while *taken >= limit {
            // Whoever is woken and may not go on waits again; all are woken, so that none who may is missed.
            if self.freed.wait_until(&mut taken, deadline.until).timed_out() && Instant::now() >= deadline.until {
                return None;
            }
        }
        *taken += 1;
        Some(Slot(self))
    }
}

impl Drop for Slot<'_> {
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
    fn work_leaves_room_for_those_who_wait() {
        let slots = Slots::new(4);
        let work = || slots.take(Deadline::of_work(Duration::from_millis(1)));
        let held = [work(), work(), work()];
        assert!(held.iter().all(Option::is_some));
        assert!(work().is_none());
        let urgent = slots.take(Deadline::urgent(Duration::from_millis(1)));
        assert!(urgent.is_some());
        assert!(slots.take(Deadline::urgent(Duration::from_millis(1))).is_none());
        drop(held);
        assert!(work().is_some());
        assert!(Slots::new(1).take(Deadline::of_work(Duration::ZERO)).is_some());
    }
}
