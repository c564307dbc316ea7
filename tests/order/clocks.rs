//! Ids and usage when the clock of the machine jumps.

use jiff::Timestamp;
use serde_json::json;

use super::{post_accepted, text_field};
use crate::billing::wait_for_recorded_reads;
use crate::support::Server;
use crate::support::disk::WatchedData;

/// Clock offset of 400 days, seconds.
const FAR_AHEAD: i64 = 400 * 86_400;
/// The middle of a month, seconds since the epoch: 2027-01-15, 12:00 UTC.
const MIDDLE_OF_A_MONTH: i64 = 1_800_014_400;

/// Step from a month to the next one, days. Thirty steps from the middle of a month lead to 30 other months.
const DAYS_OF_A_MONTH: i64 = 30;

/// Creates one object of every kind and returns the ids in the order of creation.
fn new_ids(server: &Server, mark: &str) -> Vec<String> {
    let mut found = vec![server.remember("default", &[&format!("The {mark} anchor was weighed")])];
    found.push(post_accepted(server, "/v1/vocab", &json!({"terms": [{"term": format!("anchor {mark}")}]})));
    let made = server.post("/v1/conversations", &json!({"title": mark}));
    let path = format!("/v1/conversations/{}/messages", text_field(&made, "id"));
    found.push(text_field(&made, "id"));
    let message = json!({"messages": [{"role": "system", "content": format!("The {mark} watch begins")}]});
    found.push(server.post(&path, &message).body["ids"][0].as_str().expect("an id").to_owned());
    found.push(text_field(&server.post("/v1/media", &json!(mark)), "id"));
    found
}

#[test]
fn ids_sort_by_creation_after_the_clock_went_back() {
    for killed in [false, true] {
        let watched = WatchedData::new();
        watched.disk.set_rules(&[&format!("clock - - {FAR_AHEAD}")]);
        let server = watched.start();
        let before = new_ids(&server, "former");
        assert!(before.is_sorted(), "{before:?}");
        // The next start must not learn the greatest id from queued messages, so the queue is emptied first.
        server.settle("default");
        server.drain();
        if killed {
            server.kill();
        } else {
            assert!(server.terminate());
        }
        watched.disk.set_rules(&[]);
        let server = watched.start();
        let after = new_ids(&server, "later");
        let (newest, oldest) = (before.iter().max(), after.iter().min());
        assert!(newest < oldest, "killed: {killed}: {before:?} {after:?}");
        assert!(after.is_sorted(), "{after:?}");
    }
}

#[test]
fn usage_of_a_month_is_unchanged_after_clock_jumps() {
    let watched = WatchedData::new();
    // No month ends during the test.
    let offset = MIDDLE_OF_A_MONTH - Timestamp::now().as_second();
    let in_the_month = format!("clock - - {offset}");
    watched.disk.set_rules(&[&in_the_month]);
    let server = watched.start();
    server.settle("default");
    server.drain();
    let usage = || server.get("/v1/usage").body;
    for _ in 0..50 {
        server.retrieve("default", "q=anything");
    }
    let before = usage();
    let reads = before["used"]["reads"].as_u64().expect("a number");
    assert!(reads >= 50, "{before}");
    for jump in [40 * 86_400, -40 * 86_400] {
        watched.disk.set_rules(&[&format!("clock - - {}", offset + jump)]);
        for _ in 0..5 {
            server.retrieve("default", "q=anything");
        }
        let other = usage();
        assert_ne!(other["period"], before["period"]);
        assert_eq!(other["used"]["reads"], 5, "{other}");
        watched.disk.set_rules(&[&in_the_month]);
        assert_eq!(usage(), before, "after a clock jump of {jump} s");
    }
    wait_for_recorded_reads(&watched.data, reads + 10);
    server.kill();
    let server = watched.start();
    assert_eq!(server.get("/v1/usage").body["used"]["reads"], before["used"]["reads"], "after a start");
}

#[test]
fn a_month_keeps_its_usage_after_the_clock_visited_many_others() {
    let watched = WatchedData::new();
    // No month ends during the test.
    let offset = MIDDLE_OF_A_MONTH - Timestamp::now().as_second();
    let in_the_month = format!("clock - - {offset}");
    watched.disk.set_rules(&[&in_the_month]);
    let server = watched.start();
    for number in 0..5 {
        write_and_read(&server, &format!("first {number}"));
    }
    for months in 1..=30 {
        watched.disk.set_rules(&[&format!("clock - - {}", offset + months * DAYS_OF_A_MONTH * 86_400)]);
        write_and_read(&server, &format!("elsewhere {months}"));
    }
    watched.disk.set_rules(&[&in_the_month]);
    for number in 0..5 {
        write_and_read(&server, &format!("second {number}"));
    }
    let used = server.get("/v1/usage").body["used"].clone();
    assert_eq!((&used["writes"], &used["reads"]), (&json!(10), &json!(10)), "{used}");
    wait_for_recorded_reads(&watched.data, 40);
    server.kill();
    let server = watched.start();
    let used = server.get("/v1/usage").body["used"].clone();
    assert_eq!((&used["writes"], &used["reads"]), (&json!(10), &json!(10)), "after a start: {used}");
}

/// Uses one unit of writes and one of reads.
fn write_and_read(server: &Server, mark: &str) {
    let body = json!({"messages": [{"role": "user", "content": format!("The {mark} anchor was weighed")}]});
    let accepted = server.post("/v1/memories", &body);
    assert_eq!(accepted.status, 202, "{accepted:?}");
    assert_eq!(server.retrieve("default", "q=anything").status, 200);
}
