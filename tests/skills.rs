//! Storing, finding and listing skills.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Server, fresh, wait_for};

const KEY_SKILL: &str = "skills/security/rotate-the-signing-key.md";
const FERN_SKILL: &str = "skills/general/water-the-fern.md";

fn start() -> (TempDir, Server) {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    (folder, server)
}

/// Stores skills and returns the paths in the response.
fn store(server: &Server, skills: &Value) -> Vec<String> {
    let answer = server.post("/v1/skills", &json!({"skills": skills}));
    assert_eq!((answer.status, &answer.body["status"]), (202, &json!("accepted")), "{answer:?}");
    answer.body["paths"].as_array().expect("paths").iter().map(|path| path.as_str().expect("text").to_owned()).collect()
}

fn exists(server: &Server, path: &str) -> bool {
    server.get(&format!("/v1/memories/{path}")).status == 200
}

/// Returns the content of a skill, or null.
fn content(server: &Server, path: &str) -> Value {
    server.get(&format!("/v1/memories/{path}")).body["content"].clone()
}

/// Returns the skills that a listing or query shows.
fn listed(server: &Server, query: &str) -> Vec<Value> {
    let answer = server.get(&format!("/v1/skills?{query}"));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body["skills"].as_array().expect("skills").clone()
}

/// Starts a server with a skill that has every field and a skill with name and content only.
fn server_with_two_skills() -> (TempDir, Server) {
    let (folder, server) = start();
    let key = json!({
        "name": "Rotate the signing key",
        "description": "Replace the key that signs sessions",
        "content": "## Before\n\nTell everyone.\n\n## Steps\n\n1. Make a key.",
        "topic": "security",
        "tags": ["Ops"],
        "triggers": ["the key leaked"],
        "confidence": 0.9,
        "date": "2026-02-03",
    });
    let fern = json!({"name": "Water the fern", "content": "Once a week."});
    let paths = store(&server, &json!([key, fern]));
    assert_eq!(paths, [KEY_SKILL, FERN_SKILL]);
    wait_for("the skills to be stored", || paths.iter().all(|path| exists(&server, path)));
    (folder, server)
}

#[test]
fn a_skill_is_found_by_its_task() {
    let (_folder, server) = server_with_two_skills();
    let found = listed(&server, "q=somebody+leaked+our+key");
    let first = &found[0];
    assert_eq!((&first["path"], &first["topic"]), (&json!(KEY_SKILL), &json!("security")));
    assert_eq!(
        (&first["name"], &first["description"]),
        (&json!("Rotate the signing key"), &json!("Replace the key that signs sessions"))
    );
    assert_eq!((&first["tags"], &first["triggers"]), (&json!(["ops"]), &json!(["the key leaked"])));
    let text = first["content"].as_str().expect("text");
    assert!(text.starts_with("# Rotate the signing key\n\nReplace the key that signs sessions\n\n## Before"), "{text}");
    assert!(first["score"].as_f64().is_some_and(|score| (0.0..=1.0).contains(&score)), "{first}");
    assert!(!first["matched"].as_array().expect("arms").is_empty(), "{first}");
}

#[test]
fn a_stored_skill_is_a_memory_with_sections_and_a_date() {
    let (_folder, server) = server_with_two_skills();
    let section = server.get(&format!("/v1/memories/{KEY_SKILL}?section=Steps"));
    assert_eq!(section.body["content"], "## Steps\n\n1. Make a key.\n");
    assert_eq!(section.body["occurred_at"], "2026-02-03T12:00:00Z");
}

#[test]
fn skills_are_listed_without_scores() {
    let (_folder, server) = server_with_two_skills();
    let skills = listed(&server, "");
    assert_eq!(skills.len(), 2);
    assert!(skills.iter().all(|skill| skill.get("score").is_none() && skill.get("matched").is_none()), "{skills:?}");
    assert_eq!(skills[0]["triggers"], json!(["Water the fern"]), "triggers default to name and description");
}

/// A filter of the listing, and the number of skills that pass it.
struct Filter {
    query: &'static str,
    skills: usize,
}

#[test]
fn the_list_of_skills_can_be_filtered() {
    let (_folder, server) = server_with_two_skills();
    let filters = [
        Filter { query: "paths=security", skills: 1 },
        Filter { query: "paths=general,security", skills: 2 },
        Filter { query: "tags=ops", skills: 1 },
        Filter { query: "limit=1", skills: 1 },
    ];
    let mut failures = Vec::new();
    for filter in filters {
        let skills = listed(&server, filter.query).len();
        if skills != filter.skills {
            failures.push(format!("{}: {skills} skills, expected {}", filter.query, filter.skills));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn a_skill_with_the_same_name_and_topic_is_rewritten_in_place() {
    let (_folder, server) = server_with_two_skills();
    assert_eq!(store(&server, &json!([{"name": "Water the fern", "description": "Every day"}])), [FERN_SKILL]);
    wait_for("the skill to be rewritten", || {
        listed(&server, "paths=general").first().is_some_and(|skill| skill["description"] == "Every day")
    });
    assert_eq!(listed(&server, "").len(), 2);
}

/// Paths of two batches of skills whose names collide with each other and with an existing skill.
struct Collisions {
    first_batch: Vec<String>,
    second_batch: Vec<String>,
    server: Server,
    /// Keeps the temporary folder.
    _folder: TempDir,
}

impl Collisions {
    fn new() -> Self {
        let (folder, server) = start();
        let existing = json!({"content": "# Other name"});
        assert_eq!(server.post("/v1/memories/skills/general/deploy.md", &existing).status, 201);
        let first_batch = store(
            &server,
            &json!([
                {"name": "Deploy!", "content": "a"},
                {"name": "Deploy?", "content": "b"},
                {"name": "Deploy!", "content": "c"},
                {"name": "日本", "content": "d"},
                {"name": "東京", "content": "e"},
                {"name": "x", "content": "f", "path": "skills/own/place.md"},
                {"name": "Deploy", "content": "g", "topic": "Big Team/Web"},
            ]),
        );
        // The second batch arrives before the first one is ingested.
        let second_batch =
            store(&server, &json!([{"name": "Deploy?", "content": "b2"}, {"name": "Deploy.", "content": "h"}]));
        Self { first_batch, second_batch, server, _folder: folder }
    }

    fn wait_until_stored(&self) {
        let (first, second) = (&self.first_batch, &self.second_batch);
        wait_for("all skills", || first.iter().chain(second).all(|path| exists(&self.server, path)));
    }
}

#[test]
fn skills_with_colliding_names_get_different_paths() {
    let collisions = Collisions::new();
    let paths = &collisions.first_batch;
    assert_eq!(&paths[..3], ["skills/general/deploy-2.md", "skills/general/deploy-3.md", "skills/general/deploy-2.md"]);
    assert_ne!(paths[3], paths[4]);
    assert_eq!((paths[5].as_str(), paths[6].as_str()), ("skills/own/place.md", "skills/big-team/web/deploy.md"));
    assert_eq!(collisions.second_batch, ["skills/general/deploy-3.md", "skills/general/deploy-4.md"]);
}

#[test]
fn skills_are_stored_at_the_paths_in_the_response() {
    let collisions = Collisions::new();
    collisions.wait_until_stored();
    let server = &collisions.server;
    wait_for("the rewrite", || content(server, &collisions.second_batch[0]) == "# Deploy?\n\nb2\n");
    assert_eq!(content(server, &collisions.first_batch[0]), "# Deploy!\n\nc\n", "the last skill with a name wins");
}

#[test]
fn an_existing_skill_with_the_same_slug_is_not_changed() {
    let collisions = Collisions::new();
    collisions.wait_until_stored();
    assert_eq!(content(&collisions.server, "skills/general/deploy.md"), "# Other name\n");
}
