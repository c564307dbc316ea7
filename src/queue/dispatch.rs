//! The order in which workers process accepted writes: first in, first out within a namespace. Accounts take turns, and
//! so do the namespaces of an account.
//!
//! The entries themselves are in the store; this order is rebuilt from them at the start. One account never holds all
//! workers, so a write of another account finds a free one. While the chat model does not answer, namespaces whose
//! oldest message needs it are held; the others continue.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebase_storage::records::{QueueEntry, QueuedWork};
use cuebase_storage::{AccountId, MessageId, NamespaceId, NamespaceKey};
use parking_lot::{Condvar, Mutex};

use super::hold::{FailedCall, MessageFailures, ModelHold, OutageLevels, Verdict};
use super::progress::WriteProgresses;
use super::waits::WriteWaits;
use crate::clock::Clock;

/// The queued messages of a namespace.
struct NamespaceQueue {
    key: NamespaceKey,
    /// Differs from those of earlier queues of the same namespace.
    turn: u64,
    /// Including the one that a worker processes.
    messages: BTreeSet<MessageId>,
    state: NamespaceQueueState,
    /// Failed model calls for the oldest message.
    model_failures: MessageFailures,
}

/// Whether a worker can take a namespace's oldest message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NamespaceQueueState {
    /// It waits in its account's line.
    Ready,
    /// A worker processes this message.
    Busy(MessageId),
    /// It failed, and is tried again at this time.
    Retry(Instant),
    /// It waits for the chat model since this time.
    Held(Instant),
}

/// The ready namespaces of an account.
#[derive(Default)]
struct AccountLine {
    ready: VecDeque<NamespaceId>,
    /// Workers that process messages of the account.
    busy: usize,
}

#[derive(Default)]
struct QueueState {
    namespaces: HashMap<NamespaceId, NamespaceQueue>,
    lines: HashMap<AccountId, AccountLine>,
    /// The accounts with a ready namespace, each once, in the order of their turns.
    turns: VecDeque<AccountId>,
    /// Namespaces that wait after a failure, by the time of the next attempt.
    retries: BTreeSet<(Instant, NamespaceId)>,
    /// Namespaces that wait for the chat model.
    model: ModelHold,
    stopping: bool,
    /// Number of namespace queues so far.
    queues_begun: u64,
    /// Workers that process messages.
    busy: usize,
    /// Workers that this process may use. `None` if it is the only one, or may use all.
    workers_max: Option<usize>,
}

impl QueueState {
    /// Returns how many workers one account may hold: all that may be used but one.
    fn busy_max_of_account(&self, busy_max: usize) -> usize {
        match self.workers_max {
            Some(workers) => busy_max.min(busy_max_of(workers)),
            None => busy_max,
        }
    }

    /// Whether one more worker may take a message.
    fn has_free_worker(&self) -> bool {
        match self.workers_max {
            Some(workers) => self.busy < workers,
            None => true,
        }
    }

    /// Returns the queue of an assignment's namespace. `None` if it was removed since the assignment, even if the
    /// namespace has a queue again.
    fn queue_of(&mut self, assignment: &Assignment) -> Option<&mut NamespaceQueue> {
        self.namespaces.get_mut(&assignment.key.id).filter(|namespace| namespace.turn == assignment.turn)
    }

    /// Puts a namespace at the end of its account's line.
    fn make_ready(&mut self, id: NamespaceId) {
        let Some(namespace) = self.namespaces.get_mut(&id) else { return };
        namespace.state = NamespaceQueueState::Ready;
        let account = namespace.key.account.clone();
        let line = self.lines.entry(account.clone()).or_default();
        line.ready.push_back(id);
        if line.ready.len() == 1 {
            self.turns.push_back(account);
        }
    }

    /// Takes the next namespace. Returns `None` if none is ready, if each account with a ready one has its maximum of
    /// workers, or if this process uses all workers that it may.
    fn take_ready(&mut self, busy_max: usize) -> Option<NamespaceId> {
        if !self.has_free_worker() {
            return None;
        }
        let busy_max = self.busy_max_of_account(busy_max);
        for _ in 0..self.turns.len() {
            let account = self.turns.pop_front()?;
            let Some(line) = self.lines.get_mut(&account) else { continue };
            if line.busy >= busy_max {
                self.turns.push_back(account);
                continue;
            }
            let next = line.ready.pop_front();
            line.busy += usize::from(next.is_some());
            self.busy += usize::from(next.is_some());
            if !line.ready.is_empty() {
                self.turns.push_back(account);
            }
            if next.is_some() {
                return next;
            }
        }
        None
    }

    /// Records that a worker ended its work on a namespace.
    fn release(&mut self, key: &NamespaceKey) {
        self.model.release(key.id);
        self.busy = self.busy.saturating_sub(1);
        let account = key.account.as_str();
        let Some(line) = self.lines.get_mut(account) else { return };
        line.busy = line.busy.saturating_sub(1);
        if line.busy == 0 && line.ready.is_empty() {
            self.lines.remove(account);
        }
    }

    /// Makes namespaces ready whose wait after a failure has ended.
    fn end_waits(&mut self, now: Instant) {
        while let Some((at, id)) = self.retries.first().copied() {
            if at > now {
                return;
            }
            self.retries.remove(&(at, id));
            self.make_ready(id);
        }
    }

    /// Makes the held namespace ready that may try the model now.
    fn end_hold(&mut self, now: Instant) {
        if let Some(id) = self.model.choose(now) {
            self.make_ready(id);
        }
    }

    /// Returns when the next waiting namespace becomes ready.
    fn next_ready(&self) -> Option<Instant> {
        let retry = self.retries.first().map(|(at, _)| *at);
        match (retry, self.model.next_choice()) {
            (Some(retry), Some(choice)) => Some(retry.min(choice)),
            (retry, choice) => retry.or(choice),
        }
    }

    /// Removes the messages of a deleted namespace, except for the one in progress. Returns all of them.
    fn remove_namespace(&mut self, id: NamespaceId) -> BTreeSet<MessageId> {
        let Some(namespace) = self.namespaces.get_mut(&id) else { return BTreeSet::new() };
        let messages = namespace.messages.clone();
        match namespace.state {
            // Its worker finishes the message.
            NamespaceQueueState::Busy(message) => namespace.messages = BTreeSet::from([message]),
            NamespaceQueueState::Retry(at) => {
                self.retries.remove(&(at, id));
                self.namespaces.remove(&id);
            }
            NamespaceQueueState::Held(since) => {
                self.model.remove_held(id, since);
                self.namespaces.remove(&id);
            }
            NamespaceQueueState::Ready => self.remove_ready(id),
        }
        messages
    }

    /// Removes a namespace that waits in its account's line.
    fn remove_ready(&mut self, id: NamespaceId) {
        self.model.release(id);
        let Some(namespace) = self.namespaces.remove(&id) else { return };
        let account = namespace.key.account;
        if let Some(line) = self.lines.get_mut(&account) {
            line.ready.retain(|ready| *ready != id);
            if line.ready.is_empty() {
                self.turns.retain(|turn| *turn != account);
            }
        }
    }

    /// Holds a worker's namespace until the model answers. Makes it ready if the model answers.
    fn hold(&mut self, id: NamespaceId) {
        if !self.model.is_outage() {
            self.make_ready(id);
            return;
        }
        let Some(namespace) = self.namespaces.get_mut(&id) else { return };
        let now = Instant::now();
        namespace.state = NamespaceQueueState::Held(now);
        self.model.hold(id, now);
    }
}

/// The queue of all accepted writes, shared by the workers.
pub struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
    /// Workers in total.
    workers: usize,
    /// Workers that one account may hold at a time.
    busy_max: usize,
    /// Callers that wait until a message has left the queue.
    waits: Arc<WriteWaits>,
    /// How far workers are with their messages.
    progress: WriteProgresses,
}

/// The level of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLevels {
    /// Queued messages, including those in progress.
    pub waiting: usize,
    /// Messages in progress.
    pub busy: usize,
    /// The oldest queued message.
    pub oldest: Option<MessageId>,
}

/// The level of the queue for one account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountLevels {
    /// Queued messages, including those in progress.
    pub messages: usize,
    /// The oldest queued message.
    pub oldest: Option<MessageId>,
}

/// A message for a worker. Its namespace is busy until the worker calls [`Queue::finish`], [`Queue::retry`],
/// [`Queue::hold`] or [`Queue::model_failed`] with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The namespace.
    pub key: NamespaceKey,
    /// The message.
    pub id: MessageId,
    /// The queue of the namespace that the message was taken from.
    turn: u64,
}

impl Queue {
    /// An empty queue for a number of workers.
    pub fn new(workers: usize, clock: &Clock) -> Self {
        let state = QueueState { model: ModelHold::new(clock.clone()), ..QueueState::default() };
        Self {
            state: Mutex::new(state),
            changed: Condvar::default(),
            workers,
            busy_max: busy_max_of(workers),
            waits: Arc::default(),
            progress: WriteProgresses::default(),
        }
    }

    /// Adds an accepted write.
    pub fn add(&self, entry: &QueueEntry) {
        let mut state = self.state.lock();
        match state.namespaces.get_mut(&entry.namespace_id) {
            Some(namespace) => {
                namespace.messages.insert(entry.id);
                // A request to forget needs no model: a worker ingests it before the held messages.
                if let NamespaceQueueState::Held(since) = namespace.state
                    && matches!(entry.work, QueuedWork::Forget { .. })
                {
                    state.model.remove_held(entry.namespace_id, since);
                    state.make_ready(entry.namespace_id);
                }
            }
            None => {
                state.queues_begun += 1;
                let namespace = NamespaceQueue {
                    key: entry.namespace_key(),
                    turn: state.queues_begun,
                    messages: BTreeSet::from([entry.id]),
                    state: NamespaceQueueState::Ready,
                    model_failures: MessageFailures::default(),
                };
                state.namespaces.insert(entry.namespace_id, namespace);
                state.make_ready(entry.namespace_id);
            }
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Returns the number of workers in total.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Sets how many of the workers take messages, because the limit is shared with other processes. Workers that have
    /// a message finish it.
    pub fn limit_workers(&self, workers: usize) {
        let limit = if workers < self.workers { Some(workers) } else { None };
        let mut state = self.state.lock();
        if state.workers_max == limit {
            return;
        }
        state.workers_max = limit;
        drop(state);
        self.changed.notify_all();
    }

    /// Waits for the next message. Returns `None` after a stop.
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
                if let Some(namespace) = state.namespaces.get_mut(&id)
                    && let Some(message) = namespace.messages.first().copied()
                {
                    namespace.state = NamespaceQueueState::Busy(message);
                    return Some(Assignment { key: namespace.key.clone(), id: message, turn: namespace.turn });
                }
                // Does not occur: a ready namespace has messages.
                continue;
            }
            match state.next_ready() {
                Some(at) => drop(self.changed.wait_until(&mut state, at)),
                None => self.changed.wait(&mut state),
            }
        }
    }

    /// Removes a message after a worker has ingested it or given it up, and notifies those who wait for it.
    pub fn finish(&self, assignment: &Assignment) {
        let id = assignment.key.id;
        let mut state = self.state.lock();
        state.release(&assignment.key);
        if let Some(namespace) = state.queue_of(assignment) {
            namespace.model_failures = MessageFailures::default();
            namespace.messages.remove(&assignment.id);
            if namespace.messages.is_empty() {
                state.namespaces.remove(&id);
            } else {
                state.make_ready(id);
            }
        }
        drop(state);
        self.changed.notify_all();
        self.waits.notify(assignment.id);
    }

    /// Schedules another attempt of a message. Later messages of its namespace wait, which keeps their order.
    pub fn retry(&self, assignment: &Assignment, after: Duration) {
        let id = assignment.key.id;
        let mut state = self.state.lock();
        state.release(&assignment.key);
        if let Some(namespace) = state.queue_of(assignment) {
            let at = Instant::now() + after;
            namespace.state = NamespaceQueueState::Retry(at);
            state.retries.insert((at, id));
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Whether a worker may send a write to the chat model now. During an outage only one write at a time may, after
    /// waits that grow from `base`. The worker must [hold](Queue::hold) all others.
    pub fn may_call_model(&self, assignment: &Assignment, base: Duration) -> bool {
        self.state.lock().model.admits(assignment.key.id, base, Instant::now())
    }

    /// Holds a message and the later ones of its namespace until the model answers.
    pub fn hold(&self, assignment: &Assignment) {
        let mut state = self.state.lock();
        state.release(&assignment.key);
        if state.queue_of(assignment).is_some() {
            state.hold(assignment.key.id);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Records that the model did not answer for a message. Its namespace then waits for the model, unless the failure
    /// counts as the message's own.
    pub fn model_failed(&self, assignment: &Assignment, base: Duration, call: FailedCall) -> Verdict {
        let id = assignment.key.id;
        let mut state = self.state.lock();
        let answers = state.model.answers();
        if let Some(namespace) = state.queue_of(assignment)
            && let Some(failures) = namespace.model_failures.add(answers, call.cause)
        {
            drop(state);
            if failures.are_own() {
                return Verdict::Own;
            }
            // The model answers other messages, which must not wait for this one.
            self.retry(assignment, failures.wait(base).max(call.requested_wait()));
            return Verdict::Held;
        }
        let began = state.model.failed(id, base, call.requested_wait(), Instant::now());
        state.release(&assignment.key);
        if state.queue_of(assignment).is_some() {
            state.hold(id);
        }
        drop(state);
        self.changed.notify_all();
        if began { Verdict::Began } else { Verdict::Held }
    }

    /// Records an answer of the model. Ends a current outage and returns how long it lasted.
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

    /// Removes a message that was ingested before the one assigned to a worker of the same namespace.
    pub fn remove(&self, assignment: &Assignment, message: MessageId) {
        if message == assignment.id {
            return;
        }
        if let Some(namespace) = self.state.lock().queue_of(assignment) {
            namespace.messages.remove(&message);
        }
        self.waits.notify(message);
    }

    /// Removes the messages of a deleted namespace. A message in progress is dropped by its worker.
    pub fn remove_namespace(&self, id: NamespaceId) {
        let messages = self.state.lock().remove_namespace(id);
        for message in messages {
            self.waits.notify(message);
        }
    }

    /// Removes the messages of a namespace that this process gives up, also the one in progress. What a worker reports of
    /// it then changes nothing.
    pub fn give_up_namespace(&self, id: NamespaceId) {
        let mut state = self.state.lock();
        let messages = state.remove_namespace(id);
        state.namespaces.remove(&id);
        drop(state);
        for message in messages {
            self.waits.notify(message);
        }
    }

    /// Removes all messages, also those in progress, when this process owns no namespace any more. What a worker reports
    /// of an earlier assignment then changes nothing.
    pub fn clear(&self) {
        let mut state = self.state.lock();
        let ids: Vec<NamespaceId> = state.namespaces.keys().copied().collect();
        let mut messages = BTreeSet::new();
        for id in ids {
            messages.extend(state.remove_namespace(id));
            state.namespaces.remove(&id);
        }
        drop(state);
        for message in messages {
            self.waits.notify(message);
        }
    }

    /// Returns how far workers are with their messages.
    pub fn progress(&self) -> &WriteProgresses {
        &self.progress
    }

    /// Returns the waits for messages of the queue.
    pub fn waits(&self) -> &Arc<WriteWaits> {
        &self.waits
    }

    /// Whether a worker processes a message.
    pub fn is_in_progress(&self, namespace: NamespaceId, message: MessageId) -> bool {
        let state = self.state.lock();
        let Some(namespace) = state.namespaces.get(&namespace) else { return false };
        namespace.state == NamespaceQueueState::Busy(message)
    }

    /// Returns the level of the queue.
    pub fn levels(&self) -> QueueLevels {
        let state = self.state.lock();
        let mut levels = QueueLevels { waiting: 0, busy: 0, oldest: None };
        for namespace in state.namespaces.values() {
            levels.waiting += namespace.messages.len();
            levels.busy += usize::from(matches!(namespace.state, NamespaceQueueState::Busy(_)));
            levels.oldest = older(levels.oldest, namespace.messages.first().copied());
        }
        levels
    }

    /// Returns the oldest queued message with its namespace.
    pub fn oldest(&self) -> Option<(NamespaceKey, MessageId)> {
        let state = self.state.lock();
        let mut oldest: Option<(&NamespaceKey, MessageId)> = None;
        for namespace in state.namespaces.values() {
            let Some(first) = namespace.messages.first().copied() else { continue };
            match oldest {
                Some((_, message)) if message <= first => {}
                _ => oldest = Some((&namespace.key, first)),
            }
        }
        oldest.map(|(key, message)| (key.clone(), message))
    }

    /// Returns the level of the queue for one account.
    pub fn account_levels(&self, account: &AccountId) -> AccountLevels {
        let state = self.state.lock();
        let mut levels = AccountLevels::default();
        for namespace in state.namespaces.values() {
            if namespace.key.account == *account {
                levels.messages += namespace.messages.len();
                levels.oldest = older(levels.oldest, namespace.messages.first().copied());
            }
        }
        levels
    }

    /// Returns the queued messages of a namespace, including the one in progress.
    pub fn messages_of(&self, id: NamespaceId) -> BTreeSet<MessageId> {
        match self.state.lock().namespaces.get(&id) {
            Some(namespace) => namespace.messages.clone(),
            None => BTreeSet::new(),
        }
    }

    /// Whether the workers must stop.
    pub fn is_stopping(&self) -> bool {
        self.state.lock().stopping
    }

    /// Stops the workers after their current message, and ends all waits.
    pub fn stop(&self) {
        self.state.lock().stopping = true;
        self.changed.notify_all();
        self.waits.end();
    }
}

/// Returns how many of a number of workers one account may hold: all but one, so that another account finds a free one.
fn busy_max_of(workers: usize) -> usize {
    workers.saturating_sub(1).max(1)
}

/// Returns the smaller of two optional ids.
fn older(first: Option<MessageId>, second: Option<MessageId>) -> Option<MessageId> {
    match (first, second) {
        (Some(first), Some(second)) => Some(first.min(second)),
        (first, second) => first.or(second),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use cuebase_storage::NamespaceName;
    use ulid::Ulid;

    use super::*;
    use crate::queue::hold::{Cause, OWN_FAILURES_MAX};

    fn account_id(id: &str) -> AccountId {
        AccountId::new(id).expect("is valid")
    }

    /// An entry with an id, an account and the number of a namespace.
    fn entry(id: u128, account: &str, namespace: u8) -> QueueEntry {
        QueueEntry {
            id: MessageId::from(Ulid::from(id)),
            account: account_id(account),
            namespace: NamespaceName::new(&format!("n{namespace}")).expect("is valid"),
            namespace_id: NamespaceId::new(Ulid::from(u128::from(namespace))),
            accepted_at_ms: 0,
            accepted_running_ms: 0,
            failures: 0,
            fingerprint: None,
            sender: None,
            work: QueuedWork::ForgetTerms { terms: Vec::new() },
        }
    }

    /// A failed call with a cause.
    fn failed_call(cause: Cause) -> FailedCall {
        FailedCall { cause, retry_after: None }
    }

    fn next(queue: &Queue) -> u128 {
        Ulid::from(queue.next().expect("work").id).into()
    }

    #[test]
    fn messages_of_a_namespace_are_assigned_in_order() {
        let queue = Queue::new(5, &Clock::system());
        [entry(1, "a", 1), entry(2, "a", 1), entry(3, "a", 2)].iter().for_each(|entry| queue.add(entry));
        let first = queue.next().expect("work");
        let second = queue.next().expect("work");
        assert_eq!((first.id, second.id), (MessageId::from(Ulid::from(1)), MessageId::from(Ulid::from(3))));
        queue.finish(&first);
        let third = queue.next().expect("work");
        assert_eq!(third.id, MessageId::from(Ulid::from(2)));
        queue.retry(&third, Duration::ZERO);
        assert_eq!(next(&queue), 2);
        assert_eq!(queue.levels(), QueueLevels { waiting: 2, busy: 2, oldest: Some(MessageId::from(Ulid::from(2))) });
        queue.stop();
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn accounts_take_turns_even_if_one_sends_many_writes() {
        let queue = Queue::new(2, &Clock::system());
        for id in 0..100u8 {
            queue.add(&entry(u128::from(id), "greedy", id % 10));
        }
        queue.add(&entry(1000, "other", 200));
        let first = queue.next().expect("work");
        assert_eq!(first.id, MessageId::from(Ulid::from(0)));
        assert_eq!(next(&queue), 1000, "the other account is next");
        queue.finish(&first);
        queue.add(&entry(1001, "other", 201));
        assert_eq!(next(&queue), 1);
    }

    #[test]
    fn one_account_never_holds_all_workers() {
        let queue = Queue::new(3, &Clock::system());
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
    fn a_share_of_the_workers_takes_messages() {
        let queue = Queue::new(4, &Clock::system());
        for id in 0..6u8 {
            queue.add(&entry(u128::from(id), &format!("account {id}"), id));
        }
        queue.limit_workers(2);
        let held = [queue.next().expect("work"), queue.next().expect("work")];
        assert!(!queue.state.lock().has_free_worker());
        thread::scope(|scope| {
            let third = scope.spawn(|| next(&queue));
            queue.finish(&held[0]);
            assert_eq!(third.join().expect("ends"), 2);
            let fourth = scope.spawn(|| next(&queue));
            queue.limit_workers(3);
            assert_eq!(fourth.join().expect("ends"), 3);
        });
        queue.limit_workers(4);
        assert_eq!(queue.state.lock().workers_max, None, "all workers may be used");
        assert_eq!(next(&queue), 4);
    }

    #[test]
    fn one_account_leaves_one_of_a_share_of_the_workers() {
        let queue = Queue::new(8, &Clock::system());
        for id in 0..5u8 {
            queue.add(&entry(u128::from(id), "greedy", id));
        }
        queue.limit_workers(3);
        let _held = [queue.next().expect("work"), queue.next().expect("work")];
        queue.add(&entry(100, "other", 100));
        assert_eq!(next(&queue), 100);
    }

    #[test]
    fn a_namespace_that_is_given_up_has_no_messages_and_its_worker_changes_nothing() {
        let queue = Queue::new(5, &Clock::system());
        let (given_up, kept) = (NamespaceId::new(Ulid::from(1)), NamespaceId::new(Ulid::from(2)));
        [entry(1, "a", 1), entry(2, "a", 1), entry(3, "b", 2)].iter().for_each(|entry| queue.add(entry));
        let held = queue.next().expect("work");
        assert_eq!(held.id, MessageId::from(Ulid::from(1)));
        queue.give_up_namespace(given_up);
        assert!(queue.messages_of(given_up).is_empty() && queue.messages_of(kept).len() == 1);
        queue.retry(&held, Duration::ZERO);
        assert!(queue.messages_of(given_up).is_empty());
        // The namespace is claimed again.
        queue.add(&entry(1, "a", 1));
        assert_eq!(queue.next().map(|next| next.key.id), Some(kept));
        assert_eq!(next(&queue), 1);
        assert_eq!(queue.state.lock().busy, 2);
    }

    #[test]
    fn the_messages_of_a_deleted_namespace_are_removed() {
        let queue = Queue::new(5, &Clock::system());
        for id in [1, 2] {
            queue.add(&entry(id, "a", 1));
        }
        queue.add(&entry(3, "a", 2));
        queue.remove_namespace(NamespaceId::new(Ulid::from(1)));
        let held = queue.next().expect("work");
        assert_eq!(held.id, MessageId::from(Ulid::from(3)));
        queue.add(&entry(4, "a", 2));
        queue.remove_namespace(NamespaceId::new(Ulid::from(2)));
        queue.finish(&held);
        assert_eq!(queue.levels(), QueueLevels { waiting: 0, busy: 0, oldest: None });
    }

    #[test]
    fn a_message_is_in_progress_while_a_worker_has_it() {
        let queue = Queue::new(5, &Clock::system());
        [entry(2, "a", 1), entry(3, "a", 1)].iter().for_each(|entry| queue.add(entry));
        let namespace = NamespaceId::new(Ulid::from(1));
        let is_in_progress = |id: u128| queue.is_in_progress(namespace, MessageId::from(Ulid::from(id)));
        assert!(!is_in_progress(2));
        let assigned = queue.next().expect("work");
        // A dead letter that is retried has an earlier id than the message in progress.
        queue.add(&entry(1, "a", 1));
        assert!(is_in_progress(2) && !is_in_progress(1) && !is_in_progress(3));
        queue.finish(&assigned);
        assert!(!is_in_progress(2));
        queue.retry(&queue.next().expect("work"), Duration::from_secs(60));
        assert!(!is_in_progress(1));
    }

    #[test]
    fn waiting_namespaces_are_held_until_the_model_answers() {
        const BASE: Duration = Duration::from_millis(1);
        let queue = Queue::new(5, &Clock::system());
        [entry(1, "a", 1), entry(2, "b", 2)].iter().for_each(|entry| queue.add(entry));
        let failing = [queue.next().expect("work"), queue.next().expect("work")];
        assert_eq!(queue.model_failed(&failing[0], BASE, failed_call(Cause::Other)), Verdict::Began);
        assert_eq!(queue.model_failed(&failing[1], BASE, failed_call(Cause::Other)), Verdict::Held);
        let tried = queue.next().expect("work");
        assert!(queue.may_call_model(&tried, BASE));
        assert!(queue.model_answered().is_some());
        queue.finish(&tried);
        let other = queue.next().expect("work");
        assert!(other.id != tried.id && queue.may_call_model(&other, BASE));
        assert_eq!(queue.outage(), None);
    }

    #[test]
    fn a_request_to_forget_wakes_a_held_namespace() {
        const BASE: Duration = Duration::from_secs(60);
        let queue = Queue::new(5, &Clock::system());
        queue.add(&entry(1, "a", 1));
        queue.model_failed(&queue.next().expect("work"), BASE, failed_call(Cause::Other));
        queue.add(&QueueEntry { work: QueuedWork::Forget { paths: Vec::new() }, ..entry(2, "a", 1) });
        let woken = queue.next().expect("work");
        assert!(woken.id == MessageId::from(Ulid::from(1)) && !queue.may_call_model(&woken, BASE));
        queue.remove(&woken, MessageId::from(Ulid::from(2)));
        queue.hold(&woken);
        assert_eq!(queue.levels(), QueueLevels { waiting: 1, busy: 0, oldest: Some(MessageId::from(Ulid::from(1))) });
        assert_eq!(queue.outage().map(|outage| outage.namespaces), Some(1));
    }

    #[test]
    fn failures_are_a_messages_own_if_the_model_answers_others() {
        let queue = Queue::new(5, &Clock::system());
        queue.add(&entry(1, "a", 1));
        let fail = |cause: Cause| {
            let verdict = queue.model_failed(&queue.next().expect("work"), Duration::from_nanos(1), failed_call(cause));
            queue.model_answered();
            verdict
        };
        for _ in 0..OWN_FAILURES_MAX * 2 {
            assert_ne!(fail(Cause::RateLimit), Verdict::Own, "a rate limit is not a message's own failure");
        }
        for _ in 0..OWN_FAILURES_MAX {
            assert_eq!(fail(Cause::Other), Verdict::Held);
        }
        assert_eq!(fail(Cause::Other), Verdict::Own);
    }
}
