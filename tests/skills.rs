//! Skills over HTTP. The routes are tested in `tests/api`.

use serde_json::json;

use crate::support::{Server, fresh};

#[test]
fn a_stored_skill_is_found_by_its_task() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let skills = json!([
        {"name": "Rotate the signing key", "content": "1. Make a key.", "topic": "security",
         "triggers": ["the key leaked"]},
        {"name": "Water the fern", "content": "Once a week."},
    ]);
    let stored = server.post("/v1/skills", &json!({"skills": skills}));
    assert_eq!(stored.status, 202, "{stored:?}");
    server.settle("default");
    let found = server.get("/v1/skills?q=somebody+leaked+our+key");
    assert_eq!(found.body["skills"][0]["path"], "skills/security/rotate-the-signing-key.md", "{found:?}");
}
