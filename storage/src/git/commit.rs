//! Commits: their ids, their descriptions, and reading one from a repository.

use std::fmt;
use std::str::FromStr;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use crate::error::{Error, Result};

/// The id of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommitId(pub(super) ObjectId);

impl CommitId {
    /// Returns the 20 bytes of the id.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// Returns the id of 20 bytes, or `None` if `bytes` has another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        ObjectId::try_from(bytes).ok().map(Self)
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for CommitId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let id = ObjectId::from_hex(text.as_bytes()).map_err(|e| Error::invalid("commit id", e))?;
        Ok(Self(id))
    }
}

/// The description of a commit in a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    /// The commit's id.
    pub id: CommitId,
    /// Time of the commit in seconds since the epoch.
    pub at_seconds: i64,
    /// The whole message with its trailers.
    pub message: String,
}

impl CommitInfo {
    /// Returns the value of a trailer line such as `Cuebase-Message: …`.
    pub fn trailer(&self, key: &str) -> Option<&str> {
        self.message.lines().rev().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
    }
}

/// The objects that a commit refers to.
pub(super) struct CommitLinks {
    pub(super) tree: ObjectId,
    pub(super) parents: Vec<ObjectId>,
}

impl CommitLinks {
    /// Reads the links of a commit.
    pub(super) fn read(repository: &gix::Repository, id: ObjectId) -> Result<Self> {
        let commit = repository.find_commit(id).map_err(Error::git("read a commit"))?;
        let tree = commit.tree_id().map_err(Error::git("read a commit"))?.detach();
        Ok(Self { tree, parents: commit.parent_ids().map(gix::Id::detach).collect() })
    }

    /// Returns the tree of the first parent, or `None` for a first commit.
    pub(super) fn first_parent_tree(&self, repository: &gix::Repository) -> Result<Option<ObjectId>> {
        match self.parents.first() {
            Some(parent) => Ok(Some(Self::read(repository, *parent)?.tree)),
            None => Ok(None),
        }
    }
}

/// A commit as a walk along first parents reads it.
pub(super) struct DescribedCommit {
    pub(super) info: CommitInfo,
    pub(super) first_parent: Option<ObjectId>,
    pub(super) tree: ObjectId,
}

impl DescribedCommit {
    /// Reads a commit with its description.
    pub(super) fn read(repository: &gix::Repository, id: ObjectId) -> Result<Self> {
        let commit = repository.find_commit(id).map_err(Error::git("read a commit"))?;
        let first_parent = commit.parent_ids().next().map(gix::Id::detach);
        let tree = commit.tree_id().map_err(Error::git("read a commit"))?.detach();
        let time = commit.time().map_err(Error::git("read a commit"))?;
        let message = commit.message_raw().map_err(Error::git("read a commit"))?.to_str_lossy().into_owned();
        let info = CommitInfo { id: CommitId(id), at_seconds: time.seconds, message };
        Ok(Self { info, first_parent, tree })
    }
}
