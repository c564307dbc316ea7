//! Conversion between commits and the heads of indexes. The index does not know git, so it has a type of its own.

use cuebase_retrieval::{Head, Index};
use cuebase_storage::git::CommitId;
use cuebase_storage::records::NamespaceRecord;

/// Returns a commit as the head of an index.
pub fn head_at(commit: CommitId) -> Head {
    Head::from(commit.to_bytes())
}

/// Returns the commit that the head of an index stands for.
pub fn commit_at(head: Head) -> CommitId {
    CommitId::from_bytes(*head.as_bytes())
}

/// Whether a record has the head of the namespace's index.
pub(super) fn is_recorded(record: &NamespaceRecord, index: &Index) -> bool {
    record.head == index.head().map(commit_at)
}
