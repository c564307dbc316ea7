//! The example of `docs/context.md`: its messages make the memories, contexts and answers that the page shows.

use serde_json::{Value, json};

use crate::support::{Server, fresh};

const PAGE: &str = include_str!("../docs/context.md");
/// When the page asks.
const ASKED_AT: &str = "2026-04-12T09:00:00Z";

/// Returns the examples of the page: messages, memories, contexts, answers.
fn examples() -> [&'static str; 4] {
    let mut found = Vec::new();
    let mut rest = PAGE;
    while let Some((_, after)) = rest.split_once("```text\n") {
        let (example, next) = after.split_once("```").expect("an end");
        found.push(example);
        rest = next;
    }
    found.try_into().expect("four examples")
}

/// Stores the messages, each exchange by itself.
fn store(server: &Server, messages: &str) {
    let mut exchanges: Vec<(&str, Vec<Value>)> = Vec::new();
    let mut at = "";
    for line in messages.lines() {
        let Some((speaker, text)) = line.split_once(": ") else {
            at = line;
            continue;
        };
        let message = json!({"role": speaker.to_lowercase(), "content": text});
        match exchanges.last_mut() {
            Some((_, exchange)) if speaker == "Assistant" => exchange.push(message),
            _ => exchanges.push((at, vec![message])),
        }
    }
    assert_eq!(exchanges.len(), 12);
    for (at, exchange) in exchanges {
        let body = json!({"session_id": at, "occurred_at": at, "messages": exchange});
        let accepted = server.post("/v1/memories?wait=30", &body);
        assert_eq!(accepted.body["status"], "ingested", "{accepted:?}");
    }
}

/// Returns each question of an example with the lines below it.
fn questions(example: &str) -> Vec<(&str, String)> {
    let mut questions: Vec<(&str, String)> = Vec::new();
    for line in example.lines() {
        match line.strip_prefix("? ") {
            Some(question) => questions.push((question, String::new())),
            None => questions.last_mut().expect("a question first").1.push_str(&format!("{line}\n")),
        }
    }
    questions
}

/// Returns the lines of a text that are not empty.
fn lines(text: &str) -> String {
    text.lines().filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_example_of_the_page_on_contexts_is_true() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    let [messages, memories, contexts, answers] = examples();
    store(&server, messages);
    let mut made = String::new();
    for path in server.memory_paths("default") {
        let memory = server.get(&format!("/v1/memories/{path}")).body;
        made.push_str(&format!("{path}\n"));
        for line in lines(memory["content"].as_str().expect("content")).lines() {
            made.push_str(&format!("  {line}\n"));
        }
    }
    assert_eq!(made, memories);
    for (question, shown) in questions(contexts) {
        let context = server.post("/v1/context", &json!({"q": question, "as_of": ASKED_AT})).body;
        assert_eq!(lines(context["text"].as_str().expect("a text")), shown, "{question}");
    }
    for (question, shown) in questions(answers) {
        let answer = server.post("/v1/answer", &json!({"q": question, "as_of": ASKED_AT})).body;
        assert_eq!(lines(answer["answer"].as_str().unwrap_or_default()), shown, "{question}");
    }
}
