//! Managed conversations: messages, branches, rewinds, edits, listings, deletion.

use insta::assert_snapshot;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::support::Api;

/// Opens the API with a conversation `[id-1]` of three messages, `[id-2]` to `[id-4]`.
fn with_trip() -> Api {
    let mut api = Api::open();
    api.send(
        r#"POST /v1/conversations
        {"title": "Trip"}

        POST /v1/conversations/[id-1]/messages
        {"messages": [{"role": "user", "content": "one"}, {"role": "assistant", "name": "Bo", "content": "two"}, {"role": "user", "content": "three"}]}"#,
    );
    api
}

#[test]
fn appended_messages_follow_each_other() {
    let mut api = with_trip();
    api.advance(SignedDuration::from_mins(5));
    api.send(
        r#"POST /v1/conversations/[id-1]/messages
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "four"}, {"type": "media", "id": "m1"}]}]}

        GET /v1/conversations/[id-1]"#,
    );
    api.settle();
    api.send("GET /v1/usage");
    assert_snapshot!(api.transcript());
}

#[test]
fn appended_messages_become_memories_of_the_session() {
    let mut api = Api::open();
    api.send(
        r#"POST /v1/conversations
        {}

        POST /v1/conversations/[id-1]/messages
        {"messages": [{"role": "user", "content": "The lighthouse keeper is called Agatha"}], "tags": ["harbour"]}"#,
    );
    api.settle();
    api.send("GET /v1/retrieve?q=lighthouse+keeper\n\nGET /v1/sources?session_id=[id-1]");
    assert_snapshot!(api.transcript());
    let conversation = api.get("/v1/conversations/[id-1]").json()["id"].clone();
    let hit = api.get("/v1/retrieve?q=lighthouse+keeper&detail=full").hits()[0].clone();
    assert_eq!(hit["sources"][0]["session_id"], conversation);
    assert_eq!(api.answer("DELETE /v1/conversations/[id-1]").json()["deleted"], true);
    assert!(!api.get("/v1/retrieve?q=lighthouse+keeper").hits().is_empty(), "the memory stays");
}

#[test]
fn a_rewind_keeps_the_later_messages_on_a_new_branch() {
    let mut api = with_trip();
    api.send(
        r#"POST /v1/conversations/[id-1]/rewind
        {"to": "[id-3]"}

        POST /v1/conversations/[id-1]/messages
        {"messages": [{"role": "user", "content": "other"}]}

        GET /v1/conversations/[id-1]

        GET /v1/conversations/[id-1]?branch=rewound-1

        GET /v1/conversations/[id-1]/branches"#,
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn an_edit_creates_a_branch_and_makes_it_active() {
    let mut api = with_trip();
    api.send(
        r#"POST /v1/conversations/[id-1]/messages/[id-3]/edit
        {"content": "zwei"}

        GET /v1/conversations/[id-1]

        GET /v1/conversations/[id-1]?branch=main

        GET /v1/conversations/[id-1]/branches"#,
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn branches_are_listed_with_their_length_and_origin() {
    let api = with_trip();
    let messages = api.get("/v1/conversations/[id-1]").json()["messages"].clone();
    for request in [
        "POST /v1/conversations/[id-1]/rewind\n{\"to\": \"[id-3]\"}",
        r#"POST /v1/conversations/[id-1]/messages
{"messages": [{"role": "user", "content": "other"}]}"#,
        "POST /v1/conversations/[id-1]/messages/[id-3]/edit\n{\"content\": \"zwei\"}",
    ] {
        let answer = api.answer(request);
        assert!(matches!(answer.status, 200 | 201), "{request}: {answer:?}");
    }
    let branches = api.get("/v1/conversations/[id-1]/branches").json()["branches"].clone();
    let mut listed = Vec::new();
    for branch in branches.as_array().expect("branches") {
        listed.push((branch["name"].clone(), branch["messages"].clone(), branch["active"].clone()));
    }
    let expected = [
        (json!("main"), json!(3), json!(false)),
        (json!("rewound-1"), json!(3), json!(false)),
        (json!("edit-1"), json!(2), json!(true)),
    ];
    assert_eq!(listed, expected);
    assert_eq!(branches[0]["forked_from"], Value::Null);
    assert_eq!((&branches[1]["forked_from"], &branches[2]["forked_from"]), (&messages[1]["id"], &messages[0]["id"]));
}

#[test]
fn an_edit_in_place_changes_the_message_on_every_branch() {
    let mut api = with_trip();
    api.send("POST /v1/conversations/[id-1]/rewind\n{\"to\": \"[id-2]\"}");
    api.advance(SignedDuration::from_mins(1));
    api.send(
        r#"PATCH /v1/conversations/[id-1]/messages/[id-2]
        {"content": "eins"}

        GET /v1/conversations/[id-1]

        GET /v1/conversations/[id-1]?branch=rewound-1"#,
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn title_and_active_branch_can_be_changed() {
    let mut api = with_trip();
    api.send("POST /v1/conversations/[id-1]/rewind\n{\"to\": \"[id-2]\"}");
    api.advance(SignedDuration::from_mins(1));
    api.send(
        r#"PATCH /v1/conversations/[id-1]
        {"title": "Journey", "branch": "rewound-1"}

        PATCH /v1/conversations/[id-1]
        {"branch": "none"}"#,
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn conversations_are_listed_in_pages_newest_first() {
    let mut api = Api::open();
    for title in ["a", "b", "c"] {
        api.send(&format!("POST /v1/conversations\n{{\"title\": \"{title}\"}}"));
        api.advance(SignedDuration::from_mins(1));
    }
    api.send(
        "GET /v1/conversations?limit=2

        GET /v1/conversations?limit=2&before=[id-2]

        GET /v1/conversations?limit=0

        GET /v1/conversations?before=nothing",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn a_deleted_conversation_and_its_sources_are_gone() {
    let mut api = with_trip();
    api.settle();
    api.send(
        "DELETE /v1/conversations/[id-1]

        GET /v1/conversations/[id-1]

        GET /v1/conversations

        GET /v1/sources?session_id=[id-1]",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn each_field_of_a_conversations_routes_is_checked() {
    let mut api = with_trip();
    for (request, body) in [
        ("POST /v1/conversations", r#"{"title": 1}"#),
        ("POST /v1/conversations", r#"{"title": "a\nb"}"#),
        ("POST /v1/conversations", r#"{"namespace": "NO"}"#),
        ("PATCH /v1/conversations/[id-1]", r#"{"title": 1}"#),
        ("PATCH /v1/conversations/[id-1]", r#"{"branch": 1}"#),
        ("POST /v1/conversations/[id-1]/messages", r#"{"messages": []}"#),
        ("POST /v1/conversations/[id-1]/messages", r#"{"messages": [{"role": "robot", "content": "x"}]}"#),
        (
            "POST /v1/conversations/[id-1]/messages",
            r#"{"messages": [{"role": "user", "content": "x"}], "branch": "none"}"#,
        ),
        (
            "POST /v1/conversations/[id-1]/messages",
            r#"{"messages": [{"role": "user", "content": "x"}], "tags": ["a!"]}"#,
        ),
        ("POST /v1/conversations/[id-1]/rewind", r#"{}"#),
        ("POST /v1/conversations/[id-1]/rewind", r#"{"to": 1}"#),
        ("POST /v1/conversations/[id-1]/rewind", r#"{"to": "[id-1]"}"#),
        ("PATCH /v1/conversations/[id-1]/messages/[id-2]", r#"{"content": 1}"#),
        ("POST /v1/conversations/[id-1]/messages/[id-2]/edit", r#"{}"#),
        ("POST /v1/conversations/[id-1]/messages/[id-2]/edit", r#"{"content": [{}]}"#),
    ] {
        api.send(&format!("{request}\n{body}"));
    }
    assert_snapshot!(api.transcript());
}

#[test]
fn unknown_conversations_messages_and_branches_are_not_found() {
    let mut api = with_trip();
    api.send(
        r#"GET /v1/conversations/nothing

        GET /v1/conversations/[id-1]?branch=none

        GET /v1/conversations/[id-2]/branches

        PATCH /v1/conversations/[id-2]
        {"title": "x"}

        PATCH /v1/conversations/[id-1]/messages/[id-1]
        {"content": "x"}

        POST /v1/conversations/[id-1]/messages/nothing/edit
        {"content": "x"}

        DELETE /v1/conversations/[id-2]

        stranger GET /v1/conversations/[id-1]"#,
    );
    assert_snapshot!(api.transcript());
    for request in [
        "POST /v1/conversations/[id-1]/rewind\n{\"to\": \"nobody\"}",
        "PATCH /v1/conversations/[id-1]/messages/none\n{\"content\": \"x\"}",
    ] {
        api.assert_refused(request, 404, "not_found");
    }
}
