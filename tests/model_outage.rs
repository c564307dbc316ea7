//! Outages of the chat model: conversations wait without using up their attempts, other requests continue, and an operator
//! retries dead letters afterwards.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::provider::{Fault, Provider};
use crate::support::{Server, committed_messages, fresh, git, metrics, metrics_address, run, sample, stdout, wait_for};

/// Calls to the model within one attempt of a write.
const CALLS_PER_ATTEMPT: usize = 3;
/// Failed attempts that normally make a write a dead letter: one attempt and three retries.
const ATTEMPTS_MAX: usize = 4;

/// Returns settings for extraction with the provider and short waits.
fn settings(provider: &Provider, ingestion: &str) -> String {
    format!("{}timeout_ms = 2000\n[ingestion]\nbackoff_ms = 20\n{ingestion}\n", provider.chat_settings())
}

fn queue(server: &Server) -> Value {
    server.get("/v1/queue").body
}

fn waiting(server: &Server) -> u64 {
    queue(server)["waiting"].as_u64().expect("a number")
}

fn has_no_dead_letter(server: &Server) -> bool {
    queue(server)["dead_letters"].as_array().is_some_and(Vec::is_empty)
}

/// Waits until the server reports the outage.
fn wait_for_outage(server: &Server) {
    wait_for("the outage to be reported", || queue(server)["model_unavailable_since"].is_string());
}

fn contains(server: &Server, namespace: &str, query: &str, text: &str) -> bool {
    let answer = server.retrieve(namespace, &format!("q={query}"));
    answer.contents().iter().any(|content| content.contains(text))
}

/// Returns the ids of the committed messages in order.
fn committed_in_order(repository: &Path) -> Vec<String> {
    let log = git(repository, &["log", "--reverse", "--format=%(trailers:key=Cuebase-Message,valueonly)"]);
    log.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn conversations_wait_for_the_model_and_keep_their_order() {
    for fault in [Fault::Status(503), Fault::Closed, Fault::Later, Fault::Status(401), Fault::Status(404)] {
        let provider = Provider::start();
        let (_folder, data) = fresh();
        let server = Server::start_with_models(&data, &settings(&provider, ""));
        provider.chat_fault(Some(fault));
        let places = ["Porto", "Turku", "Oban"];
        let ids = places.map(|place| server.remember("default", &[&format!("The ferry to {place} leaves at seven")]));
        // A refusal is not retried within an attempt.
        let calls = if matches!(fault, Fault::Status(401 | 404)) { 1 } else { CALLS_PER_ATTEMPT };
        wait_for("more attempts than a write has", || provider.calls().failed > (ATTEMPTS_MAX + 1) * calls);
        assert_eq!(waiting(&server), 3, "{fault:?}");
        assert!(has_no_dead_letter(&server), "{fault:?}");
        provider.chat_fault(None);
        for place in places {
            wait_for("the memory", || contains(&server, "default", &format!("ferry+{place}"), place));
        }
        assert_eq!(committed_in_order(&server.repository("default")), ids, "{fault:?}");
        assert!(has_no_dead_letter(&server), "{fault:?}");
    }
}

#[test]
fn a_silent_model_counts_as_an_outage() {
    let provider = Provider::start();
    let (_folder, data) = fresh();
    // The time limit of the write ends each call. A busy machine needs a part of it for the attempt that succeeds.
    let settings = settings(&provider, "retries = 0\ntimeout_ms = 5000");
    let server = Server::start_with_models(&data, &settings.replace("timeout_ms = 2000", "timeout_ms = 60000"));
    provider.chat_fault(Some(Fault::Silence));
    server.remember("default", &["The well behind the mill is dry"]);
    wait_for("more attempts than a write has", || provider.calls().silent > 1);
    assert!(has_no_dead_letter(&server));
    provider.chat_fault(None);
    wait_for("the memory", || contains(&server, "default", "well+mill", "dry"));
}

#[test]
fn an_outage_is_in_metrics_and_queue_and_logged_once() {
    let provider = Provider::start();
    let (_folder, data) = fresh();
    let (address, url) = metrics_address();
    let settings = format!("{}[metrics]\nlisten = '{address}'\n", settings(&provider, ""));
    let server = Server::start_with_models(&data, &settings);
    assert_eq!(sample(&metrics(&url), "cuebase_model_unavailable_seconds "), 0.0);
    assert_eq!(queue(&server).get("model_unavailable_since"), None);
    provider.chat_fault(Some(Fault::Status(503)));
    server.remember("default", &["The beacon on Rona is red"]);
    wait_for("several attempts", || provider.calls().failed > ATTEMPTS_MAX * CALLS_PER_ATTEMPT);
    assert!(queue(&server)["model_unavailable_since"].is_string());
    wait_for("the gauges", || {
        let text = metrics(&url);
        sample(&text, "cuebase_model_unavailable_seconds ") > 0.0 && sample(&text, "cuebase_namespaces_held ") == 1.0
    });
    provider.chat_fault(None);
    wait_for("the memory", || contains(&server, "default", "beacon", "Rona"));
    wait_for("the end of the outage", || sample(&metrics(&url), "cuebase_model_unavailable_seconds ") == 0.0);
    assert_eq!(queue(&server).get("model_unavailable_since"), None);
    let log = server.log();
    assert_eq!(log.matches("the chat model does not answer").count(), 1, "{log}");
    assert_eq!(log.matches("the chat model answers again").count(), 1, "{log}");
}

#[test]
fn retry_after_of_the_model_is_respected() {
    // Time enough for the skill on a busy machine.
    const SECONDS: u64 = 10;
    let provider = Provider::start();
    let calls: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let times = Arc::clone(&calls);
    provider.inject_faults(move || {
        let mut times = times.lock();
        times.push(Instant::now());
        (times.len() == 1).then_some(Fault::LaterBy(SECONDS))
    });
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, &settings(&provider, "workers = 1"));
    server.remember("default", &["The tide turns at noon"]);
    wait_for_outage(&server);
    // The only worker does other work during the wait.
    server.namespace("other");
    let skill = json!({"namespace": "other", "skills": [{"name": "Oil the crane", "path": "skills/crane.md", "content": "Monthly."}]});
    assert_eq!(server.post("/v1/skills", &skill).status, 202);
    wait_for("the skill", || server.get("/v1/memories/skills/crane.md?namespace=other").status == 200);
    assert_eq!(calls.lock().len(), 1, "the wait was over before the skill was stored");
    wait_for("the memory", || contains(&server, "default", "tide", "noon"));
    let calls = calls.lock();
    let pause = calls[1] - calls[0];
    assert!(pause >= Duration::from_secs(SECONDS), "{pause:?}");
}

#[test]
fn a_stop_during_an_outage_is_quick_and_keeps_the_queue() {
    let provider = Provider::start();
    let (_folder, data) = fresh();
    let settings = settings(&provider, "");
    let server = Server::start_with_models(&data, &settings);
    provider.chat_fault(Some(Fault::Status(503)));
    let id = server.remember("default", &["The weighbridge closes at four"]);
    wait_for_outage(&server);
    let began = Instant::now();
    assert!(server.terminate());
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let server = Server::start_with_models(&data, &settings);
    let failed = provider.calls().failed;
    wait_for("more attempts than a write has", || {
        provider.calls().failed > failed + (ATTEMPTS_MAX + 1) * CALLS_PER_ATTEMPT
    });
    assert_eq!(waiting(&server), 1);
    assert!(has_no_dead_letter(&server));
    provider.chat_fault(None);
    wait_for("the memory", || contains(&server, "default", "weighbridge", "four"));
    assert!(committed_messages(&server.repository("default")).contains(&id));
}

#[test]
fn requests_without_a_model_work_during_an_outage() {
    let provider = Provider::start();
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, &settings(&provider, "workers = 1"));
    let memory = |content: &str| json!({"content": content});
    for path in ["goes", "stays"] {
        let answer = server.post(&format!("/v1/memories/facts/{path}.md"), &memory("# The earlier text\n"));
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    provider.chat_fault(Some(Fault::Status(503)));
    for number in 0..20 {
        server.namespace(&format!("n{number}"));
        server.remember(&format!("n{number}"), &["The barge waits below the lock"]);
    }
    server.remember("default", &["The barge waits below the lock"]);
    wait_for_outage(&server);
    // Forgets, direct writes and queries work in the namespace of the waiting conversation.
    for path in ["goes", "stays"] {
        assert_eq!(server.call("DELETE", &format!("/v1/memories/facts/{path}.md"), None).status, 202);
    }
    let rewritten = server.post("/v1/memories/facts/stays.md", &memory("# The later text\n"));
    assert!(matches!(rewritten.status, 200 | 201), "{rewritten:?}");
    wait_for("the memory to be forgotten", || server.get("/v1/memories/facts/goes.md").status == 404);
    assert!(contains(&server, "default", "later+text", "later text"));
    // The vocabulary works in another namespace.
    server.namespace("words");
    let terms = json!({"namespace": "words", "terms": [{"term": "sluice", "definition": "A gate for water."}]});
    assert_eq!(server.post("/v1/vocab", &terms).status, 202);
    wait_for("the term", || server.get("/v1/vocab?namespace=words").body.to_string().contains("sluice"));
    assert!(queue(&server)["model_unavailable_since"].is_string());
    provider.chat_fault(None);
    wait_for("the queue to be empty", || waiting(&server) == 0);
    for number in 0..20 {
        assert!(contains(&server, &format!("n{number}"), "barge", "lock"), "n{number}");
    }
    assert_eq!(server.get("/v1/memories/facts/stays.md").body["content"], "# The later text\n");
    assert_eq!(server.get("/v1/memories/facts/goes.md").status, 404);
    assert!(has_no_dead_letter(&server));
}

#[test]
fn a_skill_forgotten_during_an_outage_does_not_return() {
    let provider = Provider::start();
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, &settings(&provider, ""));
    provider.chat_fault(Some(Fault::Status(503)));
    server.remember("default", &["The crane lifts the last crate ashore"]);
    wait_for_outage(&server);
    let skills = json!({"skills": [
        {"name": "Oil the crane", "content": "Once a month.", "path": "skills/crane.md"},
        {"name": "Paint the crane", "content": "Once a year.", "path": "skills/paint.md"},
    ]});
    assert_eq!(server.post("/v1/skills", &skills).status, 202);
    assert_eq!(server.call("DELETE", "/v1/memories/skills/crane.md", None).status, 202);
    wait_for("the forget to be carried out", || waiting(&server) == 2);
    provider.chat_fault(None);
    wait_for("the queue to be empty", || waiting(&server) == 0);
    assert_eq!(server.get("/v1/memories/skills/paint.md").status, 200);
    assert_eq!(server.get("/v1/memories/skills/crane.md").status, 404);
}

#[test]
fn a_write_that_breaks_the_model_becomes_a_dead_letter() {
    let provider = Provider::start();
    provider.fail_calls_with("mandrake");
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, &settings(&provider, "retries = 0"));
    server.namespace("other");
    let id = server.remember("default", &["The mandrake screams when it is pulled"]);
    server.remember("default", &["The foxglove grows by the wall"]);
    let mut number = 0;
    wait_for("the dead letter", || {
        // The model continues to answer the other writes.
        number += 1;
        server.remember("other", &[&format!("The barrel number {number} was weighed and sealed")]);
        wait_for("the other write", || {
            contains(&server, "other", &format!("barrel+number+{number}"), &format!("number {number} "))
        });
        !has_no_dead_letter(&server)
    });
    assert_eq!(queue(&server)["dead_letters"][0]["id"], json!(id));
    wait_for("the next write", || contains(&server, "default", "foxglove", "wall"));
}

#[test]
fn dead_letters_are_retried_online_and_offline() {
    let provider = Provider::start();
    let (_folder, data) = fresh();
    let settings = settings(&provider, "retries = 0");
    let server = Server::start_with_models(&data, &settings);
    server.namespace("other");
    provider.chat_fault(Some(Fault::WrongShape));
    for place in ["Porto", "Turku"] {
        server.remember("default", &[&format!("The ferry to {place} leaves at seven")]);
    }
    server.remember("other", &["The beacon on Rona is red"]);
    wait_for("the dead letters", || queue(&server)["dead_letters"].as_array().map(Vec::len) == Some(3));
    provider.chat_fault(None);
    assert_eq!(
        stdout(&data, &["dead-letters", "retry", "--all", "--namespace", "other", "--account", "default"]),
        "{\"retried\":1}"
    );
    wait_for("the memory", || contains(&server, "other", "beacon", "Rona"));
    assert_eq!(stdout(&data, &["dead-letters", "list"]).lines().count(), 2);
    assert_eq!(stdout(&data, &["dead-letters", "retry", "--all", "--account", "nobody"]), "{\"retried\":0}");
    assert!(server.terminate());

    assert_eq!(stdout(&data, &["dead-letters", "retry", "--all"]), "{\"retried\":2}");
    assert_eq!(stdout(&data, &["dead-letters", "list"]), "");
    let server = Server::start_with_models(&data, &settings);
    for place in ["Porto", "Turku"] {
        wait_for("the memory", || contains(&server, "default", &format!("ferry+{place}"), place));
    }
}

#[test]
fn a_dead_letter_retry_requires_an_id_or_all() {
    let (_folder, data) = fresh();
    let id = "01M80ZJJYEMM0YJ4AAANEC71VX";
    for arguments in [
        &["dead-letters", "retry"][..],
        &["dead-letters", "retry", id, "--all"],
        &["dead-letters", "retry", id, "--namespace", "notes"],
    ] {
        let output = run(&data, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
