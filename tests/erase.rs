//! Erased text is in no file of the data directory: not in packs, not in the index, not in the records.
//!
//! Each test writes a word that occurs nowhere else. After the erasure every file is searched for it, also unpacked:
//! all objects of the repositories with git, and all records through the key-value store. Small blocks of the database
//! are compressed with LZ4, which keeps the first occurrence of a word as it is, so deleted records show in the raw
//! bytes.

use std::path::{Path, PathBuf};
use std::process::Command;

use cuebase_storage::key_value::{Column, Engine, RocksEngine};
use serde_json::{Value, json};

use crate::support::disk::Disk;
use crate::support::{
    Server, committed_messages, cuebase, files_below, fresh, git, recorded_memories, repository, run, stdout,
};

/// The word to erase. It becomes part of paths, which are in lower case.
const WORD: &str = "quincequartz";
const NAMESPACE: &str = "notes";

fn has_word(bytes: &[u8]) -> bool {
    bytes.to_ascii_lowercase().windows(WORD.len()).any(|window| window == WORD.as_bytes())
}

/// Returns where the word is in the data directory of a stopped server.
fn places(data: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for file in files_below(data) {
        // The name of a file may have the word too. The control socket cannot be read.
        let content = std::fs::read(&file).unwrap_or_default();
        if has_word(&content) || has_word(file.to_string_lossy().as_bytes()) {
            found.push(file.display().to_string());
        }
    }
    for repository in repositories(data) {
        let objects = Command::new("git")
            .arg("-C")
            .arg(&repository)
            .args(["cat-file", "--batch-all-objects", "--unordered", "--batch"])
            .output()
            .expect("git runs");
        assert!(objects.status.success(), "{}", String::from_utf8_lossy(&objects.stderr));
        if has_word(&objects.stdout) {
            found.push(format!("objects of {}", repository.display()));
        }
    }
    let store = RocksEngine::open(&data.join("records")).expect("opens");
    let store: &dyn Engine = &store;
    for column in Column::ALL {
        for entry in store.read_all(*column) {
            let (key, value) = entry.expect("reads");
            if has_word(&key) || has_word(&value) {
                found.push(format!("a record in {}", column.name()));
            }
        }
    }
    found
}

fn repositories(data: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(data.join("repositories/default")).expect("lists") {
        found.push(entry.expect("an entry").path());
    }
    found
}

/// Checks that the word is nowhere, and that everything else is sound.
fn assert_erased(data: &Path) {
    assert_eq!(places(data), Vec::<String>::new());
    let examined = run(data, &["doctor"]);
    assert!(examined.status.success(), "{}", String::from_utf8_lossy(&examined.stdout));
    for repository in repositories(data) {
        assert_eq!(git(&repository, &["fsck", "--strict", "--full"]), "");
        git(&repository, &["log", "--all", "--format=%H %an %at"]);
    }
    // The doctor opens the database and the indexes. Neither may bring anything back.
    assert_eq!(places(data), Vec::<String>::new());
}

/// Posts a conversation, and waits until it is ingested.
fn converse(server: &Server, session: &str, messages: &[(&str, &str)]) -> String {
    let messages: Vec<Value> =
        messages.iter().map(|(name, text)| json!({"role": "user", "name": name, "content": text})).collect();
    let body = json!({"namespace": NAMESPACE, "session_id": session, "messages": messages});
    let answer = server.post("/v1/memories", &body);
    assert_eq!(answer.status, 202, "{answer:?}");
    server.drain();
    answer.body["id"].as_str().expect("an id").to_owned()
}

fn write(server: &Server, path: &str, content: &str) {
    let answer = server.post(&format!("/v1/memories/{path}"), &json!({"namespace": NAMESPACE, "content": content}));
    assert!(matches!(answer.status, 200 | 201), "{answer:?}");
}

/// Returns the path of the best hit for the word.
fn path_of_word(server: &Server) -> String {
    let hits = server.retrieve(NAMESPACE, &format!("q={WORD}&limit=5")).hits();
    let holds = |hit: &&Value| has_word(hit["content"].as_str().unwrap_or_default().as_bytes());
    hits.iter().find(holds).expect("a memory with the word")["path"].as_str().expect("a path").to_owned()
}

/// Starts a server with a namespace that has a memory with three versions, and returns the server.
fn started(data: &Path) -> Server {
    let server = Server::start(data);
    server.namespace(NAMESPACE);
    for version in 1..=3 {
        write(&server, "facts/harbour/ferry.md", &format!("# The ferry leaves at {version} from Oban"));
    }
    server
}

/// Returns the subjects, authors and times of the commits that changed the memory of [`started`].
fn ferry_history(data: &Path) -> String {
    let repository = repository(data, NAMESPACE);
    git(&repository, &["log", "--format=%s %an %at", "--", "facts/harbour/ferry.md"])
}

fn assert_ferry_is_intact(server: &Server) {
    let ferry = server.get(&format!("/v1/memories/facts/harbour/ferry.md?namespace={NAMESPACE}&detail=full"));
    assert_eq!(ferry.body["content"], "# The ferry leaves at 3 from Oban\n", "{ferry:?}");
    assert_eq!(ferry.body["revisions"].as_array().map(Vec::len), Some(3), "{ferry:?}");
    let found = server.retrieve(NAMESPACE, "q=when+does+the+ferry+leave&limit=3").contents();
    assert!(found.iter().any(|content| content.contains("at 3 from Oban")), "{found:?}");
}

fn erase(data: &Path, selection: [&str; 2]) -> String {
    stdout(data, &["erase", "--namespace", NAMESPACE, selection[0], selection[1], "--yes"])
}

#[test]
fn a_memory_erased_by_path_is_gone_with_its_history_and_the_messages_behind_it() {
    let (_folder, data) = fresh();
    let server = started(&data);
    let secret = format!("The {WORD} safe opens with Marit's birthday");
    converse(&server, "s1", &[("Ann", secret.as_str()), ("Ann", "The baker closes on Tuesdays")]);
    let path = path_of_word(&server);
    write(
        &server,
        "facts/harbour/link.md",
        &format!("# A link\n\nSee [the safe](../../{path}) at /{path} and [[{path}]], or {path}."),
    );
    write(&server, &path, &format!("# The {WORD} safe was moved"));
    assert_eq!(server.call("DELETE", &format!("/v1/memories/{path}?namespace={NAMESPACE}"), None).status, 202);
    server.drain();
    let before = recorded_memories(&server, NAMESPACE).expect("the namespace");
    assert!(server.terminate());
    let history = ferry_history(&data);
    let messages = committed_messages(&repository(&data, NAMESPACE));
    assert!(places(&data).len() > 3, "the word is in the history and in the kept conversation");

    let server = Server::start(&data);
    let report = erase(&data, ["--path", &path]);
    assert!(report.starts_with("1 memories erased") && report.contains("1 kept conversations changed"), "{report}");
    assert_eq!(
        server
            .retrieve(NAMESPACE, &format!("q={WORD}&limit=5"))
            .contents()
            .iter()
            .filter(|text| has_word(text.as_bytes()))
            .count(),
        0
    );
    assert_ferry_is_intact(&server);
    assert_eq!(recorded_memories(&server, NAMESPACE), Some(before));
    let baker = server.retrieve(NAMESPACE, "q=when+is+the+baker+closed&limit=3").contents();
    assert!(baker.iter().any(|content| content.contains("Tuesdays")), "{baker:?}");
    assert!(server.terminate());
    assert_erased(&data);
    assert_eq!(ferry_history(&data), history);
    assert_eq!(committed_messages(&repository(&data, NAMESPACE)), messages);

    // Later writes continue the new history.
    let server = Server::start(&data);
    write(&server, "facts/harbour/pier.md", "# The pier is open");
    converse(&server, "s2", &[("Ann", "The lighthouse is painted white")]);
    assert!(server.terminate());
    assert_erased(&data);
}

#[test]
fn a_session_is_erased_on_a_stopped_data_directory() {
    let (folder, data) = fresh();
    let server = started(&data);
    let secret = format!("The {WORD} contract was signed in Lisbon");
    let id = converse(&server, "s1", &[("Ann", secret.as_str()), ("Bo", "Hello")]);
    converse(&server, "s2", &[("Ann", "The baker closes on Tuesdays")]);
    assert!(server.terminate());
    assert!(!places(&data).is_empty());
    let report = erase(&data, ["--session", "s1"]);
    assert!(!report.starts_with("0 memories") && report.contains("1 kept conversations removed"), "{report}");
    assert_erased(&data);
    git(folder.path(), &["clone", "--quiet", repository(&data, NAMESPACE).to_str().expect("a path"), "cloned"]);
    assert!(folder.path().join("cloned/facts/harbour/ferry.md").exists());
    let server = Server::start(&data);
    assert_ferry_is_intact(&server);
    assert_eq!(server.get(&format!("/v1/sources/{id}?namespace={NAMESPACE}")).status, 404);
    let kept = server.get(&format!("/v1/sources?namespace={NAMESPACE}&session_id=s2")).body;
    assert_eq!(kept["sources"].as_array().map(Vec::len), Some(1), "{kept}");
}

#[test]
fn a_subject_is_erased_with_everything_that_it_said() {
    let (_folder, data) = fresh();
    let server = started(&data);
    converse(
        &server,
        "s1",
        &[("Quincequartz Vale", "I moved to Oban last spring"), ("Ines", "The baker closes on Tuesdays")],
    );
    let said = server.retrieve(NAMESPACE, "q=who+moved+to+Oban&limit=3").contents();
    assert!(said.iter().any(|content| content.contains("spring")), "{said:?}");
    let report = erase(&data, ["--subject", "QUINCEQUARTZ vale"]);
    assert!(!report.starts_with("0 memories"), "{report}");
    let left = server.retrieve(NAMESPACE, "q=who+moved+to+Oban&limit=9").contents();
    assert!(!left.iter().any(|content| content.contains("spring")), "{left:?}");
    assert_ferry_is_intact(&server);
    assert!(server.terminate());
    assert_erased(&data);
}

#[test]
fn messages_of_a_managed_conversation_are_emptied_with_the_memory_made_from_them() {
    let (_folder, data) = fresh();
    let server = started(&data);
    let made = server.post("/v1/conversations", &json!({"namespace": NAMESPACE, "title": "Roof"}));
    let conversation = made.body["id"].as_str().expect("an id").to_owned();
    let secret = format!("The {WORD} skylight leaks above the stairs");
    let body = json!({"messages": [
        {"role": "user", "content": "The roofer comes on Friday"}, {"role": "user", "content": secret},
    ]});
    assert_eq!(server.post(&format!("/v1/conversations/{conversation}/messages"), &body).status, 201);
    server.drain();
    let report = erase(&data, ["--path", &path_of_word(&server)]);
    assert!(report.contains("1 messages of managed conversations emptied"), "{report}");
    let messages = server.get(&format!("/v1/conversations/{conversation}")).body["messages"].to_string();
    assert!(messages.contains("Friday") && !has_word(messages.as_bytes()), "{messages}");
    // The session of its memories is the id of the conversation.
    assert!(erase(&data, ["--session", &conversation]).contains("1 managed conversations removed"));
    assert_eq!(server.get(&format!("/v1/conversations/{conversation}")).status, 404);
    assert!(server.terminate());
    assert_erased(&data);
}

#[test]
fn writes_that_were_accepted_before_an_erasure_do_not_bring_the_text_back() {
    let (_folder, data) = fresh();
    let server = started(&data);
    let session = stdout(&data, &["token"]);
    let secret = json!({"namespace": NAMESPACE, "session_id": "s1",
        "messages": [{"role": "user", "content": format!("The {WORD} key is under the mat")}]});
    assert_eq!(server.post("/v1/memories", &secret).status, 202);
    let body = json!({"namespace": NAMESPACE, "session_id": "s1"});
    let accepted = server.call_as(&session, "POST", "/v1/erase", Some(&body));
    assert_eq!((accepted.status, &accepted.body["status"]), (202, &json!("accepted")), "{accepted:?}");
    server.drain();
    assert!(server.terminate());
    assert_erased(&data);
}

#[test]
fn an_erasure_without_a_confirmation_changes_nothing() {
    let (_folder, data) = fresh();
    let server = started(&data);
    let secret = format!("The {WORD} map is in the attic");
    converse(&server, "s1", &[("Ann", secret.as_str())]);
    let refused = run(&data, &["erase", "--namespace", NAMESPACE, "--session", "s1"]);
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("--yes"), "{refused:?}");
    for arguments in [vec![], vec!["--session", "s1", "--subject", "Ann"]] {
        let command = [vec!["erase", "--namespace", NAMESPACE, "--yes"], arguments].concat();
        assert!(!run(&data, &command).status.success(), "{command:?}");
    }
    let unknown = run(&data, &["erase", "--namespace", "none", "--session", "s1", "--yes"]);
    assert!(!unknown.status.success());
    path_of_word(&server);
    assert!(erase(&data, ["--session", "none"]).starts_with("0 memories erased"));
    path_of_word(&server);
}

/// Moments of an erasure, as rules of `disk.c`.
const KILL_POINTS: [&str; 9] = [
    "kill open objects/pack/tmp_ 1",
    "killafter rename .idx 1",
    "kill rename refs/heads/main 1",
    "killafter rename refs/heads/main 1",
    "kill unlink memories.log 1",
    "killafter unlink memories.log 1",
    "kill unlink objects/pack/pack- 1",
    "killafter unlink objects/pack/pack- 1",
    "kill open MANIFEST 2",
];

#[test]
fn an_erasure_that_is_killed_at_any_moment_is_completed_by_the_next_start() {
    for rule in KILL_POINTS {
        let folder = tempfile::tempdir().expect("temporary directory");
        let (root, data) = (folder.path().join("box"), folder.path().join("box/data"));
        std::fs::create_dir_all(&root).expect("creates");
        let server = started(&data);
        let secret = format!("The {WORD} lantern hangs in the cellar");
        converse(&server, "s1", &[("Ann", secret.as_str())]);
        converse(&server, "s2", &[("Ann", "The baker closes on Tuesdays")]);
        assert!(server.terminate());
        let history = ferry_history(&data);
        let disk = Disk::under(&root, &folder.path().join("disk"));
        disk.set_rules(&[rule]);
        let mut command = cuebase(&data, &["erase", "--namespace", NAMESPACE, "--session", "s1", "--yes"]);
        disk.watch(&mut command, false);
        let killed = command.output().expect("the binary runs");
        assert!(killed.status.code().is_none(), "{rule}: not reached: {killed:?}");
        let server = Server::start(&data);
        server.drain();
        assert_ferry_is_intact(&server);
        assert!(server.terminate(), "{rule}");
        assert_eq!(places(&data), Vec::<String>::new(), "{rule}");
        assert_erased(&data);
        assert_eq!(ferry_history(&data), history, "{rule}");
    }
}
