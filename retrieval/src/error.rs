//! What can go wrong in an index. All of it is derived data, so the remedy is always the same: rebuild from git.

use std::path::{Path, PathBuf};

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An index failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was being done.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The files do not agree with each other or with their checksums: rebuild.
    #[error("damaged index: {0}")]
    Damaged(String),
    /// A vector has another length than the index's rows.
    #[error("a vector has {found} dimensions, the index {expected}")]
    Dimensions {
        /// The vector's length.
        found: usize,
        /// The index's.
        expected: usize,
    },
}

impl Error {
    pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(std::io::Error) -> Self + 'a {
        move |source| Self::Io { action, path: path.to_path_buf(), source }
    }
}
