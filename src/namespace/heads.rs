//! Conversion between commits and the heads of indexes. The index does not know git, so it has a type of its own.

use cuebase_retrieval::{Head, Index};
use cuebase_storage::git::CommitId;
use cuebase_storage::records::NamespaceRecord;

use crate::error::{Error, Result};

/// Returns a commit as the head of an index.
pub fn head_at(commit: CommitId) -> Head {
    let mut bytes = [0; 20];
    bytes.copy_from_slice(commit.as_bytes());
    Head::from(bytes)
}

/// Returns the commit that the head of an index stands for.
pub fn commit_at(head: Option<Head>) -> Result<Option<CommitId>> {
    let Some(head) = head else { return Ok(None) };
    match CommitId::from_bytes(head.as_bytes()) {
        Some(commit) => Ok(Some(commit)),
        None => Err(Error::internal("the head of an index is not the id of a commit")),
    }
}

/// Returns the head of an index in the form of [`NamespaceRecord::head`].
pub(super) fn recorded_form(index: &Index) -> Option<String> {
    Some(index.head()?.to_string())
}

/// Whether a record has the head of the namespace's index.
pub(super) fn is_recorded(record: &NamespaceRecord, index: &Index) -> bool {
    record.head == recorded_form(index)
}
