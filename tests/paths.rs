//! Memories by path in the repository. The routes are tested in `tests/api`.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::{Server, fresh, git, repository, run};

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

/// A path whose directory has the name of a memory.
const MISNAMED: &str = "facts/a.md/b.md";

#[test]
fn only_the_last_segment_of_a_path_may_end_in_md() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let content = json!({"content": "# A\n"});
    assert_eq!(server.post("/v1/memories/facts/a.md", &content).status, 201);
    let supersedes = json!({"content": "# C\n", "supersedes": [MISNAMED]});
    let explain = json!({"q": "a", "path": MISNAMED});
    for (method, target, body) in [
        ("POST", format!("/v1/memories/{MISNAMED}"), Some(&content)),
        ("GET", format!("/v1/memories/{MISNAMED}"), None),
        ("DELETE", format!("/v1/memories/{MISNAMED}"), None),
        ("POST", "/v1/memories/facts/c.md".to_owned(), Some(&supersedes)),
        ("POST", "/v1/explain".to_owned(), Some(&explain)),
        ("GET", format!("/v1/graph?path={MISNAMED}"), None),
        ("GET", format!("/v1/timeline?path={MISNAMED}"), None),
        ("GET", "/v1/tree?path=facts/a.md/b".to_owned(), None),
    ] {
        let refused = server.call(method, &target, body);
        assert_eq!((refused.status, refused.code()), (400, "invalid_path"), "{method} {target}: {refused:?}");
        let message = refused.body["error"]["message"].as_str().expect("a message");
        assert!(message.contains("rename the directory facts/a.md"), "{method} {target}: {message}");
    }
    let refused = server.get(&format!("/v1/retrieve?q=a&paths={MISNAMED}"));
    assert_eq!((refused.status, &refused.body["error"]), (400, &json!("invalid_path")), "{refused:?}");
    assert_eq!(server.post("/v1/memories/facts/d.md", &content).status, 201);
    assert_eq!(server.get("/v1/memories/facts/a.md").status, 200);
}

#[test]
fn the_topic_of_a_skill_never_ends_in_md() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let skill =
        json!({"name": "Deploy", "description": "Every release", "content": "Push the tag.", "topic": "release.md"});
    let accepted = server.post("/v1/skills?wait=30", &json!({"skills": [skill]}));
    assert_eq!(accepted.body["made"][0], "skills/release-md/deploy.md", "{accepted:?}");
}

#[test]
fn a_file_that_is_not_a_memory_is_not_replaced_by_a_directory() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    assert_eq!(server.post("/v1/memories/facts/kept.md", &json!({"content": "# Kept\n"})).status, 201);
    assert!(server.terminate());
    let copy = EarlierVersion::of(&data, folder.path());
    copy.write("facts/a", "a file without an ending\n");
    copy.commit();
    let server = Server::start(&data);
    let refused = server.post("/v1/memories/facts/a/b.md", &json!({"content": "# B\n"}));
    assert_eq!((refused.status, refused.code()), (400, "invalid_path"), "{refused:?}");
    let message = refused.body["error"]["message"].as_str().expect("a message");
    assert!(message.contains("facts/a/b.md") && message.contains("facts/a is a file"), "{message}");
    assert_eq!(server.post("/v1/memories/facts/b.md", &json!({"content": "# B\n"})).status, 201);
    assert_eq!(git(&server.repository("default"), &["show", "HEAD:facts/a"]), "a file without an ending\n");
}

/// A clone of the repository of a stopped server, for trees that only earlier versions write.
struct EarlierVersion {
    copy: PathBuf,
}

impl EarlierVersion {
    fn of(data: &Path, folder: &Path) -> Self {
        let source = repository(data, "default");
        git(folder, &["clone", "-q", source.to_str().expect("a path"), "copy"]);
        Self { copy: folder.join("copy") }
    }

    fn write(&self, path: &str, content: &str) {
        let file = self.copy.join(path);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("creates");
        std::fs::write(file, content).expect("writes");
    }

    /// Commits all changes and moves the branch of the repository.
    fn commit(&self) {
        git(&self.copy, &["add", "-A"]);
        let author = ["-c", "user.name=Kim", "-c", "user.email=kim@example.org"];
        git(&self.copy, &[&author[..], &["commit", "-qm", "As an earlier version"]].concat());
        git(&self.copy, &["push", "-q", "origin", "HEAD:main"]);
    }
}

/// Makes a data directory in which a directory replaced the memory `facts/a.md`, and a memory replaced the directory
/// `facts/d.md`.
fn data_of_an_earlier_version(data: &Path, folder: &Path) {
    let server = Server::start(data);
    for (path, content) in [("facts/a.md", "# The ferry leaves at nine\n"), ("facts/b/c.md", "# Another memory\n")] {
        let written = server.post(&format!("/v1/memories/{path}"), &json!({ "content": content }));
        assert_eq!(written.status, 201, "{written:?}");
    }
    assert!(server.terminate());
    let copy = EarlierVersion::of(data, folder);
    std::fs::remove_file(copy.copy.join("facts/a.md")).expect("removes");
    copy.write(MISNAMED, "# The lighthouse is white\n\nSee [c](c.md).\n");
    copy.write("facts/a.md/c.md", "# The harbour is deep\n");
    copy.write("facts/b.md/c.md", "# The pier is long\n");
    copy.write("facts/d.md/e.md", "# The beach is stony\n");
    let links = "# Links\n\n[b](a.md/b.md), [[facts/b.md/c.md]]\n";
    copy.write("facts/links.md", &format!("---\nsupersedes: [{MISNAMED}]\n---\n{links}"));
    copy.commit();
    std::fs::remove_dir_all(copy.copy.join("facts/d.md")).expect("removes");
    copy.write("facts/d.md", "# The island is small\n");
    copy.commit();
}

#[test]
fn memories_in_a_directory_named_like_a_memory_are_still_found() {
    let (folder, data) = fresh();
    data_of_an_earlier_version(&data, folder.path());
    let server = Server::start(&data);
    let hits = server.retrieve("default", "q=white+lighthouse").hits();
    assert!(hits.iter().any(|hit| hit["path"] == MISNAMED), "{hits:?}");
    let refused = server.post("/v1/memories/facts/a.md", &json!({"content": "# A\n"}));
    assert_eq!((refused.status, refused.code()), (400, "invalid_path"), "{refused:?}");
    assert!(refused.body["error"]["message"].as_str().expect("a message").contains("doctor --repair"), "{refused:?}");
}

#[test]
fn the_doctor_moves_and_restores_memories_whose_names_collided() {
    let (folder, data) = fresh();
    data_of_an_earlier_version(&data, folder.path());
    let doctor = |options: &[&str]| {
        let output = run(&data, &[&["doctor"], options].concat());
        let report = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.success(), report)
    };
    let (is_sound, report) = doctor(&[]);
    assert!(!is_sound && report.contains(MISNAMED) && report.contains("doctor --repair"), "{report}");
    let (is_sound, report) = doctor(&["--repair"]);
    assert!(is_sound && report.contains("repaired") && report.contains("8 memories"), "{report}");
    let (is_sound, report) = doctor(&[]);
    assert!(is_sound && !report.contains("repaired"), "{report}");

    let server = Server::start(&data);
    for (path, content) in [
        ("facts/a.md", "# The ferry leaves at nine\n"),
        ("facts/a/b.md", "# The lighthouse is white\n\nSee [c](c.md).\n"),
        ("facts/a/c.md", "# The harbour is deep\n"),
        ("facts/b/c.md", "# Another memory\n"),
        ("facts/b-2/c.md", "# The pier is long\n"),
        ("facts/d.md", "# The island is small\n"),
        ("facts/d/e.md", "# The beach is stony\n"),
        ("facts/links.md", "# Links\n\n[b](a/b.md), [[facts/b-2/c.md]]\n"),
    ] {
        assert_eq!(server.get(&format!("/v1/memories/{path}")).body["content"], content, "{path}");
    }
    assert_eq!(server.get("/v1/memories/facts/links.md").body["supersedes"], json!(["facts/a/b.md"]));
    let hits = server.retrieve("default", "q=white+lighthouse").hits();
    assert!(hits.iter().any(|hit| hit["path"] == "facts/a/b.md"), "{hits:?}");
    assert_eq!(git(&server.repository("default"), &["fsck", "--strict"]), "");
}
