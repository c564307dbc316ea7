//! Moving and restoring the branch, under git's own lock file. The lock keeps other git processes from moving the
//! branch at the same time.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use gix::ObjectId;

use super::commit::CommitId;
use super::pack::sync_folder;
use super::repository::{BRANCH, Repository};
use crate::error::{Error, Result};

/// The lock of the branch. Dropping it releases it.
pub(super) struct BranchLock {
    branch: PathBuf,
    path: PathBuf,
    file: File,
    /// False once the lock file has become the branch.
    held: bool,
}

impl BranchLock {
    /// Takes the lock.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if another process or thread holds it.
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

    /// Moves the branch to a commit. The move is durable when this returns.
    pub(super) fn move_to(mut self, id: ObjectId) -> Result<()> {
        writeln!(self.file, "{id}").map_err(Error::io("write", &self.path))?;
        self.file.sync_all().map_err(Error::io("write", &self.path))?;
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
    /// Restores a missing or damaged branch at a commit that is known to have been its head. Returns false, and changes
    /// nothing, if the branch exists or if an object that the commit reaches cannot be read.
    pub fn restore_branch(&self, to: CommitId) -> Result<bool> {
        match self.head() {
            Ok(Some(_)) => return Ok(false),
            // The branch is missing or does not have the form that git writes.
            Ok(None) | Err(Error::Git { trouble: None, .. }) => {}
            Err(error) => return Err(error),
        }
        let inspected = self.inspect(to, |_| {})?;
        if !inspected.problems.is_empty() {
            return Ok(false);
        }
        BranchLock::take(self)?.move_to(to.0)?;
        Ok(true)
    }
}
