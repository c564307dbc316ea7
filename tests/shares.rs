//! What one client stores or sends does not cost the others: turns at the queue, listings of one's own, histories in
//! directories of thousands.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::provider::{Fault, Provider};
use crate::support::working_copy::WorkingCopy;
use crate::support::{Server, fresh, stdout, wait_for};

/// Namespaces of one account with a conversation each.
const FLOOD: usize = 300;
/// What the extraction of a conversation takes, milliseconds.
const EXTRACTION_MS: u64 = 50;
/// Writes that die.
const LETTERS: usize = 5;
/// Memories of one directory that are pushed in one commit.
const PUSHED: usize = 3000;
/// Direct writes into that directory, to half as many paths.
const DIRECT: usize = 60;
/// Readers of a memory's history at once.
const READERS: usize = 8;
/// What they may add to the memory that the server takes, bytes.
const READERS_BYTES_MAX: u64 = 100 << 20;

fn conversation(namespace: &str, said: &str) -> Value {
    json!({"namespace": namespace, "messages": [{"role": "user", "content": said}]})
}

/// How many hits of a retrieve as an account hold a text.
fn hits_as(server: &Server, key: &str, query: &str, text: &str) -> usize {
    let answer = server.call_as(key, "GET", &format!("/v1/retrieve?namespace=default&q={query}"), None);
    answer.contents().iter().filter(|content| content.contains(text)).count()
}

#[test]
fn a_write_of_one_account_does_not_wait_for_the_hundreds_that_another_one_queued() {
    let (provider, gate) = (Provider::start(), Arc::new(Mutex::new(())));
    let passage = Arc::clone(&gate);
    provider.chance(move || {
        drop(passage.lock());
        Some(Fault::Slow(EXTRACTION_MS))
    });
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, &provider.chat_settings());
    let guest = stdout(&data, &["keys", "create", "--account", "guest"]);
    let made = server.call_as(&guest, "POST", "/v1/namespaces", Some(&json!({"name": "default"})));
    assert!(matches!(made.status, 200 | 201), "{made:?}");
    for number in 0..FLOOD {
        server.namespace(&format!("n{number}"));
    }
    // Nothing is ingested before all of it is queued.
    let closed = gate.lock();
    for number in 0..FLOOD {
        let sent = server.post("/v1/memories", &conversation(&format!("n{number}"), "The tide turns at noon today"));
        assert_eq!(sent.status, 202, "{sent:?}");
    }
    let body = conversation("default", "The guest keeps a parrot called Rufus");
    assert_eq!(server.call_as(&guest, "POST", "/v1/memories", Some(&body)).status, 202);
    drop(closed);
    wait_for("the guest's memory", || hits_as(&server, &guest, "parrot", "Rufus") > 0);
    let waiting = server.get("/v1/queue").body["waiting"].as_u64().expect("a number");
    assert!(waiting > FLOOD as u64 / 2, "{waiting} of {FLOOD} were left when the guest's write was ingested");
}

/// A server with dead letters of the account `default`, and their ids, the oldest first.
fn with_dead_letters() -> (tempfile::TempDir, Server, Vec<String>) {
    let provider = Provider::start();
    provider.chat_fault(Some(Fault::WrongShape));
    let (folder, data) = fresh();
    let settings = format!("{}timeout_ms = 2000\n[ingestion]\nretries = 0\n", provider.chat_settings());
    let server = Server::start_with_models(&data, &settings);
    let mut ids = Vec::new();
    for number in 0..LETTERS {
        ids.push(server.remember("default", &[&format!("Cabin {number} is painted blue")]));
    }
    wait_for("the writes to die", || {
        let letters = server.get("/v1/queue").body["dead_letters"].clone();
        letters.as_array().map(Vec::len) == Some(LETTERS)
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
    let (_folder, server, ids) = with_dead_letters();
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
fn a_page_that_holds_every_dead_letter_names_no_next_one() {
    let (_folder, server, ids) = with_dead_letters();
    let page = server.get(&format!("/v1/queue?limit={LETTERS}")).body;
    assert_eq!((ids_of(&page), page.get("next")), (ids, None));
}

#[test]
fn a_stranger_sees_no_dead_letter_of_another_account() {
    let (_folder, server, ids) = with_dead_letters();
    let stranger = stdout(&server.data, &["keys", "create", "--account", "stranger"]);
    for path in ["/v1/queue".to_owned(), format!("/v1/queue?after={}", ids[0])] {
        let answer = server.call_as(&stranger, "GET", &path, None);
        assert_eq!((answer.status, &answer.body["dead_letters"]), (200, &json!([])), "{answer:?}");
        assert!(ids.iter().all(|id| !answer.body.to_string().contains(id)), "{answer:?}");
    }
}

/// A server on a data directory whose namespace `default` has a directory with thousands of pushed memories, into which
/// dozens were written directly since; and the commit that was pushed.
fn with_large_directory(folder: &Path, data: &Path) -> (Server, String) {
    let settings = "[git]\naccept_push = true\n";
    let server = Server::start_configured(data, settings);
    let first = server.post("/v1/memories/facts/first.md", &json!({"content": "# The first note\n"}));
    assert_eq!(first.status, 201, "{first:?}");
    let copy = WorkingCopy::of(&server, "default", &folder.join("copy"));
    let shore = folder.join("copy/facts/shore");
    std::fs::create_dir_all(&shore).expect("creates");
    for number in 0..PUSHED {
        std::fs::write(shore.join(format!("pebble-{number}.md")), format!("# Pebble {number}\n")).expect("writes");
    }
    copy.commit("facts/shore/wrack.md", "# The wrack line\n");
    assert!(copy.push());
    for number in 0..DIRECT {
        let path = format!("/v1/memories/facts/shore/shell-{}.md", number % (DIRECT / 2));
        let written = server.post(&path, &json!({"content": format!("# Shell of write {number}\n")}));
        assert!(matches!(written.status, 200 | 201), "{written:?}");
    }
    let pushed = copy.head();
    // A process of its own, which takes no more memory than what is measured needs.
    assert!(server.terminate());
    (Server::start_configured(data, settings), pushed)
}

#[test]
fn histories_in_a_directory_of_thousands_are_right() {
    let (folder, data) = fresh();
    let (server, pushed) = with_large_directory(folder.path(), &data);
    let read = |path: &str| server.get(&format!("/v1/memories/facts/shore/{path}?detail=full")).body;
    let pebble = read("pebble-17.md");
    assert_eq!(pebble["revisions"].as_array().map(Vec::len), Some(1), "{pebble}");
    assert_eq!(pebble["revisions"][0]["commit"], json!(pushed), "{pebble}");
    assert!(pebble["last_diff"].as_str().is_some_and(|diff| diff.contains("+# Pebble 17")), "{pebble}");
    let (former, newest) = (7, 7 + DIRECT / 2);
    let shell = read(&format!("shell-{former}.md"));
    assert_eq!(shell["revisions"].as_array().map(Vec::len), Some(2), "{shell}");
    let diff = shell["last_diff"].as_str().unwrap_or_default();
    let shows = |line: String| diff.lines().any(|shown| shown == line);
    assert!(shows(format!("-# Shell of write {former}")) && shows(format!("+# Shell of write {newest}")), "{diff}");
}

#[test]
fn histories_in_a_directory_of_thousands_take_little_memory_however_many_read_them() {
    let (folder, data) = fresh();
    let (server, _) = with_large_directory(folder.path(), &data);
    let path = "/v1/memories/facts/shore/pebble-17.md";
    assert_eq!(server.get(path).status, 200);
    assert_eq!(server.retrieve("default", "q=pebble").status, 200);
    let before = server.peak_bytes();
    std::thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                let full = server.get(&format!("{path}?detail=full"));
                assert_eq!(full.status, 200, "{full:?}");
            });
        }
    });
    let grown = server.peak_bytes() - before;
    assert!(grown < READERS_BYTES_MAX, "{READERS} histories took {} MiB", grown >> 20);
}
