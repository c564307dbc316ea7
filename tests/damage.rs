//! Damaged data: repositories, branches, pack indexes and records that are gone or not what was written. Whatever is
//! damaged is named and refused, never served as empty or replaced; everything else goes on, and what is put back is
//! served again.

use std::path::{Path, PathBuf};

use cuebase_storage::key_value::{Batch, Column, Durability, KeyValueStore};
use serde_json::json;
use ulid::Ulid;

use crate::support::provider::{Fault, Provider};
use crate::support::working_copy::WorkingCopy;
use crate::support::{Answer, Server, files_below, fresh, index, repository, run, stdout, wait_for};

/// The branch's file in a repository.
const BRANCH: &str = "refs/heads/main";
/// Memories that the pack indexes are damaged of, each in a pack of its own.
const NOTES: usize = 4;
/// The message id of the records that cannot be decoded.
const UNREADABLE_ID: Ulid = Ulid::from_bytes([7; 16]);

fn write(server: &Server, namespace: &str, path: &str, content: &str) -> Answer {
    server.post(&format!("/v1/memories/{path}"), &json!({"namespace": namespace, "content": content}))
}

fn is_found(server: &Server, namespace: &str, query: &str, text: &str) -> bool {
    let answer = server.retrieve(namespace, &format!("q={query}&limit=10"));
    let hits = if answer.status == 200 { answer.contents() } else { Vec::new() };
    hits.iter().any(|hit| hit.contains(text))
}

/// What the doctor prints, and whether all was sound.
fn examine(data: &Path, options: &[&str]) -> (bool, String) {
    let output = run(data, &[&["doctor"], options].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), said)
}

/// A server with memories in `default` and in `other`.
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
    wait_for("the queue to be empty", || server.get("/v1/queue").body["waiting"] == 0);
    (folder, server)
}

/// A server that was started while the repository of `default` was elsewhere.
struct Bereft {
    server: Server,
    data: PathBuf,
    /// Where the repository belongs.
    repository: PathBuf,
    /// Where it is.
    aside: PathBuf,
    /// Removed when this is dropped.
    _folder: tempfile::TempDir,
}

impl Bereft {
    fn new() -> Self {
        let (folder, server) = two_namespaces();
        let (data, repository) = (server.data.clone(), server.repository("default"));
        assert!(server.terminate());
        let aside = folder.path().join("aside.git");
        std::fs::rename(&repository, &aside).expect("moves");
        Self { server: Server::start(&data), data, repository, aside, _folder: folder }
    }

    fn put_back(&self) {
        std::fs::rename(&self.aside, &self.repository).expect("moves");
    }
}

/// Checks that a namespace answers as it did before it was damaged, and takes writes.
fn assert_as_before(server: &Server) {
    wait_for("the namespace to be served", || is_found(server, "default", "lighthouse+keeper", "Agatha"));
    assert_eq!(server.get("/v1/memories/facts/kept.md").body["content"], "# A kept note\n");
    let written = write(server, "default", "facts/later.md", "# A later note\n");
    assert_eq!(written.status, 201, "{written:?}");
    server.settle("default");
    let (is_sound, said) = examine(&server.data, &[]);
    assert!(is_sound, "{said}");
}

fn assert_refused(answer: &Answer) {
    assert_eq!((answer.status, answer.code()), (503, "namespace_damaged"), "{answer:?}");
}

#[test]
fn writes_to_a_namespace_whose_repository_is_gone_are_refused() {
    let bereft = Bereft::new();
    assert_refused(&write(&bereft.server, "default", "facts/new.md", "# A new note\n"));
    let body = json!({"messages": [{"role": "user", "content": "The harbour bell was cast in Genoa"}]});
    assert_refused(&bereft.server.post("/v1/memories", &body));
    assert_refused(&bereft.server.call("DELETE", "/v1/memories/facts/kept.md", None));
    assert_refused(&bereft.server.post("/v1/vocab", &json!({"terms": [{"term": "mole"}]})));
}

#[test]
fn a_namespace_whose_repository_is_gone_is_not_read_as_empty() {
    let bereft = Bereft::new();
    let retrieved = bereft.server.retrieve("default", "q=lighthouse");
    assert_eq!((retrieved.status, &retrieved.body["error"]), (503, &json!("namespace_damaged")), "{retrieved:?}");
    assert_refused(&bereft.server.get("/v1/memories/facts/kept.md"));
    assert_refused(&bereft.server.get("/v1/tree"));
}

#[test]
fn other_namespaces_work_beside_one_whose_repository_is_gone() {
    let bereft = Bereft::new();
    assert_refused(&write(&bereft.server, "default", "facts/new.md", "# A new note\n"));
    assert!(is_found(&bereft.server, "other", "baker+closes", "Tuesdays"));
    assert_eq!(write(&bereft.server, "other", "facts/new.md", "# A new note\n").status, 201);
    bereft.server.settle("other");
}

#[test]
fn the_doctor_the_log_and_the_health_route_name_a_namespace_whose_repository_is_gone() {
    let bereft = Bereft::new();
    assert_eq!(bereft.server.retrieve("default", "q=lighthouse").status, 503);
    assert_eq!(bereft.server.get("/health").body["damaged_namespaces"], 1);
    let log = bereft.server.log();
    let line = log.lines().find(|line| line.contains("a namespace is damaged")).unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains("default") && line.contains("cuebase restore"), "{line}");
    let (is_sound, said) = examine(&bereft.data, &[]);
    let names = said.lines().any(|line| line.contains("default/default") && line.contains("DAMAGED"));
    assert!(!is_sound && names && said.contains("cuebase restore"), "{said}");
    assert!(bereft.server.terminate());
    let (is_sound, said) = examine(&bereft.data, &["--repair"]);
    assert!(!is_sound && said.contains("default/default"), "on a stopped server's directory: {said}");
}

#[test]
fn nothing_takes_the_place_of_a_repository_that_is_gone_and_its_index_stays() {
    let bereft = Bereft::new();
    write(&bereft.server, "default", "facts/new.md", "# A new note\n");
    bereft.server.retrieve("default", "q=lighthouse");
    examine(&bereft.data, &["--repair"]);
    assert!(!bereft.repository.exists(), "an empty repository was made");
    let index = index(&bereft.data, "default");
    assert!(index.is_dir() && !files_below(&index).is_empty(), "the index was deleted");
}

#[test]
fn a_repository_that_is_put_back_is_served_again_without_a_start() {
    let bereft = Bereft::new();
    assert_eq!(bereft.server.retrieve("default", "q=lighthouse").status, 503);
    assert_refused(&write(&bereft.server, "default", "facts/new.md", "# A new note\n"));
    bereft.put_back();
    assert_as_before(&bereft.server);
    assert!(bereft.server.get("/health").body["damaged_namespaces"].as_u64().is_none_or(|damaged| damaged == 0));
}

#[test]
fn a_repository_that_is_put_back_takes_writes_before_it_is_read_again() {
    let bereft = Bereft::new();
    let body = json!({"messages": [{"role": "user", "content": "The harbour bell was cast in Genoa"}]});
    assert_refused(&bereft.server.post("/v1/memories", &body));
    bereft.put_back();
    assert_eq!(bereft.server.post("/v1/memories", &body).status, 202);
    wait_for("the memory", || is_found(&bereft.server, "default", "harbour+bell", "Genoa"));
}

#[test]
fn a_repository_that_is_put_back_is_served_again_after_a_start() {
    let bereft = Bereft::new();
    assert_eq!(bereft.server.retrieve("default", "q=lighthouse").status, 503);
    bereft.put_back();
    let Bereft { server, data, _folder, .. } = bereft;
    assert!(server.terminate());
    assert_as_before(&Server::start(&data));
}

#[test]
fn a_namespace_without_its_branch_is_not_served_as_empty() {
    let (_folder, server) = two_namespaces();
    let (data, branch) = (server.data.clone(), server.repository("default").join(BRANCH));
    assert!(server.terminate());
    std::fs::remove_file(&branch).expect("removes");
    let server = Server::start(&data);
    let retrieved = server.retrieve("default", "q=lighthouse");
    assert_eq!((retrieved.status, &retrieved.body["error"]), (503, &json!("namespace_damaged")), "{retrieved:?}");
    assert_refused(&write(&server, "default", "facts/new.md", "# A new note\n"));
    assert!(!branch.exists(), "a branch was made");
    let (is_sound, said) = examine(&data, &[]);
    assert!(!is_sound && said.contains("default/default"), "{said}");
    assert!(is_found(&server, "other", "baker+closes", "Tuesdays"));
}

#[test]
fn the_doctor_restores_a_branch_that_is_gone_beside_a_running_server() {
    let (_folder, server) = two_namespaces();
    let (data, branch) = (server.data.clone(), server.repository("default").join(BRANCH));
    let before = std::fs::read(&branch).expect("reads");
    assert!(server.terminate());
    std::fs::remove_file(&branch).expect("removes");
    let server = Server::start(&data);
    assert_eq!(server.retrieve("default", "q=lighthouse").status, 503);
    let (is_sound, said) = examine(&data, &["--repair"]);
    assert!(is_sound, "{said}");
    assert_eq!(std::fs::read(&branch).expect("reads"), before);
    assert_as_before(&server);
}

#[test]
fn the_doctor_restores_a_branch_that_is_gone_on_a_stopped_directory() {
    let (_folder, server) = two_namespaces();
    let (data, branch) = (server.data.clone(), server.repository("default").join(BRANCH));
    assert!(server.terminate());
    std::fs::remove_file(&branch).expect("removes");
    let (is_sound, said) = examine(&data, &["--repair"]);
    assert!(is_sound, "{said}");
    assert_as_before(&Server::start(&data));
}

#[test]
fn a_repository_that_goes_while_it_is_served_is_not_replaced_by_an_empty_one() {
    let (folder, server) = two_namespaces();
    let (repository, aside) = (server.repository("default"), folder.path().join("aside.git"));
    std::fs::rename(&repository, &aside).expect("moves");
    assert_refused(&write(&server, "default", "facts/new.md", "# A new note\n"));
    let body = json!({"messages": [{"role": "user", "content": "The harbour bell was cast in Genoa"}]});
    assert_refused(&server.post("/v1/memories", &body));
    assert!(!repository.exists(), "an empty repository was made");
    std::fs::rename(&aside, &repository).expect("moves");
    assert_as_before(&server);
}

#[test]
fn a_branch_that_goes_while_it_is_served_is_not_begun_again() {
    let (folder, server) = two_namespaces();
    let (branch, aside) = (server.repository("default").join(BRANCH), folder.path().join("main"));
    std::fs::rename(&branch, &aside).expect("moves");
    assert_refused(&write(&server, "default", "facts/new.md", "# A new note\n"));
    assert!(!branch.exists(), "a branch was made");
    std::fs::rename(&aside, &branch).expect("moves");
    assert_as_before(&server);
}

/// Checks that memories are read and cloned after something was done to the index of every pack on a stopped directory.
fn memories_outlive(damage: fn(&Path)) {
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
    let (is_sound, said) = examine(&data, &[]);
    assert!(is_sound, "{said}");
}

/// Puts another file in the place of one that may be read-only.
fn replace(file: &Path, bytes: &[u8]) {
    std::fs::remove_file(file).expect("removes");
    std::fs::write(file, bytes).expect("writes");
}

#[test]
fn memories_are_read_although_the_pack_indexes_are_empty() {
    memories_outlive(|index| replace(index, b""));
}

#[test]
fn memories_are_read_although_the_pack_indexes_are_cut_short() {
    memories_outlive(|index| {
        let bytes = std::fs::read(index).expect("reads");
        replace(index, &bytes[..bytes.len() / 2]);
    });
}

#[test]
fn memories_are_read_although_the_pack_indexes_are_gone() {
    memories_outlive(|index| std::fs::remove_file(index).expect("removes"));
}

#[test]
fn memories_are_read_although_a_pack_index_goes_while_they_are_served() {
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

/// A stopped data directory with a write that waits in its queue.
struct Waiting {
    data: PathBuf,
    /// The id of the namespace that the write is to.
    namespace: Ulid,
    /// Removed when this is dropped.
    _folder: tempfile::TempDir,
}

impl Waiting {
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
        let name = repository(&data, "default").file_stem().expect("a name").to_string_lossy().into_owned();
        let id = name.rsplit('.').next().expect("an id").to_uppercase();
        Self { namespace: id.parse().expect("a ULID"), data, _folder: folder }
    }

    /// Puts a value into a column.
    fn put(&self, column: Column, key: &[u8], value: &[u8]) {
        let store = KeyValueStore::open(&self.data.join("records")).expect("opens");
        let mut batch = Batch::new();
        batch.put(column, key, value);
        store.write(&batch, Durability::Synced).expect("writes");
    }

    /// The key of something that belongs to the namespace.
    fn key(&self, rest: &[u8]) -> Vec<u8> {
        [&self.namespace.to_bytes()[..], rest].concat()
    }

    /// Starts a server, which serves, ingests the write that waits and takes others; the doctor beside it goes on to the
    /// namespaces.
    fn start(&self) -> Server {
        let server = Server::start_with_models(&self.data, "");
        wait_for("the write that waited", || is_found(&server, "default", "vault+code", "Marit"));
        assert_eq!(server.get("/v1/memories/facts/kept.md").status, 200);
        server.settle("default");
        let (_, said) = examine(&self.data, &[]);
        assert!(said.contains("namespace default/default"), "{said}");
        server
    }

    /// Checks that the record is listed and can be dropped, and that all is sound then.
    fn assert_is_set_aside(&self) {
        let id = UNREADABLE_ID.to_string();
        let listed = stdout(&self.data, &["dead-letters", "list"]);
        let line = listed.lines().find(|line| line.contains(&id)).unwrap_or_else(|| panic!("{listed}"));
        assert!(line.contains("cannot be decoded"), "{line}");
        stdout(&self.data, &["dead-letters", "drop", &id]);
        assert_eq!(stdout(&self.data, &["dead-letters", "list"]), "");
        let (is_sound, said) = examine(&self.data, &[]);
        assert!(is_sound, "{said}");
    }
}

/// A record of a queue entry that nests deeper than the decoder reads.
fn nested_too_deep() -> Vec<u8> {
    let (id, depth) = (UNREADABLE_ID.to_string(), 200);
    let nested = "[".repeat(depth) + &"]".repeat(depth);
    let work = format!("{{\"kind\":\"conversation\",\"request\":{nested}}}");
    format!("\u{1}{{\"id\":\"{id}\",\"account\":\"default\",\"namespace\":\"default\",\"work\":{work}}}").into_bytes()
}

#[test]
fn a_queue_entry_that_cannot_be_decoded_is_set_aside_and_the_others_are_ingested() {
    for value in [b"garbage".to_vec(), b"\x01{\"id\":[".to_vec(), nested_too_deep(), Vec::new()] {
        let waiting = Waiting::new();
        waiting.put(Column::Queue, &waiting.key(&UNREADABLE_ID.to_bytes()), &value);
        let _server = waiting.start();
        waiting.assert_is_set_aside();
    }
}

#[test]
fn a_queue_entry_that_cannot_be_decoded_is_listed_and_dropped_on_a_stopped_directory() {
    let waiting = Waiting::new();
    waiting.put(Column::Queue, &waiting.key(&UNREADABLE_ID.to_bytes()), b"garbage");
    let (is_sound, said) = examine(&waiting.data, &[]);
    assert!(!is_sound && said.contains("namespace default/default"), "{said}");
    waiting.assert_is_set_aside();
    waiting.start();
}

#[test]
fn a_dead_letter_that_cannot_be_decoded_is_set_aside() {
    let waiting = Waiting::new();
    waiting.put(Column::DeadLetters, &[b"default\0", &UNREADABLE_ID.to_bytes()[..]].concat(), b"garbage");
    let server = waiting.start();
    let queue = server.get("/v1/queue");
    assert_eq!((queue.status, &queue.body["dead_letters"]), (200, &json!([])), "{queue:?}");
    waiting.assert_is_set_aside();
}

#[test]
fn a_fingerprint_that_cannot_be_decoded_stops_nothing() {
    let waiting = Waiting::new();
    waiting.put(Column::Fingerprints, &waiting.key(b"memories\x000123456789abcdef"), b"garbage");
    let server = waiting.start();
    assert!(!server.log().contains("sweeping out what is old failed"), "{}", server.log());
    let (is_sound, said) = examine(&waiting.data, &[]);
    assert!(is_sound, "{said}");
}

#[test]
fn a_notification_that_cannot_be_decoded_stops_nothing() {
    let waiting = Waiting::new();
    waiting.put(Column::Notifications, b"evt_1", b"garbage");
    let server = waiting.start();
    assert!(!server.log().contains("sweeping out what is old failed"), "{}", server.log());
}
