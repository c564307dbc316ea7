//! Profiles: what the memories claim about the user, a speaker, or another subject, at present and at an earlier time.
//! Timelines: what they claim over time about the facts of one memory.

use serde_json::{Value, json};

use crate::support::{Server, fresh};

/// Says something and waits until it is a memory. Without a name, the user of a chat says it.
fn say(server: &Server, name: Option<&str>, text: &str, at: &str) {
    let mut message = json!({"role": "user", "content": text});
    if let Some(name) = name {
        message["name"] = json!(name);
    }
    let body = json!({"messages": [message], "occurred_at": at});
    let answer = server.post("/v1/memories?wait=30", &body);
    assert_eq!((answer.status, &answer.body["status"]), (200, &json!("ingested")), "{answer:?}");
}

/// Starts a server on which the user has moved and has a gym, and Ana has said where she works.
fn server_with_claims() -> (tempfile::TempDir, Server) {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    say(&server, None, "I live in Oslo.", "2025-01-10T09:00:00Z");
    say(&server, None, "My gym is Flexfit.", "2025-02-10T09:00:00Z");
    say(&server, None, "I moved to Bergen.", "2025-06-10T09:00:00Z");
    say(&server, Some("Ana"), "I work at Northwind.", "2025-03-10T09:00:00Z");
    (folder, server)
}

fn profile(server: &Server, query: &str) -> Value {
    let answer = server.get(&format!("/v1/profile?{query}"));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

/// Returns the claims about an attribute as values, each with whether it is current.
fn values(profile: &Value, attribute: &str) -> Vec<(String, bool)> {
    let mut values = Vec::new();
    for claim in profile["claims"].as_array().expect("an array") {
        if claim["attribute"] == attribute {
            let value = claim["value"].as_str().expect("a value").to_owned();
            values.push((value, claim["current"].as_bool().expect("a boolean")));
        }
    }
    values
}

fn value(value: &str, is_current: bool) -> (String, bool) {
    (value.to_owned(), is_current)
}

#[test]
fn the_profile_of_the_user_has_current_and_former_values_with_their_memories() {
    let (_folder, server) = server_with_claims();
    let found = profile(&server, "");
    assert_eq!(found["subject"], "user");
    assert_eq!(values(&found, "home"), [value("bergen", true), value("oslo", false)]);
    assert_eq!(values(&found, "gym"), [value("flexfit", true)]);
    assert_eq!(found["subjects"], json!(["ana"]));
    let homes: Vec<&Value> =
        found["claims"].as_array().expect("an array").iter().filter(|claim| claim["attribute"] == "home").collect();
    let (bergen, oslo) = (homes[0], homes[1]);
    assert_eq!((&bergen["valid_from"], &bergen["valid_until"]), (&json!("2025-06-10T09:00:00Z"), &Value::Null));
    assert_eq!((&oslo["valid_from"], &oslo["valid_until"]), (&json!("2025-01-10T09:00:00Z"), &bergen["valid_from"]));
    let memory = server.get(&format!("/v1/memories/{}", bergen["path"].as_str().expect("a path")));
    assert!(memory.body["content"].as_str().is_some_and(|content| content.contains("Bergen")), "{memory:?}");
    assert_eq!(server.get("/v1/usage").body["used"]["reads"], 1, "a profile is a read");
}

#[test]
fn attributes_are_sorted() {
    let (_folder, server) = server_with_claims();
    let found = profile(&server, "");
    let mut attributes = Vec::new();
    for claim in found["claims"].as_array().expect("an array") {
        attributes.push(claim["attribute"].as_str().expect("a name").to_owned());
    }
    assert!(attributes.len() >= 3 && attributes.is_sorted(), "{attributes:?}");
}

#[test]
fn a_profile_is_shown_as_of_an_earlier_time() {
    let (_folder, server) = server_with_claims();
    assert_eq!(values(&profile(&server, "as_of=2025-03-01"), "home"), [value("oslo", true)]);
    assert!(values(&profile(&server, "as_of=2025-02-01"), "gym").is_empty());
    assert_eq!(profile(&server, "as_of=2024-01-01")["claims"], json!([]));
}

#[test]
fn a_subject_is_named_in_any_case() {
    let (_folder, server) = server_with_claims();
    for name in ["Ana", "ana", "ANA"] {
        let found = profile(&server, &format!("subject={name}"));
        assert_eq!(found["subject"], "ana");
        assert_eq!(values(&found, "employer"), [value("northwind", true)]);
        assert_eq!(found["subjects"], json!(["user"]));
    }
    let nobody = profile(&server, "subject=Nobody");
    assert_eq!((&nobody["subject"], &nobody["claims"]), (&json!("nobody"), &json!([])));
}

#[test]
fn without_a_user_the_profile_is_that_of_the_speaker_with_the_most_claims() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    server.namespace("chat");
    let messages = json!([
        {"role": "user", "name": "Bob", "content": "I live in Riga."},
        {"role": "user", "name": "Ana", "content": "I live in Oslo."},
        {"role": "user", "name": "Ana", "content": "I work at Northwind."},
    ]);
    let body = json!({"messages": messages, "namespace": "chat", "occurred_at": "2025-01-10"});
    assert_eq!(server.post("/v1/memories?wait=30", &body).status, 200);
    let found = profile(&server, "namespace=chat");
    assert_eq!(found["subject"], "ana");
    assert_eq!(values(&found, "home"), [value("oslo", true)]);
    assert_eq!(found["subjects"], json!(["bob"]));
}

#[test]
fn a_profile_without_claims_is_empty() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    server.namespace("empty");
    assert_eq!(profile(&server, "namespace=empty"), json!({"subject": "user", "claims": [], "subjects": []}));
}

#[test]
fn a_timeline_has_the_values_of_a_memorys_fact_with_the_oldest_first() {
    let (_folder, server) = server_with_claims();
    let found = profile(&server, "");
    let mut homes = found["claims"].as_array().expect("an array").clone();
    homes.retain(|claim| claim["attribute"] == "home");
    homes.reverse();
    assert_eq!((&homes[0]["value"], &homes[1]["value"]), (&json!("oslo"), &json!("bergen")));
    for home in &homes {
        let path = home["path"].as_str().expect("a path");
        let answer = server.get(&format!("/v1/timeline?path={path}"));
        assert_eq!((answer.status, &answer.body["path"]), (200, &home["path"]), "{answer:?}");
        let timelines = answer.body["timelines"].as_array().expect("an array");
        assert!(timelines.contains(&json!({"subject": "user", "attribute": "home", "values": homes})), "{answer:?}");
    }
    assert_eq!(server.get("/v1/usage").body["used"]["reads"], 1, "only the profile is a read");
}

#[test]
fn a_timeline_requires_the_path_of_a_memory() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    server.namespace("mine");
    for (query, expected) in [
        ("namespace=mine", (400, "invalid_path")),
        ("namespace=mine&path=home", (400, "invalid_path")),
        ("namespace=mine&path=facts/none.md", (404, "not_found")),
    ] {
        let answer = server.get(&format!("/v1/timeline?{query}"));
        assert_eq!((answer.status, answer.code()), expected, "{query}");
    }
}

#[test]
fn wrong_parameters_are_refused() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    server.namespace("mine");
    for (query, expected) in [
        ("namespace=mine&as_of=soon", (400, "invalid_time")),
        ("namespace=mine&timezone=Mars/Base", (400, "invalid_timezone")),
        ("namespace=nowhere", (404, "namespace_not_found")),
    ] {
        let answer = server.get(&format!("/v1/profile?{query}"));
        assert_eq!((answer.status, answer.code()), expected, "{query}");
    }
}
