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
    // Only the marker that `settle` writes is added.
    let changed = git(&server.repository("default"), &["diff", "--name-only", "--diff-filter=a", head.trim(), "HEAD:"]);
    assert!(!changed.contains("facts/") && !changed.contains("incidents/"), "{changed}\n{log}");
}

#[test]
fn extracting_a_long_session_again_changes_nothing() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    for number in 0..100 {
        let (hour, minute) = (9 + number / 60, number % 60);
        let messages = json!([
            {"role": "user", "content": format!("About {number} boats.")},
            {"role": "assistant", "content": format!("How many guests come to pier {number}?")},
        ]);
        let at = format!("2026-03-02T{hour:02}:{minute:02}:00Z");
        server.post("/v1/memories", &json!({"session_id": "s1", "occurred_at": at, "messages": messages}));
    }
    server.drain();
    let before = git(&server.repository("default"), &["rev-parse", "HEAD:"]);
    let found = server.retrieve("default", "q=How+many+guests+come+to+pier+6%3F").contents();
    let replied = "# User: About 7 boats.\n\n> Assistant: How many guests come to pier 6?\n";
    assert!(found.iter().any(|content| content == replied), "{found:?}");
    stdout(&data, &["reextract"]);
    assert_eq!(git(&server.repository("default"), &["rev-parse", "HEAD:"]), before);
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

#[test]
fn a_correction_quotes_what_it_corrects_and_a_context_shows_both_once() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let said = |text: &str| json!([{"role": "user", "content": text}]);
    exchange(&server, "s1", "2026-03-02T09:00:00Z", &said("The regatta in Porto starts on 12 June."));
    exchange(&server, "s1", "2026-03-02T09:01:00Z", &said("Bo sold his kayak to Ines."));
    let write = exchange(&server, "s1", "2026-03-02T09:02:00Z", &said("no wait, the regatta starts on the 13th"));
    let quote = "User: The regatta in Porto starts on 12 June (12 June 2026).";
    let memory = made(&server, &write);
    assert!(memory["content"].as_str().expect("content").ends_with(&format!("\n> {quote}\n")), "{memory}");
    let context = server.get("/v1/context?marks=off&q=When+does+the+regatta+in+Porto+start%3F").body;
    let text = context["text"].as_str().expect("a text");
    assert!(text.contains(&format!("no wait, the regatta starts on the 13th ({quote})")), "{text}");
    assert_eq!(text.matches("The regatta in Porto").count(), 1, "{text}");
}

#[test]
fn i_stands_for_the_only_person_who_speaks() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let said = |text: &str| json!([{"role": "user", "name": "Mara", "content": text}, {"role": "assistant", "content": "OK."}]);
    exchange(&server, "s1", "2026-03-02T09:00:00Z", &said("I live in Bergen."));
    exchange(&server, "s2", "2026-03-03T09:00:00Z", &said("My gym is Flex."));
    let line = |query: &str| server.get(&format!("/v1/context?marks=off&q={query}")).body["text"].clone();
    for query in ["Where+do+I+live%3F", "Where+does+Mara+live%3F"] {
        assert_eq!(line(query), "- 2 Mar 2026 Mara: I live in Bergen.", "{query}");
    }
    assert_eq!(line("What+is+my+gym%3F"), "- 3 Mar 2026 Mara: My gym is Flex.");
}
