//! Kills at every call that changes a file, for each kind of write.
//!
//! A server is killed at one such call while it processes a write: before the call, after it, or in the middle of it.
//! The next server must find the state before the write or the state after it, without another write. If the write was
//! answered, it must be the state after it. The same request then leads to the state after the write.
//!
//! [`writes`] has the kinds of writes, [`state`] what is compared. The random kills under load are in
//! [`campaign`](super::campaign).
//!
//! `CUEBASE_KILLS_PER_WRITE` sets the number of calls at which each write is killed. If a write makes fewer calls, each
//! of them is used with every action. `CUEBASE_KILLS_SEED` is the seed of the choices.

mod state;
mod writes;

use std::path::{Path, PathBuf};
use std::process::Command;

use fastrand::Rng;
use serde_json::{Value, json};

use self::state::State;
use self::writes::Write;
use crate::support::disk::Disk;
use crate::support::working_copy::WorkingCopy;
use crate::support::{Server, committed_messages, cuebase, environment_number, repository, stdout, wait_for};

/// Kills of each kind of write in a run of the suite.
const KILLS_PER_WRITE: u64 = 2;
/// Actions at a call; see `disk.c`.
static ACTIONS: [&str; 3] = ["kill", "killafter", "tear"];
/// The namespace that is written to.
const NAMESPACE: &str = "default";
/// The namespace that is deleted.
const DELETED: &str = "spare";
/// The namespace that is created.
const CREATED: &str = "fresh";

#[test]
fn a_write_of_a_memory_is_complete_or_absent_after_a_kill_at_any_call() {
    use Write::{Append, Direct, Erasure, Forget, Overwrite, Push, Queued};
    kill_during_each(&[Direct, Overwrite, Queued, Append, Forget, Erasure, Push]);
}

#[test]
fn a_change_of_a_conversation_is_complete_or_absent_after_a_kill_at_any_call() {
    use Write::{ConversationDeletion, Edit, EditInPlace, Rewind};
    kill_during_each(&[Rewind, Edit, EditInPlace, ConversationDeletion]);
}

#[test]
fn an_upload_or_a_change_of_namespaces_is_complete_or_absent_after_a_kill_at_any_call() {
    use Write::{NamespaceCreation, NamespaceDeletion, Upload};
    kill_during_each(&[Upload, NamespaceCreation, NamespaceDeletion]);
}

/// Kills servers during writes of each kind, every time on a copy of the same data directory.
fn kill_during_each(kinds: &[Write]) {
    let kills = environment_number("CUEBASE_KILLS_PER_WRITE").unwrap_or(KILLS_PER_WRITE);
    let mut random = Rng::with_seed(environment_number("CUEBASE_KILLS_SEED").unwrap_or(1));
    let origin = Origin::new();
    for write in kinds {
        let (calls, after) = origin.write_without_kill(*write);
        assert_ne!(after, origin.before, "{write:?} changes nothing that is compared");
        let rules = rules_of(calls, kills, &mut random);
        println!("{write:?}: {calls} calls, {} kills", rules.len());
        for rule in rules {
            origin.kill_during(*write, &rule, &after);
        }
    }
}

/// Returns the rules for `kills` of the calls, spread evenly with a random action, or for each call and action.
fn rules_of(calls: u64, kills: u64, random: &mut Rng) -> Vec<String> {
    let mut rules = Vec::new();
    if kills >= calls {
        for call in 1..=calls {
            for action in ACTIONS {
                rules.push(format!("{action} any * {call}"));
            }
        }
        return rules;
    }
    for part in 0..kills {
        let (begin, end) = (part * calls / kills, (part + 1) * calls / kills);
        let action = ACTIONS[random.usize(..ACTIONS.len())];
        rules.push(format!("{action} any * {}", 1 + random.u64(begin..end)));
    }
    rules
}

/// The data directory that every run starts from, with an object for each kind of write. No server runs on it.
struct Origin {
    folder: tempfile::TempDir,
    /// An account-wide key.
    key: String,
    /// A dashboard session.
    session: String,
    /// Id of a managed conversation.
    conversation: String,
    /// Ids of its messages.
    messages: Vec<String>,
    /// A clone with a commit that was not pushed.
    working_copy: WorkingCopy,
    before: State,
}

impl Origin {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("temporary directory");
        let data = folder.path().join("data");
        let key = stdout(&data, &["keys", "create", "--init"]);
        let session = stdout(&data, &["token"]);
        let server = start(serve_command(&data), &data, &key);
        server.namespace(DELETED);
        let spare = json!({"namespace": DELETED, "content": "# The windlass\n"});
        for (path, body) in [
            ("facts/quay.md", json!({"content": "# The bollard\n"})),
            ("facts/rope.md", json!({"content": "# The hawser\n"})),
            ("facts/spare.md", spare),
        ] {
            assert_eq!(server.post(&format!("/v1/memories/{path}"), &body).status, 201);
        }
        let conversation = text(&server.post("/v1/conversations", &json!({"title": "Talk"})).body["id"]);
        let mut new_messages = Vec::new();
        for word in ["capstan", "davit", "fender"] {
            new_messages.push(json!({"role": "user", "content": format!("The harbour bought a {word} in Genoa")}));
        }
        let route = format!("/v1/conversations/{conversation}/messages");
        let appended = server.post(&route, &json!({"messages": new_messages}));
        let messages: Vec<String> = appended.body["ids"].as_array().expect("ids").iter().map(text).collect();
        server.drain();
        let working_copy = WorkingCopy::of(&server, NAMESPACE, &folder.path().join("copy"));
        working_copy.commit("facts/pushed.md", "# The sextant\n");
        let before = State::read(&server, &conversation);
        assert!(server.terminate());
        Self { folder, key, session, conversation, messages, working_copy, before }
    }

    /// Processes a write. Returns the number of calls that changed a file, and the state after it.
    fn write_without_kill(&self, write: Write) -> (u64, State) {
        let run = Run::new(self);
        let server = run.start_on_disk(self);
        run.disk.set_rules(&["count any * 0"]);
        assert!(write.send(self, &server).is_some(), "{write:?} is answered");
        finish_queue(&server);
        let calls = run.disk.counted_calls();
        run.disk.set_rules(&[]);
        (calls, State::read(&server, &self.conversation))
    }

    /// Kills a server by a rule during a write, and checks what the next server finds.
    fn kill_during(&self, write: Write, rule: &str, after: &State) {
        let run = Run::new(self);
        let server = run.start_on_disk(self);
        run.disk.set_rules(&[rule]);
        let is_answered = write.send(self, &server).is_some();
        finish_queue(&server);
        server.kill();
        run.disk.set_rules(&[]);

        let server = start(serve_command(&run.data), &run.data, &self.key);
        let found = State::read(&server, &self.conversation);
        assert!(found == *after || (!is_answered && found == self.before), "{write:?}, {rule}: {found:#?}");
        if found == self.before || write.can_be_repeated() {
            assert!(write.send(self, &server).is_some(), "{write:?}, {rule}");
            let repeated = State::read(&server, &self.conversation);
            assert!(repeated == *after, "{write:?}, {rule}, repeated: {repeated:#?}");
        }
        committed_messages(&repository(&run.data, NAMESPACE));
        server.kill();
    }
}

/// A copy of the data directory of an [`Origin`].
struct Run {
    data: PathBuf,
    disk: Disk,
    /// Removed when this is dropped.
    _folder: tempfile::TempDir,
}

impl Run {
    fn new(origin: &Origin) -> Self {
        let folder = tempfile::tempdir().expect("temporary directory");
        let (root, data) = (folder.path().join("box"), folder.path().join("box/data"));
        std::fs::create_dir_all(&root).expect("creates");
        let copied = Command::new("cp").arg("-r").arg(origin.folder.path().join("data")).arg(&data).status();
        assert!(copied.expect("cp runs").success());
        let disk = Disk::under(&root, &folder.path().join("disk"));
        Self { data, disk, _folder: folder }
    }

    fn start_on_disk(&self, origin: &Origin) -> Server {
        let mut command = serve_command(&self.data);
        self.disk.watch(&mut command, false);
        start(command, &self.data, &origin.key)
    }
}

fn serve_command(data: &Path) -> Command {
    let mut command = cuebase(data, &["serve", "--listen", "127.0.0.1:0"]);
    command.env("CUEBASE_GIT_ACCEPT_PUSH", "true");
    command
}

fn start(command: Command, data: &Path, key: &str) -> Server {
    let mut server = Server::try_start(data, command).expect("the server starts");
    key.clone_into(&mut server.key);
    server
}

/// Waits until accepted writes are processed, or the server has been killed.
fn finish_queue(server: &Server) {
    let bearer = format!("Bearer {}", server.key);
    wait_for("the queue to be empty", || match server.try_request("GET", "/v1/queue", Some(&bearer), None) {
        Ok(answer) => answer.body["waiting"] == 0,
        Err(_) => true,
    });
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}
