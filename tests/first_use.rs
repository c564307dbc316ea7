//! First steps that go wrong: a wrong folder, a name with a typing error, a folder that somebody else owns.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::{Server, cuebase, fresh, run, stdout};

/// The user that commands run as in tests of permissions, where the tests themselves run as root: nobody.
const OTHER_USER: u32 = 65_534;

/// Commands that work on a data directory and can create one.
const CREATING: [&[&str]; 4] =
    [&["keys", "create"], &["token"], &["namespaces", "create", "notes"], &["import", "chats.jsonl"]];

/// Commands that work on a data directory and have nothing to do in a new one.
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

/// The binary in a folder, with no option, setting or input of its own.
fn cuebase_in(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cuebase"));
    command.args(arguments).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.current_dir(folder).stdin(Stdio::null());
    command
}

fn error_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The error of a command that must end with code 1 and print nothing else.
fn refused(what: &str, output: &Output) -> String {
    let error = error_of(output);
    assert_eq!(output.status.code(), Some(1), "{what}: {error}");
    assert!(output.stdout.is_empty(), "{what}: {}", String::from_utf8_lossy(&output.stdout));
    error
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).expect("a folder").count()
}

/// A file that `cuebase import` takes.
fn save_chats(folder: &Path) -> PathBuf {
    let file = folder.join("chats.jsonl");
    let line = json!({"messages": [{"role": "user", "content": "I adopted a greyhound called Bolt."}]});
    fs::write(&file, format!("{line}\n")).expect("writes");
    file
}

#[test]
fn a_command_without_a_data_directory_names_the_path_and_creates_nothing() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let real = folder.path().canonicalize().expect("a folder");
    for arguments in CREATING.iter().chain(&OTHERS).chain(&[&["mcp"][..]]) {
        let error = refused(&format!("{arguments:?}"), &cuebase_in(&real, arguments).output().expect("runs"));
        let looked_at = format!("there is no data directory at {}", real.join("cuebase-data").display());
        assert!(error.starts_with(&format!("cuebase: {looked_at}")), "{arguments:?}: {error}");
        assert!(error.contains("--data") && error.contains("CUEBASE_DATA"), "{arguments:?}: {error}");
        assert_eq!(error.trim_end().lines().count(), 2, "an error and a hint, {arguments:?}: {error}");
        assert_eq!(entries(&real), 0, "{arguments:?} created something");
    }
}

#[test]
fn only_commands_that_can_create_a_data_directory_offer_to() {
    let folder = tempfile::tempdir().expect("temporary directory");
    for (commands, offered) in [(&CREATING[..], true), (&OTHERS[..], false)] {
        for arguments in commands {
            let error = error_of(&cuebase_in(folder.path(), arguments).output().expect("runs"));
            assert_eq!(error.contains("--init"), offered, "{arguments:?}: {error}");
        }
    }
}

#[test]
fn a_refusal_says_where_the_path_comes_from() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let mut command = cuebase_in(folder.path(), &["keys", "list"]);
    let error = error_of(&command.env("CUEBASE_DATA", "elsewhere").output().expect("runs"));
    assert!(error.contains("elsewhere") && error.contains("from environment CUEBASE_DATA"), "{error}");
    let error = error_of(&run(&folder.path().join("typed"), &["keys", "list"]));
    assert!(error.contains("typed") && error.contains("from command line"), "{error}");
}

#[test]
fn a_folder_of_other_files_is_not_taken_for_a_data_directory() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let data = folder.path().join("project");
    fs::create_dir_all(&data).expect("creates");
    fs::write(data.join("notes.txt"), "mine").expect("writes");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).expect("changes the mode");
    for arguments in [&["keys", "create"][..], &["keys", "create", "--init"], &["doctor"]] {
        let error = refused(&format!("{arguments:?}"), &run(&data, arguments));
        assert!(error.contains("is not a Cuebase data directory"), "{arguments:?}: {error}");
        assert!(error.contains(data.to_str().expect("a path")), "{arguments:?}: {error}");
    }
    assert_eq!(entries(&data), 1);
    assert_eq!(fs::metadata(&data).expect("there").permissions().mode() & 0o777, 0o755, "left as it was");
}

#[test]
fn init_creates_a_data_directory_and_does_no_harm_to_one_that_exists() {
    for arguments in CREATING {
        let (folder, data) = fresh();
        save_chats(folder.path());
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
fn models_leaves_a_folder_of_other_files_alone() {
    let folder = tempfile::tempdir().expect("temporary directory");
    fs::write(folder.path().join("notes.txt"), "mine").expect("writes");
    stdout(folder.path(), &["models"]);
    assert_eq!(entries(folder.path()), 1);
}

#[test]
fn a_key_is_made_only_for_a_namespace_that_exists() {
    let (_folder, data) = fresh();
    stdout(&data, &["keys", "create", "--init"]);
    stdout(&data, &["namespaces", "create", "notes"]);
    let check = |when: &str| {
        let keys = stdout(&data, &["keys", "list"]).lines().count();
        let error = refused(when, &run(&data, &["keys", "create", "--namespace", "nope"]));
        assert!(error.contains("there is no namespace \"nope\"") && error.contains("notes"), "{when}: {error}");
        assert!(error.contains("cuebase namespaces create nope"), "{when}: {error}");
        assert_eq!(stdout(&data, &["keys", "list"]).lines().count(), keys, "{when}");
        for name in ["notes", "default"] {
            assert!(stdout(&data, &["keys", "create", "--namespace", name]).starts_with("svc_live_"), "{when}");
        }
    };
    check("without a server");
    let _server = Server::start(&data);
    check("beside a server");
}

#[test]
fn the_api_makes_a_key_before_its_namespace_as_the_specification_says() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let made = server.post("/v1/keys", &json!({"name": "later", "namespace": "later"}));
    assert_eq!((made.status, &made.body["namespace"]), (201, &json!("later")));
}

#[test]
fn a_namespace_is_deleted_without_a_terminal_only_with_yes() {
    let (_folder, data) = fresh();
    stdout(&data, &["namespaces", "create", "--init", "notes"]);
    let mut command = cuebase(&data, &["namespaces", "delete", "notes"]);
    let error = refused("no terminal", &command.stdin(Stdio::null()).output().expect("runs"));
    assert!(error.contains("\"notes\"") && error.contains("--yes"), "{error}");
    assert!(stdout(&data, &["namespaces", "list"]).contains("notes"));
    let told: Value = serde_json::from_str(&stdout(&data, &["namespaces", "delete", "--yes", "notes"])).expect("JSON");
    assert_eq!(told, json!({"name": "notes", "deleted": true}));
    assert!(!stdout(&data, &["namespaces", "list"]).contains("notes"));
}

#[test]
fn deleting_a_namespace_that_does_not_exist_fails_and_names_a_few_that_do() {
    let (_folder, data) = fresh();
    stdout(&data, &["keys", "create", "--init"]);
    let delete = ["namespaces", "delete", "--yes", "note"];
    let error = refused("no namespace", &run(&data, &delete));
    assert!(error.contains("there is no namespace \"note\"") && error.contains("has none"), "{error}");
    for number in 0..7 {
        stdout(&data, &["namespaces", "create", &format!("notes-{number}")]);
    }
    let error = refused("seven namespaces", &run(&data, &delete));
    assert!(error.contains("notes-0") && error.contains("and more") && !error.contains("notes-6"), "{error}");
}

#[test]
fn a_command_that_changed_nothing_fails() {
    let (_folder, data) = fresh();
    stdout(&data, &["keys", "create", "--init"]);
    for (arguments, says) in [
        (&["keys", "revoke", "0123456789abcdef"][..], "no key"),
        (&["accounts", "suspend", "nobody"], "no account"),
        (&["accounts", "resume", "nobody"], "no account"),
    ] {
        let error = refused(&format!("{arguments:?}"), &run(&data, arguments));
        assert!(error.contains(says), "{arguments:?}: {error}");
    }
}

#[test]
fn a_path_below_a_file_is_named_with_the_file() {
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
        let error = refused(&format!("attempt {number}"), attempt);
        assert!(error.contains(&format!("{} is a file, not a directory", file.display())), "{number}: {error}");
        assert!(!error.contains("Os {"), "{number}: {error}");
    }
    assert_eq!(fs::read_to_string(&file).expect("reads"), "text");
}

#[test]
fn a_file_in_the_place_of_the_data_directory_is_left_alone() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let file = folder.path().join("note.txt");
    fs::write(&file, "text").expect("writes");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("changes the mode");
    for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["keys", "create", "--init"], &["keys", "list"]] {
        let error = refused(&format!("{arguments:?}"), &run(&file, arguments));
        assert!(error.contains(file.to_str().expect("a path")) && error.contains("is a file"), "{error}");
    }
    assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o644);
}

/// A user without privileges with a folder of its own. Root is nobody there; any other user stays who it is.
struct Unprivileged {
    folder: tempfile::TempDir,
    binary: PathBuf,
    /// None where the tests run without privileges themselves.
    user: Option<u32>,
}

impl Unprivileged {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("temporary directory");
        let user = nix::unistd::geteuid().is_root().then_some(OTHER_USER);
        let mut binary = PathBuf::from(env!("CARGO_BIN_EXE_cuebase"));
        if let Some(user) = user {
            chown(folder.path(), Some(user), Some(user)).expect("changes the owner");
            // Where it was built nobody else may look. A process of its own copies it, so that no child of another test
            // holds it open for writing while it is run.
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

    /// A folder of the user with a mode that lets nobody write to it.
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

/// The error names the folder or file that refuses, its mode, and no error of the system in its raw form.
fn assert_names(what: &str, output: &Output, refusing: &Path, mode: &str) {
    let error = refused(what, output);
    let named = format!("has no permission for {} (owner: user id ", refusing.display());
    assert!(error.contains(&named) && error.contains(&format!("mode {mode})")), "{what}: {error}");
    assert!(error.contains("change its owner or mode"), "{what}: {error}");
    assert!(!error.contains("Os {") && !error.contains("os error"), "{what}: {error}");
}

#[test]
fn a_folder_that_may_not_be_written_to_is_named_when_something_is_to_be_created_in_it() {
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
        assert_names(what, attempt, &closed, "500");
    }
}

#[test]
fn a_data_directory_that_may_not_be_searched_or_written_to_is_named() {
    let user = Unprivileged::new();
    let data = user.path("data");
    assert!(user.run(&data, &["keys", "create", "--init"]).status.success());
    for (path, mode, shown) in [(data.clone(), 0o000, "0"), (data.join("records"), 0o500, "500")] {
        user.set_mode(&path, mode);
        for arguments in [&["keys", "list"][..], &["keys", "create", "--init"], &["doctor"]] {
            assert_names(&format!("{arguments:?}, {mode:o}"), &user.run(&data, arguments), &path, shown);
        }
        user.set_mode(&path, 0o700);
    }
    assert!(user.run(&data, &["keys", "list"]).status.success());
}

#[test]
fn a_file_of_the_records_that_may_not_be_written_to_is_named() {
    let user = Unprivileged::new();
    let data = user.path("data");
    assert!(user.run(&data, &["keys", "create", "--init"]).status.success());
    for name in ["PROCESS", "LOCK"] {
        let file = data.join("records").join(name);
        user.set_mode(&file, 0o400);
        assert_names(name, &user.run(&data, &["keys", "list"]), &file, "400");
        user.set_mode(&file, 0o600);
    }
}

#[test]
fn an_address_is_an_option_only_of_commands_that_listen() {
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
fn the_environment_still_sets_the_addresses() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let mut command = cuebase_in(folder.path(), &["config"]);
    let output = command.env("CUEBASE_PETS_LISTEN", "127.0.0.1:8090").output().expect("runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("pets.listen = \"127.0.0.1:8090\"  # environment CUEBASE_PETS_LISTEN"), "{text}");
}

#[test]
fn the_help_of_every_command_begins_with_what_it_does() {
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
