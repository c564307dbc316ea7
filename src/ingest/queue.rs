//! Which accepted write is worked on next: in order within a namespace; accounts take turns, and within an account its
//! namespaces do.
//!
//! The entries themselves are in the store; this is only the order, rebuilt from them at start. One account never holds
//! every worker, so that another account's write finds one however long the first one's take.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::{Duration, Instant};

use cuebase_storage::records::{NamespaceId, QueueEntry};
use parking_lot::{Condvar, Mutex};
use ulid::Ulid;

use crate::service::namespaces::NamespaceKey;

/// A namespace's waiting messages.
struct Lane {
    key: NamespaceKey,
    waiting: BTreeSet<Ulid>,
    state: LaneState,
}

/// Whether a namespace's oldest message can be worked on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LaneState {
    /// It is in its account's line.
    Ready,
    /// A worker has it.
    Busy,
    /// After a failure: not before this.
    Later(Instant),
}

/// An account's namespaces that can be worked on.
#[derive(Default)]
struct Line {
    ready: VecDeque<NamespaceId>,
    /// Workers that work for the account.
    busy: usize,
}

#[derive(Default)]
struct State {
    lanes: HashMap<NamespaceId, Lane>,
    lines: HashMap<String, Line>,
    /// The accounts with a namespace that is ready, each once; the one whose turn it is first.
    turns: VecDeque<String>,
    /// Namespaces that wait after a failure, by when they are ready.
    later: BTreeSet<(Instant, NamespaceId)>,
    stopping: bool,
}

impl State {
    /// Puts a namespace at the end of its account's line.
    fn make_ready(&mut self, id: NamespaceId) {
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        lane.state = LaneState::Ready;
        let account = lane.key.account.clone();
        let line = self.lines.entry(account.clone()).or_default();
        line.ready.push_back(id);
        if line.ready.len() == 1 {
            self.turns.push_back(account);
        }
    }

    /// Takes the namespace whose turn it is; none where every account that has one ready holds as many workers as it may.
    fn take_ready(&mut self, busy_max: usize) -> Option<NamespaceId> {
        for _ in 0..self.turns.len() {
            let account = self.turns.pop_front()?;
            let Some(line) = self.lines.get_mut(&account) else { continue };
            if line.busy >= busy_max {
                self.turns.push_back(account);
                continue;
            }
            let next = line.ready.pop_front();
            line.busy += usize::from(next.is_some());
            if !line.ready.is_empty() {
                self.turns.push_back(account);
            }
            if next.is_some() {
                return next;
            }
        }
        None
    }

    /// A worker is done with a namespace for now.
    fn release(&mut self, account: &str) {
        let Some(line) = self.lines.get_mut(account) else { return };
        line.busy = line.busy.saturating_sub(1);
        if line.busy == 0 && line.ready.is_empty() {
            self.lines.remove(account);
        }
    }

    /// Moves the namespaces that have waited long enough after a failure into their lines.
    fn end_waits(&mut self, now: Instant) {
        while let Some((at, id)) = self.later.first().copied() {
            if at > now {
                return;
            }
            self.later.remove(&(at, id));
            self.make_ready(id);
        }
    }
}

/// The order of work, shared by the workers.
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    /// Workers that one account may hold.
    busy_max: usize,
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

impl Queue {
    /// An empty queue for a number of workers.
    pub fn new(workers: usize) -> Self {
        let busy_max = workers.saturating_sub(1).max(1);
        Self { state: Mutex::default(), changed: Condvar::default(), busy_max }
    }

    /// Adds an accepted write.
    pub fn add(&self, entry: &QueueEntry) {
        let mut state = self.state.lock();
        match state.lanes.get_mut(&entry.namespace_id) {
            Some(lane) => drop(lane.waiting.insert(entry.id)),
            None => {
                let lane = Lane {
                    key: NamespaceKey::of_entry(entry),
                    waiting: BTreeSet::from([entry.id]),
                    state: LaneState::Ready,
                };
                state.lanes.insert(entry.namespace_id, lane);
                state.make_ready(entry.namespace_id);
            }
        }
        drop(state);
        self.changed.notify_one();
    }

    /// The next message; waits for one. None when stopping.
    pub fn next(&self) -> Option<Assignment> {
        let mut state = self.state.lock();
        loop {
            if state.stopping {
                return None;
            }
            state.end_waits(Instant::now());
            if let Some(id) = state.take_ready(self.busy_max) {
                let assignment = state.lanes.get_mut(&id).and_then(|lane| {
                    lane.state = LaneState::Busy;
                    Some(Assignment { key: lane.key.clone(), id: *lane.waiting.first()? })
                });
                match assignment {
                    Some(assignment) => return Some(assignment),
                    // Never so: a lane without messages is in no line.
                    None => continue,
                }
            }
            match state.later.first().copied() {
                Some((at, _)) => drop(self.changed.wait_until(&mut state, at)),
                None => self.changed.wait(&mut state),
            }
        }
    }

    /// The message is done with, one way or another.
    pub fn finish(&self, assignment: &Assignment) {
        let id = assignment.key.id;
        let mut state = self.state.lock();
        state.release(&assignment.key.account);
        if let Some(lane) = state.lanes.get_mut(&id) {
            lane.waiting.remove(&assignment.id);
            if lane.waiting.is_empty() {
                state.lanes.remove(&id);
            } else {
                state.make_ready(id);
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// The message is to be tried again after a while; the ones behind it wait, to keep their order.
    pub fn retry(&self, assignment: &Assignment, after: Duration) {
        let id = assignment.key.id;
        let mut state = self.state.lock();
        state.release(&assignment.key.account);
        if let Some(lane) = state.lanes.get_mut(&id) {
            let at = Instant::now() + after;
            lane.state = LaneState::Later(at);
            state.later.insert((at, id));
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Forgets the messages of a namespace that was deleted. One that a worker has is dropped by it.
    pub fn forget(&self, id: NamespaceId) {
        let mut state = self.state.lock();
        let Some(lane) = state.lanes.get_mut(&id) else { return };
        match lane.state {
            // Its only message is the worker's, who finishes it.
            LaneState::Busy => lane.waiting = lane.waiting.first().copied().into_iter().collect(),
            LaneState::Later(at) => {
                state.later.remove(&(at, id));
                state.lanes.remove(&id);
            }
            LaneState::Ready => {
                let account = lane.key.account.clone();
                state.lanes.remove(&id);
                if let Some(line) = state.lines.get_mut(&account) {
                    line.ready.retain(|ready| *ready != id);
                    if line.ready.is_empty() {
                        state.turns.retain(|turn| *turn != account);
                    }
                }
            }
        }
    }

    /// How much there is to do.
    pub fn levels(&self) -> Levels {
        let state = self.state.lock();
        let mut levels = Levels { waiting: 0, busy: 0, oldest: None };
        for lane in state.lanes.values() {
            levels.waiting += lane.waiting.len();
            levels.busy += usize::from(lane.state == LaneState::Busy);
            levels.oldest = older(levels.oldest, lane.waiting.first().copied());
        }
        levels
    }

    /// The message that has waited longest, with its namespace.
    pub fn oldest(&self) -> Option<(NamespaceId, Ulid)> {
        let state = self.state.lock();
        let mut oldest: Option<(NamespaceId, Ulid)> = None;
        for (namespace, lane) in &state.lanes {
            if let Some(first) = lane.waiting.first().copied()
                && oldest.is_none_or(|(_, id)| first < id)
            {
                oldest = Some((*namespace, first));
            }
        }
        oldest
    }

    /// How much there is to do for one account.
    pub fn of_account(&self, account: &str) -> Waiting {
        let state = self.state.lock();
        let mut waiting = Waiting::default();
        for lane in state.lanes.values() {
            if lane.key.account == account {
                waiting.messages += lane.waiting.len();
                waiting.oldest = older(waiting.oldest, lane.waiting.first().copied());
            }
        }
        waiting
    }

    /// The messages of a namespace that wait or are worked on.
    pub fn of_namespace(&self, id: NamespaceId) -> BTreeSet<Ulid> {
        self.state.lock().lanes.get(&id).map(|lane| lane.waiting.clone()).unwrap_or_default()
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

/// The smaller of two ids, where there are any.
fn older(first: Option<Ulid>, second: Option<Ulid>) -> Option<Ulid> {
    match (first, second) {
        (Some(first), Some(second)) => Some(first.min(second)),
        (first, second) => first.or(second),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuebase_storage::records::QueuedWork;

    /// A message of a namespace, which is named by a letter, as is its account.
    fn entry(id: u128, account: &str, namespace: u8) -> QueueEntry {
        QueueEntry {
            id: Ulid::from(id),
            account: account.into(),
            namespace: format!("n{namespace}"),
            namespace_id: NamespaceId::new(Ulid::from(u128::from(namespace))),
            accepted_at_ms: 0,
            accepted_running_ms: 0,
            failures: 0,
            fingerprint: None,
            work: QueuedWork::Conversation { request: serde_json::Value::Null },
        }
    }

    fn next(queue: &Queue) -> u128 {
        queue.next().expect("work").id.into()
    }

    #[test]
    fn a_namespace_is_served_in_order_and_others_meanwhile() {
        let queue = Queue::new(5);
        [entry(1, "a", 1), entry(2, "a", 1), entry(3, "a", 2)].iter().for_each(|entry| queue.add(entry));
        let first = queue.next().expect("work");
        let second = queue.next().expect("work");
        assert_eq!((first.id, second.id), (Ulid::from(1), Ulid::from(3)));
        queue.finish(&first);
        let third = queue.next().expect("work");
        assert_eq!(third.id, Ulid::from(2));
        queue.retry(&third, Duration::ZERO);
        assert_eq!(next(&queue), 2);
        assert_eq!(queue.levels(), Levels { waiting: 2, busy: 2, oldest: Some(Ulid::from(2)) });
        queue.stop();
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn accounts_take_turns_however_much_one_of_them_sends() {
        let queue = Queue::new(2);
        for id in 0..100u8 {
            queue.add(&entry(u128::from(id), "greedy", id % 10));
        }
        queue.add(&entry(1000, "other", 200));
        let first = queue.next().expect("work");
        assert_eq!(first.id, Ulid::from(0));
        assert_eq!(next(&queue), 1000, "the other account is next");
        queue.finish(&first);
        queue.add(&entry(1001, "other", 201));
        assert_eq!(next(&queue), 1);
    }

    #[test]
    fn one_account_never_holds_every_worker() {
        let queue = Queue::new(3);
        for id in 0..5u8 {
            queue.add(&entry(u128::from(id), "greedy", id));
        }
        let held = [queue.next().expect("work"), queue.next().expect("work")];
        queue.add(&entry(100, "other", 100));
        assert_eq!(next(&queue), 100);
        queue.finish(&held[0]);
        assert_eq!(next(&queue), 2);
    }

    #[test]
    fn a_deleted_namespace_has_nothing_to_do_any_more() {
        let queue = Queue::new(5);
        for id in [1, 2] {
            queue.add(&entry(id, "a", 1));
        }
        queue.add(&entry(3, "a", 2));
        queue.forget(NamespaceId::new(Ulid::from(1)));
        let held = queue.next().expect("work");
        assert_eq!(held.id, Ulid::from(3));
        queue.add(&entry(4, "a", 2));
        queue.forget(NamespaceId::new(Ulid::from(2)));
        queue.finish(&held);
        assert_eq!(queue.levels(), Levels { waiting: 0, busy: 0, oldest: None });
    }
}
