//! `GET /v1/retrieve` and `POST /v1/answer`: queries, filters, times, and the check of each parameter.

use insta::assert_snapshot;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::skills::with_300_skills;
use crate::support::Api;

/// Opens the API with four memories that differ in tier, tags and times.
fn with_harbour() -> Api {
    let api = Api::open();
    for (path, body) in [
        (
            "facts/crane.md",
            r##"{"content": "# The harbour crane\n\nIt was painted yellow.", "tags": ["work"], "occurred_at": "2026-01-10"}"##,
        ),
        (
            "rules/nets.md",
            r##"{"content": "# Harbour nets\n\nAlways rinse them with fresh water.", "tags": ["work", "rule"], "occurred_at": "2026-02-10"}"##,
        ),
        (
            "facts/family/lena.md",
            r##"{"content": "# Lena\n\nMy cousin Lena sings in the harbour choir.", "tags": ["family"], "occurred_at": "2026-03-10"}"##,
        ),
        (
            "skills/mooring.md",
            r##"{"content": "# How to moor in the harbour\n\n1. Slow down.\n2. Throw the line.", "occurred_at": "2026-04-10T08:00:00Z"}"##,
        ),
    ] {
        let written = api.answer(&format!("POST /v1/memories/{path}\n{body}"));
        assert_eq!(written.status, 201, "{path}");
        api.advance_silently(SignedDuration::from_hours(24));
    }
    api
}

#[test]
fn a_query_returns_hits_with_their_fields() {
    let mut api = with_harbour();
    api.send("GET /v1/retrieve?q=who+sings+in+the+choir&limit=1");
    assert_snapshot!(api.transcript());
}

#[test]
fn full_detail_adds_the_history_of_a_hit() {
    let mut api = with_harbour();
    api.send("GET /v1/retrieve?q=yellow+crane&limit=1&detail=full");
    assert_snapshot!(api.transcript());
}

#[test]
fn a_query_without_memories_has_no_hits() {
    let mut api = Api::open();
    api.send("GET /v1/retrieve?q=harbour");
    assert_snapshot!(api.transcript());
}

#[test]
fn filters_restrict_the_hits() {
    let mut api = with_harbour();
    for query in [
        "q=harbour&tags=family",
        "q=harbour&tags=family,rule",
        "q=harbour&tags=family&tags=rule",
        "q=harbour&tags_all=work,rule",
        "q=harbour&tags=nobody",
        "q=harbour&tiers=rules,skills",
        "q=harbour&paths=facts/family",
        "q=harbour&paths=facts/fam",
        "q=harbour&min_score=1",
        "tiers=facts",
        "tags=work&limit=1",
    ] {
        api.send_for_paths(&format!("GET /v1/retrieve?{query}"));
    }
    assert_snapshot!(api.transcript());
}

#[test]
fn times_restrict_the_hits_by_the_chosen_field() {
    let mut api = with_harbour();
    for query in [
        "time_field=occurred&since=2026-02-10&until=2026-03-10",
        "time_field=occurred&since=2026-02-10T12:00:01Z",
        "time_field=occurred&until=1770724800",
        "time_field=created&since=2026-05-06",
        "time_field=updated&until=2026-05-05T09:00:00&timezone=UTC",
        "time_field=updated&until=2026-05-05T09:00:00&timezone=America/New_York",
        "since=2026-05-04&until=2026-05-05",
    ] {
        api.send_for_paths(&format!("GET /v1/retrieve?{query}"));
    }
    assert_snapshot!(api.transcript());
}

#[test]
fn each_parameter_of_a_retrieve_is_checked() {
    let mut api = Api::open();
    for query in [
        "",
        "q=+",
        "limit=5",
        "q=x&tiers=facts,notes",
        "q=x&since=soon",
        "q=x&until=2026-13-01",
        "q=x&timezone=Mars/Base",
        "q=x&time_field=when",
        "q=x&limit=0",
        "q=x&limit=201",
        "q=x&limit=many",
        "q=x&min_score=2",
        "q=x&min_score=nan",
        "q=x&tags=a!",
        "q=x&tags_all=a!",
        "q=x&paths=../etc",
    ] {
        api.send(&format!("GET /v1/retrieve?{query}"));
    }
    api.send("GET /v1/usage");
    assert_snapshot!(api.transcript());
    for (query, code) in [
        ("q=", "missing_query"),
        ("q=x&min_score=-1", "invalid_score"),
        ("q=x&tags=%21", "invalid_tag"),
        ("q=x&paths=..%2f..", "invalid_path"),
    ] {
        api.assert_refused(&format!("GET /v1/retrieve?{query}"), 400, code);
    }
    assert!(api.get("/v1/retrieve?q=x&unknown=1").hits().is_empty());
}

#[test]
fn a_question_is_answered_with_a_citation() {
    let mut api = Api::open();
    api.send(
        r##"POST /v1/memories/facts/greenhouse.md
        {"content": "# Greenhouse\n\nThe greenhouse thermostat is a Brandt 400.\n\n## Service\n\nThe thermostat battery lasts nine months.\n", "tags": ["garden"]}

        POST /v1/answer
        {"q": "How long does the thermostat battery last?", "tags": ["garden"], "limit": 3.0}

        GET /v1/usage"##,
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn a_question_without_an_answer_is_not_charged() {
    let mut api = with_harbour();
    api.send(
        r#"POST /v1/answer
        {"q": "zzyzx?"}

        POST /v1/answer
        {"q": "Who sings in the choir?", "tags": ["nobody"]}

        GET /v1/usage"#,
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn each_field_of_a_question_is_checked() {
    let mut api = Api::open();
    for body in [
        r#"{}"#,
        r#"{"q": " "}"#,
        r#"{"q": 5}"#,
        r#"{"q": "x", "tiers": ["notes"]}"#,
        r#"{"q": "x", "limit": 0}"#,
        r#"{"q": "x", "limit": 1.5}"#,
        r#"{"q": "x", "limit": {}}"#,
        r#"{"q": "x", "min_score": 2}"#,
        r#"{"q": "x", "since": "soon"}"#,
        r#"{"q": "x", "timezone": "Mars"}"#,
        r#"{"q": "x", "time_field": "when"}"#,
        r#"{"q": "x", "tags": "a!"}"#,
        r#"{"q": "x", "paths": "../etc"}"#,
        r#"{"q": "x", "detail": 1}"#,
        r#"{"q": "x", "namespace": "NO"}"#,
    ] {
        api.send(&format!("POST /v1/answer\n{body}"));
    }
    assert_snapshot!(api.transcript());
}

/// Opens the API with five statements from conversations, which differ in tags and times and were written one minute
/// apart.
fn with_statements() -> Api {
    let api = Api::open();
    // The latest of the occurrences has passed.
    api.advance_silently(SignedDuration::from_hours(10 * 24));
    for (text, tags, occurred_at) in [
        ("The harbour crane was painted yellow", json!(["work"]), "2026-01-10"),
        ("Always rinse the harbour nets with fresh water", json!(["work", "rule"]), "2026-02-10"),
        ("My cousin Lena sings in the harbour choir", json!(["family"]), "2026-03-10"),
        (
            "How to moor: \n1. slow down\n2. throw the harbour line\n3. tie a bowline",
            json!(["work"]),
            "2026-04-10T08:00:00Z",
        ),
        ("The tax office wants the forms by letter", json!([]), "2026-05-10"),
    ] {
        let body = json!({"messages": [{"role": "user", "content": text}], "tags": tags, "occurred_at": occurred_at});
        assert_eq!(api.post("/v1/memories", &body).status, 202);
        api.settle();
        api.advance_silently(SignedDuration::from_mins(1));
    }
    api
}

/// Returns which of the five statements a query finds, best first. Each statement is represented by a word.
fn found(api: &Api, query: &str) -> Vec<&'static str> {
    let mut words = Vec::new();
    for content in api.get(&format!("/v1/retrieve?{query}")).contents() {
        for word in ["yellow", "rinse", "Lena", "bowline", "tax"] {
            if content.contains(word) {
                words.push(word);
            }
        }
    }
    words
}

#[test]
fn filters_restrict_statements_from_conversations() {
    let api = with_statements();
    assert_eq!(found(&api, "q=singing+relative")[0], "Lena");
    assert_eq!(found(&api, "q=harbour&tags=family"), ["Lena"]);
    assert_eq!(found(&api, "q=harbour&tags=family,rule").len(), 2);
    assert_eq!(found(&api, "q=harbour&tags=family&tags=rule").len(), 2);
    assert_eq!(found(&api, "q=harbour&tags_all=work,rule"), ["rinse"]);
    assert_eq!(found(&api, "q=harbour&tags=nobody").len(), 0);
    assert_eq!(found(&api, "q=harbour&tiers=rules"), ["rinse"]);
    assert_eq!(found(&api, "q=harbour&tiers=skills"), ["bowline"]);
    assert_eq!(found(&api, "q=harbour&paths=skills/user"), ["bowline"]);
    assert_eq!(found(&api, "q=harbour&paths=skills/us").len(), 0);
    let mut in_range = found(&api, "q=harbour&time_field=occurred&since=2026-02-01&until=2026-03-10");
    in_range.sort_unstable();
    assert_eq!(in_range, ["Lena", "rinse"], "a date-only until includes its day");
    assert_eq!(api.get("/v1/retrieve?q=harbour&limit=2").hits().len(), 2);
    assert!(api.get("/v1/retrieve?q=harbour&min_score=1").hits().is_empty());
}

#[test]
fn without_a_query_a_filter_lists_newest_first() {
    let api = with_statements();
    assert_eq!(found(&api, "tags=work&time_field=occurred"), ["bowline", "rinse", "yellow"]);
    assert_eq!(found(&api, "tags=work"), ["bowline", "rinse", "yellow"], "ordered by the time of writing");
    assert_eq!(found(&api, "since=2026-04-01&until=2026-05-31&time_field=occurred"), ["tax", "bowline"]);
    let listed = api.get("/v1/retrieve?tags=work").hits();
    assert!(listed.iter().all(|hit| hit["score"] == json!(1.0) && hit["matched"] == json!([])), "{listed:?}");
    assert_eq!(api.get("/v1/retrieve?tiers=facts,incidents,rules,skills&limit=3").hits().len(), 3);
}

#[test]
fn a_hit_reports_how_it_was_found() {
    let api = with_statements();
    let answer = api.get("/v1/retrieve?q=yellow+crane");
    let (body, hits) = (answer.json(), answer.hits());
    let matched = hits[0]["matched"].as_array().expect("arms");
    assert!(matched.contains(&json!("lexical")) && matched.contains(&json!("cue")), "{answer:?}");
    assert_eq!(hits[0]["via"], Value::Null);
    assert_eq!(hits[0]["sections"], json!(["User: The harbour crane was painted yellow"]));
    for field in ["vector_ms", "lexical_ms", "graph_ms"] {
        assert!(body[field].is_f64(), "{field}");
    }
    assert!(body["cold_start"].is_boolean() && body.get("defined").is_none());
    let scores: Vec<f64> = hits.iter().map(|hit| hit["score"].as_f64().expect("a score")).collect();
    assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{scores:?}");
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
}

#[test]
fn the_graph_adds_the_neighbour_of_a_hit() {
    let api = Api::open();
    api.remember("default", &["We finally adopted the greyhound", "Zanzibar qualifies quietly"]);
    api.settle();
    let hits = api.get("/v1/retrieve?q=greyhound").hits();
    let is_neighbour = |hit: &&Value| hit["content"].as_str().is_some_and(|content| content.contains("Zanzibar"));
    let neighbour = hits.iter().find(is_neighbour).expect("the neighbour of the hit");
    assert!(neighbour["matched"].as_array().expect("arms").contains(&json!("graph")), "{neighbour}");
    if neighbour["matched"] == json!(["graph"]) {
        assert_eq!(neighbour["via"], hits[0]["path"]);
    }
}

/// Percent-encodes a query.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' => encoded.push('+'),
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[test]
fn strange_queries_are_answered() {
    let api = with_statements();
    let long = "harbour ".repeat(900);
    for query in ["🦀", "the of and", "\u{0}\u{1}", "日本語", "مرحبا", "สวัสดี", "\"(*:^", &long]
    {
        assert_eq!(api.get(&format!("/v1/retrieve?q={}", encoded(query))).status, 200, "{query:.20}");
    }
}

#[test]
fn a_retrieve_returns_24_hits_by_default_and_200_at_most() {
    let api = with_300_skills();
    for (query, length) in
        [("q=juggling", 24), ("q=juggling&limit=200", 200), ("tiers=skills", 24), ("tiers=skills&limit=7", 7)]
    {
        assert_eq!(api.get(&format!("/v1/retrieve?{query}")).hits().len(), length, "{query}");
    }
    api.assert_refused("GET /v1/retrieve?q=juggling&limit=201", 400, "invalid_limit");
}

#[test]
fn filters_that_no_memory_can_meet_are_refused_with_both_named() {
    let api = Api::open();
    for (filter, code, named) in [
        ("since=2026-05-02&until=2026-05-01", "invalid_time", ["2026-05-02", "2026-05-01"]),
        ("where=size%3C1&where=size%3E2", "invalid_where", ["size<1", "size>2"]),
        ("where=team:x&where=team:y", "invalid_where", ["team:x", "team:y"]),
    ] {
        for route in ["/v1/retrieve?q=x&", "/v1/retrieve?", "/v1/context?q=x&", "/v1/memories?", "/v1/facets?"] {
            let answer = api.get(&format!("{route}{filter}"));
            assert_eq!(answer.refusal(), (400, code.to_owned()), "{route}{filter}");
            let text = answer.json().to_string();
            assert!(named.iter().all(|part| text.contains(part)), "{text}");
        }
    }
    let body = json!({"q": "x", "since": "2026-05-02", "until": "2026-05-01"});
    assert_eq!(api.post("/v1/answer", &body).refusal(), (400, "invalid_time".to_owned()));
    let body = json!({"q": "x", "where": ["team:x", "team:y"]});
    assert_eq!(api.post("/v1/answer", &body).refusal(), (400, "invalid_where".to_owned()));
    let skills = api.get("/v1/skills?where=team:x&where=team:y");
    assert_eq!(skills.refusal(), (400, "invalid_where".to_owned()));
}
