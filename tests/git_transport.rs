//! git itself as a client: clone, pull and push over HTTP with an API key.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;

use crate::support::{Server, fresh, git, stdout, wait_for};

/// git, asking nobody for a password, with a name to commit under.
fn run_git(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["-c", "user.name=Kim", "-c", "user.email=kim@example.org"]);
    command
        .args(["-c", "credential.helper=", "-c", "protocol.version=2", "-c", "init.defaultBranch=main"])
        .args(arguments);
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C").output().expect("git runs")
}

/// What git prints where it must fail.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = run_git(folder, arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{arguments:?}: {error}");
    error
}

fn done(folder: &Path, arguments: &[&str]) -> String {
    let output = run_git(folder, arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned() + &error
}

/// A namespace's address with a key in it.
fn address(server: &Server, key: &str, namespace: &str) -> String {
    server.url.replace("http://", &format!("http://git:{key}@")) + "/v1/git/" + namespace
}

fn cloned(server: &Server, folder: &Path, name: &str) -> PathBuf {
    done(folder, &["clone", "-q", &address(server, &server.key, "default"), name]);
    folder.join(name)
}

fn accepting(data: &Path) -> Server {
    Server::start_configured(data, "[git]\naccept_push = true\n")
}

fn note(server: &Server, path: &str, content: &str) {
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
    done(clone, &["add", "-A"]);
    done(clone, &["commit", "-qm", message]);
}

#[test]
fn a_namespace_is_cloned_and_pulled_in_either_version_of_the_protocol() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    for version in ["0", "2"] {
        let protocol = format!("protocol.version={version}");
        let name = format!("v{version}");
        let url = address(&server, &server.key, "default");
        // Of an empty one too, and what comes later is pulled.
        done(folder.path(), &["-c", &protocol, "clone", "-q", &url, &name]);
        let clone = folder.path().join(&name);
        note(&server, &format!("facts/notes/{name}.md"), "# The ferry to Skye");
        done(&clone, &["-c", &protocol, "pull", "-q"]);
        assert!(clone.join(format!("facts/notes/{name}.md")).exists());
        for number in 0..30 {
            note(&server, &format!("facts/notes/{name}.md"), &format!("# Sailing {number}"));
        }
        done(&clone, &["-c", &protocol, "pull", "-q"]);
        assert_eq!(done(&clone, &["rev-parse", "HEAD"]).trim(), head(&server));
        // Nothing new.
        done(&clone, &["-c", &protocol, "fetch", "-q"]);
        // What git fetched is whole, and only what it lacked was sent.
        done(&clone, &["fsck", "--strict", "--full"]);
        assert_eq!(
            done(&clone, &["rev-list", "--count", "HEAD"]).trim(),
            git(&server.repository("default"), &["rev-list", "--count", "main"]).trim()
        );
        std::fs::remove_dir_all(&clone).expect("removes");
    }
    let url = address(&server, &server.key, "default");
    let listed = done(folder.path(), &["ls-remote", "--symref", &url]);
    let head = head(&server);
    assert!(
        listed.contains("ref: refs/heads/main\tHEAD") && listed.contains(&format!("{head}\trefs/heads/main")),
        "{listed}"
    );
    // With the usual ending, too.
    done(folder.path(), &["clone", "-q", "--bare", &format!("{url}.git"), "bare.git"]);
    assert_eq!(git(&folder.path().join("bare.git"), &["rev-parse", "main"]).trim(), head);
}

#[test]
fn a_fetch_after_many_commits_of_ones_own_finds_what_both_have() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    note(&server, "facts/a.md", "# A");
    for version in ["0", "2"] {
        let clone = cloned(&server, folder.path(), &format!("own{version}"));
        // More than git offers at once, so that it asks several times, compressed.
        for number in 0..80 {
            done(&clone, &["commit", "-q", "--allow-empty", "-m", &format!("own {number}")]);
        }
        note(&server, "facts/a.md", &format!("# A of {version}"));
        done(&clone, &["-c", &format!("protocol.version={version}"), "fetch", "-q"]);
        assert_eq!(done(&clone, &["rev-parse", "origin/main"]).trim(), head(&server));
    }
}

#[test]
fn a_clone_of_the_last_few_commits_goes_on_and_can_be_completed() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    for number in 0..12 {
        note(&server, &format!("facts/n{}.md", number % 5), &format!("# Note {number}"));
    }
    for version in ["0", "2"] {
        let protocol = format!("protocol.version={version}");
        let name = format!("shallow{version}");
        let url = address(&server, &server.key, "default");
        done(folder.path(), &["-c", &protocol, "clone", "-q", "--depth", "2", &url, &name]);
        let clone = folder.path().join(&name);
        let count = || done(&clone, &["rev-list", "--count", "HEAD"]).trim().to_owned();
        assert_eq!(count(), "2");
        assert!(clone.join("facts/n4.md").exists());
        for number in 0..3 {
            note(&server, "facts/later.md", &format!("# Later {number} {version}"));
        }
        done(&clone, &["-c", &protocol, "pull", "-q"]);
        assert_eq!(count(), "5");
        done(&clone, &["-c", &protocol, "fetch", "-q", "--depth", "3"]);
        assert_eq!(count(), "3");
        done(&clone, &["-c", &protocol, "fetch", "-q", "--unshallow"]);
        assert_eq!(count(), git(&server.repository("default"), &["rev-list", "--count", "main"]).trim());
        done(&clone, &["fsck", "--strict", "--full"]);
        let since = refused(&clone, &["-c", &protocol, "fetch", "-q", "--shallow-since=2001-01-01"]);
        assert!(!since.is_empty());
    }
}

#[test]
fn only_whose_key_opens_it_sees_a_namespace() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    server.namespace("own");
    server.namespace("other");
    note(&server, "facts/a.md", "# A");
    let confined = server.post("/v1/keys", &json!({"name": "one", "namespace": "own"})).body["key"]
        .as_str()
        .expect("a key")
        .to_owned();
    done(folder.path(), &["ls-remote", &address(&server, &confined, "own")]);
    let other = refused(folder.path(), &["ls-remote", &address(&server, &confined, "other")]);
    assert!(other.contains("403") && other.contains("own"), "{other}");
    let missing = refused(folder.path(), &["ls-remote", &address(&server, &server.key, "nothing")]);
    assert!(missing.contains("there is no namespace") || missing.contains("not found"), "{missing}");
    let wrong = refused(folder.path(), &["ls-remote", &address(&server, "svc_live_0123456789abcdef_x", "own")]);
    assert!(wrong.contains("403"), "{wrong}");
    // Another account has a namespace of that name at most.
    let foreign = stdout(&data, &["keys", "create", "--account", "somebody"]);
    let theirs = refused(folder.path(), &["ls-remote", &address(&server, &foreign, "own")]);
    assert!(theirs.contains("no namespace") || theirs.contains("not found"), "{theirs}");
    assert_eq!(done(folder.path(), &["ls-remote", &address(&server, &foreign, "default")]), "");
    // git sends a key only once it is asked for one.
    let bare = format!("{}/v1/git/own/info/refs?service=git-upload-pack", server.url);
    let asked = reqwest::blocking::get(&bare).expect("answers");
    assert_eq!(asked.status(), 401);
    assert!(asked.headers()["www-authenticate"].to_str().expect("text").starts_with("Basic"));
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
fn a_user_alone_is_asked_for_a_password() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    note(&server, "facts/a.md", "# A");
    let asked = folder.path().join("asked");
    std::fs::write(&asked, format!("#!/bin/sh\necho {}\n", server.key)).expect("writes");
    std::fs::set_permissions(&asked, std::fs::Permissions::from_mode(0o700)).expect("changes");
    let url = server.url.replace("http://", "http://git@") + "/v1/git/default";
    let mut clone = Command::new("git");
    clone.arg("-C").arg(folder.path()).args(["-c", "credential.helper=", "clone", "-q", &url, "clone"]);
    assert!(clone.env("GIT_ASKPASS", &asked).status().expect("git runs").success());
    assert!(folder.path().join("clone/facts/a.md").exists());
    // A key may also stand in the user's place.
    let url = server.url.replace("http://", &format!("http://{}@", server.key)) + "/v1/git/default";
    done(folder.path(), &["ls-remote", &url]);
}

#[test]
fn what_is_sent_compressed_is_bounded_too() {
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
fn nothing_is_pushed_where_that_is_not_switched_on() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    note(&server, "facts/a.md", "# A");
    let before = head(&server);
    let clone = cloned(&server, folder.path(), "clone");
    write(&clone, "facts/b.md", "# B\n");
    commit(&clone, "by hand");
    let told = refused(&clone, &["push", "-q"]);
    assert!(told.contains("403") && told.contains("git.accept_push"), "{told}");
    assert_eq!(head(&server), before);
    let path = "/v1/git/default/git-receive-pack";
    let forced = server.request("POST", path, Some(&format!("Bearer {}", server.key)), Some(b"0000".to_vec()));
    assert_eq!((forced.status, forced.code()), (403, "push_not_accepted"));
}

#[test]
fn what_is_pushed_is_found_at_once_and_counted() {
    let (folder, data) = fresh();
    let server = accepting(&data);
    let used = |server: &Server| server.get("/v1/usage").body["used"]["writes"].as_u64().expect("a count");
    // Into an empty namespace first.
    let clone = cloned(&server, folder.path(), "clone");
    write(&clone, "rules/lamp.md", "---\ntags: [house]\n---\n# Lamp\n\nSwitch the heron lamp off before leaving.\n");
    write(&clone, "README.md", "Notes of ours.\n");
    commit(&clone, "by hand");
    let before = used(&server);
    done(&clone, &["push", "-q", "origin", "HEAD:main"]);
    let answer = server.retrieve("default", "q=heron+lamp&tags=house");
    assert_eq!(answer.hits()[0]["path"], json!("rules/lamp.md"));
    assert_eq!(used(&server), before + 1, "one memory was written");
    // Several commits, a term, a change and a removal in one push; then the service writes on top of it.
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
    // More than git sends in one piece: it tries first whether it may push, then sends in chunks.
    let mut state = 1_u64;
    let mut words = String::from("# Large\n\n");
    while words.len() < 3 << 20 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        words.push_str(&format!("{:x} ", state >> 20));
    }
    write(&clone, "facts/large.md", &words);
    commit(&clone, "large");
    done(&clone, &["rm", "-q", "README.md"]);
    done(&clone, &["commit", "-qm", "three"]);
    done(&clone, &["push", "-q"]);
    assert!(server.retrieve("default", "q=heron+lamp").contents()[0].contains("may stay on"));
    assert!(server.retrieve("default", "q=which+crate+holds+pears").contents()[0].contains("pears"));
    assert_eq!(server.get("/v1/vocab").body["terms"][0]["term"], json!("Kubernetes"));
    server.remember("default", &["The greenhouse needs new glass panes"]);
    server.settle("default");
    done(&clone, &["pull", "-q", "--rebase"]);
    assert_eq!(done(&clone, &["rev-parse", "HEAD"]).trim(), head(&server));
    assert_eq!(git(&server.repository("default"), &["fsck", "--strict", "--full"]), "");
    let recorded = || server.get("/v1/namespaces").body["namespaces"][0]["head"] == head(&server);
    wait_for("the record to follow the head", recorded);
    // All of it is there after a power cut, and the doctor agrees.
    let (head, memories) = (head(&server), server.get("/v1/namespaces").body["namespaces"][0]["memories"].clone());
    server.kill();
    let server = accepting(&data);
    assert_eq!(self::head(&server), head);
    assert_eq!(server.get("/v1/namespaces").body["namespaces"][0]["memories"], memories);
    assert!(server.retrieve("default", "q=heron+lamp").contents()[0].contains("may stay on"));
    assert!(server.terminate());
    assert!(crate::support::run(&data, &["doctor"]).status.success());
}

#[test]
fn a_bad_file_is_refused_with_its_line_and_changes_nothing() {
    let (folder, data) = fresh();
    let server = accepting(&data);
    note(&server, "facts/a.md", "# A");
    let before = head(&server);
    for (path, text, says) in [
        ("facts/bad.md", "---\ntags: [x]\noccurred_at: soon\n---\n# Bad\n", "line 3"),
        ("facts/open.md", "---\ntags: [x]\n# No end\n", "line 1"),
        ("facts/tag.md", "---\ncues: [q]\ntags:\n- fine\n- no!\n---\n# Tag\n", "line 5"),
        ("facts/a b.md", "# A space\n", "facts/a b.md"),
        ("vocab/x.md", "says nothing\n", "names no term"),
    ] {
        let clone = cloned(&server, folder.path(), "clone");
        write(&clone, path, text);
        write(&clone, "facts/good.md", "# Good\n");
        commit(&clone, "by hand");
        let told = refused(&clone, &["push"]);
        assert!(told.contains(says) && told.contains(path), "{path}: {told}");
        assert!(told.contains("[remote rejected]"), "{told}");
        assert_eq!(head(&server), before, "{path}");
        assert!(server.get("/v1/memories/facts/good.md").status == 404, "{path}");
        // Mended, it goes in.
        std::fs::remove_dir_all(&clone).expect("removes");
    }
    let clone = cloned(&server, folder.path(), "links");
    std::os::unix::fs::symlink("/etc/passwd", clone.join("facts/link.md")).expect("links");
    commit(&clone, "a link");
    let told = refused(&clone, &["push"]);
    assert!(told.contains("symbolic link"), "{told}");
    done(&clone, &["reset", "-q", "--hard", "HEAD~1"]);
    write(&clone, "facts/ok.md", "# Fine\n");
    commit(&clone, "fine\n\nCuebase-Message: 01ARZ3NDEKTSV4RRFFQ69G5FAV");
    let told = refused(&clone, &["push"]);
    assert!(told.contains("Cuebase-Message"), "{told}");
    assert_eq!(head(&server), before);
    assert_eq!(std::fs::read_dir(data.join("trash")).map_or(0, Iterator::count), 0, "something was left behind");
}

#[test]
fn histories_are_neither_rewritten_nor_branched_nor_deleted() {
    let (folder, data) = fresh();
    let server = accepting(&data);
    note(&server, "facts/a.md", "# A");
    let clone = cloned(&server, folder.path(), "clone");
    let late = cloned(&server, folder.path(), "late");
    write(&clone, "facts/b.md", "# B\n");
    commit(&clone, "b");
    done(&clone, &["push", "-q"]);
    let before = head(&server);
    // Somebody who has not seen it.
    write(&late, "facts/c.md", "# C\n");
    commit(&late, "c");
    let told = refused(&late, &["push"]);
    assert!(told.contains("rejected"), "{told}");
    let told = refused(&late, &["push", "--force"]);
    assert!(told.contains("rebase"), "{told}");
    // A merge whose first parent is not what is here.
    done(&late, &["fetch", "-q"]);
    done(&late, &["merge", "-q", "--no-edit", "origin/main"]);
    let told = refused(&late, &["push"]);
    assert!(told.contains("rebase"), "{told}");
    done(&late, &["reset", "-q", "--hard", "HEAD~1"]);
    for wrong in [&["push", "origin", "HEAD:other"][..], &["push", "origin", "HEAD:refs/tags/v1"]] {
        assert!(refused(&late, wrong).contains("main alone"));
    }
    let told = refused(&late, &["push", "origin", ":main"]);
    assert!(told.contains("never lost"), "{told}");
    assert_eq!(head(&server), before);
    done(&late, &["pull", "-q", "--rebase"]);
    done(&late, &["push", "-q"]);
    assert_eq!(server.get("/v1/memories/facts/c.md").status, 200);
    assert_eq!(server.get("/v1/memories/facts/b.md").status, 200);
}

#[test]
fn pushes_and_writes_at_once_lose_nothing() {
    let (folder, data) = fresh();
    let server = accepting(&data);
    note(&server, "facts/a.md", "# A");
    let clone = cloned(&server, folder.path(), "clone");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..40 {
                note(&server, &format!("facts/written/n{number}.md"), &format!("# Written {number}"));
            }
        });
        for number in 0..10 {
            write(&clone, &format!("facts/pushed/n{number}.md"), &format!("# Pushed {number}\n"));
            commit(&clone, "pushed");
            wait_for("the push to go in", || {
                done(&clone, &["pull", "-q", "--rebase"]);
                run_git(&clone, &["push", "-q"]).status.success()
            });
        }
        writer.join().expect("every write is answered");
    });
    done(&clone, &["pull", "-q", "--rebase"]);
    for number in 0..40 {
        assert!(clone.join(format!("facts/written/n{number}.md")).exists(), "{number}");
    }
    for number in 0..10 {
        assert_eq!(server.get(&format!("/v1/memories/facts/pushed/n{number}.md")).status, 200, "{number}");
    }
    assert_eq!(server.get("/v1/namespaces").body["namespaces"][0]["memories"], 51);
    assert_eq!(git(&server.repository("default"), &["fsck", "--strict", "--full"]), "");
}

/// How many files a repository's objects are in.
fn object_files(repository: &Path) -> usize {
    std::fs::read_dir(repository.join("objects/pack")).map_or(0, Iterator::count)
}

#[test]
fn a_push_whose_server_is_killed_is_in_whole_or_not_at_all() {
    const FILES: usize = 200;
    let (folder, data) = fresh();
    let mut server = accepting(&data);
    note(&server, "facts/a.md", "# A");
    let clone = cloned(&server, folder.path(), "clone");
    // Killed when the first file of the push is there, when its objects are, when the branch has moved, and after all.
    for round in 0..4 {
        for number in 0..FILES {
            write(&clone, &format!("facts/round{round}/n{number}.md"), &format!("# Crate {number} of lorry{round}x\n"));
        }
        commit(&clone, "pushed");
        let pushed = done(&clone, &["rev-parse", "main"]).trim().to_owned();
        done(&clone, &["remote", "set-url", "origin", &address(&server, &server.key, "default")]);
        let (repository, before) = (server.repository("default"), head(&server));
        let (files, branch) = (object_files(&repository), repository.join("refs/heads/main"));
        let has_moved = || std::fs::read_to_string(&branch).is_ok_and(|head| head.trim() != before);
        std::thread::scope(|scope| {
            let pushing = scope.spawn(|| run_git(&clone, &["push", "-q"]).status.success());
            wait_for("the push to come that far", || {
                let so_far = match round {
                    0 => object_files(&repository) > files,
                    1 => object_files(&repository) > files + 1,
                    2 => has_moved(),
                    _ => false,
                };
                so_far || pushing.is_finished()
            });
            server.kill();
            // What git was told is in is in.
            let told = pushing.join().expect("git ends");
            let after = git(&repository, &["rev-parse", "main"]).trim().to_owned();
            assert!(after == pushed || (after == before && !told), "round {round}: {after}");
        });

        server = accepting(&data);
        // Objects that came in while the branch did not move belong to nothing and harm nothing.
        assert_eq!(git(&repository, &["fsck", "--strict", "--full", "--no-dangling"]), "");
        let found = server.retrieve("default", &format!("q=lorry{round}x&limit=200")).contents();
        let expected = if head(&server) == pushed { FILES } else { 0 };
        assert_eq!(
            found.iter().filter(|hit| hit.contains(&format!("lorry{round}x"))).count(),
            expected,
            "round {round}"
        );
        done(&clone, &["remote", "set-url", "origin", &address(&server, &server.key, "default")]);
        done(&clone, &["push", "-q"]);
        assert_eq!(head(&server), pushed);
        assert!(server.get(&format!("/v1/memories/facts/round{round}/n{}.md", FILES - 1)).status == 200);
    }
    stdout(&data, &["doctor"]);
}
