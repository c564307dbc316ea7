//! Which accepted write is worked on next: first in, first out within a namespace, namespaces side by side.
//!
//! The entries themselves are in the store; this is only the order, rebuilt from them at start.

use std::collections::{BTreeMap, BTreeSet, HashMap};
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
    /// The namespaces that nobody is working on and that need not wait, by their oldest message.
    ready: BTreeMap<Ulid, NamespaceKey>,
    /// Those that wait after a failure, by when they are ready.
    later: BTreeMap<(Instant, Ulid), NamespaceKey>,
    stopping: bool,
}

impl State {
    /// Changes a namespace's lane, and its place among those that are ready with it; a lane of nothing is taken away.
    fn change(&mut self, key: &NamespaceKey, change: impl FnOnce(&mut Lane)) {
        let mut lane = self.lanes.remove(key).unwrap_or_default();
        if let Some(oldest) = lane.waiting.first() {
            self.ready.remove(oldest);
            lane.not_before.map(|at| self.later.remove(&(at, *oldest)));
        }
        change(&mut lane);
        let Some(oldest) = lane.waiting.first().copied() else { return };
        match lane.not_before {
            _ if lane.busy => {}
            Some(at) => drop(self.later.insert((at, oldest), key.clone())),
            None => drop(self.ready.insert(oldest, key.clone())),
        }
        self.lanes.insert(key.clone(), lane);
    }
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

/// What waits of one account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Messages that wait or are worked on.
    pub messages: usize,
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
        self.state.lock().change(&key, |lane| lane.waiting.extend([entry.id]));
        self.changed.notify_one();
    }

    /// The next message of a namespace that nobody is working on, the oldest first; waits for one. None when stopping.
    pub fn next(&self) -> Option<Assignment> {
        let mut state = self.state.lock();
        loop {
            if state.stopping {
                return None;
            }
            // Whoever has waited long enough after a failure is ready.
            let now = Instant::now();
            while let Some(((at, _), key)) = state.later.first_key_value()
                && *at <= now
            {
                let key = key.clone();
                state.change(&key, |lane| lane.not_before = None);
            }
            if let Some((id, key)) = state.ready.first_key_value().map(|(id, key)| (*id, key.clone())) {
                state.change(&key, |lane| lane.busy = true);
                return Some(Assignment { key, id });
            }
            match state.later.first_key_value().map(|((at, _), _)| *at) {
                Some(at) => drop(self.changed.wait_until(&mut state, at)),
                None => self.changed.wait(&mut state),
            }
        }
    }

    /// The message is done with, one way or another.
    pub fn finish(&self, assignment: &Assignment) {
        self.state.lock().change(&assignment.key, |lane| {
            lane.waiting.remove(&assignment.id);
            lane.busy = false;
            lane.not_before = None;
        });
        self.changed.notify_all();
    }

    /// The message is to be tried again after a while; the ones behind it wait, to keep their order.
    pub fn retry(&self, assignment: &Assignment, after: Duration) {
        self.state.lock().change(&assignment.key, |lane| {
            lane.busy = false;
            lane.not_before = Some(Instant::now() + after);
        });
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

    /// How much there is to do for one account.
    pub fn of_account(&self, account: &str) -> Waiting {
        let state = self.state.lock();
        let own = state.lanes.iter().filter(|(key, _)| key.account == account).map(|(_, lane)| &lane.waiting);
        own.fold(Waiting::default(), |sum, waiting| Waiting {
            messages: sum.messages + waiting.len(),
            oldest: [sum.oldest, waiting.first().copied()].into_iter().flatten().min(),
        })
    }

    /// The messages of a namespace that wait or are worked on.
    pub fn of_namespace(&self, key: &NamespaceKey) -> BTreeSet<Ulid> {
        self.state.lock().lanes.get(key).map(|lane| lane.waiting.clone()).unwrap_or_default()
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
