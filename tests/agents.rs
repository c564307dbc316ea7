//! Coding agents: the files that `cuebase install` changes, and the hooks that an agent calls.

mod foreign;
mod hooks;
mod installation;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::{cuebase, stdout};

/// A person with a home folder, a data directory and a project with a git remote.
struct Person {
    folder: tempfile::TempDir,
    data: PathBuf,
}

impl Person {
    /// Returns a person who has bound the project.
    fn new() -> Self {
        let person = Self::unbound();
        person.bind();
        person
    }

    /// Returns a person whose project is a new clone.
    fn unbound() -> Self {
        let folder = tempfile::tempdir().expect("temporary directory");
        let data = folder.path().join("data");
        let person = Self { folder, data };
        std::fs::create_dir_all(person.home()).expect("creates");
        std::fs::create_dir_all(person.project().join(".git")).expect("creates");
        let config = "[remote \"origin\"]\n\turl = git@github.com:Acme/Widget.git\n";
        std::fs::write(person.project().join(".git/config"), config).expect("writes");
        person
    }

    /// Returns a person whose data directory exists, without a server.
    fn with_data() -> Self {
        let person = Self::new();
        stdout(&person.data, &["keys", "create", "--init"]);
        person
    }

    /// Lets the project use the namespace that its files name.
    fn bind(&self) {
        let ended = self.run(&["bind"]);
        assert!(ended.status.success(), "{}", text_of(&ended.stderr));
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("widget")
    }

    /// Returns a command in the project, with the person's home folder.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = cuebase(&self.data, arguments);
        command.env("HOME", self.home()).current_dir(self.project()).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the binary runs")
    }

    /// Returns the lines that hooks have logged.
    fn log(&self) -> String {
        std::fs::read_to_string(self.home().join(".local/state/cuebase/hooks.log")).unwrap_or_default()
    }
}

/// Runs a command with an input.
fn with_input(command: &mut Command, input: &[u8]) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command runs");
    // A command that fails early closes its input.
    let _ = child.stdin.take().expect("piped").write_all(input);
    child.wait_with_output().expect("ends")
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("reads")
}

/// Parses a JSON file whose comments are on lines of their own.
fn parse(text: &str) -> Value {
    let mut plain = String::new();
    for line in text.lines() {
        if !line.trim_start().starts_with("//") {
            plain.push_str(line);
            plain.push('\n');
        }
    }
    serde_json::from_str(&plain).expect("JSON")
}
