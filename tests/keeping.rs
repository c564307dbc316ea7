//! Backups taken under load, what they restore to, and what the doctor sees.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::support::{Answer, Server, fresh, git, index, repository, run, stdout, wait_for};

/// Every file below a folder whose path holds a text, in order.
fn files(folder: &Path, holding: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path, holding));
        } else if path.to_string_lossy().contains(holding) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Flips a bit in each of so many bytes in the middle of a file.
fn flip(file: &Path, count: usize) {
    let mut bytes = std::fs::read(file).expect("reads");
    let middle = bytes.len() / 2;
    bytes[middle..].iter_mut().take(count).for_each(|byte| *byte ^= 0x10);
    // Packs are read-only to git, and may be linked to elsewhere.
    std::fs::remove_file(file).expect("removes");
    std::fs::write(file, bytes).expect("writes");
}

/// What the doctor says of each thing, and whether it is content.
fn examine(data: &Path, options: &[&str]) -> (HashMap<String, (String, String)>, bool, String) {
    let output = run(data, &[&["doctor", "--json"], options].concat());
    let text = String::from_utf8(output.stdout).expect("text");
    let finding = |line: &str| {
        let finding: Value = serde_json::from_str(line).expect("JSON");
        let field = |name: &str| finding[name].as_str().expect("text").to_owned();
        (field("subject"), (field("health"), field("says")))
    };
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    (text.lines().map(finding).collect(), output.status.success(), error)
}

#[test]
fn a_backup_taken_under_load_restores_to_what_was_accepted_before_it() {
    let (folder, data) = fresh();
    let backups = folder.path().join("backups");
    let server = Server::start(&data);
    server.namespace("other");
    let uploaded = server.call("POST", "/v1/media?filename=a.txt", Some(&json!("kept"))).body["id"].clone();
    let conversation = server.post("/v1/conversations", &json!({"title": "kept"})).body["id"].clone();
    let (accepted, stop, count) = (Mutex::new(Vec::new()), AtomicBool::new(false), AtomicU32::new(0));
    let before = std::thread::scope(|scope| {
        for namespace in ["default", "other"] {
            let (server, accepted, stop, count) = (&server, &accepted, &stop, &count);
            scope.spawn(move || {
                while !stop.load(Ordering::SeqCst) {
                    let number = count.fetch_add(1, Ordering::SeqCst);
                    let text = format!("The crate labelled token{number}x holds lanterns");
                    server.remember(namespace, &[&text]);
                    accepted.lock().expect("no panic").push((namespace, number));
                }
            });
        }
        wait_for("some writes", || count.load(Ordering::SeqCst) > 40);
        stdout(&data, &["backup", backups.to_str().expect("a path")]);
        let more = count.load(Ordering::SeqCst) + 40;
        wait_for("more writes", || count.load(Ordering::SeqCst) > more);
        let before = accepted.lock().expect("no panic").clone();
        // The second one is taken in the midst of packs that were joined since the first.
        stdout(&data, &["backup", backups.to_str().expect("a path")]);
        stop.store(true, Ordering::SeqCst);
        before
    });
    let key = server.key.clone();
    server.kill();

    let restored = folder.path().join("restored");
    stdout(&restored, &["restore", backups.to_str().expect("a path")]);
    let mut server = Server::start(&restored);
    // A key of the former service is good here.
    server.key.clone_from(&key);
    for namespace in ["default", "other"] {
        server.settle(namespace);
    }
    // At rest: while the server joins packs, an fsck may list one that is gone when it comes to it.
    server.kill();
    for namespace in ["default", "other"] {
        git(&repository(&restored, namespace), &["fsck", "--strict", "--full"]);
    }
    let mut server = Server::start(&restored);
    server.key = key;
    for (namespace, number) in before {
        let token = format!("token{number}x");
        let hits = server.retrieve(namespace, &format!("q={token}&limit=5")).contents();
        assert_eq!(hits.iter().filter(|hit| hit.contains(&token)).count(), 1, "{namespace} {token}");
    }
    let conversation = conversation.as_str().expect("an id");
    assert_eq!(server.get(&format!("/v1/conversations/{conversation}")).body["title"], "kept");
    let opened: Answer = server.get(&format!("/v1/media/{}", uploaded.as_str().expect("an id")));
    assert_eq!(opened.status, 200);
    let (findings, content, error) = examine(&restored, &[]);
    assert!(content, "{findings:?} {error}");
    assert_eq!(findings["media"].1, "1 files");
}

#[test]
fn a_second_backup_costs_what_is_new_and_old_ones_go_when_asked() {
    let (folder, data) = fresh();
    let backups = folder.path().join("backups");
    let to = backups.to_str().expect("a path");
    let server = Server::start(&data);
    server.remember("default", &["The tram to the museum leaves from platform four"]);
    server.settle("default");
    let first = PathBuf::from(stdout(&data, &["backup", to]));
    server.remember("default", &["The tram back leaves from platform nine"]);
    server.settle("default");
    let second = PathBuf::from(stdout(&data, &["backup", to]));
    let shared = files(&first, ".pack").first().expect("a pack").clone();
    let same = second.join(shared.strip_prefix(&first).expect("inside"));
    assert_eq!(shared.metadata().expect("there").ino(), same.metadata().expect("there").ino(), "linked");
    assert!(files(&second, ".pack").len() > files(&first, ".pack").len());
    assert_eq!(std::fs::metadata(&second).expect("there").mode() & 0o077, 0);

    let output = run(&data, &["backup", to, "--keep", "1"]);
    assert!(output.status.success());
    let left = std::fs::read_dir(&backups).expect("a folder").count();
    assert_eq!((left, first.exists(), second.exists()), (1, false, false));
    // Inside of itself it would grow for ever.
    let inside = run(&data, &["backup", data.join("b").to_str().expect("a path")]);
    assert!(String::from_utf8_lossy(&inside.stderr).contains("inside the data directory"));
}

#[test]
fn a_damaged_backup_is_refused_whole_and_nothing_is_written_over() {
    let (folder, data) = fresh();
    let backups = folder.path().join("backups");
    let to = backups.to_str().expect("a path");
    let server = Server::start(&data);
    server.settle("default");
    let backup = PathBuf::from(stdout(&data, &["backup", to]));
    let refused = run(&data, &["restore", to]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("not empty"));
    flip(files(&backup, ".pack").first().expect("a pack"), 1);
    let restored = folder.path().join("restored");
    let refused = run(&restored, &["restore", to]);
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && error.contains("damaged") && error.contains(".pack"), "{error}");
    assert!(!restored.exists());
    let nothing = run(&restored, &["restore", folder.path().join("nowhere").to_str().expect("a path")]);
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("no backup"));
}

#[test]
fn the_doctor_sees_damage_mends_what_is_derived_and_names_the_backup_for_the_rest() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    for n in 0..30 {
        server.remember("default", &[&format!("Lighthouse number {n} was painted white and blue")]);
    }
    server.settle("default");
    let (findings, content, _) = examine(&data, &[]);
    assert!(content && findings["namespace default/default"].0 == "sound", "{findings:?}");

    // Under the running service, so that no start makes it anew.
    let log = index(&data, "default").join("memories.log");
    let mut bytes = std::fs::read(&log).expect("reads");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&log, &bytes).expect("writes");
    let (findings, content, error) = examine(&data, &[]);
    assert!(!content && error.contains("--repair"), "{error}");
    assert_eq!(findings["namespace default/default"].0, "repairable");
    let (findings, content, _) = examine(&data, &["--repair"]);
    assert!(content && findings["namespace default/default"].0 == "mended", "{findings:?}");
    assert!(examine(&data, &[]).1);

    let backup = stdout(&data, &["backup", folder.path().join("backups").to_str().expect("a path")]);
    assert!(server.terminate());
    // All of them: some have been joined into others. More than a bit: one in a hundred pads an object's compressed data,
    // and leaves the object whole.
    files(&data, ".pack").iter().for_each(|pack| flip(pack, 64));
    let (findings, content, error) = examine(&data, &["--repair"]);
    assert!(!content && findings["namespace default/default"].0 == "damaged", "{findings:?}");
    assert!(error.contains(&backup), "{error}");
}
