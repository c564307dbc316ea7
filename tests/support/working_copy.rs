//! A clone of a namespace, changed and pushed with git.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::Server;

/// A clone of a namespace in its own folder.
pub(crate) struct WorkingCopy {
    folder: PathBuf,
}

impl WorkingCopy {
    /// Clones a namespace with the server's key into a new folder.
    pub(crate) fn of(server: &Server, namespace: &str, folder: &Path) -> Self {
        let copy = Self { folder: folder.to_path_buf() };
        std::fs::create_dir_all(folder).expect("creates");
        let url = address(server, namespace);
        let cloned = copy.output(&["clone", "-q", &url, "."]);
        assert!(cloned.status.success(), "git clones {namespace}: {}", String::from_utf8_lossy(&cloned.stderr));
        copy
    }

    /// Changes the server that fetches and pushes go to.
    pub(crate) fn point_at(&self, server: &Server, namespace: &str) {
        assert!(self.git(&["remote", "set-url", "origin", &address(server, namespace)]), "git sets the URL");
    }

    /// Fetches, and discards commits that were not pushed. Returns false if the server does not respond.
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

    /// Rebases local commits onto the server's branch. Returns false if the server does not respond.
    pub(crate) fn rebase(&self) -> bool {
        self.git(&["pull", "-q", "--rebase", "origin", "main"])
    }

    /// Pushes the branch. Returns whether git reports success.
    pub(crate) fn push(&self) -> bool {
        self.git(&["push", "-q", "origin", "HEAD:main"])
    }

    /// Returns the id of the commit that is checked out.
    pub(crate) fn head(&self) -> String {
        super::git(&self.folder, &["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// Runs git in the clone, with a committer and without a password prompt.
    fn git(&self, arguments: &[&str]) -> bool {
        self.output(arguments).status.success()
    }

    /// Runs git in the clone and returns what it prints.
    fn output(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.folder).args(["-c", "user.name=Kim", "-c", "user.email=kim@example.org"]);
        command.args(["-c", "credential.helper=", "-c", "init.defaultBranch=main", "-c", "gc.auto=0"]).args(arguments);
        command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        command.output().expect("git runs")
    }
}

/// Returns the git URL of a namespace, with the server's key in it.
fn address(server: &Server, namespace: &str) -> String {
    server.url.replace("http://", &format!("http://git:{}@", server.key)) + "/v1/git/" + namespace
}
