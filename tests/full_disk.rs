//! A full disk: every write is refused as retryable and leaves nothing behind, reads succeed, deletions free space, and
//! writes are accepted again once there is space.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::disk::WatchedData;
use crate::support::working_copy::WorkingCopy;
use crate::support::{Answer, Server, files_below, fresh, run, stdout, wait_for};

/// Rules of a full disk.
const FULL: [&str; 3] = ["enospc write * 0", "enospc open * 0", "enospc mkdir * 0"];
/// Size of the small file system, MiB.
const SMALL_DISK_MIB: u64 = 256;
/// Size of a file system that has little more room than an empty server takes, MiB.
const TINY_DISK_MIB: u64 = 64;
/// Size of the reserve that the server keeps for deletions on the small file system, bytes: a sixteenth.
const RESERVE_BYTES: u64 = (SMALL_DISK_MIB << 20) / 16;
/// Shell command that keeps the server from having a reserve: a folder has its name.
const NO_RESERVE: &str = "mkdir \"$DATA/reserve\"\n";
/// Sizes of the uploads that fill the disk, bytes.
const UPLOADS: [usize; 4] = [16 << 20, 1 << 20, 64 << 10, 4 << 10];

/// A server with one object of each kind that the tests change.
struct PopulatedServer {
    watched: WatchedData,
    server: Server,
    /// A dashboard session.
    session: String,
    /// Route of a conversation.
    talk: String,
    /// Ids of the conversation's messages.
    messages: Vec<String>,
    /// Id of an uploaded file.
    media: String,
}

impl PopulatedServer {
    /// Starts a server on a disk with space.
    fn new() -> Self {
        let watched = WatchedData::new();
        let server = watched.start();
        let session = stdout(&watched.data, &["token"]);
        server.remember("default", &["The lighthouse keeper is called Agatha"]);
        for name in ["a", "b"] {
            let written = server.post(&format!("/v1/memories/facts/{name}.md"), &json!({"content": "# A note\n"}));
            assert_eq!(written.status, 201, "{written:?}");
        }
        assert_eq!(server.post("/v1/vocab", &json!({"terms": [{"term": "mole"}, {"term": "pier"}]})).status, 202);
        let made = server.post("/v1/conversations", &json!({"title": "Talk"}));
        let talk = format!("/v1/conversations/{}", text(&made.body["id"]));
        let new_messages =
            json!({"messages": [{"role": "system", "content": "one"}, {"role": "system", "content": "two"}]});
        let appended = server.post(&format!("{talk}/messages"), &new_messages);
        let messages = appended.body["ids"].as_array().into_iter().flatten().map(text).collect();
        let media = text(&server.post("/v1/media", &json!("bytes")).body["id"]);
        server.settle("default");
        Self { watched, server, session, talk, messages, media }
    }

    fn fill_disk(&self) {
        self.watched.disk.set_rules(&FULL);
    }

    fn free_disk(&self) {
        self.watched.disk.set_rules(&[]);
    }

    /// Sends a request of each kind that writes, with a mark that makes it different from other calls.
    fn write_all(&self, mark: &str) -> Vec<(&'static str, Answer)> {
        let (server, talk) = (&self.server, self.talk.as_str());
        let (first, second) = (&self.messages[0], &self.messages[1]);
        let new_messages =
            json!({"messages": [{"role": "user", "content": format!("The {mark} bell was cast in Genoa")}]});
        let note = json!({"content": format!("# The {mark} note\n")});
        let term = json!({"terms": [{"term": mark}]});
        let skill = json!({"skills": [{"name": mark, "content": "1. Look."}]});
        let changed = json!({"content": mark});
        vec![
            ("a conversation to remember", server.post("/v1/memories", &new_messages)),
            ("a direct write of a new path", server.post(&format!("/v1/memories/facts/{mark}.md"), &note)),
            ("a direct write of an existing path", server.post("/v1/memories/facts/a.md", &note)),
            ("a deletion of a memory", server.call("DELETE", "/v1/memories/facts/b.md", None)),
            ("a term", server.post("/v1/vocab", &term)),
            ("a deletion of a term", server.call("DELETE", "/v1/vocab?term=mole", None)),
            ("a skill", server.post("/v1/skills", &skill)),
            ("an upload", server.post("/v1/media", &json!(mark))),
            ("a document", server.post(&format!("/v1/documents?filename={mark}.json"), &json!({"name": mark}))),
            ("a deletion of a document", server.call("DELETE", &format!("/v1/documents/{mark}-json"), None)),
            ("an erasure", server.call_as(&self.session, "POST", "/v1/erase", Some(&json!({"session_id": mark})))),
            ("a namespace", server.post("/v1/namespaces", &json!({"name": format!("n-{mark}")}))),
            ("a key", server.call_as(&self.session, "POST", "/v1/keys", Some(&json!({"name": mark})))),
            ("a managed conversation", server.post("/v1/conversations", &json!({"title": mark}))),
            ("a message", server.post(&format!("{talk}/messages"), &new_messages)),
            ("an edit in place", server.call("PATCH", &format!("{talk}/messages/{first}"), Some(&changed))),
            ("an edit on a branch", server.post(&format!("{talk}/messages/{second}/edit"), &changed)),
            ("a title", server.call("PATCH", talk, Some(&json!({"title": mark})))),
            ("a rewind", server.post(&format!("{talk}/rewind"), &json!({"to": first}))),
        ]
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is not a string")).to_owned()
}

fn is_found(server: &Server, query: &str, text: &str) -> bool {
    let hits = server.retrieve("default", &format!("q={query}&limit=10")).contents();
    hits.iter().any(|hit| hit.contains(text))
}

fn assert_refused(what: &str, answer: &Answer) {
    assert_eq!((answer.status, answer.code()), (503, "storage_unavailable"), "{what}: {answer:?}");
    assert!(answer.retry_after.is_some(), "{what}: {answer:?}");
}

#[test]
fn every_write_to_a_full_disk_is_refused_as_retryable() {
    let populated = PopulatedServer::new();
    populated.fill_disk();
    // Twice, since the engine accepts no write after its first failure.
    for mark in ["quince", "medlar"] {
        for (what, answer) in populated.write_all(mark) {
            assert_refused(what, &answer);
        }
    }
}

#[test]
fn reads_succeed_while_the_disk_is_full() {
    let populated = PopulatedServer::new();
    populated.fill_disk();
    populated.write_all("quince");
    let media = format!("/v1/media/{}", populated.media);
    for path in [
        "/v1/retrieve?q=lighthouse",
        "/v1/memories/facts/a.md?detail=full",
        "/v1/tree",
        "/v1/topics",
        "/v1/vocab",
        "/v1/skills",
        "/v1/namespaces",
        "/v1/conversations",
        "/v1/queue",
        "/v1/usage",
        "/v1/billing",
        "/v1/sources",
        "/v1/documents",
        "/v1/writes",
        "/v1/whoami",
        populated.talk.as_str(),
        media.as_str(),
    ] {
        let read = populated.server.get(path);
        assert_eq!(read.status, 200, "{path}: {read:?}");
    }
    assert!(is_found(&populated.server, "lighthouse+keeper", "Agatha"));
}

#[test]
fn writes_are_accepted_again_once_there_is_space() {
    let populated = PopulatedServer::new();
    populated.fill_disk();
    populated.write_all("quince");
    populated.free_disk();
    // The first writes may still be refused.
    wait_for("a direct write to be accepted", || {
        let body = json!({"content": "# The first note\n"});
        matches!(populated.server.post("/v1/memories/facts/first.md", &body).status, 200 | 201)
    });
    for (what, answer) in populated.write_all("medlar") {
        assert!((200..300).contains(&answer.status), "{what}: {answer:?}");
    }
    populated.server.settle("default");
    assert!(is_found(&populated.server, "medlar+bell", "Genoa"));
    let data = populated.watched.data.clone();
    assert!(populated.server.terminate());
    let examined = run(&data, &["doctor"]);
    assert!(examined.status.success(), "{}", String::from_utf8_lossy(&examined.stdout));
}

#[test]
fn queued_writes_are_ingested_once_there_is_space() {
    let populated = PopulatedServer::new();
    let server = &populated.server;
    // The queue accepts writes, but they cannot be ingested.
    populated.watched.disk.set_rules(&["enospc write repositories/ 0", "enospc open repositories/ 0"]);
    for number in 0..20 {
        server.remember("default", &[&format!("Barrel number{number}x was rolled ashore")]);
    }
    wait_for("a failed attempt", || server.log().contains("ingestion waits for the disk"));
    populated.fill_disk();
    populated.write_all("quince");
    populated.free_disk();
    server.drain();
    for number in 0..20 {
        let token = format!("number{number}x");
        assert!(is_found(server, &token, &token), "{token} was accepted");
    }
    assert_eq!(server.get("/v1/queue").body["dead_letters"], json!([]));
}

#[test]
fn a_refused_deletion_succeeds_when_it_is_retried() {
    let populated = PopulatedServer::new();
    populated.server.namespace("archive");
    populated.fill_disk();
    populated.write_all("quince");
    let delete = || populated.server.call_as(&populated.session, "DELETE", "/v1/namespaces/archive", None);
    assert_refused("a deletion", &delete());
    populated.free_disk();
    let mut answer = delete();
    wait_for("the deletion to be accepted", || {
        if answer.status == 503 {
            answer = delete();
        }
        answer.status != 503
    });
    assert_eq!(answer.status, 200, "the refused request has deleted the namespace: {answer:?}");
}

#[test]
fn a_refused_message_is_stored_once_when_it_is_retried() {
    let populated = PopulatedServer::new();
    populated.fill_disk();
    populated.write_all("quince");
    populated.free_disk();
    let new_messages = json!({"messages": [{"role": "system", "content": "the only one of its kind"}]});
    let address = format!("{}/messages", populated.talk);
    wait_for("the message to be accepted", || populated.server.post(&address, &new_messages).status == 201);
    let messages = populated.server.get(&populated.talk).body["messages"].to_string();
    assert_eq!(messages.matches("the only one of its kind").count(), 1, "{messages}");
}

#[test]
fn a_push_to_a_full_disk_is_refused_until_there_is_space() {
    let watched = WatchedData::new();
    let settings = watched.data.with_extension("toml");
    std::fs::write(&settings, "[git]\naccept_push = true\n").expect("writes");
    let server = watched.start_with(&["--config", settings.to_str().expect("a path")]);
    let written = server.post("/v1/memories/facts/a.md", &json!({"content": "# A note\n"}));
    assert_eq!(written.status, 201, "{written:?}");
    let folder = tempfile::tempdir().expect("temporary directory");
    let copy = WorkingCopy::of(&server, "default", &folder.path().join("copy"));
    copy.commit("facts/pushed.md", "# A pushed note\n");
    watched.disk.set_rules(&FULL);
    assert!(!copy.push());
    assert_eq!(server.get("/v1/memories/facts/pushed.md").status, 404);
    watched.disk.set_rules(&[]);
    wait_for("a push to be accepted", || copy.push());
    assert_eq!(server.get("/v1/memories/facts/pushed.md").status, 200);
}

#[test]
fn an_import_to_a_full_disk_can_be_repeated() {
    let populated = PopulatedServer::new();
    let data = &populated.watched.data;
    let file = data.with_extension("jsonl");
    let line = json!({"messages": [{"role": "user", "content": "The medlar bell was cast in Genoa"}]});
    std::fs::write(&file, format!("{line}\n")).expect("writes");
    let arguments = ["import", file.to_str().expect("a path")];
    populated.fill_disk();
    assert!(!run(data, &arguments).status.success());
    populated.free_disk();
    wait_for("an import to be accepted", || run(data, &arguments).status.success());
    populated.server.settle("default");
    assert!(is_found(&populated.server, "medlar+bell", "Genoa"));
}

#[test]
fn an_upload_that_does_not_fit_leaves_no_file() {
    let populated = PopulatedServer::new();
    let media = populated.watched.data.join("media");
    let before = files_below(&media);
    for rule in ["enospc write media/ 0", "enospc sync media/ 0", "enospc rename media/ 0", "enospc write records/ 0"] {
        populated.watched.disk.set_rules(&[rule]);
        assert_refused(rule, &populated.server.post("/v1/media", &json!("x".repeat(1 << 20))));
        assert_eq!(files_below(&media), before, "{rule}");
    }
    populated.free_disk();
    wait_for("an upload to be accepted", || populated.server.post("/v1/media", &json!("fits")).status == 201);
}

/// Returns whether a test can mount a file system.
fn can_mount() -> bool {
    let folder = tempfile::tempdir().expect("temporary directory");
    let script = "mount -t tmpfs -o size=1m tmpfs \"$1\"";
    let mut command = Command::new("unshare");
    command.args(["-r", "-m", "sh", "-c", script, "sh"]).arg(folder.path());
    let can = command.output().is_ok_and(|output| output.status.success());
    if !can {
        eprintln!("skipped: no file system can be mounted here");
    }
    can
}

/// A server whose data directory is on a small file system, which is unmounted when the process exits.
struct SmallDisk {
    server: Server,
    session: String,
    /// Path of the data directory from outside the server's mount namespace.
    data: PathBuf,
    /// Removed when this is dropped.
    _folder: tempfile::TempDir,
}

impl SmallDisk {
    /// Runs shell commands, which may use `$BINARY` and `$DATA`, then starts a server.
    fn start(commands: &str) -> Self {
        Self::start_on(SMALL_DISK_MIB, commands)
    }

    /// Starts a server like [`Self::start`], on a file system of a given size.
    fn start_on(mib: u64, commands: &str) -> Self {
        let (folder, data) = fresh();
        std::fs::create_dir_all(&data).expect("creates");
        let (key, token) = (folder.path().join("key"), folder.path().join("token"));
        let script = format!(
            "set -e\n\
             mount -t tmpfs -o size={mib}m tmpfs \"$DATA\"\n\
             DATA=\"$DATA/inside\"\n\
             \"$BINARY\" keys create --init --data \"$DATA\" > \"$KEY\"\n\
             \"$BINARY\" token --data \"$DATA\" > \"$TOKEN\"\n\
             {commands}\n\
             exec \"$BINARY\" serve --listen 127.0.0.1:0 --data \"$DATA\"\n"
        );
        let mut command = Command::new("unshare");
        command.args(["-r", "-m", "sh", "-c", &script]);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("BINARY", env!("CARGO_BIN_EXE_cuebase")).env("DATA", &data);
        command.env("KEY", &key).env("TOKEN", &token).env("RESERVE_BYTES", RESERVE_BYTES.to_string());
        command.current_dir(folder.path());
        let mut server = Server::try_start(&data, command).unwrap_or_else(|| {
            let log = std::fs::read_to_string(data.with_extension("log")).unwrap_or_default();
            panic!("the server exited before it listened: {log}");
        });
        server.key = read_line(&key);
        let inside = Path::new("/proc").join(server.pid().to_string()).join("root");
        let data = inside.join(data.strip_prefix("/").expect("a path from the root")).join("inside");
        Self { server, session: read_line(&token), data, _folder: folder }
    }

    /// Returns whether the reserve exists, which deletions and starts on a full disk need.
    fn has_reserve(&self) -> bool {
        self.reserved_bytes() == RESERVE_BYTES
    }

    fn reserved_bytes(&self) -> u64 {
        std::fs::metadata(self.data.join("reserve")).map_or(0, |found| found.len())
    }

    /// Uploads files until even a small one does not fit.
    fn fill(&self, namespace: &str) {
        for bytes in UPLOADS {
            let body = json!("x".repeat(bytes));
            let mut answer = self.server.post(&format!("/v1/media?namespace={namespace}"), &body);
            while answer.status == 201 {
                answer = self.server.post(&format!("/v1/media?namespace={namespace}"), &body);
            }
            assert_refused("an upload", &answer);
        }
    }
}

/// Sends a direct write and returns whether it was accepted.
fn is_writable(server: &Server) -> bool {
    server.post("/v1/memories/facts/a.md", &json!({"content": "# A note\n"})).status < 300
}

/// Creates a conversation in a namespace and returns its path.
fn new_talk(server: &Server, namespace: &str) -> String {
    let made = server.post("/v1/conversations", &json!({"namespace": namespace, "title": "Log"}));
    format!("/v1/conversations/{}", text(&made.body["id"]))
}

/// Appends to a conversation until the records refuse it. Nothing is extracted from messages of the system.
fn fill_records(server: &Server, talk: &str) {
    let content = "The ballast is counted again. ".repeat(8 << 10);
    let body = json!({"messages": [{"role": "system", "content": content}]});
    let mut answer = server.post(&format!("{talk}/messages"), &body);
    while answer.status == 201 {
        answer = server.post(&format!("{talk}/messages"), &body);
    }
    assert_refused("a message", &answer);
}

fn read_line(file: &Path) -> String {
    std::fs::read_to_string(file).expect("reads").trim_end().to_owned()
}

#[test]
fn a_namespace_can_be_deleted_on_a_full_disk() {
    if !can_mount() {
        return;
    }
    let small = SmallDisk::start("");
    let server = &small.server;
    wait_for("the reserve to be created", || small.has_reserve());
    server.namespace("large");
    server.remember("default", &["The lighthouse keeper is called Agatha"]);
    server.settle("default");
    small.fill("large");
    assert!(is_found(server, "lighthouse+keeper", "Agatha"));
    let deleted = server.call_as(&small.session, "DELETE", "/v1/namespaces/large", None);
    assert_eq!(deleted.status, 200, "{deleted:?}");
    wait_for("a write to be accepted", || is_writable(server));
    server.settle("default");
    let upload = server.post("/v1/media", &json!("x".repeat(1 << 20)));
    assert_eq!(upload.status, 201, "{upload:?}");
}

#[test]
fn a_server_starts_on_a_full_disk() {
    if !can_mount() {
        return;
    }
    // A first server creates the reserve, then another file fills the disk.
    let small = SmallDisk::start(
        "\"$BINARY\" namespaces create large --data \"$DATA\"\n\
         \"$BINARY\" serve --listen 127.0.0.1:0 --data \"$DATA\" > /dev/null &\n\
         until [ \"$(stat -c %s \"$DATA/reserve\" 2> /dev/null)\" = $RESERVE_BYTES ]; do :; done\n\
         kill -9 $!\n\
         wait $! || true\n\
         cat /dev/zero > \"$DATA/../filling\" 2> /dev/null || true",
    );
    assert_eq!(small.server.get("/v1/whoami").status, 200);
    assert_eq!(small.server.get("/v1/namespaces").status, 200);
    let deleted = small.server.call_as(&small.session, "DELETE", "/v1/namespaces/large", None);
    assert_eq!(deleted.status, 200, "{deleted:?}");
}

#[test]
fn a_namespace_can_be_deleted_on_a_full_disk_without_a_reserve() {
    if !can_mount() {
        return;
    }
    let small = SmallDisk::start_on(TINY_DISK_MIB, NO_RESERVE);
    let server = &small.server;
    server.namespace("large");
    server.remember("default", &["The lighthouse keeper is called Agatha"]);
    server.settle("default");
    let talk = new_talk(server, "large");
    small.fill("large");
    fill_records(server, &talk);
    let deleted = server.call_as(&small.session, "DELETE", "/v1/namespaces/large", None);
    assert_eq!(deleted.status, 200, "{deleted:?}");
    wait_for("a write to be accepted", || is_writable(server));
    assert!(is_found(server, "lighthouse+keeper", "Agatha"));
}

#[test]
fn the_reserve_of_a_small_disk_is_taken_again_once_there_is_room() {
    if !can_mount() {
        return;
    }
    let small = SmallDisk::start_on(TINY_DISK_MIB, "");
    let server = &small.server;
    let whole = (TINY_DISK_MIB << 20) / 16;
    wait_for("the reserve to be created", || small.reserved_bytes() == whole);
    server.namespace("large");
    let talk = new_talk(server, "large");
    small.fill("large");
    fill_records(server, &talk);
    let deleted = server.call_as(&small.session, "DELETE", "/v1/namespaces/large", None);
    assert_eq!(deleted.status, 200, "{deleted:?}");
    // Without a restart.
    wait_for("the reserve to be taken again", || small.reserved_bytes() == whole);
}

#[test]
fn a_server_without_a_reserve_starts_on_a_full_disk_and_serves_reads() {
    if !can_mount() {
        return;
    }
    let small = SmallDisk::start_on(
        TINY_DISK_MIB,
        &format!(
            "{NO_RESERVE}\
             \"$BINARY\" namespaces create default --data \"$DATA\"\n\
             \"$BINARY\" serve --listen 127.0.0.1:0 --data \"$DATA\" > \"$DATA/../started\" &\n\
             until grep -q '^listening' \"$DATA/../started\"; do :; done\n\
             kill -9 $!\n\
             wait $! || true\n\
             cat /dev/zero > \"$DATA/../filling\" 2> /dev/null || true"
        ),
    );
    let server = &small.server;
    for path in ["/v1/whoami", "/v1/namespaces", "/v1/conversations", "/v1/usage"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    for (what, path, body) in [
        ("a conversation", "/v1/conversations", json!({"title": "Talk"})),
        ("a namespace", "/v1/namespaces", json!({"name": "another"})),
    ] {
        assert_refused(what, &server.post(path, &body));
    }
    // Another program makes room.
    std::fs::remove_file(small.data.with_file_name("filling")).expect("removes");
    wait_for("a write to be accepted", || is_writable(server));
    assert_eq!(server.post("/v1/conversations", &json!({"title": "Talk"})).status, 201);
}
