//! Credentials from the command line, missing (401) and rejected (403) credentials, and origins. The rules for keys are
//! tested in `tests/api`.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Server, fresh, stdout, wait_for};

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

#[test]
fn the_gateway_answers_401_without_and_403_for_bad_credentials() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let missing = server.request("GET", "/v1/whoami", None, None);
    assert!(missing.headers.contains("\"www-authenticate\": \"Bearer realm="), "{}", missing.headers);
    assert_eq!((missing.status, missing.body), (401, json!({"message": "Unauthorized"})));
    let unknown_route = server.request("GET", "/v1/nothing", None, None);
    assert_eq!((unknown_route.status, unknown_route.body), (401, json!({"message": "Unauthorized"})));

    let mut altered = server.key.clone();
    altered.replace_range(altered.len() - 1.., if altered.ends_with('A') { "B" } else { "A" });
    let as_test = server.key.replacen("svc_live", "svc_test", 1);
    let long = bearer(&"x".repeat(9000));
    let refused = [
        "Basic dXNlcjpwYXNz",
        "Bearer",
        "Bearer ",
        "Bearer x",
        "garbage",
        &bearer(&altered),
        &bearer(&as_test),
        &bearer("svc_live_0123456789abcdef_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        &long,
    ];
    for credential in refused {
        let answer = server.request("GET", "/v1/whoami", Some(credential), None);
        assert_eq!((answer.status, answer.body), (403, json!({"message": "Forbidden"})), "{credential:.40}");
    }
    let health = server.request("GET", "/health", None, None);
    assert_eq!((health.status, &health.body["status"]), (200, &json!("ok")));
    assert!(!server.log().contains(&server.key), "the log contains a credential");
}

#[test]
fn a_key_is_valid_until_a_session_revokes_it() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let session = stdout(&data, &["token"]);
    let created = server.call_as(&session, "POST", "/v1/keys", Some(&json!({"name": "laptop"})));
    assert_eq!(created.status, 201, "{created:?}");
    let (key, id) = (created.body["key"].as_str().expect("a key"), created.body["id"].as_str().expect("an id"));
    assert_eq!(server.call_as(key, "GET", "/v1/whoami", None).status, 200);
    let revoked = server.call_as(&session, "DELETE", &format!("/v1/keys/{id}"), None);
    assert_eq!((revoked.status, &revoked.body), (200, &json!({"id": id, "revoked": true})));
    assert_eq!(server.call_as(key, "GET", "/v1/whoami", None).status, 403);
}

/// More requests than nodes of the suite: with several nodes, each request goes to the next one.
const ROUND: usize = 6;

#[test]
fn a_revoked_key_is_refused_by_every_node_although_all_have_authorized_it() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let session = stdout(&data, &["token"]);
    let created = server.call_as(&session, "POST", "/v1/keys", Some(&json!({"name": "laptop"})));
    let (key, id) = (created.body["key"].as_str().expect("a key"), created.body["id"].as_str().expect("an id"));
    for _ in 0..ROUND {
        assert_eq!(server.call_as(key, "GET", "/v1/whoami", None).status, 200);
    }
    assert_eq!(server.call_as(&session, "DELETE", &format!("/v1/keys/{id}"), None).status, 200);
    let revoked = Instant::now();
    wait_for("all nodes to refuse the key", || {
        (0..ROUND).all(|_| server.call_as(key, "GET", "/v1/whoami", None).status == 403)
    });
    // Two seconds are promised. A caller that is not forgotten is accepted for 30 seconds.
    assert!(revoked.elapsed() < Duration::from_secs(15), "{:?}", revoked.elapsed());
}

#[test]
fn the_log_says_by_key_id_why_a_credential_is_refused() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let session = stdout(&data, &["token"]);
    let created = server.call_as(&session, "POST", "/v1/keys", Some(&json!({"name": "laptop"})));
    let (key, id) = (created.body["key"].as_str().expect("a key"), created.body["id"].as_str().expect("an id"));
    assert_eq!(server.call_as(&session, "DELETE", &format!("/v1/keys/{id}"), None).status, 200);
    assert_eq!(server.call_as(key, "GET", "/v1/whoami", None).status, 403);
    let log = server.log();
    let refusals: Vec<&str> = log.lines().filter(|line| line.contains("a credential is refused")).collect();
    assert_eq!(refusals.len(), 1, "{log}");
    assert!(refusals[0].contains("the key is revoked") && refusals[0].contains(id), "{log}");
    // The secret has 32 characters.
    assert!(!log.contains(&key[key.len() - 32..]), "the log contains a secret");
}

#[test]
fn whoami_describes_the_credential() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    assert_eq!(server.get("/v1/whoami").body, json!({"account": "default", "auth": "api_key", "env": "live"}));
    let test_key = bearer(&stdout(&data, &["keys", "create", "--env", "test", "--account", "acme"]));
    let answer = server.request("GET", "/v1/whoami", Some(&test_key), None);
    assert_eq!(answer.body, json!({"account": "acme", "auth": "api_key", "env": "test"}));
    let session = bearer(&stdout(&data, &["token", "--account", "acme"]));
    let answer = server.request("GET", "/v1/whoami", Some(&session), None);
    assert_eq!(answer.body, json!({"account": "acme", "auth": "jwt", "env": ""}));
}

#[test]
fn a_suspended_account_is_refused_until_it_is_resumed() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let key = bearer(&stdout(&data, &["keys", "create", "--account", "acme"]));
    assert_eq!(server.request("GET", "/v1/whoami", Some(&key), None).status, 200);
    stdout(&data, &["accounts", "suspend", "acme"]);
    assert_eq!(server.request("GET", "/v1/whoami", Some(&key), None).status, 403);
    stdout(&data, &["accounts", "resume", "acme"]);
    assert_eq!(server.request("GET", "/v1/whoami", Some(&key), None).status, 200);
}

#[test]
fn only_the_dashboards_origins_pass_the_cors_check() {
    let (_folder, data) = fresh();
    std::fs::create_dir_all(data.parent().expect("a parent")).expect("creates");
    let file = data.with_extension("toml");
    std::fs::write(&file, "[dashboard]\norigins = [\"https://dash.example\"]\n").expect("writes");
    let server = Server::start_with(&data, &["--config", file.to_str().expect("a path")]);
    let client = reqwest::blocking::Client::new();
    let preflight = |origin: &str| {
        let request =
            client.request(reqwest::Method::OPTIONS, format!("{}/v1/keys", server.url)).header("origin", origin);
        let request = request
            .header("access-control-request-method", "DELETE")
            .header("access-control-request-headers", "authorization");
        request.send().expect("answers").headers().clone()
    };
    let allowed = preflight("https://dash.example");
    assert_eq!(allowed.get("access-control-allow-origin").expect("allowed"), "https://dash.example");
    let methods = allowed.get("access-control-allow-methods").expect("methods").to_str().expect("text").to_owned();
    for method in ["GET", "POST", "PATCH", "DELETE", "OPTIONS"] {
        assert!(methods.contains(method), "{methods}");
    }
    assert!(preflight("https://evil.example").get("access-control-allow-origin").is_none());
}
