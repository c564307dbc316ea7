//! Fairness between clients: accounts take turns in the queue, listings show only the account's own entries, and large
//! directories do not take memory from others.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::provider::{Fault, Provider};
use crate::support::working_copy::WorkingCopy;
use crate::support::{Server, fresh, stdout, wait_for};

/// Namespaces of one account with one queued conversation each.
const QUEUED_NAMESPACES: usize = 300;
/// Duration of the extraction of a conversation, milliseconds. Half of the queue takes many seconds, so that a short
/// delay of the test or of the guest's extraction changes nothing.
const EXTRACTION_MS: u64 = 500;
/// Writes that become dead letters.
const DEAD_LETTERS: usize = 5;
/// Memories in one directory, pushed in one commit.
const PUSHED_MEMORIES: usize = 3000;
/// Direct writes into that directory. Each path is written twice.
const DIRECT_WRITES: usize = 60;
/// The same for retrieves: few of them run at once, so more directories are needed to show what one of them takes.
const DIRECT_WRITES_BEFORE_RETRIEVES: usize = 300;
/// Concurrent readers of histories.
const READERS: usize = 8;
/// Limit for the memory that the readers add to the server, bytes.
const READERS_BYTES_MAX: u64 = 100 << 20;

fn conversation(namespace: &str, said: &str) -> Value {
    json!({"namespace": namespace, "messages": [{"role": "user", "content": said}]})
}

/// Counts the hits of a query with a key that contain a text.
fn hits_as(server: &Server, key: &str, query: &str, text: &str) -> usize {
    let answer = server.call_as(key, "GET", &format!("/v1/retrieve?namespace=default&q={query}"), None);
    answer.contents().iter().filter(|content| content.contains(text)).count()
}

#[test]
fn a_write_does_not_wait_for_the_queue_of_another_account() {
    let (provider, gate) = (Provider::start(), Arc::new(Mutex::new(())));
    let model_gate = Arc::clone(&gate);
    provider.inject_faults(move || {
        drop(model_gate.lock());
        Some(Fault::Slow(EXTRACTION_MS))
    });
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, &provider.chat_settings());
    let guest = stdout(&data, &["keys", "create", "--account", "guest"]);
    let made = server.call_as(&guest, "POST", "/v1/namespaces", Some(&json!({"name": "default"})));
    assert!(matches!(made.status, 200 | 201), "{made:?}");
    for number in 0..QUEUED_NAMESPACES {
        server.namespace(&format!("n{number}"));
    }
    // The model waits until everything is queued.
    let closed = gate.lock();
    for number in 0..QUEUED_NAMESPACES {
        let sent = server.post("/v1/memories", &conversation(&format!("n{number}"), "The tide turns at noon today"));
        assert_eq!(sent.status, 202, "{sent:?}");
    }
    let body = conversation("default", "The guest keeps a parrot called Rufus");
    assert_eq!(server.call_as(&guest, "POST", "/v1/memories", Some(&body)).status, 202);
    drop(closed);
    wait_for("the guest's memory", || hits_as(&server, &guest, "parrot", "Rufus") > 0);
    let waiting = server.get("/v1/queue").body["waiting"].as_u64().expect("a number");
    assert!(
        waiting > QUEUED_NAMESPACES as u64 / 2,
        "{waiting} of {QUEUED_NAMESPACES} writes waited when the guest's write was ingested"
    );
}

/// Starts a server with dead letters of the account `default`. Returns the ids, oldest first.
fn server_with_dead_letters() -> (tempfile::TempDir, Server, Vec<String>) {
    let provider = Provider::start();
    provider.chat_fault(Some(Fault::WrongShape));
    let (folder, data) = fresh();
    let settings = format!("{}timeout_ms = 2000\n[ingestion]\nretries = 0\n", provider.chat_settings());
    let server = Server::start_with_models(&data, &settings);
    let mut ids = Vec::new();
    for number in 0..DEAD_LETTERS {
        ids.push(server.remember("default", &[&format!("Cabin {number} is painted blue")]));
    }
    wait_for("the dead letters", || {
        let letters = server.get("/v1/queue").body["dead_letters"].clone();
        letters.as_array().map(Vec::len) == Some(DEAD_LETTERS)
    });
    (folder, server, ids)
}

fn ids_of(page: &Value) -> Vec<String> {
    let mut ids = Vec::new();
    for letter in page["dead_letters"].as_array().into_iter().flatten() {
        ids.push(letter["id"].as_str().expect("an id").to_owned());
    }
    ids
}

#[test]
fn dead_letters_are_listed_in_pages_each_once() {
    let (_folder, server, ids) = server_with_dead_letters();
    let mut listed = Vec::new();
    let mut page = server.get("/v1/queue?limit=2").body;
    loop {
        let shown = ids_of(&page);
        assert!(!shown.is_empty() && shown.len() <= 2, "{page}");
        listed.extend(shown);
        let Some(next) = page["next"].as_str() else { break };
        page = server.get(&format!("/v1/queue?limit=2&after={next}")).body;
    }
    assert_eq!(listed, ids);
}

#[test]
fn the_last_page_of_dead_letters_has_no_next() {
    let (_folder, server, ids) = server_with_dead_letters();
    let page = server.get(&format!("/v1/queue?limit={DEAD_LETTERS}")).body;
    assert_eq!((ids_of(&page), page.get("next")), (ids, None));
}

#[test]
fn another_account_sees_no_dead_letters() {
    let (_folder, server, ids) = server_with_dead_letters();
    let stranger = stdout(&server.data, &["keys", "create", "--account", "stranger"]);
    for path in ["/v1/queue".to_owned(), format!("/v1/queue?after={}", ids[0])] {
        let answer = server.call_as(&stranger, "GET", &path, None);
        assert_eq!((answer.status, &answer.body["dead_letters"]), (200, &json!([])), "{answer:?}");
        assert!(ids.iter().all(|id| !answer.body.to_string().contains(id)), "{answer:?}");
    }
}

/// Starts a server whose namespace `default` has a directory with thousands of pushed memories and later direct writes.
/// Returns the server and the pushed commit.
fn server_with_large_directory(folder: &Path, data: &Path, direct_writes: usize) -> (Server, String) {
    let settings = "[git]\naccept_push = true\n";
    let server = Server::start_configured(data, settings);
    let first = server.post("/v1/memories/facts/first.md", &json!({"content": "# The first note\n"}));
    assert_eq!(first.status, 201, "{first:?}");
    let copy = WorkingCopy::of(&server, "default", &folder.join("copy"));
    let shore = folder.join("copy/facts/shore");
    std::fs::create_dir_all(&shore).expect("creates");
    for number in 0..PUSHED_MEMORIES {
        std::fs::write(shore.join(format!("pebble-{number}.md")), format!("# Pebble {number}\n")).expect("writes");
    }
    copy.commit("facts/shore/wrack.md", "# The wrack line\n");
    assert!(copy.push());
    for number in 0..direct_writes {
        let path = format!("/v1/memories/facts/shore/shell-{}.md", number % (direct_writes / 2));
        let written = server.post(&path, &json!({"content": format!("# Shell of write {number}\n")}));
        assert!(matches!(written.status, 200 | 201), "{written:?}");
    }
    let pushed = copy.head();
    // A new process, so that its peak memory comes only from the measured requests.
    assert!(server.terminate());
    (Server::start_configured(data, settings), pushed)
}

#[test]
fn histories_in_a_large_directory_are_correct() {
    let (folder, data) = fresh();
    let (server, pushed) = server_with_large_directory(folder.path(), &data, DIRECT_WRITES);
    let read = |path: &str| server.get(&format!("/v1/memories/facts/shore/{path}?detail=full")).body;
    let pebble = read("pebble-17.md");
    assert_eq!(pebble["revisions"].as_array().map(Vec::len), Some(1), "{pebble}");
    assert_eq!(pebble["revisions"][0]["commit"], json!(pushed), "{pebble}");
    assert!(pebble["last_diff"].as_str().is_some_and(|diff| diff.contains("+# Pebble 17")), "{pebble}");
    let (oldest, newest) = (7, 7 + DIRECT_WRITES / 2);
    let shell = read(&format!("shell-{oldest}.md"));
    assert_eq!(shell["revisions"].as_array().map(Vec::len), Some(2), "{shell}");
    let diff = shell["last_diff"].as_str().unwrap_or_default();
    let shows = |line: String| diff.lines().any(|shown| shown == line);
    assert!(shows(format!("-# Shell of write {oldest}")) && shows(format!("+# Shell of write {newest}")), "{diff}");
}

#[test]
fn reading_histories_in_a_large_directory_takes_little_memory() {
    assert_histories_take_little_memory("/v1/memories/facts/shore/pebble-17.md?detail=full", DIRECT_WRITES);
}

#[test]
fn retrieving_histories_in_a_large_directory_takes_little_memory() {
    let path = "/v1/retrieve?namespace=default&q=pebble&limit=20&detail=full";
    assert_histories_take_little_memory(path, DIRECT_WRITES_BEFORE_RETRIEVES);
}

/// Reads a path with several clients at once, and checks that all get their answer and that it takes little memory.
fn assert_histories_take_little_memory(path: &str, direct_writes: usize) {
    let (folder, data) = fresh();
    let (server, _) = server_with_large_directory(folder.path(), &data, direct_writes);
    assert_eq!(server.get("/v1/memories/facts/shore/pebble-17.md").status, 200);
    assert_eq!(server.retrieve("default", "q=pebble").status, 200);
    let before = server.peak_bytes();
    std::thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                let full = server.get(path);
                assert_eq!(full.status, 200, "{full:?}");
                assert!(full.body.to_string().contains("\"last_diff\":"), "{full:?}");
            });
        }
    });
    let grown = server.peak_bytes() - before;
    assert!(grown < READERS_BYTES_MAX, "{READERS} histories took {} MiB", grown >> 20);
}
