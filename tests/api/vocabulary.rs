//! The vocabulary: teaching, resolving, listing and forgetting terms.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::Api;

/// Opens the API with three terms.
fn with_terms() -> Api {
    let mut api = Api::open();
    api.send(
        r#"POST /v1/vocab
        {"terms": [{"term": "Kubernetes", "aliases": ["k8s", "the big cluster"], "definition": "What the shop runs on."},
                   {"term": "C++", "aliases": ["cpp"]}, {"term": "Résumé"}]}"#,
    );
    api.settle();
    api
}

#[test]
fn terms_are_taught_and_listed() {
    let mut api = with_terms();
    api.send(
        "GET /v1/vocab

        GET /v1/vocab?limit=1

        GET /v1/vocab?like=res",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn a_term_is_resolved_by_any_of_its_names() {
    let mut api = with_terms();
    api.send(
        "GET /v1/vocab?word=K8S

        GET /v1/vocab?word=c%2B%2B

        GET /v1/vocab?word=java",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn a_query_that_mentions_a_term_defines_it() {
    let mut api = with_terms();
    api.send(
        r##"POST /v1/memories/facts/rollout.md
        {"content": "# Rollout\n\nThe Kubernetes rollout failed on the second node."}

        GET /v1/retrieve?q=k8s+rollout

        GET /v1/retrieve?q=rollout"##,
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn a_term_is_rewritten_in_place() {
    let mut api = with_terms();
    api.send(
        r#"POST /v1/vocab
        {"terms": [{"term": "c++", "aliases": ["see plus plus"], "definition": "A language."}]}"#,
    );
    api.settle();
    api.send("GET /v1/vocab?word=cpp\n\nGET /v1/vocab?word=C%2B%2B");
    assert_snapshot!(api.transcript());
}

#[test]
fn forgotten_terms_are_no_longer_resolved() {
    let mut api = with_terms();
    api.send("DELETE /v1/vocab?term=never,Kubernetes");
    api.settle();
    api.send("GET /v1/vocab?word=k8s\n\nDELETE /v1/vocab\n\nDELETE /v1/vocab?term=,\n\nGET /v1/usage");
    assert_snapshot!(api.transcript());
}

#[test]
fn each_field_of_a_term_is_checked() {
    let mut api = Api::open();
    for term in [
        r#""a""#.to_owned(),
        r#"{}"#.to_owned(),
        r#"{"term": ""}"#.to_owned(),
        r#"{"term": "++"}"#.to_owned(),
        format!(r#"{{"term": "{}"}}"#, "x".repeat(121)),
        r#"{"term": "a", "aliases": "b"}"#.to_owned(),
        r#"{"term": "a", "aliases": ["!"]}"#.to_owned(),
        r#"{"term": "a", "definition": 1}"#.to_owned(),
        format!(r#"{{"term": "a", "definition": "{}"}}"#, "d".repeat(2001)),
    ] {
        api.send(&format!("POST /v1/vocab\n{{\"terms\": [{{\"term\": \"good\"}}, {term}]}}"));
    }
    assert_snapshot!(api.transcript());
    api.assert_nothing_counted();
}

#[test]
fn a_request_has_between_1_and_200_terms() {
    let mut api = Api::open();
    let terms = vec![r#"{"term": "x"}"#; 201].join(", ");
    for body in [
        "{}".to_owned(),
        r#"{"terms": []}"#.to_owned(),
        r#"{"terms": {}}"#.to_owned(),
        format!("{{\"terms\": [{terms}]}}"),
    ] {
        api.send(&format!("POST /v1/vocab\n{body}"));
    }
    api.send(&format!("DELETE /v1/vocab?term={}", vec!["x"; 201].join(",")));
    api.send("GET /v1/vocab?limit=0\n\nGET /v1/vocab?limit=many");
    assert_snapshot!(api.transcript());
    api.assert_nothing_counted();
}

/// Returns the name of the term that a word resolves to, or null.
fn resolved(api: &Api, word: &str) -> Value {
    let answer = api.get(&format!("/v1/vocab?word={word}"));
    let body = answer.json();
    assert!(answer.status == 200 && body["word"].is_string(), "{answer:?}");
    assert_eq!(body.get("term").is_some(), body["found"] == true, "{answer:?}");
    body["term"]["term"].clone()
}

/// Posts terms and waits until they are stored.
fn teach(api: &Api, terms: &Value) {
    let accepted = api.post("/v1/vocab", &json!({"terms": terms}));
    assert_eq!(accepted.status, 202, "{accepted:?}");
    api.settle();
}

#[test]
fn terms_with_one_slug_stay_separate() {
    let api = Api::open();
    teach(
        &api,
        &json!([{"term": "C", "definition": "one"}, {"term": "C++", "aliases": ["cpp"]}, {"term": "C#"},
                {"term": "東京", "aliases": ["Tokyo"]}, {"term": "Résumé"}, {"term": "Resume"}]),
    );
    for (word, expected) in [
        ("Resume", "Resume"),
        ("c", "C"),
        ("c%2B%2B", "C++"),
        ("C%23", "C#"),
        ("TOKYO", "東京"),
        ("R%C3%A9sum%C3%A9", "Résumé"),
        ("CPP", "C++"),
    ] {
        assert_eq!(resolved(&api, word), expected, "{word}");
    }
    let listed = api.get("/v1/vocab").json();
    assert!(listed["millis"].is_u64(), "{listed}");
    let terms = listed["terms"].as_array().expect("terms");
    assert_eq!(terms.len(), 6, "{listed}");
    for term in terms {
        let path = term["path"].as_str().expect("a path");
        assert!(path.starts_with("vocab/") && path.ends_with(".md"), "{path}");
    }
    assert_eq!(api.get("/v1/vocab?like=RES").list_length("terms"), 1);
    assert_eq!(api.get("/v1/vocab?limit=2").list_length("terms"), 2);
}

#[test]
fn a_rewritten_term_drops_the_aliases_that_are_left_out() {
    let api = Api::open();
    teach(&api, &json!([{"term": "C", "definition": "one"}, {"term": "C++"}]));
    teach(&api, &json!([{"term": "c", "definition": "two", "aliases": ["see"]}]));
    assert_eq!(resolved(&api, "see"), "c");
    assert_eq!(api.get("/v1/vocab").list_length("terms"), 2);
    assert_eq!(api.get("/v1/vocab?word=c").json()["term"]["definition"], "two");
    teach(&api, &json!([{"term": "c", "definition": "three"}]));
    assert_eq!(resolved(&api, "see"), Value::Null);
}

#[test]
fn a_request_takes_200_terms_of_120_and_2000_characters() {
    let api = Api::open();
    let mut terms = Vec::new();
    for number in 0..200 {
        let term = format!("Term {number:03} {}", "y".repeat(111));
        assert_eq!(term.len(), 120);
        terms.push(json!({"term": term, "definition": "z".repeat(2000)}));
    }
    teach(&api, &json!(terms));
    let more: Vec<Value> = (0..5).map(|number| json!({"term": format!("More {number}")})).collect();
    teach(&api, &json!(more));
    // The list has 200 terms by default.
    for (query, length) in [("", 200), ("?limit=1000", 205), ("?limit=5000", 205), ("?limit=3", 3)] {
        assert_eq!(api.get(&format!("/v1/vocab{query}")).list_length("terms"), length, "{query}");
    }
}
