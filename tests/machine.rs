//! File modes, memory limits, and a clock that jumps to other months and back.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::support::disk::Disk;
use crate::support::{Server, cuebase, fresh, stdout};

const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

fn mode(path: &Path) -> u32 {
    mode_if_there(path).expect("is there")
}

/// Returns the mode of a file, or `None` if it does not exist.
fn mode_if_there(path: &Path) -> Option<u32> {
    match std::fs::symlink_metadata(path) {
        Ok(found) => Some(found.permissions().mode() & 0o777),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{}: {error}", path.display());
            None
        }
    }
}

/// Returns every file and folder below a folder.
fn entries_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn a_start_removes_access_of_others_to_the_data_directory() {
    let (_folder, data) = fresh();
    stdout(&data, &["keys", "create", "--init"]);
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o755)).expect("changes the mode");
    let server = Server::start(&data);
    assert_eq!(mode(&data), 0o700);
    assert!(server.terminate());
}

#[test]
fn files_of_the_server_are_readable_only_by_their_owner() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    server.remember("default", &["The lock keeper wakes at four"]);
    server.settle("default");
    assert_eq!(server.post("/v1/media", &json!("a file")).status, 201);
    server.drain();
    for path in entries_below(&data) {
        // git itself gives its objects the mode 444; other users cannot enter the folders.
        let is_git_object = path.is_file() && path.components().any(|part| part.as_os_str() == "objects");
        // The server and its database may have removed a temporary file since it was listed.
        let Some(mode) = mode_if_there(&path) else { continue };
        assert!(mode & 0o077 == 0 || is_git_object || path.is_symlink(), "{}: {mode:o}", path.display());
    }
}

/// Returns the server's command with a limit on its address space.
fn limited(data: &Path, mib: u64) -> Command {
    let served = cuebase(data, &SERVE);
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -v {}; exec \"$@\"", mib << 10)).arg("sh").arg(served.get_program());
    command.args(served.get_args()).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.current_dir(data.parent().expect("a folder"));
    command
}

/// Checks that a server handles a request, a write, a query and a body of 6 MiB.
fn assert_works(server: &mut Server, mib: u64) {
    assert_eq!(server.get("/v1/whoami").status, 200, "{mib} MiB");
    server.remember("default", &["The dredger works at low tide"]);
    server.settle("default");
    assert!(server.retrieve("default", "q=dredger").contents()[0].contains("tide"), "{mib} MiB");
    let body = json!({"messages": [{"role": "user", "content": "The tug is red"}], "padding": "x".repeat(6 << 20)});
    let large = server.post("/v1/memories", &body);
    assert!(matches!(large.status, 202 | 503), "{mib} MiB: {}", large.status);
    assert_eq!(server.get("/v1/whoami").status, 200, "{mib} MiB");
    assert!(!server.has_ended(), "{mib} MiB");
}

#[test]
fn under_a_memory_limit_it_serves_or_reports_the_minimum() {
    let mut served = Vec::new();
    for mib in [100, 200, 300, 400, 500, 600, 800, 1024] {
        let (_folder, data) = fresh();
        let key = stdout(&data, &["keys", "create", "--init"]);
        if let Some(mut server) = Server::try_start(&data, limited(&data, mib)) {
            server.key = key;
            assert_works(&mut server, mib);
            assert!(server.terminate(), "{mib} MiB");
            served.push(mib);
            continue;
        }
        let ended = limited(&data, mib).output().expect("runs");
        let error = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!((ended.status.signal(), ended.status.code()), (None, Some(1)), "{mib} MiB: {error}");
        let is_explained =
            error.contains("memory limit") && error.contains("ulimit -v") && error.contains("needs at least");
        assert!(is_explained && error.trim_end().lines().count() == 1, "{mib} MiB: {error}");
    }
    assert!(served.contains(&1024) && served.contains(&800), "served with {served:?} MiB");
}

/// Returns the seconds from now to the 15th of the month, so that no month ends during a test.
fn seconds_to_mid_month() -> i64 {
    let today = Timestamp::now().to_zoned(TimeZone::UTC);
    (15 - i64::from(today.day())) * 86_400
}

#[test]
fn monthly_usage_survives_a_clock_that_leaves_the_month() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (root, data) = (folder.path().join("box"), folder.path().join("box/data"));
    std::fs::create_dir_all(&root).expect("creates");
    let key = stdout(&data, &["keys", "create", "--init"]);
    let disk = Disk::under(&root, &folder.path().join("disk"));
    let middle = seconds_to_mid_month();
    disk.set_rules(&[&format!("clock - - {middle}")]);
    let start = || {
        let mut command = cuebase(&data, &SERVE);
        disk.watch(&mut command, false);
        let mut server = Server::try_start(&data, command).expect("starts");
        server.key.clone_from(&key);
        server
    };
    let server = start();
    let reads = |server: &Server| -> Value { server.get("/v1/usage").body["used"]["reads"].clone() };
    for (jump, count) in [(0, 7), (400 * 86_400, 3), (-100 * 86_400, 2)] {
        disk.set_rules(&[&format!("clock - - {}", middle + jump)]);
        assert_eq!(reads(&server), 0, "a new month starts at zero");
        for _ in 0..count {
            assert_eq!(server.retrieve("default", "q=x").status, 200);
        }
    }
    for (jump, count) in [(400 * 86_400, 3), (-100 * 86_400, 2), (0, 7)] {
        disk.set_rules(&[&format!("clock - - {}", middle + jump)]);
        assert_eq!(reads(&server), count);
    }
    assert!(server.terminate());
    let server = start();
    assert_eq!(reads(&server), 7, "after a restart");
}
