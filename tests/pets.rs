//! The animals API on its own listener.

use std::io::Read;

use reqwest::blocking::Client;
use serde_json::{Value, json};

use crate::support::nodes::free_address;
use crate::support::{Server, fresh, stdout, wait_for};

/// A request that must be refused, with the expected status.
struct Refusal<'a> {
    method: &'static str,
    path: &'static str,
    key: Option<&'a str>,
    body: Option<&'static str>,
    status: u16,
}

#[test]
fn animals_are_separate_by_account_and_environment() {
    let (_folder, data) = fresh();
    let address = free_address();
    let server = Server::start_with(&data, &["--pets-listen", &address]);
    let base = format!("http://{address}/v1");
    let call = |method: &str, path: &str, key: Option<&str>, body: Option<&str>| {
        let method = method.parse().expect("a method");
        let mut request = Client::new().request(method, format!("{base}{path}"));
        if let Some(key) = key {
            request = request.bearer_auth(key);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_owned());
        }
        let mut response = request.send().expect("answers");
        let mut text = String::new();
        response.read_to_string(&mut text).expect("text");
        let headers = response.headers().clone();
        (response.status().as_u16(), serde_json::from_str::<Value>(&text).unwrap_or_default(), headers)
    };
    let live = server.key.as_str();
    let test = stdout(&data, &["keys", "create", "--env", "test"]);
    let (status, made, _) =
        call("POST", "/pets", Some(live), Some(r#"{"name":"Rex","categoryId":7,"status":"available"}"#));
    assert_eq!((status, &made), (201, &json!({"id": 1, "name": "Rex", "categoryId": 7, "status": "available"})));
    for n in 2..=25 {
        let status = if n % 5 == 0 { "sold" } else { "pending" };
        let body = json!({"name": format!("P{n}"), "categoryId": 1, "status": status}).to_string();
        assert_eq!(call("POST", "/pets", Some(live), Some(&body)).1["id"], n);
    }
    let listed =
        |query: &str, key: &str| call("GET", &format!("/pets{query}"), Some(key), None).1.as_array().map(Vec::len);
    assert_eq!(
        (
            listed("", live),
            listed("?limit=100", live),
            listed("?status=sold", live),
            listed("?limit=2&status=sold", live)
        ),
        (Some(20), Some(25), Some(5), Some(2))
    );
    assert_eq!(listed("", &test), Some(0), "test and live animals are separate");

    let (status, body, headers) = call("GET", "/pets/1", Some(live), None);
    assert_eq!((status, &body["name"]), (200, &json!("Rex")));
    assert_eq!(headers["sunset"], "Thu, 05 Dec 2030 00:00:00 GMT");
    assert_eq!(headers["link"], "</v1/pets>; rel=\"successor-version\"");
    assert!(headers.contains_key("deprecation"));

    let session = stdout(&data, &["token"]);
    let rows = [
        Refusal { method: "GET", path: "/pets", key: None, body: None, status: 401 },
        Refusal { method: "GET", path: "/pets", key: Some("svc_live_x"), body: None, status: 401 },
        Refusal { method: "GET", path: "/pets", key: Some(&session), body: None, status: 401 },
        Refusal { method: "GET", path: "/pets/99", key: Some(live), body: None, status: 404 },
        Refusal { method: "GET", path: "/pets/x", key: Some(live), body: None, status: 404 },
        Refusal { method: "GET", path: "/pets/1", key: Some(&test), body: None, status: 404 },
        Refusal { method: "GET", path: "/dogs", key: Some(live), body: None, status: 404 },
        Refusal { method: "GET", path: "/pets?limit=0", key: Some(live), body: None, status: 400 },
        Refusal { method: "GET", path: "/pets?limit=101", key: Some(live), body: None, status: 400 },
        Refusal { method: "GET", path: "/pets?limit=x", key: Some(live), body: None, status: 400 },
        Refusal { method: "GET", path: "/pets?status=lost", key: Some(live), body: None, status: 400 },
        Refusal { method: "POST", path: "/pets", key: Some(live), body: Some("{}"), status: 400 },
        Refusal {
            method: "POST",
            path: "/pets",
            key: Some(live),
            body: Some(r#"{"name":"x","categoryId":"7"}"#),
            status: 400,
        },
        Refusal {
            method: "POST",
            path: "/pets",
            key: Some(live),
            body: Some(r#"{"name":"x","categoryId":1.5}"#),
            status: 400,
        },
        Refusal {
            method: "POST",
            path: "/pets",
            key: Some(live),
            body: Some(r#"{"name":"x","categoryId":1,"status":"lost"}"#),
            status: 400,
        },
        Refusal { method: "POST", path: "/pets", key: Some(live), body: Some("nonsense"), status: 400 },
    ];
    let mut failures = Vec::new();
    for Refusal { method, path, key, body, status: expected } in rows {
        let (status, answer, _) = call(method, path, key, body);
        let is_complete = answer["code"].is_string() && answer["message"].is_string();
        if status != expected || answer["status"] != expected || !is_complete {
            failures.push(format!("{method} {path} {body:?}: expected {expected}, got {status} {answer}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(server.terminate(), "both listeners end");
    wait_for("the address to be free", || std::net::TcpListener::bind(&address).is_ok());
}

#[test]
fn the_animals_api_limits_the_requests_of_one_account() {
    let (_folder, data) = fresh();
    let address = free_address();
    let settings = format!("[pets]\nlisten = '{address}'\n[rate_limit]\nrequests_per_minute = 5\n");
    let server = Server::start_configured(&data, &settings);
    let list =
        |key: &str| Client::new().get(format!("http://{address}/v1/pets")).bearer_auth(key).send().expect("answers");
    for _ in 0..5 {
        assert_eq!(list(&server.key).status().as_u16(), 200);
    }
    let refused = list(&server.key);
    assert_eq!(refused.status().as_u16(), 429);
    let seconds = refused.headers()["retry-after"].to_str().expect("text").parse::<u64>().expect("seconds");
    assert!((1..=60).contains(&seconds));
    let body: Value = refused.json().expect("JSON");
    assert_eq!((&body["code"], &body["status"]), (&json!("rate_limited"), &json!(429)));
    let other = stdout(&data, &["keys", "create", "--account", "other"]);
    assert_eq!(list(&other).status().as_u16(), 200);
}
