//! Unknown names in queries and bodies. Names that other products use to separate users are refused; any other unknown name
//! causes a warning.

use cuebase::api::fields::{Contents, Field};
use cuebase::api::routes::{BodyKind, ROUTES, Route};
use serde_json::{Map, Value, json};

use crate::support::{Answer, Server, fresh, stdout};

/// Names that other products use to separate users, in the spellings of their APIs and clients.
const USER_NAMES: [&str; 14] = [
    "user_id",
    "agent_id",
    "run_id",
    "app_id",
    "group_id",
    "container_tag",
    "container_tags",
    "userId",
    "agentId",
    "runId",
    "appId",
    "groupId",
    "containerTag",
    "containerTags",
];

fn server() -> (tempfile::TempDir, Server) {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    (folder, server)
}

fn one_message() -> Value {
    json!([{"role": "user", "content": "Ida keeps three hives of bees."}])
}

/// Returns the warnings of a response.
fn warnings(answer: &Answer) -> Vec<&str> {
    let list = answer.body["warnings"].as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|warning| warning.as_str().expect("text")).collect()
}

/// Checks that a response refuses a name and names the alternative.
fn assert_refused(answer: &Answer, code: &str, name: &str) {
    assert_eq!((answer.status, answer.code()), (400, code), "{name}: {answer:?}");
    let message = answer.body["error"]["message"].as_str().expect("a message");
    assert!(message.contains(&format!("\"{name}\"")), "{message}");
    assert!(message.contains("use one namespace per user") && message.contains("\"namespace\""), "{message}");
}

#[test]
fn a_write_with_a_foreign_user_field_is_refused_and_not_counted() {
    let (_folder, server) = server();
    for name in USER_NAMES {
        let answer = server.post("/v1/memories", &json!({"messages": one_message(), name: "ida"}));
        assert_refused(&answer, "invalid_body", name);
        let answer = server.post("/v1/memories/facts/ida.md", &json!({"content": "Ida keeps hives.", name: "ida"}));
        assert_refused(&answer, "invalid_body", name);
    }
    assert_eq!(server.get("/v1/queue").body["waiting"], 0);
    assert_eq!(server.get("/v1/usage").body["used"]["writes"], 0);
    assert_eq!(server.get("/v1/memories/facts/ida.md").status, 404);
    server.settle("default");
    let found = server.retrieve("default", "q=hives").contents();
    assert!(found.iter().all(|content| !content.contains("hives")), "{found:?}");
}

#[test]
fn a_foreign_user_parameter_is_refused_before_anything_happens() {
    let (_folder, server) = server();
    assert_eq!(server.post("/v1/memories/facts/ida.md", &json!({"content": "Ida keeps hives."})).status, 201);
    for name in USER_NAMES {
        let answer = server.get(&format!("/v1/retrieve?q=hives&{name}=ida"));
        assert_eq!((answer.status, &answer.body["error"]), (400, &json!("invalid_parameter")), "{name}: {answer:?}");
        assert_eq!(answer.body["namespace"], "default", "{name}");
        let message = answer.body["message"].as_str().expect("a message");
        assert!(message.contains("use one namespace per user") && message.contains("\"namespace\""), "{message}");
        assert_refused(&server.get(&format!("/v1/tree?{name}=ida")), "invalid_parameter", name);
        let forget = server.call("DELETE", &format!("/v1/memories/facts/ida.md?{name}=ida"), None);
        assert_refused(&forget, "invalid_parameter", name);
        let write = server.post(&format!("/v1/memories?{name}=ida"), &json!({"messages": one_message()}));
        assert_refused(&write, "invalid_body", name);
    }
    assert_eq!(server.get("/v1/queue").body["waiting"], 0);
    let used = server.get("/v1/usage").body["used"].clone();
    assert_eq!((&used["writes"], &used["reads"]), (&json!(1), &json!(0)), "only the direct write is counted");
    assert_eq!(server.get("/v1/memories/facts/ida.md").status, 200);
}

#[test]
fn every_route_refuses_a_foreign_user_parameter() {
    let (_folder, server) = server();
    let session = stdout(&server.data, &["token"]);
    for route in &ROUTES {
        let (path, body) = known_request(&server, route);
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{separator}user_id=ida");
        let answer = server.call_as(&session, route.method.as_str(), &path, body.as_ref());
        let code = answer.body["error"].as_str().unwrap_or_else(|| answer.code());
        let expected = if route.body == BodyKind::Json { "invalid_body" } else { "invalid_parameter" };
        assert_eq!((answer.status, code), (400, expected), "{} {path}: {answer:?}", route.method);
    }
}

#[test]
fn a_nested_user_field_is_refused_with_its_location() {
    let (_folder, server) = server();
    let good = json!({"role": "user", "content": "Ida keeps three hives of bees."});
    let named = json!({"role": "user", "content": "Ida keeps three hives of bees.", "user_id": "ida"});
    let part =
        json!({"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y", "userId": 1}]});
    for (path, body, place) in [
        ("/v1/memories", json!({"messages": [good, named]}), "\"user_id\" in messages[1]"),
        ("/v1/memories", json!({"messages": [part]}), "\"userId\" in messages[0].content[1]"),
        ("/v1/vocab", json!({"terms": [{"term": "hive", "group_id": "g"}]}), "\"group_id\" in terms[0]"),
        (
            "/v1/skills",
            json!({"skills": [{"name": "a", "content": "b", "agent_id": "c"}]}),
            "\"agent_id\" in skills[0]",
        ),
    ] {
        let answer = server.post(path, &body);
        assert_eq!((answer.status, answer.code()), (400, "invalid_body"), "{answer:?}");
        let message = answer.body["error"]["message"].as_str().expect("a message");
        assert!(message.contains(place) && message.contains("use one namespace per user"), "{message}");
    }
    assert_eq!(server.get("/v1/queue").body["waiting"], 0);
    assert_eq!(server.get("/v1/usage").body["used"]["writes"], 0);
}

#[test]
fn a_misspelt_field_gets_a_suggestion_and_the_write_happens() {
    let (_folder, server) = server();
    let body = json!({"messages": one_message(), "occured_at": "2026-05-01", "colour": "red"});
    let answer = server.post("/v1/memories", &body);
    assert_eq!(answer.status, 202, "{answer:?}");
    assert_eq!(
        warnings(&answer),
        [r#"unknown field "colour" ignored"#, r#"unknown field "occured_at" ignored; did you mean "occurred_at"?"#]
    );
    server.settle("default");
    let found = server.retrieve("default", "q=hives+of+bees").contents();
    assert!(found.iter().any(|content| content.contains("three hives")), "{found:?}");
}

#[test]
fn a_misspelt_parameter_gets_a_suggestion() {
    let (_folder, server) = server();
    let answer = server.get("/v1/retrieve?q=hives&limt=5&tagsAll=a&colour=red");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(
        warnings(&answer),
        [
            r#"unknown parameter "limt" ignored; did you mean "limit"?"#,
            r#"unknown parameter "tagsAll" ignored; did you mean "tags_all"?"#,
            r#"unknown parameter "colour" ignored"#,
        ]
    );
    let answer = server.get("/v1/tree?namspace=x");
    assert_eq!(warnings(&answer), [r#"unknown parameter "namspace" ignored; did you mean "namespace"?"#]);
}

#[test]
fn misspelt_nested_fields_are_reported_with_their_location() {
    let (_folder, server) = server();
    let messages = json!([
        {"role": "user", "content": "Ida keeps three hives.", "contnet": "x"},
        {"role": "user", "content": [
            {"type": "text", "text": "They are blue.", "txet": "x"},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        ]},
    ]);
    let answer = server.post("/v1/memories", &json!({"messages": messages}));
    assert_eq!(answer.status, 202, "{answer:?}");
    assert_eq!(
        warnings(&answer),
        [
            r#"unknown field "contnet" in messages[0] ignored; did you mean "content"?"#,
            r#"unknown field "txet" in messages[1].content[0] ignored; did you mean "text"?"#,
        ]
    );
}

#[test]
fn an_error_response_names_the_misspelt_field() {
    let (_folder, server) = server();
    let answer = server.post("/v1/memories", &json!({"message": one_message()}));
    assert_eq!((answer.status, answer.code()), (400, "no_messages"), "{answer:?}");
    assert_eq!(warnings(&answer), [r#"unknown field "message" ignored; did you mean "messages"?"#]);
    let answer = server.get("/v1/retrieve?query=hives");
    assert_eq!((answer.status, &answer.body["error"]), (400, &json!("missing_query")), "{answer:?}");
    assert_eq!(warnings(&answer), [r#"unknown parameter "query" ignored"#]);
}

#[test]
fn a_namespace_in_the_query_of_a_write_gets_a_hint() {
    let (_folder, server) = server();
    let answer = server.post("/v1/memories?namespace=ida", &json!({"messages": one_message()}));
    assert_eq!((answer.status, &answer.body["namespace"]), (202, &json!("default")), "{answer:?}");
    assert_eq!(warnings(&answer), [r#"unknown parameter "namespace" ignored; send "namespace" in the body"#]);
}

#[test]
fn a_megabyte_of_unknown_fields_gets_a_small_response() {
    let (_folder, server) = server();
    let mut body = Map::new();
    for number in 0..90_000 {
        body.insert(format!("k{number:05}"), json!(0));
    }
    body.insert("a".repeat(100_000), json!(0));
    body.insert("messages".into(), one_message());
    let body = Value::Object(body);
    assert!(body.to_string().len() > 1 << 20, "less than a megabyte");
    let answer = server.post("/v1/memories", &body);
    assert_eq!(answer.status, 202, "{answer:?}");
    let warnings = warnings(&answer);
    assert_eq!(warnings.len(), 11);
    assert_eq!(warnings[0], format!("unknown field \"{}…\" ignored", "a".repeat(64)));
    assert_eq!(warnings[10], "and 89991 more");
    assert!(answer.body.to_string().len() < 4096);
}

#[test]
fn known_names_cause_no_warning_on_any_route() {
    let (_folder, server) = server();
    let session = stdout(&server.data, &["token"]);
    for route in &ROUTES {
        let (path, body) = known_request(&server, route);
        let answer = server.call_as(&session, route.method.as_str(), &path, body.as_ref());
        assert!(answer.body.get("warnings").is_none(), "{} {path}: {answer:?}", route.method);
    }
}

#[test]
fn unknown_names_cause_a_warning_on_every_route() {
    let (_folder, server) = server();
    let session = stdout(&server.data, &["token"]);
    for route in &ROUTES {
        // The OpenAPI document has no warnings.
        if route.path == "/v1/openapi.json" {
            continue;
        }
        let (path, mut body) = known_request(&server, route);
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{separator}zzzzzz=1");
        if let Some(body) = &mut body {
            body["zzzzzz"] = json!(1);
        }
        let answer = server.call_as(&session, route.method.as_str(), &path, body.as_ref());
        let mut expected = vec!["unknown parameter \"zzzzzz\" ignored"];
        if !route.fields.is_empty() {
            expected.push("unknown field \"zzzzzz\" ignored");
        }
        assert_eq!(warnings(&answer), expected, "{} {path}: {answer:?}", route.method);
    }
}

/// Returns a request with every name that a route knows. The values are valid enough for the body to be parsed.
fn known_request(server: &Server, route: &Route) -> (String, Option<Value>) {
    let mut path = route.path.replace("{*path}", "facts/a.md").replace("{name}", "none").replace("{key_id}", "none");
    if route.path.starts_with("/v1/conversations/") {
        let conversation = server.post("/v1/conversations", &json!({})).body["id"].clone();
        let conversation = conversation.as_str().expect("an id");
        let messages = json!({"messages": one_message()});
        let added = server.post(&format!("/v1/conversations/{conversation}/messages"), &messages);
        path = path.replace("{mid}", added.body["ids"][0].as_str().expect("an id")).replace("{id}", conversation);
    }
    path = path.replace("{id}", "01M80ZJJYEMM0YJ4AAAANEC71VX");
    for (index, name) in route.query.iter().enumerate() {
        let separator = if index == 0 { '?' } else { '&' };
        let value = if *name == "namespace" { "default" } else { "1" };
        path = format!("{path}{separator}{name}={value}");
    }
    (path, (route.body == BodyKind::Json).then(|| known_object(route.fields)))
}

/// Returns an object with every known field. Values without checked names are null.
fn known_object(fields: &[Field]) -> Value {
    let mut object = Map::new();
    for field in fields {
        let value = match field.contents {
            Contents::Opaque => Value::Null,
            Contents::Objects(fields) => json!([known_object(fields)]),
            Contents::Parts => {
                json!([{"type": "text", "text": "x"}, {"type": "media", "id": "x"}, {"type": "y", "z": 1}])
            }
        };
        object.insert(field.name.to_owned(), value);
    }
    Value::Object(object)
}
