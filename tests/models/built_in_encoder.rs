//! The built-in encoder, whose vectors follow in the background.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{best_is_found_by_cue, memories, models_command, remember_all};
use crate::support::{BUILT_IN, Server, fresh, index, stdout, wait_for, with_models};

const ENCODER: &str = "[model]\nbuiltin = 'encoder'\n";

/// A question in other words than [`MEMORY`], and what asks for it.
const QUESTION: &str = "q=which+firm+pays+Ana";
const MEMORY: &str = "Ana joined Stripe as an engineer.";

/// Writes messages of a user, and returns the reply of a request that waits for what `wait_for` names.
fn remember_and_wait(server: &Server, wait_for: &str, texts: &[&str]) -> Value {
    let messages: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
    let body = json!({"namespace": "default", "messages": messages});
    let reply = server.post(&format!("/v1/memories?wait=30&wait_for={wait_for}"), &body);
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.body
}

#[test]
fn a_write_that_waits_for_vectors_is_found_by_its_meaning() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, ENCODER);
    let texts = [MEMORY, "Rates were raised by the bank.", "The kettle in the kitchen leaks since Monday."];
    let write = remember_and_wait(&server, "vectors", &texts);
    assert_eq!((&write["status"], &write["vectors"]), (&json!("ingested"), &json!("done")), "{write}");
    assert!(best_is_found_by_cue(&server, "default", QUESTION));
    assert!(server.retrieve("default", QUESTION).contents()[0].contains("Stripe"));
    assert_eq!(server.get("/v1/queue").body["vectors_waiting"], 0);
    let shown = server.get(&format!("/v1/writes/{}", write["id"].as_str().expect("an id"))).body;
    assert_eq!(shown["vectors"], "done");
    let printed = models_command(&data, ENCODER);
    assert!(printed.contains("built-in-encoder:384:"), "{printed}");
}

#[test]
fn a_write_that_waits_for_words_is_found_by_them() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, ENCODER);
    let write = remember_and_wait(&server, "words", &[MEMORY]);
    assert!(["pending", "done"].contains(&write["vectors"].as_str().expect("a state")), "{write}");
    assert!(server.retrieve("default", "q=who+joined+Stripe").contents()[0].contains("Ana"));
}

#[test]
fn the_state_of_vectors_is_absent_with_the_table_and_an_unknown_wait_is_refused() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    let write = remember_and_wait(&server, "vectors", &[MEMORY]);
    assert_eq!(write["status"], "ingested");
    assert!(write.get("vectors").is_none(), "{write}");
    assert!(server.get("/v1/queue").body.get("vectors_waiting").is_none());
    let body = json!({"messages": [{"role": "user", "content": "I like tea."}]});
    let refused = server.post("/v1/memories?wait=5&wait_for=everything", &body);
    assert_eq!((refused.status, refused.code()), (400, "invalid_parameter"), "{refused:?}");
}

/// Memories in the test that kills a server: enough for several batches.
const CRATES: usize = 600;

#[test]
fn a_directory_of_the_table_answers_while_it_is_embedded_and_a_kill_repeats_no_batch() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    let mut texts = vec![MEMORY.to_owned()];
    texts.extend((1..CRATES).map(|n| format!("Crate {n} holds the brass instruments of the orchestra")));
    for part in texts.chunks(100) {
        remember_all(&server, "default", part);
    }
    wait_for("the memories", || memories(&server) == CRATES);
    server.kill();
    let state = || std::fs::read_to_string(index(&data, "default").join("state")).unwrap_or_default();
    assert!(state().contains("static-table:"));

    let server = Server::start_with_models(&data, ENCODER);
    let is_embedding = || models_command(&data, ENCODER).contains("memories embedded");
    wait_for("a first batch", || is_embedding() || state().contains("built-in-encoder:"));
    assert!(server.retrieve("default", "q=crate+77+brass").contents()[0].contains("77"), "it answers meanwhile");
    server.kill();

    let server = Server::start_with_models(&data, ENCODER);
    wait_for("the encoder", || state().contains("built-in-encoder:"));
    wait_for("its vectors", || best_is_found_by_cue(&server, "default", QUESTION));
    assert!(server.retrieve("default", QUESTION).contents()[0].contains("Stripe"));
    wait_for("the number of memories", || memories(&server) == CRATES);
}

#[test]
fn a_namespace_that_is_deleted_while_it_is_embedded_holds_nobody_up() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, ENCODER);
    server.namespace("gone");
    let texts: Vec<String> = (0..600).map(|n| format!("Crate {n} holds the brass instruments")).collect();
    for part in texts.chunks(100) {
        remember_all(&server, "gone", part);
    }
    wait_for("vectors to wait", || server.get("/v1/queue").body["vectors_waiting"].as_u64() > Some(0));
    let session = stdout(&data, &["token"]);
    let deleted = server.call_as(session.trim(), "DELETE", "/v1/namespaces/gone", None);
    assert!(deleted.status < 300, "{deleted:?}");
    let write = remember_and_wait(&server, "words", &[MEMORY]);
    let id = write["id"].as_str().expect("an id");
    wait_for("the vectors of another namespace", || server.get(&format!("/v1/writes/{id}")).body["vectors"] == "done");
    wait_for("an empty backlog", || server.get("/v1/queue").body["vectors_waiting"] == 0);
}

/// Returns a command without any model settings: the data directory decides.
fn undecided(data: &Path, arguments: &[&str]) -> Command {
    let mut command = with_models(data, "", arguments);
    command.env_remove(BUILT_IN);
    command
}

fn start_undecided(data: &Path) -> Server {
    Server::start_command(data, undecided(data, &["serve", "--listen", "127.0.0.1:0"]))
}

/// Runs `cuebase models` with further arguments, without any model settings. Returns what it printed.
fn models(data: &Path, arguments: &[&str]) -> String {
    let output = undecided(data, &[&["models"], arguments].concat()).output().expect("runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_new_directory_has_the_encoder_and_one_of_the_table_keeps_it() {
    let (_folder, data) = fresh();
    let server = start_undecided(&data);
    let write = remember_and_wait(&server, "vectors", &[MEMORY]);
    assert_eq!(write["vectors"], "done");
    assert!(models(&data, &[]).contains("built-in-encoder:384:"));
    drop(server);

    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    remember_and_wait(&server, "words", &[MEMORY]);
    drop(server);
    let server = start_undecided(&data);
    assert!(remember_and_wait(&server, "vectors", &["The kettle leaks."]).get("vectors").is_none());
    assert!(models(&data, &[]).contains("static-table:"));
}

#[test]
fn the_model_is_changed_while_the_server_runs_and_taken_back() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    let texts = [MEMORY, "Rates were raised by the bank.", "The kettle in the kitchen leaks since Monday."];
    remember_and_wait(&server, "words", &texts);
    drop(server);
    let server = start_undecided(&data);
    let state = || std::fs::read_to_string(index(&data, "default").join("state")).unwrap_or_default();

    let tried = models(&data, &["use", "encoder", "--dry-run"]);
    assert!(tried.contains("encoder instead of table") && tried.contains("nothing was changed"), "{tried}");
    assert!(models(&data, &[]).contains("static-table:"));

    models(&data, &["pause"]);
    models(&data, &["use", "encoder", "--share", "100"]);
    let printed = models(&data, &[]);
    assert!(printed.contains("paused") && (printed.contains("behind") || printed.contains("listed")), "{printed}");
    wait_for("a paused change", || models(&data, &[]).contains("behind"));
    assert!(state().contains("static-table:"));
    assert!(server.retrieve("default", "q=kettle").contents()[0].contains("leaks"));
    let later = remember_and_wait(&server, "vectors", &["The ladder is behind the shed."]);
    assert_eq!(later["vectors"], "done", "a new memory has the former vectors");

    // The former model again, and back: nothing is left waiting.
    models(&data, &["use", "table"]);
    wait_for("no change", || {
        let printed = models(&data, &[]);
        !printed.contains("behind") && !printed.contains("listed")
    });
    models(&data, &["use", "encoder"]);
    wait_for("a paused change", || models(&data, &[]).contains("behind"));

    models(&data, &["resume"]);
    wait_for("the encoder", || state().contains("built-in-encoder:"));
    wait_for("its vectors", || best_is_found_by_cue(&server, "default", QUESTION));
    assert!(server.retrieve("default", QUESTION).contents()[0].contains("Stripe"));

    models(&data, &["use", "table"]);
    wait_for("the table", || state().contains("static-table:"));
    assert!(server.retrieve("default", "q=kettle").contents()[0].contains("leaks"));
}

#[test]
fn a_change_is_refused_where_a_setting_decides() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, ENCODER);
    let refused = undecided(&data, &["models", "use", "table"]).output().expect("runs");
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && error.contains("model.builtin says encoder"), "{error}");
    drop(server);
}

#[test]
fn a_share_is_a_percentage() {
    let (_folder, data) = fresh();
    let _server = Server::start_with_models(&data, "");
    for (share, is_accepted) in [("0", false), ("101", false), ("half", false), ("25", true)] {
        let output = undecided(&data, &["models", "share", share]).output().expect("runs");
        assert_eq!(output.status.success(), is_accepted, "{share}: {output:?}");
    }
}

#[test]
fn a_time_limit_of_calls_does_not_cut_off_the_encoder() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, &format!("{ENCODER}timeout_ms = 1\n"));
    assert_eq!(remember_and_wait(&server, "vectors", &[MEMORY])["vectors"], "done");
}

/// Memories that have their vectors before fresh ones are written.
const FINISHED: usize = 2_000;
/// Facts that are asked for as soon as they are written.
const FACTS: usize = 30;
const OBJECTS: [&str; 6] = ["garage", "boathouse", "cellar", "greenhouse", "attic", "workshop"];
const PLACES: [&str; 5] = ["under the doormat", "behind the clock", "in a flower pot", "on the shelf", "in a boot"];

/// Returns a fact of a person, and the question for it.
fn fact(person: usize) -> (String, String) {
    let (object, place) = (OBJECTS[person % OBJECTS.len()], PLACES[person % PLACES.len()]);
    let text = format!("Neighbour P{person}x keeps the spare key of the {object} {place}.");
    (text, format!("q=where+is+the+key+of+the+{object}+of+P{person}x&limit=1"))
}

/// Asks for facts as soon as they are written among others. Returns how many of them are first.
fn fresh_facts_found(settings: &str, wait_for: &str) -> usize {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, settings);
    let former: Vec<String> = (0..FINISHED).map(|person| fact(person).0).collect();
    for part in former.chunks(100) {
        remember_all(&server, "default", part);
    }
    remember_and_wait(&server, wait_for, &["The last of the former facts."]);
    let mut first = 0;
    for person in FINISHED..FINISHED + FACTS {
        let (text, question) = fact(person);
        remember_and_wait(&server, "words", &[&text]);
        let found = server.retrieve("default", &question).contents();
        first += usize::from(found.first().is_some_and(|content| content.contains(&format!("P{person}x"))));
    }
    first
}

#[test]
fn fresh_facts_are_found_before_they_have_vectors_as_with_the_table() {
    let with_table = fresh_facts_found("", "words");
    let with_encoder = fresh_facts_found(ENCODER, "vectors");
    assert!(with_encoder >= with_table && with_table > FACTS / 2, "{with_encoder} and {with_table} of {FACTS}");
}

#[test]
fn an_erasure_keeps_the_vectors_of_a_paused_change() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    let kettle = remember_and_wait(&server, "words", &["The kettle leaks since Monday."]);
    remember_and_wait(&server, "words", &[MEMORY]);
    drop(server);
    let server = start_undecided(&data);
    models(&data, &["pause"]);
    models(&data, &["use", "encoder"]);
    let path = kettle["made"][0].as_str().expect("a path").to_owned();
    let session = stdout(&data, &["token"]);
    let body = json!({"namespace": "default", "paths": [path]});
    let erased = server.call_as(session.trim(), "POST", "/v1/erase", Some(&body));
    assert!(erased.status < 300, "{erased:?}");
    wait_for("the erasure", || memories(&server) == 1);
    let found = server.retrieve("default", "q=Stripe+engineer");
    let matched = found.hits()[0]["matched"].to_string();
    assert!(matched.contains("cue"), "{matched}");
}
