//! Order and deduplication of writes: which of several writes to one path wins, when a repeated body is a new write, and
//! how a start handles committed but unacknowledged messages.

/// Ids and usage when clocks jump.
mod clocks;
/// Terms and documents, which choose their files when they are ingested.
mod directories;
/// Which requests wait for which.
mod waiting;

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::disk::WatchedData;
use crate::support::provider::{Fault, Provider};
use crate::support::working_copy::WorkingCopy;
use crate::support::{Answer, Server, committed_messages, fresh, recorded_memories, repository, stdout, wait_for};

/// Statements in a conversation whose extraction takes longer than a direct write.
const LONG_CONVERSATION: usize = 2000;
/// Disk rule that kills the server after the next commit, which is then not acknowledged.
const AFTER_THE_COMMIT: &str = "killafter rename refs/heads/main 1";
/// Disk rules that keep accepted writes in the queue: writes to repositories fail.
const REPOSITORIES_FULL: [&str; 2] = ["enospc write repositories/ 0", "enospc open repositories/ 0"];

fn memory_at(path: &str) -> String {
    format!("/v1/memories/{path}")
}

fn write(server: &Server, path: &str, content: &str) -> Answer {
    let answer = server.post(&memory_at(path), &json!({"content": content}));
    assert!(matches!(answer.status, 200 | 201), "{answer:?}");
    answer
}

fn forget(server: &Server, path: &str) {
    let answer = server.call("DELETE", &memory_at(path), None);
    assert_eq!(answer.status, 202, "{answer:?}");
}

/// Returns the content at a path, or null.
fn content(server: &Server, path: &str) -> Value {
    server.get(&memory_at(path)).body["content"].clone()
}

fn holds(server: &Server, path: &str, text: &str) -> bool {
    content(server, path).as_str().is_some_and(|content| content.contains(text))
}

/// Returns a text field of a response.
fn text_field(answer: &Answer, field: &str) -> String {
    answer.body[field].as_str().expect("text").to_owned()
}

/// Counts the hits of a query that contain a text.
fn hits_with(server: &Server, query: &str, text: &str) -> usize {
    let hits = server.retrieve("default", &format!("q={query}&limit=10")).contents();
    hits.iter().filter(|hit| hit.contains(text)).count()
}

/// Posts skills or terms that must be accepted, and returns the id of the write.
fn post_accepted(server: &Server, path: &str, body: &Value) -> String {
    let answer = server.post(path, body);
    assert_eq!(answer.status, 202, "{answer:?}");
    answer.body["id"].as_str().expect("an id").to_owned()
}

fn server_accepting_pushes() -> (tempfile::TempDir, Server) {
    let (folder, data) = fresh();
    let server = Server::start_configured(&data, "[git]\naccept_push = true\n");
    (folder, server)
}

/// Returns a chat model whose calls wait while the lock is held.
fn blocked_model() -> (Provider, Arc<Mutex<()>>) {
    let (provider, gate) = (Provider::start(), Arc::new(Mutex::new(())));
    let model_gate = Arc::clone(&gate);
    provider.inject_faults(move || {
        drop(model_gate.lock());
        None
    });
    (provider, gate)
}

#[test]
fn a_committed_message_is_not_committed_again_after_a_kill() {
    for kill_point in [AFTER_THE_COMMIT, "killafter rename /state 1"] {
        let watched = WatchedData::new();
        let id = commit_and_kill(&watched, kill_point);
        assert_committed_once(&watched, &id, kill_point);
    }
}

#[test]
fn a_committed_message_is_not_committed_again_after_a_restore() {
    let mut watched = WatchedData::new();
    let id = commit_and_kill(&watched, AFTER_THE_COMMIT);
    let [backups, restored] = ["backups", "restored"].map(|name| watched.data.with_file_name(name));
    let backups = backups.to_str().expect("a path");
    stdout(&watched.data, &["backup", backups]);
    stdout(&restored, &["restore", backups]);
    let in_backup = committed_messages(&repository(&restored, "default"));
    assert!(in_backup.contains(&id), "the backup is without the commit");
    watched.data = restored;
    assert_committed_once(&watched, &id, "after the restore");
}

/// Posts a conversation whose extraction takes longer than a direct write. Returns the id of the write.
fn remember_long_conversation(server: &Server, namespace: &str) -> String {
    let texts: Vec<String> =
        (0..LONG_CONVERSATION).map(|n| format!("Shelf {n} of the archive carries jar number {}", n * 7)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    server.remember(namespace, &texts)
}

/// Kills the server after it committed a message and before it acknowledged the message. Returns the id of the message.
fn commit_and_kill(watched: &WatchedData, kill_point: &str) -> String {
    let mut server = watched.start();
    server.settle("default");
    wait_for("the record", || recorded_memories(&server, "default") == Some(1));
    // The worker has the message before the response is sent, so nothing can be committed until the response is here.
    watched.disk.set_rules(&REPOSITORIES_FULL);
    let id = remember_long_conversation(&server, "default");
    watched.disk.set_rules(&[kill_point]);
    wait_for("the server to end", || server.has_ended());
    server.kill();
    id
}

/// Starts the server on data with a committed and unacknowledged message, sends a direct write during the start, and checks
/// that the message is in git once.
fn assert_committed_once(watched: &WatchedData, id: &str, case: &str) {
    // The direct write arrives while the namespace is opened, so it is committed before the message is retried.
    watched.disk.set_rules(&["slow open indexes/ 200", "slow rename /state 300"]);
    let server = watched.start();
    write(&server, "facts/first.md", "# The first write after the start\n");
    watched.disk.set_rules(&[]);
    server.settle("default");
    let committed = committed_messages(&server.repository("default"));
    assert!(committed.contains(id), "{case}: {id} is not in git");
    // The undisturbed namespace has one marker memory; `default` has two of them and the direct write.
    server.namespace("twin");
    remember_long_conversation(&server, "twin");
    server.settle("twin");
    server.drain();
    let undisturbed = recorded_memories(&server, "twin").expect("a record");
    assert!(undisturbed > LONG_CONVERSATION as u64 / 2, "{undisturbed} memories");
    assert_eq!(recorded_memories(&server, "default"), Some(undisturbed + 2), "{case}");
}

#[test]
fn a_body_repeated_after_its_write_died_is_a_new_write() {
    let provider = Provider::start();
    let (_folder, data) = fresh();
    let settings = format!("{}timeout_ms = 2000\n[ingestion]\nretries = 0\n", provider.chat_settings());
    let server = Server::start_with_models(&data, &settings);
    provider.chat_fault(Some(Fault::WrongShape));
    let first = server.remember("default", &["The vault code is kept by Marit"]);
    wait_for("the dead letter", || stdout(&data, &["dead-letters", "list"]).contains(&first));
    provider.chat_fault(None);
    let second = server.remember("default", &["The vault code is kept by Marit"]);
    assert_ne!(first, second, "the response names the dead letter");
    server.settle("default");
    assert_eq!(hits_with(&server, "vault+code", "Marit"), 1);
    // The second write is alive, so the same body once more is the same write.
    assert_eq!(server.remember("default", &["The vault code is kept by Marit"]), second);
}

#[test]
fn a_skill_repeated_after_a_direct_write_is_stored_again() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let skill =
        json!({"skills": [{"name": "Descale the kettle", "content": "Use vinegar.", "path": "skills/kettle.md"}]});
    let first = post_accepted(&server, "/v1/skills", &skill);
    wait_for("the skill", || holds(&server, "skills/kettle.md", "vinegar"));
    write(&server, "skills/kettle.md", "# Descale the kettle\n\nUse lemon juice.\n");
    assert_ne!(post_accepted(&server, "/v1/skills", &skill), first);
    server.settle("default");
    assert!(holds(&server, "skills/kettle.md", "vinegar"), "{}", content(&server, "skills/kettle.md"));
}

#[test]
fn a_conversation_repeated_after_a_direct_write_is_a_new_write() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let said = "The beekeeper's smoker hangs behind the barn door";
    let first = server.remember("default", &[said]);
    server.settle("default");
    let hit = server.retrieve("default", "q=beekeeper+smoker&limit=1").hits()[0].clone();
    write(&server, hit["path"].as_str().expect("a path"), "# Nothing is known of the smoker\n");
    assert_ne!(server.remember("default", &[said]), first);
    server.settle("default");
    assert_eq!(hits_with(&server, "beekeeper+smoker", "barn door"), 1);
}

#[test]
fn a_conversation_repeated_after_a_forget_is_a_new_write() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let said = "The glazier's diamond lies in the upper drawer";
    let first = server.remember("default", &[said]);
    server.settle("default");
    let hit = server.retrieve("default", "q=glazier+diamond&limit=1").hits()[0].clone();
    forget(&server, hit["path"].as_str().expect("a path"));
    assert_ne!(server.remember("default", &[said]), first);
    server.settle("default");
    assert_eq!(hits_with(&server, "glazier+diamond", "upper drawer"), 1);
}

#[test]
fn a_skill_and_a_term_repeated_after_a_push_are_stored_again() {
    let (folder, server) = server_accepting_pushes();
    let skill = json!({"skills": [{"name": "Wax the skis", "content": "Use beeswax.", "path": "skills/skis.md"}]});
    let term = json!({"terms": [{"term": "Skadi", "definition": "Our oldest pair of skis."}]});
    let first = [post_accepted(&server, "/v1/skills", &skill), post_accepted(&server, "/v1/vocab", &term)];
    server.settle("default");
    let copy = WorkingCopy::of(&server, "default", &folder.path().join("copy"));
    copy.commit("skills/skis.md", "# Wax the skis\n\nUse paraffin.\n");
    copy.commit("vocab/skadi.md", "# Skadi\n\nA goddess.\n");
    assert!(copy.push());
    assert!(holds(&server, "skills/skis.md", "paraffin"));
    let second = [post_accepted(&server, "/v1/skills", &skill), post_accepted(&server, "/v1/vocab", &term)];
    assert!(first[0] != second[0] && first[1] != second[1], "{first:?} {second:?}");
    server.settle("default");
    assert!(holds(&server, "skills/skis.md", "beeswax"));
    let known = server.get("/v1/vocab?word=skadi").body["term"].clone();
    assert_eq!(known["definition"], "Our oldest pair of skis.", "{known}");
}

#[test]
fn a_body_repeated_after_unrelated_forgets_is_the_same_write() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    write(&server, "facts/stranger.md", "# A stranger's note\n");
    post_accepted(&server, "/v1/vocab", &json!({"terms": [{"term": "stranger"}]}));
    let said = "The night ferry takes the northern channel";
    let skill =
        json!({"skills": [{"name": "Moor the ferry", "content": "Two lines ashore.", "path": "skills/moor.md"}]});
    let term = json!({"terms": [{"term": "Lee", "definition": "The side away from the wind."}]});
    let send = || {
        [
            server.remember("default", &[said]),
            post_accepted(&server, "/v1/skills", &skill),
            post_accepted(&server, "/v1/vocab", &term),
        ]
    };
    let first = send();
    server.settle("default");
    forget(&server, "facts/stranger.md");
    forget(&server, "facts/never-written.md");
    assert_eq!(server.call("DELETE", "/v1/vocab?term=stranger,never-learned", None).status, 202);
    assert_eq!(send(), first, "repeated before the forgets were processed");
    server.settle("default");
    assert_eq!(send(), first, "repeated after the forgets were processed");
    server.settle("default");
    assert_eq!(hits_with(&server, "night+ferry", "northern channel"), 1);
}

#[test]
fn the_last_forget_or_direct_write_decides() {
    let (provider, gate) = blocked_model();
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, &provider.chat_settings());
    for path in ["facts/stays.md", "facts/goes.md"] {
        write(&server, path, "# The earlier text\n");
    }
    let closed = gate.lock();
    server.remember("default", &["The barge waits below the lock"]);
    forget(&server, "facts/stays.md");
    write(&server, "facts/stays.md", "# The later text\n");
    forget(&server, "facts/goes.md");
    write(&server, "facts/goes.md", "# The later text\n");
    forget(&server, "facts/goes.md");
    // A path that did not exist when it was forgotten.
    forget(&server, "facts/comes.md");
    write(&server, "facts/comes.md", "# The first text\n");
    assert_eq!(content(&server, "facts/stays.md"), "# The later text\n");
    drop(closed);
    server.settle("default");
    assert_eq!(content(&server, "facts/stays.md"), "# The later text\n");
    assert_eq!(content(&server, "facts/comes.md"), "# The first text\n");
    assert_eq!(server.get(&memory_at("facts/goes.md")).status, 404);
}

#[test]
fn a_direct_write_after_a_forget_survives_a_kill() {
    let (provider, gate) = blocked_model();
    let (_folder, data) = fresh();
    let settings = provider.chat_settings();
    let server = Server::start_with_models(&data, &settings);
    write(&server, "facts/p.md", "# The earlier text\n");
    let closed = gate.lock();
    server.remember("default", &["The tug tows two lighters upstream"]);
    forget(&server, "facts/p.md");
    write(&server, "facts/p.md", "# The later text\n");
    server.kill();
    drop(closed);
    let server = Server::start_with_models(&data, &settings);
    server.settle("default");
    assert_eq!(content(&server, "facts/p.md"), "# The later text\n");
    assert_eq!(hits_with(&server, "tug+tows", "lighters"), 1);
}

#[test]
fn a_queued_skill_does_not_overwrite_a_later_direct_write() {
    let (provider, gate) = blocked_model();
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, &provider.chat_settings());
    let closed = gate.lock();
    server.remember("default", &["The crane lifts the last crate ashore"]);
    let skills = json!([
        {"name": "Oil the crane", "content": "Once a month.", "path": "skills/crane.md"},
        {"name": "Paint the crane", "content": "Once a year.", "path": "skills/paint.md"},
    ]);
    post_accepted(&server, "/v1/skills", &json!({"skills": skills}));
    write(&server, "skills/crane.md", "# Oil the crane\n\nOnce a week.\n");
    drop(closed);
    server.settle("default");
    assert!(holds(&server, "skills/crane.md", "Once a week."), "{}", content(&server, "skills/crane.md"));
    assert!(holds(&server, "skills/paint.md", "Once a year."), "the other skill of the request is stored");
}

#[test]
fn a_queued_forget_does_not_remove_a_later_push() {
    let (provider, gate) = blocked_model();
    let (folder, data) = fresh();
    let settings = format!("{}[git]\naccept_push = true\n", provider.chat_settings());
    let server = Server::start_with_models(&data, &settings);
    write(&server, "facts/p.md", "# The earlier text\n");
    let copy = WorkingCopy::of(&server, "default", &folder.path().join("copy"));
    let closed = gate.lock();
    server.remember("default", &["The pilot boards at the outer buoy"]);
    forget(&server, "facts/p.md");
    copy.commit("facts/p.md", "# The pushed text\n");
    assert!(copy.push());
    drop(closed);
    server.settle("default");
    assert!(holds(&server, "facts/p.md", "The pushed text"), "{}", content(&server, "facts/p.md"));
}
