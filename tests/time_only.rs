//! Queries that name only a time: a listing of that time, earliest first.

use serde_json::json;

use crate::support::{Server, fresh};

/// What was said on which day of May 2026, not in the order of the days. 9 May is a Saturday.
const SAID: [(&str, &str, &str); 5] = [
    ("Mara", "2026-05-11T19:00:00Z", "Saturday was the regatta, and we came third."),
    ("Mara", "2026-05-05T08:00:00Z", "The new stove arrived."),
    ("Jonas", "2026-05-09T20:00:00Z", "I slept all day."),
    ("Mara", "2026-05-10T20:00:00Z", "The roof of the shed leaks."),
    ("Jonas", "2026-04-03T08:00:00Z", "The cat is back."),
];

fn server_with_memories() -> (tempfile::TempDir, Server) {
    let (folder, data) = fresh();
    let server = remember_all(Server::start(&data));
    (folder, server)
}

fn remember_all(server: Server) -> Server {
    for (name, at, text) in SAID {
        let body = json!({"messages": [{"role": "user", "name": name, "content": text}], "occurred_at": at});
        let written = server.post("/v1/memories?wait=30", &body);
        assert_eq!(written.body["status"], "ingested", "{written:?}");
    }
    server
}

/// Returns what was said in the memories that a query finds on 13 May 2026, with their scores.
fn found(server: &Server, query: &str) -> Vec<(String, f64)> {
    let answer = server.get(&format!("/v1/retrieve?as_of=2026-05-13T12:00:00Z&q={query}"));
    let mut found = Vec::new();
    for hit in answer.hits() {
        let content = hit["content"].as_str().expect("content").trim();
        let said = content.split_once(": ").map_or(content, |(_, said)| said).to_owned();
        found.push((said, hit["score"].as_f64().expect("a score")));
    }
    found
}

fn listed(indexes: &[usize]) -> Vec<(String, f64)> {
    indexes.iter().map(|index| (SAID[*index].2.to_owned(), 1.0)).collect()
}

#[test]
fn what_happened_in_a_time_is_listed_from_its_beginning() {
    let (_folder, server) = server_with_memories();
    assert_eq!(found(&server, "What+happened+in+May+2026%3F"), listed(&[1, 2, 3, 0]));
    assert_eq!(found(&server, "Was+ist+im+April+passiert%3F"), listed(&[4]));
}

#[test]
fn relative_times_are_those_of_as_of_and_what_was_told_soon_after_counts() {
    let (_folder, server) = server_with_memories();
    assert_eq!(found(&server, "What+happened+last+weekend%3F"), listed(&[2, 3, 0]));
    assert_eq!(found(&server, "What+did+we+do+on+9+May%3F"), listed(&[2, 0]));
    assert_eq!(found(&server, "What+did+we+do+on+10+May%3F"), listed(&[3]));
}

#[test]
fn a_speaker_may_be_named() {
    let (_folder, server) = server_with_memories();
    assert_eq!(found(&server, "What+did+Mara+do+last+weekend%3F"), listed(&[3, 0]));
}

#[test]
fn a_filter_still_counts() {
    let (_folder, server) = server_with_memories();
    assert_eq!(found(&server, "What+happened+in+May+2026%3F&paths=facts/jonas"), listed(&[2]));
}

#[test]
fn a_context_has_the_listing_too() {
    let (_folder, server) = server_with_memories();
    let query = "as_of=2026-05-13T12:00:00Z&marks=off&q=What+happened+last+weekend%3F";
    let context = server.get(&format!("/v1/context?{query}")).body;
    let expected = "- 9 May 2026 Jonas: I slept all day.\n- 10 May 2026 Mara: The roof of the shed leaks.\n\
        - 11 May 2026 Mara: Saturday was the regatta, and we came third.";
    assert_eq!(context["text"], expected, "{context}");
}

#[test]
fn an_answer_without_a_model_quotes_the_listing() {
    let (_folder, data) = fresh();
    let server = remember_all(Server::start_with_models(&data, ""));
    let answer = server.post("/v1/answer", &json!({"q": "What happened on 5 May?", "as_of": "2026-05-13T12:00:00Z"}));
    assert!(answer.body["answer"].as_str().expect("an answer").contains("stove"), "{answer:?}");
}
