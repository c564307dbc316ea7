//! API keys: creation, listing, revocation, and the permissions of each kind of credential.

use insta::assert_snapshot;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::support::Api;

#[test]
fn a_key_is_created_by_a_session_or_for_a_namespace() {
    let mut api = Api::open_with_scoped_key();
    api.send(
        r#"session POST /v1/keys
        {"name": "a"}

        session POST /v1/keys
        {"name": "b", "env": "test", "namespace": "mine"}

        POST /v1/keys
        {"namespace": "mine"}"#,
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn a_new_key_contains_its_environment_and_its_id() {
    let api = Api::open();
    let created = api.answer("session POST /v1/keys\n{\"name\": \"wide\", \"env\": \"test\"}").json();
    let (key, id) = (created["key"].as_str().expect("a key"), created["id"].as_str().expect("an id"));
    assert!(key.starts_with(&format!("svc_test_{id}_")) && id.len() == 16, "{created}");
}

#[test]
fn a_key_may_be_created_before_its_namespace() {
    let api = Api::open();
    let created = api.answer("session POST /v1/keys\n{\"name\": \"scoped\", \"namespace\": \"team\"}");
    assert_eq!((created.status, &created.json()["namespace"]), (201, &json!("team")));
}

#[test]
fn a_namespace_key_outlives_the_key_that_created_it() {
    let api = Api::open_with_scoped_key();
    let created = api.answer("POST /v1/keys\n{\"namespace\": \"mine\"}").json();
    let listed = api.answer("session GET /v1/keys").json();
    let keys = listed["keys"].as_array().expect("keys");
    let parent = keys.iter().find(|key| key["name"] == "account").expect("the account's key");
    let parent = parent["id"].as_str().expect("an id");
    assert_eq!(api.answer(&format!("session DELETE /v1/keys/{parent}")).status, 200);
    assert_eq!(api.answer("GET /v1/whoami").status, 403, "the parent is revoked");
    let child = created["key"].as_str().expect("a key");
    assert_eq!(api.answer(&format!("nobody GET /v1/whoami\nauthorization: Bearer {child}")).status, 200);
}

#[test]
fn keys_that_may_not_create_a_key_are_refused() {
    let mut api = Api::open_with_scoped_key();
    api.send(
        r#"POST /v1/keys
        {"name": "a"}

        POST /v1/keys
        {"name": "a", "namespace": ""}

        scoped POST /v1/keys
        {"name": "a"}

        scoped POST /v1/keys
        {"name": "a", "namespace": "mine"}"#,
    );
    assert_snapshot!(api.transcript());
    api.assert_nothing_counted();
}

#[test]
fn each_field_of_a_new_key_is_checked() {
    let mut api = Api::open();
    api.send(
        r#"session POST /v1/keys
        {"env": "prod"}

        session POST /v1/keys
        {"env": 1}

        session POST /v1/keys
        {"name": 1}

        session POST /v1/keys
        {"namespace": "No"}"#,
    );
    api.send(&format!("session POST /v1/keys\n{{\"name\": \"{}\"}}", "x".repeat(201)));
    assert_snapshot!(api.transcript());
    api.assert_refused("session POST /v1/keys\n{\"namespace\": \"Bad Name\"}", 400, "invalid_namespace");
    api.assert_nothing_counted();
}

#[test]
fn keys_are_listed_and_revoked_by_a_session() {
    let mut api = Api::open();
    // Keys are listed by the time of their creation.
    api.advance(SignedDuration::from_mins(1));
    api.send(
        r#"session POST /v1/keys
        {"name": "second"}

        nobody GET /v1/whoami
        authorization: Bearer [key-1]

        session DELETE /v1/keys/[key-id-1]

        nobody GET /v1/whoami
        authorization: Bearer [key-1]

        session GET /v1/keys"#,
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn keys_of_other_accounts_cannot_be_revoked() {
    let mut api = Api::open();
    api.send(
        "session GET /v1/keys

        stranger DELETE /v1/keys/[key-id-1]

        session DELETE /v1/keys/nothing

        stranger GET /v1/keys",
    );
    assert_snapshot!(api.transcript());
    for id in ["0000000000000000", "0123456789abcdef", "..%2f..%2fetc", "%F0%9F%A6%80"] {
        api.assert_refused(&format!("session DELETE /v1/keys/{id}"), 404, "not_found");
    }
    api.assert_nothing_counted();
}

#[test]
fn dashboard_routes_refuse_keys() {
    let mut api = Api::open_with_scoped_key();
    api.send(
        r#"GET /v1/keys

        DELETE /v1/keys/0123456789abcdef

        DELETE /v1/namespaces/mine

        POST /v1/billing/recharge
        {"amount_paise": 50000}

        POST /v1/billing/subscribe
        {"plan": "starter"}

        POST /v1/dead-letters/01M87DTP085DTW7X2C8MYY0WVK/retry
        {}

        DELETE /v1/dead-letters/01M87DTP085DTW7X2C8MYY0WVK"#,
    );
    assert_snapshot!(api.transcript());
    api.assert_nothing_counted();
}

#[test]
fn a_scoped_key_cannot_call_account_routes() {
    let mut api = Api::open_with_scoped_key();
    api.send(
        r#"scoped POST /v1/namespaces
        {"name": "other"}

        scoped DELETE /v1/namespaces/mine

        scoped GET /v1/queue

        scoped GET /v1/usage

        scoped GET /v1/billing

        scoped DELETE /v1/dead-letters/01M87DTP085DTW7X2C8MYY0WVK"#,
    );
    assert_snapshot!(api.transcript());
    api.assert_nothing_counted();
}

#[test]
fn a_scoped_key_cannot_read_another_namespace() {
    let mut api = Api::open_with_scoped_key();
    api.send(
        "scoped GET /v1/retrieve?q=x&namespace=default

        scoped GET /v1/memories/facts/a.md?namespace=default

        scoped GET /v1/tree?namespace=default

        scoped GET /v1/vocab?namespace=default

        scoped GET /v1/skills?namespace=default

        scoped GET /v1/conversations?namespace=default

        scoped GET /v1/sources?namespace=default",
    );
    assert_snapshot!(api.transcript());
    api.assert_nothing_counted();
    assert_eq!(api.answer("scoped GET /v1/retrieve?q=x").status, 200);
    let listed = api.answer("scoped GET /v1/namespaces").json();
    let names: Vec<&Value> = listed["namespaces"].as_array().expect("a list").iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["mine"]);
}

#[test]
fn a_scoped_key_cannot_write_to_another_namespace() {
    let mut api = Api::open_with_scoped_key();
    api.send(
        r#"scoped POST /v1/memories
        {"namespace": "default", "messages": [{"role": "user", "content": "x"}]}

        scoped POST /v1/memories/facts/a.md
        {"namespace": "default", "content": "x"}

        scoped DELETE /v1/memories/facts/a.md?namespace=default

        scoped POST /v1/vocab
        {"namespace": "default", "terms": [{"term": "x"}]}

        scoped POST /v1/skills
        {"namespace": "default", "skills": [{"name": "a", "content": "b"}]}

        scoped POST /v1/conversations
        {"namespace": "default"}

        scoped POST /v1/media?namespace=default
        x"#,
    );
    assert_snapshot!(api.transcript());
    api.assert_nothing_counted();
}

#[test]
fn a_scoped_key_writes_to_its_own_namespace_by_default() {
    let mut api = Api::open_with_scoped_key();
    api.send(
        r##"scoped POST /v1/memories/facts/a.md
        {"content": "# Anchor\n\nThe anchor is green."}

        scoped GET /v1/tree

        GET /v1/tree"##,
    );
    assert_snapshot!(api.transcript());
    let conversation = r#"{"messages": [{"role": "user", "content": "My locker code is 4417"}]}"#;
    let accepted = api.answer(&format!("scoped POST /v1/memories\n{conversation}"));
    assert_eq!((accepted.status, &accepted.json()["namespace"]), (202, &json!("mine")));
}
