//! The backlog: namespaces with missing vectors, because the model failed when they were needed, or with vectors of
//! another model. One thread takes them from here and embeds them, an account after another: of each, the namespace that
//! has waited for the longest time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cuebase_storage::{AccountId, NamespaceId, NamespaceKey};
use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::pace::Pace;

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
    /// The pace of a change of the model.
    pace: Pace,
    /// Whether the namespaces with vectors of another model are to be listed, because the model was changed.
    is_model_changed: bool,
    stopping: bool,
}

/// When a namespace is tried again.
#[derive(Clone)]
struct Retry {
    /// Lower for a namespace that was added earlier.
    turn: u64,
    /// Failures in a row.
    failures: u32,
    /// When it is ready.
    at: ReadyAt,
}

/// When a namespace is ready for the thread.
#[derive(Clone, Copy)]
enum ReadyAt {
    Once,
    /// After the wait that follows a failure.
    Time(Instant),
    /// When the change of the model is no longer paused.
    Resumption,
}

impl Retry {
    fn is_ready(&self, now: Instant, pace: Pace) -> bool {
        match self.at {
            ReadyAt::Once => true,
            ReadyAt::Time(at) => at <= now,
            ReadyAt::Resumption => !pace.is_paused,
        }
    }
}

/// What the thread is to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// List the namespaces with vectors of another model, because the model was changed.
    FindOutdated,
    /// Compute the vectors of a namespace, which has failed so many times in a row.
    Embed(NamespaceKey, u32),
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
            if !retry.is_ready(now, self.pace) {
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

    /// Returns the earliest end of a wait after a failure.
    fn next_time(&self) -> Option<Instant> {
        let mut earliest: Option<Instant> = None;
        for retry in self.waiting.values() {
            if let ReadyAt::Time(at) = retry.at {
                earliest = Some(earliest.map_or(at, |other| other.min(at)));
            }
        }
        earliest
    }

    /// Returns the order of a namespace: first the accounts after the last one, then from the first on.
    fn order<'a>(&self, key: &'a NamespaceKey, retry: &Retry) -> (bool, &'a AccountId, u64) {
        let is_after_wrap = self.last_account.as_ref().is_some_and(|last| key.account <= *last);
        (is_after_wrap, &key.account, retry.turn)
    }
}

impl Backlog {
    /// Creates a backlog with the pace of a change of the model.
    pub fn new(pace: Pace) -> Self {
        let backlog = Self::default();
        backlog.state.lock().pace = pace;
        backlog
    }

    /// Adds a namespace that needs vectors.
    pub fn add(&self, key: &NamespaceKey) {
        self.add_ready_at(key, ReadyAt::Once);
    }

    /// Adds a namespace with vectors of another model, for when the change of the model is no longer paused.
    pub fn add_paused(&self, key: &NamespaceKey) {
        self.add_ready_at(key, ReadyAt::Resumption);
    }

    fn add_ready_at(&self, key: &NamespaceKey, at: ReadyAt) {
        let mut state = self.state.lock();
        let turn = state.take_turn();
        state.waiting.entry(key.clone()).or_insert(Retry { turn, failures: 0, at });
        drop(state);
        self.changed.notify_all();
    }

    /// Makes the thread list the namespaces with vectors of another model.
    pub fn model_changed(&self) {
        self.state.lock().is_model_changed = true;
        self.changed.notify_all();
    }

    /// Sets the pace of a change of the model.
    pub fn set_pace(&self, pace: Pace) {
        self.state.lock().pace = pace;
        self.changed.notify_all();
    }

    /// The pace of a change of the model.
    pub fn pace(&self) -> Pace {
        self.state.lock().pace
    }

    /// Rests after some work on a change of the model. Ends early when there is something else to do.
    pub fn rest_after(&self, work: Duration) {
        let mut state = self.state.lock();
        let end = Instant::now() + state.pace.rest_after(work);
        loop {
            let now = Instant::now();
            let other = state.waiting.values().any(|retry| retry.is_ready(now, state.pace));
            if now >= end || other || state.stopping || state.pace.is_paused || state.is_model_changed {
                return;
            }
            self.changed.wait_until(&mut state, end);
        }
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
                if let ReadyAt::Time(_) = retry.at {
                    retry.at = ReadyAt::Once;
                }
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
        let state = self.state.lock();
        state.waiting.values().any(|retry| retry.is_ready(now, state.pace))
    }

    /// Whether the thread must end its work on a change of the model: it is paused, or to another model now.
    pub fn must_pause(&self) -> bool {
        let state = self.state.lock();
        state.pace.is_paused || state.is_model_changed
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

    /// Waits for the next work. `None` after a stop.
    pub fn next(&self) -> Option<Work> {
        let mut state = self.state.lock();
        loop {
            if state.stopping {
                return None;
            }
            if std::mem::take(&mut state.is_model_changed) {
                return Some(Work::FindOutdated);
            }
            let now = Instant::now();
            if let Some((key, failures)) = state.take_ready(now) {
                state.current = Some((key.clone(), None));
                return Some(Work::Embed(key, failures));
            }
            match state.next_time() {
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
        state.waiting.insert(key, Retry { turn, failures, at: ReadyAt::Time(Instant::now() + wait) });
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

    fn embed(name: &str, failures: u32) -> Option<Work> {
        Some(Work::Embed(key(name), failures))
    }

    fn taken_key(backlog: &Backlog) -> NamespaceKey {
        match backlog.next() {
            Some(Work::Embed(key, _)) => key,
            other => panic!("{other:?} is no namespace"),
        }
    }

    #[test]
    fn a_paused_change_of_the_model_waits_and_other_work_does_not() {
        let backlog = Backlog::new(Pace { share_percent: 50, is_paused: true });
        backlog.add_paused(&key("x"));
        assert!(!backlog.others_are_ready() && backlog.must_pause());
        backlog.add(&key("y"));
        assert_eq!(backlog.next(), embed("y", 0));
        backlog.finish();
        backlog.set_pace(Pace { share_percent: 50, is_paused: false });
        assert!(!backlog.must_pause());
        assert_eq!(backlog.next(), embed("x", 0));
    }

    #[test]
    fn a_changed_model_is_the_next_work_and_ends_the_former_change() {
        let backlog = Backlog::default();
        backlog.add(&key("x"));
        backlog.model_changed();
        assert!(backlog.must_pause());
        assert_eq!(backlog.next(), Some(Work::FindOutdated));
        assert!(!backlog.must_pause());
        assert_eq!(backlog.next(), embed("x", 0));
    }

    #[test]
    fn a_rest_ends_when_others_are_ready() {
        let backlog = Backlog::new(Pace { share_percent: 1, is_paused: false });
        backlog.add(&key("x"));
        backlog.rest_after(Duration::from_secs(3600));
    }

    #[test]
    fn a_namespace_that_is_given_up_waits_no_more() {
        let backlog = Backlog::default();
        let namespace = key("x").id;
        assert!(!backlog.contains(namespace));
        backlog.add(&key("x"));
        assert!(backlog.contains(namespace));
        assert_eq!(backlog.next(), embed("x", 0));
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
            taken.push(taken_key(&backlog));
        }
        // More work of an account that had its turn waits for the others.
        backlog.add(&of("a", "x"));
        while backlog.others_are_ready() {
            taken.push(taken_key(&backlog));
        }
        assert_eq!(taken, [of("a", "x"), of("b", "z"), of("c", "w"), of("a", "x"), of("b", "y")]);
    }

    #[test]
    fn a_failed_namespace_waits_until_the_model_answers() {
        let backlog = Backlog::default();
        backlog.add(&key("x"));
        assert_eq!(backlog.next(), embed("x", 0));
        assert_eq!(backlog.retry_later(key("x"), 1), WAIT_MIN);
        backlog.retry_now();
        assert_eq!(backlog.next(), embed("x", 1));
        // The shortest wait can end during the test.
        assert_eq!(backlog.retry_later(key("x"), 30), WAIT_MAX);
        backlog.add(&key("y"));
        assert_eq!(backlog.next(), embed("y", 0), "x waits");
        backlog.add(&key("y"));
        backlog.finish();
        assert_eq!(backlog.next(), embed("y", 0), "it was added again during the work");
        backlog.finish();
        backlog.retry_now();
        assert_eq!(backlog.next(), embed("x", 30));
        backlog.report_progress(Progress { done: 1, all: 2 });
        assert_eq!(backlog.list(), [(key("x"), Some(Progress { done: 1, all: 2 }))]);
        assert_eq!(backlog.retry_later(key("x"), 30), WAIT_MAX);
        backlog.stop();
        assert_eq!(backlog.next(), None);
    }
}
