//! Unknown names in queries and bodies. Names that other products use to separate users are refused; any other unknown name
//! causes a warning.

use cuebase::api::fields::{Contents, Field};
use cuebase::api::routes::{BodyKind, ROUTES, Route};
use serde_json::{Map, Value, json};

use crate::support::{Answer, Api};

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

fn one_message() -> Value {
    json!([{"role": "user", "content": "Ida keeps three hives of bees."}])
}

/// Returns the warnings of a response.
fn warnings(answer: &Answer) -> Vec<String> {
    let mut warnings = Vec::new();
    for warning in answer.json()["warnings"].as_array().into_iter().flatten() {
        warnings.push(warning.as_str().expect("text").to_owned());
    }
    warnings
}

/// Checks that a response refuses a name and names the alternative.
fn assert_refused(answer: &Answer, code: &str, name: &str) {
    assert_eq!(answer.refusal(), (400, code.to_owned()), "{name}: {answer:?}");
    let body = answer.json();
    let message = body["error"]["message"].as_str().expect("a message");
    assert!(message.contains(&format!("\"{name}\"")), "{message}");
    assert!(message.contains("use one namespace per user") && message.contains("\"namespace\""), "{message}");
}

#[test]
fn a_write_with_a_foreign_user_field_is_refused_and_not_counted() {
    let api = Api::open();
    for name in USER_NAMES {
        let answer = api.post("/v1/memories", &json!({"messages": one_message(), name: "ida"}));
        assert_refused(&answer, "invalid_body", name);
        let answer = api.post("/v1/memories/facts/ida.md", &json!({"content": "Ida keeps hives.", name: "ida"}));
        assert_refused(&answer, "invalid_body", name);
    }
    assert_eq!(api.get("/v1/queue").json()["waiting"], 0);
    assert_eq!(api.get("/v1/usage").json()["used"]["writes"], 0);
    assert_eq!(api.get("/v1/memories/facts/ida.md").status, 404);
    api.settle();
    let found = api.get("/v1/retrieve?q=hives").contents();
    assert!(found.iter().all(|content| !content.contains("hives")), "{found:?}");
}

#[test]
fn a_foreign_user_parameter_is_refused_before_anything_happens() {
    let api = Api::open();
    assert_eq!(api.post("/v1/memories/facts/ida.md", &json!({"content": "Ida keeps hives."})).status, 201);
    for name in USER_NAMES {
        let answer = api.get(&format!("/v1/retrieve?q=hives&{name}=ida"));
        assert_eq!(answer.refusal(), (400, "invalid_parameter".to_owned()), "{name}: {answer:?}");
        let body = answer.json();
        assert_eq!(body["namespace"], "default", "{name}");
        let message = body["message"].as_str().expect("a message");
        assert!(message.contains("use one namespace per user") && message.contains("\"namespace\""), "{message}");
        assert_refused(&api.get(&format!("/v1/tree?{name}=ida")), "invalid_parameter", name);
        let forget = api.answer(&format!("DELETE /v1/memories/facts/ida.md?{name}=ida"));
        assert_refused(&forget, "invalid_parameter", name);
        let write = api.post(&format!("/v1/memories?{name}=ida"), &json!({"messages": one_message()}));
        assert_refused(&write, "invalid_body", name);
    }
    assert_eq!(api.get("/v1/queue").json()["waiting"], 0);
    let used = api.get("/v1/usage").json()["used"].clone();
    assert_eq!((&used["writes"], &used["reads"]), (&json!(1), &json!(0)), "only the direct write is counted");
    assert_eq!(api.get("/v1/memories/facts/ida.md").status, 200);
}

#[test]
fn every_route_refuses_a_foreign_user_parameter() {
    let api = Api::open();
    for route in &ROUTES {
        let (path, body) = known_request(&api, route);
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{separator}user_id=ida");
        let answer = send_as_session(&api, route, &path, body.as_ref());
        let expected = if takes_json(route) { "invalid_body" } else { "invalid_parameter" };
        let body = answer.json();
        // `/v1/retrieve` has its own format.
        let code = body["error"].as_str().or(body["error"]["code"].as_str());
        assert_eq!((answer.status, code), (400, Some(expected)), "{} {path}: {answer:?}", route.method);
    }
}

#[test]
fn a_nested_user_field_is_refused_with_its_location() {
    let api = Api::open();
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
        let answer = api.post(path, &body);
        assert_eq!(answer.refusal(), (400, "invalid_body".to_owned()), "{answer:?}");
        let body = answer.json();
        let message = body["error"]["message"].as_str().expect("a message");
        assert!(message.contains(place) && message.contains("use one namespace per user"), "{message}");
    }
    assert_eq!(api.get("/v1/queue").json()["waiting"], 0);
    assert_eq!(api.get("/v1/usage").json()["used"]["writes"], 0);
}

#[test]
fn a_misspelt_field_gets_a_suggestion_and_the_write_happens() {
    let api = Api::open();
    let body = json!({"messages": one_message(), "occured_at": "2026-05-01", "colour": "red"});
    let answer = api.post("/v1/memories", &body);
    assert_eq!(answer.status, 202, "{answer:?}");
    assert_eq!(
        warnings(&answer),
        [r#"unknown field "colour" ignored"#, r#"unknown field "occured_at" ignored; did you mean "occurred_at"?"#]
    );
    api.settle();
    let found = api.get("/v1/retrieve?q=hives+of+bees").contents();
    assert!(found.iter().any(|content| content.contains("three hives")), "{found:?}");
}

#[test]
fn a_misspelt_parameter_gets_a_suggestion() {
    let api = Api::open();
    let answer = api.get("/v1/retrieve?q=hives&limt=5&tagsAll=a&colour=red");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(
        warnings(&answer),
        [
            r#"unknown parameter "limt" ignored; did you mean "limit"?"#,
            r#"unknown parameter "tagsAll" ignored; did you mean "tags_all"?"#,
            r#"unknown parameter "colour" ignored"#,
        ]
    );
    let answer = api.get("/v1/tree?namspace=x");
    assert_eq!(warnings(&answer), [r#"unknown parameter "namspace" ignored; did you mean "namespace"?"#]);
}

#[test]
fn misspelt_nested_fields_are_reported_with_their_location() {
    let api = Api::open();
    let messages = json!([
        {"role": "user", "content": "Ida keeps three hives.", "contnet": "x"},
        {"role": "user", "content": [
            {"type": "text", "text": "They are blue.", "txet": "x"},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        ]},
    ]);
    let answer = api.post("/v1/memories", &json!({"messages": messages}));
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
    let api = Api::open();
    let answer = api.post("/v1/memories", &json!({"message": one_message()}));
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!("no_messages")), "{answer:?}");
    assert_eq!(warnings(&answer), [r#"unknown field "message" ignored; did you mean "messages"?"#]);
    let answer = api.get("/v1/retrieve?query=hives");
    assert_eq!((answer.status, &answer.json()["error"]), (400, &json!("missing_query")), "{answer:?}");
    assert_eq!(warnings(&answer), [r#"unknown parameter "query" ignored"#]);
}

#[test]
fn a_namespace_in_the_query_of_a_write_gets_a_hint() {
    let api = Api::open();
    let answer = api.post("/v1/memories?namespace=ida", &json!({"messages": one_message()}));
    assert_eq!((answer.status, &answer.json()["namespace"]), (202, &json!("default")), "{answer:?}");
    assert_eq!(warnings(&answer), [r#"unknown parameter "namespace" ignored; send "namespace" in the body"#]);
}

#[test]
fn a_megabyte_of_unknown_fields_gets_a_small_response() {
    let api = Api::open();
    let mut body = Map::new();
    for number in 0..90_000 {
        body.insert(format!("k{number:05}"), json!(0));
    }
    body.insert("a".repeat(100_000), json!(0));
    body.insert("messages".into(), one_message());
    let body = Value::Object(body);
    assert!(body.to_string().len() > 1 << 20, "less than a megabyte");
    let answer = api.post("/v1/memories", &body);
    assert_eq!(answer.status, 202, "{answer:?}");
    let warnings = warnings(&answer);
    assert_eq!(warnings.len(), 11);
    assert_eq!(warnings[0], format!("unknown field \"{}…\" ignored", "a".repeat(64)));
    assert_eq!(warnings[10], "and 89991 more");
    assert!(answer.body.len() < 4096);
}

#[test]
fn known_names_cause_no_warning_on_any_route() {
    let api = Api::open();
    for route in &ROUTES {
        let (path, body) = known_request(&api, route);
        let answer = send_as_session(&api, route, &path, body.as_ref());
        assert!(answer.json().get("warnings").is_none(), "{} {path}: {answer:?}", route.method);
    }
}

#[test]
fn unknown_names_cause_a_warning_on_every_route() {
    let api = Api::open();
    for route in &ROUTES {
        // The OpenAPI document has no warnings.
        if route.path == "/v1/openapi.json" {
            continue;
        }
        let (path, mut body) = known_request(&api, route);
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{separator}zzzzzz=1");
        if let Some(body) = &mut body {
            body["zzzzzz"] = json!(1);
        }
        let answer = send_as_session(&api, route, &path, body.as_ref());
        let mut expected = vec!["unknown parameter \"zzzzzz\" ignored"];
        if !route.fields.is_empty() {
            expected.push("unknown field \"zzzzzz\" ignored");
        }
        assert_eq!(warnings(&answer), expected, "{} {path}: {answer:?}", route.method);
    }
}

/// Sends a request to a route with a dashboard session.
fn send_as_session(api: &Api, route: &Route, path: &str, body: Option<&Value>) -> Answer {
    let body = body.map(Value::to_string).unwrap_or_default();
    api.answer(&format!("session {} {path}\n{body}", route.method))
}

/// Returns a request with every name that a route knows. The values are valid enough for the body to be parsed.
fn known_request(api: &Api, route: &Route) -> (String, Option<Value>) {
    let mut path = route.path.replace("{*path}", "facts/a.md").replace("{name}", "none").replace("{key_id}", "none");
    if route.path.starts_with("/v1/conversations/") {
        let conversation = api.post("/v1/conversations", &json!({})).json()["id"].clone();
        let conversation = conversation.as_str().expect("an id");
        let messages = json!({"messages": one_message()});
        let added = api.post(&format!("/v1/conversations/{conversation}/messages"), &messages);
        let message = added.json()["ids"][0].as_str().expect("an id").to_owned();
        path = path.replace("{mid}", &message).replace("{id}", conversation);
    }
    path = path.replace("{id}", "01M80ZJJYEMM0YJ4AAAANEC71VX");
    for (index, name) in route.query.iter().enumerate() {
        let separator = if index == 0 { '?' } else { '&' };
        let value = match *name {
            "namespace" => "default",
            "wait_for" => "words",
            _ => "1",
        };
        path = format!("{path}{separator}{name}={value}");
    }
    (path, takes_json(route).then(|| known_object(route.fields)))
}

fn takes_json(route: &Route) -> bool {
    matches!(route.body, BodyKind::Json | BodyKind::Parameters)
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
