//! Namespaces: creation, listing in pages, deletion.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::Api;

#[test]
fn a_namespace_is_created_once() {
    let mut api = Api::open();
    api.send(
        r#"POST /v1/namespaces
        {"name": "work"}

        POST /v1/namespaces
        {"name": "work"}

        GET /v1/namespaces"#,
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn invalid_names_of_namespaces_are_rejected() {
    let mut api = Api::open();
    api.send(
        r#"POST /v1/namespaces
        {"name": "a_b"}

        POST /v1/namespaces
        {"name": ""}

        POST /v1/namespaces
        {"name": 1}

        POST /v1/namespaces
        {}

        GET /v1/tree?namespace=A

        GET /v1/skills?namespace=

        GET /v1/retrieve?q=x&namespace=A

        POST /v1/memories
        {"namespace": 1, "messages": [{"role": "user", "content": "x"}]}"#,
    );
    api.send(&format!("POST /v1/namespaces\n{{\"name\": \"{}\"}}", "x".repeat(65)));
    assert_snapshot!(api.transcript());
    api.assert_refused("POST /v1/namespaces\n{\"name\": \"A\"}", 400, "invalid_namespace");
    api.assert_refused("GET /v1/vocab?namespace=A", 400, "invalid_namespace");
    for name in ["No", "No!", "", "../etc"] {
        let body = json!({"messages": [{"role": "user", "content": "x"}], "namespace": name});
        api.assert_refused(&format!("POST /v1/memories\n{body}"), 400, "invalid_namespace");
    }
    api.assert_nothing_counted();
}

#[test]
fn names_of_namespaces_have_1_to_64_characters() {
    let api = Api::open();
    for name in ["a".to_owned(), "x".repeat(64)] {
        assert_eq!(api.post("/v1/namespaces", &json!({"name": name})).status, 201, "{name}");
    }
}

#[test]
fn unknown_namespaces_are_not_found() {
    let mut api = Api::open();
    api.send(
        r#"GET /v1/retrieve?q=x&namespace=none

        GET /v1/memories/facts/a.md?namespace=none

        POST /v1/memories
        {"namespace": "none", "messages": [{"role": "user", "content": "x"}]}

        POST /v1/memories/facts/a.md?namespace=none
        {"content": "x"}

        DELETE /v1/memories/facts/a.md?namespace=none

        GET /v1/topics?namespace=none

        GET /v1/graph?namespace=none

        POST /v1/answer
        {"namespace": "none", "q": "x"}

        GET /v1/vocab?namespace=none

        DELETE /v1/vocab?namespace=none&term=x

        GET /v1/conversations?namespace=none

        GET /v1/sources?namespace=none

        session DELETE /v1/namespaces/none"#,
    );
    assert_snapshot!(api.transcript());
    for request in [
        r#"POST /v1/vocab
{"terms": [{"term": "x"}], "namespace": "none"}"#,
        "GET /v1/skills?namespace=none",
        r#"POST /v1/skills
{"skills": [{"name": "a", "content": "b"}], "namespace": "none"}"#,
        r#"POST /v1/memories/facts/a.md
{"content": "x", "namespace": "none"}"#,
    ] {
        api.assert_refused(request, 404, "namespace_not_found");
    }
    api.assert_nothing_counted();
}

/// Returns the names in a list of namespaces.
fn listed_names(api: &Api, query: &str) -> Vec<String> {
    let body = api.answer(&format!("GET /v1/namespaces{query}")).json();
    let mut names = Vec::new();
    for namespace in body["namespaces"].as_array().expect("a list") {
        names.push(namespace["name"].as_str().expect("a name").to_owned());
    }
    names
}

#[test]
fn namespaces_are_listed_in_pages_of_200() {
    let api = Api::open();
    for number in 0..203 {
        let created = api.answer(&format!("POST /v1/namespaces\n{{\"name\": \"n{number:03}\"}}"));
        assert_eq!(created.status, 201);
    }
    let first = listed_names(&api, "");
    assert_eq!((first.len(), first[0].as_str(), first[199].as_str()), (200, "default", "n198"));
    assert_eq!(listed_names(&api, "?after=n198"), ["n199", "n200", "n201", "n202"]);
}

#[test]
fn a_namespace_is_deleted_with_its_memories() {
    let mut api = Api::open();
    api.send(
        r##"POST /v1/namespaces
        {"name": "work"}

        POST /v1/memories/facts/a.md
        {"namespace": "work", "content": "# Anchor\n\nThe anchor is green."}

        session DELETE /v1/namespaces/work

        GET /v1/memories/facts/a.md?namespace=work

        POST /v1/namespaces
        {"name": "work"}

        GET /v1/memories/facts/a.md?namespace=work"##,
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn accounts_do_not_see_each_others_namespaces() {
    let mut api = Api::open();
    api.send(
        r#"POST /v1/namespaces
        {"name": "work"}

        stranger GET /v1/namespaces

        stranger GET /v1/tree?namespace=work"#,
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn namespaces_are_listed_by_name() {
    let api = Api::open();
    for name in ["zebra", "apple"] {
        assert_eq!(api.post("/v1/namespaces", &json!({"name": name})).status, 201);
    }
    assert_eq!(listed_names(&api, ""), ["apple", "default", "zebra"]);
    assert_eq!(listed_names(&api, "?after=apple"), ["default", "zebra"]);
}

#[test]
fn a_query_finds_memories_of_its_own_namespace_only() {
    let api = Api::open();
    for name in ["red", "blue"] {
        assert_eq!(api.post("/v1/namespaces", &json!({"name": name})).status, 201);
    }
    api.remember("red", &["The crimson vault opens with the word marmalade"]);
    api.settle();
    assert!(!api.get("/v1/retrieve?namespace=red&q=marmalade+vault").hits().is_empty());
    assert!(api.get("/v1/retrieve?namespace=blue&q=marmalade+vault").json().get("hits").is_none());
    api.assert_refused("stranger GET /v1/retrieve?q=marmalade&namespace=red", 404, "namespace_not_found");
}

#[test]
fn a_recreated_namespace_accepts_the_same_body_again() {
    let api = Api::open();
    for _ in 0..2 {
        assert_eq!(api.post("/v1/namespaces", &json!({"name": "again"})).status, 201);
        api.remember("again", &["The lantern festival starts at dusk"]);
        api.settle();
        assert!(api.get("/v1/retrieve?namespace=again&q=lantern+festival").contents()[0].contains("dusk"));
        let deleted = api.answer("session DELETE /v1/namespaces/again");
        assert_eq!(deleted.status, 200, "{deleted:?}");
    }
}

#[test]
fn a_deleted_namespace_takes_its_conversations_with_it() {
    let api = Api::open();
    assert_eq!(api.post("/v1/namespaces", &json!({"name": "other"})).status, 201);
    for body in [json!({"title": "kept"}), json!({"namespace": "other"})] {
        assert_eq!(api.post("/v1/conversations", &body).status, 201);
    }
    let listed =
        |query: &str| -> Value { api.get(&format!("/v1/conversations{query}")).json()["conversations"].clone() };
    assert_eq!(listed("?namespace=other").as_array().map(Vec::len), Some(1));
    assert_eq!(api.answer("session DELETE /v1/namespaces/other").status, 200);
    assert_eq!(api.post("/v1/namespaces", &json!({"name": "other"})).status, 201);
    assert_eq!(listed("?namespace=other"), json!([]));
    assert_eq!(listed("").as_array().map(Vec::len), Some(1));
}
