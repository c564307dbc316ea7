//! Which accepted write is worked on next: first in, first out within a namespace, namespaces side by side.
//!
//! The entries themselves are in the store; this is only the order, rebuilt from them at start.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use cuebase_storage::records::QueueEntry;
use jiff::Timestamp;
use parking_lot::{Condvar, Mutex};
use ulid::Ulid;

use crate::service::namespaces::NamespaceKey;

/// A namespace's waiting messages.
#[derive(Default)]
struct Lane {
    waiting: BTreeSet<Ulid>,
    busy: bool,
    /// After a failure: not before this.
    not_before: Option<Instant>,
}

#[derive(Default)]
struct State {
    lanes: HashMap<NamespaceKey, Lane>,
    stopping: bool,
}

/// The order of work, shared by the workers.
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    began: Began,
}

/// When this process began to look after the queue: from then on time is what has passed, not what a clock says that
/// somebody may set.
struct Began {
    at: Instant,
    at_ms: i64,
    /// The newest message that was there.
    newest: Option<Ulid>,
}

/// How much there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Messages that wait or are worked on.
    pub waiting: usize,
    /// Of them, those that are worked on.
    pub busy: usize,
    /// The one that has waited longest.
    pub oldest: Option<Ulid>,
}

/// One message to work on; its namespace is busy until [`Queue::finish`] or [`Queue::retry`] is called with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Which namespace.
    pub key: NamespaceKey,
    /// Which message.
    pub id: Ulid,
}

impl Default for Queue {
    fn default() -> Self {
        let began = Began { at: Instant::now(), at_ms: Timestamp::now().as_millisecond(), newest: None };
        Self { state: Mutex::default(), changed: Condvar::default(), began }
    }
}

impl Queue {
    /// Adds a write that an earlier process accepted.
    pub fn take_over(&mut self, entry: &QueueEntry) {
        self.began.newest = self.began.newest.max(Some(entry.id));
        self.add(entry);
    }

    /// Adds an accepted write.
    pub fn add(&self, entry: &QueueEntry) {
        let key = NamespaceKey { account: entry.account.clone(), name: entry.namespace.clone() };
        self.state.lock().lanes.entry(key).or_default().waiting.insert(entry.id);
        self.changed.notify_one();
    }

    /// The next message of a namespace that nobody is working on, the oldest first; waits for one. None when stopping.
    pub fn next(&self) -> Option<Assignment> {
        let mut state = self.state.lock();
        loop {
            if state.stopping {
                return None;
            }
            let now = Instant::now();
            let free = state.lanes.iter_mut().filter(|(_, lane)| !lane.busy && !lane.waiting.is_empty());
            let (ready, later): (Vec<_>, Vec<_>) =
                free.partition(|(_, lane)| lane.not_before.is_none_or(|at| at <= now));
            let wake = later.iter().filter_map(|(_, lane)| lane.not_before).min();
            if let Some((key, lane)) = ready.into_iter().min_by_key(|(_, lane)| lane.waiting.first().copied())
                && let Some(id) = lane.waiting.first().copied()
            {
                lane.busy = true;
                return Some(Assignment { key: key.clone(), id });
            }
            match wake {
                Some(at) => drop(self.changed.wait_until(&mut state, at)),
                None => self.changed.wait(&mut state),
            }
        }
    }

    /// The message is done with, one way or another.
    pub fn finish(&self, assignment: &Assignment) {
        let mut state = self.state.lock();
        if let Some(lane) = state.lanes.get_mut(&assignment.key) {
            lane.waiting.remove(&assignment.id);
            lane.busy = false;
            lane.not_before = None;
            if lane.waiting.is_empty() {
                state.lanes.remove(&assignment.key);
            }
        }
        self.changed.notify_all();
    }

    /// The message is to be tried again after a while; the ones behind it wait, to keep their order.
    pub fn retry(&self, assignment: &Assignment, after: Duration) {
        if let Some(lane) = self.state.lock().lanes.get_mut(&assignment.key) {
            lane.busy = false;
            lane.not_before = Some(Instant::now() + after);
        }
        self.changed.notify_all();
    }

    /// The time by the clock as it was when the process began, milliseconds since the epoch.
    pub fn now_ms(&self) -> i64 {
        let passed = i64::try_from(self.began.at.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.began.at_ms.saturating_add(passed)
    }

    /// For how long a message has waited, in milliseconds, however often the clock was set since the process began.
    pub fn waited_ms(&self, entry: &QueueEntry) -> i64 {
        let was_there = self.began.newest.is_some_and(|newest| entry.id <= newest);
        let since = if was_there { entry.accepted_at_ms } else { self.began.at_ms };
        self.now_ms().saturating_sub(since)
    }

    /// How much there is to do.
    pub fn levels(&self) -> Levels {
        let state = self.state.lock();
        let lanes = || state.lanes.values();
        Levels {
            waiting: lanes().map(|lane| lane.waiting.len()).sum(),
            busy: lanes().filter(|lane| lane.busy).count(),
            oldest: lanes().filter_map(|lane| lane.waiting.first().copied()).min(),
        }
    }

    /// Whether the workers are to end.
    pub fn is_stopping(&self) -> bool {
        self.state.lock().stopping
    }

    /// Lets every worker end after the message that it is working on.
    pub fn stop(&self) {
        self.state.lock().stopping = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuebase_storage::records::QueuedWork;

    fn entry(id: u128, namespace: &str) -> QueueEntry {
        QueueEntry {
            id: Ulid::from(id),
            account: "a".into(),
            namespace: namespace.into(),
            accepted_at_ms: 0,
            failures: 0,
            work: QueuedWork::Conversation { request: serde_json::Value::Null },
        }
    }

    #[test]
    fn what_was_accepted_since_the_start_has_waited_no_longer_than_that() {
        let now_ms = Timestamp::now().as_millisecond();
        let old = QueueEntry { accepted_at_ms: now_ms - 1_000_000, ..entry(1, "x") };
        let mut queue = Queue::default();
        queue.take_over(&old);
        assert!((1_000_000..1_060_000).contains(&queue.waited_ms(&old)));
        // Accepted by a clock that was set back by far.
        assert!(queue.waited_ms(&entry(2, "x")) < 60_000);
    }

    #[test]
    fn a_namespace_is_served_in_order_and_others_meanwhile() {
        let queue = Queue::default();
        [entry(1, "x"), entry(2, "x"), entry(3, "y")].iter().for_each(|entry| queue.add(entry));
        let first = queue.next().expect("work");
        let second = queue.next().expect("work");
        assert_eq!((first.id, second.id), (Ulid::from(1), Ulid::from(3)));
        queue.finish(&first);
        let third = queue.next().expect("work");
        assert_eq!(third.id, Ulid::from(2));
        queue.retry(&third, Duration::ZERO);
        assert_eq!(queue.next().expect("work").id, Ulid::from(2));
        assert_eq!(queue.levels(), Levels { waiting: 2, busy: 2, oldest: Some(Ulid::from(2)) });
        queue.stop();
        assert_eq!(queue.next(), None);
    }
}
