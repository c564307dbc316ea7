//! Missing or changed repositories, branches, pack indexes and records. Damaged data is reported and refused; it is
//! never served as empty and never replaced. All other data stays available, and restored data is served again.

use std::path::{Path, PathBuf};
use std::process::Command;

use cuebase_storage::key_value::{Batch, Column, Durability, Engine, RocksEngine};
use serde_json::json;
use ulid::Ulid;

use crate::support::provider::{Fault, Provider};
use crate::support::working_copy::WorkingCopy;
use crate::support::{Answer, Server, files_below, fresh, index, repository, run, stdout, wait_for};

/// Path of the branch in a repository.
const BRANCH: &str = "refs/heads/main";
/// Memories in the tests of damaged pack indexes, each in its own pack.
const NOTES: usize = 4;
/// Message id of the undecodable records.
const UNREADABLE_ID: Ulid = Ulid::from_bytes([7; 16]);

fn write(server: &Server, namespace: &str, path: &str, content: &str) -> Answer {
    server.post(&format!("/v1/memories/{path}"), &json!({"namespace": namespace, "content": content}))
}

fn is_found(server: &Server, namespace: &str, query: &str, text: &str) -> bool {
    let answer = server.retrieve(namespace, &format!("q={query}&limit=10"));
    let hits = if answer.status == 200 { answer.contents() } else { Vec::new() };
    hits.iter().any(|hit| hit.contains(text))
}

/// Runs the doctor. Returns whether it found everything sound, and its output.
fn run_doctor(data: &Path, options: &[&str]) -> (bool, String) {
    let output = run(data, &[&["doctor"], options].concat());
    let report = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), report)
}

/// Starts a server with memories in `default` and in `other`.
fn two_namespaces() -> (tempfile::TempDir, Server) {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    server.namespace("other");
    for (namespace, statement) in
        [("default", "The lighthouse keeper is called Agatha"), ("other", "The baker closes on Tuesdays")]
    {
        assert_eq!(write(&server, namespace, "facts/kept.md", "# A kept note\n").status, 201);
        server.remember(namespace, &[statement]);
        server.settle(namespace);
    }
    server.drain();
    (folder, server)
}

/// A server that was started while the repository of `default` was missing.
struct MissingRepository {
    server: Server,
    data: PathBuf,
    /// Where the server expects the repository.
    repository: PathBuf,
    /// Where the test has moved the repository.
    moved: PathBuf,
    /// Removed when this is dropped.
    _folder: tempfile::TempDir,
}

impl MissingRepository {
    fn new() -> Self {
        let (folder, server) = two_namespaces();
        let (data, repository) = (server.data.clone(), server.repository("default"));
        assert!(server.terminate());
        let moved = folder.path().join("moved.git");
        std::fs::rename(&repository, &moved).expect("moves");
        Self { server: Server::start(&data), data, repository, moved, _folder: folder }
    }

    fn restore(&self) {
        std::fs::rename(&self.moved, &self.repository).expect("moves");
    }
}

/// Checks that a namespace is served as before the damage, and accepts writes.
fn assert_recovered(server: &Server) {
    wait_for("the namespace to be served", || is_found(server, "default", "lighthouse+keeper", "Agatha"));
    assert_eq!(server.get("/v1/memories/facts/kept.md").body["content"], "# A kept note\n");
    let written = write(server, "default", "facts/later.md", "# A later note\n");
    assert_eq!(written.status, 201, "{written:?}");
    server.settle("default");
    let (is_sound, report) = run_doctor(&server.data, &[]);
    assert!(is_sound, "{report}");
}

fn assert_refused(answer: &Answer) {
    assert_eq!((answer.status, answer.code()), (503, "namespace_damaged"), "{answer:?}");
}

#[test]
fn writes_are_refused_while_the_repository_is_missing() {
    let missing = MissingRepository::new();
    assert_refused(&write(&missing.server, "default", "facts/new.md", "# A new note\n"));
    let body = json!({"messages": [{"role": "user", "content": "The harbour bell was cast in Genoa"}]});
    assert_refused(&missing.server.post("/v1/memories", &body));
    assert_refused(&missing.server.call("DELETE", "/v1/memories/facts/kept.md", None));
    assert_refused(&missing.server.post("/v1/vocab", &json!({"terms": [{"term": "mole"}]})));
}

#[test]
fn reads_are_refused_while_the_repository_is_missing() {
    let missing = MissingRepository::new();
    let retrieved = missing.server.retrieve("default", "q=lighthouse");
    assert_eq!((retrieved.status, &retrieved.body["error"]), (503, &json!("namespace_damaged")), "{retrieved:?}");
    assert_refused(&missing.server.get("/v1/memories/facts/kept.md"));
    assert_refused(&missing.server.get("/v1/tree"));
}

#[test]
fn other_namespaces_work_while_one_repository_is_missing() {
    let missing = MissingRepository::new();
    assert_refused(&write(&missing.server, "default", "facts/new.md", "# A new note\n"));
    assert!(is_found(&missing.server, "other", "baker+closes", "Tuesdays"));
    assert_eq!(write(&missing.server, "other", "facts/new.md", "# A new note\n").status, 201);
    missing.server.settle("other");
}

#[test]
fn doctor_log_and_health_report_a_missing_repository() {
    let missing = MissingRepository::new();
    assert_eq!(missing.server.retrieve("default", "q=lighthouse").status, 503);
    assert_eq!(missing.server.get("/health").body["damaged_namespaces"], 1);
    let log = missing.server.log();
    let line = log.lines().find(|line| line.contains("a namespace is damaged")).unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains("default") && line.contains("cuebase restore"), "{line}");
    let (is_sound, report) = run_doctor(&missing.data, &[]);
    let names = report.lines().any(|line| line.contains("default/default") && line.contains("DAMAGED"));
    assert!(!is_sound && names && report.contains("cuebase restore"), "{report}");
    assert!(missing.server.terminate());
    let (is_sound, report) = run_doctor(&missing.data, &["--repair"]);
    assert!(!is_sound && report.contains("default/default"), "with the server stopped: {report}");
}

#[test]
fn a_missing_repository_is_not_replaced_and_its_index_is_kept() {
    let missing = MissingRepository::new();
    write(&missing.server, "default", "facts/new.md", "# A new note\n");
    missing.server.retrieve("default", "q=lighthouse");
    run_doctor(&missing.data, &["--repair"]);
    assert!(!missing.repository.exists(), "an empty repository was created");
    let index = index(&missing.data, "default");
    assert!(index.is_dir() && !files_below(&index).is_empty(), "the index was deleted");
}

#[test]
fn a_restored_repository_is_served_without_a_restart() {
    let missing = MissingRepository::new();
    assert_eq!(missing.server.retrieve("default", "q=lighthouse").status, 503);
    assert_refused(&write(&missing.server, "default", "facts/new.md", "# A new note\n"));
    missing.restore();
    assert_recovered(&missing.server);
    assert!(missing.server.get("/health").body["damaged_namespaces"].as_u64().is_none_or(|damaged| damaged == 0));
}

#[test]
fn a_restored_repository_accepts_writes_before_any_read() {
    let missing = MissingRepository::new();
    let body = json!({"messages": [{"role": "user", "content": "The harbour bell was cast in Genoa"}]});
    assert_refused(&missing.server.post("/v1/memories", &body));
    missing.restore();
    assert_eq!(missing.server.post("/v1/memories", &body).status, 202);
    wait_for("the memory", || is_found(&missing.server, "default", "harbour+bell", "Genoa"));
}

#[test]
fn a_restored_repository_is_served_after_a_restart() {
    let missing = MissingRepository::new();
    assert_eq!(missing.server.retrieve("default", "q=lighthouse").status, 503);
    missing.restore();
    let MissingRepository { server, data, _folder, .. } = missing;
    assert!(server.terminate());
    assert_recovered(&Server::start(&data));
}

#[test]
fn a_namespace_with_a_missing_branch_is_not_served_as_empty() {
    let (_folder, server) = two_namespaces();
    let (data, branch) = (server.data.clone(), server.repository("default").join(BRANCH));
    assert!(server.terminate());
    std::fs::remove_file(&branch).expect("removes");
    let server = Server::start(&data);
    let retrieved = server.retrieve("default", "q=lighthouse");
    assert_eq!((retrieved.status, &retrieved.body["error"]), (503, &json!("namespace_damaged")), "{retrieved:?}");
    assert_refused(&write(&server, "default", "facts/new.md", "# A new note\n"));
    assert!(!branch.exists(), "a branch was created");
    let (is_sound, report) = run_doctor(&data, &[]);
    assert!(!is_sound && report.contains("default/default"), "{report}");
    assert!(is_found(&server, "other", "baker+closes", "Tuesdays"));
}

/// A server whose repository of `default` was replaced by an older copy of itself while it was stopped.
struct OlderCopy {
    server: Server,
    data: PathBuf,
    /// Where the server expects the repository.
    repository: PathBuf,
    /// Where the test has moved the newer repository.
    newer: PathBuf,
    /// Removed when this is dropped.
    _folder: tempfile::TempDir,
}

impl OlderCopy {
    fn new() -> Self {
        let (folder, server) = two_namespaces();
        let (data, repository) = (server.data.clone(), server.repository("default"));
        let [older, newer] = ["older.git", "newer.git"].map(|name| folder.path().join(name));
        assert!(server.terminate());
        let copied = Command::new("cp").arg("-r").arg(&repository).arg(&older).status().expect("cp runs");
        assert!(copied.success());
        let server = Server::start(&data);
        assert_eq!(write(&server, "default", "facts/newer.md", "# A newer note\n").status, 201);
        server.settle("default");
        assert!(server.terminate());
        std::fs::rename(&repository, &newer).expect("moves");
        std::fs::rename(&older, &repository).expect("moves");
        Self { server: Server::start(&data), data, repository, newer, _folder: folder }
    }
}

#[test]
fn an_older_copy_of_a_repository_is_not_served() {
    let replaced = OlderCopy::new();
    let retrieved = replaced.server.retrieve("default", "q=lighthouse");
    assert_eq!((retrieved.status, &retrieved.body["error"]), (503, &json!("namespace_damaged")), "{retrieved:?}");
    assert_refused(&replaced.server.get("/v1/memories/facts/kept.md"));
    assert_refused(&write(&replaced.server, "default", "facts/new.md", "# A new note\n"));
    assert!(is_found(&replaced.server, "other", "baker+closes", "Tuesdays"));
}

#[test]
fn doctor_reports_an_older_copy_and_replaces_nothing() {
    let replaced = OlderCopy::new();
    let branch = replaced.repository.join(BRANCH);
    let before = std::fs::read(&branch).expect("reads");
    let examinations: [&[&str]; 2] = [&[], &["--repair"]];
    for options in examinations {
        let (is_sound, report) = run_doctor(&replaced.data, options);
        let names = report.lines().any(|line| line.contains("default/default") && line.contains("DAMAGED"));
        assert!(!is_sound && names && report.contains("cuebase restore"), "{report}");
    }
    assert_refused(&write(&replaced.server, "default", "facts/new.md", "# A new note\n"));
    assert_eq!(std::fs::read(&branch).expect("reads"), before);
    assert!(!files_below(&index(&replaced.data, "default")).is_empty(), "the index was deleted");
}

#[test]
fn the_newer_repository_is_served_after_an_older_copy() {
    let replaced = OlderCopy::new();
    assert_eq!(replaced.server.retrieve("default", "q=lighthouse").status, 503);
    std::fs::remove_dir_all(&replaced.repository).expect("removes");
    std::fs::rename(&replaced.newer, &replaced.repository).expect("moves");
    assert_recovered(&replaced.server);
    assert_eq!(replaced.server.get("/v1/memories/facts/newer.md").body["content"], "# A newer note\n");
}

#[test]
fn doctor_restores_a_missing_branch_under_a_running_server() {
    let (_folder, server) = two_namespaces();
    let (data, branch) = (server.data.clone(), server.repository("default").join(BRANCH));
    let before = std::fs::read(&branch).expect("reads");
    assert!(server.terminate());
    std::fs::remove_file(&branch).expect("removes");
    let server = Server::start(&data);
    assert_eq!(server.retrieve("default", "q=lighthouse").status, 503);
    let (is_sound, report) = run_doctor(&data, &["--repair"]);
    assert!(is_sound, "{report}");
    assert_eq!(std::fs::read(&branch).expect("reads"), before);
    assert_recovered(&server);
}

#[test]
fn doctor_restores_a_missing_branch_while_the_server_is_stopped() {
    let (_folder, server) = two_namespaces();
    let (data, branch) = (server.data.clone(), server.repository("default").join(BRANCH));
    assert!(server.terminate());
    std::fs::remove_file(&branch).expect("removes");
    let (is_sound, report) = run_doctor(&data, &["--repair"]);
    assert!(is_sound, "{report}");
    assert_recovered(&Server::start(&data));
}

#[test]
fn a_repository_removed_while_served_is_not_replaced() {
    let (folder, server) = two_namespaces();
    let (repository, aside) = (server.repository("default"), folder.path().join("aside.git"));
    std::fs::rename(&repository, &aside).expect("moves");
    assert_refused(&write(&server, "default", "facts/new.md", "# A new note\n"));
    let body = json!({"messages": [{"role": "user", "content": "The harbour bell was cast in Genoa"}]});
    assert_refused(&server.post("/v1/memories", &body));
    assert!(!repository.exists(), "an empty repository was created");
    std::fs::rename(&aside, &repository).expect("moves");
    assert_recovered(&server);
}

#[test]
fn a_branch_removed_while_served_is_not_recreated() {
    let (folder, server) = two_namespaces();
    let (branch, aside) = (server.repository("default").join(BRANCH), folder.path().join("main"));
    std::fs::rename(&branch, &aside).expect("moves");
    assert_refused(&write(&server, "default", "facts/new.md", "# A new note\n"));
    assert!(!branch.exists(), "a branch was created");
    std::fs::rename(&aside, &branch).expect("moves");
    assert_recovered(&server);
}

/// Damages the index of every pack while the server is stopped, and checks that memories can be read and cloned.
fn check_damaged_pack_indexes(damage: fn(&Path)) {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    for number in 0..NOTES {
        assert_eq!(write(&server, "default", &format!("facts/{number}.md"), &format!("# Note {number}\n")).status, 201);
    }
    assert!(server.terminate());
    let files = files_below(&repository(&data, "default").join("objects/pack"));
    let indexes: Vec<PathBuf> =
        files.into_iter().filter(|file| file.extension().is_some_and(|ending| ending == "idx")).collect();
    assert!(!indexes.is_empty());
    for index in &indexes {
        damage(index);
    }
    let server = Server::start(&data);
    for number in 0..NOTES {
        let read = server.get(&format!("/v1/memories/facts/{number}.md"));
        assert_eq!((read.status, &read.body["content"]), (200, &json!(format!("# Note {number}\n"))), "{read:?}");
    }
    let copy = folder.path().join("copy");
    WorkingCopy::of(&server, "default", &copy);
    assert_eq!(std::fs::read_dir(copy.join("facts")).expect("a folder").count(), NOTES);
    let (is_sound, report) = run_doctor(&data, &[]);
    assert!(is_sound, "{report}");
}

/// Replaces a file that may be read-only.
fn replace(file: &Path, bytes: &[u8]) {
    std::fs::remove_file(file).expect("removes");
    std::fs::write(file, bytes).expect("writes");
}

#[test]
fn memories_are_readable_with_empty_pack_indexes() {
    check_damaged_pack_indexes(|index| replace(index, b""));
}

#[test]
fn memories_are_readable_with_truncated_pack_indexes() {
    check_damaged_pack_indexes(|index| {
        let bytes = std::fs::read(index).expect("reads");
        replace(index, &bytes[..bytes.len() / 2]);
    });
}

#[test]
fn memories_are_readable_with_missing_pack_indexes() {
    check_damaged_pack_indexes(|index| std::fs::remove_file(index).expect("removes"));
}

#[test]
fn memories_are_readable_after_a_pack_index_is_removed() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    assert_eq!(write(&server, "default", "facts/a.md", "# A note\n").status, 201);
    for file in files_below(&server.repository("default").join("objects/pack")) {
        if file.extension().is_some_and(|ending| ending == "idx") {
            std::fs::remove_file(file).expect("removes");
        }
    }
    assert_eq!(server.get("/v1/memories/facts/a.md").body["content"], "# A note\n");
    WorkingCopy::of(&server, "default", &folder.path().join("copy"));
    assert_eq!(write(&server, "default", "facts/b.md", "# Another note\n").status, 201);
}

/// Returns the id of the namespace `default`.
fn namespace_id(data: &Path) -> Ulid {
    let name = repository(data, "default").file_stem().expect("a name").to_string_lossy().into_owned();
    let id = name.rsplit('.').next().expect("an id").to_uppercase();
    id.parse().expect("a ULID")
}

/// Writes a value to a column of the records of a stopped server.
fn put(data: &Path, column: Column, key: &[u8], value: &[u8]) {
    let store = RocksEngine::open(&data.join("records")).expect("opens");
    let mut batch = Batch::new();
    batch.put(column, key, value);
    store.write(&batch, Durability::Synced).expect("writes");
}

/// The data directory of a stopped server, with a queued write.
struct QueuedWrite {
    data: PathBuf,
    /// Id of the namespace of the write.
    namespace: Ulid,
    /// Removed when this is dropped.
    _folder: tempfile::TempDir,
}

impl QueuedWrite {
    fn new() -> Self {
        let provider = Provider::start();
        provider.chat_fault(Some(Fault::Status(500)));
        let (folder, data) = fresh();
        let settings =
            format!("{}timeout_ms = 2000\n[ingestion]\nretries = 1000\nbackoff_ms = 20\n", provider.chat_settings());
        let server = Server::start_with_models(&data, &settings);
        assert_eq!(write(&server, "default", "facts/kept.md", "# A kept note\n").status, 201);
        server.remember("default", &["The vault code is kept by Marit"]);
        server.kill();
        Self { namespace: namespace_id(&data), data, _folder: folder }
    }

    /// Writes a value to a column of the records.
    fn put(&self, column: Column, key: &[u8], value: &[u8]) {
        put(&self.data, column, key, value);
    }

    /// Returns a key with the namespace id as prefix.
    fn key(&self, rest: &[u8]) -> Vec<u8> {
        [&self.namespace.to_bytes()[..], rest].concat()
    }

    /// Returns the key of a queue entry that cannot be read.
    fn queue_key(&self) -> Vec<u8> {
        [b"default\0", self.key(&UNREADABLE_ID.to_bytes()).as_slice()].concat()
    }

    /// Starts a server and checks that it ingests the queued write and later ones, and that the doctor examines the
    /// namespace meanwhile.
    fn start(&self) -> Server {
        let server = Server::start_with_models(&self.data, "");
        wait_for("the queued write", || is_found(&server, "default", "vault+code", "Marit"));
        assert_eq!(server.get("/v1/memories/facts/kept.md").status, 200);
        server.settle("default");
        let (_, report) = run_doctor(&self.data, &[]);
        assert!(report.contains("namespace default/default"), "{report}");
        server
    }

    /// Checks that the undecodable record is listed and can be dropped, and that the doctor then finds everything
    /// sound.
    fn assert_is_set_aside(&self) {
        let id = UNREADABLE_ID.to_string();
        let listed = stdout(&self.data, &["dead-letters", "list"]);
        let line = listed.lines().find(|line| line.contains(&id)).unwrap_or_else(|| panic!("{listed}"));
        assert!(line.contains("cannot be decoded"), "{line}");
        stdout(&self.data, &["dead-letters", "drop", &id]);
        assert_eq!(stdout(&self.data, &["dead-letters", "list"]), "");
        let (is_sound, report) = run_doctor(&self.data, &[]);
        assert!(is_sound, "{report}");
    }
}

/// Returns a queue entry that nests deeper than the decoder accepts.
fn deeply_nested_entry() -> Vec<u8> {
    let (id, depth) = (UNREADABLE_ID.to_string(), 200);
    let nested = "[".repeat(depth) + &"]".repeat(depth);
    let work = format!("{{\"kind\":\"conversation\",\"request\":{nested}}}");
    format!("\u{1}{{\"id\":\"{id}\",\"account\":\"default\",\"namespace\":\"default\",\"work\":{work}}}").into_bytes()
}

#[test]
fn an_undecodable_queue_entry_does_not_block_the_others() {
    for value in [b"garbage".to_vec(), b"\x01{\"id\":[".to_vec(), deeply_nested_entry(), Vec::new()] {
        let queued = QueuedWrite::new();
        queued.put(Column::Queue, &queued.queue_key(), &value);
        let _server = queued.start();
        queued.assert_is_set_aside();
    }
}

#[test]
fn an_undecodable_queue_entry_can_be_dropped_while_stopped() {
    let queued = QueuedWrite::new();
    queued.put(Column::Queue, &queued.queue_key(), b"garbage");
    let (is_sound, report) = run_doctor(&queued.data, &[]);
    assert!(!is_sound && report.contains("namespace default/default"), "{report}");
    queued.assert_is_set_aside();
    queued.start();
}

#[test]
fn a_namespace_is_deleted_although_an_entry_of_another_account_is_undecodable() {
    let queued = QueuedWrite::new();
    let foreign = [b"stranger\0", &[8_u8; 16][..], &UNREADABLE_ID.to_bytes()[..]].concat();
    queued.put(Column::Queue, &foreign, b"garbage");
    let server = queued.start();
    let session = stdout(&queued.data, &["token"]);
    let deleted = server.call_as(&session, "DELETE", "/v1/namespaces/default", None);
    assert_eq!(deleted.status, 200, "{deleted:?}");
    queued.assert_is_set_aside();
}

#[test]
fn an_undecodable_dead_letter_is_set_aside() {
    let queued = QueuedWrite::new();
    queued.put(Column::DeadLetters, &[b"default\0", &UNREADABLE_ID.to_bytes()[..]].concat(), b"garbage");
    let server = queued.start();
    let queue = server.get("/v1/queue");
    assert_eq!((queue.status, &queue.body["dead_letters"]), (200, &json!([])), "{queue:?}");
    queued.assert_is_set_aside();
}

#[test]
fn an_undecodable_newest_id_does_not_stop_the_start() {
    let queued = QueuedWrite::new();
    queued.put(Column::NewestIds, &UNREADABLE_ID.to_bytes(), b"garbage");
    let _server = queued.start();
    queued.assert_is_set_aside();
}

#[test]
fn an_undecodable_newest_id_of_deleted_namespaces_does_not_stop_the_start() {
    let queued = QueuedWrite::new();
    queued.put(Column::Meta, b"newest-id", b"garbage");
    let server = queued.start();
    assert!(server.log().contains("cannot decode the newest id of deleted namespaces"), "{}", server.log());
}

#[test]
fn an_undecodable_term_is_read_from_git_again() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let terms = json!({"terms": [{"term": "Kubernetes", "aliases": ["k8s"]}]});
    assert_eq!(server.post("/v1/vocab", &terms).status, 202);
    wait_for("the term", || server.get("/v1/vocab?word=k8s").body["found"] == true);
    assert!(server.terminate());
    put(&data, Column::Terms, &[&namespace_id(&data).to_bytes()[..], b"vocab/kubernetes.md"].concat(), b"garbage");
    let server = Server::start(&data);
    let listed = server.get("/v1/vocab");
    assert_eq!(listed.status, 200, "{listed:?}");
    // A retrieval opens the namespace.
    assert_eq!(server.retrieve("default", "q=k8s").status, 200);
    wait_for("the term again", || server.get("/v1/vocab?word=k8s").body["found"] == true);
    let (is_sound, report) = run_doctor(&data, &[]);
    assert!(is_sound, "{report}");
}

#[test]
fn an_undecodable_removal_does_not_stop_the_start() {
    let queued = QueuedWrite::new();
    queued.put(Column::Removals, &UNREADABLE_ID.to_bytes(), b"garbage");
    let _server = queued.start();
    queued.assert_is_set_aside();
}

#[test]
fn an_undecodable_account_or_namespace_does_not_stop_the_start() {
    let queued = QueuedWrite::new();
    queued.put(Column::Accounts, b"broken", b"garbage");
    queued.put(Column::Namespaces, b"default\0broken", b"garbage");
    let server = queued.start();
    let listed = server.get("/v1/namespaces");
    assert_eq!((listed.status, &listed.body["namespaces"][0]["name"]), (200, &json!("default")), "{listed:?}");
}

#[test]
fn an_undecodable_write_record_does_not_hide_the_others() {
    let queued = QueuedWrite::new();
    queued.put(Column::Writes, &[b"default\0", &UNREADABLE_ID.to_bytes()[..]].concat(), b"garbage");
    let server = queued.start();
    let listed = server.get("/v1/writes");
    assert!(listed.body["writes"].as_array().is_some_and(|writes| !writes.is_empty()), "{listed:?}");
    queued.assert_is_set_aside();
}

#[test]
fn an_undecodable_fingerprint_blocks_nothing() {
    let queued = QueuedWrite::new();
    queued.put(Column::Fingerprints, &queued.key(b"memories\x000123456789abcdef"), b"garbage");
    let server = queued.start();
    assert!(!server.log().contains("expired data could not be removed"), "{}", server.log());
    let (is_sound, report) = run_doctor(&queued.data, &[]);
    assert!(is_sound, "{report}");
}

#[test]
fn an_undecodable_notification_blocks_nothing() {
    let queued = QueuedWrite::new();
    queued.put(Column::Notifications, b"evt_1", b"garbage");
    let server = queued.start();
    assert!(!server.log().contains("expired data could not be removed"), "{}", server.log());
}
