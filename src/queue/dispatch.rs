//! Which accepted write is worked on next: in order within a namespace; accounts take turns, and within an account its
//! namespaces do.
//!
//! The entries themselves are in the store; this is only the order, rebuilt from them at start. One account never holds
//! every worker, so that another account's write finds one however long the first one's take. While the chat model does
//! not answer, the namespaces whose oldest message needs it are held; others are served as before.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::{Duration, Instant};

use cuebase_storage::records::{NamespaceId, QueueEntry, QueuedWork};
use parking_lot::{Condvar, Mutex};
use ulid::Ulid;

use super::hold::{FailedCall, MessageFailures, ModelHold, OutageLevels, Verdict};
use crate::namespace::key::NamespaceKey;

/// A namespace's waiting messages.
struct NamespaceQueue {
    key: NamespaceKey,
    waiting: BTreeSet<Ulid>,
    state: NamespaceQueueState,
    /// Calls of the model that failed for the oldest message.
    model_failures: MessageFailures,
}

/// Whether a namespace's oldest message can be worked on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NamespaceQueueState {
    /// It is in its account's line.
    Ready,
    /// A worker has it.
    Busy,
    /// After a failure: not before this.
    Later(Instant),
    /// It waits for the chat model, since then.
    Held(Instant),
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
    lanes: HashMap<NamespaceId, NamespaceQueue>,
    lines: HashMap<String, Line>,
    /// The accounts with a namespace that is ready, each once; the one whose turn it is first.
    turns: VecDeque<String>,
    /// Namespaces that wait after a failure, by when they are ready.
    later: BTreeSet<(Instant, NamespaceId)>,
    /// Namespaces that wait for the chat model.
    model: ModelHold,
    stopping: bool,
}

impl State {
    /// Puts a namespace at the end of its account's line.
    fn make_ready(&mut self, id: NamespaceId) {
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        lane.state = NamespaceQueueState::Ready;
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
    fn release(&mut self, key: &NamespaceKey) {
        self.model.release(key.id);
        let account = key.account.as_str();
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

    /// Moves the held namespace that is to try the model now into its line.
    fn end_hold(&mut self, now: Instant) {
        if let Some(id) = self.model.choose(now) {
            self.make_ready(id);
        }
    }

    /// When a namespace that waits is ready next.
    fn next_ready(&self) -> Option<Instant> {
        let later = self.later.first().map(|(at, _)| *at);
        match (later, self.model.next_choice()) {
            (Some(later), Some(choice)) => Some(later.min(choice)),
            (later, choice) => later.or(choice),
        }
    }

    /// Holds a namespace that a worker has until the model answers, or puts it into its line where the model does.
    fn hold(&mut self, id: NamespaceId) {
        if !self.model.is_outage() {
            self.make_ready(id);
            return;
        }
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        let now = Instant::now();
        lane.state = NamespaceQueueState::Held(now);
        self.model.hold(id, now);
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
            Some(lane) => {
                lane.waiting.insert(entry.id);
                // A request to forget does not wait for the model: a worker carries it out ahead of what is held.
                if let NamespaceQueueState::Held(since) = lane.state
                    && matches!(entry.work, QueuedWork::Forget { .. })
                {
                    state.model.take_out(entry.namespace_id, since);
                    state.make_ready(entry.namespace_id);
                }
            }
            None => {
                let lane = NamespaceQueue {
                    key: NamespaceKey::of_entry(entry),
                    waiting: BTreeSet::from([entry.id]),
                    state: NamespaceQueueState::Ready,
                    model_failures: MessageFailures::default(),
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
            let now = Instant::now();
            state.end_waits(now);
            state.end_hold(now);
            if let Some(id) = state.take_ready(self.busy_max) {
                let assignment = state.lanes.get_mut(&id).and_then(|lane| {
                    lane.state = NamespaceQueueState::Busy;
                    Some(Assignment { key: lane.key.clone(), id: *lane.waiting.first()? })
                });
                match assignment {
                    Some(assignment) => return Some(assignment),
                    // Never so: a lane without messages is in no line.
                    None => continue,
                }
            }
            match state.next_ready() {
                Some(at) => drop(self.changed.wait_until(&mut state, at)),
                None => self.changed.wait(&mut state),
            }
        }
    }

    /// The message is done with, one way or another.
    pub fn finish(&self, assignment: &Assignment) {
        let id = assignment.key.id;
        let mut state = self.state.lock();
        state.release(&assignment.key);
        if let Some(lane) = state.lanes.get_mut(&id) {
            lane.model_failures = MessageFailures::default();
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
        state.release(&assignment.key);
        if let Some(lane) = state.lanes.get_mut(&id) {
            let at = Instant::now() + after;
            lane.state = NamespaceQueueState::Later(at);
            state.later.insert((at, id));
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Whether a write that a worker has may be sent to the chat model now. During an outage one at a time may, after
    /// waits that grow from `base`; the worker [holds](Queue::hold) the others.
    pub fn admits_to_model(&self, assignment: &Assignment, base: Duration) -> bool {
        self.state.lock().model.admits(assignment.key.id, base, Instant::now())
    }

    /// The message waits until the model answers, and so do the ones behind it.
    pub fn hold(&self, assignment: &Assignment) {
        let mut state = self.state.lock();
        state.release(&assignment.key);
        state.hold(assignment.key.id);
        drop(state);
        self.changed.notify_all();
    }

    /// The model did not answer a message. The namespace waits until the model answers, unless the failure is the
    /// message's own.
    pub fn model_failed(&self, assignment: &Assignment, base: Duration, call: FailedCall) -> Verdict {
        let id = assignment.key.id;
        let mut state = self.state.lock();
        let answers = state.model.answers();
        let alone = state.lanes.get_mut(&id).and_then(|lane| lane.model_failures.note(answers, call.cause));
        if let Some(failures) = alone {
            drop(state);
            if failures.are_own() {
                return Verdict::Own;
            }
            // The model answers others: they must not wait for this one.
            self.retry(assignment, failures.wait(base).max(call.asked()));
            return Verdict::Held;
        }
        let began = state.model.failed(id, base, call.asked(), Instant::now());
        state.release(&assignment.key);
        state.hold(id);
        drop(state);
        self.changed.notify_all();
        if began { Verdict::Began } else { Verdict::Held }
    }

    /// The model answered. Ends an outage and returns how long it lasted; none where there was none.
    pub fn model_answered(&self) -> Option<Duration> {
        let mut state = self.state.lock();
        let (lasted, released) = state.model.answered(Instant::now())?;
        for id in released {
            state.make_ready(id);
        }
        drop(state);
        self.changed.notify_all();
        Some(lasted)
    }

    /// Returns the current outage of the chat model.
    pub fn outage(&self) -> Option<OutageLevels> {
        self.state.lock().model.levels(Instant::now())
    }

    /// Takes out a message that was carried out ahead of the one that a worker has of the same namespace.
    pub fn take_out(&self, assignment: &Assignment, message: Ulid) {
        if message == assignment.id {
            return;
        }
        if let Some(lane) = self.state.lock().lanes.get_mut(&assignment.key.id) {
            lane.waiting.remove(&message);
        }
    }

    /// Forgets the messages of a namespace that was deleted. One that a worker has is dropped by it.
    pub fn forget(&self, id: NamespaceId) {
        let mut state = self.state.lock();
        let Some(lane) = state.lanes.get_mut(&id) else { return };
        match lane.state {
            // Its only message is the worker's, who finishes it.
            NamespaceQueueState::Busy => lane.waiting = lane.waiting.first().copied().into_iter().collect(),
            NamespaceQueueState::Later(at) => {
                state.later.remove(&(at, id));
                state.lanes.remove(&id);
            }
            NamespaceQueueState::Held(since) => {
                state.model.take_out(id, since);
                state.lanes.remove(&id);
            }
            NamespaceQueueState::Ready => {
                state.model.release(id);
                let Some(lane) = state.lanes.get(&id) else { return };
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
            levels.busy += usize::from(lane.state == NamespaceQueueState::Busy);
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
    use crate::queue::hold::{Cause, OWN_FAILURES_MAX};

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

    /// A call that was not answered.
    fn failed_call(cause: Cause) -> FailedCall {
        FailedCall { cause, retry_after: None }
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

    #[test]
    fn namespaces_that_wait_for_the_model_are_held_until_one_of_them_is_answered() {
        const BASE: Duration = Duration::from_millis(1);
        let queue = Queue::new(5);
        [entry(1, "a", 1), entry(2, "b", 2)].iter().for_each(|entry| queue.add(entry));
        let failing = [queue.next().expect("work"), queue.next().expect("work")];
        assert_eq!(queue.model_failed(&failing[0], BASE, failed_call(Cause::Other)), Verdict::Began);
        assert_eq!(queue.model_failed(&failing[1], BASE, failed_call(Cause::Other)), Verdict::Held);
        let tried = queue.next().expect("work");
        assert!(queue.admits_to_model(&tried, BASE));
        assert!(queue.model_answered().is_some());
        queue.finish(&tried);
        let other = queue.next().expect("work");
        assert!(other.id != tried.id && queue.admits_to_model(&other, BASE));
        assert_eq!(queue.outage(), None);
    }

    #[test]
    fn a_request_to_forget_wakes_a_held_namespace_and_is_taken_out_of_it() {
        const BASE: Duration = Duration::from_secs(60);
        let queue = Queue::new(5);
        queue.add(&entry(1, "a", 1));
        queue.model_failed(&queue.next().expect("work"), BASE, failed_call(Cause::Other));
        queue.add(&QueueEntry { work: QueuedWork::Forget { paths: Vec::new() }, ..entry(2, "a", 1) });
        let woken = queue.next().expect("work");
        assert!(woken.id == Ulid::from(1) && !queue.admits_to_model(&woken, BASE));
        queue.take_out(&woken, Ulid::from(2));
        queue.hold(&woken);
        assert_eq!(queue.levels(), Levels { waiting: 1, busy: 0, oldest: Some(Ulid::from(1)) });
        assert_eq!(queue.outage().map(|outage| outage.namespaces), Some(1));
    }

    #[test]
    fn failures_count_as_a_messages_own_once_the_model_answers_others_all_the_time() {
        let queue = Queue::new(5);
        queue.add(&entry(1, "a", 1));
        let fail = |cause: Cause| {
            let verdict = queue.model_failed(&queue.next().expect("work"), Duration::from_nanos(1), failed_call(cause));
            queue.model_answered();
            verdict
        };
        for _ in 0..OWN_FAILURES_MAX * 2 {
            assert_ne!(fail(Cause::RateLimit), Verdict::Own, "nobody is to blame for a limit of the rate");
        }
        for _ in 0..OWN_FAILURES_MAX {
            assert_eq!(fail(Cause::Other), Verdict::Held);
        }
        assert_eq!(fail(Cause::Other), Verdict::Own);
    }
}
