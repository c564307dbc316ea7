//! Export of namespaces to files and import from files.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Server, fresh, git, run, stdout};

fn text(path: &Path) -> &str {
    path.to_str().expect("a path")
}

/// Runs a command that must fail, and returns its error output.
fn error_of(data: &Path, arguments: &[&str]) -> String {
    let output = run(data, arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{arguments:?}: {error}");
    error
}

fn tree(server: &Server, namespace: &str) -> Value {
    let mut found = server.get(&format!("/v1/tree?namespace={namespace}&path=facts/notes")).body["entries"].clone();
    for entry in found.as_array_mut().into_iter().flatten() {
        entry.as_object_mut().expect("an object").remove("updated_at");
    }
    found
}

fn write_note(server: &Server, name: &str, content: &str) {
    let answer = server.post(&format!("/v1/memories/facts/notes/{name}.md"), &json!({"content": content}));
    assert!(matches!(answer.status, 200 | 201), "{answer:?}");
}

#[test]
fn a_history_is_exported_as_a_bundle_and_imported_elsewhere() {
    let (folder, data) = fresh();
    let bundle = folder.path().join("notes.bundle");
    let server = Server::start(&data);
    write_note(&server, "one", "# The ferry to Skye");
    write_note(&server, "two", "# The train to Kyle");
    write_note(&server, "one", "# The ferry to Skye is late");
    stdout(&data, &["export", text(&bundle)]);
    git(folder.path(), &["clone", "--quiet", text(&bundle), "cloned"]);
    let cloned = folder.path().join("cloned");
    assert_eq!(git(&cloned, &["rev-list", "--count", "HEAD"]).trim(), "3");
    assert!(std::fs::read_to_string(cloned.join("facts/notes/one.md")).expect("reads").contains("late"));
    assert!(error_of(&data, &["export", text(&bundle)]).contains("nothing is written over"));

    // Import into another data directory, first without a server, then with one.
    let (_other_folder, other) = fresh();
    let report = stdout(&other, &["import", text(&bundle), "--namespace", "notes", "--init"]);
    assert!(report.contains("1 histories"), "{report}");
    let elsewhere = Server::start(&other);
    assert_eq!(tree(&elsewhere, "notes"), tree(&server, "default"));
    let found = elsewhere.retrieve("notes", "q=ferry+to+Skye").contents();
    assert!(found[0].contains("late"), "{found:?}");
    assert_eq!(elsewhere.get("/v1/namespaces").body["namespaces"][1]["memories"], 2);
    assert!(stdout(&other, &["import", text(&bundle), "--namespace", "notes"]).contains("nothing new"));

    // A later bundle continues the imported history.
    write_note(&server, "three", "# The bus to Portree");
    let later = folder.path().join("later.bundle");
    stdout(&data, &["export", text(&later)]);
    stdout(&other, &["import", text(&later), "--namespace", "notes"]);
    assert_eq!(tree(&elsewhere, "notes"), tree(&server, "default"));
    // A bundle that does not continue the history changes nothing.
    let wrong = error_of(&other, &["import", text(&bundle), "--namespace", "notes"]);
    assert!(wrong.contains("does not continue"), "{wrong}");
    assert_eq!(tree(&elsewhere, "notes"), tree(&server, "default"));
    git(&elsewhere.repository("notes"), &["fsck", "--strict", "--full"]);
    // The next write commits on top of the import.
    elsewhere.remember("notes", &["The taxi from Portree costs forty"]);
    elsewhere.settle("notes");
    assert!(elsewhere.terminate());
    assert!(run(&other, &["doctor"]).status.success());
}

#[test]
fn an_invalid_bundle_is_refused_and_leaves_nothing() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    write_note(&server, "one", "# One");
    write_note(&server, "two", "# Two");
    let good = folder.path().join("good.bundle");
    stdout(&data, &["export", text(&good)]);
    let bytes = std::fs::read(&good).expect("reads");
    let write = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("writes");
        path
    };
    let mut flipped = bytes.clone();
    let middle = bytes.len() / 2;
    flipped[middle] ^= 8;
    let repository = server.repository("default");
    let partial = folder.path().join("partial.bundle");
    git(&repository, &["bundle", "create", "--quiet", text(&partial), "main~1..main"]);

    // A directory with an entry that would overwrite the `.git` folder of a working copy.
    let blob = git(&repository, &["rev-parse", "main:facts/notes/one.md"]);
    let raw: Vec<u8> = (0..20).map(|n| u8::from_str_radix(&blob[n * 2..n * 2 + 2], 16).expect("hex")).collect();
    let entry = [b"100644 .git\0".as_slice(), &raw].concat();
    let mut hash = Command::new("git");
    hash.arg("-C").arg(&repository).args(["hash-object", "-w", "-t", "tree", "--literally", "--stdin"]);
    let mut hash = hash.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("git runs");
    hash.stdin.take().expect("piped").write_all(&entry).expect("writes");
    let hostile_tree = String::from_utf8(hash.wait_with_output().expect("ends").stdout).expect("text");
    let commit =
        git(&repository, &["-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", "-m", "x", hostile_tree.trim()]);
    git(&repository, &["update-ref", "refs/heads/hostile", commit.trim()]);
    let hostile = folder.path().join("hostile.bundle");
    git(&repository, &["bundle", "create", "--quiet", text(&hostile), "hostile"]);
    git(&repository, &["update-ref", "-d", "refs/heads/hostile"]);

    for (file, expected) in [
        (write("cut.bundle", &bytes[..bytes.len() * 2 / 3]), "bundle"),
        (write("flipped.bundle", &flipped), "bundle"),
        (write("empty.bundle", b"# v2 git bundle\n\n"), "neither main nor HEAD"),
        (write("header.bundle", b"# v2 git bundle\nzz refs/heads/main\n\n"), "names no commit"),
        (partial, "whole history"),
        (hostile, ".git"),
        (write("other.xyz", b"hello"), "neither a git bundle"),
    ] {
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        let namespace = format!("n{}", name.split('.').next().expect("a name"));
        let error = error_of(&data, &["import", text(&file), "--namespace", &namespace]);
        assert!(error.contains(expected), "{name}: {error}");
        let left = server.get(&format!("/v1/tree?namespace={namespace}"));
        assert_eq!(left.code(), "namespace_not_found", "{name}: {left:?}");
    }
    assert_eq!(std::fs::read_dir(data.join("trash")).map_or(0, Iterator::count), 0, "the trash is not empty");
}

#[test]
fn memories_are_exported_as_markdown_and_imported_once() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    write_note(&server, "one", "# The allotment has twelve beds");
    server
        .post("/v1/vocab", &json!({"terms": [{"term": "Glasshouse", "aliases": ["gh"], "definition": "By the wall"}]}));
    server.settle("default");
    let out = folder.path().join("out");
    stdout(&data, &["export", text(&out), "--format", "markdown"]);
    assert!(out.join("facts/notes/one.md").exists() && out.join("vocab").exists());
    std::fs::write(out.join("facts/notes/by-hand.md"), "# Compost\n\nIt is turned in March.\n").expect("writes");
    std::fs::write(out.join("README.md"), "not a memory").expect("writes");
    std::os::unix::fs::symlink("/etc/passwd", out.join("facts/link.md")).expect("links");
    let report = stdout(&data, &["import", text(&out), "--namespace", "copy"]);
    assert!(report.contains("1 skipped"), "{report}");
    assert_eq!(server.get("/v1/vocab?namespace=copy&word=GH").body["found"], true);
    let hits = server.retrieve("copy", "q=when+is+compost+turned").contents();
    assert!(hits[0].contains("March"), "{hits:?}");
    assert_eq!(server.get("/v1/memories/facts/link.md?namespace=copy").status, 404);
    let head = |server: &Server| server.get("/v1/namespaces").body["namespaces"][0]["head"].clone();
    let before = head(&server);
    let report = stdout(&data, &["import", text(&out), "--namespace", "copy"]);
    assert!(report.contains("files unchanged") && !report.contains(" files,"), "{report}");
    assert_eq!(head(&server), before, "a repeated import makes no commit");

    std::fs::write(out.join("facts/bad.md"), "---\ntags: [\n---\n# Bad\n").expect("writes");
    std::fs::write(out.join("facts/new.md"), "# New").expect("writes");
    let error = error_of(&data, &["import", text(&out), "--namespace", "copy"]);
    assert!(error.contains("facts/bad.md") && error.contains("nothing was imported"), "{error}");
    assert_eq!(server.get("/v1/memories/facts/new.md?namespace=copy").status, 404);
}

#[test]
fn conversations_are_imported_and_exported_as_json_lines() {
    let (folder, data) = fresh();
    let lines = folder.path().join("chats.jsonl");
    let said = |content: &str| json!({"messages": [{"role": "user", "name": "Ines", "content": content}]}).to_string();
    let whole = [said("I adopted a greyhound called Bolt."), said("My brother moved to Porto.")].join("\n");
    std::fs::write(&lines, format!("{whole}\n\n{{\"messages\": 3}}\nnonsense\n")).expect("writes");
    let error = error_of(&data, &["import", text(&lines), "--init"]);
    assert!(error.contains("line 4") && error.contains("line 5"), "{error}");
    std::fs::write(&lines, format!("{whole}\n")).expect("writes");
    // Without a server the command ingests the conversations itself.
    assert!(stdout(&data, &["import", text(&lines)]).contains("2 conversations"));
    let server = Server::start(&data);
    let found = |query: &str| server.retrieve("default", query).contents();
    assert!(found("q=greyhound")[0].contains("Bolt"));
    let again = stdout(&data, &["import", text(&lines)]);
    assert!(again.contains("2 messages imported before") && !again.contains("conversations"), "{again}");
    assert_eq!(
        found("q=greyhound").iter().filter(|hit| hit.contains("Bolt")).count(),
        1,
        "a repeated import adds nothing"
    );

    let id = server.post("/v1/conversations", &json!({"title": "Kept"})).body["id"].as_str().expect("an id").to_owned();
    let body = json!({"messages": [{"role": "user", "content": "The skylight leaks"}]});
    assert_eq!(server.post(&format!("/v1/conversations/{id}/messages"), &body).status, 201);
    let out = folder.path().join("out.jsonl");
    stdout(&data, &["export", text(&out)]);
    let exported = std::fs::read_to_string(&out).expect("reads");
    assert_eq!(exported.lines().count(), 3, "{exported}");
    let line: Value = serde_json::from_str(exported.lines().last().expect("a line")).expect("JSON");
    assert_eq!((line["session_id"].as_str(), line["title"].as_str()), (Some(id.as_str()), Some("Kept")));
    assert!(stdout(&data, &["import", text(&out), "--namespace", "again"]).contains("3 conversations"));
    assert!(server.retrieve("again", "q=skylight").contents()[0].contains("leaks"));
}
