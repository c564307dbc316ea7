//! The specification's tables, a row for a row: errors, limits, creation rules, states.
//!
//! Rows that need more than a request stand with their subject: the ceiling of retrievals and the one hop of the graph in
//! `retrieve`, expired incidents in `paths`, animals in `pets`, retries, dead letters and retention in `memories` and
//! `crash`, order within a namespace in `memories`. The row about missing vectors has no test here: the built-in embedding
//! does not fail.

use serde_json::{Value, json};

use crate::support::{Answer, Server, fresh, index, stdout, wait_for};

/// The three shapes of an error's body.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Envelope,
    Retrieve,
    Gateway,
}

/// Checks status, code and every field of the body's shape.
fn check(what: &str, answer: &Answer, status: u16, code: &str, shape: Shape) {
    assert_eq!(answer.status, status, "{what}: {answer:?}");
    let body = answer.body.as_object().unwrap_or_else(|| panic!("{what}: no object: {answer:?}"));
    let keys: Vec<&str> = body.keys().map(String::as_str).collect();
    let text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    match shape {
        Shape::Envelope => {
            assert_eq!(keys, ["error"], "{what}");
            assert_eq!(body["error"].as_object().map(serde_json::Map::len), Some(2), "{what}: {answer:?}");
            assert_eq!(answer.code(), code, "{what}: {answer:?}");
            assert!(text(&body["error"]["message"]), "{what}");
        }
        Shape::Retrieve => {
            assert_eq!(keys, ["error", "message", "namespace"], "{what}");
            assert_eq!(body["error"], code, "{what}: {answer:?}");
            assert!(text(&body["namespace"]), "{what}");
        }
        Shape::Gateway => {
            assert_eq!(keys, ["message"], "{what}");
            assert_eq!(body["message"], code, "{what}");
        }
    }
    assert_eq!(answer.retry_after.is_some(), status == 429, "{what}: retry-after");
}

struct Callers<'a> {
    server: &'a Server,
    session: String,
    scoped: String,
}

impl Callers<'_> {
    /// `wide`, `session`, `scoped`, `none`, or a credential as it is.
    fn call(&self, caller: &str, method: &str, path: &str, body: &Value) -> Answer {
        let body = Some(body).filter(|body| !body.is_null());
        let token = match caller {
            "wide" => &self.server.key,
            "session" => &self.session,
            "scoped" => &self.scoped,
            "none" => {
                return self.server.request(method, path, None, body.map(|body| body.to_string().into_bytes()));
            }
            other => {
                return self.server.request(method, path, Some(other), body.map(|body| body.to_string().into_bytes()));
            }
        };
        self.server.call_as(token, method, path, body)
    }
}

fn callers<'a>(server: &'a Server, data: &std::path::Path) -> Callers<'a> {
    server.namespace("mine");
    let session = stdout(data, &["token"]);
    let scoped = stdout(data, &["keys", "create", "--namespace", "mine"]);
    Callers { server, session, scoped }
}

#[test]
fn every_row_of_the_error_table() {
    use Shape::{Envelope, Gateway, Retrieve};
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let callers = callers(&server, &data);
    let one = json!([{"role": "user", "content": "x"}]);
    let long = "x".repeat(121);
    let terms = |term: Value| json!({"terms": [term]});
    let skill = |skill: Value| json!({"skills": [skill]});
    let null = Value::Null;
    let rows: Vec<(&str, &str, &str, Value, u16, &str, Shape)> = vec![
        // 400 invalid_body: body missing or not valid JSON.
        ("wide", "POST", "/v1/memories", null.clone(), 400, "invalid_body", Envelope),
        ("wide", "POST", "/v1/memories", json!("text"), 400, "invalid_body", Envelope),
        ("wide", "POST", "/v1/vocab", json!([]), 400, "invalid_body", Envelope),
        ("wide", "POST", "/v1/skills", null.clone(), 400, "invalid_body", Envelope),
        ("wide", "POST", "/v1/namespaces", null.clone(), 400, "invalid_body", Envelope),
        ("session", "POST", "/v1/keys", null.clone(), 400, "invalid_body", Envelope),
        ("session", "POST", "/v1/billing/recharge", null.clone(), 400, "invalid_body", Envelope),
        // 400 invalid_namespace: a name outside the pattern, or a scoped key writing elsewhere.
        (
            "wide",
            "POST",
            "/v1/memories",
            json!({"messages": one, "namespace": "No"}),
            400,
            "invalid_namespace",
            Envelope,
        ),
        ("wide", "POST", "/v1/namespaces", json!({"name": "a_b"}), 400, "invalid_namespace", Envelope),
        ("wide", "POST", "/v1/namespaces", json!({"name": "x".repeat(65)}), 400, "invalid_namespace", Envelope),
        ("wide", "GET", "/v1/vocab?namespace=A", null.clone(), 400, "invalid_namespace", Envelope),
        ("wide", "GET", "/v1/skills?namespace=", null.clone(), 400, "invalid_namespace", Envelope),
        ("wide", "GET", "/v1/retrieve?q=x&namespace=A", null.clone(), 400, "invalid_namespace", Retrieve),
        ("session", "POST", "/v1/keys", json!({"namespace": "A"}), 400, "invalid_namespace", Envelope),
        (
            "scoped",
            "POST",
            "/v1/memories",
            json!({"messages": one, "namespace": "default"}),
            400,
            "invalid_namespace",
            Envelope,
        ),
        (
            "scoped",
            "POST",
            "/v1/vocab",
            json!({"terms": [{"term": "x"}], "namespace": "default"}),
            400,
            "invalid_namespace",
            Envelope,
        ),
        // 400 no_messages.
        ("wide", "POST", "/v1/memories", json!({"messages": []}), 400, "no_messages", Envelope),
        // 400 invalid_env.
        ("session", "POST", "/v1/keys", json!({"env": "prod"}), 400, "invalid_env", Envelope),
        // 400 invalid_tag, naming the field.
        ("wide", "POST", "/v1/memories", json!({"messages": one, "tags": ["a!"]}), 400, "invalid_tag", Envelope),
        ("wide", "GET", "/v1/retrieve?q=x&tags_all=a!", null.clone(), 400, "invalid_tag", Retrieve),
        (
            "wide",
            "POST",
            "/v1/skills",
            skill(json!({"name": "a", "content": "b", "tags": ["!"]})),
            400,
            "invalid_tag",
            Envelope,
        ),
        // 400 vocabulary faults.
        ("wide", "POST", "/v1/vocab", json!({"terms": []}), 400, "no_terms", Envelope),
        ("wide", "POST", "/v1/vocab", json!({}), 400, "no_terms", Envelope),
        ("wide", "POST", "/v1/vocab", terms(json!({"term": ""})), 400, "invalid_term", Envelope),
        ("wide", "POST", "/v1/vocab", terms(json!({"term": "++"})), 400, "invalid_term", Envelope),
        ("wide", "POST", "/v1/vocab", terms(json!({"term": long})), 400, "invalid_term", Envelope),
        ("wide", "POST", "/v1/vocab", terms(json!({"term": "a", "aliases": ["!"]})), 400, "invalid_term", Envelope),
        ("wide", "POST", "/v1/vocab", terms(json!({"term": "a", "aliases": "b"})), 400, "invalid_term", Envelope),
        (
            "wide",
            "POST",
            "/v1/vocab",
            terms(json!({"term": "a", "definition": "d".repeat(2001)})),
            400,
            "invalid_term",
            Envelope,
        ),
        ("wide", "POST", "/v1/vocab", terms(json!("a")), 400, "invalid_term", Envelope),
        ("wide", "DELETE", "/v1/vocab", null.clone(), 400, "missing_term", Envelope),
        ("wide", "DELETE", "/v1/vocab?term=,", null.clone(), 400, "missing_term", Envelope),
        // 400 skills faults.
        ("wide", "POST", "/v1/skills", json!({"skills": []}), 400, "no_skills", Envelope),
        ("wide", "POST", "/v1/skills", skill(json!({"content": "b"})), 400, "invalid_skill", Envelope),
        ("wide", "POST", "/v1/skills", skill(json!({"name": "a"})), 400, "invalid_skill", Envelope),
        (
            "wide",
            "POST",
            "/v1/skills",
            skill(json!({"name": "a", "content": "b", "confidence": 2})),
            400,
            "invalid_skill",
            Envelope,
        ),
        (
            "wide",
            "POST",
            "/v1/skills",
            skill(json!({"name": "a", "content": "b", "date": "soon"})),
            400,
            "invalid_skill",
            Envelope,
        ),
        (
            "wide",
            "POST",
            "/v1/skills",
            skill(json!({"name": "a", "content": "b", "path": "facts/a.md"})),
            400,
            "invalid_path",
            Envelope,
        ),
        (
            "wide",
            "POST",
            "/v1/skills",
            skill(json!({"name": "a", "content": "b", "path": "skills/a.txt"})),
            400,
            "invalid_path",
            Envelope,
        ),
        (
            "wide",
            "POST",
            "/v1/skills",
            skill(json!({"name": "a", "content": "b", "topic": "../x"})),
            400,
            "invalid_path",
            Envelope,
        ),
        // 400 billing faults.
        ("session", "POST", "/v1/billing/recharge", json!({"amount_paise": 49999}), 400, "below_minimum", Envelope),
        (
            "session",
            "POST",
            "/v1/billing/recharge",
            json!({"amount_paise": 10_000_001}),
            400,
            "above_maximum",
            Envelope,
        ),
        ("session", "POST", "/v1/billing/subscribe", json!({"plan": "gold"}), 400, "unknown_plan", Envelope),
        // 401: no credential, on a known and an unknown route.
        ("none", "GET", "/v1/usage", null.clone(), 401, "Unauthorized", Gateway),
        ("none", "GET", "/v1/nothing", null.clone(), 401, "Unauthorized", Gateway),
        // 403: credential refused.
        ("Bearer svc_live_x", "GET", "/v1/usage", null.clone(), 403, "Forbidden", Gateway),
        ("Basic eDp5", "GET", "/v1/nothing", null.clone(), 403, "Forbidden", Gateway),
        // 403 dashboard_only.
        ("wide", "GET", "/v1/keys", null.clone(), 403, "dashboard_only", Envelope),
        ("wide", "DELETE", "/v1/keys/0123456789abcdef", null.clone(), 403, "dashboard_only", Envelope),
        ("wide", "POST", "/v1/keys", json!({"name": "x"}), 403, "dashboard_only", Envelope),
        ("wide", "POST", "/v1/billing/recharge", json!({"amount_paise": 50000}), 403, "dashboard_only", Envelope),
        ("wide", "POST", "/v1/billing/subscribe", json!({"plan": "starter"}), 403, "dashboard_only", Envelope),
        ("wide", "DELETE", "/v1/namespaces/mine", null.clone(), 403, "dashboard_only", Envelope),
        // 403 scoped_key.
        ("scoped", "POST", "/v1/keys", json!({"namespace": "mine"}), 403, "scoped_key", Envelope),
        ("scoped", "POST", "/v1/namespaces", json!({"name": "x"}), 403, "scoped_key", Envelope),
        // 403 forbidden_namespace.
        ("scoped", "GET", "/v1/retrieve?q=x&namespace=default", null.clone(), 403, "forbidden_namespace", Retrieve),
        ("scoped", "GET", "/v1/vocab?namespace=default", null.clone(), 403, "forbidden_namespace", Envelope),
        ("scoped", "GET", "/v1/skills?namespace=default", null.clone(), 403, "forbidden_namespace", Envelope),
        // 404 namespace_not_found.
        (
            "wide",
            "POST",
            "/v1/memories",
            json!({"messages": one, "namespace": "none"}),
            404,
            "namespace_not_found",
            Envelope,
        ),
        ("wide", "GET", "/v1/retrieve?q=x&namespace=none", null.clone(), 404, "namespace_not_found", Retrieve),
        ("wide", "GET", "/v1/vocab?namespace=none", null.clone(), 404, "namespace_not_found", Envelope),
        (
            "wide",
            "POST",
            "/v1/vocab",
            json!({"terms": [{"term": "x"}], "namespace": "none"}),
            404,
            "namespace_not_found",
            Envelope,
        ),
        ("wide", "DELETE", "/v1/vocab?term=x&namespace=none", null.clone(), 404, "namespace_not_found", Envelope),
        ("wide", "GET", "/v1/skills?namespace=none", null.clone(), 404, "namespace_not_found", Envelope),
        (
            "wide",
            "POST",
            "/v1/skills",
            json!({"skills": [{"name": "a", "content": "b"}], "namespace": "none"}),
            404,
            "namespace_not_found",
            Envelope,
        ),
        // 404 not_found: no such key, no such route, no such method.
        ("session", "DELETE", "/v1/keys/0123456789abcdef", null.clone(), 404, "not_found", Envelope),
        ("wide", "GET", "/v1/nothing", null.clone(), 404, "not_found", Envelope),
        ("wide", "PUT", "/v1/memories", json!({}), 404, "not_found", Envelope),
        // 413.
        (
            "wide",
            "POST",
            "/v1/vocab",
            json!({"terms": vec![json!({"term": "x"}); 201]}),
            413,
            "too_many_terms",
            Envelope,
        ),
        (
            "wide",
            "POST",
            "/v1/skills",
            json!({"skills": vec![json!({"name": "a", "content": "b"}); 101]}),
            413,
            "too_many_skills",
            Envelope,
        ),
        (
            "wide",
            "POST",
            "/v1/skills",
            json!({"skills": [{"name": "a", "content": "x".repeat(8 << 20)}]}),
            413,
            "payload_too_large",
            Envelope,
        ),
        // 503 merchant_not_live.
        ("session", "POST", "/v1/billing/recharge", json!({"amount_paise": 50000}), 503, "merchant_not_live", Envelope),
    ];
    for (caller, method, path, body, status, code, shape) in &rows {
        let answer = callers.call(caller, method, path, body);
        check(&format!("{caller} {method} {path} {:.80}", body.to_string()), &answer, *status, code, *shape);
    }
    let named = server.post("/v1/memories", &json!({"messages": one, "tags": ["a!"]}));
    assert!(named.body["error"]["message"].as_str().expect("text").contains("tags"), "the field is named");
    assert_eq!(
        server.get("/v1/usage").body["used"],
        json!({"writes": 0, "reads": 0, "memories": 0, "chats": 0, "media_bytes": 0}),
        "nothing was changed or counted"
    );
}

#[test]
fn the_rows_of_the_error_table_that_settings_bring_about() {
    let (folder, data) = fresh();
    let one = json!({"messages": [{"role": "user", "content": "x"}]});
    // 402 payment_required, while reads keep working.
    let server = Server::start_configured(&data, "[billing]\nenforce_balance = true\n");
    check("402", &server.post("/v1/memories", &one), 402, "payment_required", Shape::Envelope);
    assert_eq!(server.retrieve("default", "q=x").status, 200);
    server.kill();
    // 429 quota_exceeded.
    let server = Server::start_configured(&data, "[plans]\npayg = 'writes=0,reads=0,memories=9,chats=0'\n");
    check("429 of a write", &server.post("/v1/memories", &one), 429, "quota_exceeded", Shape::Envelope);
    check("429 of a read", &server.retrieve("default", "q=x"), 429, "quota_exceeded", Shape::Retrieve);
    server.kill();
    // 429 rate_limited.
    let server = Server::start_configured(&data, "[rate_limit]\nrequests_per_minute = 1\n");
    assert_eq!(server.get("/v1/usage").status, 200);
    check("429 of any", &server.get("/v1/usage"), 429, "rate_limited", Shape::Envelope);
    check("429 of retrieve", &server.retrieve("default", "q=x"), 429, "rate_limited", Shape::Retrieve);
    server.kill();
    // 500 internal: an index cannot be opened or built again; no path, no reason in the body.
    let broken = folder.path().join("broken");
    let server = Server::start(&broken);
    assert_eq!(server.post("/v1/memories/facts/a.md", &json!({"content": "x"})).status, 201);
    server.kill();
    let index = index(&broken, "default");
    std::fs::remove_dir_all(&index).expect("removes");
    std::fs::write(&index, "in the way").expect("writes");
    let server = Server::start(&broken);
    let answer = server.get("/v1/memories/facts/a.md");
    check("500", &answer, 500, "internal", Shape::Envelope);
    check("500 of retrieve", &server.retrieve("default", "q=x"), 500, "internal", Shape::Retrieve);
    assert!(!answer.body.to_string().contains("indexes"), "{answer:?}");
}

#[test]
fn every_row_of_the_creation_rules() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let callers = callers(&server, &data);
    let rows = [
        ("session", json!({"name": "a"}), 201, ""),
        ("session", json!({"name": "a", "namespace": "mine"}), 201, ""),
        ("wide", json!({"name": "a", "namespace": "mine"}), 201, ""),
        ("wide", json!({"name": "a"}), 403, "dashboard_only"),
        ("wide", json!({"name": "a", "namespace": ""}), 403, "dashboard_only"),
        ("scoped", json!({"name": "a"}), 403, "scoped_key"),
        ("scoped", json!({"name": "a", "namespace": "mine"}), 403, "scoped_key"),
    ];
    for (caller, body, status, code) in rows {
        let answer = callers.call(caller, "POST", "/v1/keys", &body);
        if status == 201 {
            assert_eq!(answer.status, 201, "{caller} {body}: {answer:?}");
            let keys: Vec<&String> = answer.body.as_object().expect("an object").keys().collect();
            assert_eq!(keys, ["env", "id", "key", "name", "namespace", "note"]);
        } else {
            check(&format!("{caller} {body}"), &answer, status, code, Shape::Envelope);
        }
    }
    // A scoped key made by a key outlives it.
    let child = callers.call("wide", "POST", "/v1/keys", &json!({"namespace": "mine"})).body["key"].clone();
    let parent = server.key.split('_').nth(2).expect("an id").to_owned();
    assert_eq!(callers.call("session", "DELETE", &format!("/v1/keys/{parent}"), &Value::Null).status, 200);
    assert_eq!(server.call_as(child.as_str().expect("a key"), "GET", "/v1/whoami", None).status, 200);
}

#[test]
fn every_row_of_the_limits_table_that_shows_over_http() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    // Namespace name: 1 to 64.
    for (name, status) in [("a".to_owned(), 201), ("x".repeat(64), 201), ("x".repeat(65), 400), (String::new(), 400)] {
        assert_eq!(server.post("/v1/namespaces", &json!({"name": name})).status, status, "{name}");
    }
    // Namespaces listed: 200, silently.
    for number in 0..205 {
        server.namespace(&format!("n{number:03}"));
    }
    assert_eq!(server.get("/v1/namespaces").body["namespaces"].as_array().map(Vec::len), Some(200));
    // Tags: 32 of 64 characters.
    let tagged =
        |tags: Vec<String>| server.post("/v1/memories/facts/t.md", &json!({"content": "x", "tags": tags})).status;
    let many = |count: usize| (0..count).map(|n| format!("t{n}")).collect::<Vec<_>>();
    assert_eq!((tagged(many(32)), tagged(vec!["x".repeat(64)])), (201, 200));
    assert_eq!((tagged(many(33)), tagged(vec!["x".repeat(65)])), (400, 400));
    // Vocabulary: 200 terms, 120 and 2000 characters.
    let terms: Vec<Value> = (0..200)
        .map(|n| json!({"term": format!("Term {n:03} {}", "y".repeat(111)), "definition": "z".repeat(2000)}))
        .collect();
    assert_eq!(terms[0]["term"].as_str().map(str::len), Some(120));
    assert_eq!(server.post("/v1/vocab", &json!({"terms": terms})).status, 202);
    let more: Vec<Value> = (0..5).map(|n| json!({"term": format!("More {n}")})).collect();
    assert_eq!(server.post("/v1/vocab", &json!({"terms": more})).status, 202);
    let listed = |query: &str| server.get(&format!("/v1/vocab?{query}")).body["terms"].as_array().map_or(0, Vec::len);
    wait_for("the terms", || listed("limit=1000") == 205);
    assert_eq!((listed(""), listed("limit=5000"), listed("limit=3")), (200, 205, 3));
    assert_eq!(server.get("/v1/vocab?limit=0").code(), "invalid_limit");
    // Skills: 100 a request; 20 listed by default, 200 at most.
    let skills = |from: usize| {
        (from..from + 100)
            .map(|n| json!({"name": format!("Skill {n:03} juggling"), "content": "x"}))
            .collect::<Vec<_>>()
    };
    for from in [0, 100, 200] {
        assert_eq!(server.post("/v1/skills", &json!({"skills": skills(from)})).status, 202);
    }
    let listed = |query: &str| server.get(&format!("/v1/skills?{query}")).body["skills"].as_array().map_or(0, Vec::len);
    wait_for("the skills", || server.get("/v1/topics").body["topics"].to_string().contains("300"));
    assert_eq!(
        (listed(""), listed("limit=999"), listed("q=juggling"), listed("q=juggling&limit=999")),
        (20, 200, 20, 200)
    );
    // Retrieve: 24 by default, 200 at most, and one more is refused.
    let hits = |query: &str| server.retrieve("default", query).hits().len();
    assert_eq!(
        (hits("q=juggling"), hits("q=juggling&limit=200"), hits("tiers=skills"), hits("tiers=skills&limit=7")),
        (24, 200, 24, 7)
    );
    assert_eq!(server.retrieve("default", "q=juggling&limit=201").body["error"], "invalid_limit");
    // Recharge: 50000 to 10000000 paise, both included (payments are not live here, which is told last).
    let session = stdout(&data, &["token"]);
    for (amount, code) in [
        (49_999, "below_minimum"),
        (50_000, "merchant_not_live"),
        (10_000_000, "merchant_not_live"),
        (10_000_001, "above_maximum"),
    ] {
        let answer = server.call_as(&session, "POST", "/v1/billing/recharge", Some(&json!({"amount_paise": amount})));
        assert_eq!(answer.code(), code, "{amount}");
    }
    // A media address lives for 15 minutes.
    let upload = reqwest::blocking::Client::new().post(format!("{}/v1/media", server.url)).bearer_auth(&server.key);
    let upload: Value = upload.body("x").send().expect("answers").json().expect("JSON");
    let address = server.get(&format!("/v1/media/{}", upload["id"].as_str().expect("an id"))).body;
    let expires = address["expires_at"].as_str().expect("a time").parse::<jiff::Timestamp>().expect("a time");
    let lifetime = expires.as_second() - jiff::Timestamp::now().as_second();
    assert!((890..=900).contains(&lifetime), "{lifetime}");
    // Identical bodies within five minutes are one write.
    let body = json!({"messages": [{"role": "user", "content": "Said twice about unicycles"}]});
    let (first, second) = (server.post("/v1/memories", &body), server.post("/v1/memories", &body));
    assert_eq!((first.status, second.status, &first.body["id"]), (202, 202, &second.body["id"]));
    server.settle("default");
    let found = server.retrieve("default", "q=unicycles").contents();
    assert_eq!(found.iter().filter(|content| content.contains("unicycles")).count(), 1);
}

#[test]
fn every_row_of_the_state_table_that_shows_over_http() {
    let (_folder, data) = fresh();
    let sandbox = "[payments]\nprovider = 'sandbox'\nsandbox_listen = '127.0.0.1:0'\n";
    let server = Server::start_configured(&data, sandbox);
    let callers = callers(&server, &data);
    // Received → accepted, with the queue message's id.
    let head = || server.get("/v1/namespaces").body["namespaces"][0].clone();
    assert_eq!((&head()["name"], &head()["head"]), (&json!("default"), &Value::Null));
    let body = json!({"messages": [{"role": "user", "content": "The observatory closes in June"}]});
    let accepted = server.post("/v1/memories", &body);
    assert_eq!(
        (accepted.status, &accepted.body["status"], &accepted.body["namespace"]),
        (202, &json!("accepted"), &json!("default"))
    );
    // Accepted → ingested: the head advances, and from then on retrieval returns it.
    wait_for("the head to advance", || head()["head"].is_string());
    assert!(server.retrieve("default", "q=observatory").contents()[0].contains("observatory"));
    assert_eq!(head()["memories"], 1);
    // Active → revoked.
    let key = callers.call("session", "POST", "/v1/keys", &json!({})).body;
    let token = key["key"].as_str().expect("a key");
    assert_eq!(server.call_as(token, "GET", "/v1/whoami", None).status, 200);
    let revoked =
        callers.call("session", "DELETE", &format!("/v1/keys/{}", key["id"].as_str().expect("an id")), &Value::Null);
    assert_eq!(revoked.body, json!({"id": key["id"], "revoked": true}));
    assert_eq!(server.call_as(token, "GET", "/v1/whoami", None).status, 403);
    let listed = callers.call("session", "GET", "/v1/keys", &Value::Null).body["keys"].clone();
    assert!(
        listed.as_array().expect("keys").iter().any(|listed| listed["id"] == key["id"] && listed["revoked"] == true)
    );
    // Checkout minted → plan in effect, at the provider's word and not at the click.
    let checkout = callers.call("session", "POST", "/v1/billing/subscribe", &json!({"plan": "scale"}));
    assert_eq!((checkout.status, &server.get("/v1/billing").body["plan"]), (200, &json!("payg")));
    let link = checkout.body["payment_link"].as_str().expect("a link").to_owned();
    reqwest::blocking::Client::new().post(link).send().expect("pays");
    assert_eq!(
        (&server.get("/v1/billing").body["plan"], &server.get("/v1/usage").body["plan"]),
        (&json!("scale"), &json!("scale"))
    );
}
