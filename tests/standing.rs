//! Standing facts in contexts: a request brings conditions and rules to mind that it does not name.

use serde_json::{Value, json};

use crate::support::{Server, fresh, git};

const ALLERGY: &str = "By the way, Ruth is allergic to walnuts.";
const RULE: &str = "From now on, please no emojis.";

/// Stores two exchanges of a chat and a rule that a person wrote.
fn server_with_standing_facts() -> (tempfile::TempDir, Server) {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    for (said, at) in [
        ("We painted the boathouse blue.", "2026-03-01T09:00:00Z"),
        (ALLERGY, "2026-03-02T09:00:00Z"),
        (RULE, "2026-03-03T09:00:00Z"),
    ] {
        let body = json!({"messages": [{"role": "user", "content": said}], "occurred_at": at});
        let written = server.post("/v1/memories?wait=30", &body);
        assert_eq!(written.body["status"], "ingested", "{written:?}");
    }
    let rule = json!({"content": "# Never deploy on a Friday\n", "occurred_at": "2026-03-04"});
    assert_eq!(server.post("/v1/memories/rules/deploy.md", &rule).status, 201);
    (folder, server)
}

/// Returns the lines of a context that are standing facts, and whether each of their citations says so.
fn standing(server: &Server, query: &str) -> Vec<String> {
    let context = server.get(&format!("/v1/context?marks=off&{query}")).body;
    let citations = context["citations"].as_array().cloned().unwrap_or_default();
    let count = citations.iter().filter(|citation| citation["standing"] == Value::Bool(true)).count();
    let text = context["text"].as_str().expect("a text");
    let part = text.split("\n\n").next().unwrap_or("");
    if count == 0 {
        return Vec::new();
    }
    let lines: Vec<String> = part.lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), count, "{context}");
    lines
}

#[test]
fn a_request_begins_with_the_conditions_of_its_topic() {
    let (_folder, server) = server_with_standing_facts();
    let allergy = format!("- 2 Mar 2026 User: {ALLERGY}");
    for query in ["q=Suggest+a+cake+recipe+for+Sunday", "q=Schlag+mir+ein+Rezept+vor"] {
        assert_eq!(standing(&server, query), [&*allergy], "{query}");
    }
}

#[test]
fn a_request_begins_with_the_rules_that_it_touches_the_newest_first() {
    let (_folder, server) = server_with_standing_facts();
    assert_eq!(standing(&server, "q=Write+a+short+letter+to+the+council"), [format!("- 3 Mar 2026 User: {RULE}")]);
    assert_eq!(standing(&server, "q=Please+deploy+the+new+version"), ["- 4 Mar 2026 Never deploy on a Friday"]);
}

#[test]
fn a_question_and_a_request_about_something_else_have_no_standing_facts() {
    let (_folder, server) = server_with_standing_facts();
    for query in ["q=What+did+we+paint%3F", "q=Suggest+a+name+for+the+boat"] {
        assert!(standing(&server, query).is_empty(), "{query}");
    }
}

#[test]
fn standing_facts_can_be_left_out_or_all_be_shown() {
    let (_folder, server) = server_with_standing_facts();
    assert!(standing(&server, "q=Suggest+a+cake+recipe&standing=off").is_empty());
    assert_eq!(standing(&server, "q=What+did+we+paint%3F&standing=all").len(), 3);
}

#[test]
fn a_condition_that_was_forgotten_stands_no_more() {
    let (_folder, server) = server_with_standing_facts();
    let context = server.get("/v1/context?q=Suggest+a+cake+recipe").body;
    let path = context["citations"][0]["path"].as_str().expect("a path").to_owned();
    assert!(matches!(server.call("DELETE", &format!("/v1/memories/{path}"), None).status, 200..=204));
    server.settle("default");
    assert!(standing(&server, "q=Suggest+a+cake+recipe").is_empty());
}

#[test]
fn somebody_can_say_whether_a_memory_stands() {
    let (folder, server) = server_with_standing_facts();
    let repository = server.repository("default");
    git(folder.path(), &["clone", "-q", repository.to_str().expect("a path"), "copy"]);
    let copy = folder.path().join("copy");
    for (path, text) in [
        ("facts/boat.md", "---\nstanding: true\n---\n# The boat is moored at pier nine\n"),
        ("rules/deploy.md", "---\nstanding: false\n---\n# Never deploy on a Friday\n"),
    ] {
        std::fs::write(copy.join(path), text).expect("writes");
    }
    git(&copy, &["add", "."]);
    git(&copy, &["-c", "user.name=P", "-c", "user.email=p@example.org", "commit", "-qm", "by hand"]);
    git(&copy, &["push", "-q"]);
    server.settle("default");
    let all = standing(&server, "q=What+did+we+paint%3F&standing=all");
    assert_eq!(all.len(), 3, "{all:?}");
    assert!(
        all.iter().any(|line| line.contains("pier nine")) && !all.iter().any(|line| line.contains("deploy")),
        "{all:?}"
    );
}
