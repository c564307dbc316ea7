//! The commits of a write: that of its ingestion, and those of later extractions of its conversation.

use cuebase_storage::git::CommitInfo;

use crate::namespace::sync::MESSAGE_TRAILER;

/// Commit trailer with the id of the write whose conversation was extracted again.
pub(super) const SOURCE_TRAILER: &str = "Cuebase-Source";

/// Whether a commit belongs to a write or one of its re-extractions. Pushed commits do not, because a push with this
/// trailer is refused.
pub(super) fn is_commit_of(commit: &CommitInfo, write: &str) -> bool {
    match commit.trailer(MESSAGE_TRAILER) {
        Some(message) => message == write || commit.trailer(SOURCE_TRAILER) == Some(write),
        None => false,
    }
}
