//! The built-in encoder, whose vectors follow in the background.

use serde_json::{Value, json};

use super::{best_is_found_by_cue, memories, models_command, remember_all};
use crate::support::{Server, fresh, index, stdout, wait_for};

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
