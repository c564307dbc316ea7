//! The person who asks: for whom "I" stands in messages and queries.

use serde_json::{Value, json};

use crate::support::{Server, fresh};

/// Stores a message of a user.
fn say(server: &Server, body: &Value) {
    let written = server.post("/v1/memories?wait=30", body);
    assert_eq!(written.body["status"], "ingested", "{written:?}");
}

fn server_with_two_users() -> (tempfile::TempDir, Server) {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    say(&server, &json!({"messages": [{"role": "user", "content": "I live in Aarhus."}], "user": "Mara Lind"}));
    say(&server, &json!({"messages": [{"role": "user", "name": "Jonas", "content": "I live in Porto."}]}));
    (folder, server)
}

fn best(server: &Server, query: &str) -> String {
    let found = server.retrieve("default", query);
    found.hits()[0]["content"].as_str().expect("content").trim().to_owned()
}

#[test]
fn i_is_the_user_whom_a_query_names() {
    let (_folder, server) = server_with_two_users();
    assert_eq!(best(&server, "q=Where+do+I+live%3F&user=Mara+Lind"), "# Mara Lind: I live in Aarhus.");
    assert_eq!(best(&server, "q=Where+do+I+live%3F&user=jonas"), "# Jonas: I live in Porto.");
    let found = server.post("/v1/retrieve", &json!({"q": "Where do I live?", "user": "Mara Lind"})).body;
    assert_eq!(found["hits"][0]["content"], "# Mara Lind: I live in Aarhus.\n");
    assert_eq!(found["warnings"], Value::Null);
}

#[test]
fn a_query_of_nobody_in_particular_is_answered_with_a_warning() {
    let (_folder, server) = server_with_two_users();
    let body = json!({"q": "Where do I live?", "limit": 10});
    for path in ["/v1/retrieve", "/v1/context", "/v1/answer"] {
        let warnings = &server.post(path, &body).body["warnings"];
        assert!(warnings[0].as_str().is_some_and(|warning| warning.contains("\"user\"")), "{path}: {warnings}");
    }
    let found = server.get("/v1/retrieve?q=Where+do+I+live%3F").body;
    assert_eq!((found["hits"].as_array().map(Vec::len), found["warnings"].is_array()), (Some(2), true), "{found}");
    assert_eq!(server.get("/v1/retrieve?q=Where+does+Jonas+live%3F").body["warnings"], Value::Null);
}

#[test]
fn the_profile_is_that_of_the_user() {
    let (_folder, server) = server_with_two_users();
    assert_eq!(server.get("/v1/profile?user=Jonas").body["subject"], "jonas");
    assert_eq!(server.get("/v1/profile?user=Jonas&subject=Mara+Lind").body["subject"], "mara lind");
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    say(&server, &json!({"messages": [{"role": "user", "name": "Jonas", "content": "I live in Porto."}]}));
    assert_eq!(server.get("/v1/profile").body["subject"], "jonas");
}

#[test]
fn a_name_that_is_no_name_is_refused() {
    let (_folder, server) = server_with_two_users();
    for path in ["/v1/retrieve?q=x&user=a%0Ab", "/v1/context?q=x&user=a%0Ab", "/v1/profile?user=a%0Ab"] {
        assert_eq!(server.get(path).status, 400, "{path}");
    }
    let body = json!({"messages": [{"role": "user", "content": "x"}], "user": "a\nb"});
    assert_eq!(server.post("/v1/memories", &body).status, 400);
}
