//! What is the same on every route: credentials, unknown routes, unknown names, bodies, limits of requests.

use insta::assert_snapshot;
use serde_json::json;

use crate::support::Api;

#[test]
fn health_needs_no_credential() {
    let mut api = Api::open();
    api.send("nobody GET /health");
    assert_snapshot!(api.transcript());
}

#[test]
fn whoami_describes_each_kind_of_credential() {
    let mut api = Api::open_with_scoped_key();
    api.send(
        "GET /v1/whoami

        session GET /v1/whoami

        scoped GET /v1/whoami

        stranger GET /v1/whoami",
    );
    assert_snapshot!(api.transcript());
    let created = api.answer("session POST /v1/keys\n{\"env\": \"test\"}").json();
    let key = created["key"].as_str().expect("a key");
    let whoami = api.answer(&format!("nobody GET /v1/whoami\nauthorization: Bearer {key}"));
    assert_eq!(whoami.json(), json!({"account": "default", "auth": "api_key", "env": "test"}));
}

#[test]
fn the_openapi_document_is_served_as_json() {
    let api = Api::open();
    let answer = api.answer("GET /v1/openapi.json");
    assert_eq!((answer.status, answer.headers["content-type"].as_bytes()), (200, &b"application/json"[..]));
    assert_eq!(answer.json()["openapi"], "3.1.0");
    assert!(answer.json()["paths"]["/v1/retrieve"]["get"].is_object());
}

#[test]
fn a_missing_credential_hides_which_routes_exist() {
    let mut api = Api::open();
    api.send(
        "nobody GET /v1/usage

        nobody GET /v1/nothing

        nobody POST /v1/memories
        {\"messages\": []}",
    );
    assert_snapshot!(api.transcript());
    api.assert_nothing_counted();
}

#[test]
fn a_refused_credential_hides_which_routes_exist() {
    let mut api = Api::open();
    api.send(
        "nobody GET /v1/usage
        authorization: Bearer svc_live_x

        nobody GET /v1/nothing
        authorization: Basic eDp5

        nobody GET /v1/usage
        authorization: Bearer a.b.c",
    );
    assert_snapshot!(api.transcript());
    api.assert_nothing_counted();
}

#[test]
fn unknown_paths_and_methods_are_not_found() {
    let mut api = Api::open();
    api.send(
        "GET /v1/nothing

        PUT /v1/memories
        {}

        GET /

        DELETE /v1/usage

        POST /v1/whoami
        {}",
    );
    assert_snapshot!(api.transcript());
    for request in ["PUT /v1/keys", "PATCH /v1/retrieve", "DELETE /v1/memories"] {
        api.assert_refused(request, 404, "not_found");
    }
    api.assert_nothing_counted();
}

#[test]
fn bodies_that_are_not_json_objects_are_rejected() {
    let mut api = Api::open();
    api.send(
        "POST /v1/memories

        POST /v1/memories
        \"text\"

        POST /v1/vocab
        []

        POST /v1/skills
        {\"skills\":

        POST /v1/namespaces

        session POST /v1/keys

        session POST /v1/billing/recharge

        GET /v1/usage",
    );
    assert_snapshot!(api.transcript());
    for request in ["POST /v1/skills", "POST /v1/memories\n[]", "session POST /v1/keys\n[]"] {
        api.assert_refused(request, 400, "invalid_body");
    }
}

#[test]
fn bodies_that_nest_too_deeply_are_rejected() {
    let mut api = Api::open();
    let (open, close) = ("[".repeat(64), "]".repeat(64));
    api.send(&format!("POST /v1/memories\n{{\"messages\": {open}{close}}}"));
    assert_snapshot!(api.transcript());
}

#[test]
fn bodies_without_a_credential_are_small() {
    let mut api = Api::open();
    api.send(&format!("nobody POST /v1/billing/notifications\n{}", "x".repeat((64 << 10) + 1)));
    assert_snapshot!(api.transcript());
}

#[test]
fn unknown_names_are_warned_of() {
    let mut api = Api::open();
    api.send(
        "GET /v1/namespaces?aftr=a

        POST /v1/memories
        {\"messages\": [{\"role\": \"user\", \"content\": \"The ferry leaves at nine.\", \"nme\": \"Ann\"}], \"tag\": []}

        GET /v1/tree?namespace=none&colour=red",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn names_that_separate_users_elsewhere_are_refused() {
    let mut api = Api::open();
    api.send(
        "GET /v1/retrieve?q=x&user_id=ida

        POST /v1/memories?user_id=ida
        {\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}

        POST /v1/memories/facts/a.md
        {\"content\": \"x\", \"agentId\": \"a\"}

        GET /v1/usage",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn a_request_keeps_the_id_that_its_client_chose() {
    let api = Api::open();
    let chosen = api.answer("GET /v1/whoami\nx-request-id: client-7");
    assert_eq!(chosen.headers["x-request-id"], "client-7");
    let replaced = api.answer("GET /v1/whoami\nx-request-id: not allowed");
    assert_eq!(replaced.headers["x-request-id"].len(), 26);
}

#[test]
fn requests_above_the_rate_limit_are_refused() {
    let api = Api::open_with("[rate_limit]\nrequests_per_minute = 2\n");
    // The first request was the creation of the key.
    assert_eq!(api.answer("GET /v1/usage").status, 200);
    let refused = api.answer("GET /v1/usage");
    assert_eq!(refused.refusal(), (429, "rate_limited".to_owned()));
    let seconds = refused.headers["retry-after"].to_str().expect("text").parse::<u64>().expect("a number");
    assert!((1..=31).contains(&seconds), "{seconds}");
    api.assert_refused("GET /v1/retrieve?q=x", 429, "rate_limited");
}
