//! Outages of the chat model: which namespaces wait for the model, and when the next call is made.
//!
//! During an outage one write at a time is tried, after waits that grow. Other namespaces with a write that needs the
//! model are held until the model answers. The queue's lock protects this state.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use cuebase_storage::NamespaceId;
use jiff::Timestamp;

use crate::clock::Clock;

/// The longest wait between two attempts, even if the endpoint asks for a longer one.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Failed model calls for one write that do not count as the write's own failures yet. Only calls count before which
/// the model answered another write. A model that fails every other call exceeds this for one write in five hundred,
/// which still has its retries then.
pub(super) const OWN_FAILURES_MAX: u32 = 8;
/// A wait grows at most this many times. It then has reached [`WAIT_MAX`] from any configured base.
const GROWTHS_MAX: u32 = 30;

/// The state of the chat model and the namespaces that wait for it.
#[derive(Default)]
pub(super) struct ModelHold {
    clock: Clock,
    /// The current outage; none while the model answers.
    outage: Option<Outage>,
    /// Namespaces whose oldest message waits for the model, in the order in which they began to wait.
    held: BTreeSet<(Instant, NamespaceId)>,
    /// Number of writes that the model has answered.
    answers: u64,
}

struct Outage {
    since: Timestamp,
    began: Instant,
    /// Failed attempts in a row.
    attempts: u32,
    next_attempt: Instant,
    /// The namespace that was taken out of `held` for the next attempt, until a worker ends its work on it.
    chosen: Option<NamespaceId>,
    /// The namespace whose write is being tried.
    trying: Option<NamespaceId>,
}

/// The current outage, for metrics and the queue's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutageLevels {
    /// When the first call failed.
    pub since: Timestamp,
    /// Time since then.
    pub lasted: Duration,
    /// Number of namespaces that wait for the model.
    pub namespaces: usize,
}

/// Why a call of the model failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The endpoint limits the rate of calls, which no write can cause.
    RateLimit,
    /// Any other cause.
    Other,
}

/// A failed call of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedCall {
    /// The cause.
    pub cause: Cause,
    /// The wait that the endpoint asked for (`Retry-After`).
    pub retry_after: Option<Duration>,
}

impl FailedCall {
    /// Returns the wait that the endpoint asked for, at most [`WAIT_MAX`].
    pub(super) fn requested_wait(self) -> Duration {
        self.retry_after.unwrap_or(Duration::ZERO).min(WAIT_MAX)
    }
}

/// Failed model calls for one message.
#[derive(Clone, Copy, Default)]
pub(super) struct MessageFailures {
    /// The model's number of answered writes at the last failure.
    answers: Option<u64>,
    /// Failures between which the model answered another write.
    isolated: u32,
    /// Isolated failures that the message can have caused.
    own: u32,
}

impl MessageFailures {
    /// Adds a failure. `answers` is the number of writes that the model has answered so far. Returns the failures if
    /// the model has answered a write since the last one, and `None` if the failure can be an outage.
    pub(super) fn add(&mut self, answers: u64, cause: Cause) -> Option<Self> {
        let before = self.answers.replace(answers)?;
        if answers == before {
            return None;
        }
        self.isolated = self.isolated.saturating_add(1);
        self.own = self.own.saturating_add(u32::from(cause != Cause::RateLimit));
        Some(*self)
    }

    /// Whether the failures count as the message's own.
    pub(super) fn are_own(self) -> bool {
        self.own > OWN_FAILURES_MAX
    }

    /// Returns the wait before the message is tried again while the model answers other messages.
    pub(super) fn wait(self, base: Duration) -> Duration {
        wait(base, self.isolated)
    }
}

/// The consequence of a failed model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// An outage begins, and the namespace is held.
    Began,
    /// The namespace is held.
    Held,
    /// The failure counts as the write's own, because the model keeps answering other writes. The namespace stays with
    /// the worker.
    Own,
}

impl ModelHold {
    /// Returns the state before the first call.
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, ..Self::default() }
    }

    /// Whether a write of a namespace may be sent to the model now.
    pub(super) fn admits(&mut self, id: NamespaceId, base: Duration, now: Instant) -> bool {
        let Some(outage) = &mut self.outage else { return true };
        if outage.trying.is_some() || outage.next_attempt > now {
            return false;
        }
        outage.trying = Some(id);
        // Applies if the attempt ends without a verdict.
        outage.next_attempt = now + wait(base, outage.attempts);
        true
    }

    /// Whether there is an outage.
    pub(super) fn is_outage(&self) -> bool {
        self.outage.is_some()
    }

    /// Records a failed call and the wait that the endpoint asked for. Returns true if an outage begins. Only a failure
    /// of the write being tried makes the waits grow, because all calls in progress fail when an outage begins.
    pub(super) fn failed(&mut self, id: NamespaceId, base: Duration, requested: Duration, now: Instant) -> bool {
        let Some(outage) = &mut self.outage else {
            let next_attempt = now + wait(base, 1).max(requested);
            let since = self.clock.now();
            self.outage = Some(Outage { since, began: now, attempts: 1, next_attempt, chosen: None, trying: None });
            return true;
        };
        if outage.trying == Some(id) {
            outage.attempts = outage.attempts.saturating_add(1);
            outage.next_attempt = now + wait(base, outage.attempts).max(requested);
        } else {
            outage.next_attempt = outage.next_attempt.max(now + requested);
        }
        self.release(id);
        false
    }

    /// Records that a worker ended its work on a namespace, and with it a current attempt.
    pub(super) fn release(&mut self, id: NamespaceId) {
        let Some(outage) = &mut self.outage else { return };
        if outage.chosen == Some(id) {
            outage.chosen = None;
        }
        if outage.trying == Some(id) {
            outage.trying = None;
        }
    }

    /// Records an answered write. If this ends an outage, returns its duration and the namespaces that were held.
    pub(super) fn answered(&mut self, now: Instant) -> Option<(Duration, Vec<NamespaceId>)> {
        self.answers += 1;
        let outage = self.outage.take()?;
        let held = std::mem::take(&mut self.held);
        let released = held.into_iter().map(|(_, id)| id).collect();
        Some((now.saturating_duration_since(outage.began), released))
    }

    /// Returns the number of writes that the model has answered.
    pub(super) fn answers(&self) -> u64 {
        self.answers
    }

    /// Holds a namespace.
    pub(super) fn hold(&mut self, id: NamespaceId, since: Instant) {
        self.held.insert((since, id));
    }

    /// Removes a namespace from those that are held.
    pub(super) fn remove_held(&mut self, id: NamespaceId, since: Instant) {
        self.held.remove(&(since, id));
    }

    /// Takes the held namespace that may be tried now.
    pub(super) fn choose(&mut self, now: Instant) -> Option<NamespaceId> {
        let outage = self.outage.as_mut()?;
        if outage.chosen.is_some() || outage.trying.is_some() || outage.next_attempt > now {
            return None;
        }
        let (_, id) = self.held.pop_first()?;
        outage.chosen = Some(id);
        Some(id)
    }

    /// Returns when [`ModelHold::choose`] can return a namespace; `None` if no namespace is held, or one is being
    /// tried.
    pub(super) fn next_choice(&self) -> Option<Instant> {
        let outage = self.outage.as_ref()?;
        if outage.chosen.is_some() || outage.trying.is_some() || self.held.is_empty() {
            return None;
        }
        Some(outage.next_attempt)
    }

    /// Returns the current outage.
    pub(super) fn levels(&self, now: Instant) -> Option<OutageLevels> {
        let outage = self.outage.as_ref()?;
        Some(OutageLevels {
            since: outage.since,
            lasted: now.saturating_duration_since(outage.began),
            namespaces: self.held.len(),
        })
    }
}

/// Returns the wait after a number of failed attempts. It doubles from `base` up to [`WAIT_MAX`], less a random part of
/// up to a quarter.
fn wait(base: Duration, attempts: u32) -> Duration {
    let growths = attempts.saturating_sub(1).min(GROWTHS_MAX);
    let full = base.saturating_mul(2u32.saturating_pow(growths)).min(WAIT_MAX);
    let mut byte = [0];
    // Jitter is optional: if no random byte is available, the wait is not shortened.
    let _ = aws_lc_rs::rand::fill(&mut byte);
    full - full.mul_f64(f64::from(byte[0]) / 1024.0)
}

#[cfg(test)]
mod tests {
    use ulid::Ulid;

    use super::*;

    const BASE: Duration = Duration::from_millis(500);

    fn id(number: u128) -> NamespaceId {
        NamespaceId::new(Ulid::from(number))
    }

    #[test]
    fn waits_double_up_to_a_minute_with_jitter() {
        for (attempts, full_ms) in [(1, 500), (2, 1000), (4, 4000), (8, 60_000), (1000, 60_000)] {
            let waited = wait(BASE, attempts).as_millis();
            assert!((full_ms * 3 / 4..=full_ms).contains(&waited), "{attempts}: {waited} ms");
        }
    }

    #[test]
    fn an_outage_tries_one_write_at_a_time_until_an_answer() {
        let (mut hold, start) = (ModelHold::default(), Instant::now());
        assert!(hold.admits(id(1), BASE, start) && hold.admits(id(2), BASE, start), "no outage");
        assert!(hold.failed(id(1), BASE, Duration::ZERO, start), "it begins");
        hold.hold(id(1), start);
        assert!(!hold.failed(id(2), BASE, Duration::ZERO, start), "it continues");
        hold.hold(id(2), start + Duration::from_millis(1));
        assert!(!hold.admits(id(3), BASE, start));
        assert_eq!(hold.choose(start), None, "not yet");
        let later = start + BASE;
        assert_eq!(hold.choose(later), Some(id(1)));
        assert_eq!(hold.choose(later), None, "one at a time");
        assert!(hold.admits(id(1), BASE, later));
        assert!(!hold.admits(id(2), BASE, later + WAIT_MAX), "one is in progress");
        assert!(!hold.failed(id(1), BASE, Duration::ZERO, later));
        hold.hold(id(1), later);
        assert_eq!(hold.choose(later + BASE), None, "the wait has doubled");
        assert_eq!(hold.choose(later + BASE * 2), Some(id(2)), "the longest waiting one");
        assert!(hold.admits(id(2), BASE, later + BASE * 2));
        let (lasted, released) = hold.answered(later + BASE * 2).expect("an outage ends");
        assert_eq!((lasted, released), (BASE * 3, vec![id(1)]));
        assert!(hold.admits(id(3), BASE, later) && hold.answered(later).is_none());
    }

    #[test]
    fn a_requested_wait_is_kept_up_to_a_minute() {
        for (requested_s, waited_s) in [(7, 7), (3600, 60)] {
            let (mut hold, start) = (ModelHold::default(), Instant::now());
            let call = FailedCall { cause: Cause::RateLimit, retry_after: Some(Duration::from_secs(requested_s)) };
            hold.failed(id(1), BASE, call.requested_wait(), start);
            hold.hold(id(1), start);
            let at = hold.next_choice().expect("one is held");
            assert_eq!(at - start, Duration::from_secs(waited_s));
        }
    }

    #[test]
    fn an_attempt_without_a_verdict_yields_to_other_namespaces() {
        let (mut hold, start) = (ModelHold::default(), Instant::now());
        hold.failed(id(1), BASE, Duration::ZERO, start);
        hold.hold(id(2), start);
        assert_eq!(hold.choose(start + BASE), Some(id(2)));
        assert_eq!(hold.next_choice(), None);
        // Deleted before a worker took it.
        hold.release(id(2));
        assert!(hold.admits(id(3), BASE, start + BASE));
        hold.release(id(3));
        assert!(!hold.admits(id(4), BASE, start + BASE));
        assert!(hold.admits(id(4), BASE, start + BASE * 2));
    }
}
