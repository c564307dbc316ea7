//! Imports of memories from a running mem0 server.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::fake::{self, FakeResponse};
use crate::support::mem0::{KEY, Mem0, Mem0Api};
use crate::support::{Server, cuebase, fresh, run};

/// The output of an import.
struct Imported {
    succeeded: bool,
    output: String,
    errors: String,
}

/// Runs an import with a key in the environment; an empty key sets none.
fn import_with(key: &str, data: &Path, arguments: &[&str]) -> Imported {
    let mut all = vec!["import"];
    all.extend(arguments);
    let mut command = cuebase(data, &all);
    if !key.is_empty() {
        command.env("MEM0_API_KEY", key);
    }
    let output = command.output().expect("the binary runs");
    Imported {
        succeeded: output.status.success(),
        output: String::from_utf8_lossy(&output.stdout).into_owned(),
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs an import that must succeed.
fn import(data: &Path, arguments: &[&str]) -> Imported {
    let imported = import_with(KEY, data, arguments);
    assert!(imported.succeeded, "{}", imported.errors);
    imported
}

/// Returns the error of an import that must fail.
fn import_error(key: &str, data: &Path, arguments: &[&str]) -> String {
    let imported = import_with(key, data, arguments);
    assert!(!imported.succeeded, "{}", imported.output);
    imported.errors
}

/// Returns the head of a namespace; null if the namespace does not exist.
fn head(server: &Server, name: &str) -> Value {
    let listed = server.get("/v1/namespaces").body["namespaces"].clone();
    for namespace in listed.as_array().expect("a list") {
        if namespace["name"] == name {
            return namespace["head"].clone();
        }
    }
    Value::Null
}

#[test]
fn memories_of_a_mem0_user_arrive() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let mem0 = Mem0::start(Mem0Api::SelfHosted);
    mem0.add("alice", "Alice keeps bees in Lugano");
    mem0.add("bob", "Bob keeps goats in Oban");
    mem0.add("alice", "Alice sails on Sundays");
    let imported = import(&data, &[&mem0.url, "--user", "alice", "--namespace", "brought"]);
    assert!(imported.output.contains("(user alice): mem0: 2 files"), "{}", imported.output);
    assert!(imported.errors.is_empty(), "{}", imported.errors);
    let hits = server.retrieve("brought", "q=who+keeps+bees").hits();
    assert!(hits[0]["path"].as_str().expect("a path").starts_with("facts/alice/2026-05/mem0-"), "{hits:?}");
    let texts = server.retrieve("brought", "q=who+keeps+goats").contents();
    assert!(!texts.iter().any(|text| text.contains("Bob")), "{texts:?}");
}

#[test]
fn a_dry_run_from_mem0_changes_nothing() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let mem0 = Mem0::start(Mem0Api::SelfHosted);
    mem0.add("alice", "Alice keeps bees in Lugano");
    let imported = import(&data, &[&mem0.url, "--user", "alice", "--namespace", "brought", "--dry-run"]);
    assert!(imported.output.contains("1 files would be imported"), "{}", imported.output);
    assert_eq!(head(&server, "brought"), Value::Null);
}

#[test]
fn a_repeated_import_from_mem0_writes_only_what_is_new() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let mem0 = Mem0::start(Mem0Api::SelfHosted);
    mem0.add("alice", "Alice keeps bees in Lugano");
    mem0.add("alice", "Alice sails on Sundays");
    let arguments = [mem0.url.as_str(), "--user", "alice", "--namespace", "brought"];
    import(&data, &arguments);
    let before = head(&server, "brought");
    let again = import(&data, &arguments);
    assert!(again.output.contains("mem0: 2 files unchanged"), "{}", again.output);
    assert_eq!(head(&server, "brought"), before, "the repeated import changed something");
    mem0.add("alice", "Alice rows on Mondays");
    let later = import(&data, &arguments);
    assert!(later.output.contains("mem0: 1 files, 2 files unchanged"), "{}", later.output);
}

#[test]
fn all_pages_of_the_mem0_platform_are_fetched() {
    let (_folder, data) = fresh();
    let _server = Server::start(&data);
    let mem0 = Mem0::start(Mem0Api::Platform);
    mem0.add_many("alice", 250);
    mem0.add_many("bob", 3);
    let imported = import(&data, &[&mem0.url, "--user", "alice", "--dry-run"]);
    assert!(imported.output.contains("mem0: 250 files"), "{}", imported.output);
    assert!(imported.errors.is_empty(), "{}", imported.errors);
    let pages = mem0.requests().iter().filter(|request| request.starts_with("POST")).count();
    assert_eq!(pages, 3, "{:?}", mem0.requests());
}

#[test]
fn a_mem0_list_at_the_cap_of_the_server_is_reported() {
    let (_folder, data) = fresh();
    let _server = Server::start(&data);
    let mem0 = Mem0::start(Mem0Api::SelfHosted);
    mem0.add_many("alice", 1001);
    let imported = import(&data, &[&mem0.url, "--user", "alice", "--dry-run"]);
    assert!(imported.output.contains("mem0: 1000 files"), "{}", imported.output);
    assert!(imported.errors.contains("returns at most 1000"), "{}", imported.errors);
}

#[test]
fn a_mem0_server_that_ignores_top_k_is_reported() {
    let (_folder, data) = fresh();
    let _server = Server::start(&data);
    let earlier = Mem0::start(Mem0Api::Earlier);
    earlier.add_many("alice", 101);
    let imported = import(&data, &[&earlier.url, "--user", "alice", "--dry-run"]);
    assert!(imported.output.contains("mem0: 100 files"), "{}", imported.output);
    assert!(imported.errors.contains("does not know top_k"), "{}", imported.errors);
}

#[test]
fn exactly_100_memories_of_mem0_are_no_cut_list() {
    let (_folder, data) = fresh();
    let _server = Server::start(&data);
    let mem0 = Mem0::start(Mem0Api::SelfHosted);
    mem0.add_many("alice", 100);
    let imported = import(&data, &[&mem0.url, "--user", "alice", "--dry-run"]);
    assert!(imported.output.contains("mem0: 100 files"), "{}", imported.output);
    assert!(imported.errors.is_empty(), "{}", imported.errors);
}

#[test]
fn a_rejected_mem0_key_is_reported_without_the_key() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let mem0 = Mem0::start(Mem0Api::SelfHosted);
    mem0.add("alice", "Alice keeps bees in Lugano");
    let arguments = [mem0.url.as_str(), "--user", "alice", "--namespace", "brought"];
    let error = import_error("wrong-secret", &data, &arguments);
    assert!(error.contains("401") && error.contains("rejects the key in MEM0_API_KEY"), "{error}");
    assert!(!error.contains("wrong-secret"), "{error}");
    let error = import_error("", &data, &arguments);
    assert!(error.contains("requires a key") && error.contains("set MEM0_API_KEY"), "{error}");
    assert_eq!(head(&server, "brought"), Value::Null, "a failed import creates no namespace");
}

#[test]
fn another_server_is_not_taken_for_mem0() {
    let (_folder, data) = fresh();
    let _server = Server::start(&data);
    let nothing = fake::serve(|_| FakeResponse::Text(404, "not found".into()));
    let page = fake::serve(|_| FakeResponse::Text(200, "<html></html>".into()));
    let json = fake::serve(|_| FakeResponse::Json(200, json!({"status": "ok"})));
    for (url, says) in [(nothing, "GET /memories"), (page, "cannot be read"), (json, "no list of memories")] {
        let error = import_error(KEY, &data, &[&url, "--user", "alice"]);
        assert!(error.contains("not a mem0 server") && error.contains(says), "{error}");
        assert!(error.contains(&url), "{error}");
    }
}

#[test]
fn an_unreachable_mem0_server_is_reported() {
    let (_folder, data) = fresh();
    let _server = Server::start(&data);
    let error = import_error(KEY, &data, &["http://127.0.0.1:1", "--user", "alice"]);
    assert!(error.contains("http://127.0.0.1:1 (user alice)") && error.contains("does not respond"), "{error}");
}

#[test]
fn users_of_mem0_are_not_mixed_in_one_namespace() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let mem0 = Mem0::start(Mem0Api::SelfHosted);
    mem0.add("alice", "Alice keeps bees in Lugano");
    mem0.add("bob", "Bob keeps goats in Oban");
    let error = import_error(KEY, &data, &[&mem0.url, "--user", "alice", "--user", "bob"]);
    assert!(error.contains("mixed in the namespace default") && error.contains("--user bob=NAMESPACE"), "{error}");
    import(&data, &[&mem0.url, "--user", "alice=of-alice", "--user", "bob=of-bob"]);
    assert!(server.retrieve("of-alice", "q=bees").contents()[0].contains("Alice"));
    assert!(server.retrieve("of-bob", "q=goats").contents()[0].contains("Bob"));
}

#[test]
fn memories_of_another_mem0_user_are_refused() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let mem0 = Mem0::start(Mem0Api::Unfiltered);
    mem0.add("alice", "Alice keeps bees in Lugano");
    mem0.add("bob", "Bob keeps goats in Oban");
    let error = import_error(KEY, &data, &[&mem0.url, "--user", "alice", "--namespace", "brought"]);
    assert!(error.contains("memories of the user \"bob\""), "{error}");
    assert_eq!(head(&server, "brought"), Value::Null);
}

#[test]
fn an_unknown_mem0_user_creates_no_namespace() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let mem0 = Mem0::start(Mem0Api::SelfHosted);
    let imported = import(&data, &[&mem0.url, "--user", "alise", "--namespace", "brought"]);
    assert!(imported.output.contains("nothing new"), "{}", imported.output);
    assert!(imported.errors.contains("no memories of the user \"alise\""), "{}", imported.errors);
    assert_eq!(head(&server, "brought"), Value::Null);
}

#[test]
fn a_mem0_url_and_its_users_belong_together() {
    let (_folder, data) = fresh();
    let _server = Server::start(&data);
    for (arguments, says) in [
        (vec!["http://127.0.0.1:1"], "--user alice"),
        (vec!["export.json", "--user", "alice"], "--user selects"),
        (vec!["http://127.0.0.1:1", "--user", "alice", "--format", "zep"], "leave out --format"),
        (vec!["http://ida:secret@127.0.0.1:1", "--user", "alice"], "MEM0_API_KEY"),
    ] {
        let error = import_error(KEY, &data, &arguments);
        assert!(error.contains(says) && !error.contains("secret@"), "{arguments:?}: {error}");
    }
}

#[test]
fn a_file_with_several_users_is_reported() {
    let (folder, data) = fresh();
    let _server = Server::start(&data);
    let mem0 = json!([{"id": "1", "memory": "x", "user_id": "ida"}, {"id": "2", "memory": "y", "user_id": "joe"}]);
    let zep = json!([{"uuid": "1", "fact": "x", "group_id": "ida"}, {"uuid": "2", "fact": "y", "group_id": "joe"}]);
    for (name, content, says) in [("mem0.json", mem0, "2 users"), ("zep.json", zep, "2 groups")] {
        let file = folder.path().join(name);
        std::fs::write(&file, content.to_string()).expect("writes");
        let output = run(&data, &["import", file.to_str().expect("a path"), "--namespace", "brought"]);
        let warnings = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{warnings}");
        assert!(warnings.contains(says) && warnings.contains("\"ida\", \"joe\""), "{warnings}");
    }
}
