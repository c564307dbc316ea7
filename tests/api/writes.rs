//! The state of accepted writes, and the parameter `wait`.

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::provider::{Fault, Provider};
use crate::support::Api;

/// Posts a conversation and waits for its ingestion. Returns the write.
fn remember(api: &Api, texts: &[&str]) -> Value {
    let messages: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
    let answer = api.post("/v1/memories?wait=30", &json!({"messages": messages}));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[test]
fn an_ingested_write_has_its_changes_for_14_days() {
    let mut api = Api::open();
    let write = remember(&api, &["The lighthouse keeper is called Agatha.", "Thanks!"]);
    let made = write["made"][0].as_str().expect("a path").to_owned();
    let expected = json!({
        "id": write["id"],
        "namespace": "default",
        "status": "ingested",
        "attempts": 1,
        "accepted_at": "2026-05-04T09:00:00Z",
        "finished_at": "2026-05-04T09:00:00Z",
        "error": null,
        "made": [made],
        "rewritten": [],
        "merged": [],
        "ended": [],
        "forgotten": [],
        "dropped": [{"message": 1, "reason": "small_talk"}],
    });
    assert_eq!(write, expected);
    assert_eq!(api.get(&format!("/v1/memories/{made}")).status, 200);
    let path = format!("/v1/writes/{}", write["id"].as_str().expect("an id"));
    assert_eq!(api.get(&path).json(), expected);
    api.advance(SignedDuration::from_hours(14 * 24));
    assert_eq!(api.get(&path).status, 200);
    api.advance(SignedDuration::from_secs(1));
    api.assert_refused(&format!("GET {path}"), 404, "not_found");
}

#[test]
fn a_dead_write_has_its_code_until_it_is_retried() {
    let provider = Provider::start();
    provider.chat_fault(Some(Fault::WrongShape));
    let api = Api::open_with(&format!("{}[ingestion]\nretries = 0\n", provider.chat_settings()));
    let dead = remember(&api, &["The lighthouse keeper is called Agatha."]);
    assert_eq!((&dead["status"], &dead["error"]), (&json!("dead"), &json!("model_unavailable")), "{dead}");
    assert_eq!((&dead["attempts"], &dead["made"]), (&json!(1), &json!([])), "{dead}");
    provider.chat_fault(None);
    let id = dead["id"].as_str().expect("an id");
    assert_eq!(api.answer(&format!("session POST /v1/dead-letters/{id}/retry\n{{}}")).status, 200);
    api.settle();
    let ingested = api.get(&format!("/v1/writes/{id}")).json();
    assert_eq!((&ingested["status"], &ingested["error"]), (&json!("ingested"), &Value::Null), "{ingested}");
}

#[test]
fn a_write_is_found_by_the_callers_who_may_read_its_namespace() {
    let api = Api::open_with_scoped_key();
    let theirs = remember(&api, &["The lighthouse keeper is called Agatha."]);
    let mine = json!({"messages": [{"role": "user", "content": "The baker in Oban closes on Tuesdays."}]});
    let mine = api.answer(&format!("scoped POST /v1/memories?wait=30\n{mine}")).json();
    let path = |write: &Value| format!("/v1/writes/{}", write["id"].as_str().expect("an id"));
    assert_eq!(api.answer(&format!("scoped GET {}", path(&mine))).json(), mine);
    assert_eq!(api.get(&path(&mine)).json(), mine);
    api.assert_refused(&format!("scoped GET {}", path(&theirs)), 404, "not_found");
    api.assert_refused(&format!("stranger GET {}", path(&theirs)), 404, "not_found");
    for unknown in ["01M80ZJJYEMM0YJ4AAAANEC71VX", "soon"] {
        api.assert_refused(&format!("GET /v1/writes/{unknown}"), 404, "not_found");
    }
}

#[test]
fn a_wait_that_is_not_a_time_of_30_seconds_is_refused() {
    let api = Api::open();
    for request in ["POST /v1/memories", "POST /v1/vocab", "POST /v1/skills", "DELETE /v1/memories/facts/a.md"] {
        let body = if request.starts_with("POST") { "\n{}" } else { "" };
        for wait in ["soon", "31", "30001ms", "-1", ""] {
            api.assert_refused(&format!("{request}?wait={wait}{body}"), 400, "invalid_body");
        }
    }
    api.assert_refused("DELETE /v1/vocab?term=pier&wait=soon", 400, "invalid_body");
    api.assert_nothing_counted();
}

#[test]
fn writes_are_listed_newest_first_in_pages() {
    let api = Api::open();
    let mut written = Vec::new();
    for text in ["The ferry leaves at nine.", "The bakery opens at six.", "The library closes at five."] {
        written.push(remember(&api, &[text]));
    }
    written.reverse();
    let first = api.get("/v1/writes?limit=2").json();
    assert_eq!(first["writes"], json!(written[..2]));
    let next = first["next"].as_str().expect("another page");
    let second = api.get(&format!("/v1/writes?limit=2&before={next}")).json();
    assert_eq!(second, json!({"writes": written[2..], "next": null}));
    assert_eq!(api.get("/v1/writes?limit=3").json()["next"], Value::Null, "the page has all writes");
}

#[test]
fn writes_are_listed_by_namespace_and_by_status() {
    let provider = Provider::start();
    provider.chat_fault(Some(Fault::WrongShape));
    let settings = format!("{}[ingestion]\nretries = 0\n", provider.chat_settings());
    let api = Api::open_with(&settings);
    let dead = remember(&api, &["The lighthouse keeper is called Agatha."]);
    provider.chat_fault(None);
    let ingested = remember(&api, &["The baker in Oban closes on Tuesdays."]);
    let ids = |query: &str| {
        let listed = api.get(&format!("/v1/writes?{query}")).json();
        let writes = listed["writes"].as_array().expect("writes").clone();
        writes.iter().map(|write| write["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids("status=dead"), [dead["id"].clone()]);
    assert_eq!(ids("status=ingested,dead"), [ingested["id"].clone(), dead["id"].clone()]);
    assert_eq!(ids("namespace=default").len(), 2);
    api.assert_refused("GET /v1/writes?namespace=other", 404, "namespace_not_found");
    api.assert_refused("GET /v1/writes?status=lost", 400, "invalid_parameter");
    api.assert_refused("GET /v1/writes?before=yesterday", 400, "invalid_id");
}

#[test]
fn a_key_of_a_namespace_lists_only_its_writes() {
    let api = Api::open_with_scoped_key();
    remember(&api, &["The lighthouse keeper is called Agatha."]);
    let mine = json!({"messages": [{"role": "user", "content": "The baker in Oban closes on Tuesdays."}]});
    let mine = api.answer(&format!("scoped POST /v1/memories?wait=30\n{mine}")).json();
    assert_eq!(api.answer("scoped GET /v1/writes").json(), json!({"writes": [mine], "next": null}));
    assert_eq!(api.get("/v1/writes").list_length("writes"), 2);
    assert_eq!(api.answer("stranger GET /v1/writes").list_length("writes"), 0);
    api.assert_refused("scoped GET /v1/writes?namespace=default", 403, "forbidden_namespace");
}

#[test]
fn a_recreated_namespace_has_no_writes_of_the_deleted_one() {
    let api = Api::open_with_scoped_key();
    let body = json!({"messages": [{"role": "user", "content": "The baker in Oban closes on Tuesdays."}]});
    let earlier = api.answer(&format!("scoped POST /v1/memories?wait=30\n{body}")).json();
    let path = format!("/v1/writes/{}", earlier["id"].as_str().expect("an id"));
    assert_eq!(api.answer("session DELETE /v1/namespaces/mine").status, 200);
    assert_eq!(api.post("/v1/namespaces", &json!({"name": "mine"})).status, 201);
    assert_eq!(api.get("/v1/writes?namespace=mine").list_length("writes"), 0);
    assert_eq!(api.answer("scoped GET /v1/writes").list_length("writes"), 0);
    api.assert_refused(&format!("scoped GET {path}"), 404, "not_found");
    assert_eq!(api.get(&path).json()["status"], "dropped", "a key of the account sees all its writes");
}

#[test]
fn a_session_sees_which_key_sent_a_write() {
    let api = Api::open_with_scoped_key();
    let created = api.answer("session POST /v1/keys\n{\"name\": \"import job\"}").json();
    let key = created["key"].as_str().expect("a key");
    let body = json!({"messages": [{"role": "user", "content": "The ferry leaves at nine."}]});
    let by_key = api.answer(&format!("nobody POST /v1/memories?wait=30\nauthorization: Bearer {key}\n{body}")).json();
    let body = json!({"messages": [{"role": "user", "content": "The bakery opens at six."}]});
    let by_person = api.answer(&format!("session POST /v1/memories?wait=30\n{body}")).json();
    let sender = |caller: &str, write: &Value| {
        let id = write["id"].as_str().expect("an id");
        api.answer(&format!("{caller} GET /v1/writes/{id}")).json()["sender"].clone()
    };
    let expected = json!({"kind": "key", "key": created["id"], "name": "import job"});
    assert_eq!(sender("session", &by_key), expected);
    assert_eq!(sender("session", &by_person), json!({"kind": "session", "email": null}));
    let id = by_key["id"].as_str().expect("an id");
    assert_eq!(
        api.get(&format!("/v1/writes/{id}")).json()["sender"],
        Value::Null,
        "a key does not see the keys of its account"
    );
    let listed = api.answer("session GET /v1/writes").json();
    assert_eq!(
        (&listed["writes"][1]["sender"], &listed["writes"][0]["sender"]["kind"]),
        (&expected, &json!("session"))
    );
}
