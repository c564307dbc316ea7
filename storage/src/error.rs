//! What can go wrong below the service, sorted by what a caller can do about it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A storage failure. Bad input from outside is [`Error::Invalid`]; everything else is the disk's or ours.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused: disk full, permission, a file that vanished.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was being done.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Another process holds the data directory.
    #[error("{} is in use by another process: stop it, or speak to it through its socket", .0.display())]
    Locked(PathBuf),
    /// The data was written by a later version than this one.
    #[error("the data directory has format {found}, this version reads up to {known}: use a newer cuebase")]
    NewerFormat {
        /// The version found on disk.
        found: u32,
        /// The latest that this build reads.
        known: u32,
    },
    /// The key-value engine failed.
    #[error("key-value store: {0}")]
    Engine(String),
    /// The system refused the key-value engine: disk full, read-only, failing.
    #[error("key-value store: {0}")]
    EngineIo(String),
    /// The key-value engine found its own files damaged: what they held cannot be had from elsewhere.
    #[error("the records are damaged ({0})")]
    DamagedRecords(String),
    /// Bytes on disk are not what was written.
    #[error("corrupt {what}: {reason}")]
    Corrupt {
        /// Which structure.
        what: String,
        /// How it shows.
        reason: String,
    },
    /// A git repository could not be read or written.
    #[error("git, {action}: {reason}")]
    Git {
        /// What was being done.
        action: &'static str,
        /// The library's words.
        reason: String,
    },
    /// The branch moved while a commit was being made; read it again and retry.
    #[error("the branch moved while a commit was being made")]
    Conflict,
    /// Outside data that breaks a format's rules.
    #[error("{what}: {reason}")]
    Invalid {
        /// What was given.
        what: &'static str,
        /// Which rule it breaks.
        reason: String,
    },
}

impl Error {
    /// A closure for `map_err` on file operations.
    pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(std::io::Error) -> Self + 'a {
        move |source| Self::Io { action, path: path.to_path_buf(), source }
    }

    /// What the operating system refused, where it is that.
    pub fn disk_trouble(&self) -> Option<ErrorKind> {
        match self {
            Self::Io { source, .. } => Some(source.kind()),
            // The libraries tell their errors in words alone.
            Self::EngineIo(text) | Self::Git { reason: text, .. } if text.contains("No space left") => {
                Some(ErrorKind::StorageFull)
            }
            Self::EngineIo(text) | Self::Git { reason: text, .. } if text.contains("Read-only file system") => {
                Some(ErrorKind::ReadOnlyFilesystem)
            }
            Self::Git { reason, .. } if reason.contains("(os error 5)") => Some(ErrorKind::Other),
            Self::Git { reason, .. } if ["(os error 23)", "(os error 24)"].iter().any(|code| reason.contains(code)) => {
                Some(ErrorKind::ResourceBusy)
            }
            Self::EngineIo(_) => Some(ErrorKind::Other),
            _ => None,
        }
    }

    /// A closure for `map_err` on gix calls, whose many error types all become text here.
    pub(crate) fn git<E: std::error::Error>(action: &'static str) -> impl FnOnce(E) -> Self {
        move |error| {
            let mut reason = error.to_string();
            let mut source = error.source();
            while let Some(deeper) = source {
                reason.push_str(&format!(": {deeper}"));
                source = deeper.source();
            }
            Self::Git { action, reason }
        }
    }

    pub(crate) fn corrupt(what: impl Into<String>, reason: impl std::fmt::Display) -> Self {
        Self::Corrupt { what: what.into(), reason: reason.to_string() }
    }

    pub(crate) fn invalid(what: &'static str, reason: impl std::fmt::Display) -> Self {
        Self::Invalid { what, reason: reason.to_string() }
    }
}
