//! Files that differ between two commits of a repository.
//!
//! [`compare`](super::compare) finds the differing paths; this file adds the commits, the contents and the sizes.

use gix::ObjectId;
use gix::objs::Kind;

use super::commit::{CommitId, CommitLinks};
use super::compare::{Difference, Walk, WalkLimits};
use super::limits::IntakeLimits;
use super::repository::Repository;
use super::tree::{RawTree, TreeEntry, read_content};
use crate::error::{Error, Result};

/// A file that differs between two commits, with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Path from the root.
    pub path: String,
    /// The new content; `None` if the file was removed.
    pub content: Option<Vec<u8>>,
}

/// A file that differs between two commits, before its content is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Path from the root.
    pub path: String,
    /// Size of the new content in bytes; `None` if the file was removed.
    pub bytes: Option<u64>,
    /// Whether the earlier commit has no file at this path.
    pub is_new: bool,
    id: Option<ObjectId>,
}

/// A reader for the contents of many files; it opens the repository once.
pub struct FileReader {
    repository: gix::Repository,
}

impl FileReader {
    /// Returns the new content of a changed file; `None` if the file was removed.
    pub fn content(&self, file: &ChangedFile) -> Result<Option<Vec<u8>>> {
        match file.id {
            Some(id) => self.blob(id).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the content of a file by its object.
    pub(super) fn blob(&self, id: ObjectId) -> Result<Vec<u8>> {
        read_content(&self.repository, id, Kind::Blob)
    }
}

impl Repository {
    /// Returns the files that differ between two commits with their contents, all held in memory. Without `from`, every
    /// file of `to` is returned.
    pub fn changes(&self, from: Option<CommitId>, to: CommitId) -> Result<Vec<FileChange>> {
        self.changes_below("", from, to)
    }

    /// Returns the files that differ below one directory of the root, like [`Repository::changes`]. An empty `folder`
    /// stands for the root.
    pub fn changes_below(&self, folder: &str, from: Option<CommitId>, to: CommitId) -> Result<Vec<FileChange>> {
        self.read_with_index_repair(|repository| {
            let mut changes = Vec::new();
            for difference in differences(repository, folder, from, to, WalkLimits::OWN)? {
                // A memory's path is always UTF-8.
                let Ok(path) = String::from_utf8(difference.path) else { continue };
                let content = match difference.new {
                    Some(id) => Some(read_content(repository, id, Kind::Blob)?),
                    None => None,
                };
                changes.push(FileChange { path, content });
            }
            Ok(changes)
        })
    }

    /// Returns the files that differ between two commits, without their contents. `to` may come from another git and is
    /// not trusted.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the directories exceed the limits, or if the new contents together do. A file that several
    /// paths share counts once for each path.
    pub fn changed_files(
        &self,
        from: Option<CommitId>,
        to: CommitId,
        limits: &IntakeLimits,
    ) -> Result<Vec<ChangedFile>> {
        let repository = self.open()?;
        let mut files = Vec::new();
        let mut all_bytes = 0u64;
        for difference in differences(&repository, "", from, to, WalkLimits::of(limits))? {
            let mut bytes = None;
            if let Some(id) = difference.new {
                let size = repository.find_header(id).map_err(Error::git("read a file"))?.size();
                all_bytes = all_bytes.saturating_add(size);
                bytes = Some(size);
            }
            if all_bytes > limits.changed_bytes_max {
                let reason = format!(
                    "the files that it changes take more than {} bytes, each path counted: send it in parts",
                    limits.changed_bytes_max
                );
                return Err(Error::invalid("history", reason));
            }
            let Ok(path) = String::from_utf8(difference.path) else { continue };
            files.push(ChangedFile { path, bytes, is_new: difference.old.is_none(), id: difference.new });
        }
        Ok(files)
    }

    /// Returns a reader for the contents of [changed files](Repository::changed_files), and of those that a writer
    /// [finds](super::Writer::read_file).
    pub fn file_reader(&self) -> Result<FileReader> {
        Ok(FileReader { repository: self.open()? })
    }
}

/// Finds the files that differ below a directory of the root, or below the root if `folder` is empty.
fn differences(
    repository: &gix::Repository,
    folder: &str,
    from: Option<CommitId>,
    to: CommitId,
    limits: WalkLimits,
) -> Result<Vec<Difference>> {
    let old = match from {
        Some(from) => folder_tree(repository, from, folder)?,
        None => None,
    };
    let new = folder_tree(repository, to, folder)?;
    let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    Walk::new(repository, limits).compare(old, new, &prefix)
}

/// Returns the tree of a directory of a commit's root, or of the root if `folder` is empty.
fn folder_tree(repository: &gix::Repository, commit: CommitId, folder: &str) -> Result<Option<ObjectId>> {
    let root = CommitLinks::read(repository, commit.0)?.tree;
    if folder.is_empty() {
        return Ok(Some(root));
    }
    match RawTree::read(repository, root)?.find(folder.as_bytes()) {
        Some(TreeEntry::Directory(id)) => Ok(Some(id)),
        _ => Ok(None),
    }
}
