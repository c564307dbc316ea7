//! A clone of a namespace, worked on with git itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Server;

/// A clone in a folder of its own.
pub(crate) struct WorkingCopy {
    folder: PathBuf,
}

impl WorkingCopy {
    /// Clones a namespace of the server's key into a folder that is not there yet.
    pub(crate) fn of(server: &Server, namespace: &str, folder: &Path) -> Self {
        let copy = Self { folder: folder.to_path_buf() };
        std::fs::create_dir_all(folder).expect("creates");
        let url = address(server, namespace);
        assert!(copy.git(&["clone", "-q", &url, "."]), "git clones {namespace}");
        copy
    }

    /// Lets fetches and pushes go to another server.
    pub(crate) fn point_at(&self, server: &Server, namespace: &str) {
        assert!(self.git(&["remote", "set-url", "origin", &address(server, namespace)]), "git sets the address");
    }

    /// Fetches, and forgets what was not pushed; false where the server does not answer.
    pub(crate) fn catch_up(&self) -> bool {
        self.git(&["fetch", "-q", "origin"]) && self.git(&["reset", "-q", "--hard", "origin/main"])
    }

    /// Writes a file and commits it.
    pub(crate) fn commit(&self, path: &str, text: &str) {
        let file = self.folder.join(path);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("creates");
        std::fs::write(file, text).expect("writes");
        assert!(self.git(&["add", "-A"]) && self.git(&["commit", "-q", "-m", "By hand"]), "git commits");
    }

    /// Puts what was committed on top of what is there by now; false where the server does not answer.
    pub(crate) fn rebase(&self) -> bool {
        self.git(&["pull", "-q", "--rebase", "origin", "main"])
    }

    /// Pushes; true where git was told that it is in.
    pub(crate) fn push(&self) -> bool {
        self.git(&["push", "-q", "origin", "HEAD:main"])
    }

    /// The commit that is checked out.
    pub(crate) fn head(&self) -> String {
        super::git(&self.folder, &["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// Runs git here, asking nobody for a password, with a name to commit under.
    fn git(&self, arguments: &[&str]) -> bool {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.folder).args(["-c", "user.name=Kim", "-c", "user.email=kim@example.org"]);
        command.args(["-c", "credential.helper=", "-c", "init.defaultBranch=main", "-c", "gc.auto=0"]).args(arguments);
        command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        command.output().expect("git runs").status.success()
    }
}

/// A namespace's address with the server's key in it.
fn address(server: &Server, namespace: &str) -> String {
    server.url.replace("http://", &format!("http://git:{}@", server.key)) + "/v1/git/" + namespace
}
