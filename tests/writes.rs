//! The state of accepted writes, and requests that wait for their write.

use std::process::Command;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::disk::WatchedData;
use crate::support::provider::{Fault, Provider};
use crate::support::{Server, fresh, stdout, wait_for};

/// Messages of a conversation whose ingestion takes longer than the response to its request.
const LONG_CONVERSATION: usize = 2000;

/// A server whose chat model does not answer, so that conversations stay in the queue.
struct Outage {
    provider: Provider,
    server: Server,
    folder: tempfile::TempDir,
}

impl Outage {
    fn start() -> Self {
        let provider = Provider::start();
        provider.chat_fault(Some(Fault::Status(503)));
        let (folder, data) = fresh();
        let server = Server::start_with_models(&data, &settings(&provider));
        Self { provider, server, folder }
    }
}

fn settings(provider: &Provider) -> String {
    format!("{}timeout_ms = 2000\n[ingestion]\nbackoff_ms = 20\n", provider.chat_settings())
}

fn conversation(namespace: &str, texts: &[&str]) -> Value {
    let messages: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
    json!({"namespace": namespace, "messages": messages})
}

/// Returns a write, which must exist.
fn write(server: &Server, id: &str) -> Value {
    let answer = server.get(&format!("/v1/writes/{id}"));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

/// Waits until a write has a status, and returns the write.
fn wait_for_status(server: &Server, id: &str, status: &str) -> Value {
    let mut found = Value::Null;
    wait_for(&format!("the write to be {status}"), || {
        found = write(server, id);
        found["status"] == status
    });
    found
}

fn id_of(answer: &Value) -> String {
    answer["id"].as_str().expect("an id").to_owned()
}

/// Parses a time. The texts do not sort by time, because they have no zeros at the end of a fraction.
fn time_of(value: &Value) -> Timestamp {
    value.as_str().expect("a time").parse().expect("a time")
}

fn paths(list: &Value) -> Vec<String> {
    list.as_array().expect("a list").iter().map(|path| path.as_str().expect("a path").to_owned()).collect()
}

#[test]
fn a_conversation_is_queued_and_then_ingested_with_its_paths() {
    let outage = Outage::start();
    let server = &outage.server;
    let id = server.remember("default", &["The lighthouse keeper is called Agatha", "Thanks!"]);
    let queued = wait_for_status(server, &id, "queued");
    assert_eq!((&queued["namespace"], &queued["finished_at"]), (&json!("default"), &Value::Null));
    for list in ["made", "rewritten", "merged", "ended", "dropped"] {
        assert_eq!(queued[list], json!([]), "{list}");
    }
    outage.provider.chat_fault(None);
    let ingested = wait_for_status(server, &id, "ingested");
    let found = server.retrieve("default", "q=lighthouse+keeper").hits();
    let made = paths(&ingested["made"]);
    assert!(!made.is_empty() && found.iter().any(|hit| hit["path"] == made[0].as_str()), "{ingested}: {found:?}");
    for path in &made {
        assert_eq!(server.get(&format!("/v1/memories/{path}")).status, 200, "{path}");
    }
    assert_eq!((&ingested["attempts"], &ingested["error"]), (&json!(1), &Value::Null));
    assert!(time_of(&ingested["accepted_at"]) <= time_of(&ingested["finished_at"]), "{ingested}");
}

#[test]
fn dropped_messages_are_named_with_the_reason() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    let body = json!({"messages": [
        {"role": "system", "content": "You are a helpful assistant"},
        {"role": "user", "name": "Ann", "content": "Where did you buy the green kayak?"},
        {"role": "user", "name": "Bo", "content": "At the harbour market in Porto."},
        {"role": "user", "name": "Ann", "content": "Thanks!"},
        {"role": "user", "name": "Bo", "content": [{"type": "media", "id": "m1"}]},
    ]});
    let mixed = id_of(&server.post("/v1/memories", &body).body);
    let small_talk = server.remember("default", &["Hello!", "Thanks!"]);
    let expected = json!([
        {"message": 0, "reason": "system"},
        {"message": 3, "reason": "small_talk"},
        {"message": 4, "reason": "no_text"},
    ]);
    let mixed = wait_for_status(&server, &mixed, "ingested");
    assert_eq!((&mixed["dropped"], paths(&mixed["made"]).len()), (&expected, 1));
    // This write makes no commit.
    let small_talk = wait_for_status(&server, &small_talk, "ingested");
    let expected = json!([{"message": 0, "reason": "small_talk"}, {"message": 1, "reason": "small_talk"}]);
    assert_eq!((&small_talk["dropped"], &small_talk["made"]), (&expected, &json!([])));
}

#[test]
fn a_message_becomes_at_most_200_memories_and_the_rest_stays_in_the_kept_conversation() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    let words: Vec<String> = (0..80_000).map(|number| format!("w{number}")).collect();
    let long = format!("{} harbourmaster", words.join(" "));
    let body = json!({"messages": [
        {"role": "user", "name": "Ann", "content": long},
        {"role": "user", "name": "Bo", "content": "The baker in Oban closes on Tuesdays."},
    ]});
    let id = id_of(&server.post("/v1/memories", &body).body);
    let ingested = wait_for_status(&server, &id, "ingested");
    assert_eq!(ingested["dropped"], json!([{"message": 0, "reason": "too_long"}]));
    assert_eq!(paths(&ingested["made"]).len(), 201);
    let kept = server.get(&format!("/v1/sources/{id}")).body;
    assert!(kept["messages"][0]["content"].as_str().expect("text").ends_with("harbourmaster"));
}

#[test]
fn terms_and_skills_are_made_once_and_rewritten_later() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let terms = |definition: &str| json!({"terms": [{"term": "pier", "definition": definition}]});
    let first = server.post("/v1/vocab?wait=30", &terms("A landing stage"));
    let second = server.post("/v1/vocab?wait=30", &terms("A long landing stage"));
    assert_eq!((first.status, second.status), (200, 200), "{first:?} {second:?}");
    assert_eq!(paths(&first.body["made"]), paths(&second.body["rewritten"]));
    assert_eq!((&first.body["rewritten"], &second.body["made"]), (&json!([]), &json!([])));
    let defined = server.retrieve("default", "q=the+pier").body["defined"].clone();
    assert_eq!(defined[0]["definition"], "A long landing stage", "{defined}");

    let skills = |content: &str| json!({"skills": [{"name": "Rotate keys", "content": content}]});
    let accepted = server.post("/v1/skills", &skills("Step one"));
    let made = wait_for_status(&server, &id_of(&accepted.body), "ingested");
    assert_eq!(made["made"], accepted.body["paths"]);
    let again = server.post("/v1/skills?wait=30", &skills("Step two"));
    assert_eq!(again.body["rewritten"], accepted.body["paths"], "{again:?}");
    let path = paths(&again.body["rewritten"]).remove(0);
    let forgotten = server.call("DELETE", &format!("/v1/memories/{path}?wait=30"), None);
    assert_eq!((forgotten.status, &forgotten.body["status"]), (200, &json!("ingested")), "{forgotten:?}");
    assert_eq!(server.get(&format!("/v1/memories/{path}")).status, 404);
}

#[test]
fn a_write_that_fails_is_retried_and_then_dead_with_its_code() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, "[ingestion]\nretries = 1\nbackoff_ms = 600000\n");
    server.namespace("broken");
    // A file in place of the account's repository folder makes every attempt fail.
    let repositories = data.join("repositories/default");
    std::fs::create_dir_all(data.join("repositories")).expect("creates");
    std::fs::write(&repositories, "not a folder").expect("writes");
    let id = server.remember("broken", &["The lighthouse keeper collects barometers"]);
    let retrying = wait_for_status(&server, &id, "retrying");
    assert_eq!((&retrying["attempts"], &retrying["error"]), (&json!(1), &Value::Null));
    server.kill();

    // The next start tries the write at once.
    let server = Server::start_configured(&data, "[ingestion]\nretries = 1\n");
    let dead = wait_for_status(&server, &id, "dead");
    assert_eq!((&dead["error"], &dead["attempts"]), (&json!("internal"), &json!(2)), "{dead}");
    assert!(dead["finished_at"].is_string() && !dead.to_string().contains("barometers"), "{dead}");
    std::fs::remove_file(&repositories).expect("removes");
    stdout(&data, &["dead-letters", "retry", &id]);
    let ingested = wait_for_status(&server, &id, "ingested");
    assert_eq!((&ingested["attempts"], &ingested["error"]), (&json!(1), &Value::Null));
    assert_eq!(paths(&ingested["made"]).len(), 1, "{ingested}");
}

#[test]
fn a_dropped_dead_letter_and_a_deleted_namespace_drop_their_writes() {
    let provider = Provider::start();
    provider.chat_fault(Some(Fault::WrongShape));
    let (_folder, data) = fresh();
    let settings = format!("{}[ingestion]\nretries = 0\n", provider.chat_settings());
    let server = Server::start_with_models(&data, &settings);
    let letter = server.remember("default", &["The vault code is kept by Marit"]);
    assert_eq!(wait_for_status(&server, &letter, "dead")["error"], "model_unavailable");
    stdout(&data, &["dead-letters", "drop", &letter]);
    let dropped = write(&server, &letter);
    assert_eq!((&dropped["status"], &dropped["error"]), (&json!("dropped"), &json!("model_unavailable")));

    provider.chat_fault(None);
    server.namespace("gone");
    let ingested = server.post("/v1/memories?wait=30", &conversation("gone", &["The ferry to Skye leaves at nine"]));
    assert_eq!(ingested.status, 200, "{ingested:?}");
    provider.chat_fault(Some(Fault::Status(503)));
    let queued = server.remember("gone", &["The ferry to Oban leaves at ten"]);
    let session = stdout(&data, &["token"]);
    assert_eq!(server.call_as(&session, "DELETE", "/v1/namespaces/gone", None).status, 200);
    for id in [id_of(&ingested.body), queued] {
        let dropped = write(&server, &id);
        assert_eq!((&dropped["status"], &dropped["made"]), (&json!("dropped"), &json!([])), "{dropped}");
    }
}

#[test]
fn a_queued_write_is_still_queued_after_a_kill() {
    let Outage { provider, server, folder } = Outage::start();
    let id = server.remember("default", &["The lighthouse keeper is called Agatha"]);
    let data = server.data.clone();
    server.kill();
    let server = Server::start_with_models(&data, &settings(&provider));
    let status = write(&server, &id)["status"].clone();
    assert!(["queued", "ingesting"].iter().any(|expected| status == *expected), "{status}");
    provider.chat_fault(None);
    let ingested = wait_for_status(&server, &id, "ingested");
    assert!(!paths(&ingested["made"]).is_empty(), "{ingested}");
    server.kill();
    let server = Server::start_with_models(&data, &settings(&provider));
    assert_eq!(write(&server, &id), ingested);
    drop(folder);
}

#[test]
fn a_write_that_was_committed_before_a_kill_has_its_changes() {
    let watched = WatchedData::new();
    let mut server = watched.start();
    server.settle("default");
    let mut texts = vec!["Hello!".to_owned()];
    texts.extend((0..LONG_CONVERSATION).map(|n| format!("Shelf {n} of the archive carries jar number {}", n * 7)));
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    server.namespace("twin");
    // The worker has the message before the response is sent, so nothing can be committed until the response is here.
    watched.disk.set_rules(&["enospc write repositories/ 0", "enospc open repositories/ 0"]);
    let id = server.remember("default", &texts);
    watched.disk.set_rules(&["killafter rename refs/heads/main 1"]);
    wait_for("the server to end", || server.has_ended());
    server.kill();

    watched.disk.set_rules(&[]);
    let server = watched.start();
    let recovered = wait_for_status(&server, &id, "ingested");
    let undisturbed = server.post("/v1/memories?wait=30", &conversation("twin", &texts));
    let undisturbed = wait_for_status(&server, &id_of(&undisturbed.body), "ingested");
    assert_eq!(paths(&recovered["made"]).len(), paths(&undisturbed["made"]).len());
    assert_eq!(recovered["dropped"], undisturbed["dropped"]);
    assert_eq!((&recovered["attempts"], &recovered["rewritten"]), (&json!(1), &json!([])));
}

#[test]
fn a_write_is_hidden_from_other_namespaces_and_accounts() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    for namespace in ["theirs", "mine"] {
        server.namespace(namespace);
    }
    let scoped = stdout(&data, &["keys", "create", "--namespace", "mine"]);
    let stranger = stdout(&data, &["keys", "create", "--account", "stranger"]);
    let theirs = server.remember("theirs", &["The lighthouse keeper is called Agatha"]);
    let mine = server.remember("mine", &["The baker in Oban closes on Tuesdays"]);
    wait_for_status(&server, &theirs, "ingested");
    let look = |key: &str, id: &str| {
        let answer = server.call_as(key, "GET", &format!("/v1/writes/{id}"), None);
        (answer.status, answer.code().to_owned())
    };
    let hidden = (404, "not_found".to_owned());
    assert_eq!(look(&scoped, &theirs), hidden);
    assert_eq!(look(&scoped, &mine).0, 200);
    assert_eq!(look(&stranger, &mine), hidden);
    for unknown in ["01M80ZJJYEMM0YJ4AAAANEC71VX", "soon", "%20"] {
        assert_eq!(look(&server.key, unknown), hidden, "{unknown}");
    }
}

#[test]
fn a_request_that_waits_is_answered_when_its_memories_can_be_retrieved() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    for number in 0..20 {
        let token = format!("token{number}x");
        let body = conversation("default", &[&format!("Ledger entry {token} was signed by the harbour master")]);
        let answer = server.post("/v1/memories?wait=30s", &body);
        assert_eq!((answer.status, &answer.body["status"]), (200, &json!("ingested")), "{answer:?}");
        let found = server.retrieve("default", &format!("q={token}&limit=3")).contents();
        assert!(found.iter().any(|content| content.contains(&token)), "{token}: {found:?}");
        let repeated = server.post("/v1/memories?wait=30s", &body);
        assert_eq!((repeated.status, &repeated.body), (200, &answer.body), "the same body is the same write");
    }
}

#[test]
fn a_request_that_waits_too_briefly_is_answered_with_the_present_status() {
    let outage = Outage::start();
    let body = conversation("default", &["The lighthouse keeper is called Agatha"]);
    for wait in ["0", "0.05", "50ms"] {
        let answer = outage.server.post(&format!("/v1/memories?wait={wait}&wiat=1"), &body);
        assert_eq!(answer.status, 202, "{answer:?}");
        let status = answer.body["status"].as_str().expect("a status");
        assert!(["queued", "ingesting"].contains(&status), "{answer:?}");
        assert!(answer.body["warnings"][0].as_str().is_some_and(|text| text.contains("wiat")), "{answer:?}");
    }
}

#[test]
fn a_wait_that_is_not_a_time_is_refused_before_the_write() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    for wait in ["soon", "31", "-1", ""] {
        let body = conversation("default", &["The lighthouse keeper is called Agatha"]);
        let answer = server.post(&format!("/v1/memories?wait={wait}"), &body);
        assert_eq!((answer.status, answer.code()), (400, "invalid_body"), "{answer:?}");
        let message = answer.body["error"]["message"].as_str().expect("a message");
        assert!(message.contains("`5s`") && message.contains("`500ms`"), "{message}");
    }
    assert_eq!(server.get("/v1/usage").body["used"]["writes"], 0);
}

#[test]
fn a_stop_answers_requests_that_wait() {
    let outage = Outage::start();
    let server = &outage.server;
    let body = conversation("default", &["The lighthouse keeper is called Agatha"]);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.post("/v1/memories?wait=30", &body));
        wait_for("the write to be queued", || server.get("/v1/queue").body["waiting"] == 1);
        let pid = server.pid().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs").success());
        let answer = waiting.join().expect("the request is answered");
        assert_eq!(answer.status, 202, "{answer:?}");
    });
}
