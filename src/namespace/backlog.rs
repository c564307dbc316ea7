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
/// The longest part of a rest, after which the thread looks whether its namespace was deleted.
const REST_PART: Duration = Duration::from_millis(250);

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
    current: Option<Current>,
    change: ChangeState,
    stopping: bool,
}

/// The namespace that the thread works on.
struct Current {
    key: NamespaceKey,
    need: Need,
    progress: Option<Progress>,
}

/// The state of a change of the model.
#[derive(Default)]
struct ChangeState {
    pace: Pace,
    /// Until when no vectors are computed for it, so that it keeps its share of the processor.
    rests_until: Option<Instant>,
    listing: Listing,
}

/// The listing of namespaces with vectors of another model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Listing {
    /// They are listed.
    #[default]
    Complete,
    /// They are to be listed, because the model was changed.
    Due,
    /// The thread lists them.
    Running,
}

impl ChangeState {
    /// Whether vectors may be computed for the change.
    fn may_go_on(&self, now: Instant) -> bool {
        !self.pace.is_paused && self.listing != Listing::Due && self.rests_until.is_none_or(|until| until <= now)
    }
}

/// Why a namespace needs vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Memories wait for vectors of the model that the index has.
    Missing,
    /// The index has vectors of another model than the configured one.
    Change,
}

/// When a namespace is tried again.
#[derive(Clone)]
struct Retry {
    /// Lower for a namespace that was added earlier.
    turn: u64,
    /// Failures in a row.
    failures: u32,
    need: Need,
    /// None if it can be tried at once.
    not_before: Option<Instant>,
}

impl Retry {
    fn is_ready(&self, now: Instant, change: &ChangeState) -> bool {
        self.not_before.is_none_or(|at| at <= now) && (self.need == Need::Missing || change.may_go_on(now))
    }

    /// Returns when the namespace will be ready, if the time alone decides it.
    fn ready_at(&self, change: &ChangeState) -> Option<Instant> {
        match self.need {
            Need::Missing => self.not_before,
            Need::Change if change.pace.is_paused => None,
            Need::Change => self.not_before.max(change.rests_until),
        }
    }
}

/// What the thread is to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// List the namespaces with vectors of another model, because the model was changed.
    FindOutdated,
    /// Compute the vectors of this namespace. The number is how many attempts in a row have failed.
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

    /// Removes the next namespace that is ready, and returns it. Accounts take turns.
    fn take_ready(&mut self, now: Instant) -> Option<(NamespaceKey, Retry)> {
        let mut chosen: Option<(&NamespaceKey, &Retry)> = None;
        for (key, retry) in &self.waiting {
            if !retry.is_ready(now, &self.change) {
                continue;
            }
            chosen = match chosen {
                Some((best, of_best)) if self.order(best, of_best) <= self.order(key, retry) => Some((best, of_best)),
                _ => Some((key, retry)),
            };
        }
        let (key, retry) = chosen?;
        let (key, retry) = (key.clone(), retry.clone());
        self.waiting.remove(&key);
        self.last_account = Some(key.account.clone());
        Some((key, retry))
    }

    /// Returns when the next namespace will be ready. `None` if no time says so.
    fn next_time(&self) -> Option<Instant> {
        self.waiting.values().filter_map(|retry| retry.ready_at(&self.change)).min()
    }

    /// Whether another namespace than the current one is ready, for one of some needs.
    fn is_other_ready(&self, needs: &[Need]) -> bool {
        let now = Instant::now();
        let current = self.current.as_ref().map(|current| &current.key);
        for (key, retry) in &self.waiting {
            if Some(key) != current && needs.contains(&retry.need) && retry.is_ready(now, &self.change) {
                return true;
            }
        }
        false
    }

    /// Returns the order of a namespace: missing vectors first, then the accounts after the last one, then from the first on.
    fn order<'a>(&self, key: &'a NamespaceKey, retry: &Retry) -> (Need, bool, &'a AccountId, u64) {
        let is_after_wrap = self.last_account.as_ref().is_some_and(|last| key.account <= *last);
        (retry.need, is_after_wrap, &key.account, retry.turn)
    }
}

impl Backlog {
    /// Creates a backlog with the pace of a change of the model.
    pub fn new(pace: Pace) -> Self {
        let backlog = Self::default();
        backlog.state.lock().change.pace = pace;
        backlog
    }

    /// Adds a namespace that needs vectors.
    pub fn add(&self, key: &NamespaceKey, need: Need) {
        let mut state = self.state.lock();
        let turn = state.take_turn();
        let retry = state.waiting.entry(key.clone()).or_insert(Retry { turn, failures: 0, need, not_before: None });
        retry.need = retry.need.min(need);
        drop(state);
        self.changed.notify_all();
    }

    /// Makes the thread list the namespaces with vectors of another model.
    pub fn model_changed(&self) {
        self.state.lock().change.listing = Listing::Due;
        self.changed.notify_all();
    }

    /// Ends a listing of the namespaces with vectors of another model. One that became due meanwhile stays due.
    pub fn end_listing(&self) {
        let mut state = self.state.lock();
        if state.change.listing == Listing::Running {
            state.change.listing = Listing::Complete;
        }
    }

    /// Whether [`Self::list`] lacks the namespaces with vectors of another model, because the model was just changed.
    pub fn is_incomplete(&self) -> bool {
        self.state.lock().change.listing != Listing::Complete
    }

    /// Sets the pace of a change of the model.
    pub fn set_pace(&self, pace: Pace) {
        let mut state = self.state.lock();
        state.change.pace = pace;
        state.change.rests_until = None;
        drop(state);
        self.changed.notify_all();
    }

    /// Whether vectors may be computed for a change of the model.
    pub fn may_change(&self) -> bool {
        self.state.lock().change.may_go_on(Instant::now())
    }

    /// Begins the rest after some work on a change of the model.
    pub fn begin_rest(&self, work: Duration) {
        let mut state = self.state.lock();
        let rest = state.change.pace.rest_after(work);
        state.change.rests_until = if rest.is_zero() { None } else { Some(Instant::now() + rest) };
    }

    /// Waits for a part of the rest. Returns false if it is over, or if there is something else to do.
    pub fn rest(&self) -> bool {
        let mut state = self.state.lock();
        let now = Instant::now();
        let Some(until) = state.change.rests_until.filter(|until| *until > now) else { return false };
        if state.stopping || state.change.pace.is_paused || state.change.listing == Listing::Due {
            return false;
        }
        if state.is_other_ready(&[Need::Missing]) {
            return false;
        }
        self.changed.wait_until(&mut state, until.min(now + REST_PART));
        true
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
        if let Some(current) = &mut self.state.lock().current {
            current.progress = Some(progress);
        }
    }

    /// The namespaces that need vectors, with the progress of the current one.
    pub fn list(&self) -> Vec<(NamespaceKey, Option<Progress>)> {
        let state = self.state.lock();
        let mut list = Vec::new();
        if let Some(current) = &state.current {
            list.push((current.key.clone(), current.progress));
        }
        for key in state.waiting.keys() {
            let is_current = state.current.as_ref().is_some_and(|current| current.key == *key);
            if !is_current {
                list.push((key.clone(), None));
            }
        }
        list
    }

    /// Whether a namespace needs vectors, or gets them at the moment.
    pub fn contains(&self, id: NamespaceId) -> bool {
        let state = self.state.lock();
        let is_current = state.current.as_ref().is_some_and(|current| current.key.id == id);
        is_current || state.waiting.keys().any(|key| key.id == id)
    }

    /// Removes a namespace that this process gives up, or that was deleted. Work on it in progress ends when it meets its loss.
    pub fn remove_namespace(&self, id: NamespaceId) {
        self.state.lock().waiting.retain(|key, _| key.id != id);
    }

    /// Removes a namespace that waits for a change of the model, because its index has vectors of that model.
    pub fn end_change(&self, id: NamespaceId) {
        self.state.lock().waiting.retain(|key, retry| key.id != id || retry.need != Need::Change);
    }

    /// Removes all namespaces that wait, when this process owns none any more.
    pub fn clear(&self) {
        self.state.lock().waiting.clear();
    }

    /// Whether other namespaces wait for the thread, and it should soon go on with one of them.
    pub fn others_are_ready(&self) -> bool {
        self.state.lock().is_other_ready(&[Need::Missing, Need::Change])
    }

    /// Whether memories of other namespaces wait for vectors, which come before a change of the model.
    pub fn others_miss_vectors(&self) -> bool {
        self.state.lock().is_other_ready(&[Need::Missing])
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
            if state.change.listing == Listing::Due {
                state.change.listing = Listing::Running;
                return Some(Work::FindOutdated);
            }
            let now = Instant::now();
            if let Some((key, retry)) = state.take_ready(now) {
                state.current = Some(Current { key: key.clone(), need: retry.need, progress: None });
                return Some(Work::Embed(key, retry.failures));
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
        let need = state.current.take().map_or(Need::Missing, |current| current.need);
        let (turn, not_before) = (state.take_turn(), Some(Instant::now() + wait));
        state.waiting.insert(key, Retry { turn, failures, need, not_before });
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
            other => panic!("expected a namespace, found {other:?}"),
        }
    }

    fn paced(share_percent: u8, is_paused: bool) -> Pace {
        Pace { share_percent, is_paused }
    }

    #[test]
    fn a_paused_change_of_the_model_waits_and_missing_vectors_do_not() {
        let backlog = Backlog::new(paced(50, true));
        backlog.add(&key("x"), Need::Change);
        assert!(!backlog.others_are_ready() && !backlog.may_change());
        backlog.add(&key("y"), Need::Missing);
        assert_eq!(backlog.next(), embed("y", 0));
        backlog.finish();
        backlog.set_pace(paced(50, false));
        assert!(backlog.may_change());
        assert_eq!(backlog.next(), embed("x", 0));
    }

    #[test]
    fn a_memory_without_vectors_ends_the_wait_of_its_namespace_for_a_paused_change() {
        let backlog = Backlog::new(paced(50, true));
        backlog.add(&key("x"), Need::Change);
        backlog.add(&key("x"), Need::Missing);
        assert_eq!(backlog.next(), embed("x", 0));
    }

    #[test]
    fn a_changed_model_is_the_next_work_and_ends_the_former_change() {
        let backlog = Backlog::default();
        backlog.add(&key("x"), Need::Change);
        backlog.model_changed();
        assert!(!backlog.may_change());
        assert_eq!(backlog.next(), Some(Work::FindOutdated));
        assert!(backlog.may_change() && backlog.is_incomplete());
        backlog.end_listing();
        assert!(!backlog.is_incomplete());
        assert_eq!(backlog.next(), embed("x", 0));
    }

    #[test]
    fn during_a_rest_only_missing_vectors_are_computed() {
        let backlog = Backlog::new(paced(1, false));
        backlog.add(&key("x"), Need::Change);
        backlog.add(&key("z"), Need::Change);
        assert_eq!(backlog.next(), embed("x", 0));
        backlog.begin_rest(Duration::from_secs(60));
        assert!(!backlog.may_change() && !backlog.others_are_ready());
        assert!(backlog.rest(), "the rest is not over");
        backlog.add(&key("y"), Need::Missing);
        assert!(!backlog.rest() && backlog.others_miss_vectors());
        backlog.finish();
        backlog.add(&key("x"), Need::Change);
        assert_eq!(backlog.next(), embed("y", 0));
        backlog.finish();
        assert!(!backlog.others_are_ready(), "the others still rest");
        backlog.set_pace(paced(100, false));
        assert!(backlog.others_are_ready());
    }

    #[test]
    fn a_namespace_that_lacks_vectors_again_holds_nobody_up() {
        let backlog = Backlog::default();
        backlog.add(&key("x"), Need::Missing);
        assert_eq!(backlog.next(), embed("x", 0));
        backlog.add(&key("x"), Need::Missing);
        assert!(!backlog.others_are_ready());
    }

    #[test]
    fn a_namespace_that_is_given_up_waits_no_more() {
        let backlog = Backlog::default();
        let namespace = key("x").id;
        assert!(!backlog.contains(namespace));
        backlog.add(&key("x"), Need::Missing);
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
            backlog.add(&of(account, name), Need::Missing);
        }
        let mut taken = Vec::new();
        for _ in 0..2 {
            taken.push(taken_key(&backlog));
        }
        // More work of an account that had its turn waits for the others.
        backlog.add(&of("a", "x"), Need::Missing);
        while backlog.others_are_ready() {
            taken.push(taken_key(&backlog));
        }
        assert_eq!(taken, [of("a", "x"), of("b", "z"), of("c", "w"), of("a", "x"), of("b", "y")]);
    }

    #[test]
    fn a_failed_namespace_waits_until_the_model_answers() {
        let backlog = Backlog::default();
        backlog.add(&key("x"), Need::Missing);
        assert_eq!(backlog.next(), embed("x", 0));
        assert_eq!(backlog.retry_later(key("x"), 1), WAIT_MIN);
        backlog.retry_now();
        assert_eq!(backlog.next(), embed("x", 1));
        // The shortest wait can end during the test.
        assert_eq!(backlog.retry_later(key("x"), 30), WAIT_MAX);
        backlog.add(&key("y"), Need::Missing);
        assert_eq!(backlog.next(), embed("y", 0), "x waits");
        backlog.add(&key("y"), Need::Missing);
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
