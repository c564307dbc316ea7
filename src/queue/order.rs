//! Which namespaces have queued messages, and which of them is next.
//!
//! A namespace is ready, busy, or waits: after a failure, or for the chat model. Ready namespaces wait in the line of their
//! account, and accounts take turns. Nothing here waits or locks; `Queue` does.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Instant;

use cuebase_storage::{AccountId, MessageId, NamespaceId, NamespaceKey};

use super::hold::{MessageFailures, ModelHold};

/// A message for a worker. Its namespace is busy until the worker calls `Queue::finish`, `Queue::retry`,
/// `Queue::hold` or `Queue::model_failed` with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The namespace.
    pub key: NamespaceKey,
    /// The message.
    pub id: MessageId,
    /// The queue of the namespace that the message was taken from.
    pub(super) turn: u64,
}

/// The queued messages of a namespace.
pub(super) struct NamespaceQueue {
    pub(super) key: NamespaceKey,
    /// Differs from those of earlier queues of the same namespace.
    pub(super) turn: u64,
    /// Including the one that a worker processes.
    pub(super) messages: BTreeSet<MessageId>,
    pub(super) state: NamespaceQueueState,
    /// Failed model calls for the oldest message.
    pub(super) model_failures: MessageFailures,
}

/// Whether a worker can take a namespace's oldest message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NamespaceQueueState {
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
pub(super) struct AccountLine {
    pub(super) ready: VecDeque<NamespaceId>,
    /// Workers that process messages of the account.
    pub(super) busy: usize,
}

/// The queues of all namespaces, and whose turn it is.
#[derive(Default)]
pub(super) struct QueueState {
    pub(super) namespaces: HashMap<NamespaceId, NamespaceQueue>,
    pub(super) lines: HashMap<AccountId, AccountLine>,
    /// The accounts with a ready namespace, each once, in the order of their turns.
    pub(super) turns: VecDeque<AccountId>,
    /// Namespaces that wait after a failure, by the time of the next attempt.
    pub(super) retries: BTreeSet<(Instant, NamespaceId)>,
    /// Namespaces that wait for the chat model.
    pub(super) model: ModelHold,
    pub(super) stopping: bool,
    /// Number of namespace queues so far.
    pub(super) queues_begun: u64,
    /// Workers that process messages.
    pub(super) busy: usize,
    /// Workers that this process may use. `None` if it is the only one, or may use all.
    pub(super) workers_max: Option<usize>,
}

impl QueueState {
    /// Returns how many workers one account may hold: all that may be used but one.
    pub(super) fn busy_max_of_account(&self, busy_max: usize) -> usize {
        match self.workers_max {
            Some(workers) => busy_max.min(busy_max_of(workers)),
            None => busy_max,
        }
    }

    /// Whether one more worker may take a message.
    pub(super) fn has_free_worker(&self) -> bool {
        match self.workers_max {
            Some(workers) => self.busy < workers,
            None => true,
        }
    }

    /// Returns the queue of an assignment's namespace. `None` if it was removed since the assignment, even if the
    /// namespace has a queue again.
    pub(super) fn queue_of(&mut self, assignment: &Assignment) -> Option<&mut NamespaceQueue> {
        self.namespaces.get_mut(&assignment.key.id).filter(|namespace| namespace.turn == assignment.turn)
    }

    /// Whether a worker processes a message.
    pub(super) fn is_busy_with(&self, namespace: NamespaceId, message: MessageId) -> bool {
        let Some(namespace) = self.namespaces.get(&namespace) else { return false };
        namespace.state == NamespaceQueueState::Busy(message)
    }

    /// Puts a namespace at the end of its account's line.
    pub(super) fn make_ready(&mut self, id: NamespaceId) {
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
    pub(super) fn take_ready(&mut self, busy_max: usize) -> Option<NamespaceId> {
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
    pub(super) fn release(&mut self, key: &NamespaceKey) {
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
    pub(super) fn end_waits(&mut self, now: Instant) {
        while let Some((at, id)) = self.retries.first().copied() {
            if at > now {
                return;
            }
            self.retries.remove(&(at, id));
            self.make_ready(id);
        }
    }

    /// Makes the held namespace ready that may try the model now.
    pub(super) fn end_hold(&mut self, now: Instant) {
        if let Some(id) = self.model.choose(now) {
            self.make_ready(id);
        }
    }

    /// Returns when the next waiting namespace becomes ready.
    pub(super) fn next_ready(&self) -> Option<Instant> {
        let retry = self.retries.first().map(|(at, _)| *at);
        match (retry, self.model.next_choice()) {
            (Some(retry), Some(choice)) => Some(retry.min(choice)),
            (retry, choice) => retry.or(choice),
        }
    }

    /// Removes the messages of a deleted namespace, except for the one in progress. Returns all of them.
    pub(super) fn remove_namespace(&mut self, id: NamespaceId) -> BTreeSet<MessageId> {
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
    pub(super) fn remove_ready(&mut self, id: NamespaceId) {
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
    pub(super) fn hold(&mut self, id: NamespaceId) {
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

/// Returns how many of a number of workers one account may hold: all but one, so that another account finds a free one.
pub(super) fn busy_max_of(workers: usize) -> usize {
    workers.saturating_sub(1).max(1)
}
