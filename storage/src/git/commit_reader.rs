//! Reads many commits and their files through one opening of the repository.

use super::commit::{CommitId, CommitInfo, DescribedCommit};
use super::repository::{Repository, file_at};
use crate::error::{Error, Result};

/// Memory for objects that are read several times, such as the directories of a file in several commits.
const OBJECT_CACHE_BYTES: usize = 4 << 20;

/// A reader of commits. What it does not find, the repository looks for again, with all that was written since.
pub struct CommitReader<'a> {
    repository: &'a Repository,
    opened: gix::Repository,
}

impl Repository {
    /// Opens the repository for reading many commits.
    pub fn commit_reader(&self) -> Result<CommitReader<'_>> {
        let mut opened = self.open()?;
        opened.object_cache_size(OBJECT_CACHE_BYTES);
        Ok(CommitReader { repository: self, opened })
    }
}

impl CommitReader<'_> {
    /// Returns the description of a commit, or `None` if it does not exist.
    pub fn commit_info(&self, id: CommitId) -> Result<Option<CommitInfo>> {
        match DescribedCommit::read(&self.opened, id.0) {
            Ok(commit) => Ok(Some(commit.info)),
            Err(_) => self.repository.commit_info(id),
        }
    }

    /// Returns the content of a file in a commit, or `None` if the commit or the file does not exist.
    pub fn read(&self, commit: CommitId, path: &str) -> Result<Option<Vec<u8>>> {
        match file_at(&self.opened, commit, path) {
            Err(Error::Corrupt { .. } | Error::Git { trouble: None, .. }) => self.repository.read(commit, path),
            content => content,
        }
    }
}
