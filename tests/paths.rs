//! Memories by path, and the tree, topic, graph and answer views.

use serde_json::{Value, json};

use crate::support::{Answer, Server, fresh, git, wait_for};

const FRIDAYS: &str = "/v1/memories/rules/deploy/fridays.md";

/// Starts a server with a memory at the path `FRIDAYS`. Returns the response to the write.
fn server_with_memory() -> (tempfile::TempDir, Server, Answer) {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let written = server.post(
        FRIDAYS,
        &json!({
            "content": "# Deploys\r\n\r\nNever on a Friday.\n\n## Why\n\nNobody is there to mend it.",
            "tags": ["Ops", "release"], "cues": ["when may I ship?"], "occurred_at": "2026-03-01",
        }),
    );
    assert_eq!((written.status, &written.body["path"]), (201, &json!("rules/deploy/fridays.md")), "{written:?}");
    (folder, server, written)
}

/// Returns the commit in the response to a write.
fn commit_of(written: &Answer) -> &str {
    written.body["commit"].as_str().expect("a commit")
}

#[test]
fn a_memory_is_written_by_its_path_in_one_commit() {
    let (_folder, server, written) = server_with_memory();
    assert_eq!(written.body["namespace"], "default");
    let head = server.get("/v1/namespaces").body["namespaces"][0]["head"].clone();
    assert_eq!(written.body["commit"], head, "one call is one commit");
    // The next query finds the memory without a wait.
    let found = server.retrieve("default", "q=when+may+I+ship&limit=1");
    assert_eq!(found.hits()[0]["path"], "rules/deploy/fridays.md");
}

#[test]
fn a_memory_is_read_by_its_path() {
    let (_folder, server, _) = server_with_memory();
    let read = server.get(FRIDAYS);
    assert_eq!(read.status, 200, "{read:?}");
    assert_eq!(read.body["content"], "# Deploys\n\nNever on a Friday.\n\n## Why\n\nNobody is there to mend it.\n");
    assert_eq!(
        (&read.body["user_tags"], &read.body["sections"]),
        (&json!(["ops", "release"]), &json!(["Deploys", "Why"]))
    );
    assert_eq!(
        (&read.body["occurred_at"], &read.body["occurred_precision"]),
        (&json!("2026-03-01T12:00:00Z"), &json!("day"))
    );
    for path in [format!("{FRIDAYS}?section=Why"), format!("{FRIDAYS}%23Why")] {
        let section = server.get(&path);
        assert_eq!(section.body["content"], "## Why\n\nNobody is there to mend it.\n", "{path}");
    }
}

#[test]
fn a_rewritten_memory_keeps_its_earlier_revision() {
    let (_folder, server, first) = server_with_memory();
    let read = server.get(FRIDAYS);
    let second = server.post(FRIDAYS, &json!({"content": "# Deploys\n\nOn Fridays too, with two people.\n"}));
    assert_eq!(second.status, 200, "{second:?}");
    let full = server.get(&format!("{FRIDAYS}?detail=full"));
    assert_eq!(full.body["revisions"].as_array().map(Vec::len), Some(2), "{full:?}");
    assert!(full.body["last_diff"].as_str().expect("a diff").contains("-Never on a Friday."));
    assert_eq!(full.body["created_at"], read.body["created_at"]);
    let earlier = server.get(&format!("{FRIDAYS}?revision={}", commit_of(&first)));
    assert_eq!(earlier.body["content"], read.body["content"]);
    assert_eq!(git(&server.repository("default"), &["log", "-1", "--format=%s"]), "Rewrite rules/deploy/fridays.md\n");
}

#[test]
fn a_forgotten_memory_stays_in_the_history() {
    let (_folder, server, written) = server_with_memory();
    let forgotten = server.call("DELETE", FRIDAYS, None);
    assert_eq!((forgotten.status, &forgotten.body["status"]), (202, &json!("accepted")));
    wait_for("the memory to be forgotten", || server.get(FRIDAYS).status == 404);
    assert!(server.retrieve("default", "tiers=rules").hits().is_empty());
    let earlier = server.get(&format!("{FRIDAYS}?revision={}", commit_of(&written)));
    assert_eq!(earlier.status, 200, "the history of a forgotten memory stays");
    server.settle("default");
    assert_eq!(git(&server.repository("default"), &["fsck", "--strict"]), "");
}

#[test]
fn a_path_that_never_existed_can_be_forgotten() {
    let (_folder, server, _) = server_with_memory();
    assert_eq!(server.call("DELETE", "/v1/memories/facts/never/was.md", None).status, 202);
    server.settle("default");
    assert_eq!(git(&server.repository("default"), &["fsck", "--strict"]), "");
}

#[test]
fn invalid_paths_and_bodies_change_nothing() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let good = json!({"content": "x"});
    for path in ["notes/a.md", "facts/a", "facts/..%2Fa.md", "facts/.git/a.md", "facts", "vocab/a.md", "facts/a.md%23x"]
    {
        let answer = server.post(&format!("/v1/memories/{path}"), &good);
        assert_eq!((answer.status, answer.code()), (400, "invalid_path"), "{path}");
    }
    for (body, code) in [
        (json!({}), "invalid_body"),
        (json!({"content": " "}), "invalid_body"),
        (json!({"content": 1}), "invalid_body"),
        (json!({"content": "x", "cues": "y"}), "invalid_body"),
        (json!({"content": "x", "cues": vec!["y"; 65]}), "invalid_body"),
        (json!({"content": "x", "tags": ["no!"]}), "invalid_tag"),
        (json!({"content": "x", "occurred_at": "soon"}), "invalid_time"),
        (json!({"content": "x", "expires_at": "soon"}), "invalid_time"),
        (json!({"content": "x", "timezone": "Mars"}), "invalid_timezone"),
        (json!({"content": "x", "namespace": "NO"}), "invalid_namespace"),
    ] {
        let answer = server.post("/v1/memories/facts/a.md", &body);
        assert_eq!((answer.status, answer.code()), (400, code), "{body}");
    }
    let missing = server.post("/v1/memories/facts/a.md", &json!({"content": "x", "namespace": "none"}));
    assert_eq!((missing.status, missing.code()), (404, "namespace_not_found"));
    for path in
        ["facts/a.md", "facts/a.md?revision=abc", "facts/a.md?revision=0000000000000000000000000000000000000000"]
    {
        let answer = server.get(&format!("/v1/memories/{path}"));
        assert_eq!((answer.status, answer.code()), (404, "not_found"), "{path}");
    }
    assert_eq!(server.get("/v1/namespaces").body["namespaces"][0]["head"], Value::Null);
}

#[test]
fn an_expired_incident_is_not_retrieved_but_can_be_read() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    for (path, expires) in
        [("incidents/a.md", "2020-01-01"), ("incidents/b.md", "2999-01-01"), ("facts/c.md", "2020-01-01")]
    {
        let body = json!({"content": "# Quokka sighting", "expires_at": expires});
        assert_eq!(server.post(&format!("/v1/memories/{path}"), &body).status, 201);
    }
    let mut found: Vec<Value> =
        server.retrieve("default", "q=quokka").hits().iter().map(|hit| hit["path"].clone()).collect();
    found.sort_by_key(Value::to_string);
    assert_eq!(found, ["facts/c.md", "incidents/b.md"]);
    assert_eq!(server.get("/v1/memories/incidents/a.md").body["expires_at"], "2020-01-01T12:00:00Z");
}

#[test]
fn memories_are_listed_as_tree_topics_and_graph() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    for (path, content) in [
        ("facts/ann/tea.md", "# Tea\n\nSee [the kettle](kettle.md) and [[rules/house/boil.md]]."),
        ("facts/ann/kettle.md", "# Kettle"),
        ("rules/house/boil.md", "# Boil\n\nTwice. See [far](../../skills/far.md)."),
        ("skills/far.md", "# Far"),
        ("facts/lone.md", "# Lone"),
    ] {
        assert_eq!(server.post(&format!("/v1/memories/{path}"), &json!({"content": content})).status, 201);
    }
    let entries = |path: &str| {
        let answer = server.get(&format!("/v1/tree?path={path}"));
        let entries = answer.body["entries"].as_array().expect("entries").clone();
        entries
            .iter()
            .map(|e| {
                format!("{} {} {}", e["kind"].as_str().unwrap_or(""), e["path"].as_str().unwrap_or(""), e["memories"])
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(entries(""), ["directory facts 3", "directory rules 1", "directory skills 1"]);
    assert_eq!(entries("facts/"), ["directory facts/ann 2", "memory facts/lone.md null"]);
    assert_eq!(server.get("/v1/tree?path=../etc").code(), "invalid_path");

    let topics = server.get("/v1/topics").body["topics"].as_array().expect("topics").clone();
    let topics: Vec<String> = topics
        .iter()
        .map(|t| {
            format!("{}/{} {}", t["tier"].as_str().unwrap_or(""), t["topic"].as_str().unwrap_or(""), t["memories"])
        })
        .collect();
    assert_eq!(topics, ["facts/ 1", "facts/ann 2", "rules/house 1", "skills/ 1"]);

    let nodes = |query: &str| {
        let answer = server.get(&format!("/v1/graph?{query}"));
        assert_eq!(answer.status, 200, "{answer:?}");
        let mut nodes: Vec<String> = answer.body["nodes"]
            .as_array()
            .expect("nodes")
            .iter()
            .map(|n| n["title"].as_str().unwrap_or("").to_owned())
            .collect();
        nodes.sort();
        (nodes, answer.body["edges"].as_array().map_or(0, Vec::len))
    };
    let texts = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(nodes("path=facts/ann/kettle.md"), (texts(&["Kettle", "Tea"]), 1));
    assert_eq!(nodes("path=facts/ann/kettle.md&depth=2"), (texts(&["Boil", "Kettle", "Tea"]), 2));
    assert_eq!(nodes("path=facts/ann/kettle.md&depth=3"), (texts(&["Boil", "Far", "Kettle", "Tea"]), 3));
    assert_eq!(nodes(""), (texts(&["Boil", "Far", "Kettle", "Lone", "Tea"]), 3));
    assert_eq!(nodes("limit=2").0.len(), 2);
    for (query, status, code) in [
        ("depth=4", 400, "invalid_depth"),
        ("limit=0", 400, "invalid_limit"),
        ("path=x", 400, "invalid_path"),
        ("path=facts/no.md", 404, "not_found"),
    ] {
        let answer = server.get(&format!("/v1/graph?{query}"));
        assert_eq!((answer.status, answer.code()), (status, code), "{query}");
    }
}

#[test]
fn a_question_is_answered_by_quoting_memories_or_not_at_all() {
    let (_folder, data) = fresh();
    let server = Server::start_with_models(&data, "");
    let content = "# Greenhouse\n\nThe greenhouse thermostat is a Brandt 400. It sits by the door.\n\n## Service\n\nThe thermostat battery lasts nine months.\n";
    assert_eq!(
        server.post("/v1/memories/facts/greenhouse.md", &json!({"content": content, "tags": ["garden"]})).status,
        201
    );
    let answer = server.post(
        "/v1/answer",
        &json!({"q": "How long does the thermostat battery last?", "tags": ["garden"], "limit": 3.0}),
    );
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body["answer"].as_str().expect("text").contains("nine months"), "{answer:?}");
    assert_eq!(answer.body["model"], "extractive");
    let citation = &answer.body["citations"][0];
    assert_eq!((&citation["path"], &citation["section"]), (&json!("facts/greenhouse.md"), &json!("Service")));
    assert!(content.contains(citation["quote"].as_str().expect("a quote")));
    assert_eq!(answer.body["hits"][0]["path"], "facts/greenhouse.md");

    let none = server.post("/v1/answer", &json!({"q": "zzyzx?"}));
    assert_eq!((none.status, none.code()), (404, "no_answer"));
    let filtered = server.post("/v1/answer", &json!({"q": "thermostat battery", "tags": ["other"]}));
    assert_eq!((filtered.status, filtered.code()), (404, "no_answer"));
    for (body, code) in [
        (json!({}), "missing_query"),
        (json!({"q": "x", "tiers": ["notes"]}), "invalid_tier"),
        (json!({"q": "x", "limit": 0}), "invalid_limit"),
        (json!({"q": 5}), "invalid_body"),
    ] {
        let answer = server.post("/v1/answer", &body);
        assert_eq!((answer.status, answer.code()), (400, code), "{body}");
    }
}

#[test]
fn the_history_of_an_earlier_revision_ends_with_it() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let path = "/v1/memories/facts/boat.md";
    let mut commits = Vec::new();
    for colour in ["green", "blue", "red"] {
        let written = server.post(path, &json!({"content": format!("# The boat\n\nIt is {colour}.\n")}));
        commits.push(written.body["commit"].clone());
        // A commit of another memory between two revisions is not in the history of the boat.
        server.post("/v1/memories/facts/oar.md", &json!({"content": format!("# The oar of the {colour} boat\n")}));
    }
    let history_at = |revision: &Value| {
        let revision = revision.as_str().expect("a commit");
        let read = server.get(&format!("{path}?revision={revision}&detail=full")).body;
        let revisions = read["revisions"].as_array().expect("revisions").clone();
        let ids: Vec<Value> = revisions.iter().map(|revision| revision["commit"].clone()).collect();
        (ids, read["last_diff"].as_str().expect("a diff").to_owned())
    };
    let (first, added) = history_at(&commits[0]);
    assert_eq!(first, [commits[0].clone()]);
    assert!(added.contains("+It is green."), "{added}");
    let (second, changed) = history_at(&commits[1]);
    assert_eq!(second, [commits[1].clone(), commits[0].clone()]);
    assert!(changed.contains("-It is green.") && changed.contains("+It is blue."), "{changed}");
    // The history at a commit that did not change the boat.
    let oar = server.get("/v1/memories/facts/oar.md?detail=full").body["revisions"][1]["commit"].clone();
    assert_eq!(history_at(&oar).0, [commits[1].clone(), commits[0].clone()]);
}
