//! Authorization: the rules for creating keys, missing (401) and rejected (403) credentials, and scopes.

use serde_json::{Value, json};

use crate::support::{Server, fresh, stdout};

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

#[test]
fn the_gateway_answers_401_without_and_403_for_bad_credentials() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let missing = server.request("GET", "/v1/whoami", None, None);
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
fn unknown_routes_and_methods_are_not_found() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    for (method, path) in [
        ("GET", "/v1/nothing"),
        ("PUT", "/v1/keys"),
        ("GET", "/"),
        ("POST", "/v1/retrieve"),
        ("DELETE", "/v1/memories"),
    ] {
        let answer = server.call(method, path, None);
        assert_eq!((answer.status, answer.code()), (404, "not_found"), "{method} {path}");
        assert!(answer.body["error"]["message"].is_string());
    }
}

#[test]
fn keys_are_created_by_the_creation_rules() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let session = bearer(&stdout(&data, &["token"]));
    let key = bearer(&server.key);
    let create = |credential: &str, body: Value| {
        server.request("POST", "/v1/keys", Some(credential), Some(body.to_string().into_bytes()))
    };

    // A dashboard session creates account-wide and scoped keys.
    let wide = create(&session, json!({"name": "wide", "env": "test"}));
    assert_eq!(wide.status, 201, "{wide:?}");
    assert_eq!((&wide.body["env"], &wide.body["name"]), (&json!("test"), &json!("wide")));
    assert!(wide.body["note"].is_string());
    let full = wide.body["key"].as_str().expect("a key");
    let id = wide.body["id"].as_str().expect("an id");
    assert!(full.starts_with(&format!("svc_test_{id}_")) && id.len() == 16);
    let scoped = create(&session, json!({"name": "scoped", "namespace": "team"}));
    assert_eq!((scoped.status, &scoped.body["namespace"]), (201, &json!("team")));

    // An account-wide key creates scoped keys only. A scoped key creates none.
    let by_key = create(&key, json!({"name": "x", "namespace": "default"}));
    assert_eq!(by_key.status, 201, "{by_key:?}");
    let refused = create(&key, json!({"name": "x"}));
    assert_eq!((refused.status, refused.code()), (403, "dashboard_only"));
    let scoped_key = bearer(scoped.body["key"].as_str().expect("a key"));
    for body in [json!({"name": "x"}), json!({"name": "x", "namespace": "team"})] {
        let refused = create(&scoped_key, body);
        assert_eq!((refused.status, refused.code()), (403, "scoped_key"));
    }

    for (body, code) in [
        (json!({"env": "prod"}), "invalid_env"),
        (json!({"env": 1}), "invalid_env"),
        (json!({"namespace": "Bad Name"}), "invalid_namespace"),
        (json!([]), "invalid_body"),
    ] {
        let answer = create(&session, body.clone());
        assert_eq!((answer.status, answer.code()), (400, code), "{body}");
    }
    let empty = server.request("POST", "/v1/keys", Some(&session), None);
    assert_eq!((empty.status, empty.code()), (400, "invalid_body"));
}

#[test]
fn only_sessions_list_and_revoke_keys() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let session = bearer(&stdout(&data, &["token"]));
    let id = server.key.split('_').nth(2).expect("an id").to_owned();
    for (method, path) in [("GET", "/v1/keys".to_owned()), ("DELETE", format!("/v1/keys/{id}"))] {
        let answer = server.call(method, &path, None);
        assert_eq!((answer.status, answer.code()), (403, "dashboard_only"));
    }
    let listed = server.request("GET", "/v1/keys", Some(&session), None);
    let keys = listed.body["keys"].as_array().expect("keys");
    let own = keys.iter().find(|key| key["id"] == json!(id)).expect("the key is listed");
    assert_eq!(own["revoked"], json!(false));
    assert!(own.get("namespace").is_none() && own.get("key").is_none());
    assert!(own["created_at"].as_str().expect("a time").ends_with('Z'));
    assert!(!listed.body.to_string().contains("sha256"));

    assert_eq!(server.get("/v1/whoami").status, 200);
    let revoked = server.request("DELETE", &format!("/v1/keys/{id}"), Some(&session), None);
    assert_eq!((revoked.status, revoked.body), (200, json!({"id": id, "revoked": true})));
    assert_eq!(server.get("/v1/whoami").status, 403);
    for unknown in ["0000000000000000", "..%2f..%2fetc", "%F0%9F%A6%80"] {
        let answer = server.request("DELETE", &format!("/v1/keys/{unknown}"), Some(&session), None);
        assert_eq!((answer.status, answer.code()), (404, "not_found"));
    }
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
fn a_scoped_key_stays_in_its_namespace() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    server.namespace("mine");
    server.namespace("other");
    let key = bearer(&stdout(&data, &["keys", "create", "--namespace", "mine"]));
    let call = |method: &str, path: &str, body: Option<Value>| {
        server.request(method, path, Some(&key), body.map(|b| b.to_string().into_bytes()))
    };
    let messages = json!([{"role": "user", "content": "My locker code is 4417"}]);

    let own = call("POST", "/v1/memories", Some(json!({"messages": messages})));
    assert_eq!((own.status, &own.body["namespace"]), (202, &json!("mine")));
    let other = call("POST", "/v1/memories", Some(json!({"messages": messages, "namespace": "other"})));
    assert_eq!((other.status, other.code()), (400, "invalid_namespace"));
    assert_eq!(call("GET", "/v1/retrieve?q=locker", None).status, 200);
    let other = call("GET", "/v1/retrieve?q=locker&namespace=other", None);
    assert_eq!(
        (other.status, &other.body["error"], &other.body["namespace"]),
        (403, &json!("forbidden_namespace"), &json!("other"))
    );

    let listed = call("GET", "/v1/namespaces", None);
    let names: Vec<&Value> = listed.body["namespaces"].as_array().expect("a list").iter().map(|n| &n["name"]).collect();
    assert_eq!(names, [&json!("mine")]);
    let made = call("POST", "/v1/namespaces", Some(json!({"name": "third"})));
    assert_eq!((made.status, made.code()), (403, "scoped_key"));
    let deleted = call("DELETE", "/v1/namespaces/mine", None);
    assert_eq!((deleted.status, deleted.code()), (403, "scoped_key"));
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
