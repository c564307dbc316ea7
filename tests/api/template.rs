//! A data directory with dashboard sessions, which every test starts with a copy of.
//!
//! The command that creates a session opens the directory, which takes as long as a whole test. It therefore runs once
//! per process.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cuebase::config::Config;
use cuebase::control::{self, Command};
use cuebase_storage::AccountId;

/// A data directory in memory, and sessions that are valid in each copy of it.
pub(crate) struct Template {
    /// Path below the data directory, and content.
    files: Vec<(PathBuf, Vec<u8>)>,
    /// Session of the account `default`.
    pub(crate) session: String,
    /// Session of the account `stranger`.
    pub(crate) stranger: String,
}

impl Template {
    /// Returns the template that all tests share.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Template> = OnceLock::new();
        SHARED.get_or_init(Self::new)
    }

    fn new() -> Self {
        let folder = tempfile::tempdir().expect("temporary directory");
        let mut config = Config::resolve(&BTreeMap::new(), |_| None, None).expect("the defaults are valid");
        config.data = folder.path().join("data");
        let session = new_session(&config, "default");
        let stranger = new_session(&config, "stranger");
        let mut files = Vec::new();
        read_files(&config.data, Path::new(""), &mut files);
        Self { files, session, stranger }
    }

    /// Writes the files to a data directory.
    pub(crate) fn copy_to(&self, data: &Path) {
        for (path, content) in &self.files {
            let path = data.join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("creates");
            fs::write(path, content).expect("writes");
        }
    }
}

/// Creates a dashboard session of an account, as `cuebase token` does.
fn new_session(config: &Config, account: &str) -> String {
    let account = AccountId::new(account).expect("is valid");
    let token = control::run(config, Command::Token { account }, &|_| {}).expect("a session");
    token.as_str().expect("a text").to_owned()
}

/// Reads all files of a folder below `root`.
fn read_files(root: &Path, folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(root.join(folder)).expect("reads the folder") {
        let entry = entry.expect("an entry of the folder");
        let path = folder.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            read_files(root, &path, files);
        } else {
            let content = fs::read(entry.path()).expect("reads");
            files.push((path, content));
        }
    }
}
