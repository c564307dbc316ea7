//! Exchanges of one session that are written one by one, as an assistant writes them.

use serde_json::{Value, json};

use crate::support::{Server, fresh, git, stdout};

const ASKED: &str = "How many guests do you expect at the wedding?";

/// Writes one exchange of a session, and returns the write's status when it is ingested.
fn exchange(server: &Server, session: &str, at: &str, messages: &Value) -> Value {
    let body = json!({"session_id": session, "occurred_at": at, "messages": messages});
    let accepted = server.post("/v1/memories?wait=30", &body);
    assert_eq!(accepted.body["status"], "ingested", "{accepted:?}");
    let id = accepted.body["id"].as_str().expect("an id").to_owned();
    server.get(&format!("/v1/writes/{id}")).body
}

/// Writes an exchange that ends with a question of the assistant.
fn ask(server: &Server, session: &str) -> Value {
    let messages = json!([
        {"role": "user", "content": "We are looking for a caterer for our wedding in Porto."},
        {"role": "assistant", "content": ASKED},
    ]);
    exchange(server, session, "2026-03-02T09:00:00Z", &messages)
}

fn reply(server: &Server, session: &str) -> Value {
    let messages = json!([{"role": "user", "content": "About 150."}]);
    exchange(server, session, "2026-03-02T09:01:00Z", &messages)
}

/// Returns the content of the only memory that a write made.
fn made(server: &Server, write: &Value) -> Value {
    assert_eq!(write["made"].as_array().map(Vec::len), Some(1), "{write}");
    let path = write["made"][0].as_str().expect("a path");
    server.get(&format!("/v1/memories/{path}?detail=full")).body
}

#[test]
fn a_short_reply_has_the_question_of_the_write_before_it() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let asked = ask(&server, "s1");
    assert!(server.terminate());
    let server = Server::start(&data);
    let replied = reply(&server, "s1");
    let memory = made(&server, &replied);
    assert_eq!(memory["content"], format!("# User: About 150.\n\n> Assistant: {ASKED}\n"), "{memory}");
    let source = |write: &Value, message: u64| json!({"session_id": "s1", "message": message, "write": write["id"]});
    assert_eq!(memory["sources"], json!([source(&replied, 0), source(&asked, 1)]));
    assert_eq!(memory["relations"][0]["path"], asked["made"][0], "{memory}");
    let found = server.retrieve("default", "q=How+many+guests+come+to+the+wedding%3F");
    assert_eq!(found.hits()[0]["path"], replied["made"][0], "{found:?}");
}

#[test]
fn extracting_a_session_again_changes_nothing() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    ask(&server, "s1");
    let replied = reply(&server, "s1");
    let head = git(&server.repository("default"), &["rev-parse", "HEAD:"]);
    stdout(&data, &["reextract"]);
    server.settle("default");
    let memory = made(&server, &replied);
    assert_eq!(memory["content"], format!("# User: About 150.\n\n> Assistant: {ASKED}\n"), "{memory}");
    let log = git(&server.repository("default"), &["log", "--format=%s"]);
    assert!(!log.contains("Extract again: remember 1") && !log.contains("Extract again: remember 2"), "{log}");
    let changed =
        git(&server.repository("default"), &["diff", "--name-only", head.trim(), "HEAD:", "--", "facts", "incidents"]);
    assert_eq!(changed, "", "{log}");
}

#[test]
fn a_reply_in_another_session_stands_for_itself() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    ask(&server, "s1");
    let memory = made(&server, &reply(&server, "s2"));
    assert_eq!(memory["content"], "# User: About 150.\n", "{memory}");
}

#[test]
fn in_a_chat_with_an_assistant_only_questions_that_state_something_are_kept_without_an_answer() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let messages = json!([
        {"role": "user", "content": "Could you find a fitter for the boiler?"},
        {"role": "assistant", "content": "Of course. Which days suit you?"},
    ]);
    let write = exchange(&server, "s1", "2026-03-02T09:00:00Z", &messages);
    let dropped = |message: u64| json!({"message": message, "reason": "question"});
    assert_eq!((&write["made"], &write["dropped"]), (&json!([]), &json!([dropped(0), dropped(1)])), "{write}");
    let stating = json!([
        {"role": "user", "content": "My gym is Flex, do you know it?"},
        {"role": "assistant", "content": "Thanks!"},
    ]);
    let memory = made(&server, &exchange(&server, "s2", "2026-03-02T10:00:00Z", &stating));
    assert!(memory["content"].as_str().expect("content").contains("Flex"), "{memory}");
}
