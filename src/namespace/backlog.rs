//! Namespaces whose vectors are not what they should be: some are missing, since the model failed when they were
//! needed, or all are another model's. One thread brings them up to date, one after the other.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::namespace::key::NamespaceKey;

/// The wait after a failure; it doubles while they go on.
const WAIT: Duration = Duration::from_secs(1);
/// It grows to this at most.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// The namespaces to be brought up to date.
#[derive(Default)]
pub struct Backlog {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Those that wait their turn.
    waiting: BTreeMap<NamespaceKey, Entry>,
    /// The one that is worked on. It can come in again meanwhile.
    at_work: Option<(NamespaceKey, Option<Progress>)>,
    stopping: bool,
}

#[derive(Clone, Default)]
struct Entry {
    /// In a row.
    failures: u32,
    not_before: Option<Instant>,
}

/// How far a namespace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Memories that are done.
    pub done: usize,
    /// Memories to do.
    pub all: usize,
}

impl Backlog {
    /// Notes that a namespace is behind.
    pub fn add(&self, key: &NamespaceKey) {
        self.state.lock().waiting.entry(key.clone()).or_default();
        self.changed.notify_all();
    }

    /// The model answers again: nobody needs to wait for the next try.
    pub fn hurry(&self) {
        let mut state = self.state.lock();
        if !state.waiting.is_empty() {
            state.waiting.values_mut().for_each(|entry| entry.not_before = None);
            self.changed.notify_all();
        }
    }

    /// Notes how far the namespace is that is worked on.
    pub fn note(&self, progress: Progress) {
        if let Some((_, known)) = &mut self.state.lock().at_work {
            *known = Some(progress);
        }
    }

    /// The namespaces that are behind, with how far they are where that is known.
    pub fn list(&self) -> Vec<(NamespaceKey, Option<Progress>)> {
        let state = self.state.lock();
        let waiting = state.waiting.keys().map(|key| (key.clone(), None));
        let waiting = waiting.filter(|(key, _)| state.at_work.as_ref().is_none_or(|(working, _)| working != key));
        state.at_work.clone().into_iter().chain(waiting).collect()
    }

    /// Whether work is to be left where it is.
    pub fn is_stopping(&self) -> bool {
        self.state.lock().stopping
    }

    /// Ends the thread after the batch at hand.
    pub fn stop(&self) {
        self.state.lock().stopping = true;
        self.changed.notify_all();
    }

    /// The next namespace to bring up to date, and how often that has failed in a row; waits for one. None when stopping.
    pub fn next(&self) -> Option<(NamespaceKey, u32)> {
        let mut state = self.state.lock();
        loop {
            if state.stopping {
                return None;
            }
            let now = Instant::now();
            let ready = state.waiting.iter().find(|(_, entry)| entry.not_before.is_none_or(|at| at <= now));
            if let Some((key, failures)) = ready.map(|(key, entry)| (key.clone(), entry.failures)) {
                state.waiting.remove(&key);
                state.at_work = Some((key.clone(), None));
                return Some((key, failures));
            }
            match state.waiting.values().filter_map(|entry| entry.not_before).min() {
                Some(at) => drop(self.changed.wait_until(&mut state, at)),
                None => self.changed.wait(&mut state),
            }
        }
    }

    /// The namespace that was worked on is up to date, unless it came in again meanwhile.
    pub fn done(&self) {
        self.state.lock().at_work = None;
    }

    /// It is to be tried again after a wait, having failed so often in a row.
    pub fn again(&self, key: NamespaceKey, failures: u32) -> Duration {
        let wait = (WAIT * 2u32.saturating_pow((failures - 1).min(16))).min(WAIT_MAX);
        let mut state = self.state.lock();
        state.at_work = None;
        state.waiting.insert(key, Entry { failures, not_before: Some(Instant::now() + wait) });
        wait
    }
}

#[cfg(test)]
mod tests {
    use cuebase_storage::records::NamespaceId;
    use ulid::Ulid;

    use super::*;

    fn key(name: &str) -> NamespaceKey {
        NamespaceKey { account: "a".into(), name: name.into(), id: NamespaceId::new(Ulid::nil()) }
    }

    #[test]
    fn a_namespace_that_failed_waits_its_turn_until_the_model_answers() {
        let backlog = Backlog::default();
        backlog.add(&key("x"));
        assert_eq!(backlog.next(), Some((key("x"), 0)));
        assert_eq!(backlog.again(key("x"), 1), WAIT);
        backlog.add(&key("y"));
        assert_eq!(backlog.next(), Some((key("y"), 0)), "x waits");
        backlog.add(&key("y"));
        backlog.done();
        assert_eq!(backlog.next(), Some((key("y"), 0)), "it came in again while it was worked on");
        backlog.done();
        backlog.hurry();
        assert_eq!(backlog.next(), Some((key("x"), 1)));
        backlog.note(Progress { done: 1, all: 2 });
        assert_eq!(backlog.list(), [(key("x"), Some(Progress { done: 1, all: 2 }))]);
        assert_eq!(backlog.again(key("x"), 30), WAIT_MAX);
        backlog.stop();
        assert_eq!(backlog.next(), None);
    }
}
