//! Full, read-only and failing disks, damaged files, clock jumps, and too few file descriptors.

use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::disk::Disk;
use crate::support::{Answer, Server, cuebase, files_below, fresh, git, index, repository, run, stdout, wait_for};

const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

/// Starts a server on a [`Disk`].
fn server_on_disk() -> (tempfile::TempDir, Server, Disk) {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (root, data) = (folder.path().join("box"), folder.path().join("box/data"));
    std::fs::create_dir_all(&root).expect("creates");
    let key = stdout(&data, &["keys", "create", "--init"]);
    let disk = Disk::under(&root, &folder.path().join("disk"));
    let mut command = cuebase(&data, &SERVE);
    disk.watch(&mut command, false);
    let mut server = Server::try_start(&data, command).expect("starts");
    server.key = key;
    (folder, server, disk)
}

/// Starts a server with a key, or returns the last line of its log if it did not start.
fn start(data: &Path, key: &str) -> Result<Server, String> {
    let mut server = Server::try_start(data, cuebase(data, &SERVE)).ok_or_else(|| {
        let log = std::fs::read_to_string(data.with_extension("log")).unwrap_or_default();
        log.lines().last().unwrap_or_default().to_owned()
    })?;
    key.clone_into(&mut server.key);
    Ok(server)
}

fn conversation(text: &str) -> Value {
    json!({"messages": [{"role": "user", "content": text}]})
}

/// Sends a request of every kind that writes.
fn write_all(server: &Server, mark: &str) -> Vec<Answer> {
    vec![
        server.post("/v1/memories", &conversation(&format!("The pier number {mark} was repaired"))),
        server.post(&format!("/v1/memories/facts/{mark}.md"), &json!({"content": "# Pier"})),
        server.post("/v1/vocab", &json!({"terms": [{"term": mark}]})),
        server.post("/v1/skills", &json!({"skills": [{"name": mark, "content": "1. Look"}]})),
        server.post("/v1/conversations", &json!({"title": mark})),
        server.post("/v1/media", &json!(mark)),
        server.post("/v1/namespaces", &json!({"name": format!("n{mark}")})),
    ]
}

#[test]
fn writes_to_an_unwritable_disk_are_refused_until_it_recovers() {
    for (number, (rules, says)) in [
        (&["enospc write *", "enospc open *", "enospc mkdir *"][..], "full"),
        (&["erofs write *", "erofs open *", "erofs mkdir *", "erofs rename *", "erofs unlink *"], "read-only"),
        (&["eio sync *"], "fails"),
    ]
    .into_iter()
    .enumerate()
    {
        let (_folder, server, disk) = server_on_disk();
        server.remember("default", &["The lighthouse keeper is called Agatha"]);
        server.settle("default");
        let rules: Vec<String> = rules.iter().map(|rule| format!("{rule} 0")).collect();
        disk.set_rules(&rules.iter().map(String::as_str).collect::<Vec<_>>());
        for answer in write_all(&server, "a1") {
            assert_eq!((answer.status, answer.code()), (503, "storage_unavailable"), "{rules:?} {answer:?}");
            assert!(answer.retry_after.is_some(), "{answer:?}");
            let message = answer.body["error"]["message"].as_str().expect("a message");
            // After the first failure the engine may report only that it failed.
            assert!(message.contains(says) || message.contains("the disk"), "{rules:?} {message}");
        }
        for _ in 0..3 {
            let hits = server.retrieve("default", "q=who+keeps+the+lighthouse").contents();
            assert!(hits.iter().any(|hit| hit.contains("Agatha")), "{rules:?} {hits:?}");
        }
        for path in ["/health", "/v1/whoami", "/v1/tree", "/v1/topics", "/v1/namespaces", "/v1/vocab"] {
            assert_eq!(server.get(path).status, 200, "{rules:?} {path}");
        }
        for path in ["/v1/usage", "/v1/billing"] {
            assert_eq!(server.get(path).status, 200, "{rules:?} {path}");
        }
        disk.set_rules(&[]);
        let mark = format!("b{number}");
        wait_for("writes to be accepted again", || {
            server.post("/v1/memories", &conversation(&format!("The mast {mark} stands"))).status == 202
        });
        server.settle("default");
        for answer in write_all(&server, &mark) {
            assert!((200..300).contains(&answer.status), "{rules:?} {answer:?}");
        }
        server.settle("default");
        // The reads during the failure were counted.
        assert!(server.get("/v1/usage").body.to_string().contains("reads"));
        let data = server.data.clone();
        assert!(server.terminate(), "{rules:?}");
        let examined = run(&data, &["doctor"]);
        assert!(examined.status.success(), "{rules:?} {}", String::from_utf8_lossy(&examined.stdout));
        git(&repository(&data, "default"), &["fsck", "--strict", "--full"]);
    }
}

#[test]
fn writes_to_folders_that_deny_changes_are_refused_as_retryable() {
    let (_folder, server, disk) = server_on_disk();
    server.remember("default", &["The lighthouse keeper is called Agatha"]);
    server.settle("default");
    // A read-only file system, a folder without permission, and an immutable folder.
    for action in ["erofs", "eacces", "eperm"] {
        let mut rules = Vec::new();
        for operation in ["open", "mkdir", "rename", "unlink"] {
            for folder in ["data/repositories/", "data/media/"] {
                rules.push(format!("{action} {operation} {folder} 0"));
            }
        }
        disk.set_rules(&rules.iter().map(String::as_str).collect::<Vec<_>>());
        let note = json!({"content": format!("# Pier {action}\n")});
        for answer in [server.post("/v1/memories/facts/pier.md", &note), server.post("/v1/media", &json!(action))] {
            assert_eq!((answer.status, answer.code()), (503, "storage_unavailable"), "{action}: {answer:?}");
            assert!(answer.retry_after.is_some(), "{action}: {answer:?}");
        }
        let hits = server.retrieve("default", "q=who+keeps+the+lighthouse").contents();
        assert!(hits.iter().any(|hit| hit.contains("Agatha")), "{action}: {hits:?}");
        disk.set_rules(&[]);
        wait_for("writes to be accepted again", || {
            matches!(server.post("/v1/memories/facts/pier.md", &note).status, 200 | 201)
        });
        assert_eq!(server.post("/v1/media", &json!(action)).status, 201);
    }
}

#[test]
fn accepted_writes_wait_while_the_disk_is_full() {
    let (_folder, server, disk) = server_on_disk();
    server.settle("default");
    disk.set_rules(&["enospc write repositories/ 0", "enospc open repositories/ 0"]);
    let id = server.remember("default", &["The harbour bell was cast in Genoa"]);
    // More often than the retries of a write that fails for another reason.
    wait_for("retries", || server.log().matches("ingestion waits for the disk").count() > 4);
    assert_eq!(stdout(&server.data, &["dead-letters", "list"]), "");
    disk.set_rules(&[]);
    server.settle("default");
    assert!(server.retrieve("default", "q=harbour+bell").contents()[0].contains("Genoa"));
    let log = git(&server.repository("default"), &["log", "--format=%B"]);
    assert_eq!(log.matches(&id).count(), 1, "{log}");
}

#[test]
fn a_failed_sync_of_a_branch_commits_nothing_twice() {
    for rule in [
        "eio sync refs/heads 1",
        // The first sync is of the lock, the second of the folder after the branch has moved.
        "eio sync refs/heads 2",
        "eio unlink cuebase-pending 1",
        "eio rename refs/heads/main 1",
        "eio sync objects/pack 2",
    ] {
        let (_folder, server, disk) = server_on_disk();
        server.settle("default");
        disk.set_rules(&[rule]);
        let id = server.remember("default", &["The cooper's apprentice sails on Friday"]);
        server.settle("default");
        assert!(server.retrieve("default", "q=cooper+apprentice").contents()[0].contains("Friday"), "{rule}");
        let repository = server.repository("default");
        let data = server.data.clone();
        assert!(server.terminate());
        git(&repository, &["fsck", "--strict", "--full"]);
        let log = git(&repository, &["log", "--format=%B"]);
        assert_eq!(log.matches(&id).count(), 1, "{rule}: {log}");
        assert!(run(&data, &["doctor"]).status.success(), "{rule}");
    }
}

#[test]
fn an_index_that_cannot_be_read_is_rebuilt() {
    let (_folder, server, disk) = server_on_disk();
    server.remember("default", &["The cartographer lives above the bakery"]);
    server.settle("default");
    disk.set_rules(&["eio read memories.log 1"]);
    let hits = server.retrieve("default", "q=cartographer").contents();
    assert!(hits[0].contains("bakery"), "{hits:?}");
    assert!(server.log().contains("rebuilding the index") || server.log().contains("the index is damaged"));
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-r").arg(from).arg(to).status().expect("cp runs");
    assert!(status.success());
}

/// Returns what a client can read of a namespace: the hits of two queries, without their times, and every path.
fn snapshot(server: &Server) -> Value {
    let hits = |query: &str| {
        let mut answer = server.retrieve("default", query).body;
        answer.as_object_mut().expect("an object").retain(|name, _| name == "hits");
        answer
    };
    json!([hits("q=which+vessel+carries+lamps&limit=50"), hits("q=vessel+17"), server.get("/v1/tree").body])
}

#[test]
fn damage_in_any_index_file_is_detected_and_repaired() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    let vessels: Vec<String> =
        (0..2100).map(|n| format!("Vessel {n} carries lamps for port number {}", n * 3)).collect();
    server.remember("default", &vessels.iter().map(String::as_str).collect::<Vec<_>>());
    server.settle("default");
    server.remember("default", &["The last vessel carries no lamps at all"]);
    server.settle("default");
    let (before, key) = (snapshot(&server), server.key.clone());
    assert!(server.terminate());
    let whole = files_below(&index(&data, "default"));
    for name in ["memories.log", "vectors.log", "layer-", "state"] {
        assert!(whole.iter().any(|file| file.to_string_lossy().contains(name)), "no {name} in {whole:?}");
    }
    for file in whole {
        let bytes = std::fs::read(&file).expect("reads");
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        type Damage = (&'static str, fn(&mut Vec<u8>));
        let damages: [Damage; 5] = [
            ("a bit at the beginning", |bytes| bytes[2] ^= 4),
            ("a bit in the middle", |bytes| {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
            }),
            ("a bit at the end", |bytes| {
                let last = bytes.len() - 2;
                bytes[last] ^= 64;
            }),
            ("cut short", |bytes| bytes.truncate(bytes.len() * 2 / 3)),
            ("zeros from the middle on", |bytes| {
                let middle = bytes.len() / 2;
                bytes[middle..].fill(0);
            }),
        ];
        for (what, damage) in damages {
            let other = folder.path().join("other");
            let _ = std::fs::remove_dir_all(&other);
            let _ = std::fs::remove_file(other.with_extension("log"));
            copy(&data, &other);
            let mut bytes = bytes.clone();
            damage(&mut bytes);
            std::fs::write(index(&other, "default").join(&name), bytes).expect("writes");
            let server = start(&other, &key).expect("starts");
            assert_eq!(snapshot(&server), before, "{name}, {what}");
            let examined = run(&other, &["doctor", "--repair"]);
            assert!(examined.status.success(), "{name}, {what}: {}", String::from_utf8_lossy(&examined.stdout));
            let output = server.log() + &String::from_utf8_lossy(&examined.stdout);
            // An incomplete layer file is rebuilt from the log without a message.
            let is_silent = name.starts_with("layer-");
            assert!(
                is_silent || output.contains("rebuil") || output.contains("damaged") || output.contains("repaired"),
                "{name}, {what}: {output}"
            );
            drop(server);
        }
    }
}

#[test]
fn damaged_records_are_never_served_and_the_backup_is_named() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    for n in 0..20 {
        server.remember("default", &[&format!("Anchor {n} weighs {} stone", n * 2)]);
        server.post("/v1/conversations", &json!({"title": format!("Talk {n}")}));
    }
    server.settle("default");
    let backup = stdout(&data, &["backup", folder.path().join("backups").to_str().expect("a path")]);
    for n in 20..40 {
        server.post("/v1/conversations", &json!({"title": format!("Talk {n}")}));
    }
    let titles = |server: &Server| server.get("/v1/conversations?limit=100").body.to_string().matches("Talk").count();
    assert_eq!(titles(&server), 40);
    let key = server.key.clone();
    // Killed, so that the write-ahead log is not empty.
    server.kill();
    let (mut refused, mut answered) = (0, 0);
    for file in files_below(&data.join("records")) {
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        let bytes = std::fs::read(&file).expect("reads");
        let kept = [".sst", ".log", "MANIFEST", "CURRENT"].iter().any(|kind| name.contains(kind));
        if !kept || bytes.is_empty() {
            continue;
        }
        let other = folder.path().join("other");
        let _ = std::fs::remove_dir_all(&other);
        let _ = std::fs::remove_file(other.with_extension("log"));
        copy(&data, &other);
        let damaged = std::fs::File::options().write(true).open(other.join("records").join(&name)).expect("opens");
        let at = bytes.len() / 3;
        damaged.write_all_at(&[bytes[at] ^ 0x20], at as u64).expect("writes");
        match start(&other, &key) {
            Err(error) => {
                assert!(error.contains(&backup), "{name}: {error}");
                refused += 1;
            }
            // The damage is in a part that the start does not read. Responses must be correct or errors.
            Ok(server) => {
                let listed = server.get("/v1/conversations?limit=100");
                assert!(listed.status == 500 || titles(&server) == 40, "{name}: {listed:?}");
                answered += 1;
                drop(server);
                let examined = run(&other, &["doctor"]);
                let output =
                    String::from_utf8_lossy(&examined.stdout).into_owned() + &String::from_utf8_lossy(&examined.stderr);
                assert!(examined.status.success() || output.contains(&backup), "{name}: {output}");
            }
        }
    }
    assert!(refused >= 2, "{refused} refused, {answered} answered");
}

#[test]
fn a_clock_that_jumps_loses_nothing() {
    let (_folder, server, disk) = server_on_disk();
    let mut tokens = Vec::new();
    for (number, jump) in [0, 400 * 86_400, -3 * 86_400, -40 * 365 * 86_400, 6 * 86_400, 0].into_iter().enumerate() {
        disk.set_rules(&[&format!("clock - - {jump}")]);
        let token = format!("windlass{number}x");
        server.remember("default", &[&format!("The {token} was oiled")]);
        server.settle("default");
        tokens.push(token);
        for token in &tokens {
            let hits = server.retrieve("default", &format!("q={token}&limit=3")).contents();
            assert!(hits.iter().any(|hit| hit.contains(token.as_str())), "{jump}: {token} in {hits:?}");
        }
    }
    // A clock jump does not age a queued write.
    disk.set_rules(&["enospc write repositories/ 0", "enospc open repositories/ 0"]);
    server.remember("default", &["The bosun whistles at noon"]);
    wait_for("a failed attempt", || server.log().contains("ingestion waits for the disk"));
    disk.set_rules(&["clock - - 864000"]);
    server.settle("default");
    assert!(server.retrieve("default", "q=who+whistles").contents()[0].contains("bosun"));
    assert!(!server.log().contains("dropped"));
    let data = server.data.clone();
    assert!(server.terminate());
    assert!(run(&data, &["doctor"]).status.success());
}

#[test]
fn a_server_recovers_from_running_out_of_descriptors() {
    let (_folder, data) = fresh();
    let key = stdout(&data, &["keys", "create", "--init"]);
    let served = cuebase(&data, &SERVE);
    let mut command = Command::new("sh");
    command.arg("-c").arg("ulimit -S -n 80; ulimit -H -n 80; exec \"$@\"").arg("sh").arg(served.get_program());
    // A long timeout, so that idle connections are closed only to make room for others.
    let served_arguments = served.get_args();
    command.args(served_arguments).env_clear().env("CUEBASE_SERVER_HEADER_TIMEOUT_MS", "600000");
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let mut server = Server::try_start(&data, command).expect("starts");
    server.key = key;
    server.remember("default", &["The quartermaster counts the oars"]);
    server.settle("default");
    let address = server.url.trim_start_matches("http://").to_owned();
    let held: Vec<TcpStream> = (0..150).filter_map(|_| TcpStream::connect(&address).ok()).collect();
    assert!(held.len() > 100);
    // Idle connections are closed to make room for one that sends a request.
    wait_for("an answer", || {
        let bearer = format!("Bearer {}", server.key);
        let answer = server.try_request("GET", "/v1/retrieve?q=quartermaster", Some(&bearer), None);
        answer.is_ok_and(|answer| answer.status == 200)
    });
    drop(held);
    server.remember("default", &["The purser counts the coins"]);
    server.settle("default");
    assert!(server.retrieve("default", "q=purser").contents()[0].contains("coins"));
    assert!(server.terminate());
    assert!(run(&data, &["doctor"]).status.success());
}
