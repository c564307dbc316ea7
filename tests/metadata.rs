//! Metadata: from a write to every memory made of it, and filters by it.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::provider::Provider;
use crate::support::{Server, fresh, git, stdout, wait_for};

const ALL: &str = "tiers=facts,incidents,rules,skills&limit=200";

fn labels() -> Value {
    json!({"team": "blue", "size": 4, "ratio": 0.5, "paid": true, "number": "4"})
}

/// Posts a conversation of two statements with metadata.
fn remember(server: &Server) {
    let body = json!({
        "session_id": "s1",
        "metadata": labels(),
        "messages": [
            {"role": "user", "content": "The lighthouse keeper is called Agatha"},
            {"role": "user", "content": "The baker in Oban closes on Tuesdays"},
        ],
    });
    assert_eq!(server.post("/v1/memories", &body).status, 202);
    server.drain();
}

fn write(server: &Server, path: &str, body: &Value) {
    let answer = server.post(&format!("/v1/memories/{path}"), body);
    assert!(matches!(answer.status, 200 | 201), "{answer:?}");
}

/// Returns the names of the memories that a listing or query finds, sorted.
fn names(server: &Server, query: &str) -> Vec<String> {
    let mut names = Vec::new();
    for hit in server.retrieve("default", query).hits() {
        let path = hit["path"].as_str().expect("a path");
        let name = path.rsplit('/').next().unwrap_or(path);
        names.push(name.trim_end_matches(".md").to_owned());
    }
    names.sort();
    names
}

/// Returns the metadata of every memory.
fn all_metadata(server: &Server, namespace: &str) -> Vec<Value> {
    server.retrieve(namespace, ALL).hits().iter().map(|hit| hit["metadata"].clone()).collect()
}

/// Starts a server with four memories of different metadata, and one without.
fn server_with_memories() -> (tempfile::TempDir, Server) {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    for (name, metadata) in [
        ("one", json!({"team": "blue", "size": 1, "draft": true})),
        ("two", json!({"team": "blue, green", "size": 2.5, "draft": false})),
        ("three", json!({"team": "red", "size": 10, "draft": "true"})),
        ("four", json!({"team": "Blue", "size": "10"})),
        ("none", json!({})),
    ] {
        let body = json!({"content": format!("# Crane {name}\n\nThe crane was painted."), "metadata": metadata});
        write(&server, &format!("facts/cranes/{name}.md"), &body);
    }
    (folder, server)
}

#[test]
fn every_memory_of_a_conversation_has_its_metadata() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    remember(&server);
    assert_eq!(all_metadata(&server, "default"), [labels(), labels()]);
    let hit = &server.retrieve("default", "q=lighthouse+keeper&detail=full").hits()[0];
    assert_eq!(hit["metadata"], labels());
    let path = hit["path"].as_str().expect("a path");
    assert_eq!(server.get(&format!("/v1/memories/{path}")).body["metadata"], labels());
    let file = git(&server.repository("default"), &["show", &format!("HEAD:{path}")]);
    assert!(file.contains("\nmetadata:\n") && file.contains("team: blue"), "{file}");
    // The index is derived from the files.
    assert!(server.terminate());
    std::fs::remove_dir_all(data.join("indexes")).expect("removes");
    let server = Server::start(&data);
    assert_eq!(all_metadata(&server, "default"), [labels(), labels()]);
    assert_eq!(names(&server, "where=paid:true").len(), 2);
}

#[test]
fn messages_of_a_managed_conversation_take_metadata() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let created = server.post("/v1/conversations", &json!({}));
    let id = created.body["id"].as_str().expect("an id");
    let messages = json!([{"role": "user", "content": "The ferry to Skye leaves at nine"}]);
    let body = json!({"messages": messages, "metadata": {"team": "red"}});
    assert_eq!(server.post(&format!("/v1/conversations/{id}/messages"), &body).status, 201);
    wait_for("the message to be ingested", || names(&server, "where=team:red").len() == 1);
}

#[test]
fn conditions_filter_by_type_and_value() {
    let (_folder, server) = server_with_memories();
    for (query, expected) in [
        ("where=team:blue", &["one"][..]),
        ("where=team=blue", &["one"]),
        ("where=team:blue,%20green", &["two"]),
        ("where=team!=blue", &["four", "none", "three", "two"]),
        ("where=draft:true", &["one", "three"]),
        ("where=draft:false", &["two"]),
        ("where=size:10", &["four", "three"]),
        ("where=size:10.0", &["three"]),
        ("where=size%3E=2.5", &["three", "two"]),
        ("where=size%3E2.5", &["three"]),
        ("where=size%3C=2.5", &["one", "two"]),
        ("where=size%3C2.5", &["one"]),
        ("where=size%3E=1&where=size%3C10", &["one", "two"]),
        ("where=size%3E=1&where=team!=red", &["one", "two"]),
        ("where=colour:blue", &[]),
        ("where=team:blue&tags=none", &[]),
    ] {
        assert_eq!(names(&server, query), expected, "{query}");
        let search = format!("q=crane+painted&{query}");
        assert_eq!(names(&server, &search), expected, "{search}");
    }
}

#[test]
fn an_answer_takes_conditions() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let question = "Which colour has the crane?";
    for (name, colour) in [("one", "yellow"), ("two", "green")] {
        let body = json!({
            "content": format!("# The crane has the colour {colour}"), "cues": [question], "metadata": {"site": name},
        });
        write(&server, &format!("facts/cranes/{name}.md"), &body);
    }
    let answer = server.post("/v1/answer", &json!({"q": question, "where": ["site:two"]}));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body["answer"].as_str().expect("an answer").contains("green"), "{answer:?}");
    assert!(answer.hits().iter().all(|hit| hit["path"] == "facts/cranes/two.md"), "{answer:?}");
}

#[test]
fn skills_have_metadata_and_are_filtered_by_it() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let skills = json!([
        {"name": "Water the fern", "content": "Once a week.", "metadata": {"room": 3}},
        {"name": "Water the cactus", "content": "Once a month.", "metadata": {"room": 4}},
    ]);
    assert_eq!(server.post("/v1/skills", &json!({"skills": skills})).status, 202);
    server.settle("default");
    for query in ["where=room:3", "q=watering+plants&where=room:3"] {
        let found = server.get(&format!("/v1/skills?{query}")).body["skills"].clone();
        assert_eq!((&found[0]["name"], &found[0]["metadata"]), (&json!("Water the fern"), &json!({"room": 3})));
        assert_eq!(found.as_array().expect("a list").len(), 1, "{query}");
    }
}

#[test]
fn a_rewrite_without_metadata_removes_it() {
    let (_folder, server) = server_with_memories();
    write(&server, "facts/cranes/one.md", &json!({"content": "# Crane one"}));
    assert_eq!(names(&server, "where=team:blue"), Vec::<String>::new());
    assert_eq!(server.get("/v1/memories/facts/cranes/one.md").body["metadata"], json!({}));
}

#[test]
fn invalid_metadata_and_conditions_are_refused() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let messages = json!([{"role": "user", "content": "The ferry leaves at nine"}]);
    for (metadata, named) in [
        (json!({"nested": {"a": 1}}), "nested"),
        (json!({"list": ["a"]}), "list"),
        (json!({"nothing": null}), "nothing"),
        (json!({"a b": 1}), "a b"),
        (json!({"long": "x".repeat(513)}), "long"),
        (json!(["a"]), "metadata"),
    ] {
        let skill = json!({"name": "Moor", "content": "Slowly.", "metadata": metadata});
        for (path, body) in [
            ("/v1/memories", json!({"messages": messages, "metadata": metadata})),
            ("/v1/memories/facts/a.md", json!({"content": "# A", "metadata": metadata})),
            ("/v1/skills", json!({"skills": [skill]})),
        ] {
            let answer = server.post(path, &body);
            assert_eq!((answer.status, answer.code()), (400, "invalid_metadata"), "{path} {metadata}");
            assert!(answer.body.to_string().contains(named), "the error names the key: {answer:?}");
        }
    }
    for condition in ["team", ":blue", "size%3E=large", "a%20b:c"] {
        let retrieved = server.retrieve("default", &format!("q=x&where={condition}"));
        assert_eq!((retrieved.status, &retrieved.body["error"]), (400, &json!("invalid_where")), "{condition}");
        let skills = server.get(&format!("/v1/skills?where={condition}"));
        assert_eq!((skills.status, skills.code()), (400, "invalid_where"), "{condition}");
    }
    let answer = server.post("/v1/answer", &json!({"q": "x", "where": ["team"]}));
    assert_eq!((answer.status, answer.code()), (400, "invalid_where"));
}

#[test]
fn a_repeated_extraction_keeps_the_metadata() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    remember(&server);
    assert!(server.terminate());
    let provider = Provider::start();
    provider.script(|shown| {
        let mut operations = Vec::new();
        for message in shown["messages"].as_array().into_iter().flatten() {
            let title = format!("Noted: {}", message["text"].as_str().unwrap_or_default());
            operations.push(json!({
                "op": "new", "tier": "facts", "topic": "Oban", "title": title, "messages": [message["index"]],
            }));
        }
        json!({"operations": operations})
    });
    let server = Server::start_with_models(&data, &provider.chat_settings());
    stdout(&data, &["reextract"]);
    let hits = server.retrieve("default", "where=team:blue").hits();
    assert_eq!(hits.len(), 2);
    for hit in hits {
        assert!(hit["content"].as_str().expect("content").starts_with("# Noted: "), "{hit}");
        assert_eq!(hit["metadata"], labels());
    }
}

#[test]
fn an_exported_conversation_is_imported_with_its_metadata() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    remember(&server);
    let lines = folder.path().join("chats.jsonl");
    stdout(&data, &["export", "--format", "jsonl", text(&lines)]);
    stdout(&data, &["import", text(&lines), "--namespace", "other"]);
    assert_eq!(all_metadata(&server, "other"), [labels(), labels()]);
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path")
}
