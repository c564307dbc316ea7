//! Queries that are sent in a body, up to 64 KiB.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::support::{Server, fresh};

fn server_with_a_boiler() -> (tempfile::TempDir, Server) {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    server
        .remember("default", &["The boiler in the cellar was serviced by Ostrom.", "The tram to the harbour is late."]);
    server.settle("default");
    (folder, server)
}

/// Returns a stack trace of about 60 KiB with a question in it.
fn prompt() -> String {
    let mut prompt = String::from("Here is the log of last night.\n");
    while prompt.len() < 60_000 {
        writeln!(prompt, "    at org.example.Worker.run(Worker.java:{})", prompt.len()).expect("writes");
    }
    let middle = prompt[..30_000].rfind('\n').expect("a line");
    prompt.insert_str(middle + 1, "By the way, any idea what I told you about the boiler?\n");
    prompt
}

#[test]
fn the_asking_part_of_a_long_prompt_is_searched_for() {
    let (_folder, server) = server_with_a_boiler();
    let found = server.post("/v1/retrieve", &json!({"q": prompt(), "limit": 3})).body;
    assert!(found["hits"][0]["content"].as_str().expect("a hit").contains("Ostrom"), "{found}");
    let context = server.post("/v1/context", &json!({"q": prompt(), "marks": "off", "max_tokens": 100})).body;
    assert!(context["text"].as_str().expect("a text").contains("Ostrom"), "{context}");
}

#[test]
fn a_body_means_what_the_same_query_string_means() {
    let (_folder, server) = server_with_a_boiler();
    let without_times = |mut body: Value| {
        for name in ["vector_ms", "lexical_ms", "graph_ms"] {
            body.as_object_mut().expect("an object").remove(name);
        }
        body
    };
    for (query, body) in [
        ("q=boiler&tiers=facts,incidents&limit=1", json!({"q": "boiler", "tiers": ["facts", "incidents"], "limit": 1})),
        ("q=boiler&min_score=0.99", json!({"q": "boiler", "min_score": 0.99})),
        ("tiers=facts&namespace=default", json!({"tiers": "facts", "namespace": ["default"], "q": null})),
        ("q=boiler&tags=none", json!({"q": "boiler", "tags": ["none"]})),
    ] {
        let got = server.get(&format!("/v1/retrieve?{query}")).body;
        let sent = server.post("/v1/retrieve", &body).body;
        assert_eq!(without_times(sent), without_times(got), "{query}");
    }
    let got = server.get("/v1/context?q=boiler&standing=off&precision=recall").body;
    let sent = server.post("/v1/context", &json!({"q": "boiler", "standing": "off", "precision": "recall"})).body;
    assert_eq!(sent, got);
}

#[test]
fn a_bad_body_gets_an_error_that_names_the_field() {
    let (_folder, server) = server_with_a_boiler();
    for (body, code) in [
        (json!({}), "missing_query"),
        (json!({"q": {}}), "invalid_body"),
        (json!([]), "invalid_body"),
        (json!({"q": "x", "limit": 0}), "invalid_limit"),
        (json!({"q": "x", "namespace": "none"}), "namespace_not_found"),
        (json!({"q": "x", "user_id": "a"}), "invalid_body"),
    ] {
        let retrieved = server.post("/v1/retrieve", &body);
        assert_eq!(retrieved.body["error"], code, "{body}: {retrieved:?}");
        let context = server.post("/v1/context", &body);
        assert_eq!(context.body["error"]["code"], code, "{body}: {context:?}");
    }
    let answer = server.post("/v1/context", &json!({"q": "boiler", "lmit": 3}));
    assert!(answer.body["warnings"][0].as_str().expect("a warning").contains("limit"), "{answer:?}");
    let long = "x".repeat(2 << 20);
    assert_eq!(server.post("/v1/retrieve", &json!({"q": long})).status, 413);
}
