//! Memories by path in the repository. The routes are tested in `tests/api`.

use serde_json::json;

use crate::support::{Server, fresh, git};

#[test]
fn forgetting_leaves_an_intact_repository() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let path = "/v1/memories/rules/deploy/fridays.md";
    let written = server.post(path, &json!({"content": "# Deploys\n\nNever on a Friday.\n"}));
    assert_eq!(written.status, 201, "{written:?}");
    assert_eq!(server.get(path).body["content"], "# Deploys\n\nNever on a Friday.\n");
    for forgotten in [path, "/v1/memories/facts/never/was.md"] {
        assert_eq!(server.call("DELETE", forgotten, None).status, 202, "{forgotten}");
        server.settle("default");
        assert_eq!(git(&server.repository("default"), &["fsck", "--strict"]), "");
    }
    assert_eq!(server.get(path).status, 404);
    let subjects = git(&server.repository("default"), &["log", "--format=%s"]);
    assert!(subjects.contains("Write rules/deploy/fridays.md\n"), "{subjects}");
}
