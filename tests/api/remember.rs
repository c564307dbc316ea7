//! `POST /v1/memories`: conversations to remember.

use insta::assert_snapshot;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::support::{Answer, Api};

#[test]
fn a_conversation_is_accepted_and_then_retrieved() {
    let mut api = Api::open();
    api.send(
        r#"GET /v1/namespaces

        POST /v1/memories
        {"messages": [{"role": "user", "content": "The observatory closes in June"}]}"#,
    );
    api.settle();
    api.send(
        "GET /v1/retrieve?q=observatory

        GET /v1/namespaces

        GET /v1/usage",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn a_conversation_may_carry_every_optional_field() {
    let mut api = Api::open();
    api.send(
        r#"POST /v1/memories
        {"session_id": "trip", "tags": ["family", "trip"], "occurred_at": "2026-03-10", "timezone": "Europe/Paris",
         "messages": [{"role": "assistant", "name": "Bo", "occurred_at": "2026-03-11T08:00:00Z",
           "content": [{"type": "text", "text": "We hiked in the Tatra mountains last week."}, {"type": "media", "id": "m1"}]}]}"#,
    );
    api.settle();
    api.send("GET /v1/retrieve?q=Tatra+mountains&detail=full");
    assert_snapshot!(api.transcript());
}

#[test]
fn identical_bodies_are_one_write() {
    let mut api = Api::open();
    api.send(
        r#"POST /v1/memories
        {"messages": [{"role": "user", "content": "Said twice about unicycles"}]}

        POST /v1/memories
        {"messages": [{"role": "user", "content": "Said twice about unicycles"}]}"#,
    );
    api.settle();
    api.send("GET /v1/retrieve?q=unicycles\n\nGET /v1/usage");
    assert_snapshot!(api.transcript());
}

#[test]
fn a_body_that_repeats_a_part_of_another_is_a_new_write() {
    let api = Api::open();
    let text = "The spare key hangs behind the blue barrel";
    let first = api.remember("default", &[text]);
    assert_eq!(api.remember("default", &[text]), first);
    let other = api.remember("default", &[text, "It fits the back door as well"]);
    assert!(other > first, "ids sort by time");
    api.settle();
    let contents = api.get("/v1/retrieve?q=spare+key+barrel").contents();
    assert_eq!(contents.iter().filter(|content| content.contains("blue barrel")).count(), 1, "{contents:?}");
    assert!(contents.iter().any(|content| content.contains("back door")), "{contents:?}");
}

#[test]
fn words_for_days_refer_to_the_time_of_acceptance() {
    let mut api = Api::open();
    api.advance(SignedDuration::from_hours(24));
    api.send(
        r#"POST /v1/memories
        {"messages": [{"role": "user", "content": "Yesterday I painted the garden gate green"}]}"#,
    );
    api.settle();
    api.send("GET /v1/retrieve?q=garden+gate");
    assert_snapshot!(api.transcript());
}

#[test]
fn each_field_of_a_conversation_is_checked() {
    let mut api = Api::open();
    for fields in [
        r#""messages": []"#,
        r#""messages": {}"#,
        r#""messages": ["x"]"#,
        r#""messages": [{"role": "user", "content": "x"}], "session_id": 1"#,
        r#""messages": [{"role": "user", "content": "x"}], "session_id": "a\nb""#,
        r#""messages": [{"role": "user", "content": "x"}], "tags": ["a!"]"#,
        r#""messages": [{"role": "user", "content": "x"}], "tags": "a""#,
        r#""messages": [{"role": "user", "content": "x"}], "occurred_at": "soon""#,
        r#""messages": [{"role": "user", "content": "x"}], "date": {}"#,
        r#""messages": [{"role": "user", "content": "x"}], "timezone": "Mars/Base""#,
    ] {
        api.send(&format!("POST /v1/memories\n{{{fields}}}"));
    }
    api.send("POST /v1/memories\n{}\n\nGET /v1/usage");
    assert_snapshot!(api.transcript());
    let one = json!([{"role": "user", "content": "x"}]);
    for tags in [json!(["ok", "no!"]), json!(vec!["a"; 33])] {
        let body = json!({"messages": one, "tags": tags});
        api.assert_refused(&format!("POST /v1/memories\n{body}"), 400, "invalid_tag");
    }
    api.assert_refused("POST /v1/memories\n{\"messages\": \"x\"}", 400, "invalid_body");
    assert_eq!(api.get("/v1/namespaces").json()["namespaces"][0]["head"], Value::Null);
    api.assert_nothing_counted();
}

#[test]
fn each_field_of_a_message_is_checked() {
    let mut api = Api::open();
    for message in [
        r#"{"content": "x"}"#,
        r#"{"role": "robot", "content": "x"}"#,
        r#"{"role": "user"}"#,
        r#"{"role": "user", "content": 1}"#,
        r#"{"role": "user", "content": [{}]}"#,
        r#"{"role": "user", "content": [{"type": "text"}]}"#,
        r#"{"role": "user", "content": [{"type": "media"}]}"#,
        r#"{"role": "user", "content": "x", "name": 1}"#,
        r#"{"role": "user", "content": "x", "name": "a\nb"}"#,
        r#"{"role": "user", "content": "x", "occurred_at": "soon"}"#,
    ] {
        api.send(&format!(
            "POST /v1/memories\n{{\"messages\": [{{\"role\": \"user\", \"content\": \"x\"}}, {message}]}}"
        ));
    }
    assert_snapshot!(api.transcript());
}

#[test]
fn a_message_without_anything_to_remember_is_accepted() {
    let mut api = Api::open();
    api.send(
        r#"POST /v1/memories
        {"messages": [{"role": "user", "content": "Thanks!"}]}"#,
    );
    api.settle();
    api.send("GET /v1/sources/[id-1]\n\nGET /v1/topics");
    assert_snapshot!(api.transcript());
}

#[test]
fn a_one_word_answer_is_stored_with_its_question() {
    let api = Api::open();
    let messages = json!([
        {"role": "assistant", "content": "Which city?"}, {"role": "user", "name": "Noor", "content": "Rome."},
    ]);
    assert_eq!(api.post("/v1/memories", &json!({"messages": messages})).status, 202);
    api.settle();
    let contents = api.get("/v1/retrieve?q=which+city").contents();
    assert_eq!(contents[0], "# Noor: Rome.\n\n> Assistant: Which city?\n", "{contents:?}");
}

/// Returns the warnings of a response.
fn warnings(answer: &Answer) -> Vec<String> {
    let mut lines = Vec::new();
    for line in answer.json()["warnings"].as_array().into_iter().flatten() {
        lines.push(line.as_str().expect("a text").to_owned());
    }
    lines
}

#[test]
fn a_time_more_than_a_day_ahead_is_accepted_with_a_warning() {
    let api = Api::open();
    let ahead = |hours| (api.now() + SignedDuration::from_hours(hours)).to_string();
    let (near, far) = (ahead(24), ahead(25));
    let made = api.post("/v1/conversations", &json!({"title": "Plans"}));
    let appending = format!("/v1/conversations/{}/messages", made.json()["id"].as_str().expect("an id"));
    let message = |at: &str| json!({"role": "user", "content": format!("The ferry leaves at {at}"), "occurred_at": at});
    for (target, body, status, field) in [
        ("/v1/memories", json!({"messages": [message(&near), message(&far)]}), 202, "messages[1].occurred_at"),
        ("/v1/memories", json!({"messages": [message(&near)], "occurred_at": far}), 202, "occurred_at"),
        (&appending, json!({"messages": [message(&far)]}), 201, "messages[0].occurred_at"),
        ("/v1/memories/facts/a.md", json!({"content": "x", "occurred_at": far}), 201, "occurred_at"),
        (
            "/v1/skills",
            json!({"skills": [{"name": "a", "content": "b", "occurred_at": far}]}),
            202,
            "skills[0].occurred_at",
        ),
    ] {
        let answer = api.post(target, &body);
        let named = warnings(&answer);
        assert_eq!((answer.status, named.len()), (status, 1), "{target}: {answer:?}");
        assert!(named[0].starts_with(&format!("{field}: {far} is more than a day after")), "{named:?}");
    }
    for (at, expected) in [(&near, 0), (&far, 1)] {
        let request = format!(
            "POST /v1/documents?filename=a.md&occurred_at={at}\ncontent-type: text/markdown\nThe ferry leaves at {at}."
        );
        let answer = api.answer(&request);
        assert_eq!((answer.status, warnings(&answer).len()), (202, expected), "{answer:?}");
    }
}
