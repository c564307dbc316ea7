//! Answers of `POST /v1/answer` from large memories. Other answers are tested in `tests/api`.

use std::fmt::Write;

use serde_json::json;

use crate::support::provider::Provider;
use crate::support::{Server, fresh};

/// Stores what a user said at a time.
fn say(server: &Server, text: &str, at: &str) {
    let body = json!({"session_id": at, "occurred_at": at, "messages": [{"role": "user", "content": text}]});
    assert_eq!(server.post("/v1/memories?wait=30", &body).body["status"], "ingested");
}

#[test]
fn an_answer_about_the_past_says_until_when_it_was_so() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    say(&server, "I live in Oslo.", "2025-01-10T09:00:00Z");
    say(&server, "I moved to Bergen.", "2025-06-10T09:00:00Z");
    let answer = |question: &str| server.post("/v1/answer", &json!({"q": question})).body["answer"].clone();
    assert_eq!(answer("Where did I use to live?"), "User: I live in Oslo. (former, until 2025-06-10)");
    assert_eq!(answer("Where did I live in March 2025?"), "User: I live in Oslo. (former, until 2025-06-10)");
    assert_eq!(answer("Where do I live?"), "User: I moved to Bergen.");
}

#[test]
fn a_question_is_answered_from_a_memory_of_one_megabyte() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    let mut content = String::from("# Beehives\n\n");
    let mut number = 0;
    while content.len() < (1 << 20) - 200 {
        number += 1;
        writeln!(content, "- Hive {number:06} stands in the clearing. (((( ....").expect("writes");
    }
    content.push_str("\nThe queen of the smallest hive is called Ottilie.\n");
    assert_eq!(server.post("/v1/memories/facts/hives.md", &json!({"content": content})).status, 201);
    let answer = server.post("/v1/answer", &json!({"q": "What is the queen of the smallest hive called?"}));
    assert_eq!((answer.status, &answer.body["model"]), (200, &json!("extractive")), "{answer:?}");
    assert!(answer.body["answer"].as_str().is_some_and(|text| text.contains("Ottilie")), "{answer:?}");
    let citations = answer.body["citations"].as_array().expect("citations");
    assert!(!citations.is_empty(), "{answer:?}");
    for citation in citations {
        assert_eq!(citation["path"], "facts/hives.md");
        assert!(content.contains(citation["quote"].as_str().expect("a quote")), "{citation}");
    }
}

#[test]
fn a_chat_model_sees_where_a_memory_was_cut() {
    let provider = Provider::start();
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, &provider.chat_settings());
    let mut content = String::from("# Wind the tower clock\n\n");
    for number in 1..=200 {
        writeln!(content, "{number}. Turn the crank of the tower clock once more.").expect("writes");
    }
    assert_eq!(server.post("/v1/memories/skills/clock.md", &json!({"content": content})).status, 201);
    let answer = server.post("/v1/answer", &json!({"q": "How is the tower clock wound?"}));
    assert_eq!((answer.status, &answer.body["model"]), (200, &json!("imitation")), "{answer:?}");
    let shown = provider.shown().expect("a question was asked");
    let text = shown["memories"][0]["text"].as_str().expect("text");
    let (lines, mark) = text.rsplit_once('\n').expect("a separate line for the mark");
    assert!(content.starts_with(lines) && lines.ends_with("once more."), "{text}");
    let left_out = content.chars().count() - lines.chars().count();
    assert_eq!(mark, format!("… (cut here: {left_out} more characters)"));
}
