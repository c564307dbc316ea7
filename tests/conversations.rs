//! Managed conversations before and after a kill. The routes are tested in `tests/api`.

use serde_json::{Value, json};

use crate::support::disk::WatchedData;
use crate::support::{Server, fresh};

/// Creates a conversation and returns its route.
fn create(server: &Server, body: &Value) -> String {
    let created = server.post("/v1/conversations", body);
    assert_eq!((created.status, &created.body["branch"]), (201, &json!("main")), "{created:?}");
    format!("/v1/conversations/{}", created.body["id"].as_str().expect("an id"))
}

/// Appends a message to the active branch.
fn append(server: &Server, route: &str, text: &str) {
    let messages = json!([{"role": "user", "content": text}]);
    let answer = server.post(&format!("{route}/messages"), &json!({"messages": messages}));
    assert_eq!((answer.status, answer.body["ids"].as_array().map(Vec::len)), (201, Some(1)), "{answer:?}");
}

/// Returns the texts of the messages of the active branch.
fn texts(server: &Server, route: &str) -> Vec<String> {
    let answer = server.get(route);
    assert_eq!(answer.status, 200, "{answer:?}");
    let messages = answer.body["messages"].as_array().expect("messages");
    messages.iter().map(|message| message["content"].as_str().expect("text").to_owned()).collect()
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
fn conversations_survive_a_kill() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let newest_first = create_five_and_other(&server);
    append(&server, &newest_first[2], "written before a kill");
    assert_listed(&server, &newest_first);
    server.kill();
    let server = Server::start(&data);
    assert_listed(&server, &newest_first);
    assert_eq!(texts(&server, &newest_first[2]), ["written before a kill"]);
}

#[test]
fn a_killed_deletion_removes_a_conversation_with_its_kept_messages_or_nothing() {
    for record in 1..=3 {
        let watched = WatchedData::new();
        let server = watched.start();
        let route = create(&server, &json!({}));
        append(&server, &route, "The winch was oiled on the pier");
        server.drain();
        watched.disk.set_rules(&[&format!("killafter write records/0 {record}")]);
        let bearer = format!("Bearer {}", server.key);
        let answer = server.try_request("DELETE", &route, Some(&bearer), None);
        server.kill();

        watched.disk.set_rules(&[]);
        let server = watched.start();
        let exists = server.get(&route).status == 200;
        let sources = server.get("/v1/sources").body["sources"].as_array().map(Vec::len);
        assert_eq!(sources, Some(usize::from(exists)), "killed after record {record}: {answer:?}");
    }
}
