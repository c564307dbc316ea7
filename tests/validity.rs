//! Memories that no longer hold: what a direct write replaces, from when on, and what held at an earlier time.

use serde_json::{Value, json};

use crate::support::{Server, fresh, wait_for};

const OLD: &str = "facts/lamp/cellar.md";
const NEW: &str = "facts/lamp/shed.md";
/// The question that the cue of the old memory repeats, so that the old memory ranks first by itself.
const QUESTION: &str = "q=Where+is+the+lamp+oil+kept%3F";
/// The old memory is from January, and the new one holds from March on.
const BEFORE: &str = "2026-02-01";

/// Starts a server with a memory of January and one that replaces it from March on.
fn server_with_replaced_memory() -> (tempfile::TempDir, Server) {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let old = json!({
        "content": "# The lamp oil is kept in the cellar", "occurred_at": "2026-01-05",
        "cues": ["Where is the lamp oil kept?"],
    });
    write(&server, OLD, &old);
    let new = json!({
        "content": "# Lamp oil: now in the shed", "valid_from": "2026-03-01T09:00:00Z", "supersedes": [OLD],
    });
    write(&server, NEW, &new);
    (folder, server)
}

fn write(server: &Server, path: &str, body: &Value) {
    let answer = server.post(&format!("/v1/memories/{path}"), body);
    assert!(matches!(answer.status, 200 | 201), "{answer:?}");
}

/// Returns path and `current` of each hit.
fn found(server: &Server, query: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for hit in server.retrieve("default", query).hits() {
        let path = hit["path"].as_str().expect("a path").to_owned();
        found.push((path, hit["current"].as_bool().expect("a boolean")));
    }
    found
}

fn memory(server: &Server, path: &str) -> Value {
    server.get(&format!("/v1/memories/{path}")).body
}

fn expected(memories: &[(&str, bool)]) -> Vec<(String, bool)> {
    memories.iter().map(|(path, is_current)| ((*path).to_owned(), *is_current)).collect()
}

/// Forgets a memory and waits until it is gone.
fn forget(server: &Server, path: &str) {
    assert_eq!(server.call("DELETE", &format!("/v1/memories/{path}"), None).status, 202);
    wait_for("the memory to be forgotten", || server.get(&format!("/v1/memories/{path}")).status == 404);
}

/// Stops a server, deletes its indexes, and starts it again.
fn restarted_without_index(server: Server) -> Server {
    let data = server.data.clone();
    assert!(server.terminate());
    std::fs::remove_dir_all(data.join("indexes")).expect("removes");
    Server::start(&data)
}

#[test]
fn a_replaced_memory_names_its_successor_and_the_time() {
    let (_folder, server) = server_with_replaced_memory();
    let old = memory(&server, OLD);
    assert_eq!((&old["current"], &old["superseded_by"]), (&json!(false), &json!([NEW])));
    assert_eq!(old["valid_until"], "2026-03-01T09:00:00Z");
    let new = memory(&server, NEW);
    assert_eq!((&new["current"], &new["supersedes"]), (&json!(true), &json!([OLD])));
    assert_eq!((&new["valid_from"], &new["valid_until"]), (&json!("2026-03-01T09:00:00Z"), &Value::Null));
    let hits = server.retrieve("default", QUESTION).hits();
    let hit = hits.iter().find(|hit| hit["path"] == OLD).expect("the old memory is found");
    assert_eq!((&hit["superseded_by"], &hit["valid_until"]), (&old["superseded_by"], &old["valid_until"]));
}

#[test]
fn a_replaced_memory_ranks_behind_its_successor_unless_the_query_says_otherwise() {
    let (_folder, server) = server_with_replaced_memory();
    assert_eq!(found(&server, QUESTION), expected(&[(NEW, true), (OLD, false)]));
    assert_eq!(found(&server, &format!("{QUESTION}&current=first")), expected(&[(NEW, true), (OLD, false)]));
    assert_eq!(found(&server, &format!("{QUESTION}&current=any")), expected(&[(OLD, false), (NEW, true)]));
    assert_eq!(found(&server, &format!("{QUESTION}&current=only")), expected(&[(NEW, true)]));
}

#[test]
fn as_of_shows_what_held_at_an_earlier_time() {
    let (_folder, server) = server_with_replaced_memory();
    assert_eq!(found(&server, &format!("{QUESTION}&as_of={BEFORE}")), expected(&[(OLD, true)]));
    let only = format!("{QUESTION}&as_of={BEFORE}&current=only");
    assert_eq!(found(&server, &only), expected(&[(OLD, true)]));
    assert_eq!(found(&server, &format!("{QUESTION}&as_of=2025-12-24")), expected(&[]));
    let later = format!("{QUESTION}&as_of=2026-03-02");
    assert_eq!(found(&server, &later), expected(&[(NEW, true), (OLD, false)]));
}

#[test]
fn listings_show_what_holds_too() {
    let (_folder, server) = server_with_replaced_memory();
    let mut all = found(&server, "paths=facts/lamp");
    all.sort();
    assert_eq!(all, expected(&[(OLD, false), (NEW, true)]));
    assert_eq!(found(&server, "paths=facts/lamp&current=only"), expected(&[(NEW, true)]));
    assert_eq!(found(&server, &format!("paths=facts/lamp&as_of={BEFORE}")), expected(&[(OLD, true)]));
}

#[test]
fn a_replaced_memory_holds_again_once_its_successor_is_forgotten() {
    let (_folder, server) = server_with_replaced_memory();
    forget(&server, NEW);
    assert_eq!(found(&server, &format!("{QUESTION}&current=only")), expected(&[(OLD, true)]));
    let old = memory(&server, OLD);
    assert_eq!((&old["current"], &old["superseded_by"]), (&json!(true), &json!([])));
    assert_eq!(old["valid_until"], Value::Null);
}

#[test]
fn a_rebuilt_index_knows_what_holds() {
    let (_folder, server) = server_with_replaced_memory();
    let server = restarted_without_index(server);
    assert_eq!(found(&server, QUESTION), expected(&[(NEW, true), (OLD, false)]));
    assert_eq!(found(&server, &format!("{QUESTION}&as_of={BEFORE}")), expected(&[(OLD, true)]));
    assert_eq!(memory(&server, OLD)["superseded_by"], json!([NEW]));
    forget(&server, NEW);
    let server = restarted_without_index(server);
    assert_eq!(found(&server, QUESTION), expected(&[(OLD, true)]));
}

#[test]
fn a_memory_holds_between_the_times_that_it_states() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let body = |from: &str, until: &str| json!({"content": "# Offer", "valid_from": from, "valid_until": until});
    write(&server, "facts/offers/past.md", &body("2020-01-01", "2020-02-01"));
    write(&server, "facts/offers/present.md", &body("2020-01-01", "2999-01-01"));
    write(&server, "facts/offers/future.md", &body("2998-01-01", "2999-01-01"));
    let current = found(&server, "paths=facts/offers&current=only");
    assert_eq!(current, expected(&[("facts/offers/present.md", true)]));
    let mut earlier = found(&server, "paths=facts/offers&current=only&as_of=2020-01-15");
    earlier.sort();
    assert_eq!(earlier, expected(&[("facts/offers/past.md", true), ("facts/offers/present.md", true)]));
    assert_eq!(memory(&server, "facts/offers/past.md")["valid_until"], "2020-02-01T12:00:00Z");
}

#[test]
fn a_rewrite_without_the_fields_removes_them() {
    let (_folder, server) = server_with_replaced_memory();
    write(&server, NEW, &json!({"content": "# Lamp oil: now in the shed"}));
    let new = memory(&server, NEW);
    assert_eq!((&new["supersedes"], &new["valid_from"]), (&json!([]), &Value::Null));
    assert_eq!(memory(&server, OLD)["current"], json!(true));
}

#[test]
fn invalid_times_and_paths_are_refused() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let many: Vec<String> = (0..33).map(|number| format!("facts/many/{number}.md")).collect();
    for (field, value, code) in [
        ("valid_from", json!("soon"), "invalid_time"),
        ("valid_until", json!({}), "invalid_time"),
        ("valid_until", json!("2026-02-28"), "invalid_time"),
        ("supersedes", json!(["facts/../x.md"]), "invalid_path"),
        ("supersedes", json!(["facts/x"]), "invalid_path"),
        ("supersedes", json!([NEW]), "invalid_path"),
        ("supersedes", json!(OLD), "invalid_path"),
        ("supersedes", json!(many), "invalid_path"),
    ] {
        let mut body = json!({"content": "# Lamp oil", "valid_from": "2026-03-01"});
        body[field] = value;
        let answer = server.post(&format!("/v1/memories/{NEW}"), &body);
        assert_eq!((answer.status, answer.code()), (400, code), "{body}");
        assert!(answer.body.to_string().contains(field), "the error names the field: {answer:?}");
    }
    assert_eq!(server.get(&format!("/v1/memories/{NEW}")).status, 404);
}

/// Says something as the user of a chat and waits until it is a memory.
fn say(server: &Server, text: &str, at: &str) {
    let body = json!({"messages": [{"role": "user", "content": text}], "occurred_at": at});
    let answer = server.post("/v1/memories?wait=30", &body);
    assert_eq!((answer.status, &answer.body["status"]), (200, &json!("ingested")), "{answer:?}");
}

#[test]
fn what_is_said_of_a_later_time_holds_since_it_was_said() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    say(&server, "The deadline for the lantern report is May 20, 2091.", "2026-02-01T09:00:00Z");
    let hit = server.retrieve("default", "q=When+is+the+lantern+report+due%3F").hits()[0].clone();
    assert_eq!((&hit["current"], &hit["valid_from"]), (&json!(true), &json!("2026-02-01T09:00:00Z")), "{hit}");
    // Also before the day that it is about, but not before it was said.
    let as_of = |day: &str| found(&server, &format!("q=lantern+report&as_of={day}")).len();
    assert_eq!((as_of("2026-03-01"), as_of("2026-01-01")), (1, 0));
}

#[test]
fn the_end_of_a_fact_answers_whether_it_still_holds() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    say(&server, "I work at the Northwind bakery and the ovens are hot.", "2026-01-05T09:00:00Z");
    say(&server, "I quit the Northwind bakery, the mornings were too early.", "2026-03-05T09:00:00Z");
    let hit = server.retrieve("default", "q=Do+I+still+work+at+the+Northwind+bakery%3F").hits()[0].clone();
    assert!(hit["content"].as_str().expect("a text").contains("quit"), "{hit}");
}
