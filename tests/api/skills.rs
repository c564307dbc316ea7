//! Skills: storing, finding, listing.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::Api;

/// Opens the API with a skill that has every field and one with name and content only.
fn with_skills() -> Api {
    let mut api = Api::open();
    api.send(
        r###"POST /v1/skills
        {"skills": [
            {"name": "Rotate the signing key", "description": "Replace the key that signs sessions",
             "content": "## Before\n\nTell everyone.\n\n## Steps\n\n1. Make a key.", "topic": "security", "tags": ["Ops"],
             "triggers": ["the key leaked"], "confidence": 0.9, "date": "2026-02-03"},
            {"name": "Water the fern", "content": "Once a week."}]}"###,
    );
    api.settle();
    api
}

#[test]
fn skills_are_stored_and_listed() {
    let mut api = with_skills();
    api.send(
        "GET /v1/skills

        GET /v1/memories/skills/security/rotate-the-signing-key.md?section=Steps

        GET /v1/usage",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn a_skill_is_found_by_its_task() {
    let mut api = with_skills();
    api.send("GET /v1/skills?q=somebody+leaked+our+key&limit=1\n\nGET /v1/usage");
    assert_snapshot!(api.transcript());
    let found = api.get("/v1/skills?q=somebody+leaked+our+key").json();
    let first = &found["skills"][0];
    assert_eq!(first["path"], "skills/security/rotate-the-signing-key.md");
    assert!(first["score"].as_f64().is_some_and(|score| (0.0..=1.0).contains(&score)), "{first}");
}

#[test]
fn the_list_of_skills_can_be_filtered() {
    let mut api = with_skills();
    for query in ["paths=security", "paths=skills/general", "tags=ops", "limit=1", "paths=nobody"] {
        api.send_for_paths(&format!("GET /v1/skills?{query}"));
    }
    api.send("GET /v1/skills?limit=0\n\nGET /v1/skills?tags=a!\n\nGET /v1/skills?paths=../etc");
    assert_snapshot!(api.transcript());
    assert_eq!(api.get("/v1/skills?paths=general,security").list_length("skills"), 2);
}

#[test]
fn a_skill_of_the_same_name_and_topic_is_rewritten() {
    let mut api = with_skills();
    api.send(
        r#"POST /v1/skills
        {"skills": [{"name": "Water the fern", "description": "Every day"}]}"#,
    );
    api.settle();
    api.send("GET /v1/skills?paths=general");
    assert_snapshot!(api.transcript());
    assert_eq!(api.get("/v1/skills").list_length("skills"), 2);
}

#[test]
fn skills_with_colliding_names_get_different_paths() {
    let mut api = Api::open();
    api.send(
        r##"POST /v1/memories/skills/general/deploy.md
        {"content": "# Other name"}

        POST /v1/skills
        {"skills": [{"name": "Deploy!", "content": "a"}, {"name": "Deploy?", "content": "b"}, {"name": "Deploy!", "content": "c"},
                    {"name": "x", "content": "f", "path": "skills/own/place.md"}, {"name": "Deploy", "content": "g", "topic": "Big Team/Web"}]}"##,
    );
    api.settle();
    api.send_for_paths("GET /v1/skills");
    assert_snapshot!(api.transcript());
}

#[test]
fn each_field_of_a_skill_is_checked() {
    let mut api = Api::open();
    for skill in [
        r#""a""#,
        r#"{"content": "b"}"#,
        r#"{"name": "a"}"#,
        r#"{"name": 1, "content": "b"}"#,
        r#"{"name": "a", "content": 1}"#,
        r#"{"name": "a", "content": "b", "confidence": 2}"#,
        r#"{"name": "a", "content": "b", "confidence": "high"}"#,
        r#"{"name": "a", "content": "b", "date": "soon"}"#,
        r#"{"name": "a", "content": "b", "occurred_at": "soon"}"#,
        r#"{"name": "a", "content": "b", "tags": ["!"]}"#,
        r#"{"name": "a", "content": "b", "triggers": "c"}"#,
        r#"{"name": "a", "content": "b", "triggers": [1]}"#,
        r#"{"name": "a", "content": "b", "path": "facts/a.md"}"#,
        r#"{"name": "a", "content": "b", "path": "skills/a.txt"}"#,
        r#"{"name": "a", "content": "b", "topic": "../x"}"#,
    ] {
        api.send(&format!("POST /v1/skills\n{{\"skills\": [{skill}]}}"));
    }
    api.send(&format!("POST /v1/skills\n{{\"skills\": [{{\"name\": \"{}\", \"content\": \"b\"}}]}}", "x".repeat(201)));
    assert_snapshot!(api.transcript());
    api.assert_nothing_counted();
}

#[test]
fn a_request_has_between_1_and_100_skills() {
    let mut api = Api::open();
    let skills = vec![r#"{"name": "a", "content": "b"}"#; 101].join(", ");
    for body in [
        "{}".to_owned(),
        r#"{"skills": []}"#.to_owned(),
        r#"{"skills": "a"}"#.to_owned(),
        format!("{{\"skills\": [{skills}]}}"),
    ] {
        api.send(&format!("POST /v1/skills\n{body}"));
    }
    assert_snapshot!(api.transcript());
    api.assert_nothing_counted();
}

/// Posts skills and returns the paths in the response.
fn store(api: &Api, skills: &Value) -> Vec<String> {
    let accepted = api.post("/v1/skills", &json!({"skills": skills}));
    assert_eq!(accepted.status, 202, "{accepted:?}");
    let paths = accepted.json()["paths"].clone();
    paths.as_array().expect("paths").iter().map(|path| path.as_str().expect("text").to_owned()).collect()
}

#[test]
fn skills_are_stored_at_the_paths_in_the_response() {
    let api = Api::open();
    let existing = json!({"content": "# Other name"});
    assert_eq!(api.post("/v1/memories/skills/general/deploy.md", &existing).status, 201);
    let first = store(
        &api,
        &json!([
            {"name": "Deploy!", "content": "a"},
            {"name": "Deploy?", "content": "b"},
            {"name": "Deploy!", "content": "c"},
            {"name": "日本", "content": "d"},
            {"name": "東京", "content": "e"},
        ]),
    );
    assert_ne!(first[3], first[4]);
    // The second request arrives before the first one is ingested.
    let second = store(&api, &json!([{"name": "Deploy?", "content": "b2"}, {"name": "Deploy.", "content": "h"}]));
    assert_eq!(second, ["skills/general/deploy-3.md", "skills/general/deploy-4.md"]);
    api.settle();
    for path in first.iter().chain(&second) {
        assert_eq!(api.get(&format!("/v1/memories/{path}")).status, 200, "{path}");
    }
    let content = |path: &str| api.get(&format!("/v1/memories/{path}")).json()["content"].clone();
    assert_eq!(content("skills/general/deploy-3.md"), "# Deploy?\n\nb2\n");
    assert_eq!(content("skills/general/deploy-2.md"), "# Deploy!\n\nc\n", "the last skill with a name wins");
    assert_eq!(content("skills/general/deploy.md"), "# Other name\n", "another skill with the same slug stays");
}

/// Opens the API with 300 skills, stored in full requests of 100.
pub(crate) fn with_300_skills() -> Api {
    let api = Api::open();
    for first in [0, 100, 200] {
        let mut skills = Vec::new();
        for number in first..first + 100 {
            skills.push(json!({"name": format!("Skill {number:03} juggling"), "content": "x"}));
        }
        assert_eq!(store(&api, &json!(skills)).len(), 100);
    }
    api.settle();
    assert!(api.get("/v1/topics").json()["topics"].to_string().contains("300"));
    api
}

#[test]
fn skills_are_listed_20_by_default_and_200_at_most() {
    let api = with_300_skills();
    for (query, length) in [("", 20), ("limit=999", 200), ("q=juggling", 20), ("q=juggling&limit=999", 200)] {
        assert_eq!(api.get(&format!("/v1/skills?{query}")).list_length("skills"), length, "{query}");
    }
}
