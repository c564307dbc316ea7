//! What can go wrong below the service, sorted by what a caller can do about it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What the system refuses a process, as far as waiting for it makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskTrouble {
    /// No space or no quota is left.
    Full,
    /// The file system takes no writes.
    ReadOnly,
    /// The process or the machine has as many files open as it may.
    TooManyOpenFiles,
    /// The device fails, hangs or is gone.
    Failing,
}

impl DiskTrouble {
    /// EIO, ENXIO, ENODEV, ESTALE, EUCLEAN: of Linux, whose standard kinds do not name them.
    const FAILING_CODES: [i32; 5] = [5, 6, 19, 116, 117];
    /// ENFILE and EMFILE.
    const OPEN_FILES_CODES: [i32; 2] = [23, 24];

    /// What an error of the system is about; none where it is about neither the disk nor open files.
    pub fn of(error: &std::io::Error) -> Option<Self> {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => return Some(Self::Full),
            ErrorKind::ReadOnlyFilesystem => return Some(Self::ReadOnly),
            ErrorKind::StaleNetworkFileHandle => return Some(Self::Failing),
            _ => {}
        }
        match error.raw_os_error()? {
            code if Self::OPEN_FILES_CODES.contains(&code) => Some(Self::TooManyOpenFiles),
            code if Self::FAILING_CODES.contains(&code) => Some(Self::Failing),
            _ => None,
        }
    }
}

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
    /// The system refused the key-value engine.
    #[error("key-value store: {reason}")]
    EngineIo {
        /// What the system refuses.
        trouble: DiskTrouble,
        /// The engine's words.
        reason: String,
    },
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
    /// The system refused a read or write of a git repository.
    #[error("git, {action}: {reason}")]
    GitIo {
        /// What was being done.
        action: &'static str,
        /// What the system refuses.
        trouble: DiskTrouble,
        /// The library's words.
        reason: String,
    },
    /// A namespace was deleted, or deleted and made again, since the caller looked it up.
    #[error("the namespace {0} was deleted")]
    NamespaceGone(String),
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

    /// What the system refused, where it is the disk or the number of open files.
    pub fn disk_trouble(&self) -> Option<DiskTrouble> {
        match self {
            Self::Io { source, .. } => DiskTrouble::of(source),
            Self::EngineIo { trouble, .. } | Self::GitIo { trouble, .. } => Some(*trouble),
            _ => None,
        }
    }

    /// A closure for `map_err` on gix calls, whose many error types all become text here.
    pub(crate) fn git<E: std::error::Error + 'static>(action: &'static str) -> impl FnOnce(E) -> Self {
        move |error| {
            let mut reason = error.to_string();
            let mut trouble = None;
            let mut next: Option<&(dyn std::error::Error + 'static)> = Some(&error);
            while let Some(current) = next {
                if let Some(refused) = current.downcast_ref::<std::io::Error>() {
                    trouble = trouble.or(DiskTrouble::of(refused));
                }
                next = current.source();
                if let Some(deeper) = next {
                    reason.push_str(&format!(": {deeper}"));
                }
            }
            match trouble {
                Some(trouble) => Self::GitIo { action, trouble, reason },
                None => Self::Git { action, reason },
            }
        }
    }

    pub(crate) fn corrupt(what: impl Into<String>, reason: impl std::fmt::Display) -> Self {
        Self::Corrupt { what: what.into(), reason: reason.to_string() }
    }

    pub(crate) fn invalid(what: &'static str, reason: impl std::fmt::Display) -> Self {
        Self::Invalid { what, reason: reason.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Error as SystemError;

    use super::*;

    #[test]
    fn what_the_system_refuses_is_known_by_its_code_and_not_by_words() {
        for (code, expected) in [
            (28, Some(DiskTrouble::Full)),
            (122, Some(DiskTrouble::Full)),
            (30, Some(DiskTrouble::ReadOnly)),
            (24, Some(DiskTrouble::TooManyOpenFiles)),
            (23, Some(DiskTrouble::TooManyOpenFiles)),
            (5, Some(DiskTrouble::Failing)),
            (117, Some(DiskTrouble::Failing)),
            (2, None),
            (13, None),
        ] {
            assert_eq!(DiskTrouble::of(&SystemError::from_raw_os_error(code)), expected, "{code}");
        }
        let words = SystemError::other("No space left on device (os error 28)");
        assert_eq!(DiskTrouble::of(&words), None);
    }

    #[test]
    fn an_error_of_git_that_the_system_caused_says_so() {
        let refused = Error::git("write a pack")(SystemError::from_raw_os_error(28));
        assert_eq!(refused.disk_trouble(), Some(DiskTrouble::Full));
        let text: std::result::Result<u8, _> = "x".parse::<u8>();
        let other = text.map_err(Error::git("read a number")).expect_err("no number");
        assert_eq!(other.disk_trouble(), None);
    }
}
