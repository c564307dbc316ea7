//! Connections that wait for their client, and which of them is closed to make room.
//!
//! A connection waits for its client until a whole request has arrived, and again while the client takes the answer.
//! [`WaitingConnections::close_one`] closes one of them: of the account that has most waiting connections, the one that
//! has waited longest. Connections without a valid credential so far count as one account. Clients that connect and
//! send nothing, or send a byte at a time, therefore do not keep others out, and no account's connections push out
//! those of other accounts.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cuebase_storage::AccountId;
use parking_lot::Mutex;
use tokio::task::AbortHandle;

/// Owners whose empty queue is kept, so that their next wait allocates less.
const KEPT_QUEUES_MAX: usize = 1024;

/// The connections of one listener that wait for their client.
#[derive(Default)]
pub(super) struct WaitingConnections {
    queues: Mutex<WaitQueues>,
}

impl WaitingConnections {
    /// Closes the connection that has waited longest, of the account that has most waiting connections.
    pub(super) fn close_one(&self) {
        if let Some(task) = self.queues.lock().pop() {
            task.abort();
        }
    }
}

/// Who a connection counts for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Owner {
    /// No request had a valid credential yet.
    Unknown,
    /// The account that sent the last request with a valid credential.
    Account(AccountId),
}

/// Waiting connections by owner, and of an owner by ticket: the longest wait first.
#[derive(Default)]
struct WaitQueues {
    last_ticket: u64,
    owners: HashMap<Owner, BTreeMap<u64, AbortHandle>>,
}

impl WaitQueues {
    fn insert(&mut self, owner: &Owner, ticket: u64, task: AbortHandle) {
        if let Some(queue) = self.owners.get_mut(owner) {
            queue.insert(ticket, task);
            return;
        }
        self.owners.insert(owner.clone(), BTreeMap::from([(ticket, task)]));
    }

    fn remove(&mut self, owner: &Owner, ticket: u64) -> Option<AbortHandle> {
        let is_full = self.owners.len() > KEPT_QUEUES_MAX;
        let queue = self.owners.get_mut(owner)?;
        let removed = queue.remove(&ticket);
        if is_full && queue.is_empty() {
            self.owners.remove(owner);
        }
        removed
    }

    /// Removes the longest wait of the owner that has most connections waiting.
    fn pop(&mut self) -> Option<AbortHandle> {
        let longest_queue = self.owners.values_mut().max_by_key(|queue| queue.len())?;
        longest_queue.pop_first().map(|(_, task)| task)
    }
}

/// Whether one connection waits for its client.
pub(super) struct Activity {
    waiting: Arc<WaitingConnections>,
    state: Mutex<ConnectionState>,
}

struct ConnectionState {
    /// Who the connection counts for.
    owner: Owner,
    /// The connection's task, once it runs.
    task: Option<AbortHandle>,
    /// The ticket of its wait, while it waits.
    ticket: Option<u64>,
    /// Whether a request is being worked on.
    working: bool,
}

impl Activity {
    pub(super) fn new(waiting: Arc<WaitingConnections>) -> Arc<Self> {
        let state = ConnectionState { owner: Owner::Unknown, task: None, ticket: None, working: false };
        Arc::new(Self { waiting, state: Mutex::new(state) })
    }

    /// Assigns the connection to the account that sent its last request.
    pub(super) fn belongs_to(&self, account: &AccountId) {
        let owner = Owner::Account(account.clone());
        let mut state = self.state.lock();
        if state.owner == owner {
            return;
        }
        let former = std::mem::replace(&mut state.owner, owner);
        let Some(ticket) = state.ticket else { return };
        let mut queues = self.waiting.queues.lock();
        if let Some(task) = queues.remove(&former, ticket) {
            queues.insert(&state.owner, ticket, task);
        }
    }

    /// Sets the task of the connection. It waits for its first request.
    pub(super) fn runs_as(&self, task: AbortHandle) {
        let mut state = self.state.lock();
        state.task = Some(task);
        // The first request may have arrived before this call.
        if !state.working {
            self.wait(&mut state);
        }
    }

    /// Puts the connection behind those that wait already.
    fn wait(&self, state: &mut ConnectionState) {
        let Some(task) = state.task.clone() else { return };
        let mut queues = self.waiting.queues.lock();
        queues.last_ticket += 1;
        let ticket = queues.last_ticket;
        queues.insert(&state.owner, ticket, task);
        if let Some(former) = state.ticket.replace(ticket) {
            queues.remove(&state.owner, former);
        }
    }

    /// Ends the wait, once the whole request has arrived. It begins again when the guard is dropped.
    pub(super) fn work(self: &Arc<Self>) -> Working {
        let mut state = self.state.lock();
        state.working = true;
        if let Some(ticket) = state.ticket.take() {
            self.waiting.queues.lock().remove(&state.owner, ticket);
        }
        Working(Arc::clone(self))
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        if let Some(ticket) = state.ticket.take() {
            self.waiting.queues.lock().remove(&state.owner, ticket);
        }
    }
}

/// A request of a connection is being worked on.
pub(super) struct Working(Arc<Activity>);

impl Drop for Working {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.working = false;
        self.0.wait(&mut state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_with_most_waiting_connections_loses_one() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let tasks: Vec<_> = (0..4).map(|_| runtime.spawn(std::future::pending::<()>())).collect();
        let account = |id| Owner::Account(AccountId::new(id).expect("is valid"));
        let (greedy, modest) = (account("greedy"), account("modest"));
        let mut queues = WaitQueues::default();
        queues.insert(&modest, 1, tasks[0].abort_handle());
        for (ticket, task) in (2..).zip(&tasks[1..]) {
            queues.insert(&greedy, ticket, task.abort_handle());
        }
        // The two longest waits of three are closed; then both accounts have one.
        for expected in [1, 2] {
            let closed = queues.pop().expect("one");
            assert_eq!(closed.id(), tasks[expected].id());
        }
        assert_eq!(queues.owners.values().map(BTreeMap::len).collect::<Vec<_>>(), [1, 1]);
        assert!(queues.remove(&modest, 1).is_some() && queues.remove(&modest, 1).is_none());
    }
}
