//! Tests of the order of writes, of outages of the model, and of namespaces that leave the queue.

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

fn key_and_id(entry: &QueueEntry) -> (NamespaceKey, MessageId) {
    (entry.namespace_key(), entry.id)
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
    assert_eq!(queue.levels(), QueueLevels { waiting: 2, busy: 2, oldest: Some(key_and_id(&entry(2, "a", 1))) });
    queue.stop();
    assert_eq!(queue.next(), None);
}

#[test]
fn a_message_that_a_worker_still_has_is_added_again_after_it() {
    let queue = Queue::new(2, &Clock::system());
    let entry = entry(1, "a", 1);
    // Repeated, because the other thread may come too late to wait.
    for _ in 0..1000 {
        queue.add(&entry);
        let assignment = queue.next().expect("work");
        thread::scope(|scope| {
            scope.spawn(|| {
                queue.wait_for_worker(entry.namespace_id, entry.id);
                queue.add(&entry);
            });
            queue.finish(&assignment);
        });
        assert_eq!(queue.levels().waiting, 1);
        let assignment = queue.next().expect("work");
        queue.finish(&assignment);
    }
}

#[test]
fn a_wait_for_a_worker_ends_at_a_stop() {
    let queue = Queue::new(2, &Clock::system());
    let entry = entry(1, "a", 1);
    queue.add(&entry);
    queue.next().expect("work");
    queue.stop();
    queue.wait_for_worker(entry.namespace_id, entry.id);
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
    assert_eq!(queue.levels(), QueueLevels { waiting: 1, busy: 0, oldest: Some(key_and_id(&entry(1, "a", 1))) });
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
