//! The queue and its dead letters: writes that failed permanently.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::provider::{Fault, Provider};
use crate::support::Api;

/// Opens the API with a chat model whose answers are unusable.
fn with_failing_model() -> (Provider, Api) {
    let provider = Provider::start();
    provider.chat_fault(Some(Fault::WrongShape));
    let api = Api::open_with(&format!("{}[ingestion]\nretries = 0\n", provider.chat_settings()));
    (provider, api)
}

/// Posts a conversation and waits until its ingestion ends.
fn remember(api: &mut Api, content: &str) {
    api.send(&format!("POST /v1/memories\n{{\"messages\": [{{\"role\": \"user\", \"content\": \"{content}\"}}]}}"));
    api.settle();
}

#[test]
fn an_empty_queue_has_no_dead_letters() {
    let mut api = Api::open();
    api.send(
        "GET /v1/queue

        GET /v1/queue?limit=0

        GET /v1/queue?limit=1001

        GET /v1/queue?after=nothing",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn a_write_that_fails_for_good_is_a_dead_letter() {
    let (_provider, mut api) = with_failing_model();
    remember(&mut api, "I like the sea.");
    api.send(
        "GET /v1/queue

        stranger GET /v1/queue

        stranger DELETE /v1/dead-letters/[id-1]

        stranger POST /v1/dead-letters/[id-1]/retry
        {}

        session DELETE /v1/dead-letters/x",
    );
    assert_snapshot!(api.transcript());
    api.assert_refused("DELETE /v1/dead-letters/[id-1]", 403, "dashboard_only");
    assert_eq!(api.answer("session POST /v1/dead-letters/[id-1]/retry").status, 200, "without a body too");
    api.settle();
    assert_eq!(api.get("/v1/queue").list_length("dead_letters"), 1, "it fails again");
    assert_eq!(api.answer("session DELETE /v1/dead-letters/[id-1]").status, 200);
    let mut queue = api.get("/v1/queue").json();
    queue.as_object_mut().expect("an object").remove("jobs");
    assert_eq!(queue, json!({"waiting": 0, "waiting_since": null, "dead_letters": []}));
}

#[test]
fn a_retried_dead_letter_is_ingested() {
    let (provider, mut api) = with_failing_model();
    remember(&mut api, "The lighthouse keeper is called Agatha.");
    provider.chat_fault(None);
    api.send("session POST /v1/dead-letters/[id-1]/retry\n{}");
    api.settle();
    api.send("GET /v1/queue\n\nsession POST /v1/dead-letters/[id-1]/retry\n{}");
    api.send_for_paths("GET /v1/retrieve?q=lighthouse+keeper");
    assert_snapshot!(api.transcript());
}

#[test]
fn dead_letters_are_listed_in_pages_and_dropped() {
    let (_provider, mut api) = with_failing_model();
    remember(&mut api, "I like the sea.");
    remember(&mut api, "I like the shore.");
    api.send(
        "GET /v1/queue?limit=1

        GET /v1/queue?limit=1&after=[id-1]

        session DELETE /v1/dead-letters/[id-1]

        session DELETE /v1/dead-letters/[id-1]

        GET /v1/queue",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn the_queue_lists_the_background_jobs() {
    let api = Api::open();
    let queue = api.answer("GET /v1/queue").json();
    let mut names = Vec::new();
    for job in queue["jobs"].as_array().expect("jobs") {
        names.push(job["name"].as_str().expect("a name"));
        assert_eq!((job["failures"].as_u64(), &job["last_error"]), (Some(0), &Value::Null), "{job}");
    }
    assert_eq!(names, ["ingestion", "reembedding", "sweep", "expiry", "settlement", "call_notes"]);
}
