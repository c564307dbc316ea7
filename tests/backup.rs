//! Backups under load, restores, and the doctor.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::support::{Answer, Server, files_below, fresh, git, index, repository, run, stdout, wait_for};

/// Returns every file below a folder whose path contains a text, sorted.
fn files_with(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut files = files_below(folder);
    files.retain(|file| file.to_string_lossy().contains(text));
    files
}

/// Flips a bit in each of `count` bytes from the middle of a file on.
fn flip_bits(file: &Path, count: usize) {
    let mut bytes = std::fs::read(file).expect("reads");
    let middle = bytes.len() / 2;
    bytes[middle..].iter_mut().take(count).for_each(|byte| *byte ^= 0x10);
    // Packs are read-only, and other folders may hold hard links to them.
    std::fs::remove_file(file).expect("removes");
    std::fs::write(file, bytes).expect("writes");
}

/// The result of a run of the doctor.
#[derive(Debug)]
struct Examination {
    /// Health by subject.
    health: HashMap<String, String>,
    /// Message by subject.
    messages: HashMap<String, String>,
    /// The doctor found everything sound, or repaired it.
    is_sound: bool,
    error: String,
}

fn run_doctor(data: &Path, options: &[&str]) -> Examination {
    let output = run(data, &[&["doctor", "--json"], options].concat());
    let text = String::from_utf8(output.stdout).expect("text");
    let mut examination = Examination {
        health: HashMap::new(),
        messages: HashMap::new(),
        is_sound: output.status.success(),
        error: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    for line in text.lines() {
        let finding: Value = serde_json::from_str(line).expect("JSON");
        let [subject, health, message] =
            ["subject", "health", "says"].map(|name| finding[name].as_str().expect("text").to_owned());
        examination.health.insert(subject.clone(), health);
        examination.messages.insert(subject, message);
    }
    examination
}

#[test]
fn a_backup_taken_under_load_restores_all_accepted_writes() {
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
        // The second backup is taken while the server joins packs.
        stdout(&data, &["backup", backups.to_str().expect("a path")]);
        stop.store(true, Ordering::SeqCst);
        before
    });
    let key = server.key.clone();
    server.kill();

    let restored = folder.path().join("restored");
    stdout(&restored, &["restore", backups.to_str().expect("a path")]);
    let mut server = Server::start(&restored);
    // A key of the backed-up server is valid here.
    server.key.clone_from(&key);
    for namespace in ["default", "other"] {
        server.settle(namespace);
    }
    // Without a server: it joins packs, and fsck could list a pack that is then removed.
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
    let examination = run_doctor(&restored, &[]);
    assert!(examination.is_sound, "{examination:?}");
    assert_eq!(examination.messages["media"], "1 files");
}

#[test]
fn backups_share_unchanged_files_and_old_ones_are_pruned() {
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
    let shared = files_with(&first, ".pack").first().expect("a pack").clone();
    let same = second.join(shared.strip_prefix(&first).expect("inside"));
    assert_eq!(shared.metadata().expect("there").ino(), same.metadata().expect("there").ino(), "linked");
    assert!(files_with(&second, ".pack").len() > files_with(&first, ".pack").len());
    assert_eq!(std::fs::metadata(&second).expect("there").mode() & 0o077, 0);

    let output = run(&data, &["backup", to, "--keep", "1"]);
    assert!(output.status.success());
    let left = std::fs::read_dir(&backups).expect("a folder").count();
    assert_eq!((left, first.exists(), second.exists()), (1, false, false));
    // A backup inside the data directory would include itself.
    let inside = run(&data, &["backup", data.join("b").to_str().expect("a path")]);
    assert!(String::from_utf8_lossy(&inside.stderr).contains("inside the data directory"));
}

#[test]
fn restore_refuses_a_damaged_backup_and_a_used_directory() {
    let (folder, data) = fresh();
    let backups = folder.path().join("backups");
    let to = backups.to_str().expect("a path");
    let server = Server::start(&data);
    server.settle("default");
    let backup = PathBuf::from(stdout(&data, &["backup", to]));
    let refused = run(&data, &["restore", to]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("not empty"));
    flip_bits(files_with(&backup, ".pack").first().expect("a pack"), 1);
    let restored = folder.path().join("restored");
    let refused = run(&restored, &["restore", to]);
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && error.contains("damaged") && error.contains(".pack"), "{error}");
    assert!(!restored.exists());
    let nothing = run(&restored, &["restore", folder.path().join("nowhere").to_str().expect("a path")]);
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("no backup"));
}

#[test]
fn doctor_repairs_the_index_and_names_the_backup_for_packs() {
    let (folder, data) = fresh();
    let server = Server::start(&data);
    for n in 0..30 {
        server.remember("default", &[&format!("Lighthouse number {n} was painted white and blue")]);
    }
    server.settle("default");
    let subject = "namespace default/default";
    let examination = run_doctor(&data, &[]);
    assert!(examination.is_sound && examination.health[subject] == "sound", "{examination:?}");

    // While the server runs, since a start would rebuild the index.
    let log = index(&data, "default").join("memories.log");
    let mut bytes = std::fs::read(&log).expect("reads");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&log, &bytes).expect("writes");
    let examination = run_doctor(&data, &[]);
    assert!(!examination.is_sound && examination.error.contains("--repair"), "{examination:?}");
    assert_eq!(examination.health[subject], "repairable");
    let examination = run_doctor(&data, &["--repair"]);
    assert!(examination.is_sound && examination.health[subject] == "mended", "{examination:?}");
    assert!(run_doctor(&data, &[]).is_sound);

    let backup = stdout(&data, &["backup", folder.path().join("backups").to_str().expect("a path")]);
    assert!(server.terminate());
    // All packs, since some have been joined into others. More than one bit, since one bit in a hundred is padding of
    // an object's compressed data and leaves the object intact.
    for pack in files_with(&data, ".pack") {
        flip_bits(&pack, 64);
    }
    let examination = run_doctor(&data, &["--repair"]);
    assert!(!examination.is_sound && examination.health[subject] == "damaged", "{examination:?}");
    assert!(examination.error.contains(&backup), "{examination:?}");
}
