//! An outage of the chat model, as the queue sees it: which namespaces wait for the model, and when the next call is made.
//!
//! During an outage one write at a time is tried, after waits that grow. The writes of other namespaces that need the model
//! are not sent to it: their namespaces are held until an answer comes. The queue holds one lock around all of this.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use cuebase_storage::records::NamespaceId;
use jiff::Timestamp;

/// The longest wait between two tries, also where the endpoint asks for more.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Failed calls of the model for one write, each after the model had answered another write, until they count as the
/// write's own failures. A model that fails every other call does that to one write in five hundred, which then still has
/// its retries.
pub(super) const OWN_FAILURES_MAX: u32 = 8;
/// A wait grows at most this many times; by then it has reached [`WAIT_MAX`] from any setting.
const GROWTHS_MAX: u32 = 30;

/// What the queue knows of the chat model.
#[derive(Default)]
pub(super) struct ModelHold {
    /// None while the model answers.
    outage: Option<Outage>,
    /// Namespaces whose oldest message waits for the model, the one that has waited longest first.
    held: BTreeSet<(Instant, NamespaceId)>,
    /// Writes that the model has answered.
    answers: u64,
}

struct Outage {
    since: Timestamp,
    began: Instant,
    /// Failed tries in a row.
    tries: u32,
    next_try: Instant,
    /// The namespace that was taken out of `held` for the next try, until a worker is done with it.
    chosen: Option<NamespaceId>,
    /// The namespace whose write is being tried.
    trying: Option<NamespaceId>,
}

/// The current outage, for metrics and the queue's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutageLevels {
    /// When the first call failed.
    pub since: Timestamp,
    /// How long ago that was.
    pub lasted: Duration,
    /// Namespaces that wait for the model.
    pub namespaces: usize,
}

/// Why the model gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The endpoint limits the rate of calls: no write is to blame for that.
    RateLimit,
    /// Anything else.
    Other,
}

/// A call that the model did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedCall {
    /// Why.
    pub cause: Cause,
    /// How long the endpoint asked to be left alone.
    pub retry_after: Option<Duration>,
}

impl FailedCall {
    /// The wait that the endpoint asks for, at most [`WAIT_MAX`].
    pub(super) fn asked(self) -> Duration {
        self.retry_after.unwrap_or_default().min(WAIT_MAX)
    }
}

/// Calls of the model that failed for one message.
#[derive(Clone, Copy, Default)]
pub(super) struct MessageFailures {
    /// How many writes the model had answered at the last one.
    answers: Option<u64>,
    /// Of the failures, those before which the model had answered another write since the last one.
    alone: u32,
    /// Of these, the ones that the message may be the cause of.
    own: u32,
}

impl MessageFailures {
    /// Notes another failure; the model has answered `answers` writes until now. Returns the failures where the model
    /// answered any of them since the last failure, and none where the failure may be an outage.
    pub(super) fn note(&mut self, answers: u64, cause: Cause) -> Option<Self> {
        let before = self.answers.replace(answers)?;
        if answers == before {
            return None;
        }
        self.alone = self.alone.saturating_add(1);
        self.own = self.own.saturating_add(u32::from(cause != Cause::RateLimit));
        Some(*self)
    }

    /// Whether the message is the cause.
    pub(super) fn are_own(self) -> bool {
        self.own > OWN_FAILURES_MAX
    }

    /// The wait before the message is tried again while the model answers others.
    pub(super) fn wait(self, base: Duration) -> Duration {
        wait(base, self.alone)
    }
}

/// What a failed call of the model means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The model answered until now: an outage begins, and the namespace is held.
    Began,
    /// The namespace is held.
    Held,
    /// The model answers other writes while it fails again and again for this one: the failure is the write's own. The
    /// namespace stays with the worker.
    Own,
}

impl ModelHold {
    /// Whether a write of a namespace may be sent to the model now.
    pub(super) fn admits(&mut self, id: NamespaceId, base: Duration, now: Instant) -> bool {
        let Some(outage) = &mut self.outage else { return true };
        if outage.trying.is_some() || outage.next_try > now {
            return false;
        }
        outage.trying = Some(id);
        // For the case that the try ends without a verdict.
        outage.next_try = now + wait(base, outage.tries);
        true
    }

    /// Whether there is an outage.
    pub(super) fn is_outage(&self) -> bool {
        self.outage.is_some()
    }

    /// Notes that the model did not answer, and the wait that the endpoint asked for. True when an outage begins with that.
    /// Only the failure of the write that was being tried makes the waits grow: calls that were under way when the outage
    /// began fail as well.
    pub(super) fn failed(&mut self, id: NamespaceId, base: Duration, asked: Duration, now: Instant) -> bool {
        let Some(outage) = &mut self.outage else {
            let next_try = now + wait(base, 1).max(asked);
            let since = Timestamp::now();
            self.outage = Some(Outage { since, began: now, tries: 1, next_try, chosen: None, trying: None });
            return true;
        };
        if outage.trying == Some(id) {
            outage.tries = outage.tries.saturating_add(1);
            outage.next_try = now + wait(base, outage.tries).max(asked);
        } else {
            outage.next_try = outage.next_try.max(now + asked);
        }
        self.release(id);
        false
    }

    /// A worker is done with a namespace: it is not the one of the next try any more.
    pub(super) fn release(&mut self, id: NamespaceId) {
        let Some(outage) = &mut self.outage else { return };
        if outage.chosen == Some(id) {
            outage.chosen = None;
        }
        if outage.trying == Some(id) {
            outage.trying = None;
        }
    }

    /// Notes that the model answered a write. Returns how long the outage lasted that ended with that, and the namespaces
    /// that were held.
    pub(super) fn answered(&mut self, now: Instant) -> Option<(Duration, Vec<NamespaceId>)> {
        self.answers += 1;
        let outage = self.outage.take()?;
        let held = std::mem::take(&mut self.held);
        let released = held.into_iter().map(|(_, id)| id).collect();
        Some((now.saturating_duration_since(outage.began), released))
    }

    /// Writes that the model has answered.
    pub(super) fn answers(&self) -> u64 {
        self.answers
    }

    /// Holds a namespace.
    pub(super) fn hold(&mut self, id: NamespaceId, since: Instant) {
        self.held.insert((since, id));
    }

    /// Takes a namespace out of those that are held.
    pub(super) fn take_out(&mut self, id: NamespaceId, since: Instant) {
        self.held.remove(&(since, id));
    }

    /// The namespace to be tried now, taken out of those that are held.
    pub(super) fn choose(&mut self, now: Instant) -> Option<NamespaceId> {
        let outage = self.outage.as_mut()?;
        if outage.chosen.is_some() || outage.trying.is_some() || outage.next_try > now {
            return None;
        }
        let (_, id) = self.held.pop_first()?;
        outage.chosen = Some(id);
        Some(id)
    }

    /// When [`ModelHold::choose`] has a namespace next; none where something else comes first.
    pub(super) fn next_choice(&self) -> Option<Instant> {
        let outage = self.outage.as_ref()?;
        if outage.chosen.is_some() || outage.trying.is_some() || self.held.is_empty() {
            return None;
        }
        Some(outage.next_try)
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

/// The wait after a number of failed tries: it doubles from `base` to [`WAIT_MAX`], less up to a quarter by chance.
fn wait(base: Duration, tries: u32) -> Duration {
    let growths = tries.saturating_sub(1).min(GROWTHS_MAX);
    let full = base.saturating_mul(2u32.saturating_pow(growths)).min(WAIT_MAX);
    let mut byte = [0];
    // Jitter is optional: without randomness the wait is the full one.
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
        for (tries, full_ms) in [(1, 500), (2, 1000), (4, 4000), (8, 60_000), (1000, 60_000)] {
            let waited = wait(BASE, tries).as_millis();
            assert!((full_ms * 3 / 4..=full_ms).contains(&waited), "{tries}: {waited} ms");
        }
    }

    #[test]
    fn one_write_at_a_time_is_tried_during_an_outage_and_an_answer_ends_it() {
        let (mut hold, start) = (ModelHold::default(), Instant::now());
        assert!(hold.admits(id(1), BASE, start) && hold.admits(id(2), BASE, start), "no outage");
        assert!(hold.failed(id(1), BASE, Duration::ZERO, start), "it begins");
        hold.hold(id(1), start);
        assert!(!hold.failed(id(2), BASE, Duration::ZERO, start), "it goes on");
        hold.hold(id(2), start + Duration::from_millis(1));
        assert!(!hold.admits(id(3), BASE, start));
        assert_eq!(hold.choose(start), None, "not yet");
        let later = start + BASE;
        assert_eq!(hold.choose(later), Some(id(1)));
        assert_eq!(hold.choose(later), None, "one at a time");
        assert!(hold.admits(id(1), BASE, later));
        assert!(!hold.admits(id(2), BASE, later + WAIT_MAX), "one is under way");
        assert!(!hold.failed(id(1), BASE, Duration::ZERO, later));
        hold.hold(id(1), later);
        assert_eq!(hold.choose(later + BASE), None, "the wait has doubled");
        assert_eq!(hold.choose(later + BASE * 2), Some(id(2)), "the one that has waited longest");
        assert!(hold.admits(id(2), BASE, later + BASE * 2));
        let (lasted, released) = hold.answered(later + BASE * 2).expect("an outage ends");
        assert_eq!((lasted, released), (BASE * 3, vec![id(1)]));
        assert!(hold.admits(id(3), BASE, later) && hold.answered(later).is_none());
    }

    #[test]
    fn an_endpoint_that_names_a_wait_is_left_alone_for_that_long_and_at_most_a_minute() {
        for (asked_s, waited_s) in [(7, 7), (3600, 60)] {
            let (mut hold, start) = (ModelHold::default(), Instant::now());
            let call = FailedCall { cause: Cause::RateLimit, retry_after: Some(Duration::from_secs(asked_s)) };
            hold.failed(id(1), BASE, call.asked(), start);
            hold.hold(id(1), start);
            let at = hold.next_choice().expect("one is held");
            assert_eq!(at - start, Duration::from_secs(waited_s));
        }
    }

    #[test]
    fn a_try_without_a_verdict_leaves_the_next_one_to_another_namespace() {
        let (mut hold, start) = (ModelHold::default(), Instant::now());
        hold.failed(id(1), BASE, Duration::ZERO, start);
        hold.hold(id(2), start);
        assert_eq!(hold.choose(start + BASE), Some(id(2)));
        assert_eq!(hold.next_choice(), None);
        // Deleted before a worker came to it.
        hold.release(id(2));
        assert!(hold.admits(id(3), BASE, start + BASE));
        hold.release(id(3));
        assert!(!hold.admits(id(4), BASE, start + BASE));
        assert!(hold.admits(id(4), BASE, start + BASE * 2));
    }
}
