//! The tables of the specification, one check per row: errors, creation rules, limits and states.
//!
//! Rows that need more than one request are tested with their subject. The limit of concurrent retrievals and the
//! single hop in the graph are in `retrieve`, expired incidents in `paths`, the animals API in `pets`, and the order
//! within a namespace in `memories`. Retries, dead letters and retention are in `memories` and `crash`. The row about
//! missing vectors has no test here, since the built-in embedding does not fail.

use serde_json::{Value, json};

use self::Caller::{AccountKey, Credential, NamespaceKey, Nobody, Session};
use crate::support::{Answer, Server, fresh, index, stdout, wait_for};

/// Settings for the payment provider that takes no money.
const SANDBOX: &str = "[payments]\nprovider = 'sandbox'\nsandbox_listen = '127.0.0.1:0'\n";
const NO_BODY: Value = Value::Null;

/// The sender of a request.
#[derive(Clone, Copy, Debug)]
enum Caller {
    AccountKey,
    /// A dashboard session.
    Session,
    /// A key of the namespace `mine`.
    NamespaceKey,
    /// A client without a credential.
    Nobody,
    /// A client with this authorization header.
    Credential(&'static str),
}

/// The three formats of an error's body.
#[derive(Clone, Copy, Debug)]
enum ErrorFormat {
    Envelope,
    Retrieve,
    Gateway,
}

/// An error response by the specification.
#[derive(Clone, Copy, Debug)]
struct ExpectedError {
    status: u16,
    code: &'static str,
    format: ErrorFormat,
}

const fn envelope(status: u16, code: &'static str) -> ExpectedError {
    ExpectedError { status, code, format: ErrorFormat::Envelope }
}

const fn retrieve(status: u16, code: &'static str) -> ExpectedError {
    ExpectedError { status, code, format: ErrorFormat::Retrieve }
}

const fn gateway(status: u16, code: &'static str) -> ExpectedError {
    ExpectedError { status, code, format: ErrorFormat::Gateway }
}

impl ExpectedError {
    /// Returns the differences of a response in status, code and every field of the body.
    fn differences(&self, answer: &Answer) -> Vec<String> {
        let mut differences = Vec::new();
        if answer.status != self.status {
            differences.push(format!("the status is {}, not {}", answer.status, self.status));
        }
        if answer.retry_after.is_some() != (self.status == 429) {
            differences.push(format!("retry-after is {:?}", answer.retry_after));
        }
        let Some(body) = answer.body.as_object() else {
            differences.push(format!("the body is not an object: {answer:?}"));
            return differences;
        };
        let fields: Vec<&str> = body.keys().map(String::as_str).collect();
        let error = &answer.body["error"];
        let body_is_correct = match self.format {
            ErrorFormat::Envelope => {
                fields == ["error"]
                    && error.as_object().map(serde_json::Map::len) == Some(2)
                    && error["code"] == self.code
                    && is_text(&error["message"])
            }
            ErrorFormat::Retrieve => {
                fields == ["error", "message", "namespace"] && *error == self.code && is_text(&answer.body["namespace"])
            }
            ErrorFormat::Gateway => fields == ["message"] && answer.body["message"] == self.code,
        };
        if !body_is_correct {
            differences.push(format!("the body is not {} in the format {:?}: {answer:?}", self.code, self.format));
        }
        differences
    }

    /// Checks a response.
    fn assert_matches(&self, answer: &Answer) {
        let differences = self.differences(answer);
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }
}

/// Returns whether a value is a string that is not empty.
fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

/// Fails with all failures of a table.
fn assert_no_failures(failures: &[String]) {
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// A server with the credentials of every caller.
struct Api {
    server: Server,
    session: String,
    namespace_key: String,
    /// Removed when this is dropped.
    _folder: tempfile::TempDir,
}

impl Api {
    fn start() -> Self {
        Self::start_configured("")
    }

    fn start_configured(settings: &str) -> Self {
        let (folder, data) = fresh();
        let server = Server::start_configured(&data, settings);
        server.namespace("mine");
        let session = stdout(&data, &["token"]);
        let namespace_key = stdout(&data, &["keys", "create", "--namespace", "mine"]);
        Self { server, session, namespace_key, _folder: folder }
    }

    /// Sends a request. The body is absent if it is null.
    fn send(&self, caller: Caller, method: &str, path: &str, body: &Value) -> Answer {
        let credential = match caller {
            AccountKey => Some(format!("Bearer {}", self.server.key)),
            Session => Some(format!("Bearer {}", self.session)),
            NamespaceKey => Some(format!("Bearer {}", self.namespace_key)),
            Nobody => None,
            Credential(header) => Some(header.to_owned()),
        };
        let body = if body.is_null() { None } else { Some(body.to_string().into_bytes()) };
        self.server.request(method, path, credential.as_deref(), body)
    }
}

/// A request of the error table.
struct Row {
    caller: Caller,
    method: &'static str,
    path: &'static str,
    body: Value,
}

/// Checks rows of the error table and collects their failures.
struct ErrorTable {
    api: Api,
    failures: Vec<String>,
}

impl ErrorTable {
    fn new() -> Self {
        Self { api: Api::start(), failures: Vec::new() }
    }

    /// Sends requests that must all get the same error.
    fn check(&mut self, expected: ExpectedError, rows: &[Row]) {
        for Row { caller, method, path, body } in rows {
            let answer = self.api.send(*caller, method, path, body);
            for difference in expected.differences(&answer) {
                self.failures.push(format!("{caller:?} {method} {path} {:.80}: {difference}", body.to_string()));
            }
        }
    }

    /// Checks that no request was counted or changed anything, and reports all failures.
    fn finish(mut self) {
        let used = self.api.server.get("/v1/usage").body["used"].clone();
        if used != json!({"writes": 0, "reads": 0, "memories": 0, "chats": 0, "media_bytes": 0}) {
            self.failures.push(format!("a rejected request was counted: {used}"));
        }
        assert_no_failures(&self.failures);
    }
}

/// Returns a list of one message.
fn one_message() -> Value {
    json!([{"role": "user", "content": "x"}])
}

fn one_term(term: &Value) -> Value {
    json!({"terms": [term]})
}

fn one_skill(skill: &Value) -> Value {
    json!({"skills": [skill]})
}

#[test]
fn missing_or_invalid_bodies_are_rejected() {
    let mut table = ErrorTable::new();
    table.check(
        envelope(400, "invalid_body"),
        &[
            Row { caller: AccountKey, method: "POST", path: "/v1/memories", body: NO_BODY },
            Row { caller: AccountKey, method: "POST", path: "/v1/memories", body: json!("text") },
            Row { caller: AccountKey, method: "POST", path: "/v1/vocab", body: json!([]) },
            Row { caller: AccountKey, method: "POST", path: "/v1/skills", body: NO_BODY },
            Row { caller: AccountKey, method: "POST", path: "/v1/namespaces", body: NO_BODY },
            Row { caller: Session, method: "POST", path: "/v1/keys", body: NO_BODY },
            Row { caller: Session, method: "POST", path: "/v1/billing/recharge", body: NO_BODY },
        ],
    );
    table.finish();
}

#[test]
fn invalid_namespace_names_are_rejected() {
    let mut table = ErrorTable::new();
    table.check(
        envelope(400, "invalid_namespace"),
        &[
            Row {
                caller: AccountKey,
                method: "POST",
                path: "/v1/memories",
                body: json!({"messages": one_message(), "namespace": "No"}),
            },
            Row { caller: AccountKey, method: "POST", path: "/v1/namespaces", body: json!({"name": "a_b"}) },
            Row { caller: AccountKey, method: "POST", path: "/v1/namespaces", body: json!({"name": "x".repeat(65)}) },
            Row { caller: AccountKey, method: "GET", path: "/v1/vocab?namespace=A", body: NO_BODY },
            Row { caller: AccountKey, method: "GET", path: "/v1/skills?namespace=", body: NO_BODY },
            Row { caller: Session, method: "POST", path: "/v1/keys", body: json!({"namespace": "A"}) },
        ],
    );
    table.check(
        retrieve(400, "invalid_namespace"),
        &[Row { caller: AccountKey, method: "GET", path: "/v1/retrieve?q=x&namespace=A", body: NO_BODY }],
    );
    table.finish();
}

#[test]
fn a_namespace_key_cannot_write_to_another_namespace() {
    let mut table = ErrorTable::new();
    table.check(
        envelope(400, "invalid_namespace"),
        &[
            Row {
                caller: NamespaceKey,
                method: "POST",
                path: "/v1/memories",
                body: json!({"messages": one_message(), "namespace": "default"}),
            },
            Row {
                caller: NamespaceKey,
                method: "POST",
                path: "/v1/vocab",
                body: json!({"terms": [{"term": "x"}], "namespace": "default"}),
            },
        ],
    );
    table.finish();
}

#[test]
fn a_conversation_without_messages_is_rejected() {
    let mut table = ErrorTable::new();
    table.check(
        envelope(400, "no_messages"),
        &[Row { caller: AccountKey, method: "POST", path: "/v1/memories", body: json!({"messages": []}) }],
    );
    table.finish();
}

#[test]
fn an_unknown_environment_of_a_key_is_rejected() {
    let mut table = ErrorTable::new();
    table.check(
        envelope(400, "invalid_env"),
        &[Row { caller: Session, method: "POST", path: "/v1/keys", body: json!({"env": "prod"}) }],
    );
    table.finish();
}

#[test]
fn invalid_tags_are_rejected_and_the_field_is_named() {
    let mut table = ErrorTable::new();
    table.check(
        envelope(400, "invalid_tag"),
        &[
            Row {
                caller: AccountKey,
                method: "POST",
                path: "/v1/memories",
                body: json!({"messages": one_message(), "tags": ["a!"]}),
            },
            Row {
                caller: AccountKey,
                method: "POST",
                path: "/v1/skills",
                body: one_skill(&json!({"name": "a", "content": "b", "tags": ["!"]})),
            },
        ],
    );
    table.check(
        retrieve(400, "invalid_tag"),
        &[Row { caller: AccountKey, method: "GET", path: "/v1/retrieve?q=x&tags_all=a!", body: NO_BODY }],
    );
    let answer = table.api.server.post("/v1/memories", &json!({"messages": one_message(), "tags": ["a!"]}));
    let message = answer.body["error"]["message"].as_str().expect("a message");
    if !message.contains("tags") {
        table.failures.push(format!("the message does not name the field: {message}"));
    }
    table.finish();
}

#[test]
fn invalid_terms_are_rejected() {
    let mut table = ErrorTable::new();
    table.check(
        envelope(400, "no_terms"),
        &[
            Row { caller: AccountKey, method: "POST", path: "/v1/vocab", body: json!({"terms": []}) },
            Row { caller: AccountKey, method: "POST", path: "/v1/vocab", body: json!({}) },
        ],
    );
    table.check(
        envelope(400, "invalid_term"),
        &[
            Row { caller: AccountKey, method: "POST", path: "/v1/vocab", body: one_term(&json!({"term": ""})) },
            Row { caller: AccountKey, method: "POST", path: "/v1/vocab", body: one_term(&json!({"term": "++"})) },
            Row {
                caller: AccountKey,
                method: "POST",
                path: "/v1/vocab",
                body: one_term(&json!({"term": "x".repeat(121)})),
            },
            Row {
                caller: AccountKey,
                method: "POST",
                path: "/v1/vocab",
                body: one_term(&json!({"term": "a", "aliases": ["!"]})),
            },
            Row {
                caller: AccountKey,
                method: "POST",
                path: "/v1/vocab",
                body: one_term(&json!({"term": "a", "aliases": "b"})),
            },
            Row {
                caller: AccountKey,
                method: "POST",
                path: "/v1/vocab",
                body: one_term(&json!({"term": "a", "definition": "d".repeat(2001)})),
            },
            Row { caller: AccountKey, method: "POST", path: "/v1/vocab", body: one_term(&json!("a")) },
        ],
    );
    table.check(
        envelope(400, "missing_term"),
        &[
            Row { caller: AccountKey, method: "DELETE", path: "/v1/vocab", body: NO_BODY },
            Row { caller: AccountKey, method: "DELETE", path: "/v1/vocab?term=,", body: NO_BODY },
        ],
    );
    table.finish();
}

#[test]
fn invalid_skills_are_rejected() {
    let mut table = ErrorTable::new();
    table.check(
        envelope(400, "no_skills"),
        &[Row { caller: AccountKey, method: "POST", path: "/v1/skills", body: json!({"skills": []}) }],
    );
    table.check(
        envelope(400, "invalid_skill"),
        &[
            Row { caller: AccountKey, method: "POST", path: "/v1/skills", body: one_skill(&json!({"content": "b"})) },
            Row { caller: AccountKey, method: "POST", path: "/v1/skills", body: one_skill(&json!({"name": "a"})) },
            Row {
                caller: AccountKey,
                method: "POST",
                path: "/v1/skills",
                body: one_skill(&json!({"name": "a", "content": "b", "confidence": 2})),
            },
            Row {
                caller: AccountKey,
                method: "POST",
                path: "/v1/skills",
                body: one_skill(&json!({"name": "a", "content": "b", "date": "soon"})),
            },
        ],
    );
    table.check(
        envelope(400, "invalid_path"),
        &[
            Row {
                caller: AccountKey,
                method: "POST",
                path: "/v1/skills",
                body: one_skill(&json!({"name": "a", "content": "b", "path": "facts/a.md"})),
            },
            Row {
                caller: AccountKey,
                method: "POST",
                path: "/v1/skills",
                body: one_skill(&json!({"name": "a", "content": "b", "path": "skills/a.txt"})),
            },
            Row {
                caller: AccountKey,
                method: "POST",
                path: "/v1/skills",
                body: one_skill(&json!({"name": "a", "content": "b", "topic": "../x"})),
            },
        ],
    );
    table.finish();
}

#[test]
fn invalid_recharges_and_plans_are_rejected() {
    let mut table = ErrorTable::new();
    table.check(
        envelope(400, "below_minimum"),
        &[Row { caller: Session, method: "POST", path: "/v1/billing/recharge", body: json!({"amount_paise": 49999}) }],
    );
    table.check(
        envelope(400, "above_maximum"),
        &[Row {
            caller: Session,
            method: "POST",
            path: "/v1/billing/recharge",
            body: json!({"amount_paise": 10_000_001}),
        }],
    );
    table.check(
        envelope(400, "unknown_plan"),
        &[Row { caller: Session, method: "POST", path: "/v1/billing/subscribe", body: json!({"plan": "gold"}) }],
    );
    table.finish();
}

#[test]
fn a_recharge_without_a_provider_is_not_live() {
    let mut table = ErrorTable::new();
    table.check(
        envelope(503, "merchant_not_live"),
        &[Row { caller: Session, method: "POST", path: "/v1/billing/recharge", body: json!({"amount_paise": 50000}) }],
    );
    table.finish();
}

#[test]
fn a_missing_credential_gets_401_on_every_route() {
    let mut table = ErrorTable::new();
    table.check(
        gateway(401, "Unauthorized"),
        &[
            Row { caller: Nobody, method: "GET", path: "/v1/usage", body: NO_BODY },
            Row { caller: Nobody, method: "GET", path: "/v1/nothing", body: NO_BODY },
        ],
    );
    table.finish();
}

#[test]
fn a_refused_credential_gets_403_on_every_route() {
    let mut table = ErrorTable::new();
    table.check(
        gateway(403, "Forbidden"),
        &[
            Row { caller: Credential("Bearer svc_live_x"), method: "GET", path: "/v1/usage", body: NO_BODY },
            Row { caller: Credential("Basic eDp5"), method: "GET", path: "/v1/nothing", body: NO_BODY },
        ],
    );
    table.finish();
}

#[test]
fn keys_cannot_use_dashboard_routes() {
    let mut table = ErrorTable::new();
    table.check(
        envelope(403, "dashboard_only"),
        &[
            Row { caller: AccountKey, method: "GET", path: "/v1/keys", body: NO_BODY },
            Row { caller: AccountKey, method: "DELETE", path: "/v1/keys/0123456789abcdef", body: NO_BODY },
            Row { caller: AccountKey, method: "POST", path: "/v1/keys", body: json!({"name": "x"}) },
            Row {
                caller: AccountKey,
                method: "POST",
                path: "/v1/billing/recharge",
                body: json!({"amount_paise": 50000}),
            },
            Row { caller: AccountKey, method: "POST", path: "/v1/billing/subscribe", body: json!({"plan": "starter"}) },
            Row { caller: AccountKey, method: "DELETE", path: "/v1/namespaces/mine", body: NO_BODY },
        ],
    );
    table.finish();
}

#[test]
fn namespace_keys_cannot_create_keys_or_namespaces() {
    let mut table = ErrorTable::new();
    table.check(
        envelope(403, "scoped_key"),
        &[
            Row { caller: NamespaceKey, method: "POST", path: "/v1/keys", body: json!({"namespace": "mine"}) },
            Row { caller: NamespaceKey, method: "POST", path: "/v1/namespaces", body: json!({"name": "x"}) },
        ],
    );
    table.finish();
}

#[test]
fn namespace_keys_cannot_read_other_namespaces() {
    let mut table = ErrorTable::new();
    table.check(
        retrieve(403, "forbidden_namespace"),
        &[Row { caller: NamespaceKey, method: "GET", path: "/v1/retrieve?q=x&namespace=default", body: NO_BODY }],
    );
    table.check(
        envelope(403, "forbidden_namespace"),
        &[
            Row { caller: NamespaceKey, method: "GET", path: "/v1/vocab?namespace=default", body: NO_BODY },
            Row { caller: NamespaceKey, method: "GET", path: "/v1/skills?namespace=default", body: NO_BODY },
        ],
    );
    table.finish();
}

#[test]
fn unknown_namespaces_are_not_found() {
    let mut table = ErrorTable::new();
    table.check(
        envelope(404, "namespace_not_found"),
        &[
            Row {
                caller: AccountKey,
                method: "POST",
                path: "/v1/memories",
                body: json!({"messages": one_message(), "namespace": "none"}),
            },
            Row { caller: AccountKey, method: "GET", path: "/v1/vocab?namespace=none", body: NO_BODY },
            Row {
                caller: AccountKey,
                method: "POST",
                path: "/v1/vocab",
                body: json!({"terms": [{"term": "x"}], "namespace": "none"}),
            },
            Row { caller: AccountKey, method: "DELETE", path: "/v1/vocab?term=x&namespace=none", body: NO_BODY },
            Row { caller: AccountKey, method: "GET", path: "/v1/skills?namespace=none", body: NO_BODY },
            Row {
                caller: AccountKey,
                method: "POST",
                path: "/v1/skills",
                body: json!({"skills": [{"name": "a", "content": "b"}], "namespace": "none"}),
            },
        ],
    );
    table.check(
        retrieve(404, "namespace_not_found"),
        &[Row { caller: AccountKey, method: "GET", path: "/v1/retrieve?q=x&namespace=none", body: NO_BODY }],
    );
    table.finish();
}

#[test]
fn unknown_keys_routes_and_methods_are_not_found() {
    let mut table = ErrorTable::new();
    table.check(
        envelope(404, "not_found"),
        &[
            Row { caller: Session, method: "DELETE", path: "/v1/keys/0123456789abcdef", body: NO_BODY },
            Row { caller: AccountKey, method: "GET", path: "/v1/nothing", body: NO_BODY },
            Row { caller: AccountKey, method: "PUT", path: "/v1/memories", body: json!({}) },
        ],
    );
    table.finish();
}

#[test]
fn requests_that_are_too_large_are_rejected() {
    let mut table = ErrorTable::new();
    table.check(
        envelope(413, "too_many_terms"),
        &[Row {
            caller: AccountKey,
            method: "POST",
            path: "/v1/vocab",
            body: json!({"terms": vec![json!({"term": "x"}); 201]}),
        }],
    );
    table.check(
        envelope(413, "too_many_skills"),
        &[Row {
            caller: AccountKey,
            method: "POST",
            path: "/v1/skills",
            body: json!({"skills": vec![json!({"name": "a", "content": "b"}); 101]}),
        }],
    );
    table.check(
        envelope(413, "payload_too_large"),
        &[Row {
            caller: AccountKey,
            method: "POST",
            path: "/v1/skills",
            body: one_skill(&json!({"name": "a", "content": "x".repeat(8 << 20)})),
        }],
    );
    table.finish();
}

#[test]
fn an_empty_wallet_refuses_writes_but_not_reads() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, "[billing]\nenforce_balance = true\n");
    let answer = server.post("/v1/memories", &json!({"messages": one_message()}));
    envelope(402, "payment_required").assert_matches(&answer);
    assert_eq!(server.retrieve("default", "q=x").status, 200);
}

#[test]
fn requests_above_the_quota_are_refused() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, "[plans]\npayg = 'writes=0,reads=0,memories=9,chats=0'\n");
    let answer = server.post("/v1/memories", &json!({"messages": one_message()}));
    envelope(429, "quota_exceeded").assert_matches(&answer);
    retrieve(429, "quota_exceeded").assert_matches(&server.retrieve("default", "q=x"));
}

#[test]
fn requests_above_the_rate_limit_are_refused() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, "[rate_limit]\nrequests_per_minute = 1\n");
    assert_eq!(server.get("/v1/usage").status, 200);
    envelope(429, "rate_limited").assert_matches(&server.get("/v1/usage"));
    retrieve(429, "rate_limited").assert_matches(&server.retrieve("default", "q=x"));
}

/// An index that can be neither opened nor rebuilt. The body must contain neither a path nor a reason.
#[test]
fn an_internal_error_does_not_show_its_cause() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    assert_eq!(server.post("/v1/memories/facts/a.md", &json!({"content": "x"})).status, 201);
    server.kill();
    let index = index(&data, "default");
    std::fs::remove_dir_all(&index).expect("removes");
    std::fs::write(&index, "a file at the index's path").expect("writes");
    let server = Server::start(&data);
    let answer = server.get("/v1/memories/facts/a.md");
    envelope(500, "internal").assert_matches(&answer);
    retrieve(500, "internal").assert_matches(&server.retrieve("default", "q=x"));
    assert!(!answer.body.to_string().contains("indexes"), "{answer:?}");
}

/// A request to create a key.
struct CreationRow {
    caller: Caller,
    body: Value,
    /// `None` if the key is created.
    error: Option<ExpectedError>,
}

#[test]
fn keys_are_created_by_every_row_of_the_creation_rules() {
    let api = Api::start();
    let dashboard_only = Some(envelope(403, "dashboard_only"));
    let scoped_key = Some(envelope(403, "scoped_key"));
    let rows = [
        CreationRow { caller: Session, body: json!({"name": "a"}), error: None },
        CreationRow { caller: Session, body: json!({"name": "a", "namespace": "mine"}), error: None },
        CreationRow { caller: AccountKey, body: json!({"name": "a", "namespace": "mine"}), error: None },
        CreationRow { caller: AccountKey, body: json!({"name": "a"}), error: dashboard_only },
        CreationRow { caller: AccountKey, body: json!({"name": "a", "namespace": ""}), error: dashboard_only },
        CreationRow { caller: NamespaceKey, body: json!({"name": "a"}), error: scoped_key },
        CreationRow { caller: NamespaceKey, body: json!({"name": "a", "namespace": "mine"}), error: scoped_key },
    ];
    let mut failures = Vec::new();
    for CreationRow { caller, body, error } in rows {
        let answer = api.send(caller, "POST", "/v1/keys", &body);
        let differences = match error {
            Some(error) => error.differences(&answer),
            None => differences_of_new_key(&answer),
        };
        for difference in differences {
            failures.push(format!("{caller:?} {body}: {difference}"));
        }
    }
    assert_no_failures(&failures);
}

/// Returns the differences of a response from the specified response with a new key.
fn differences_of_new_key(answer: &Answer) -> Vec<String> {
    let fields: Vec<&String> = answer.body.as_object().into_iter().flat_map(serde_json::Map::keys).collect();
    if answer.status == 201 && fields == ["env", "id", "key", "name", "namespace", "note"] {
        return Vec::new();
    }
    vec![format!("not the response with a new key: {answer:?}")]
}

#[test]
fn a_namespace_key_outlives_the_key_that_created_it() {
    let api = Api::start();
    let child = api.send(AccountKey, "POST", "/v1/keys", &json!({"namespace": "mine"})).body["key"].clone();
    let parent = api.server.key.split('_').nth(2).expect("an id").to_owned();
    assert_eq!(api.send(Session, "DELETE", &format!("/v1/keys/{parent}"), &NO_BODY).status, 200);
    assert_eq!(api.server.call_as(child.as_str().expect("a key"), "GET", "/v1/whoami", None).status, 200);
}

#[test]
fn namespace_names_have_1_to_64_characters() {
    struct NameRow {
        name: String,
        status: u16,
    }
    let rows = [
        NameRow { name: "a".to_owned(), status: 201 },
        NameRow { name: "x".repeat(64), status: 201 },
        NameRow { name: "x".repeat(65), status: 400 },
        NameRow { name: String::new(), status: 400 },
    ];
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let mut failures = Vec::new();
    for NameRow { name, status } in rows {
        let answer = server.post("/v1/namespaces", &json!({"name": name}));
        if answer.status != status {
            failures.push(format!("{name:?}: not {status}: {answer:?}"));
        }
    }
    assert_no_failures(&failures);
}

#[test]
fn at_most_200_namespaces_are_listed() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    for number in 0..205 {
        server.namespace(&format!("n{number:03}"));
    }
    assert_eq!(list_length(&server.get("/v1/namespaces"), "namespaces"), 200);
}

#[test]
fn a_memory_has_at_most_32_tags_of_64_characters() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    assert_eq!(write_with_tags(&server, &numbered_tags(32)), 201);
    assert_eq!(write_with_tags(&server, &["x".repeat(64)]), 200);
    assert_eq!(write_with_tags(&server, &numbered_tags(33)), 400);
    assert_eq!(write_with_tags(&server, &["x".repeat(65)]), 400);
}

/// Writes a memory with tags and returns the status.
fn write_with_tags(server: &Server, tags: &[String]) -> u16 {
    server.post("/v1/memories/facts/t.md", &json!({"content": "x", "tags": tags})).status
}

fn numbered_tags(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("t{number}")).collect()
}

/// Returns the length of a list in a response; zero if it is absent.
fn list_length(answer: &Answer, field: &str) -> usize {
    answer.body[field].as_array().map_or(0, Vec::len)
}

#[test]
fn a_request_takes_200_terms_of_120_and_2000_characters() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    store_205_terms(&server);
}

#[test]
fn terms_are_listed_200_by_default() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    store_205_terms(&server);
    assert_eq!(list_length(&server.get("/v1/vocab?"), "terms"), 200);
    assert_eq!(list_length(&server.get("/v1/vocab?limit=5000"), "terms"), 205);
    assert_eq!(list_length(&server.get("/v1/vocab?limit=3"), "terms"), 3);
    assert_eq!(server.get("/v1/vocab?limit=0").code(), "invalid_limit");
}

/// Stores a full request of 200 terms of the greatest length, then five more, and waits until all are listed.
fn store_205_terms(server: &Server) {
    let mut terms = Vec::new();
    for number in 0..200 {
        let term = format!("Term {number:03} {}", "y".repeat(111));
        assert_eq!(term.len(), 120);
        terms.push(json!({"term": term, "definition": "z".repeat(2000)}));
    }
    assert_eq!(server.post("/v1/vocab", &json!({"terms": terms})).status, 202);
    let more: Vec<Value> = (0..5).map(|number| json!({"term": format!("More {number}")})).collect();
    assert_eq!(server.post("/v1/vocab", &json!({"terms": more})).status, 202);
    wait_for("the terms", || list_length(&server.get("/v1/vocab?limit=1000"), "terms") == 205);
}

#[test]
fn skills_are_listed_20_by_default_and_200_at_most() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    store_300_skills(&server);
    assert_eq!(list_length(&server.get("/v1/skills?"), "skills"), 20);
    assert_eq!(list_length(&server.get("/v1/skills?limit=999"), "skills"), 200);
    assert_eq!(list_length(&server.get("/v1/skills?q=juggling"), "skills"), 20);
    assert_eq!(list_length(&server.get("/v1/skills?q=juggling&limit=999"), "skills"), 200);
}

#[test]
fn a_retrieve_returns_24_hits_by_default_and_200_at_most() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    store_300_skills(&server);
    assert_eq!(server.retrieve("default", "q=juggling").hits().len(), 24);
    assert_eq!(server.retrieve("default", "q=juggling&limit=200").hits().len(), 200);
    assert_eq!(server.retrieve("default", "tiers=skills").hits().len(), 24);
    assert_eq!(server.retrieve("default", "tiers=skills&limit=7").hits().len(), 7);
    assert_eq!(server.retrieve("default", "q=juggling&limit=201").body["error"], "invalid_limit");
}

/// Stores 300 skills in full requests of 100, and waits until they are ingested.
fn store_300_skills(server: &Server) {
    for first in [0, 100, 200] {
        let mut skills = Vec::new();
        for number in first..first + 100 {
            skills.push(json!({"name": format!("Skill {number:03} juggling"), "content": "x"}));
        }
        assert_eq!(server.post("/v1/skills", &json!({"skills": skills})).status, 202);
    }
    wait_for("the skills", || server.get("/v1/topics").body["topics"].to_string().contains("300"));
}

/// Amounts within the limits get as far as the missing payment provider.
#[test]
fn a_recharge_is_50000_to_10000000_paise() {
    struct AmountRow {
        paise: u64,
        code: &'static str,
    }
    let rows = [
        AmountRow { paise: 49_999, code: "below_minimum" },
        AmountRow { paise: 50_000, code: "merchant_not_live" },
        AmountRow { paise: 10_000_000, code: "merchant_not_live" },
        AmountRow { paise: 10_000_001, code: "above_maximum" },
    ];
    let api = Api::start();
    let mut failures = Vec::new();
    for AmountRow { paise, code } in rows {
        let answer = api.send(Session, "POST", "/v1/billing/recharge", &json!({"amount_paise": paise}));
        if answer.code() != code {
            failures.push(format!("{paise}: not {code}: {answer:?}"));
        }
    }
    assert_no_failures(&failures);
}

#[test]
fn the_url_of_an_upload_is_valid_for_15_minutes() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let upload = reqwest::blocking::Client::new().post(format!("{}/v1/media", server.url)).bearer_auth(&server.key);
    let upload: Value = upload.body("x").send().expect("answers").json().expect("JSON");
    let media = server.get(&format!("/v1/media/{}", upload["id"].as_str().expect("an id"))).body;
    let expires = media["expires_at"].as_str().expect("a time").parse::<jiff::Timestamp>().expect("a time");
    let seconds = expires.as_second() - jiff::Timestamp::now().as_second();
    assert!((890..=900).contains(&seconds), "{seconds}");
}

#[test]
fn identical_bodies_within_five_minutes_are_one_write() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let body = json!({"messages": [{"role": "user", "content": "Said twice about unicycles"}]});
    let first = server.post("/v1/memories", &body);
    let second = server.post("/v1/memories", &body);
    assert_eq!((first.status, second.status), (202, 202));
    assert_eq!(first.body["id"], second.body["id"]);
    server.settle("default");
    let found = server.retrieve("default", "q=unicycles").contents();
    assert_eq!(found.iter().filter(|content| content.contains("unicycles")).count(), 1);
}

/// The write is received, accepted with the id of its queue message, and ingested: the head advances, and retrieval
/// returns the memory.
#[test]
fn a_write_is_accepted_and_then_ingested() {
    let api = Api::start();
    let server = &api.server;
    let before = first_namespace(server);
    assert_eq!((&before["name"], &before["head"]), (&json!("default"), &Value::Null));
    let body = json!({"messages": [{"role": "user", "content": "The observatory closes in June"}]});
    let accepted = server.post("/v1/memories", &body);
    assert_eq!(
        (accepted.status, &accepted.body["status"], &accepted.body["namespace"]),
        (202, &json!("accepted"), &json!("default"))
    );
    wait_for("the head to advance", || first_namespace(server)["head"].is_string());
    assert!(server.retrieve("default", "q=observatory").contents()[0].contains("observatory"));
    assert_eq!(first_namespace(server)["memories"], 1);
}

/// Returns the record of the first listed namespace.
fn first_namespace(server: &Server) -> Value {
    server.get("/v1/namespaces").body["namespaces"][0].clone()
}

#[test]
fn a_revoked_key_is_refused_and_listed_as_revoked() {
    let api = Api::start();
    let created = api.send(Session, "POST", "/v1/keys", &json!({})).body;
    let key = created["key"].as_str().expect("a key");
    let id = created["id"].as_str().expect("an id");
    assert_eq!(api.server.call_as(key, "GET", "/v1/whoami", None).status, 200);
    let revoked = api.send(Session, "DELETE", &format!("/v1/keys/{id}"), &NO_BODY);
    assert_eq!(revoked.body, json!({"id": id, "revoked": true}));
    assert_eq!(api.server.call_as(key, "GET", "/v1/whoami", None).status, 403);
    let listed = api.send(Session, "GET", "/v1/keys", &NO_BODY).body["keys"].clone();
    let listed = listed.as_array().expect("keys");
    assert!(listed.iter().any(|listed| listed["id"] == id && listed["revoked"] == true), "{listed:?}");
}

/// The provider's notification changes the plan, not the checkout.
#[test]
fn a_plan_takes_effect_when_its_checkout_is_paid() {
    let api = Api::start_configured(SANDBOX);
    let server = &api.server;
    let checkout = api.send(Session, "POST", "/v1/billing/subscribe", &json!({"plan": "scale"}));
    assert_eq!(checkout.status, 200, "{checkout:?}");
    assert_eq!(server.get("/v1/billing").body["plan"], "payg");
    let link = checkout.body["payment_link"].as_str().expect("a link").to_owned();
    reqwest::blocking::Client::new().post(link).send().expect("pays");
    assert_eq!(server.get("/v1/billing").body["plan"], "scale");
    assert_eq!(server.get("/v1/usage").body["plan"], "scale");
}
