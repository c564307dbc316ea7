//! The backlog: namespaces with missing vectors, because the model failed when they were needed, or with vectors of
//! another model. One thread takes them from here and embeds them, an account after another: of each, the namespace that
//! has waited for the longest time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cuebase_storage::{AccountId, NamespaceId, NamespaceKey};
use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// The wait after the first failure. It doubles with each further one.
const WAIT_MIN: Duration = Duration::from_secs(1);
/// The longest wait after a failure.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// The namespaces that need vectors.
#[derive(Default)]
pub struct Backlog {
    state: Mutex<BacklogState>,
    changed: Condvar,
    /// Wakes the callers that wait for vectors.
    indexed: Notify,
}

#[derive(Default)]
struct BacklogState {
    /// The namespaces that wait for the thread.
    waiting: BTreeMap<NamespaceKey, Retry>,
    /// The turn that the next added namespace gets.
    next_turn: u64,
    /// The account of the last namespace that the thread took.
    last_account: Option<AccountId>,
    /// The namespace that the thread works on. It can be added to `waiting` again during that work.
    current: Option<(NamespaceKey, Option<Progress>)>,
    stopping: bool,
}

/// When a namespace is tried again.
#[derive(Clone)]
struct Retry {
    /// Lower for a namespace that was added earlier.
    turn: u64,
    /// Failures in a row.
    failures: u32,
    /// None if it can be tried at once.
    not_before: Option<Instant>,
}

impl Retry {
    fn is_ready(&self, now: Instant) -> bool {
        match self.not_before {
            Some(at) => at <= now,
            None => true,
        }
    }
}

/// Progress of the re-embedding of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Embedded memories.
    pub done: usize,
    /// Memories to embed in total.
    pub all: usize,
}

impl BacklogState {
    fn take_turn(&mut self) -> u64 {
        self.next_turn += 1;
        self.next_turn
    }

    /// Removes the next namespace that is ready, and returns it with its number of failures in a row. Accounts take turns.
    fn take_ready(&mut self, now: Instant) -> Option<(NamespaceKey, u32)> {
        let mut chosen: Option<(&NamespaceKey, &Retry)> = None;
        for (key, retry) in &self.waiting {
            if !retry.is_ready(now) {
                continue;
            }
            chosen = match chosen {
                Some((best, of_best)) if self.order(best, of_best) <= self.order(key, retry) => Some((best, of_best)),
                _ => Some((key, retry)),
            };
        }
        let (key, retry) = chosen?;
        let (key, failures) = (key.clone(), retry.failures);
        self.waiting.remove(&key);
        self.last_account = Some(key.account.clone());
        Some((key, failures))
    }

    /// Returns the order of a namespace: first the accounts after the last one, then from the first on.
    fn order<'a>(&self, key: &'a NamespaceKey, retry: &Retry) -> (bool, &'a AccountId, u64) {
        let is_after_wrap = self.last_account.as_ref().is_some_and(|last| key.account <= *last);
        (is_after_wrap, &key.account, retry.turn)
    }
}

impl Backlog {
    /// Adds a namespace that needs vectors.
    pub fn add(&self, key: &NamespaceKey) {
        let mut state = self.state.lock();
        let turn = state.take_turn();
        state.waiting.entry(key.clone()).or_insert(Retry { turn, failures: 0, not_before: None });
        drop(state);
        self.changed.notify_all();
    }

    /// Wakes the callers of [`Self::next_indexed`], because memories got their vectors.
    pub fn notify_indexed(&self) {
        self.indexed.notify_waiters();
    }

    /// Waits until memories of any namespace get their vectors.
    pub fn next_indexed(&self) -> Notified<'_> {
        self.indexed.notified()
    }

    /// Ends all waits after failures. Called when the model answers again.
    pub fn retry_now(&self) {
        let mut state = self.state.lock();
        if !state.waiting.is_empty() {
            for retry in state.waiting.values_mut() {
                retry.not_before = None;
            }
            self.changed.notify_all();
        }
    }

    /// Stores the progress of the current namespace.
    pub fn report_progress(&self, progress: Progress) {
        if let Some((_, current)) = &mut self.state.lock().current {
            *current = Some(progress);
        }
    }

    /// The namespaces that need vectors, with the progress of the current one.
    pub fn list(&self) -> Vec<(NamespaceKey, Option<Progress>)> {
        let state = self.state.lock();
        let mut list = Vec::from_iter(state.current.clone());
        for key in state.waiting.keys() {
            let is_current = matches!(&state.current, Some((current, _)) if current == key);
            if !is_current {
                list.push((key.clone(), None));
            }
        }
        list
    }

    /// Whether a namespace needs vectors, or gets them at the moment.
    pub fn contains(&self, id: NamespaceId) -> bool {
        let state = self.state.lock();
        let is_current = matches!(&state.current, Some((key, _)) if key.id == id);
        is_current || state.waiting.keys().any(|key| key.id == id)
    }

    /// Removes a namespace that this process gives up. Work on it in progress ends when it meets its loss.
    pub fn remove_namespace(&self, id: NamespaceId) {
        self.state.lock().waiting.retain(|key, _| key.id != id);
    }

    /// Removes all namespaces that wait, when this process owns none any more.
    pub fn clear(&self) {
        self.state.lock().waiting.clear();
    }

    /// Whether other namespaces wait for the thread, and it should soon go on with one of them.
    pub fn others_are_ready(&self) -> bool {
        let now = Instant::now();
        self.state.lock().waiting.values().any(|retry| retry.is_ready(now))
    }

    /// Whether the thread must stop.
    pub fn is_stopping(&self) -> bool {
        self.state.lock().stopping
    }

    /// Stops the thread after its current batch.
    pub fn stop(&self) {
        self.state.lock().stopping = true;
        self.changed.notify_all();
    }

    /// Waits for the next namespace. Returns it with its number of failures in a row, or `None` after a stop.
    pub fn next(&self) -> Option<(NamespaceKey, u32)> {
        let mut state = self.state.lock();
        loop {
            if state.stopping {
                return None;
            }
            let now = Instant::now();
            if let Some((key, failures)) = state.take_ready(now) {
                state.current = Some((key.clone(), None));
                return Some((key, failures));
            }
            // None is ready, so all of them have a time.
            let next = state.waiting.values().filter_map(|retry| retry.not_before).min();
            match next {
                Some(at) => drop(self.changed.wait_until(&mut state, at)),
                None => self.changed.wait(&mut state),
            }
        }
    }

    /// Ends the work on the current namespace. It stays in the backlog only if it was added again during the work.
    pub fn finish(&self) {
        self.state.lock().current = None;
    }

    /// Ends the work on a namespace that has failed `failures` times in a row. Returns the wait until it is tried
    /// again.
    pub fn retry_later(&self, key: NamespaceKey, failures: u32) -> Duration {
        let wait = (WAIT_MIN * 2u32.saturating_pow((failures - 1).min(16))).min(WAIT_MAX);
        let mut state = self.state.lock();
        state.current = None;
        let turn = state.take_turn();
        state.waiting.insert(key, Retry { turn, failures, not_before: Some(Instant::now() + wait) });
        wait
    }
}

#[cfg(test)]
mod tests {
    use cuebase_storage::NamespaceName;
    use ulid::Ulid;

    use super::*;

    fn key(name: &str) -> NamespaceKey {
        NamespaceKey {
            account: AccountId::default(),
            name: NamespaceName::new(name).expect("is valid"),
            id: NamespaceId::new(Ulid::nil()),
        }
    }

    #[test]
    fn a_namespace_that_is_given_up_waits_no_more() {
        let backlog = Backlog::default();
        let namespace = key("x").id;
        assert!(!backlog.contains(namespace));
        backlog.add(&key("x"));
        assert!(backlog.contains(namespace));
        assert_eq!(backlog.next(), Some((key("x"), 0)));
        assert!(backlog.contains(namespace), "it gets its vectors");
        backlog.retry_later(key("x"), 1);
        backlog.remove_namespace(namespace);
        assert!(!backlog.contains(namespace) && backlog.list().is_empty());
    }

    #[test]
    fn accounts_take_turns_and_their_namespaces_in_the_order_of_arrival() {
        let backlog = Backlog::default();
        let of = |account: &str, name: &str| NamespaceKey {
            account: AccountId::new(account).expect("is valid"),
            ..key(name)
        };
        for (account, name) in [("b", "z"), ("b", "y"), ("a", "x"), ("c", "w")] {
            backlog.add(&of(account, name));
        }
        let mut taken = Vec::new();
        for _ in 0..2 {
            taken.push(backlog.next().expect("a namespace").0);
        }
        // More work of an account that had its turn waits for the others.
        backlog.add(&of("a", "x"));
        while backlog.others_are_ready() {
            taken.push(backlog.next().expect("a namespace").0);
        }
        assert_eq!(taken, [of("a", "x"), of("b", "z"), of("c", "w"), of("a", "x"), of("b", "y")]);
    }

    #[test]
    fn a_failed_namespace_waits_until_the_model_answers() {
        let backlog = Backlog::default();
        backlog.add(&key("x"));
        assert_eq!(backlog.next(), Some((key("x"), 0)));
        assert_eq!(backlog.retry_later(key("x"), 1), WAIT_MIN);
        backlog.retry_now();
        assert_eq!(backlog.next(), Some((key("x"), 1)));
        // The shortest wait can end during the test.
        assert_eq!(backlog.retry_later(key("x"), 30), WAIT_MAX);
        backlog.add(&key("y"));
        assert_eq!(backlog.next(), Some((key("y"), 0)), "x waits");
        backlog.add(&key("y"));
        backlog.finish();
        assert_eq!(backlog.next(), Some((key("y"), 0)), "it was added again during the work");
        backlog.finish();
        backlog.retry_now();
        assert_eq!(backlog.next(), Some((key("x"), 30)));
        backlog.report_progress(Progress { done: 1, all: 2 });
        assert_eq!(backlog.list(), [(key("x"), Some(Progress { done: 1, all: 2 }))]);
        assert_eq!(backlog.retry_later(key("x"), 30), WAIT_MAX);
        backlog.stop();
        assert_eq!(backlog.next(), None);
    }
}
