//! Mistakes at first use: a wrong folder, a misspelt name, a folder of another user.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::{Server, cuebase, fresh, run, stdout};

/// User id of commands in the tests of permissions when the tests run as root: the user nobody.
const OTHER_USER: u32 = 65_534;

/// Commands that use a data directory and can create one.
const CREATING: [&[&str]; 4] =
    [&["keys", "create"], &["token"], &["namespaces", "create", "notes"], &["import", "chats.jsonl"]];

/// Commands that use a data directory and cannot create one.
const OTHERS: [&[&str]; 14] = [
    &["keys", "list"],
    &["keys", "revoke", "0123456789abcdef"],
    &["namespaces", "list"],
    &["namespaces", "delete", "--yes", "notes"],
    &["accounts", "list"],
    &["accounts", "suspend", "acme"],
    &["accounts", "resume", "acme"],
    &["dead-letters", "list"],
    &["dead-letters", "retry", "01M8155XQQCXY2N4ESR94RMNCK"],
    &["dead-letters", "drop", "01M8155XQQCXY2N4ESR94RMNCK"],
    &["backup", "backups"],
    &["doctor"],
    &["doctor", "--repair"],
    &["export", "notes.bundle"],
];

/// Returns a command for the binary in a folder, without options, settings or input.
fn cuebase_in(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cuebase"));
    command.args(arguments).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.current_dir(folder).stdin(Stdio::null());
    command
}

fn error_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the error of a command, which must exit with code 1 and print nothing to standard output.
fn expect_error(what: &str, output: &Output) -> String {
    let error = error_of(output);
    assert_eq!(output.status.code(), Some(1), "{what}: {error}");
    assert!(output.stdout.is_empty(), "{what}: {}", String::from_utf8_lossy(&output.stdout));
    error
}

/// Returns the number of entries in a folder.
fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).expect("a folder").count()
}

/// Writes a file that `cuebase import` accepts.
fn write_chats(folder: &Path) -> PathBuf {
    let file = folder.join("chats.jsonl");
    let line = json!({"messages": [{"role": "user", "content": "I adopted a greyhound called Bolt."}]});
    fs::write(&file, format!("{line}\n")).expect("writes");
    file
}

#[test]
fn a_command_without_a_data_directory_names_the_path() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let real = folder.path().canonicalize().expect("a folder");
    for arguments in CREATING.iter().chain(&OTHERS) {
        let error = expect_error(&format!("{arguments:?}"), &cuebase_in(&real, arguments).output().expect("runs"));
        let missing = real.join("cuebase-data");
        assert!(
            error.starts_with(&format!("cuebase: no data directory at {}", missing.display())),
            "{arguments:?}: {error}"
        );
        assert!(error.contains("--data") && error.contains("CUEBASE_DATA"), "{arguments:?}: {error}");
        assert_eq!(error.trim_end().lines().count(), 2, "one line of error and one of advice, {arguments:?}: {error}");
        assert_eq!(entries(&real), 0, "{arguments:?} created something");
    }
}

#[test]
fn the_tools_of_an_agent_use_no_data_directory_of_the_current_folder() {
    let (folder, data) = fresh();
    stdout(&data, &["keys", "create", "--init"]);
    let project = folder.path().join("project");
    fs::create_dir(&project).expect("creates");
    fs::rename(&data, project.join("cuebase-data")).expect("moves");
    let home = folder.path().join("home");
    for arguments in [&["mcp"][..], &["install", "cursor", "--yes"]] {
        let mut command = cuebase_in(&project, arguments);
        let error = expect_error(&format!("{arguments:?}"), &command.env("HOME", &home).output().expect("runs"));
        let missing = home.join(".local/share/cuebase");
        let expected = format!("cuebase: no data directory at {} (the default path)", missing.display());
        assert!(error.starts_with(&expected), "{arguments:?}: {error}");
    }
}

#[test]
fn only_commands_that_can_create_a_directory_offer_init() {
    let folder = tempfile::tempdir().expect("temporary directory");
    for (commands, offered) in [(&CREATING[..], true), (&OTHERS[..], false)] {
        for arguments in commands {
            let error = error_of(&cuebase_in(folder.path(), arguments).output().expect("runs"));
            assert_eq!(error.contains("--init"), offered, "{arguments:?}: {error}");
        }
    }
}

#[test]
fn an_error_states_where_the_data_path_was_set() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let mut command = cuebase_in(folder.path(), &["keys", "list"]);
    let error = error_of(&command.env("CUEBASE_DATA", "elsewhere").output().expect("runs"));
    assert!(error.contains("elsewhere") && error.contains("from environment CUEBASE_DATA"), "{error}");
    let error = error_of(&run(&folder.path().join("typed"), &["keys", "list"]));
    assert!(error.contains("typed") && error.contains("from command line"), "{error}");
}

#[test]
fn a_folder_with_other_files_is_not_used_as_data_directory() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let data = folder.path().join("project");
    fs::create_dir_all(&data).expect("creates");
    fs::write(data.join("notes.txt"), "mine").expect("writes");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).expect("changes the mode");
    for arguments in [&["keys", "create"][..], &["keys", "create", "--init"], &["doctor"]] {
        let error = expect_error(&format!("{arguments:?}"), &run(&data, arguments));
        assert!(error.contains("is not a Cuebase data directory"), "{arguments:?}: {error}");
        assert!(error.contains(data.to_str().expect("a path")), "{arguments:?}: {error}");
    }
    assert_eq!(entries(&data), 1);
    assert_eq!(fs::metadata(&data).expect("there").permissions().mode() & 0o777, 0o755, "the mode is unchanged");
}

#[test]
fn init_creates_a_data_directory_and_keeps_an_existing_one() {
    for arguments in CREATING {
        let (folder, data) = fresh();
        write_chats(folder.path());
        let arguments = [arguments, &["--init"]].concat();
        stdout(&data, &arguments);
        assert!(data.join("records/CURRENT").exists(), "{arguments:?}");
        stdout(&data, &["namespaces", "create", "kept"]);
        stdout(&data, &arguments);
        assert!(stdout(&data, &["namespaces", "list"]).contains("kept"), "{arguments:?}");
    }
}

#[test]
fn commands_that_need_no_data_directory_work_without_one() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let chat = format!("{}/tests/data/diary.json", env!("CARGO_MANIFEST_DIR"));
    for arguments in [&["openapi"][..], &["models"], &["config"], &["completions", "bash"], &["eval", chat.as_str()]] {
        let output = cuebase_in(folder.path(), arguments).output().expect("runs");
        assert!(output.status.success() && !output.stdout.is_empty(), "{arguments:?}: {}", error_of(&output));
    }
    for arguments in [&["health", "--listen", "127.0.0.1:9"][..], &["mcp", "--url", "http://127.0.0.1:9", "--key", "x"]]
    {
        let error = error_of(&cuebase_in(folder.path(), arguments).output().expect("runs"));
        assert!(!error.contains("data directory"), "{arguments:?}: {error}");
    }
    assert_eq!(entries(folder.path()), 0);
}

#[test]
fn the_models_command_does_not_change_a_foreign_folder() {
    let folder = tempfile::tempdir().expect("temporary directory");
    fs::write(folder.path().join("notes.txt"), "mine").expect("writes");
    stdout(folder.path(), &["models"]);
    assert_eq!(entries(folder.path()), 1);
}

#[test]
fn the_command_line_refuses_a_key_for_an_unknown_namespace() {
    let (_folder, data) = fresh();
    stdout(&data, &["keys", "create", "--init"]);
    stdout(&data, &["namespaces", "create", "notes"]);
    let check = |when: &str| {
        let keys = stdout(&data, &["keys", "list"]).lines().count();
        let error = expect_error(when, &run(&data, &["keys", "create", "--namespace", "nope"]));
        assert!(error.contains("namespace \"nope\" does not exist") && error.contains("notes"), "{when}: {error}");
        assert!(error.contains("cuebase namespaces create nope"), "{when}: {error}");
        assert_eq!(stdout(&data, &["keys", "list"]).lines().count(), keys, "{when}");
        for name in ["notes", "default"] {
            assert!(stdout(&data, &["keys", "create", "--namespace", name]).starts_with("svc_live_"), "{when}");
        }
    };
    check("without a server");
    let _server = Server::start(&data);
    check("with a server");
}

#[test]
fn the_api_creates_a_key_for_a_namespace_not_created_yet() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let made = server.post("/v1/keys", &json!({"name": "later", "namespace": "later"}));
    assert_eq!((made.status, &made.body["namespace"]), (201, &json!("later")));
}

#[test]
fn deleting_a_namespace_without_a_terminal_requires_yes() {
    let (_folder, data) = fresh();
    stdout(&data, &["namespaces", "create", "--init", "notes"]);
    let mut command = cuebase(&data, &["namespaces", "delete", "notes"]);
    let error = expect_error("no terminal", &command.stdin(Stdio::null()).output().expect("runs"));
    assert!(error.contains("\"notes\"") && error.contains("--yes"), "{error}");
    assert!(stdout(&data, &["namespaces", "list"]).contains("notes"));
    let output = stdout(&data, &["namespaces", "delete", "--yes", "notes"]);
    let output: Value = serde_json::from_str(&output).expect("JSON");
    assert_eq!(output, json!({"name": "notes", "deleted": true}));
    assert!(!stdout(&data, &["namespaces", "list"]).contains("notes"));
}

#[test]
fn deleting_an_unknown_namespace_lists_existing_ones() {
    let (_folder, data) = fresh();
    stdout(&data, &["keys", "create", "--init"]);
    let delete = ["namespaces", "delete", "--yes", "note"];
    let error = expect_error("no namespace", &run(&data, &delete));
    assert!(error.contains("namespace \"note\" does not exist") && error.contains("has none"), "{error}");
    for number in 0..7 {
        stdout(&data, &["namespaces", "create", &format!("notes-{number}")]);
    }
    let error = expect_error("seven namespaces", &run(&data, &delete));
    assert!(error.contains("notes-0") && error.contains("and more") && !error.contains("notes-6"), "{error}");
}

#[test]
fn a_command_that_changes_nothing_fails() {
    let (_folder, data) = fresh();
    stdout(&data, &["keys", "create", "--init"]);
    for (arguments, says) in [
        (&["keys", "revoke", "0123456789abcdef"][..], "no key"),
        (&["accounts", "suspend", "nobody"], "no account"),
        (&["accounts", "resume", "nobody"], "no account"),
    ] {
        let error = expect_error(&format!("{arguments:?}"), &run(&data, arguments));
        assert!(error.contains(says), "{arguments:?}: {error}");
    }
}

#[test]
fn an_error_about_a_path_below_a_file_names_the_file() {
    let (folder, data) = fresh();
    stdout(&data, &["namespaces", "create", "--init", "notes"]);
    let file = folder.path().join("note.txt");
    fs::write(&file, "text").expect("writes");
    let below = file.join("inside");
    let target = below.to_str().expect("a path");
    let backups = folder.path().join("backups");
    stdout(&data, &["backup", backups.to_str().expect("a path")]);
    let below_file = |arguments: &[&str]| {
        cuebase_in(folder.path(), arguments).args(["--data", target]).output().expect("the binary runs")
    };
    let attempts = [
        below_file(&["serve", "--listen", "127.0.0.1:0"]),
        below_file(&["keys", "create", "--init"]),
        below_file(&["restore", backups.to_str().expect("a path")]),
        run(&data, &["backup", target]),
        run(&data, &["export", "--namespace", "notes", "--format", "markdown", target]),
    ];
    for (number, attempt) in attempts.iter().enumerate() {
        let error = expect_error(&format!("attempt {number}"), attempt);
        assert!(error.contains(&format!("{} is a file, not a directory", file.display())), "{number}: {error}");
        assert!(!error.contains("Os {"), "{number}: {error}");
    }
    assert_eq!(fs::read_to_string(&file).expect("reads"), "text");
}

#[test]
fn a_file_at_the_data_path_is_not_changed() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let file = folder.path().join("note.txt");
    fs::write(&file, "text").expect("writes");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("changes the mode");
    for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["keys", "create", "--init"], &["keys", "list"]] {
        let error = expect_error(&format!("{arguments:?}"), &run(&file, arguments));
        assert!(error.contains(file.to_str().expect("a path")) && error.contains("is a file"), "{error}");
    }
    assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o644);
}

/// An unprivileged user with a folder: the user nobody if the tests run as root, otherwise the current user.
struct Unprivileged {
    folder: tempfile::TempDir,
    binary: PathBuf,
    /// `None` if the tests do not run as root.
    user: Option<u32>,
}

impl Unprivileged {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("temporary directory");
        let user = nix::unistd::geteuid().is_root().then_some(OTHER_USER);
        let mut binary = PathBuf::from(env!("CARGO_BIN_EXE_cuebase"));
        if let Some(user) = user {
            chown(folder.path(), Some(user), Some(user)).expect("changes the owner");
            // Other users may have no access to the build folder, so the binary is copied. A separate process copies
            // it: a child process of another test could inherit a handle open for writing, and the copy could not be
            // executed.
            let copy = folder.path().join("cuebase");
            let copied = Command::new("cp").arg(&binary).arg(&copy).status().expect("cp runs");
            assert!(copied.success());
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).expect("changes the mode");
            binary = copy;
        }
        Self { folder, binary, user }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, data: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(&self.binary);
        command.args(arguments).arg("--data").arg(data).env_clear().current_dir(self.folder.path());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command.stdin(Stdio::null()).output().expect("the binary runs")
    }

    /// Creates a folder of the user that nobody may write to.
    fn read_only_folder(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).expect("creates");
        if let Some(user) = self.user {
            chown(&path, Some(user), Some(user)).expect("changes the owner");
        }
        self.set_mode(&path, 0o500);
        path
    }

    fn set_mode(&self, path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("changes the mode");
    }
}

/// Checks that a command fails with an error that names the inaccessible path and its mode, without a raw system error.
fn assert_permission_error(what: &str, output: &Output, path: &Path, mode: &str) {
    let error = expect_error(what, output);
    let named = format!("has no permission for {} (owner: user id ", path.display());
    assert!(error.contains(&named) && error.contains(&format!("mode {mode})")), "{what}: {error}");
    assert!(error.contains("change its owner or mode"), "{what}: {error}");
    assert!(!error.contains("Os {") && !error.contains("os error"), "{what}: {error}");
}

#[test]
fn a_folder_without_write_permission_is_named() {
    let user = Unprivileged::new();
    let closed = user.read_only_folder("closed");
    let (data, backups) = (user.path("data"), user.path("backups"));
    let text = |path: &Path| path.to_str().expect("a path").to_owned();
    assert!(user.run(&data, &["namespaces", "create", "--init", "notes"]).status.success());
    assert!(user.run(&data, &["backup", &text(&backups)]).status.success());
    let inside = closed.join("data");
    let target = text(&inside);
    let attempts = [
        ("serve", user.run(&inside, &["serve", "--listen", "127.0.0.1:0"])),
        ("keys create", user.run(&inside, &["keys", "create", "--init"])),
        ("restore", user.run(&inside, &["restore", &text(&backups)])),
        ("backup", user.run(&data, &["backup", &target])),
        ("markdown", user.run(&data, &["export", "--namespace", "notes", "--format", "markdown", &target])),
        ("jsonl", user.run(&data, &["export", "--namespace", "notes", "--format", "jsonl", &target])),
    ];
    for (what, attempt) in &attempts {
        assert_permission_error(what, attempt, &closed, "500");
    }
}

#[test]
fn a_data_directory_without_permissions_is_named() {
    let user = Unprivileged::new();
    let data = user.path("data");
    assert!(user.run(&data, &["keys", "create", "--init"]).status.success());
    for (path, mode, shown) in [(data.clone(), 0o000, "0"), (data.join("records"), 0o500, "500")] {
        user.set_mode(&path, mode);
        for arguments in [&["keys", "list"][..], &["keys", "create", "--init"], &["doctor"]] {
            assert_permission_error(&format!("{arguments:?}, {mode:o}"), &user.run(&data, arguments), &path, shown);
        }
        user.set_mode(&path, 0o700);
    }
    assert!(user.run(&data, &["keys", "list"]).status.success());
}

#[test]
fn a_records_file_without_write_permission_is_named() {
    let user = Unprivileged::new();
    let data = user.path("data");
    assert!(user.run(&data, &["keys", "create", "--init"]).status.success());
    for name in ["PROCESS", "LOCK"] {
        let file = data.join("records").join(name);
        user.set_mode(&file, 0o400);
        assert_permission_error(name, &user.run(&data, &["keys", "list"]), &file, "400");
        user.set_mode(&file, 0o600);
    }
}

#[test]
fn only_commands_that_listen_have_address_options() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let help = |arguments: &[&str]| {
        let output = cuebase_in(folder.path(), arguments).arg("--help").output().expect("runs");
        String::from_utf8(output.stdout).expect("text")
    };
    for arguments in [&["serve"][..], &["demo"]] {
        let text = help(arguments);
        for option in ["--listen", "--dashboard-listen", "--pets-listen", "--metrics-listen"] {
            assert!(text.contains(option), "{arguments:?}: {option} in {text}");
        }
    }
    for arguments in CREATING.iter().chain(&OTHERS).chain(&[&["config"][..], &["openapi"], &["eval", "x"], &[]]) {
        let text = help(arguments);
        for option in ["--listen <", "--dashboard-listen <", "--pets-listen <", "--metrics-listen <"] {
            assert!(!text.contains(option), "{arguments:?}: {option} in {text}");
        }
    }
    let text = help(&["health"]);
    assert!(text.contains("--listen <") && !text.contains("--pets-listen"), "{text}");
}

#[test]
fn the_environment_sets_the_addresses() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let mut command = cuebase_in(folder.path(), &["config"]);
    let output = command.env("CUEBASE_PETS_LISTEN", "127.0.0.1:8090").output().expect("runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("pets.listen = \"127.0.0.1:8090\"  # environment CUEBASE_PETS_LISTEN"), "{text}");
}

#[test]
fn the_help_of_every_command_starts_with_a_description() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let parents =
        [&["keys"][..], &["namespaces"], &["accounts"], &["dead-letters"], &["serve"], &["mcp"], &["man", "x"]];
    for arguments in CREATING.iter().chain(&OTHERS).chain(&parents) {
        let output = cuebase_in(folder.path(), arguments).arg("--help").output().expect("runs");
        let text = String::from_utf8(output.stdout).expect("text");
        let first = text.lines().next().unwrap_or_default();
        let verb = first.split([' ', ',']).next().unwrap_or_default();
        let capital = verb.chars().next().is_some_and(|letter| letter.is_ascii_uppercase());
        assert!(capital && !first.starts_with("Usage"), "{arguments:?}: {text}");
    }
}
