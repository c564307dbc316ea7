//! Commits: their ids, their descriptions, and reading one from a repository.

use std::fmt;
use std::str::FromStr;

use gix::ObjectId;
use gix::bstr::ByteSlice;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};

/// Length of a commit id in bytes.
const COMMIT_ID_BYTES: usize = 20;

/// The id of a commit. As text and in records it has 40 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommitId(pub(super) ObjectId);

impl CommitId {
    /// Returns the 20 bytes of the id.
    pub fn to_bytes(self) -> [u8; COMMIT_ID_BYTES] {
        let mut bytes = [0; COMMIT_ID_BYTES];
        bytes.copy_from_slice(self.0.as_slice());
        bytes
    }

    /// Returns the id of 20 bytes.
    pub fn from_bytes(bytes: [u8; COMMIT_ID_BYTES]) -> Self {
        Self(ObjectId::from(bytes))
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

impl Serialize for CommitId {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CommitId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_id_is_serialized_as_40_hexadecimal_digits() {
        let id = CommitId::from_bytes(std::array::from_fn(|index| index as u8 * 13));
        let json = serde_json::to_string(&id).expect("writes");
        assert_eq!(json, r#""000d1a2734414e5b6875828f9ca9b6c3d0ddeaf7""#);
        assert_eq!(serde_json::from_str::<CommitId>(&json).expect("reads"), id);
        assert_eq!(CommitId::from_bytes(id.to_bytes()), id);
        for bad in ["", "000d1a27", &"g".repeat(40), &"0".repeat(41)] {
            assert!(serde_json::from_value::<CommitId>(bad.into()).is_err(), "{bad:?}");
        }
    }
}
