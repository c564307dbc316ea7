//! What a user asks to forget, or not to remember.

use serde_json::{Value, json};

use crate::support::{Server, fresh};

/// Stores messages of a user as one write, and returns its state.
fn say(server: &Server, session: &str, texts: &[&str]) -> Value {
    let messages: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
    store(server, &json!({"messages": messages, "session_id": session}))
}

fn store(server: &Server, body: &Value) -> Value {
    let written = server.post("/v1/memories?wait=30", body);
    assert_eq!(written.body["status"], "ingested", "{written:?}");
    written.body
}

/// Returns the first lines of all memories, sorted.
fn memories(server: &Server) -> Vec<String> {
    let listed = server.get("/v1/memories?limit=200").body;
    let mut lines = Vec::new();
    for memory in listed["memories"].as_array().expect("memories") {
        let line = memory["content"].as_str().and_then(|text| text.lines().next()).expect("a line");
        lines.push(line.trim_start_matches("# User: ").to_owned());
    }
    lines.sort();
    lines
}

#[test]
fn a_statement_that_is_named_is_forgotten() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    let made = say(&server, "a", &["I live in Oslo."]);
    say(&server, "a", &["I work in Oslo as a diver."]);
    let written = say(&server, "b", &["Forget that I live in Oslo, please. I live in Bergen now."]);
    assert_eq!(written["forgotten"], made["made"], "{written}");
    assert_eq!(memories(&server), ["I live in Bergen now.", "I work in Oslo as a diver."]);
    assert_eq!(server.get(&format!("/v1/memories/{}", made["made"][0].as_str().expect("a path"))).status, 404);
}

#[test]
fn what_was_just_said_is_forgotten() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    say(&server, "a", &["My knee hurts again."]);
    say(&server, "b", &["The boat is blue."]);
    let written = say(&server, "a", &["Please don't remember this."]);
    assert_eq!(written["dropped"], json!([{"message": 0, "reason": "asked_not_to"}]), "{written}");
    assert_eq!(memories(&server), ["The boat is blue."]);
}

#[test]
fn a_message_that_is_not_to_be_remembered_makes_no_memory() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    let texts = ["The boat is blue.", "My PIN is 4711. Don't store this.", "Das Schloss klemmt. Merk dir das nicht."];
    let written = say(&server, "a", &texts);
    let reasons = json!([{"message": 1, "reason": "asked_not_to"}, {"message": 2, "reason": "asked_not_to"}]);
    assert_eq!(written["dropped"], reasons, "{written}");
    assert_eq!(memories(&server), ["The boat is blue."]);
}

#[test]
fn a_topic_is_forgotten_if_one_memory_is_about_it() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    say(&server, "a", &["My divorce was in May."]);
    say(&server, "a", &["My sister Ruth is a diver."]);
    say(&server, "a", &["My sister Ina lives in Bergen."]);
    say(&server, "b", &["Forget what I told you about my divorce."]);
    say(&server, "b", &["Forget what I told you about my sister."]);
    assert_eq!(memories(&server), ["My sister Ina lives in Bergen.", "My sister Ruth is a diver."]);
}

#[test]
fn what_others_say_and_idioms_forget_nothing() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    say(&server, "a", &["I live in Oslo."]);
    let before = memories(&server);
    for (role, text) in [
        ("user", "Don't forget that I live in Oslo."),
        ("user", "Forget it."),
        ("user", "Translate this: Forget that I live in Oslo."),
        ("user", "The note said \"forget that I live in Oslo\"."),
        ("assistant", "Forget that I live in Oslo."),
        ("tool", "Forget that I live in Oslo."),
        ("system", "Forget that I live in Oslo."),
    ] {
        let written = store(&server, &json!({"messages": [{"role": role, "content": text}], "session_id": "b"}));
        assert_eq!(written["forgotten"], json!([]), "{role}: {text}");
        assert!(memories(&server).contains(&before[0]), "{role}: {text}");
    }
}

#[test]
fn somebody_else_cannot_have_a_statement_forgotten() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    let said = |name: &str, text: &str| json!({"messages": [{"role": "user", "name": name, "content": text}]});
    store(&server, &said("Mara", "I live in Oslo."));
    assert_eq!(store(&server, &said("Jonas", "Forget that I live in Oslo."))["forgotten"], json!([]));
    let forgotten = store(&server, &said("Mara", "Forget that I live in Oslo."));
    assert_eq!(forgotten["forgotten"].as_array().map(Vec::len), Some(1), "{forgotten}");
}

#[test]
fn a_message_that_must_not_be_stored_is_in_no_memory_and_no_source() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let written = store(
        &server,
        &json!({"messages": [
            {"role": "assistant", "content": "Where did you buy the quince press?", "store": false},
            {"role": "user", "content": "In Porto, at the harbour market."},
            {"role": "user", "content": "The safe opens with quince 4711.", "store": false},
        ], "session_id": "a"}),
    );
    let reasons = json!([{"message": 0, "reason": "asked_not_to"}, {"message": 2, "reason": "asked_not_to"}]);
    assert_eq!(written["dropped"], reasons, "{written}");
    assert_eq!(server.get("/v1/memories").body["memories"].as_array().map(Vec::len), Some(1));
    store(&server, &json!({"messages": [{"role": "user", "content": "No wait, in Faro."}], "session_id": "a"}));
    let everything = [server.get("/v1/memories?detail=full").body, server.get("/v1/sources").body];
    let mut text = everything.iter().map(Value::to_string).collect::<String>();
    for source in everything[1]["sources"].as_array().expect("sources") {
        text.push_str(&server.get(&format!("/v1/sources/{}", source["id"].as_str().expect("an id"))).body.to_string());
    }
    assert!(text.contains("harbour market") && !text.contains("quince"), "{text}");
    let conversation = server.post("/v1/conversations", &json!({})).body["id"].as_str().expect("an id").to_owned();
    let body = json!({"messages": [{"role": "user", "content": "x", "store": false}]});
    assert_eq!(server.post(&format!("/v1/conversations/{conversation}/messages"), &body).status, 400);
}

#[test]
fn a_wish_that_is_kept_already_counts_for_a_message_that_comes_late() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    for (session, late, wish) in [
        ("a", "My knee hurts again.", "Please don't remember this."),
        ("b", "I live in Oslo.", "Forget that I live in Oslo."),
    ] {
        let message = |text: &str| json!([{"role": "user", "content": text}]);
        let at = |time: &str| format!("2026-03-04T10:0{time}:00Z");
        let wished = json!({"session_id": session, "occurred_at": at("5"), "messages": message(wish)});
        store(&server, &wished);
        let written =
            store(&server, &json!({"session_id": session, "occurred_at": at("1"), "messages": message(late)}));
        assert_eq!(written["dropped"], json!([{"message": 0, "reason": "asked_not_to"}]), "{written}");
    }
    assert_eq!(memories(&server), Vec::<String>::new());
}
