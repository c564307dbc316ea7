//! A data directory of format 1: brought to the present format with everything in it, also where that is interrupted.
//!
//! `tests/data/format-1.tar.gz` holds a folder `data` that an earlier build made: statements, a rewritten memory, a term, a
//! skill, a conversation, an uploaded file, a dead letter, a write that waits, and a second namespace. The server's clock
//! is set to when it was made, so that the month of its usage is the current one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use cuebase_storage::key_value::{Batch, Column, Durability, KeyValueStore};
use serde_json::{Value, json};

use crate::support::disk::Disk;
use crate::support::working_copy::WorkingCopy;
use crate::support::{
    Server, committed_messages, files_below, fresh, generations, git, recorded_memories, run, stdout, wait_for,
    with_models,
};

/// The key to the account `default` of the former directory.
const KEY: &str = "svc_live_8f0a92a3b32b657b_Ag3fFZrtJsktXrQmTUw25AeS-u8SXMAP";
/// When the directory was made, seconds since the epoch: 2026-11-24, 18:45 UTC.
const MADE_AT: i64 = 1_795_545_900;
/// The month of that day.
const MONTH: &str = "2026-11";
/// Writes that were counted in it.
const WRITES: u64 = 9;
const CONVERSATION: &str = "01M87DTKN2JH67PPTGYFAKN7X1";
const MEDIA: &str = "01M87DTM09EFN7AQ78G9KSRFBG";
const MEDIA_TEXT: &str = "a picture of the lantern";
const DEAD_LETTER: &str = "01M87DTP085DTW7X2C8MYY0WVK";
const WAITING: &str = "01M87DTS2SKV42MR6J32HP4H55";
const PIER: &str = "/v1/memories/facts/pier.md";

/// An unpacked directory of format 1, on a disk that obeys.
struct Former {
    data: PathBuf,
    disk: Disk,
    /// Where the data directory is in.
    folder: tempfile::TempDir,
}

impl Former {
    fn unpack() -> Self {
        let folder = tempfile::tempdir().expect("temporary directory");
        let root = folder.path().join("box");
        std::fs::create_dir_all(&root).expect("creates");
        let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/format-1.tar.gz");
        let unpacked = Command::new("tar").args(["-xzf", archive, "-C"]).arg(&root).status().expect("tar runs");
        assert!(unpacked.success());
        let disk = Disk::under(&root, &folder.path().join("disk"));
        Self { data: root.join("data"), disk, folder }
    }

    /// Starts a server at the time when the directory was made, with further rules of the disk; none where it ends before
    /// it serves.
    fn try_start(&self, rules: &[&str]) -> Option<Server> {
        let clock = format!("clock - - {}", MADE_AT - now_seconds());
        let rules = [&[clock.as_str()], rules].concat();
        self.disk.obey(&rules);
        let mut command = with_models(&self.data, "", &["serve", "--listen", "127.0.0.1:0"]);
        self.disk.watch(&mut command, false);
        let mut server = Server::try_start(&self.data, command)?;
        KEY.clone_into(&mut server.key);
        Some(server)
    }

    fn start(&self) -> Server {
        self.try_start(&[]).unwrap_or_else(|| {
            let log = std::fs::read_to_string(self.data.with_extension("log")).unwrap_or_default();
            panic!("the server ended before it served: {log}");
        })
    }
}

fn now_seconds() -> i64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after the epoch");
    i64::try_from(passed.as_secs()).expect("a time of this era")
}

fn is_found(server: &Server, namespace: &str, query: &str, text: &str) -> bool {
    let hits = server.retrieve(namespace, &format!("q={query}&limit=10")).contents();
    hits.iter().any(|hit| hit.contains(text))
}

fn assert_sound(data: &Path) {
    let examined = run(data, &["doctor"]);
    assert!(examined.status.success(), "{}", String::from_utf8_lossy(&examined.stdout));
}

/// Checks everything that the former directory held, but for the dead letter.
fn assert_all_there(server: &Server) {
    assert!(is_found(server, "default", "lighthouse+keeper", "Agatha"));
    assert!(is_found(server, "default", "paints+lantern+spring", "every spring"));
    assert!(is_found(server, "other", "baker+closes", "Tuesdays"));
    assert_pier(server);
    let term = server.get("/v1/vocab?word=breakwater").body["term"].clone();
    assert_eq!((&term["term"], &term["aliases"]), (&json!("mole"), &json!(["breakwater"])), "{term}");
    let skill = server.get("/v1/memories/skills/lamp/light-the-lamp.md");
    assert_eq!(skill.status, 200, "{skill:?}");
    let talk = server.get(&format!("/v1/conversations/{CONVERSATION}"));
    assert_eq!(talk.body["messages"][0]["content"], "The fog horn was silent on Sunday.", "{talk:?}");
    let listed = server.get("/v1/conversations").body["conversations"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(opened(server), MEDIA_TEXT);
    // Ingested once however often the server was started.
    wait_for("the write that waited", || is_found(server, "default", "regatta", "regatta"));
    wait_for("the queue to be empty", || server.get("/v1/queue").body["waiting"] == 0);
    assert!(committed_messages(&server.repository("default")).contains(WAITING));
    let usage = server.get("/v1/usage").body;
    assert_eq!((&usage["period"], &usage["used"]["writes"]), (&json!(MONTH), &json!(WRITES)), "{usage}");
}

/// Checks the memory that was written twice.
fn assert_pier(server: &Server) {
    let pier = server.get(&format!("{PIER}?detail=full")).body;
    let holds = |field: &str, text: &str| pier[field].as_str().is_some_and(|value| value.contains(text));
    assert!(holds("content", "1955") && holds("last_diff", "1954"), "{pier}");
    assert!(pier.to_string().contains("\"harbour\""), "{pier}");
    assert_eq!(pier["revisions"].as_array().map(Vec::len), Some(2), "{pier}");
}

/// The uploaded file, as its signed address opens it.
fn opened(server: &Server) -> String {
    let address = server.get(&format!("/v1/media/{MEDIA}"));
    assert_eq!(address.status, 200, "{address:?}");
    let url = address.body["url"].as_str().expect("an address");
    let response = reqwest::blocking::get(url).expect("answers");
    assert_eq!(response.status().as_u16(), 200);
    response.text().expect("text")
}

/// Checks that every folder has the name of the present format, and none a former one.
fn assert_renamed(data: &Path) {
    for (kind, ending) in [("repositories", ".git"), ("indexes", "")] {
        let folder = data.join(kind).join("default");
        for namespace in ["default", "other"] {
            assert_eq!(generations(&folder, namespace, ending).len(), 1, "{kind} of {namespace}");
            assert!(!folder.join(format!("{namespace}{ending}")).exists(), "{kind} of {namespace}");
        }
    }
    let media = files_below(&data.join("media"));
    assert!(media.len() == 1 && media[0].ends_with(MEDIA), "{media:?}");
    assert!(!data.join("media").join(MEDIA).exists(), "the file is where format 1 had it");
}

#[test]
fn everything_of_a_former_directory_is_there_after_a_start_and_after_another() {
    let former = Former::unpack();
    let server = former.start();
    assert_all_there(&server);
    let memories = ["default", "other"].map(|name| recorded_memories(&server, name));
    assert_renamed(&former.data);
    assert_sound(&former.data);
    assert!(server.terminate());

    let server = former.start();
    assert_all_there(&server);
    assert_eq!(["default", "other"].map(|name| recorded_memories(&server, name)), memories);
    assert_renamed(&former.data);
    assert!(server.terminate());
    assert_sound(&former.data);
}

#[test]
fn a_former_dead_letter_is_listed_and_ingested_when_it_is_retried() {
    let former = Former::unpack();
    let server = former.start();
    let letters = server.get("/v1/queue").body["dead_letters"].clone();
    assert_eq!((letters.as_array().map(Vec::len), &letters[0]["id"]), (Some(1), &json!(DEAD_LETTER)), "{letters}");
    assert!(stdout(&former.data, &["dead-letters", "list"]).contains(DEAD_LETTER));
    stdout(&former.data, &["dead-letters", "retry", DEAD_LETTER]);
    wait_for("the memory", || is_found(&server, "default", "shipwreck", "shipwreck"));
    assert_eq!(stdout(&former.data, &["dead-letters", "list"]), "");
    assert!(committed_messages(&server.repository("default")).contains(DEAD_LETTER));
}

#[test]
fn a_former_history_is_cloned_and_goes_on() {
    let former = Former::unpack();
    let before = git(&former.data.join("repositories/default/default.git"), &["rev-parse", "main"]);
    let server = former.start();
    wait_for("the write that waited", || is_found(&server, "default", "regatta", "regatta"));
    let copy = former.folder.path().join("copy");
    let cloned = WorkingCopy::of(&server, "default", &copy);
    assert!(std::fs::read_to_string(copy.join("facts/pier.md")).expect("a file").contains("1955"));
    git(&copy, &["merge-base", "--is-ancestor", before.trim(), "HEAD"]);
    assert_eq!(server.post(PIER, &json!({"content": "# The pier\n\nBuilt in 1956.\n"})).status, 200);
    assert!(cloned.catch_up());
    let full = server.get(&format!("{PIER}?detail=full")).body;
    assert_eq!(full["revisions"].as_array().map(Vec::len), Some(3), "{full}");
}

#[test]
fn a_former_namespace_is_deleted_with_all_that_belongs_to_it() {
    let former = Former::unpack();
    let server = former.start();
    wait_for("the queue to be empty", || server.get("/v1/queue").body["waiting"] == 0);
    let session = stdout(&former.data, &["token"]);
    let deleted = server.call_as(&session, "DELETE", "/v1/namespaces/default", None);
    assert_eq!(deleted.status, 200, "{deleted:?}");
    server.namespace("default");
    for path in [PIER.to_owned(), format!("/v1/conversations/{CONVERSATION}"), format!("/v1/media/{MEDIA}")] {
        assert_eq!(server.get(&path).status, 404, "{path}");
    }
    assert_eq!(server.get("/v1/vocab").body["terms"], json!([]));
    wait_for("its dead letter to be removed", || server.get("/v1/queue").body["dead_letters"] == json!([]));
    assert!(server.retrieve("default", "q=lighthouse").hits().is_empty());
    assert!(is_found(&server, "other", "baker+closes", "Tuesdays"));
    wait_for("its files to be removed", || files_below(&former.data.join("media")).is_empty());
    assert_sound(&former.data);
}

/// Interrupts the first start of a former directory by a rule, then starts again and checks everything.
fn assert_whole_after(rule: &str) {
    let former = Former::unpack();
    if let Some(server) = former.try_start(&[rule]) {
        // The server came to serve before the moment.
        server.kill();
    }
    let server = former.start();
    assert_all_there(&server);
    assert_renamed(&former.data);
    assert_sound(&former.data);
    let letters: Value = server.get("/v1/queue").body["dead_letters"].clone();
    assert_eq!((letters.as_array().map(Vec::len), &letters[0]["id"]), (Some(1), &json!(DEAD_LETTER)), "{rule}");
}

#[test]
fn a_migration_that_is_killed_while_it_opens_the_records_is_done_by_the_next_start() {
    for rule in ["kill write records/ 2", "kill write records/ 8", "kill rename records/ 1"] {
        assert_whole_after(rule);
    }
}

#[test]
fn a_migration_that_is_killed_while_it_copies_records_is_done_by_the_next_start() {
    // The files whose names are numbers are the engine's log and its tables.
    for rule in
        ["kill write records/0 1", "tear write records/0 2", "kill write records/0 6", "killafter sync records/0 1"]
    {
        assert_whole_after(rule);
    }
}

#[test]
fn a_migration_that_is_killed_while_it_drops_former_records_is_done_by_the_next_start() {
    for rule in ["kill write MANIFEST 12", "kill write MANIFEST 40", "kill sync MANIFEST 20"] {
        assert_whole_after(rule);
    }
}

#[test]
fn a_migration_that_is_killed_while_it_renames_folders_is_done_by_the_next_start() {
    for rule in [
        "kill rename repositories/ 1",
        "killafter rename repositories/ 1",
        "killafter rename indexes/ 1",
        "kill rename repositories/ 2",
    ] {
        assert_whole_after(rule);
    }
}

#[test]
fn a_migration_that_is_killed_while_it_moves_uploaded_files_is_done_by_the_next_start() {
    for rule in ["kill mkdir media/ 1", "kill rename media/ 1", "killafter rename media/ 1"] {
        assert_whole_after(rule);
    }
}

#[test]
fn a_directory_of_a_later_format_is_refused_in_a_sentence() {
    let (_folder, data) = fresh();
    stdout(&data, &["keys", "create", "--init"]);
    {
        let store = KeyValueStore::open(&data.join("records")).expect("opens");
        let mut batch = Batch::new();
        batch.put(Column::Meta, "format", 4u32.to_le_bytes());
        store.write(&batch, Durability::Synced).expect("writes");
    }
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["doctor"], &["keys", "list"]] {
        let refused = run(&data, command);
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && error.contains("format 4") && error.contains("newer"), "{error}");
    }
}

#[test]
fn a_directory_of_format_2_is_opened_and_no_build_of_format_2_opens_it_again() {
    let (_folder, data) = fresh();
    assert!(Server::start(&data).terminate());
    {
        let store = KeyValueStore::open(&data.join("records")).expect("opens");
        let mut batch = Batch::new();
        batch.put(Column::Meta, "format", 2u32.to_le_bytes());
        store.write(&batch, Durability::Synced).expect("writes");
    }
    let server = Server::start(&data);
    let id = server.remember("default", &["The lighthouse keeper is called Agatha"]);
    wait_for("the queue to be empty", || server.get("/v1/queue").body["waiting"] == 0);
    assert_eq!(server.get("/v1/sources").body["sources"][0]["id"], json!(id));
    assert!(server.terminate());
    let store = KeyValueStore::open(&data.join("records")).expect("opens");
    let format = store.get(Column::Meta, b"format").expect("reads").expect("a format");
    assert_eq!(format, 3u32.to_le_bytes());
}
