//! Moving the branch, under git's own lock file, so that a push by another git and a commit of ours exclude one another.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use gix::ObjectId;

use super::pack::sync_folder;
use super::repository::{BRANCH, CommitId, Repository};
use crate::error::{Error, Result};

/// The branch's lock. It is released when this is dropped.
pub(super) struct BranchLock {
    branch: PathBuf,
    path: PathBuf,
    file: File,
    /// False once the lock file has become the branch.
    held: bool,
}

impl BranchLock {
    /// Takes the lock. Fails with [`Error::Conflict`] where somebody holds it.
    pub(super) fn take(repository: &Repository) -> Result<Self> {
        let branch = repository.path().join(BRANCH);
        let folder = branch.parent().unwrap_or(repository.path());
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let path = branch.with_extension("lock");
        match File::create_new(&path) {
            Ok(file) => Ok(Self { branch, path, file, held: true }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(Error::Conflict),
            Err(error) => Err(Error::io("lock", &path)(error)),
        }
    }

    /// Moves the branch to a commit, durable when this returns.
    pub(super) fn move_to(mut self, id: ObjectId) -> Result<()> {
        let written = writeln!(self.file, "{id}").and_then(|()| self.file.sync_all());
        written.map_err(Error::io("write", &self.path))?;
        fs::rename(&self.path, &self.branch).map_err(Error::io("rename into place", &self.branch))?;
        self.held = false;
        match self.branch.parent() {
            Some(folder) => sync_folder(folder),
            None => Ok(()),
        }
    }
}

impl Drop for BranchLock {
    fn drop(&mut self) {
        if self.held {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Repository {
    /// Makes the branch again where it is missing or is no branch, at a commit that is known to have been its head. True
    /// when it was made; false where there is a branch, or where not everything that the commit reaches can be read.
    pub fn restore_branch(&self, to: CommitId) -> Result<bool> {
        match self.head() {
            Ok(Some(_)) => return Ok(false),
            // Not there, or not what git writes.
            Ok(None) | Err(Error::Git { .. }) => {}
            Err(error) => return Err(error),
        }
        let inspected = self.inspect(to, |_| {})?;
        if !inspected.wrong.is_empty() {
            return Ok(false);
        }
        BranchLock::take(self)?.move_to(to.0)?;
        Ok(true)
    }
}
