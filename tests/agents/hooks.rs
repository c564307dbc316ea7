//! `cuebase hook`, called as an agent calls it: with JSON on standard input, and a transcript that grows.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::{Person, text_of, with_input};
use crate::support::fake::{self, FakeResponse};
use crate::support::{Server, stdout};

const EVENTS: [&str; 4] = ["session-start", "user-prompt", "stop", "pre-compact"];

/// A session of an agent, with its transcript.
pub(super) struct Session<'a> {
    pub(super) person: &'a Person,
    pub(super) id: &'static str,
}

impl Session<'_> {
    fn transcript(&self) -> PathBuf {
        self.person.home().join(format!("{}.jsonl", self.id))
    }

    /// Adds a line to the transcript, as Claude Code writes it.
    fn say(&self, role: &str, content: &Value) {
        self.say_at(role, content, jiff::Timestamp::now());
    }

    fn say_at(&self, role: &str, content: &Value, time: jiff::Timestamp) {
        let line = json!({
            "type": role,
            "isSidechain": false,
            "sessionId": self.id,
            "timestamp": time.to_string(),
            "message": {"role": role, "content": content},
        });
        let mut text = std::fs::read_to_string(self.transcript()).unwrap_or_default();
        text.push_str(&format!("{line}\n"));
        std::fs::write(self.transcript(), text).expect("writes");
    }

    /// Adds a prompt and the agent's answer.
    pub(super) fn turn(&self, prompt: &str, answer: &str) {
        self.say("user", &json!(prompt));
        self.say("assistant", &json!([{"type": "text", "text": "I will look at the files."}]));
        self.say("assistant", &json!([{"type": "tool_use", "name": "Read", "input": {}}]));
        self.say("user", &json!([{"type": "tool_result", "content": "the content of a file"}]));
        self.say("assistant", &json!([{"type": "text", "text": answer}]));
    }

    pub(super) fn input(&self, prompt: &str) -> String {
        json!({
            "session_id": self.id,
            "transcript_path": self.transcript(),
            "cwd": self.person.project(),
            "prompt": prompt,
        })
        .to_string()
    }

    /// Returns the command of a hook, with time enough for a busy machine.
    pub(super) fn command(&self, event: &str) -> Command {
        let mut command = self.person.command(&["hook", event]);
        command.env("CUEBASE_HOOK_TIMEOUT_MS", "60000");
        command
    }

    /// Runs a hook, which must succeed, and returns its output.
    pub(super) fn hook(&self, event: &str, prompt: &str) -> String {
        let ended = with_input(&mut self.command(event), self.input(prompt).as_bytes());
        assert!(ended.status.success(), "{event}: {}", text_of(&ended.stderr));
        text_of(&ended.stdout)
    }

    /// Returns the text that a hook adds to the agent's context.
    pub(super) fn context(&self, event: &str, name: &str, prompt: &str) -> String {
        let printed = self.hook(event, prompt);
        let printed: Value =
            serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{printed} {}", self.person.log()));
        let output = &printed["hookSpecificOutput"];
        assert_eq!(output["hookEventName"], name);
        output["additionalContext"].as_str().expect("a text").to_owned()
    }
}

/// Starts a server with the built-in table on the data directory of a person.
pub(super) fn server(person: &Person) -> Server {
    Server::start_with_models(&person.data, "")
}

/// Returns the namespace of the project; `None` before the first write.
pub(super) fn namespace(server: &Server) -> Option<String> {
    let listed = server.get("/v1/namespaces").body["namespaces"].clone();
    for record in listed.as_array().expect("a list") {
        let name = record["name"].as_str().expect("a name");
        if name.starts_with("acme-widget-") {
            return Some(name.to_owned());
        }
    }
    None
}

/// Returns what the stored conversations of a namespace say, oldest first, once all writes are ingested.
pub(super) fn stored(server: &Server, namespace: &str) -> Vec<String> {
    server.drain();
    let listed = server.get(&format!("/v1/sources?namespace={namespace}")).body["sources"].clone();
    let mut ids = Vec::new();
    for source in listed.as_array().expect("a list") {
        ids.push(source["id"].as_str().expect("an id").to_owned());
    }
    ids.sort();
    let mut said = Vec::new();
    for id in ids {
        let source = server.get(&format!("/v1/sources/{id}?namespace={namespace}"));
        for message in source.body["messages"].as_array().expect("messages") {
            said.push(message["content"].as_str().expect("a text").to_owned());
        }
    }
    said
}

pub(super) fn assert_silent(ended: &Output, what: &str) {
    assert!(ended.status.success(), "{what}: {}", text_of(&ended.stderr));
    assert!(ended.stdout.is_empty(), "{what}: {}", text_of(&ended.stdout));
}

#[test]
fn the_context_of_an_earlier_session_appears() {
    let person = Person::new();
    let server = server(&person);
    let first = Session { person: &person, id: "first" };
    assert_eq!(first.hook("session-start", ""), "", "nothing is known yet");
    assert_eq!(namespace(&server), None, "a read creates no namespace");
    first.turn("I live in Oslo. Remember that for meetings.", "The staging gateway listens on port 8443.");
    assert_eq!(first.hook("stop", ""), "");
    let namespace = namespace(&server).expect("the first write creates the namespace");
    assert_eq!(
        stored(&server, &namespace),
        ["I live in Oslo. Remember that for meetings.", "The staging gateway listens on port 8443."]
    );

    let second = Session { person: &person, id: "second" };
    let profile = second.context("session-start", "SessionStart", "");
    assert!(profile.contains("- home: oslo") && profile.contains("not instructions"), "{profile}");
    assert!(profile.contains("The staging gateway listens on port 8443. [facts/"), "{profile}");
    let context = second.context("user-prompt", "UserPromptSubmit", "Which port does the staging gateway listen on?");
    assert!(context.contains("8443"), "{context}");
    assert_eq!(second.hook("user-prompt", "/clear"), "", "a command asks for nothing");
    assert_eq!(second.hook("user-prompt", "Who painted the portrait of the admiral?"), "", "nothing is relevant");
    assert_eq!(person.log(), "");
}

#[test]
fn a_transcript_is_stored_once_by_all_hooks() {
    let person = Person::new();
    let server = server(&person);
    let session = Session { person: &person, id: "one" };
    session.hook("session-start", "");
    session.turn("The bridge is painted green.", "Noted: the bridge is green.");
    std::thread::scope(|scope| {
        for event in ["stop", "pre-compact", "stop", "pre-compact"] {
            let session = &session;
            scope.spawn(move || session.hook(event, ""));
        }
    });
    let namespace = namespace(&server).expect("the namespace");
    let mut expected = vec!["The bridge is painted green.", "Noted: the bridge is green."];
    assert_eq!(stored(&server, &namespace), expected);
    session.turn("The tower is painted red.", "Noted: the tower is red.");
    for event in ["pre-compact", "stop", "stop"] {
        session.hook(event, "");
    }
    expected.extend(["The tower is painted red.", "Noted: the tower is red."]);
    assert_eq!(stored(&server, &namespace), expected);

    // A fork of the session begins with a copy of its lines.
    let fork = Session { person: &person, id: "fork" };
    let hour_ago = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(1);
    fork.say_at("user", &json!("The bridge is painted green."), hour_ago);
    fork.hook("session-start", "");
    fork.turn("The gate is painted blue.", "Noted: the gate is blue.");
    fork.hook("stop", "");
    expected.extend(["The gate is painted blue.", "Noted: the gate is blue."]);
    assert_eq!(stored(&server, &namespace), expected);
}

#[test]
fn what_was_said_without_a_server_is_stored_later() {
    let person = Person::with_data();
    let session = Session { person: &person, id: "one" };
    session.turn("The kiln is in the shed.", "Noted: the kiln is in the shed.");
    assert_silent(&with_input(&mut session.command("stop"), session.input("").as_bytes()), "no server");
    assert!(person.log().contains("stop: no server runs on the data directory"), "{}", person.log());
    session.turn("The wheel is in the barn.", "Noted: the wheel is in the barn.");
    let server = server(&person);
    session.hook("stop", "");
    let namespace = namespace(&server).expect("the namespace");
    assert_eq!(stored(&server, &namespace).len(), 4);

    // The next server listens elsewhere, so the kept session is out of date.
    assert!(server.terminate());
    let server = self::server(&person);
    session.turn("The oven is in the yard.", "Noted: the oven is in the yard.");
    session.hook("stop", "");
    assert_eq!(stored(&server, &namespace).len(), 6);
}

#[test]
fn a_server_that_is_stopped_or_silent_never_disturbs_the_agent() {
    let person = Person::with_data();
    let session = Session { person: &person, id: "one" };
    session.turn("The kiln is in the shed.", "Noted.");
    let silent = fake::serve(|_| FakeResponse::Silence);
    let closed = fake::serve(|_| FakeResponse::Closed);
    let broken = fake::serve(|_| FakeResponse::Text(500, "<html>no JSON</html>".into()));
    for event in EVENTS {
        assert_silent(&with_input(&mut session.command(event), session.input("Where is it?").as_bytes()), event);
        for url in [&silent, &closed, &broken] {
            let mut command = session.command(event);
            // The deadline itself, which ends a hook that waits for the silent server.
            command.args(["--url", url, "--key", "svc_live_x", "--timeout-ms", "200"]);
            assert_silent(
                &with_input(&mut command, session.input("Where is it?").as_bytes()),
                &format!("{event} {url}"),
            );
        }
    }
    assert!(person.log().contains("within 200 ms"), "{}", person.log());
    assert!(
        !person.log().contains("Where is it") && !person.log().contains("kiln"),
        "the log has no text of the person"
    );
}

#[test]
fn a_prompt_waits_at_most_95_ms_for_its_server() {
    let person = Person::with_data();
    let session = Session { person: &person, id: "one" };
    let silent = fake::serve(|_| FakeResponse::Silence);
    let mut command = person.command(&["hook", "user-prompt", "--url", &silent, "--key", "svc_live_x"]);
    assert_silent(&with_input(&mut command, session.input("Where is it?").as_bytes()), "silent");
    assert!(person.log().contains("within 95 ms"), "{}", person.log());
    // An input that never ends: the hook does not wait for it either.
    let mut command = person.command(&["hook", "user-prompt"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().expect("the binary runs");
    let open = child.stdin.take();
    assert!(child.wait().expect("ends").success());
    drop(open);
}

#[test]
fn a_malformed_input_or_call_exits_with_success() {
    let person = Person::with_data();
    let session = Session { person: &person, id: "one" };
    for event in EVENTS {
        for input in ["", "not JSON: hunter2", "[]", "\"hunter2\"", "{\"session_id\": 5}", "{", "\u{0}\u{1}", "null"] {
            assert_silent(&with_input(&mut session.command(event), input.as_bytes()), &format!("{event}: {input:?}"));
        }
        assert_silent(&with_input(&mut session.command(event), b"\xff\xfe"), event);
        assert_silent(&with_input(&mut session.command(event), b"{\"cwd\": \"/nonexistent\"}"), event);
    }
    assert!(person.log().contains("the input is not the JSON of a hook"), "{}", person.log());
    assert!(!person.log().contains("hunter2"), "{}", person.log());
    for call in [&["hook"][..], &["hook", "some-later-event"], &["hook", "stop", "--some-later-option"]] {
        let ended = person.run(call);
        assert_silent(&ended, &format!("{call:?}"));
        assert!(!ended.stderr.is_empty(), "{call:?}: the reason is on standard error");
    }
}

#[test]
fn a_key_for_one_namespace_is_explained() {
    let person = Person::new();
    let server = server(&person);
    server.namespace("notes");
    let key = stdout(&person.data, &["keys", "create", "--namespace", "notes"]);
    let session = Session { person: &person, id: "one" };
    session.turn("The kiln is in the shed.", "Noted: the kiln is in the shed.");
    let options = ["--url", server.url.as_str(), "--key", key.as_str()];
    let mut command = session.command("stop");
    assert_silent(&with_input(command.args(options), session.input("").as_bytes()), "another namespace");
    assert!(
        person.log().contains("set CUEBASE_NAMESPACE to a namespace that the key may write to"),
        "{}",
        person.log()
    );
    let check = person.command(&["hook", "check"]).args(options).output().expect("the binary runs");
    assert!(!check.status.success() && text_of(&check.stderr).contains("CUEBASE_NAMESPACE"), "{check:?}");

    let mut command = session.command("stop");
    command.args(options).env("CUEBASE_NAMESPACE", "notes");
    assert_silent(&with_input(&mut command, session.input("").as_bytes()), "its own namespace");
    assert_eq!(stored(&server, "notes").len(), 2);
    assert_eq!(namespace(&server), None);
}

#[test]
fn the_project_chooses_its_namespace_or_has_no_memory() {
    let person = Person::new();
    let server = server(&person);
    let session = Session { person: &person, id: "one" };
    session.turn("The kiln is in the shed.", "Noted: the kiln is in the shed.");
    let file = person.project().join(".cuebase.toml");
    std::fs::write(&file, "hooks = false\n").expect("writes");
    session.hook("stop", "");
    std::fs::remove_file(&file).expect("removes");
    let mut command = session.command("stop");
    assert_silent(&with_input(command.env("CUEBASE_HOOKS", "off"), session.input("").as_bytes()), "off");
    assert_eq!(namespace(&server), None, "nothing is stored while hooks are off");

    std::fs::write(&file, "namespace = \"workshop\"\n").expect("writes");
    person.bind();
    session.hook("stop", "");
    assert_eq!(stored(&server, "workshop").len(), 2);
    let check = person.run(&["hook", "check"]);
    let printed = text_of(&check.stdout);
    assert!(check.status.success() && printed.contains("workshop (from .cuebase.toml); exists"), "{printed}");
    assert!(printed.contains(&server.url) && printed.contains("hooks.log"), "{printed}");
    std::fs::write(&file, "url = \"https://example.org\"\n").expect("writes");
    assert_eq!(session.hook("user-prompt", "Where is the kiln?"), "", "a repository cannot name a server");
    assert!(person.log().contains(".cuebase.toml: line 1"), "{}", person.log());
}
