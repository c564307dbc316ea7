//! Namespaces that are deleted and created again under the same name. The former one is deleted for good, also after
//! failures and concurrent writes, and the next one contains nothing of it.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::disk::WatchedData;
use crate::support::provider::{Fault, Provider};
use crate::support::{
    Answer, Server, SetOnDrop, committed_messages, cuebase, files_below, fresh, generations, git, metrics,
    metrics_address, recorded_memories, run, stdout, wait_for, with_models,
};

/// Deletions during writes.
const DELETIONS: usize = 40;
/// Clients that write during the deletions.
const CLIENTS: usize = 4;
/// Conversations of an import during which its namespace is deleted.
const CONVERSATIONS: usize = 400;
/// Imports whose namespace is deleted, each time a little later.
const IMPORTS: usize = 4;

fn delete(server: &Server, session: &str, name: &str) -> Answer {
    server.call_as(session, "DELETE", &format!("/v1/namespaces/{name}"), None)
}

fn write(server: &Server, namespace: &str, path: &str, content: &str) {
    let body = json!({"namespace": namespace, "content": content});
    let answer = server.post(&format!("/v1/memories/{path}"), &body);
    assert_eq!(answer.status, 201, "{answer:?}");
}

fn status_of(server: &Server, namespace: &str, path: &str) -> u16 {
    server.get(&format!("/v1/memories/{path}?namespace={namespace}")).status
}

fn text(answer: &Answer, field: &str) -> String {
    answer.body[field].as_str().unwrap_or_else(|| panic!("{field} in {answer:?}")).to_owned()
}

/// Returns the status of a GET of a signed URL.
fn status_of_url(url: &str) -> u16 {
    reqwest::blocking::get(url).expect("answers").status().as_u16()
}

/// Returns whether a hit for a query contains a text.
fn is_found(server: &Server, namespace: &str, query: &str, text: &str) -> bool {
    let hits = server.retrieve(namespace, &format!("q={query}&limit=10")).contents();
    hits.iter().any(|hit| hit.contains(text))
}

/// Returns whether a file of repositories, indexes, media or trash contains a text.
fn is_on_disk(data: &Path, text: &str) -> bool {
    for folder in ["repositories", "indexes", "media", "trash"] {
        for file in files_below(&data.join(folder)) {
            // The server may remove files meanwhile.
            let Ok(bytes) = std::fs::read(file) else { continue };
            if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                return true;
            }
        }
    }
    false
}

fn assert_sound(data: &Path) {
    let examined = run(data, &["doctor"]);
    assert!(examined.status.success(), "{}", String::from_utf8_lossy(&examined.stdout));
}

#[test]
fn a_namespace_is_deleted_although_its_files_cannot_be_removed() {
    for name in ["archive", "default"] {
        for rules in [
            &["enospc mkdir trash 0"][..],
            &["enospc rename trash 0"],
            &["eio unlink repositories/ 0", "eio unlink indexes/ 0", "eio unlink media/ 0", "eio unlink trash 0"],
        ] {
            let watched = WatchedData::new();
            let server = watched.start();
            let session = stdout(&watched.data, &["token"]);
            server.namespace(name);
            write(&server, name, "facts/secret.md", "# The walrus statue is hollow\n");
            server.remember(name, &["The walrus statue holds the spare key"]);
            let media = server.post(&format!("/v1/media?namespace={name}"), &json!("walrus picture"));
            let url = text(&server.get(&format!("/v1/media/{}", text(&media, "id"))), "url");
            server.settle(name);

            watched.disk.set_rules(rules);
            let deleted = delete(&server, &session, name);
            assert_eq!((deleted.status, &deleted.body["deleted"]), (200, &json!(true)), "{rules:?} {deleted:?}");
            server.namespace(name);
            assert_eq!(status_of(&server, name, "facts/secret.md"), 404, "{name} {rules:?}");
            assert!(!is_found(&server, name, "walrus+statue", "walrus"), "{name} {rules:?}");
            assert_eq!(status_of_url(&url), 403, "{name} {rules:?}");
            watched.disk.set_rules(&[]);
            for number in 0..3 {
                write(&server, name, &format!("facts/new{number}.md"), "# The otter moved in\n");
            }
            server.remember(name, &["The otter pays its rent in fish"]);
            server.settle(name);
            server.kill();

            let server = watched.start();
            server.settle(name);
            for number in 0..3 {
                assert_eq!(status_of(&server, name, &format!("facts/new{number}.md")), 200, "{name} {rules:?}");
            }
            assert!(is_found(&server, name, "otter+rent", "fish"), "{name} {rules:?}");
            assert!(!is_found(&server, name, "walrus+statue", "walrus"), "{name} {rules:?}");
            assert_sound(&watched.data);
            let repositories = watched.data.join("repositories/default");
            wait_for("the files of the former namespace to be removed", || {
                generations(&repositories, name, ".git").len() == 1 && !is_on_disk(&watched.data, "walrus picture")
            });
        }
    }
}

#[test]
fn leftover_files_are_removed_without_a_restart() {
    let watched = WatchedData::new();
    let server = watched.start();
    let session = stdout(&watched.data, &["token"]);
    server.namespace("archive");
    let media = server.post("/v1/media?namespace=archive", &json!("walrus picture"));
    assert_eq!(media.status, 201);
    watched.disk.set_rules(&[
        "eio unlink repositories/ 0",
        "eio unlink media/ 0",
        "eio unlink trash 0",
        "enospc mkdir trash 0",
    ]);
    assert_eq!(delete(&server, &session, "archive").status, 200);
    watched.disk.set_rules(&[]);
    // Pending removals finish before the name is used again.
    server.namespace("archive");
    wait_for("the file to be removed", || !is_on_disk(&watched.data, "walrus picture"));
}

/// A chat model that blocks calls while its gate is locked, and returns unusable responses until it has recovered.
struct FailingModel {
    provider: Provider,
    gate: Arc<Mutex<()>>,
    calls: Arc<AtomicUsize>,
    has_recovered: Arc<AtomicBool>,
}

impl FailingModel {
    fn new() -> Self {
        let provider = Provider::start();
        let model = Self { provider, gate: Arc::default(), calls: Arc::default(), has_recovered: Arc::default() };
        let gate = Arc::clone(&model.gate);
        let calls = Arc::clone(&model.calls);
        let has_recovered = Arc::clone(&model.has_recovered);
        model.provider.inject_faults(move || {
            // The fault is chosen when the call arrives, before it is blocked.
            let fault = if has_recovered.load(Ordering::SeqCst) { None } else { Some(Fault::WrongShape) };
            calls.fetch_add(1, Ordering::SeqCst);
            drop(gate.lock());
            fault
        });
        model
    }
}

/// Makes a write fail while its namespace is deleted and created again. The model recovers afterwards.
fn fail_write_during_deletion(retries: u32) -> (tempfile::TempDir, Server, String) {
    let model = FailingModel::new();
    let (folder, data) = fresh();
    let settings = format!(
        "{}timeout_ms = 2000\n[ingestion]\nretries = {retries}\nbackoff_ms = 20\n",
        model.provider.chat_settings()
    );
    let (address, url) = metrics_address();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--metrics-listen", address.as_str()];
    let mut server = Server::try_start(&data, with_models(&data, &settings, &serve)).expect("the server starts");
    server.key = stdout(&data, &["keys", "create"]);
    let session = stdout(&data, &["token"]);
    server.namespace("vault");
    let closed = model.gate.lock();
    let id = server.remember("vault", &["The vault code is kept by Marit"]);
    wait_for("the model to be asked", || model.calls.load(Ordering::SeqCst) > 0);
    assert_eq!(delete(&server, &session, "vault").status, 200);
    server.namespace("vault");
    drop(closed);
    wait_for("the write to be finished or to have failed", || {
        let failed = metrics(&url).lines().any(|line| {
            line.starts_with("cuebase_ingested_total{outcome=\"failed\"}")
                || line.starts_with("cuebase_ingested_total{outcome=\"buried\"}")
        });
        failed || server.get("/v1/queue").body["waiting"] == 0
    });
    model.has_recovered.store(true, Ordering::SeqCst);
    server.settle("vault");
    (folder, server, id)
}

#[test]
fn a_failing_write_does_not_reach_a_recreated_namespace() {
    let (_folder, server, id) = fail_write_during_deletion(1000);
    assert!(!is_found(&server, "vault", "vault+code", "Marit"));
    assert!(!committed_messages(&server.repository("vault")).contains(&id));
    server.drain();
    assert_eq!(recorded_memories(&server, "vault"), Some(1), "only the last write of `settle`");
}

#[test]
fn a_write_to_a_deleted_namespace_leaves_no_dead_letter() {
    let (_folder, server, _) = fail_write_during_deletion(0);
    assert_eq!(stdout(&server.data, &["dead-letters", "list"]), "");
    assert!(server.get("/v1/queue").body["dead_letters"].as_array().is_none_or(Vec::is_empty));
    server.drain();
    assert_eq!(recorded_memories(&server, "vault"), Some(1), "only the last write of `settle`");
}

/// Ids and URLs of acknowledged writes to a namespace.
#[derive(Default)]
struct AcknowledgedWrites {
    media: Vec<String>,
    urls: Vec<String>,
    conversations: Vec<String>,
}

/// Sends writes of each kind in turn until the namespace is deleted.
fn write_until_gone(
    server: &Server,
    client: usize,
    stop: &AtomicBool,
    acknowledged: &AtomicUsize,
    written: &Mutex<AcknowledgedWrites>,
) {
    let mut turn = 0;
    while !stop.load(Ordering::SeqCst) {
        let mark = format!("walrus{client}n{turn}x");
        let (path, body) = match turn % 6 {
            0 => ("/v1/media?namespace=n".to_owned(), json!(mark)),
            1 => ("/v1/conversations".to_owned(), json!({"namespace": "n", "title": mark})),
            2 => ("/v1/vocab".to_owned(), json!({"namespace": "n", "terms": [{"term": mark}]})),
            3 => (
                format!("/v1/memories/facts/{mark}.md"),
                json!({"namespace": "n", "content": format!("# The {mark}\n")}),
            ),
            4 => {
                let message = json!({"role": "user", "content": format!("The {mark} is seen at dusk")});
                ("/v1/memories".to_owned(), json!({"namespace": "n", "messages": [message]}))
            }
            _ => {
                ("/v1/skills".to_owned(), json!({"namespace": "n", "skills": [{"name": mark, "content": "1. Wait."}]}))
            }
        };
        let answer = server.post(&path, &body);
        if answer.status == 404 {
            return;
        }
        assert!((200..300).contains(&answer.status), "{path}: {answer:?}");
        acknowledged.fetch_add(1, Ordering::SeqCst);
        match turn % 6 {
            0 => {
                let id = text(&answer, "id");
                let address = server.get(&format!("/v1/media/{id}"));
                let mut written = written.lock();
                written.urls.extend(address.body["url"].as_str().map(str::to_owned));
                written.media.push(id);
            }
            1 => {
                let id = text(&answer, "id");
                let message = json!({"messages": [{"role": "user", "content": format!("The {mark} barks at noon")}]});
                server.post(&format!("/v1/conversations/{id}/messages"), &message);
                written.lock().conversations.push(id);
            }
            _ => {}
        }
        turn += 1;
    }
}

/// Checks that no write to a deleted namespace can be read, and that the new namespace of its name is empty.
fn assert_gone(server: &Server, written: &AcknowledgedWrites) {
    for id in &written.media {
        assert_eq!(server.get(&format!("/v1/media/{id}")).status, 404, "media {id}");
    }
    for url in &written.urls {
        assert_eq!(status_of_url(url), 403, "{url}");
    }
    for id in &written.conversations {
        assert_eq!(server.get(&format!("/v1/conversations/{id}")).status, 404, "conversation {id}");
    }
    server.settle("n");
    for (path, field) in [("/v1/conversations", "conversations"), ("/v1/vocab", "terms"), ("/v1/skills", "skills")] {
        let listed = server.get(&format!("{path}?namespace=n")).body[field].clone();
        assert_eq!(listed, json!([]), "{path}");
    }
    assert!(!is_found(server, "n", "walrus", "walrus"));
    server.drain();
    assert_eq!(recorded_memories(server, "n"), Some(1), "only the last write of `settle`");
}

#[test]
fn writes_concurrent_with_a_deletion_leave_nothing_behind() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let session = stdout(&data, &["token"]);
    server.namespace("n");
    for round in 0..DELETIONS {
        let (stop, acknowledged) = (AtomicBool::new(false), AtomicUsize::new(0));
        let written = Mutex::new(AcknowledgedWrites::default());
        let deleted = std::thread::scope(|scope| {
            let _stop = SetOnDrop(&stop);
            let clients: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    let (server, stop, acknowledged, written) = (&server, &stop, &acknowledged, &written);
                    scope.spawn(move || write_until_gone(server, client, stop, acknowledged, written))
                })
                .collect();
            // In each round the deletion comes after more writes.
            wait_for("writes", || {
                acknowledged.load(Ordering::SeqCst) > round % 30
                    || clients.iter().any(std::thread::ScopedJoinHandle::is_finished)
            });
            let deleted = delete(&server, &session, "n");
            if deleted.status == 200 {
                clients.into_iter().for_each(|client| client.join().expect("every write is answered"));
            }
            deleted
        });
        assert_eq!(deleted.status, 200, "{deleted:?}");
        server.namespace("n");
        assert_gone(&server, &written.into_inner());
    }
    assert_eq!(delete(&server, &session, "n").status, 200);
    wait_for("every file to be removed", || {
        let folders = ["repositories/default", "indexes/default"].map(|name| data.join(name));
        let endings = [".git", ""];
        let left = folders.iter().zip(endings).map(|(folder, ending)| generations(folder, "n", ending).len());
        left.sum::<usize>() == 0 && files_below(&data.join("media")).is_empty()
    });
    assert!(server.terminate());
    assert_sound(&data);
}

#[test]
fn an_import_interrupted_by_a_deletion_can_be_repeated() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let session = stdout(&data, &["token"]);
    let mut lines = String::new();
    for number in 0..CONVERSATIONS {
        let content = format!("The parcel mark{number}x lies in the cellar of house {number}.");
        lines += &json!({"messages": [{"role": "user", "content": content}]}).to_string();
        lines.push('\n');
    }
    let file = folder.path().join("chats.jsonl");
    std::fs::write(&file, lines).expect("writes");
    let arguments = ["import", file.to_str().expect("a path"), "--namespace", "brought"];
    for round in 0..IMPORTS {
        server.namespace("brought");
        let mut command = cuebase(&data, &arguments);
        let mut importing = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts");
        wait_for("the import to make progress", || {
            let so_far = recorded_memories(&server, "brought").unwrap_or_default();
            so_far > 4 * round as u64 || importing.try_wait().expect("reads the state of the process").is_some()
        });
        assert_eq!(delete(&server, &session, "brought").status, 200);
        // The import may succeed or fail, since its namespace is deleted.
        importing.wait().expect("ends");
        server.namespace("brought");
        stdout(&data, &arguments);
        server.settle("brought");
        let repository = server.repository("brought");
        committed_messages(&repository);
        let mut marks: Vec<String> = Vec::new();
        for found in git(&repository, &["grep", "-ohE", "^# .*mark[0-9]+x", "main"]).lines() {
            marks.extend(found.split("mark").nth(1).and_then(|rest| rest.split('x').next()).map(str::to_owned));
        }
        let all = marks.len();
        marks.sort();
        marks.dedup();
        assert_eq!((marks.len(), all), (CONVERSATIONS, CONVERSATIONS), "round {round}: memories were lost or repeated");
        assert_eq!(delete(&server, &session, "brought").status, 200);
    }
}

#[test]
fn a_repeated_body_is_a_new_write_in_a_recreated_namespace() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let session = stdout(&data, &["token"]);
    let body = json!({"namespace": "n", "messages": [{"role": "user", "content": "The gull nests on the crane"}]});
    let mut ids: Vec<Value> = Vec::new();
    // Also if two generations are created within one millisecond.
    for _ in 0..5 {
        server.namespace("n");
        let accepted = server.post("/v1/memories", &body);
        assert_eq!(accepted.status, 202, "{accepted:?}");
        ids.push(accepted.body["id"].clone());
        assert_eq!(delete(&server, &session, "n").status, 200);
    }
    server.namespace("n");
    ids.push(server.post("/v1/memories", &body).body["id"].clone());
    let all = ids.len();
    ids.sort_by_key(Value::to_string);
    ids.dedup();
    assert_eq!(ids.len(), all, "{ids:?}");
    server.settle("n");
    let hits = server.retrieve("n", "q=gull+nests&limit=10").contents();
    assert_eq!(hits.iter().filter(|hit| hit.contains("crane")).count(), 1, "{hits:?}");
}
