//! Managed conversations: messages, branches, rewinds, edits, listings, and the memories that are extracted from them.

use serde_json::{Value, json};

use crate::support::{Server, fresh, stdout, wait_for};

/// Creates a conversation and returns its route.
fn create(server: &Server, body: &Value) -> String {
    let created = server.post("/v1/conversations", body);
    assert_eq!((created.status, &created.body["branch"]), (201, &json!("main")), "{created:?}");
    format!("/v1/conversations/{}", created.body["id"].as_str().expect("an id"))
}

/// Appends messages to the active branch and returns their ids.
fn append(server: &Server, route: &str, texts: &[&str]) -> Vec<String> {
    let messages: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
    let answer = server.post(&format!("{route}/messages"), &json!({"messages": messages}));
    assert_eq!(answer.status, 201, "{answer:?}");
    let ids = answer.body["ids"].as_array().expect("ids");
    ids.iter().map(|id| id.as_str().expect("text").to_owned()).collect()
}

/// Returns the texts of the messages of a branch.
fn texts(server: &Server, route: &str) -> Vec<String> {
    let answer = server.get(route);
    assert_eq!(answer.status, 200, "{answer:?}");
    let messages = answer.body["messages"].as_array().expect("messages");
    messages.iter().map(|message| message["content"].as_str().expect("text").to_owned()).collect()
}

/// A server with a conversation titled "Trip", whose messages are "one", "two", "three" and "four".
struct Trip {
    server: Server,
    route: String,
    /// Ids of the first three messages.
    ids: Vec<String>,
    /// Removed when this is dropped.
    _folder: tempfile::TempDir,
}

impl Trip {
    fn new() -> Self {
        let (folder, data) = fresh();
        let server = Server::start(&data);
        let route = create(&server, &json!({"title": "Trip"}));
        let ids = append(&server, &route, &["one", "two", "three"]);
        append(&server, &route, &["four"]);
        Self { server, route, ids, _folder: folder }
    }

    /// Returns the texts of the active branch.
    fn texts(&self) -> Vec<String> {
        texts(&self.server, &self.route)
    }

    fn texts_of(&self, branch: &str) -> Vec<String> {
        texts(&self.server, &format!("{}?branch={branch}", self.route))
    }

    /// Rewinds to the message "two".
    fn rewind(&self) {
        let rewound = self.server.post(&format!("{}/rewind", self.route), &json!({"to": self.ids[1]}));
        assert_eq!((rewound.status, &rewound.body["branch"]), (200, &json!("main")), "{rewound:?}");
    }

    /// Edits the message "two" on a new branch.
    fn edit(&self) {
        let route = format!("{}/messages/{}/edit", self.route, self.ids[1]);
        let edited = self.server.post(&route, &json!({"content": "zwei"}));
        assert_eq!((edited.status, &edited.body["branch"]), (201, &json!("edit-1")), "{edited:?}");
    }

    /// Rewinds, appends "other" and edits, so that there are three branches.
    fn branch(&self) {
        self.rewind();
        append(&self.server, &self.route, &["other"]);
        self.edit();
    }
}

#[test]
fn appended_messages_follow_each_other() {
    let trip = Trip::new();
    assert_eq!(trip.texts(), ["one", "two", "three", "four"]);
    let messages = trip.server.get(&trip.route).body["messages"].clone();
    assert_eq!((&messages[0]["parent"], &messages[1]["parent"]), (&Value::Null, &json!(trip.ids[0])));
    assert!(messages[0]["edited_at"].is_null() && messages[0]["created_at"].is_string());
}

#[test]
fn a_rewind_keeps_the_later_messages_on_a_new_branch() {
    let trip = Trip::new();
    trip.rewind();
    assert_eq!(trip.texts(), ["one", "two"]);
    append(&trip.server, &trip.route, &["other"]);
    assert_eq!(trip.texts(), ["one", "two", "other"]);
    assert_eq!(trip.texts_of("rewound-1"), ["one", "two", "three", "four"]);
}

#[test]
fn an_edit_creates_a_branch_and_makes_it_active() {
    let trip = Trip::new();
    trip.branch();
    assert_eq!(trip.texts(), ["one", "zwei"]);
    assert_eq!(trip.texts_of("main"), ["one", "two", "other"]);
}

#[test]
fn an_edit_in_place_changes_the_message_on_every_branch() {
    let trip = Trip::new();
    trip.branch();
    let route = format!("{}/messages/{}", trip.route, trip.ids[0]);
    let edited = trip.server.call("PATCH", &route, Some(&json!({"content": "eins"})));
    assert!(edited.status == 200 && edited.body["edited_at"].is_string(), "{edited:?}");
    assert_eq!(trip.texts_of("rewound-1"), ["eins", "two", "three", "four"]);
}

#[test]
fn branches_are_listed_with_their_length_and_origin() {
    let trip = Trip::new();
    trip.branch();
    let branches = trip.server.get(&format!("{}/branches", trip.route)).body["branches"].clone();
    let mut listed = Vec::new();
    for branch in branches.as_array().expect("branches") {
        let name = branch["name"].as_str().unwrap_or("");
        listed.push(format!("{name} {} {}", branch["messages"], branch["active"]));
    }
    assert_eq!(listed, ["main 3 false", "rewound-1 4 false", "edit-1 2 true"]);
    assert_eq!((&branches[1]["forked_from"], &branches[2]["forked_from"]), (&json!(trip.ids[1]), &json!(trip.ids[0])));
}

#[test]
fn the_title_and_the_active_branch_can_be_changed() {
    let trip = Trip::new();
    trip.branch();
    let patched = trip.server.call("PATCH", &trip.route, Some(&json!({"title": "Journey", "branch": "main"})));
    assert_eq!((&patched.body["title"], &patched.body["branch"]), (&json!("Journey"), &json!("main")));
}

#[test]
fn unknown_conversations_branches_and_messages_are_not_found() {
    struct Row {
        method: &'static str,
        path: String,
        /// Null for no body.
        body: Value,
    }
    let trip = Trip::new();
    let route = &trip.route;
    let one = json!([{"role": "user", "content": "x"}]);
    let rows = [
        Row { method: "POST", path: format!("{route}/rewind"), body: json!({"to": "nobody"}) },
        Row { method: "PATCH", path: route.clone(), body: json!({"branch": "none"}) },
        Row { method: "PATCH", path: format!("{route}/messages/none"), body: json!({"content": "x"}) },
        Row { method: "POST", path: format!("{route}/messages"), body: json!({"branch": "none", "messages": one}) },
        Row { method: "GET", path: format!("{route}?branch=none"), body: Value::Null },
        Row { method: "GET", path: "/v1/conversations/none".to_owned(), body: Value::Null },
    ];
    let mut failures = Vec::new();
    for Row { method, path, body } in rows {
        let body = if body.is_null() { None } else { Some(&body) };
        let answer = trip.server.call(method, &path, body);
        if (answer.status, answer.code()) != (404, "not_found") {
            failures.push(format!("{method} {path}: {answer:?}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn invalid_messages_and_rewinds_are_rejected() {
    struct Row {
        path: &'static str,
        body: Value,
        code: &'static str,
    }
    let rows = [
        Row { path: "messages", body: json!({"messages": []}), code: "no_messages" },
        Row { path: "messages", body: json!({"messages": [{"role": "x", "content": ""}]}), code: "invalid_body" },
        Row { path: "rewind", body: json!({}), code: "invalid_body" },
    ];
    let trip = Trip::new();
    let mut failures = Vec::new();
    for Row { path, body, code } in rows {
        let answer = trip.server.post(&format!("{}/{path}", trip.route), &body);
        if (answer.status, answer.code()) != (400, code) {
            failures.push(format!("{path} {body}: not {code}: {answer:?}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn a_deleted_conversation_is_not_found() {
    let trip = Trip::new();
    trip.branch();
    assert_eq!(trip.server.call("DELETE", &trip.route, None).status, 200);
    assert_eq!(trip.server.get(&trip.route).status, 404);
}

/// Starts a server with a conversation whose message is ingested, and returns the conversation's route.
fn remembered_conversation() -> (tempfile::TempDir, Server, String) {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let route = create(&server, &json!({}));
    append(&server, &route, &["My violin teacher is called Ortrud"]);
    wait_for("the memory", || !server.retrieve("default", "q=violin+teacher").hits().is_empty());
    (folder, server, route)
}

#[test]
fn an_appended_message_becomes_a_memory_with_its_source() {
    let (_folder, server, route) = remembered_conversation();
    let hit = server.retrieve("default", "q=violin+teacher&detail=full").hits()[0].clone();
    assert_eq!(Some(hit["sources"][0]["session_id"].as_str().expect("a session")), route.rsplit('/').next());
}

#[test]
fn memories_stay_when_their_conversation_is_deleted() {
    let (_folder, server, route) = remembered_conversation();
    assert_eq!(server.call("DELETE", &route, None).body["deleted"], true);
    assert!(!server.retrieve("default", "q=violin+teacher").hits().is_empty());
}

/// Returns the routes of the listed conversations.
fn listed(server: &Server, query: &str) -> Vec<String> {
    let answer = server.get(&format!("/v1/conversations?{query}"));
    let mut routes = Vec::new();
    for conversation in answer.body["conversations"].as_array().expect("a list") {
        routes.push(format!("/v1/conversations/{}", conversation["id"].as_str().unwrap_or("")));
    }
    routes
}

/// Creates five conversations in `default`, then one in a new namespace `other`. Returns the five, newest first.
fn create_five_and_other(server: &Server) -> Vec<String> {
    server.namespace("other");
    let mut routes: Vec<String> = (0..5).map(|n| create(server, &json!({"title": format!("t{n}")}))).collect();
    create(server, &json!({"namespace": "other"}));
    routes.reverse();
    routes
}

/// Checks all listings of the conversations of [`create_five_and_other`].
fn assert_listed(server: &Server, newest_first: &[String]) {
    assert_eq!(listed(server, ""), newest_first);
    assert_eq!(listed(server, "limit=2"), newest_first[..2]);
    let last = newest_first[1].rsplit('/').next().expect("an id");
    assert_eq!(listed(server, &format!("limit=2&before={last}")), newest_first[2..4]);
    assert_eq!(listed(server, "namespace=other").len(), 1);
}

#[test]
fn conversations_are_listed_newest_first_in_pages() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let newest_first = create_five_and_other(&server);
    assert_listed(&server, &newest_first);
}

#[test]
fn conversations_survive_a_kill() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let newest_first = create_five_and_other(&server);
    append(&server, &newest_first[2], &["written before a kill"]);
    server.kill();
    let server = Server::start(&data);
    assert_listed(&server, &newest_first);
    assert_eq!(texts(&server, &newest_first[2]), ["written before a kill"]);
}

#[test]
fn a_deleted_namespace_takes_its_conversations_with_it() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    create_five_and_other(&server);
    assert_eq!(listed(&server, "namespace=other").len(), 1);
    let session = stdout(&data, &["token"]);
    assert_eq!(server.call_as(&session, "DELETE", "/v1/namespaces/other", None).status, 200);
    server.namespace("other");
    assert!(listed(&server, "namespace=other").is_empty());
}
