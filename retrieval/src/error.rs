//! Errors of an index. An index is derived data, so the remedy is always a rebuild from git.

use std::path::{Path, PathBuf};

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of an index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file operation failed.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// The operation, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The files are inconsistent or do not match their checksums. The index must be rebuilt.
    #[error("damaged index: {0}")]
    Damaged(String),
    /// The [`TextBudget`](crate::TextBudget) has no room for the memories of the result.
    #[error("the memories of the result are larger than its budget")]
    OverBudget,
    /// A vector has the wrong length.
    #[error("a vector has {found} dimensions, but the index has {expected}")]
    Dimensions {
        /// The length of the vector.
        found: usize,
        /// The length of the vectors in the index.
        expected: usize,
    },
}

impl Error {
    /// Returns a function that adds the operation and the path to an I/O error.
    pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(std::io::Error) -> Self + 'a {
        move |source| Self::Io { action, path: path.to_path_buf(), source }
    }
}
