//! Managed conversations: appending, branching, rewinding, editing.

use serde_json::{Value, json};

use crate::support::{Server, fresh, stdout, wait_for};

/// Makes a conversation and returns its address.
fn conversation(server: &Server, body: &Value) -> String {
    let made = server.post("/v1/conversations", body);
    assert_eq!((made.status, &made.body["branch"]), (201, &json!("main")), "{made:?}");
    format!("/v1/conversations/{}", made.body["id"].as_str().expect("an id"))
}

fn append(server: &Server, at: &str, texts: &[&str]) -> Vec<String> {
    let messages: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
    let answer = server.post(&format!("{at}/messages"), &json!({"messages": messages}));
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.body["ids"].as_array().expect("ids").iter().map(|id| id.as_str().expect("text").to_owned()).collect()
}

fn texts(server: &Server, at: &str) -> Vec<String> {
    let answer = server.get(at);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|m| m["content"].as_str().expect("text").to_owned())
        .collect()
}

#[test]
fn a_conversation_is_a_tree_of_messages_with_named_leaves() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let at = conversation(&server, &json!({"title": "Trip"}));
    let ids = append(&server, &at, &["one", "two", "three"]);
    append(&server, &at, &["four"]);
    assert_eq!(texts(&server, &at), ["one", "two", "three", "four"]);
    let messages = server.get(&at).body["messages"].clone();
    assert_eq!((&messages[0]["parent"], &messages[1]["parent"]), (&Value::Null, &json!(ids[0])));
    assert!(messages[0]["edited_at"].is_null() && messages[0]["created_at"].is_string());

    let rewound = server.post(&format!("{at}/rewind"), &json!({"to": ids[1]}));
    assert_eq!((rewound.status, &rewound.body["branch"]), (200, &json!("main")), "{rewound:?}");
    assert_eq!(texts(&server, &at), ["one", "two"]);
    append(&server, &at, &["other"]);
    assert_eq!(texts(&server, &at), ["one", "two", "other"]);
    assert_eq!(texts(&server, &format!("{at}?branch=rewound-1")), ["one", "two", "three", "four"], "nothing is lost");

    let edited = server.post(&format!("{at}/messages/{}/edit", ids[1]), &json!({"content": "zwei"}));
    assert_eq!((edited.status, &edited.body["branch"]), (201, &json!("edit-1")), "{edited:?}");
    assert_eq!(texts(&server, &at), ["one", "zwei"], "the new branch is the active one");
    assert_eq!(texts(&server, &format!("{at}?branch=main")), ["one", "two", "other"]);
    let in_place = server.call("PATCH", &format!("{at}/messages/{}", ids[0]), Some(&json!({"content": "eins"})));
    assert!(in_place.status == 200 && in_place.body["edited_at"].is_string(), "{in_place:?}");
    assert_eq!(texts(&server, &format!("{at}?branch=rewound-1")), ["eins", "two", "three", "four"]);

    let branches = server.get(&format!("{at}/branches")).body["branches"].clone();
    let shown: Vec<String> = branches
        .as_array()
        .expect("branches")
        .iter()
        .map(|b| format!("{} {} {}", b["name"].as_str().unwrap_or(""), b["messages"], b["active"]))
        .collect();
    assert_eq!(shown, ["main 3 false", "rewound-1 4 false", "edit-1 2 true"]);
    assert_eq!((&branches[1]["forked_from"], &branches[2]["forked_from"]), (&json!(ids[1]), &json!(ids[0])));

    let patched = server.call("PATCH", &at, Some(&json!({"title": "Journey", "branch": "main"})));
    assert_eq!((&patched.body["title"], &patched.body["branch"]), (&json!("Journey"), &json!("main")));
    for (method, path, body) in [
        ("POST", format!("{at}/rewind"), json!({"to": "nobody"})),
        ("PATCH", at.clone(), json!({"branch": "none"})),
        ("PATCH", format!("{at}/messages/none"), json!({"content": "x"})),
        ("POST", format!("{at}/messages"), json!({"branch": "none", "messages": [{"role": "user", "content": "x"}]})),
        ("GET", format!("{at}?branch=none"), Value::Null),
        ("GET", "/v1/conversations/none".to_owned(), Value::Null),
    ] {
        let answer = server.call(method, &path, Some(&body).filter(|body| !body.is_null()));
        assert_eq!((answer.status, answer.code()), (404, "not_found"), "{method} {path}");
    }
    for (path, body, code) in [
        ("messages", json!({"messages": []}), "no_messages"),
        ("messages", json!({"messages": [{"role": "x", "content": ""}]}), "invalid_body"),
        ("rewind", json!({}), "invalid_body"),
    ] {
        let answer = server.post(&format!("{at}/{path}"), &body);
        assert_eq!((answer.status, answer.code()), (400, code), "{body}");
    }
    assert_eq!(server.call("DELETE", &at, None).status, 200);
    assert_eq!(server.get(&at).status, 404);
}

#[test]
fn what_is_appended_is_remembered_and_stays_when_the_conversation_goes() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let at = conversation(&server, &json!({}));
    append(&server, &at, &["My violin teacher is called Ortrud"]);
    wait_for("the memory", || !server.retrieve("default", "q=violin+teacher").hits().is_empty());
    let hit = server.retrieve("default", "q=violin+teacher&detail=full").hits()[0].clone();
    assert_eq!(Some(hit["sources"][0]["session_id"].as_str().expect("a session")), at.rsplit('/').next());
    assert_eq!(server.call("DELETE", &at, None).body["deleted"], true);
    assert!(!server.retrieve("default", "q=violin+teacher").hits().is_empty());
}

#[test]
fn conversations_are_listed_newest_first_page_by_page_and_survive_a_kill() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    server.namespace("other");
    let made: Vec<String> = (0..5).map(|n| conversation(&server, &json!({"title": format!("t{n}")}))).collect();
    conversation(&server, &json!({"namespace": "other"}));
    append(&server, &made[2], &["kept through a kill"]);
    server.kill();
    let server = Server::start(&data);
    let page = |query: &str| {
        let answer = server.get(&format!("/v1/conversations?{query}"));
        answer.body["conversations"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|c| format!("/v1/conversations/{}", c["id"].as_str().unwrap_or("")))
            .collect::<Vec<_>>()
    };
    let newest: Vec<String> = made.iter().rev().cloned().collect();
    assert_eq!(page(""), newest);
    assert_eq!(page("limit=2"), newest[..2]);
    let last = newest[1].rsplit('/').next().expect("an id");
    assert_eq!(page(&format!("limit=2&before={last}")), newest[2..4]);
    assert_eq!(page("namespace=other").len(), 1);
    assert_eq!(texts(&server, &made[2]), ["kept through a kill"]);

    // A namespace that is deleted takes its conversations along.
    let session = stdout(&data, &["token"]);
    assert_eq!(server.call_as(&session, "DELETE", "/v1/namespaces/other", None).status, 200);
    server.namespace("other");
    assert!(page("namespace=other").is_empty());
}
