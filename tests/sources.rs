//! Kept conversations (sources): stops and kills, their records, export and import. The routes are tested in
//! `tests/api`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cuebase_storage::key_value::{Batch, Column, Durability, Engine, RocksEngine};
use serde_json::{Value, json};
use ulid::Ulid;

use crate::support::provider::{Fault, Provider};
use crate::support::{Server, fresh, repository, run, stdout, wait_for};

/// The id of a source that cannot be decoded.
const UNREADABLE_ID: Ulid = Ulid::from_bytes([7; 16]);

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

fn post(server: &Server, body: &Value) -> String {
    let accepted = server.post("/v1/memories", body);
    assert_eq!(accepted.status, 202, "{accepted:?}");
    accepted.body["id"].as_str().expect("an id").to_owned()
}

/// Returns the sources that the listing shows for a query.
fn listed(server: &Server, query: &str) -> Vec<Value> {
    let answer = server.get(&format!("/v1/sources?{query}"));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body["sources"].as_array().expect("a list").clone()
}

fn listed_ids(server: &Server, query: &str) -> Vec<String> {
    listed(server, query).iter().map(|source| source["id"].as_str().expect("an id").to_owned()).collect()
}

/// Returns paths, texts, times and tags of the memories in a namespace.
fn memories(server: &Server, namespace: &str) -> BTreeSet<String> {
    let hits = server.retrieve(namespace, "tiers=facts,incidents,rules,skills&limit=200").hits();
    let fields = ["path", "content", "occurred_at", "occurred_precision", "occurred_source", "user_tags"];
    let shown = |hit: &Value| fields.map(|field| hit[field].to_string()).join(" ");
    hits.iter().map(shown).collect()
}

fn export(data: &Path, namespace: &str, to: &Path) -> Vec<Value> {
    stdout(data, &["export", to.to_str().expect("a path"), "--namespace", namespace]);
    let text = std::fs::read_to_string(to).expect("reads");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn import(data: &Path, namespace: &str, from: &Path) -> String {
    stdout(data, &["import", from.to_str().expect("a path"), "--namespace", namespace])
}

#[test]
fn kept_conversations_survive_a_stop_and_a_kill() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let first = post(&server, &trip());
    server.drain();
    assert!(server.terminate());
    let server = Server::start(&data);
    let second = server.remember("default", &["The baker closes on Tuesdays"]);
    server.drain();
    server.kill();
    let server = Server::start(&data);
    assert_eq!(listed_ids(&server, ""), [second, first.clone()]);
    assert_eq!(server.get(&format!("/v1/sources/{first}")).body["messages"], trip()["messages"]);
}

#[test]
fn deleting_a_kept_conversation_leaves_its_memories() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let id = post(&server, &trip());
    server.drain();
    let at = format!("/v1/sources/{id}");
    let deleted = server.call("DELETE", &at, None);
    assert_eq!((deleted.status, deleted.body), (200, json!({"id": id, "deleted": true})));
    server.kill();
    let server = Server::start(&data);
    assert!(listed(&server, "").is_empty());
    for method in ["GET", "DELETE"] {
        for path in [at.as_str(), "/v1/sources/nothing", "/v1/sources/01M80ZJJYEMM0YJ4AAANEC71VX"] {
            let gone = server.call(method, path, None);
            assert_eq!((gone.status, gone.code()), (404, "not_found"), "{method} {path}");
        }
    }
    assert!(server.retrieve("default", "q=Tatra+mountains").contents()[0].contains("Tatra"));
}

#[test]
fn deleting_a_namespace_deletes_its_kept_conversations() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    server.namespace("other");
    let id = server.remember("other", &["The baker closes on Tuesdays"]);
    server.drain();
    assert_eq!(listed_ids(&server, "namespace=other"), std::slice::from_ref(&id));
    let namespace = namespace_id(&data, "other");
    let session = stdout(&data, &["token"]);
    assert_eq!(server.call_as(&session, "DELETE", "/v1/namespaces/other", None).status, 200);
    server.namespace("other");
    assert!(listed(&server, "namespace=other").is_empty());
    assert_eq!(server.get(&format!("/v1/sources/{id}?namespace=other")).status, 404);
    assert!(server.terminate());
    let store = RocksEngine::open(&data.join("records")).expect("opens");
    for column in [Column::Sources, Column::SourceConversations, Column::SourcePaths] {
        let key = [namespace.to_bytes(), id.parse::<Ulid>().expect("a ULID").to_bytes()].concat();
        assert!(store.get(column, &key).expect("reads").is_none(), "{column:?}");
    }
}

#[test]
fn exported_conversations_become_the_same_memories_elsewhere() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let lines = folder.path().join("chats.jsonl");
    let said = json!({"messages": [{"role": "user", "name": "Ines", "content": "I adopted a greyhound yesterday."}]});
    std::fs::write(&lines, format!("{said}\n{}\n", trip())).expect("writes");
    assert!(import(&data, "default", &lines).contains("2 conversations"));
    let out = folder.path().join("out.jsonl");
    let exported = export(&data, "default", &out);
    assert_eq!(exported.len(), 2, "{exported:?}");
    assert_eq!(exported[0]["messages"], said["messages"], "the oldest is first");
    assert_eq!(exported[1]["messages"], trip()["messages"]);
    assert!(import(&data, "copy", &out).contains("2 conversations"));
    assert_eq!(memories(&server, "copy"), memories(&server, "default"));
    assert_eq!(memories(&server, "copy").len(), 2);
    // A copy of the copy has the same memories, and importing again adds nothing.
    let again = folder.path().join("again.jsonl");
    export(&data, "copy", &again);
    import(&data, "third", &again);
    assert_eq!(memories(&server, "third"), memories(&server, "default"));
    assert!(import(&data, "copy", &out).contains("imported before"));
    assert_eq!(memories(&server, "copy").len(), 2);
}

#[test]
fn the_same_words_in_two_sessions_are_two_conversations() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let words = "The surgery is closed today";
    let first = json!({"session_id": "a", "messages": [{"role": "user", "content": words}]});
    let second = json!({"session_id": "b", "messages": [{"role": "user", "content": words}]});
    post(&server, &first);
    post(&server, &second);
    server.drain();
    let out = folder.path().join("out.jsonl");
    assert_eq!(export(&data, "default", &out).len(), 2);
    import(&data, "copy", &out);
    assert_eq!(memories(&server, "copy"), memories(&server, "default"));
}

#[test]
fn importing_an_export_into_its_own_namespace_changes_nothing() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    post(&server, &trip());
    server.drain();
    let before = memories(&server, "default");
    let out = folder.path().join("out.jsonl");
    export(&data, "default", &out);
    let report = import(&data, "default", &out);
    assert!(report.contains("2 messages imported before") && !report.contains("conversations"), "{report}");
    assert_eq!(memories(&server, "default"), before);
    assert_eq!(listed(&server, "").len(), 1);
}

#[test]
fn a_managed_conversation_is_exported_once_with_its_title() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    post(&server, &trip());
    let made = server.post("/v1/conversations", &json!({"title": "Roof"}));
    let at = format!("/v1/conversations/{}/messages", made.body["id"].as_str().expect("an id"));
    for content in ["The skylight leaks", "The roofer comes on Friday"] {
        let body = json!({"messages": [{"role": "user", "content": content}]});
        assert_eq!(server.post(&at, &body).status, 201);
    }
    server.remember("default", &["The baker closes on Tuesdays"]);
    server.drain();
    let exported = export(&data, "default", &folder.path().join("out.jsonl"));
    let titles: Vec<&Value> = exported.iter().map(|line| &line["title"]).collect();
    assert_eq!(titles, [&Value::Null, &json!("Roof"), &Value::Null], "{exported:?}");
    assert_eq!(exported[1]["messages"].as_array().map(Vec::len), Some(2), "{exported:?}");
}

#[test]
fn keep_sources_false_keeps_nothing() {
    let (folder, data) = fresh();
    let server = Server::start_configured(&data, "[ingestion]\nkeep_sources = false\n");
    let id = post(&server, &trip());
    server.drain();
    assert!(server.retrieve("default", "q=Tatra+mountains").contents()[0].contains("Tatra"));
    assert!(listed(&server, "").is_empty());
    assert_eq!(server.get(&format!("/v1/sources/{id}")).status, 404);
    assert!(export(&data, "default", &folder.path().join("out.jsonl")).is_empty());
}

#[test]
fn a_dead_letter_leaves_no_source() {
    let provider = Provider::start();
    provider.chat_fault(Some(Fault::Nonsense));
    let (_folder, data) = fresh();
    let settings =
        format!("{}timeout_ms = 2000\n[ingestion]\nretries = 0\nbackoff_ms = 20\n", provider.chat_settings());
    let server = Server::start_with_models(&data, &settings);
    let id = server.remember("default", &["The vault code is kept by Marit"]);
    wait_for("the dead letter", || stdout(&data, &["dead-letters", "list"]).contains(&id));
    assert!(listed(&server, "").is_empty());
    stdout(&data, &["dead-letters", "drop", &id]);
    assert!(listed(&server, "").is_empty());
    assert_eq!(server.get(&format!("/v1/sources/{id}")).status, 404);
}

/// Returns the id of a namespace of the account `default`.
fn namespace_id(data: &Path, namespace: &str) -> Ulid {
    let name = repository(data, namespace).file_stem().expect("a name").to_string_lossy().into_owned();
    name.rsplit('.').next().expect("an id").to_uppercase().parse().expect("a ULID")
}

/// Returns the data directory of a stopped server with one kept conversation, and the id of the namespace.
fn stopped_with_a_source() -> (tempfile::TempDir, PathBuf, Ulid) {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    post(&server, &trip());
    server.drain();
    assert!(server.terminate());
    let namespace = namespace_id(&data, "default");
    (folder, data, namespace)
}

#[test]
fn an_undecodable_source_is_reported_and_set_aside() {
    for column in [Column::Sources, Column::SourceConversations, Column::SourcePaths] {
        let (_folder, data, namespace) = stopped_with_a_source();
        {
            let store = RocksEngine::open(&data.join("records")).expect("opens");
            let mut batch = Batch::new();
            batch.put(column, [namespace.to_bytes(), UNREADABLE_ID.to_bytes()].concat(), b"\x01{\"id\":[".to_vec());
            store.write(&batch, Durability::Synced).expect("writes");
        }
        let server = Server::start(&data);
        assert!(server.retrieve("default", "q=Tatra+mountains").contents()[0].contains("Tatra"));
        assert_eq!(listed(&server, "").len(), 1, "{column:?}");
        let examined = run(&data, &["doctor"]);
        let said = String::from_utf8_lossy(&examined.stdout).into_owned();
        assert!(!examined.status.success() && said.contains(column.name()), "{column:?}: {said}");
        let letters = stdout(&data, &["dead-letters", "list"]);
        assert!(letters.contains(&UNREADABLE_ID.to_string()) && letters.contains("cannot be decoded"), "{letters}");
        stdout(&data, &["dead-letters", "drop", &UNREADABLE_ID.to_string()]);
        let examined = run(&data, &["doctor"]);
        assert!(examined.status.success(), "{column:?}: {}", String::from_utf8_lossy(&examined.stdout));
        assert_eq!(listed(&server, "").len(), 1, "{column:?}");
    }
}

#[test]
fn the_doctor_counts_kept_conversations() {
    let (_folder, data, _) = stopped_with_a_source();
    assert!(stdout(&data, &["doctor"]).contains("1 conversations kept"));
}

#[test]
fn a_backup_includes_the_kept_conversations() {
    let (folder, data, _) = stopped_with_a_source();
    let backups = folder.path().join("backups");
    let restored = folder.path().join("restored");
    stdout(&data, &["backup", backups.to_str().expect("a path")]);
    stdout(&restored, &["restore", backups.to_str().expect("a path")]);
    assert_eq!(listed(&Server::start(&restored), "").len(), 1);
}
