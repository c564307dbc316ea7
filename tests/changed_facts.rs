//! Facts that change, without a model: the later statement is first and the former one is marked as ended, and a statement
//! that only looks alike ends nothing.

use serde_json::json;

use crate::support::{Server, fresh};

/// Kind, earlier statement, later statement, question; `keep` is for pairs of which nothing ends.
const PAIRS: &str = include_str!("data/changes.tsv");

/// Stores a statement in a session of its own and returns the write's outcome.
fn store(server: &Server, namespace: &str, at: &str, text: &str) -> serde_json::Value {
    let body = json!({
        "namespace": namespace, "session_id": at, "occurred_at": at,
        "messages": [{"role": "user", "content": text}],
    });
    let stored = server.post("/v1/memories?wait=30", &body);
    assert_eq!(stored.body["status"], "ingested", "{stored:?}");
    stored.body
}

/// Stores both statements of a pair and returns the outcome of the later one.
fn store_pair(server: &Server, namespace: &str, earlier: &str, later: &str) -> serde_json::Value {
    assert_eq!(server.post("/v1/namespaces", &json!({"name": namespace})).status, 201);
    let made = store(server, namespace, "2025-11-03T10:00:00Z", earlier);
    let outcome = store(server, namespace, "2026-01-05T10:00:00Z", later);
    json!({"former": made["made"], "new": outcome["made"], "ended": outcome["ended"]})
}

#[test]
fn nine_of_ten_plain_changes_end_the_former_statement_and_rank_the_new_one_first() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    let (mut pairs, mut marked, mut first) = (0, 0, 0);
    for (number, line) in PAIRS.lines().enumerate() {
        let [kind, earlier, later, question] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
        let namespace = format!("change-{number}");
        let outcome = store_pair(&server, &namespace, earlier, later);
        let hits = server.retrieve(&namespace, &format!("q={}", question.replace(' ', "%20"))).hits();
        let is_marked = outcome["ended"] == outcome["former"];
        let is_first = hits.first().is_some_and(|hit| outcome["new"][0] == hit["path"]);
        if !is_marked || !is_first {
            println!("{kind}: {earlier} {later} marked: {is_marked}, first: {is_first}");
        }
        pairs += 1;
        marked += usize::from(is_marked);
        first += usize::from(is_first);
    }
    assert!(pairs > 60 && marked * 10 >= pairs * 9 && first * 10 >= pairs * 9, "{marked}, {first} of {pairs}");
}

#[test]
fn a_statement_that_only_looks_like_a_change_ends_nothing() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    let mut pairs = 0;
    for (number, line) in PAIRS.lines().enumerate() {
        let ["keep", earlier, later] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
        let outcome = store_pair(&server, &format!("keep-{number}"), earlier, later);
        assert_eq!(outcome["ended"], json!([]), "{earlier} {later}");
        pairs += 1;
    }
    assert_eq!(pairs, 58);
}
