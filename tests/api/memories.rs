//! Memories by path: direct writes, reads, revisions, removal; and all memories as tree, topics and graph.

use insta::assert_snapshot;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::support::Api;

/// A direct write with every field.
const FRIDAYS: &str = r##"POST /v1/memories/rules/deploy/fridays.md
    {"content": "# Deploys\r\n\r\nNever on a Friday.\n\n## Why\n\nNobody is there to mend it.", "tags": ["Ops", "release"], "cues": ["when may I ship?"], "occurred_at": "2026-03-01"}"##;

#[test]
fn a_memory_is_written_and_read_by_its_path() {
    let mut api = Api::open();
    api.send(FRIDAYS);
    api.send(
        "GET /v1/memories/rules/deploy/fridays.md

        GET /v1/memories/rules/deploy/fridays.md?section=Why

        GET /v1/memories/rules/deploy/fridays.md%23Why

        GET /v1/memories/rules/deploy/fridays.md?section=None",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn a_direct_write_is_one_commit_and_found_at_once() {
    let api = Api::open();
    let written = api.answer(FRIDAYS).json();
    let listed = api.get("/v1/namespaces").json();
    assert_eq!(written["commit"], listed["namespaces"][0]["head"], "one call is one commit");
    let found = api.get("/v1/retrieve?q=when+may+I+ship&limit=1").hits();
    assert_eq!(found[0]["path"], "rules/deploy/fridays.md");
}

#[test]
fn a_rewritten_memory_keeps_its_earlier_revision() {
    let mut api = Api::open();
    api.send(FRIDAYS);
    api.advance(SignedDuration::from_hours(26));
    api.send(
        r##"POST /v1/memories/rules/deploy/fridays.md
        {"content": "# Deploys\n\nOn Fridays too, with two people.\n"}

        GET /v1/memories/rules/deploy/fridays.md?detail=full

        GET /v1/memories/rules/deploy/fridays.md?revision=[commit-1]"##,
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn a_forgotten_memory_stays_in_the_history() {
    let mut api = Api::open();
    api.send(FRIDAYS);
    api.send("DELETE /v1/memories/rules/deploy/fridays.md");
    api.settle();
    api.send(
        "GET /v1/memories/rules/deploy/fridays.md

        GET /v1/retrieve?tiers=rules

        GET /v1/memories/rules/deploy/fridays.md?revision=[commit-1]

        DELETE /v1/memories/facts/never/was.md",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn invalid_paths_of_memories_are_rejected() {
    let mut api = Api::open();
    for path in ["notes/a.md", "facts/a", "facts/..%2Fa.md", "facts/.git/a.md", "facts", "vocab/a.md", "facts/a.md%23x"]
    {
        api.send(&format!("POST /v1/memories/{path}\n{{\"content\": \"x\"}}"));
    }
    api.send("GET /v1/memories/facts/..%2Fa.md\n\nDELETE /v1/memories/facts");
    assert_snapshot!(api.transcript());
}

#[test]
fn each_field_of_a_direct_write_is_checked() {
    let mut api = Api::open();
    for body in [
        r#"{}"#,
        r#"{"content": " "}"#,
        r#"{"content": 1}"#,
        r#"{"content": "x", "cues": "y"}"#,
        r#"{"content": "x", "cues": [1]}"#,
        r#"{"content": "x", "tags": ["no!"]}"#,
        r#"{"content": "x", "tags": "ops"}"#,
        r#"{"content": "x", "occurred_at": "soon"}"#,
        r#"{"content": "x", "date": "soon"}"#,
        r#"{"content": "x", "expires_at": "soon"}"#,
        r#"{"content": "x", "timezone": "Mars"}"#,
        r#"{"content": "x", "namespace": "NO"}"#,
    ] {
        api.send(&format!("POST /v1/memories/facts/a.md\n{body}"));
    }
    let cues = vec!["\"y\""; 65].join(", ");
    api.send(&format!("POST /v1/memories/facts/a.md\n{{\"content\": \"x\", \"cues\": [{cues}]}}"));
    api.send("GET /v1/tree");
    assert_snapshot!(api.transcript());
    assert_eq!(api.get("/v1/namespaces").json()["namespaces"][0]["head"], Value::Null);
    api.assert_nothing_counted();
}

#[test]
fn a_memory_has_at_most_32_tags_of_64_characters() {
    let mut api = Api::open();
    let most = (0..32).map(|number| format!("\"t{number}\"")).collect::<Vec<String>>().join(", ");
    for tags in
        [most.clone(), format!("\"{}\"", "x".repeat(64)), format!("{most}, \"t32\""), format!("\"{}\"", "x".repeat(65))]
    {
        api.send(&format!("POST /v1/memories/facts/t.md\n{{\"content\": \"x\", \"tags\": [{tags}]}}"));
    }
    assert_snapshot!(api.transcript());
}

#[test]
fn unknown_paths_and_revisions_are_not_found() {
    let mut api = Api::open();
    api.send(
        "GET /v1/memories/facts/a.md

        GET /v1/memories/facts/a.md?revision=abc

        GET /v1/memories/facts/a.md?revision=0000000000000000000000000000000000000000",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn an_incident_expires_when_the_clock_passes_its_time() {
    let mut api = Api::open();
    api.send(
        r##"POST /v1/memories/incidents/quokka.md
        {"content": "# Quokka sighting", "expires_at": "2026-05-05"}

        GET /v1/retrieve?q=quokka"##,
    );
    api.advance(SignedDuration::from_hours(48));
    api.send(
        "GET /v1/retrieve?q=quokka

        GET /v1/memories/incidents/quokka.md",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn only_incidents_expire() {
    let api = Api::open();
    for (path, expires) in
        [("incidents/a.md", "2020-01-01"), ("incidents/b.md", "2999-01-01"), ("facts/c.md", "2020-01-01")]
    {
        let body = json!({"content": "# Quokka sighting", "expires_at": expires});
        assert_eq!(api.post(&format!("/v1/memories/{path}"), &body).status, 201);
    }
    let mut found: Vec<String> = api.get("/v1/retrieve?q=quokka").hits().iter().map(path_of).collect();
    found.sort();
    assert_eq!(found, ["facts/c.md", "incidents/b.md"]);
    assert_eq!(api.get("/v1/memories/incidents/a.md").json()["expires_at"], "2020-01-01T12:00:00Z");
}

/// Returns the path of a hit.
fn path_of(hit: &Value) -> String {
    hit["path"].as_str().expect("a path").to_owned()
}

/// Opens the API with five memories, some of which refer to each other.
fn with_linked_memories() -> Api {
    let api = Api::open();
    for (path, content) in [
        ("facts/ann/tea.md", r"# Tea\n\nSee [the kettle](kettle.md) and [[rules/house/boil.md]]."),
        ("facts/ann/kettle.md", "# Kettle"),
        ("rules/house/boil.md", r"# Boil\n\nTwice. See [far](../../skills/far.md)."),
        ("skills/far.md", "# Far"),
        ("facts/lone.md", "# Lone"),
    ] {
        let written = api.answer(&format!("POST /v1/memories/{path}\n{{\"content\": \"{content}\"}}"));
        assert_eq!(written.status, 201, "{path}");
    }
    api
}

#[test]
fn memories_are_listed_as_a_tree() {
    let mut api = with_linked_memories();
    api.send(
        "GET /v1/tree

        GET /v1/tree?path=facts/

        GET /v1/tree?path=facts/nobody

        GET /v1/tree?path=../etc",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn memories_are_counted_by_topic() {
    let mut api = with_linked_memories();
    api.send("GET /v1/topics");
    assert_snapshot!(api.transcript());
}

#[test]
fn relations_between_memories_are_a_graph() {
    let mut api = with_linked_memories();
    api.send(
        "GET /v1/graph

        GET /v1/graph?path=facts/ann/kettle.md&depth=2

        GET /v1/graph?limit=2",
    );
    assert_snapshot!(api.transcript());
    for (query, expected, edges) in [
        ("path=facts/ann/kettle.md", vec!["Kettle", "Tea"], 1),
        ("path=facts/ann/kettle.md&depth=3", vec!["Boil", "Far", "Kettle", "Tea"], 3),
    ] {
        let answer = api.get(&format!("/v1/graph?{query}"));
        let body = answer.json();
        let nodes = body["nodes"].as_array().expect("nodes");
        let mut titles: Vec<&str> = nodes.iter().map(|node| node["title"].as_str().expect("a title")).collect();
        titles.sort_unstable();
        assert_eq!((titles, answer.list_length("edges")), (expected, edges), "{query}");
    }
}

#[test]
fn each_parameter_of_the_graph_is_checked() {
    let mut api = with_linked_memories();
    api.send(
        "GET /v1/graph?depth=4

        GET /v1/graph?limit=0

        GET /v1/graph?limit=10001

        GET /v1/graph?path=x

        GET /v1/graph?path=facts/no.md",
    );
    assert_snapshot!(api.transcript());
}

/// Returns the commits and the last change in the history that a memory had at a revision.
fn history_at(api: &Api, path: &str, revision: &Value) -> (Vec<Value>, String) {
    let revision = revision.as_str().expect("a commit");
    let read = api.get(&format!("{path}?revision={revision}&detail=full")).json();
    let revisions = read["revisions"].as_array().expect("revisions");
    let commits = revisions.iter().map(|revision| revision["commit"].clone()).collect();
    (commits, read["last_diff"].as_str().expect("a diff").to_owned())
}

#[test]
fn the_history_of_an_earlier_revision_ends_with_it() {
    let api = Api::open();
    let path = "/v1/memories/facts/boat.md";
    let mut commits = Vec::new();
    for colour in ["green", "blue", "red"] {
        let written = api.post(path, &json!({"content": format!("# The boat\n\nIt is {colour}.\n")}));
        commits.push(written.json()["commit"].clone());
        // A commit of another memory between two revisions is not in the history of the boat.
        api.post("/v1/memories/facts/oar.md", &json!({"content": format!("# The oar of the {colour} boat\n")}));
    }
    let (first, added) = history_at(&api, path, &commits[0]);
    assert_eq!(first, [commits[0].clone()]);
    assert!(added.contains("+It is green."), "{added}");
    let (second, changed) = history_at(&api, path, &commits[1]);
    assert_eq!(second, [commits[1].clone(), commits[0].clone()]);
    assert!(changed.contains("-It is green.") && changed.contains("+It is blue."), "{changed}");
    // The history at a commit that did not change the boat.
    let oar = api.get("/v1/memories/facts/oar.md?detail=full").json()["revisions"][1]["commit"].clone();
    assert_eq!(history_at(&api, path, &oar).0, [commits[1].clone(), commits[0].clone()]);
}
