//! Kept conversations: reading, listing, deletion.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::Api;

#[test]
fn a_conversation_is_kept_as_sent() {
    let mut api = Api::open();
    api.send(
        r#"POST /v1/memories
        {"session_id": "trip", "tags": ["family"], "occurred_at": "2026-03-10", "timezone": "Europe/Paris",
         "messages": [{"role": "user", "name": "Ann", "content": "We hiked in the Tatra mountains."}]}"#,
    );
    api.settle();
    api.send("GET /v1/sources/[id-1]");
    assert_snapshot!(api.transcript());
}

#[test]
fn kept_conversations_are_listed_by_page_and_session() {
    let mut api = Api::open();
    for (session, number) in [("even", 0), ("odd", 1), ("even", 2)] {
        api.send(&format!(
            r#"POST /v1/memories
            {{"session_id": "{session}", "messages": [{{"role": "user", "content": "Tide table {number} hangs in the kitchen"}}]}}"#
        ));
    }
    api.settle();
    api.send(
        "GET /v1/sources

        GET /v1/sources?limit=1&before=[id-3]

        GET /v1/sources?session_id=even&limit=1

        GET /v1/sources?session_id=none

        GET /v1/sources?before=nothing

        GET /v1/sources?limit=0",
    );
    assert_snapshot!(api.transcript());
    let newest_first = listed_ids(&api, "");
    assert_eq!(listed_ids(&api, "limit=2"), newest_first[..2]);
    let even = [newest_first[0].clone(), newest_first[2].clone()];
    assert_eq!(listed_ids(&api, "session_id=even"), even);
    assert_eq!(listed_ids(&api, &format!("session_id=even&limit=1&before={}", even[0])), even[1..]);
}

/// Returns the ids of the sources that are listed for a query.
fn listed_ids(api: &Api, query: &str) -> Vec<String> {
    let mut ids = Vec::new();
    for source in api.get(&format!("/v1/sources?{query}")).json()["sources"].as_array().expect("a list") {
        ids.push(source["id"].as_str().expect("an id").to_owned());
    }
    ids
}

#[test]
fn kept_conversations_are_listed_by_namespace() {
    let api = Api::open();
    assert_eq!(api.post("/v1/namespaces", &json!({"name": "other"})).status, 201);
    let here = api.remember("default", &["The tide table hangs in the kitchen"]);
    let elsewhere = api.remember("other", &["The baker closes on Tuesdays"]);
    api.settle();
    assert_eq!(listed_ids(&api, ""), [here]);
    assert_eq!(listed_ids(&api, "namespace=other"), [elsewhere]);
}

/// Returns a conversation with every optional field.
fn trip() -> Value {
    json!({
        "session_id": "trip",
        "tags": ["family", "trip"],
        "occurred_at": "2026-03-10",
        "timezone": "Europe/Paris",
        "messages": [
            {"role": "user", "name": "Ann", "content": "Where did you spend the holidays?"},
            {"role": "assistant", "name": "Bo", "occurred_at": "2026-03-11T08:00:00Z", "content": [
                {"type": "text", "text": "We hiked in the Tatra mountains last week."}, {"type": "media", "id": "m1"},
            ]},
        ]
    })
}

/// Opens the API with the conversation [`trip`], and returns the id of its write.
fn with_trip() -> (Api, String) {
    let api = Api::open_with_scoped_key();
    let accepted = api.post("/v1/memories", &trip());
    assert_eq!(accepted.status, 202, "{accepted:?}");
    api.settle();
    let id = accepted.json()["id"].as_str().expect("an id").to_owned();
    (api, id)
}

#[test]
fn every_field_of_a_conversation_is_kept() {
    let (api, id) = with_trip();
    let source = api.get(&format!("/v1/sources/{id}")).json();
    for field in ["session_id", "tags", "occurred_at", "timezone", "messages"] {
        assert_eq!(source[field], trip()[field], "{field}");
    }
    assert!(source["accepted_at"].is_string(), "{source}");
    assert_eq!(source["memories"].as_array().map(Vec::len), Some(1), "{source}");
    let extracted = &source["extracted"][0];
    let expected = (&source["memories"][0], &json!([0, 1]), &json!(true));
    assert_eq!((&extracted["path"], &extracted["messages"], &extracted["current"]), expected, "{source}");
    assert!(extracted["title"].as_str().is_some_and(|title| !title.is_empty()), "{source}");
    let memory = api.get(&format!("/v1/memories/{}", source["memories"][0].as_str().expect("a path")));
    assert!(memory.json()["content"].as_str().expect("content").contains("Tatra"), "{memory:?}");
}

#[test]
fn a_hit_names_the_conversation_it_was_made_from() {
    let (api, id) = with_trip();
    let hit = api.get("/v1/retrieve?q=Tatra+mountains&detail=full").hits()[0].clone();
    let source = &hit["sources"][1];
    assert_eq!((&source["write"], &source["message"]), (&json!(id), &json!(1)), "{hit}");
    let said = api.get(&format!("/v1/sources/{id}")).json();
    assert_eq!(said["messages"][1]["content"][0]["text"], "We hiked in the Tatra mountains last week.");
}

#[test]
fn deleting_a_managed_conversation_deletes_its_sources() {
    let (api, other) = with_trip();
    let made = api.post("/v1/conversations", &json!({"title": "Roof"})).json();
    let at = format!("/v1/conversations/{}", made["id"].as_str().expect("an id"));
    let body = json!({"messages": [{"role": "user", "content": "The skylight leaks"}]});
    assert_eq!(api.post(&format!("{at}/messages"), &body).status, 201);
    api.settle();
    assert_eq!(listed_ids(&api, "").len(), 2);
    assert_eq!(api.answer(&format!("DELETE {at}")).status, 200);
    assert_eq!(listed_ids(&api, ""), [other]);
    assert!(api.get("/v1/retrieve?q=skylight").contents()[0].contains("leaks"));
}

#[test]
fn deleting_a_kept_conversation_leaves_its_memories() {
    let mut api = Api::open();
    api.send(
        r#"POST /v1/memories
        {"messages": [{"role": "user", "content": "The baker closes on Tuesdays"}]}"#,
    );
    api.settle();
    api.send(
        "DELETE /v1/sources/[id-1]

        GET /v1/sources/[id-1]

        DELETE /v1/sources/[id-1]

        DELETE /v1/sources/nothing",
    );
    api.send_for_paths("GET /v1/retrieve?q=baker");
    assert_snapshot!(api.transcript());
}

#[test]
fn kept_conversations_are_hidden_from_other_callers() {
    let mut api = Api::open_with_scoped_key();
    api.send(
        r#"POST /v1/memories
        {"messages": [{"role": "user", "content": "The baker closes on Tuesdays"}]}"#,
    );
    api.settle();
    api.send(
        "scoped GET /v1/sources

        scoped GET /v1/sources/[id-1]

        stranger GET /v1/sources/[id-1]

        stranger DELETE /v1/sources/[id-1]",
    );
    assert_snapshot!(api.transcript());
    assert_eq!(api.answer("stranger GET /v1/sources").json()["sources"], json!([]));
    let at = "/v1/sources/[id-1]";
    api.assert_refused(&format!("scoped DELETE {at}"), 404, "not_found");
    api.assert_refused(&format!("scoped GET {at}?namespace=default"), 403, "forbidden_namespace");
    api.assert_refused(&format!("scoped DELETE {at}?namespace=default"), 400, "invalid_namespace");
    assert_eq!(api.get(at).status, 200, "it is still there");
}
