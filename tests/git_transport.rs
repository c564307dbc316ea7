//! git itself as a client: clone, pull and push over HTTP with an API key.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fastrand::Rng;
use serde_json::json;

use crate::support::{Server, fresh, git, stdout, wait_for};

/// Runs git with an identity for commits and without password prompts.
fn run_git(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["-c", "user.name=Kim", "-c", "user.email=kim@example.org"]);
    command
        .args(["-c", "credential.helper=", "-c", "protocol.version=2", "-c", "init.defaultBranch=main"])
        .args(arguments);
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C").output().expect("git runs")
}

/// Runs a git command that must fail, and returns what it prints.
fn git_error(folder: &Path, arguments: &[&str]) -> String {
    let output = run_git(folder, arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{arguments:?}: {error}");
    error
}

fn git_output(folder: &Path, arguments: &[&str]) -> String {
    let output = run_git(folder, arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned() + &error
}

/// Returns the git URL of a namespace with a key in it.
fn git_url(server: &Server, key: &str, namespace: &str) -> String {
    server.url.replace("http://", &format!("http://git:{key}@")) + "/v1/git/" + namespace
}

fn clone_default(server: &Server, folder: &Path, name: &str) -> PathBuf {
    git_output(folder, &["clone", "-q", &git_url(server, &server.key, "default"), name]);
    folder.join(name)
}

fn server_accepting_pushes(data: &Path) -> Server {
    Server::start_configured(data, "[git]\naccept_push = true\n")
}

fn write_memory(server: &Server, path: &str, content: &str) {
    let answer = server.post(&format!("/v1/memories/{path}"), &json!({"content": content}));
    assert!(matches!(answer.status, 200 | 201), "{answer:?}");
}

fn head(server: &Server) -> String {
    git(&server.repository("default"), &["rev-parse", "main"]).trim().to_owned()
}

fn write(clone: &Path, path: &str, text: &str) {
    let file = clone.join(path);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("creates");
    std::fs::write(file, text).expect("writes");
}

fn commit(clone: &Path, message: &str) {
    git_output(clone, &["add", "-A"]);
    git_output(clone, &["commit", "-qm", message]);
}

#[test]
fn clone_and_pull_work_in_both_protocol_versions() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    for version in ["0", "2"] {
        let protocol = format!("protocol.version={version}");
        let name = format!("v{version}");
        let url = git_url(&server, &server.key, "default");
        // The first namespace is empty: cloning it works, and later commits can be pulled.
        git_output(folder.path(), &["-c", &protocol, "clone", "-q", &url, &name]);
        let clone = folder.path().join(&name);
        write_memory(&server, &format!("facts/notes/{name}.md"), "# The ferry to Skye");
        git_output(&clone, &["-c", &protocol, "pull", "-q"]);
        assert!(clone.join(format!("facts/notes/{name}.md")).exists());
        for number in 0..30 {
            write_memory(&server, &format!("facts/notes/{name}.md"), &format!("# Sailing {number}"));
        }
        git_output(&clone, &["-c", &protocol, "pull", "-q"]);
        assert_eq!(git_output(&clone, &["rev-parse", "HEAD"]).trim(), head(&server));
        // A fetch without new commits succeeds.
        git_output(&clone, &["-c", &protocol, "fetch", "-q"]);
        // The clone is complete and has every commit.
        git_output(&clone, &["fsck", "--strict", "--full"]);
        assert_eq!(
            git_output(&clone, &["rev-list", "--count", "HEAD"]).trim(),
            git(&server.repository("default"), &["rev-list", "--count", "main"]).trim()
        );
        std::fs::remove_dir_all(&clone).expect("removes");
    }
    let url = git_url(&server, &server.key, "default");
    let listed = git_output(folder.path(), &["ls-remote", "--symref", &url]);
    let head = head(&server);
    assert!(
        listed.contains("ref: refs/heads/main\tHEAD") && listed.contains(&format!("{head}\trefs/heads/main")),
        "{listed}"
    );
    // The URL also works with the usual `.git` suffix.
    git_output(folder.path(), &["clone", "-q", "--bare", &format!("{url}.git"), "bare.git"]);
    assert_eq!(git(&folder.path().join("bare.git"), &["rev-parse", "main"]).trim(), head);
}

#[test]
fn a_fetch_after_many_local_commits_finds_the_common_history() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    write_memory(&server, "facts/a.md", "# A");
    for version in ["0", "2"] {
        let clone = clone_default(&server, folder.path(), &format!("own{version}"));
        // More commits than git offers in one round: it negotiates in several compressed requests.
        for number in 0..80 {
            git_output(&clone, &["commit", "-q", "--allow-empty", "-m", &format!("own {number}")]);
        }
        write_memory(&server, "facts/a.md", &format!("# A of {version}"));
        git_output(&clone, &["-c", &format!("protocol.version={version}"), "fetch", "-q"]);
        assert_eq!(git_output(&clone, &["rev-parse", "origin/main"]).trim(), head(&server));
    }
}

#[test]
fn a_shallow_clone_can_be_pulled_and_completed() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    for number in 0..12 {
        write_memory(&server, &format!("facts/n{}.md", number % 5), &format!("# Note {number}"));
    }
    for version in ["0", "2"] {
        let protocol = format!("protocol.version={version}");
        let name = format!("shallow{version}");
        let url = git_url(&server, &server.key, "default");
        git_output(folder.path(), &["-c", &protocol, "clone", "-q", "--depth", "2", &url, &name]);
        let clone = folder.path().join(&name);
        let count = || git_output(&clone, &["rev-list", "--count", "HEAD"]).trim().to_owned();
        assert_eq!(count(), "2");
        assert!(clone.join("facts/n4.md").exists());
        for number in 0..3 {
            write_memory(&server, "facts/later.md", &format!("# Later {number} {version}"));
        }
        git_output(&clone, &["-c", &protocol, "pull", "-q"]);
        assert_eq!(count(), "5");
        git_output(&clone, &["-c", &protocol, "fetch", "-q", "--depth", "3"]);
        assert_eq!(count(), "3");
        git_output(&clone, &["-c", &protocol, "fetch", "-q", "--unshallow"]);
        assert_eq!(count(), git(&server.repository("default"), &["rev-list", "--count", "main"]).trim());
        git_output(&clone, &["fsck", "--strict", "--full"]);
        let since = git_error(&clone, &["-c", &protocol, "fetch", "-q", "--shallow-since=2001-01-01"]);
        assert!(!since.is_empty());
    }
}

#[test]
fn git_access_requires_a_key_for_the_namespace() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    server.namespace("own");
    server.namespace("other");
    write_memory(&server, "facts/a.md", "# A");
    let confined = server.post("/v1/keys", &json!({"name": "one", "namespace": "own"})).body["key"]
        .as_str()
        .expect("a key")
        .to_owned();
    git_output(folder.path(), &["ls-remote", &git_url(&server, &confined, "own")]);
    let other = git_error(folder.path(), &["ls-remote", &git_url(&server, &confined, "other")]);
    assert!(other.contains("403") && other.contains("own"), "{other}");
    let missing = git_error(folder.path(), &["ls-remote", &git_url(&server, &server.key, "nothing")]);
    assert!(missing.contains("does not exist") || missing.contains("not found"), "{missing}");
    let wrong = git_error(folder.path(), &["ls-remote", &git_url(&server, "svc_live_0123456789abcdef_x", "own")]);
    assert!(wrong.contains("403"), "{wrong}");
    // A key of another account reaches only the namespaces of that account.
    let foreign = stdout(&data, &["keys", "create", "--account", "somebody"]);
    let theirs = git_error(folder.path(), &["ls-remote", &git_url(&server, &foreign, "own")]);
    assert!(theirs.contains("no namespace") || theirs.contains("not found"), "{theirs}");
    assert_eq!(git_output(folder.path(), &["ls-remote", &git_url(&server, &foreign, "default")]), "");
    // git sends credentials only after a 401 response with `www-authenticate`.
    let bare = format!("{}/v1/git/own/info/refs?service=git-upload-pack", server.url);
    let challenge = reqwest::blocking::get(&bare).expect("answers");
    assert_eq!(challenge.status(), 401);
    assert!(challenge.headers()["www-authenticate"].to_str().expect("text").starts_with("Basic"));
    let path = "/v1/git/own/info/refs?service=git-upload-pack";
    assert_eq!(server.get(path).status, 200);
    for wrong in ["/v1/git/own/HEAD", "/v1/git/own/info/refs", "/v1/git/own", "/v1/git/own/info/refs?service=git-x"] {
        let answer = server.get(wrong);
        assert_eq!((answer.status, answer.code()), (404, "not_found"), "{wrong}");
    }
    let bearer = format!("Bearer {}", server.key);
    let garbage = server.request("POST", "/v1/git/own/git-upload-pack", Some(&bearer), Some(b"zzzz".to_vec()));
    assert_eq!((garbage.status, garbage.code()), (400, "invalid_body"));
}

#[test]
fn git_asks_for_a_password_when_the_url_has_only_a_user() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    write_memory(&server, "facts/a.md", "# A");
    let askpass = folder.path().join("askpass");
    std::fs::write(&askpass, format!("#!/bin/sh\necho {}\n", server.key)).expect("writes");
    std::fs::set_permissions(&askpass, std::fs::Permissions::from_mode(0o700)).expect("changes");
    let url = server.url.replace("http://", "http://git@") + "/v1/git/default";
    let mut clone = Command::new("git");
    clone.arg("-C").arg(folder.path()).args(["-c", "credential.helper=", "clone", "-q", &url, "clone"]);
    assert!(clone.env("GIT_ASKPASS", &askpass).status().expect("git runs").success());
    assert!(folder.path().join("clone/facts/a.md").exists());
    // The key is also accepted as the user name.
    let url = server.url.replace("http://", &format!("http://{}@", server.key)) + "/v1/git/default";
    git_output(folder.path(), &["ls-remote", &url]);
}

#[test]
fn compressed_request_bodies_are_limited() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let send = |bytes: &[u8]| {
        let request = reqwest::blocking::Client::new().post(format!("{}/v1/git/default/git-upload-pack", server.url));
        let request = request.bearer_auth(&server.key).header("content-encoding", "gzip").body(bytes.to_vec());
        request.send().expect("answers").status().as_u16()
    };
    let zipped = |plain: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(plain).and_then(|()| encoder.finish()).expect("compresses")
    };
    assert_eq!(send(&zipped(b"0000")), 200);
    assert_eq!(send(&zipped(&vec![b'0'; 9 << 20])), 413);
    assert_eq!(send(b"no gzip"), 400);
}

#[test]
fn a_push_is_refused_unless_pushes_are_enabled() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    write_memory(&server, "facts/a.md", "# A");
    let before = head(&server);
    let clone = clone_default(&server, folder.path(), "clone");
    write(&clone, "facts/b.md", "# B\n");
    commit(&clone, "by hand");
    let error = git_error(&clone, &["push", "-q"]);
    assert!(error.contains("403") && error.contains("git.accept_push"), "{error}");
    assert_eq!(head(&server), before);
    let path = "/v1/git/default/git-receive-pack";
    let forced = server.request("POST", path, Some(&format!("Bearer {}", server.key)), Some(b"0000".to_vec()));
    assert_eq!((forced.status, forced.code()), (403, "push_not_accepted"));
}

#[test]
fn a_push_is_searchable_at_once_and_counted() {
    let (folder, data) = fresh();
    let server = server_accepting_pushes(&data);
    let used = |server: &Server| server.get("/v1/usage").body["used"]["writes"].as_u64().expect("a count");
    // The first push goes into an empty namespace.
    let clone = clone_default(&server, folder.path(), "clone");
    write(&clone, "rules/lamp.md", "---\ntags: [house]\n---\n# Lamp\n\nSwitch the heron lamp off before leaving.\n");
    write(&clone, "README.md", "Notes of ours.\n");
    commit(&clone, "by hand");
    let before = used(&server);
    git_output(&clone, &["push", "-q", "origin", "HEAD:main"]);
    let answer = server.retrieve("default", "q=heron+lamp&tags=house");
    assert_eq!(answer.hits()[0]["path"], json!("rules/lamp.md"));
    assert_eq!(used(&server), before + 1, "one memory was written");
    // One push with several commits, a term, a change and a removal; then the service commits on top of it.
    write(&clone, "rules/lamp.md", "# Lamp\n\nThe heron lamp may stay on.\n");
    write(
        &clone,
        "vocab/k8s.md",
        "---\nterm: Kubernetes\naliases: [k8s]\n---\n# Kubernetes\n\nThe cluster of the shop.\n",
    );
    commit(&clone, "two");
    for number in 0..40 {
        write(&clone, &format!("facts/many/n{number}.md"), &format!("# Crate {number} holds pears\n"));
        commit(&clone, "many");
    }
    // A push larger than git sends in one request: git probes for access first, then sends chunks.
    let mut random = Rng::with_seed(1);
    let mut words = String::from("# Large\n\n");
    while words.len() < 3 << 20 {
        words.push_str(&format!("{:x} ", random.u64(..1 << 44)));
    }
    write(&clone, "facts/large.md", &words);
    commit(&clone, "large");
    git_output(&clone, &["rm", "-q", "README.md"]);
    git_output(&clone, &["commit", "-qm", "three"]);
    git_output(&clone, &["push", "-q"]);
    assert!(server.retrieve("default", "q=heron+lamp").contents()[0].contains("may stay on"));
    assert!(server.retrieve("default", "q=which+crate+holds+pears").contents()[0].contains("pears"));
    assert_eq!(server.get("/v1/vocab").body["terms"][0]["term"], json!("Kubernetes"));
    server.remember("default", &["The greenhouse needs new glass panes"]);
    server.settle("default");
    git_output(&clone, &["pull", "-q", "--rebase"]);
    assert_eq!(git_output(&clone, &["rev-parse", "HEAD"]).trim(), head(&server));
    assert_eq!(git(&server.repository("default"), &["fsck", "--strict", "--full"]), "");
    let recorded = || server.get("/v1/namespaces").body["namespaces"][0]["head"] == head(&server);
    wait_for("the record to follow the head", recorded);
    // Everything is still there after a kill, and the doctor finds no damage.
    let (head, memories) = (head(&server), server.get("/v1/namespaces").body["namespaces"][0]["memories"].clone());
    server.kill();
    let server = server_accepting_pushes(&data);
    assert_eq!(self::head(&server), head);
    assert_eq!(server.get("/v1/namespaces").body["namespaces"][0]["memories"], memories);
    assert!(server.retrieve("default", "q=heron+lamp").contents()[0].contains("may stay on"));
    assert!(server.terminate());
    assert!(crate::support::run(&data, &["doctor"]).status.success());
}

#[test]
fn a_bad_file_is_refused_with_its_line_and_changes_nothing() {
    let (folder, data) = fresh();
    let server = server_accepting_pushes(&data);
    write_memory(&server, "facts/a.md", "# A");
    let before = head(&server);
    for (path, text, expected) in [
        ("facts/bad.md", "---\ntags: [x]\noccurred_at: soon\n---\n# Bad\n", "line 3"),
        ("facts/open.md", "---\ntags: [x]\n# No end\n", "line 1"),
        ("facts/tag.md", "---\ncues: [q]\ntags:\n- fine\n- no!\n---\n# Tag\n", "line 5"),
        ("facts/meta.md", "---\nmetadata:\n  size: 4\n  parts: [a]\n---\n# Parts\n", "line 4"),
        ("facts/a b.md", "# A space\n", "facts/a b.md"),
        ("facts/b.md/c.md", "# C\n", "rename the directory facts/b.md"),
        ("facts/b.md/picture.txt", "text\n", "rename the directory facts/b.md"),
        ("vocab/b.md/c.md", "# C\n\n> a letter\n", "rename the directory vocab/b.md"),
        ("vocab/x.md", "says nothing\n", "names no term"),
    ] {
        let clone = clone_default(&server, folder.path(), "clone");
        write(&clone, path, text);
        write(&clone, "facts/good.md", "# Good\n");
        commit(&clone, "by hand");
        let error = git_error(&clone, &["push"]);
        assert!(error.contains(expected) && error.contains(path), "{path}: {error}");
        assert!(error.contains("[remote rejected]"), "{error}");
        assert_eq!(head(&server), before, "{path}");
        assert!(server.get("/v1/memories/facts/good.md").status == 404, "{path}");
        std::fs::remove_dir_all(&clone).expect("removes");
    }
    let clone = clone_default(&server, folder.path(), "links");
    std::os::unix::fs::symlink("/etc/passwd", clone.join("facts/link.md")).expect("links");
    commit(&clone, "a link");
    let error = git_error(&clone, &["push"]);
    assert!(error.contains("symbolic link"), "{error}");
    git_output(&clone, &["reset", "-q", "--hard", "HEAD~1"]);
    write(&clone, "facts/ok.md", "# Fine\n");
    commit(&clone, "fine\n\nCuebase-Message: 01ARZ3NDEKTSV4RRFFQ69G5FAV");
    let error = git_error(&clone, &["push"]);
    assert!(error.contains("Cuebase-Message"), "{error}");
    git_output(&clone, &["commit", "-q", "--amend", "-m", "fine\n\nCuebase-Repair: paths"]);
    let error = git_error(&clone, &["push"]);
    assert!(error.contains("Cuebase-Repair"), "{error}");
    assert_eq!(head(&server), before);
    assert_eq!(std::fs::read_dir(data.join("trash")).map_or(0, Iterator::count), 0, "the trash is not empty");
}

#[test]
fn force_pushes_branches_and_deletions_are_refused() {
    let (folder, data) = fresh();
    let server = server_accepting_pushes(&data);
    write_memory(&server, "facts/a.md", "# A");
    let clone = clone_default(&server, folder.path(), "clone");
    let late = clone_default(&server, folder.path(), "late");
    write(&clone, "facts/b.md", "# B\n");
    commit(&clone, "b");
    git_output(&clone, &["push", "-q"]);
    let before = head(&server);
    // A clone that is behind the server.
    write(&late, "facts/c.md", "# C\n");
    commit(&late, "c");
    let error = git_error(&late, &["push"]);
    assert!(error.contains("rejected"), "{error}");
    let error = git_error(&late, &["push", "--force"]);
    assert!(error.contains("rebase"), "{error}");
    // A merge whose first parent is not the head of the server.
    git_output(&late, &["fetch", "-q"]);
    git_output(&late, &["merge", "-q", "--no-edit", "origin/main"]);
    let error = git_error(&late, &["push"]);
    assert!(error.contains("rebase"), "{error}");
    git_output(&late, &["reset", "-q", "--hard", "HEAD~1"]);
    for wrong in [&["push", "origin", "HEAD:other"][..], &["push", "origin", "HEAD:refs/tags/v1"]] {
        assert!(git_error(&late, wrong).contains("only the branch main"));
    }
    let error = git_error(&late, &["push", "origin", ":main"]);
    assert!(error.contains("never lost"), "{error}");
    assert_eq!(head(&server), before);
    git_output(&late, &["pull", "-q", "--rebase"]);
    git_output(&late, &["push", "-q"]);
    assert_eq!(server.get("/v1/memories/facts/c.md").status, 200);
    assert_eq!(server.get("/v1/memories/facts/b.md").status, 200);
}

#[test]
fn concurrent_pushes_and_writes_lose_nothing() {
    let (folder, data) = fresh();
    let server = server_accepting_pushes(&data);
    write_memory(&server, "facts/a.md", "# A");
    let clone = clone_default(&server, folder.path(), "clone");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..40 {
                write_memory(&server, &format!("facts/written/n{number}.md"), &format!("# Written {number}"));
            }
        });
        for number in 0..10 {
            write(&clone, &format!("facts/pushed/n{number}.md"), &format!("# Pushed {number}\n"));
            commit(&clone, "pushed");
            wait_for("the push to go in", || {
                git_output(&clone, &["pull", "-q", "--rebase"]);
                run_git(&clone, &["push", "-q"]).status.success()
            });
        }
        writer.join().expect("every write is answered");
    });
    git_output(&clone, &["pull", "-q", "--rebase"]);
    for number in 0..40 {
        assert!(clone.join(format!("facts/written/n{number}.md")).exists(), "{number}");
    }
    for number in 0..10 {
        assert_eq!(server.get(&format!("/v1/memories/facts/pushed/n{number}.md")).status, 200, "{number}");
    }
    assert_eq!(server.get("/v1/namespaces").body["namespaces"][0]["memories"], 51);
    // Without a server: it removes joined packs after a minute, and fsck could list one that is then removed.
    let repository = server.repository("default");
    server.kill();
    assert_eq!(git(&repository, &["fsck", "--strict", "--full"]), "");
}

/// Returns the number of files in a repository's pack folder.
fn object_files(repository: &Path) -> usize {
    std::fs::read_dir(repository.join("objects/pack")).map_or(0, Iterator::count)
}

#[test]
fn a_push_interrupted_by_a_kill_is_atomic() {
    const FILES: usize = 200;
    let (folder, data) = fresh();
    let mut server = server_accepting_pushes(&data);
    write_memory(&server, "facts/a.md", "# A");
    let clone = clone_default(&server, folder.path(), "clone");
    // The rounds kill the server when the first file of the push exists, when its objects exist, when the branch has
    // moved, and after the push.
    for round in 0..4 {
        for number in 0..FILES {
            write(&clone, &format!("facts/round{round}/n{number}.md"), &format!("# Crate {number} of lorry{round}x\n"));
        }
        commit(&clone, "pushed");
        let pushed = git_output(&clone, &["rev-parse", "main"]).trim().to_owned();
        git_output(&clone, &["remote", "set-url", "origin", &git_url(&server, &server.key, "default")]);
        let (repository, before) = (server.repository("default"), head(&server));
        let (files, branch) = (object_files(&repository), repository.join("refs/heads/main"));
        let has_moved = || std::fs::read_to_string(&branch).is_ok_and(|head| head.trim() != before);
        std::thread::scope(|scope| {
            let pushing = scope.spawn(|| run_git(&clone, &["push", "-q"]).status.success());
            wait_for("the push to reach the kill point", || {
                let is_reached = match round {
                    0 => object_files(&repository) > files,
                    1 => object_files(&repository) > files + 1,
                    2 => has_moved(),
                    _ => false,
                };
                is_reached || pushing.is_finished()
            });
            server.kill();
            // A push that git reported as successful is in the repository.
            let reported_success = pushing.join().expect("git ends");
            let after = git(&repository, &["rev-parse", "main"]).trim().to_owned();
            assert!(after == pushed || (after == before && !reported_success), "round {round}: {after}");
        });

        server = server_accepting_pushes(&data);
        // Objects of a push whose branch did not move are dangling, which is harmless.
        assert_eq!(git(&repository, &["fsck", "--strict", "--full", "--no-dangling"]), "");
        let found = server.retrieve("default", &format!("q=lorry{round}x&limit=200")).contents();
        let expected = if head(&server) == pushed { FILES } else { 0 };
        assert_eq!(
            found.iter().filter(|hit| hit.contains(&format!("lorry{round}x"))).count(),
            expected,
            "round {round}"
        );
        git_output(&clone, &["remote", "set-url", "origin", &git_url(&server, &server.key, "default")]);
        git_output(&clone, &["push", "-q"]);
        assert_eq!(head(&server), pushed);
        assert!(server.get(&format!("/v1/memories/facts/round{round}/n{}.md", FILES - 1)).status == 200);
    }
    stdout(&data, &["doctor"]);
}
