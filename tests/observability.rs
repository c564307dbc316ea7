//! Metrics, request ids, logs and traces, and that none of them contains content of clients.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::fake::{self, FakeResponse};
use crate::support::{Server, fresh, git, metrics, metrics_address, sample, stdout, wait_for};

/// Starts a server with metrics. Returns the server and the URL of the metrics.
fn server_with_metrics(data: &Path) -> (Server, String) {
    let (address, url) = metrics_address();
    (Server::start_with(data, &["--metrics-listen", &address]), url)
}

#[test]
fn metrics_are_served_on_their_own_address() {
    let (_folder, data) = fresh();
    let (server, url) = server_with_metrics(&data);
    server.remember("default", &["The observatory opens at dusk"]);
    server.settle("default");
    server.retrieve("default", "q=observatory");
    assert_eq!(server.get("/v1/nothing-here").status, 404);
    // A write is counted after its memory can be retrieved and after it has left the queue.
    let done = "cuebase_ingested_total{outcome=\"done\"}";
    wait_for("both writes to be counted", || {
        let text = metrics(&url);
        text.contains(done) && sample(&text, done) >= 2.0
    });
    let text = metrics(&url);
    assert!(
        sample(&text, "cuebase_request_seconds_count{method=\"GET\",route=\"/v1/retrieve\",status=\"200\"}") >= 2.0
    );
    assert!(sample(&text, "cuebase_request_seconds_count{method=\"\",route=\"\",status=\"404\"}") >= 1.0);
    assert!(sample(&text, "cuebase_retrieval_seconds_count{part=\"lexical\"}") >= 2.0);
    assert_eq!(sample(&text, "cuebase_queue_messages "), 0.0);
    assert_eq!(sample(&text, "cuebase_dead_letters "), 0.0);
    assert_eq!(sample(&text, "cuebase_namespaces_open "), 1.0);
    assert!(sample(&text, "cuebase_resident_bytes ") > 1e7 && sample(&text, "cuebase_open_files ") > 5.0);
    assert!(text.ends_with("# EOF\n"));
    for step in ["commit", "index", "pack"] {
        assert!(sample(&text, &format!("cuebase_write_seconds_count{{step=\"{step}\"}}")) >= 1.0);
    }
    // The metrics contain no content and no key, and the API does not serve them.
    for secret in ["observatory", "dusk", server.key.as_str(), "nothing-here"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert_eq!(server.get("/metrics").status, 404);
    let elsewhere = url.replace("/metrics", "/v1/whoami");
    assert_eq!(reqwest::blocking::get(elsewhere).expect("answers").status().as_u16(), 404);
}

#[test]
fn a_stalled_queue_shows_in_the_metrics() {
    let (_folder, data) = fresh();
    let (server, url) = server_with_metrics(&data);
    server.settle("default");
    // A lock on the branch, as a push takes it, blocks all commits.
    let lock = server.repository("default").join("refs/heads/main.lock");
    std::fs::write(&lock, "").expect("writes");
    server.remember("default", &["The ferryman waits at the jetty"]);
    wait_for("the queue to show", || sample(&metrics(&url), "cuebase_queue_messages ") >= 1.0);
    wait_for("failures to show", || metrics(&url).contains("cuebase_ingested_total{outcome=\"failed\"}"));
    std::fs::remove_file(&lock).expect("removes");
    server.settle("default");
    server.drain();
    assert_eq!(sample(&metrics(&url), "cuebase_queue_messages "), 0.0);
    git(&server.repository("default"), &["fsck", "--strict"]);
}

#[test]
fn request_ids_are_logged_and_content_is_not() {
    let (_folder, data) = fresh();
    let file = data.with_extension("toml");
    std::fs::write(&file, "log = \"cuebase=debug\"\n").expect("writes");
    let server = Server::start_with(&data, &["--config", file.to_str().expect("a path")]);
    let header = |answer: &crate::support::Answer| {
        let after = answer.headers.split("\"x-request-id\": \"").nth(1).expect("an id").to_owned();
        after.split('"').next().expect("an end").to_owned()
    };
    let (first, second) = (server.get("/v1/whoami"), server.get("/v1/whoami"));
    assert!(header(&first).len() == 26 && header(&first) != header(&second));
    server.remember("default", &["The alembic distils quince brandy"]);
    server.settle("default");
    let asked = server.retrieve("default", "q=quince+brandy");
    assert!(asked.contents()[0].contains("alembic"));
    wait_for("the log", || server.log().contains(&header(&asked)));

    let own = |id: &str| {
        let request = reqwest::blocking::Client::new().get(format!("{}/health", server.url)).header("x-request-id", id);
        let response = request.send().expect("answers");
        response.headers()["x-request-id"].to_str().expect("text").to_owned()
    };
    assert_eq!(own("trace-7:a.b"), "trace-7:a.b");
    assert_ne!(own("two words"), "two words");
    assert_ne!(own(&"x".repeat(200)), "x".repeat(200));
    server.post("/v1/memories", &json!({"messages": [{"role": "user", "content": 7}]}));
    stdout(&data, &["keys", "list"]);
    let log = server.log();
    for content in ["alembic", "quince", "brandy", server.key.as_str()] {
        assert!(!log.contains(content), "{content} is in the log: {log}");
    }
}

#[test]
fn traces_carry_the_clients_trace_id_and_no_content() {
    let (sent, received) = std::sync::mpsc::channel::<Value>();
    let collector = fake::serve(move |request| {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/traces"));
        // Sending fails after the test has ended.
        let _ = sent.send(request.body.clone());
        FakeResponse::Json(200, json!({}))
    });
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, &format!("[telemetry]\notlp_endpoint = '{collector}'\n"));
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let id = server.remember("default", &["The astrolabe was polished with chalk"]);
    server.settle("default");
    let request = reqwest::blocking::Client::new()
        .get(format!("{}/v1/retrieve?q=astrolabe", server.url))
        .bearer_auth(&server.key)
        .header("traceparent", format!("00-{trace}-00f067aa0ba902b7-01"));
    assert_eq!(request.send().expect("answers").status(), 200);
    let (key, log) = (server.key.clone(), server.log());
    assert!(server.terminate());
    // The server sends the remaining spans before it ends.
    let bodies: Vec<Value> = received.try_iter().collect();
    let mut spans: Vec<&Value> = Vec::new();
    for body in &bodies {
        let resource_spans = &body["resourceSpans"][0];
        assert!(resource_spans["resource"].to_string().contains("cuebase"), "{body}");
        spans.extend(resource_spans["scopeSpans"][0]["spans"].as_array().expect("spans"));
    }
    let named = |name: &str| spans.iter().filter(|span| span["name"] == name).copied().collect::<Vec<&Value>>();
    let own: Vec<&Value> = named("GET /v1/retrieve").into_iter().filter(|span| span["traceId"] == trace).collect();
    assert_eq!(own.len(), 1, "{spans:?}");
    assert_eq!((&own[0]["parentSpanId"], &own[0]["kind"]), (&json!("00f067aa0ba902b7"), &json!(2)));
    let status = json!({"key": "http.response.status_code", "value": {"intValue": "200"}});
    assert!(own[0]["attributes"].as_array().expect("attributes").contains(&status), "{own:?}");
    let nanoseconds = |name: &str| own[0][name].as_str().expect("text").parse::<u64>().expect("a number");
    assert!(nanoseconds("startTimeUnixNano") <= nanoseconds("endTimeUnixNano"));
    assert!(named("ingest").iter().any(|span| span.to_string().contains(&id)), "{spans:?}");
    let sent_text = json!(bodies).to_string();
    for content in ["astrolabe", "chalk", key.as_str()] {
        assert!(!sent_text.contains(content) && !log.contains(content), "{content}");
    }
}

#[test]
fn an_unreachable_collector_loses_only_traces() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, "[telemetry]\notlp_endpoint = 'http://127.0.0.1:1'\n");
    server.remember("default", &["The sextant hangs by the door"]);
    server.settle("default");
    assert!(server.retrieve("default", "q=sextant").contents()[0].contains("door"));
    assert!(server.terminate());
}
