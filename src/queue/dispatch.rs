//! The assignment of accepted writes to workers: first in, first out within a namespace. Accounts take turns, and so do
//! the namespaces of an account.
//!
//! The entries themselves are in the store; the order is rebuilt from them at the start. One account never holds all
//! workers, so a write of another account finds a free one. While the chat model does not answer, namespaces whose
//! oldest message needs it are held; the others continue.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebase_storage::records::{QueueEntry, QueuedWork};
use cuebase_storage::{AccountId, MessageId, NamespaceId, NamespaceKey};
use parking_lot::{Condvar, Mutex};

use super::hold::{FailedCall, MessageFailures, ModelHold, OutageLevels, Verdict};
use super::order::{Assignment, NamespaceQueue, NamespaceQueueState, QueueState, busy_max_of};
use super::progress::WriteProgresses;
use super::waits::WriteWaits;
use crate::clock::Clock;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueLevels {
    /// Queued messages, including those in progress.
    pub waiting: usize,
    /// Messages in progress.
    pub busy: usize,
    /// The oldest queued message, with its namespace.
    pub oldest: Option<(NamespaceKey, MessageId)>,
}

/// The level of the queue for one account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountLevels {
    /// Queued messages, including those in progress.
    pub messages: usize,
    /// The oldest queued message.
    pub oldest: Option<MessageId>,
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
        self.state.lock().is_busy_with(namespace, message)
    }

    /// Waits until no worker has a message, or the service stops. The message of a new dead letter stays in the queue
    /// until its worker has called [`Queue::finish`], so it cannot be added again before.
    pub fn wait_for_worker(&self, namespace: NamespaceId, message: MessageId) {
        let mut state = self.state.lock();
        while !state.stopping && state.is_busy_with(namespace, message) {
            self.changed.wait(&mut state);
        }
    }

    /// Returns the level of the queue.
    pub fn levels(&self) -> QueueLevels {
        let state = self.state.lock();
        let (mut waiting, mut busy) = (0, 0);
        let mut oldest: Option<(&NamespaceKey, MessageId)> = None;
        for namespace in state.namespaces.values() {
            waiting += namespace.messages.len();
            busy += usize::from(matches!(namespace.state, NamespaceQueueState::Busy(_)));
            let Some(first) = namespace.messages.first().copied() else { continue };
            match oldest {
                Some((_, message)) if message <= first => {}
                _ => oldest = Some((&namespace.key, first)),
            }
        }
        QueueLevels { waiting, busy, oldest: oldest.map(|(key, message)| (key.clone(), message)) }
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

/// Returns the smaller of two optional ids.
fn older(first: Option<MessageId>, second: Option<MessageId>) -> Option<MessageId> {
    match (first, second) {
        (Some(first), Some(second)) => Some(first.min(second)),
        (first, second) => first.or(second),
    }
}

#[cfg(test)]
mod tests;
