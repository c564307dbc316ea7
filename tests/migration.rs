//! Migration of a data directory from format 1 to the current format, also after interruptions.
//!
//! `tests/data/format-1.tar.gz` contains a folder `data` that an earlier build created: statements, a rewritten memory, a
//! term, a skill, a conversation, an uploaded file, a dead letter, a queued write, and a second namespace. The server's
//! clock is set to the creation time, so that the recorded usage belongs to the current month.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use cuebase_storage::key_value::{Batch, Column, Durability, Engine, RocksEngine};
use serde_json::{Value, json};

use crate::support::disk::Disk;
use crate::support::working_copy::WorkingCopy;
use crate::support::{
    Server, committed_messages, files_below, fresh, generations, git, recorded_memories, run, stdout, wait_for,
    with_models,
};

/// An API key of the account `default` in the archive.
const KEY: &str = "svc_live_8f0a92a3b32b657b_Ag3fFZrtJsktXrQmTUw25AeS-u8SXMAP";
/// Creation time of the directory, seconds since the epoch: 2026-11-24, 18:45 UTC.
const CREATED_AT: i64 = 1_795_545_900;
/// Month of the creation time.
const MONTH: &str = "2026-11";
/// Writes counted in that month.
const WRITES: u64 = 9;
const CONVERSATION: &str = "01M87DTKN2JH67PPTGYFAKN7X1";
const MEDIA: &str = "01M87DTM09EFN7AQ78G9KSRFBG";
const MEDIA_TEXT: &str = "a picture of the lantern";
const DEAD_LETTER: &str = "01M87DTP085DTW7X2C8MYY0WVK";
const QUEUED_WRITE: &str = "01M87DTS2SKV42MR6J32HP4H55";
const PIER: &str = "/v1/memories/facts/pier.md";

/// An unpacked directory of format 1 on a disk with injectable faults.
struct Format1Data {
    data: PathBuf,
    disk: Disk,
    /// Parent folder of the data directory.
    folder: tempfile::TempDir,
}

impl Format1Data {
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

    /// Starts a server at the creation time with further disk rules. Returns `None` if the server ends before it serves.
    fn try_start(&self, rules: &[&str]) -> Option<Server> {
        let clock = format!("clock - - {}", CREATED_AT - now_seconds());
        let rules = [&[clock.as_str()], rules].concat();
        self.disk.set_rules(&rules);
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

fn finds(server: &Server, namespace: &str, query: &str, text: &str) -> bool {
    let hits = server.retrieve(namespace, &format!("q={query}&limit=10")).contents();
    hits.iter().any(|hit| hit.contains(text))
}

fn assert_doctor_finds_nothing(data: &Path) {
    let examined = run(data, &["doctor"]);
    assert!(examined.status.success(), "{}", String::from_utf8_lossy(&examined.stdout));
}

/// Checks all contents of the old directory except for the dead letter.
fn assert_complete(server: &Server) {
    assert!(finds(server, "default", "lighthouse+keeper", "Agatha"));
    assert!(finds(server, "default", "paints+lantern+spring", "every spring"));
    assert!(finds(server, "other", "baker+closes", "Tuesdays"));
    assert_pier(server);
    let term = server.get("/v1/vocab?word=breakwater").body["term"].clone();
    assert_eq!((&term["term"], &term["aliases"]), (&json!("mole"), &json!(["breakwater"])), "{term}");
    let skill = server.get("/v1/memories/skills/lamp/light-the-lamp.md");
    assert_eq!(skill.status, 200, "{skill:?}");
    let talk = server.get(&format!("/v1/conversations/{CONVERSATION}"));
    assert_eq!(talk.body["messages"][0]["content"], "The fog horn was silent on Sunday.", "{talk:?}");
    let listed = server.get("/v1/conversations").body["conversations"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(downloaded_media(server), MEDIA_TEXT);
    // The queued write is ingested once, however often the server starts.
    wait_for("the queued write", || finds(server, "default", "regatta", "regatta"));
    server.drain();
    assert!(committed_messages(&server.repository("default")).contains(QUEUED_WRITE));
    let usage = server.get("/v1/usage").body;
    assert_eq!((&usage["period"], &usage["used"]["writes"]), (&json!(MONTH), &json!(WRITES)), "{usage}");
}

/// Checks the memory that has two revisions.
fn assert_pier(server: &Server) {
    let pier = server.get(&format!("{PIER}?detail=full")).body;
    let holds = |field: &str, text: &str| pier[field].as_str().is_some_and(|value| value.contains(text));
    assert!(holds("content", "1955") && holds("last_diff", "1954"), "{pier}");
    assert!(pier.to_string().contains("\"harbour\""), "{pier}");
    assert_eq!(pier["revisions"].as_array().map(Vec::len), Some(2), "{pier}");
}

/// Downloads the uploaded file through its signed URL.
fn downloaded_media(server: &Server) -> String {
    let address = server.get(&format!("/v1/media/{MEDIA}"));
    assert_eq!(address.status, 200, "{address:?}");
    let url = address.body["url"].as_str().expect("an address");
    let response = reqwest::blocking::get(url).expect("answers");
    assert_eq!(response.status().as_u16(), 200);
    response.text().expect("text")
}

/// Checks that every folder has a name of the current format and none has a name of format 1.
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
    assert!(!data.join("media").join(MEDIA).exists(), "the file is at its path of format 1");
}

#[test]
fn format_1_data_is_complete_after_two_starts() {
    let old = Format1Data::unpack();
    let server = old.start();
    assert_complete(&server);
    let memories = ["default", "other"].map(|name| recorded_memories(&server, name));
    assert_renamed(&old.data);
    assert_doctor_finds_nothing(&old.data);
    assert!(server.terminate());

    let server = old.start();
    assert_complete(&server);
    assert_eq!(["default", "other"].map(|name| recorded_memories(&server, name)), memories);
    assert_renamed(&old.data);
    assert!(server.terminate());
    assert_doctor_finds_nothing(&old.data);
}

#[test]
fn a_format_1_dead_letter_is_listed_and_can_be_retried() {
    let old = Format1Data::unpack();
    let server = old.start();
    let letters = server.get("/v1/queue").body["dead_letters"].clone();
    assert_eq!((letters.as_array().map(Vec::len), &letters[0]["id"]), (Some(1), &json!(DEAD_LETTER)), "{letters}");
    assert!(stdout(&old.data, &["dead-letters", "list"]).contains(DEAD_LETTER));
    stdout(&old.data, &["dead-letters", "retry", DEAD_LETTER]);
    wait_for("the memory", || finds(&server, "default", "shipwreck", "shipwreck"));
    assert_eq!(stdout(&old.data, &["dead-letters", "list"]), "");
    assert!(committed_messages(&server.repository("default")).contains(DEAD_LETTER));
}

#[test]
fn a_format_1_history_can_be_cloned_and_extended() {
    let old = Format1Data::unpack();
    let before = git(&old.data.join("repositories/default/default.git"), &["rev-parse", "main"]);
    let server = old.start();
    wait_for("the queued write", || finds(&server, "default", "regatta", "regatta"));
    let copy = old.folder.path().join("copy");
    let cloned = WorkingCopy::of(&server, "default", &copy);
    assert!(std::fs::read_to_string(copy.join("facts/pier.md")).expect("a file").contains("1955"));
    git(&copy, &["merge-base", "--is-ancestor", before.trim(), "HEAD"]);
    assert_eq!(server.post(PIER, &json!({"content": "# The pier\n\nBuilt in 1956.\n"})).status, 200);
    assert!(cloned.catch_up());
    let full = server.get(&format!("{PIER}?detail=full")).body;
    assert_eq!(full["revisions"].as_array().map(Vec::len), Some(3), "{full}");
}

#[test]
fn a_format_1_namespace_is_deleted_completely() {
    let old = Format1Data::unpack();
    let server = old.start();
    server.drain();
    let session = stdout(&old.data, &["token"]);
    let deleted = server.call_as(&session, "DELETE", "/v1/namespaces/default", None);
    assert_eq!(deleted.status, 200, "{deleted:?}");
    server.namespace("default");
    for path in [PIER.to_owned(), format!("/v1/conversations/{CONVERSATION}"), format!("/v1/media/{MEDIA}")] {
        assert_eq!(server.get(&path).status, 404, "{path}");
    }
    assert_eq!(server.get("/v1/vocab").body["terms"], json!([]));
    wait_for("its dead letter to be removed", || server.get("/v1/queue").body["dead_letters"] == json!([]));
    assert!(server.retrieve("default", "q=lighthouse").hits().is_empty());
    assert!(finds(&server, "other", "baker+closes", "Tuesdays"));
    wait_for("its files to be removed", || files_below(&old.data.join("media")).is_empty());
    assert_doctor_finds_nothing(&old.data);
}

/// Interrupts the first start with a disk rule, then starts again and checks everything.
fn assert_complete_after(rule: &str) {
    let old = Format1Data::unpack();
    if let Some(server) = old.try_start(&[rule]) {
        // The server started before the rule applied.
        server.kill();
    }
    let server = old.start();
    assert_complete(&server);
    assert_renamed(&old.data);
    assert_doctor_finds_nothing(&old.data);
    let letters: Value = server.get("/v1/queue").body["dead_letters"].clone();
    assert_eq!((letters.as_array().map(Vec::len), &letters[0]["id"]), (Some(1), &json!(DEAD_LETTER)), "{rule}");
}

#[test]
fn migration_resumes_after_a_kill_while_opening_records() {
    for rule in ["kill write records/ 2", "kill write records/ 8", "kill rename records/ 1"] {
        assert_complete_after(rule);
    }
}

#[test]
fn migration_resumes_after_a_kill_while_copying_records() {
    // Files with numbers as names are the log and the tables of the storage engine.
    for rule in
        ["kill write records/0 1", "tear write records/0 2", "kill write records/0 6", "killafter sync records/0 1"]
    {
        assert_complete_after(rule);
    }
}

#[test]
fn migration_resumes_after_a_kill_while_dropping_old_records() {
    for rule in ["kill write MANIFEST 12", "kill write MANIFEST 40", "kill sync MANIFEST 20"] {
        assert_complete_after(rule);
    }
}

#[test]
fn migration_resumes_after_a_kill_while_renaming_folders() {
    for rule in [
        "kill rename repositories/ 1",
        "killafter rename repositories/ 1",
        "killafter rename indexes/ 1",
        "kill rename repositories/ 2",
    ] {
        assert_complete_after(rule);
    }
}

#[test]
fn migration_resumes_after_a_kill_while_moving_media() {
    for rule in ["kill mkdir media/ 1", "kill rename media/ 1", "killafter rename media/ 1"] {
        assert_complete_after(rule);
    }
}

#[test]
fn a_directory_of_a_newer_format_is_refused() {
    let (_folder, data) = fresh();
    stdout(&data, &["keys", "create", "--init"]);
    {
        let store = RocksEngine::open(&data.join("records")).expect("opens");
        let mut batch = Batch::new();
        batch.put(Column::Meta, "format", 5u32.to_le_bytes());
        store.write(&batch, Durability::Synced).expect("writes");
    }
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["doctor"], &["keys", "list"]] {
        let refused = run(&data, command);
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && error.contains("format 5") && error.contains("newer"), "{error}");
    }
}

#[test]
fn opening_a_format_2_directory_upgrades_it_to_format_4() {
    let (_folder, data) = fresh();
    assert!(Server::start(&data).terminate());
    {
        let store = RocksEngine::open(&data.join("records")).expect("opens");
        let mut batch = Batch::new();
        batch.put(Column::Meta, "format", 2u32.to_le_bytes());
        store.write(&batch, Durability::Synced).expect("writes");
    }
    let server = Server::start(&data);
    let id = server.remember("default", &["The lighthouse keeper is called Agatha"]);
    server.drain();
    assert_eq!(server.get("/v1/sources").body["sources"][0]["id"], json!(id));
    assert!(server.terminate());
    let store = RocksEngine::open(&data.join("records")).expect("opens");
    let format = store.get(Column::Meta, b"format").expect("reads").expect("a format");
    assert_eq!(format, 4u32.to_le_bytes());
}
