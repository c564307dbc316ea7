//! Storing, finding and listing skills.

use serde_json::{Value, json};

use crate::support::{Server, fresh, wait_for};

fn store(server: &Server, skills: &Value) -> Vec<String> {
    let answer = server.post("/v1/skills", &json!({"skills": skills}));
    assert_eq!((answer.status, &answer.body["status"]), (202, &json!("accepted")), "{answer:?}");
    answer.body["paths"].as_array().expect("paths").iter().map(|path| path.as_str().expect("text").to_owned()).collect()
}

fn exists(server: &Server, path: &str) -> bool {
    server.get(&format!("/v1/memories/{path}")).status == 200
}

#[test]
fn a_skill_is_stored_found_by_its_task_and_listed() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let paths = store(
        &server,
        &json!([
            {"name": "Rotate the signing key", "description": "Replace the key that signs sessions", "content": "## Before\n\nTell everyone.\n\n## Steps\n\n1. Make a key.", "topic": "security", "tags": ["Ops"], "triggers": ["the key leaked"], "confidence": 0.9, "date": "2026-02-03"},
            {"name": "Water the fern", "content": "Once a week."},
        ]),
    );
    assert_eq!(paths, ["skills/security/rotate-the-signing-key.md", "skills/general/water-the-fern.md"]);
    wait_for("the skills to be stored", || paths.iter().all(|path| exists(&server, path)));

    let found = server.get("/v1/skills?q=somebody+leaked+our+key");
    assert_eq!(found.status, 200, "{found:?}");
    let first = &found.body["skills"][0];
    assert_eq!((&first["path"], &first["topic"]), (&json!(paths[0]), &json!("security")));
    assert_eq!(
        (&first["name"], &first["description"]),
        (&json!("Rotate the signing key"), &json!("Replace the key that signs sessions"))
    );
    assert_eq!((&first["tags"], &first["triggers"]), (&json!(["ops"]), &json!(["the key leaked"])));
    assert!(
        first["content"]
            .as_str()
            .expect("text")
            .starts_with("# Rotate the signing key\n\nReplace the key that signs sessions\n\n## Before")
    );
    assert!(
        first["score"].as_f64().is_some_and(|score| (0.0..=1.0).contains(&score))
            && !first["matched"].as_array().expect("arms").is_empty()
    );
    let section = server.get(&format!("/v1/memories/{}?section=Steps", paths[0]));
    assert_eq!(section.body["content"], "## Steps\n\n1. Make a key.\n");
    assert_eq!(section.body["occurred_at"], "2026-02-03T12:00:00Z");

    let listed = server.get("/v1/skills");
    let skills = listed.body["skills"].as_array().expect("skills");
    assert_eq!(skills.len(), 2);
    assert!(skills.iter().all(|skill| skill.get("score").is_none() && skill.get("matched").is_none()));
    assert_eq!(skills[0]["triggers"], json!(["Water the fern"]), "triggers default to name and description");
    let count = |query: &str| server.get(&format!("/v1/skills?{query}")).body["skills"].as_array().map(Vec::len);
    assert_eq!(
        (count("paths=security"), count("paths=general,security"), count("tags=ops"), count("limit=1")),
        (Some(1), Some(2), Some(1), Some(1))
    );

    // The same name and topic: rewritten where it is.
    assert_eq!(
        store(&server, &json!([{"name": "Water the fern", "description": "Every day"}])),
        ["skills/general/water-the-fern.md"]
    );
    wait_for("the skill to be rewritten", || {
        server.get("/v1/skills?paths=general").body["skills"][0]["description"] == "Every day"
    });
    assert_eq!(count(""), Some(2));
}

#[test]
fn promised_paths_are_the_ones_that_come_to_exist_also_when_names_collide() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    assert_eq!(server.post("/v1/memories/skills/general/deploy.md", &json!({"content": "# Other name"})).status, 201);
    let paths = store(
        &server,
        &json!([
            {"name": "Deploy!", "content": "a"}, {"name": "Deploy?", "content": "b"}, {"name": "Deploy!", "content": "c"},
            {"name": "日本", "content": "d"}, {"name": "東京", "content": "e"}, {"name": "x", "content": "f", "path": "skills/own/place.md"},
            {"name": "Deploy", "content": "g", "topic": "Big Team/Web"},
        ]),
    );
    // Another batch before the first one can be in.
    let more = store(&server, &json!([{"name": "Deploy?", "content": "b2"}, {"name": "Deploy.", "content": "h"}]));
    assert_eq!(&paths[..3], ["skills/general/deploy-2.md", "skills/general/deploy-3.md", "skills/general/deploy-2.md"]);
    assert_ne!(paths[3], paths[4]);
    assert_eq!((paths[5].as_str(), paths[6].as_str()), ("skills/own/place.md", "skills/big-team/web/deploy.md"));
    assert_eq!(more, ["skills/general/deploy-3.md", "skills/general/deploy-4.md"]);
    wait_for("all of them", || paths.iter().chain(&more).all(|path| exists(&server, path)));
    let content = |path: &str| server.get(&format!("/v1/memories/{path}")).body["content"].clone();
    wait_for("the rewrite", || content(&more[0]) == "# Deploy?\n\nb2\n");
    assert_eq!(content(&paths[0]), "# Deploy!\n\nc\n", "the last of two with one name counts");
    assert_eq!(content("skills/general/deploy.md"), "# Other name\n", "the one that was there is untouched");
}
