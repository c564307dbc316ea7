//! The error type of this crate. Its variants differ in what a caller can do about the failure.

use std::error::Error as StdError;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::identity::NamespaceKey;
use crate::key_value::Column;

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure of the operating system or of a storage server that may pass if the caller waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskTrouble {
    /// The disk is full or the quota is exhausted.
    Full,
    /// The file system is read-only.
    ReadOnly,
    /// The process or the machine has reached its limit of open files.
    TooManyOpenFiles,
    /// The system denies access to a file or folder: its permissions, or an attribute such as `immutable`.
    Inaccessible,
    /// The device fails, hangs or was removed.
    Failing,
    /// The database server or the bucket cannot be reached, or refuses work for now.
    Unreachable,
}

impl DiskTrouble {
    /// EIO, ENXIO, ENODEV, EBADMSG (a wrong checksum of the file system), ENOTCONN (the process behind a FUSE mount has
    /// ended), ESTALE, EUCLEAN and EREMOTEIO on Linux; `ErrorKind` does not distinguish them.
    const FAILING_CODES: [i32; 8] = [5, 6, 19, 74, 107, 116, 117, 121];
    /// ENFILE and EMFILE.
    const OPEN_FILES_CODES: [i32; 2] = [23, 24];

    /// Classifies an I/O error: this is the only place that does. `None` if its cause is neither the disk nor the limit
    /// of open files.
    pub fn from_io_error(error: &io::Error) -> Option<Self> {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => return Some(Self::Full),
            ErrorKind::ReadOnlyFilesystem => return Some(Self::ReadOnly),
            // `PermissionDenied` is EACCES and EPERM. The latter is how the system refuses to change immutable files.
            ErrorKind::PermissionDenied => return Some(Self::Inaccessible),
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

/// What has a name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// A file.
    File,
    /// A directory.
    Directory,
}

impl fmt::Display for NameKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::File => "file",
            Self::Directory => "directory",
        })
    }
}

/// The cause of an error, of any type.
type Cause = Box<dyn StdError + Send + Sync>;

/// A storage failure. [`Error::Invalid`] and [`Error::NameTaken`] report bad input; every other variant is a failure of the
/// disk or of Cuebase.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused a file operation: disk full, missing permission, missing file.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The failed operation, as a verb: `open`, `rename into place`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another process holds the data directory.
    #[error("{} is in use by another process: stop it, or send commands through its control socket", .0.display())]
    Locked(PathBuf),
    /// A later version of Cuebase wrote the data directory.
    #[error("the data directory has format {found}; this version reads up to {known}: use a newer version of cuebase")]
    NewerFormat {
        /// The format of the data directory.
        found: u32,
        /// The latest format that this build reads.
        known: u32,
    },
    /// The key-value engine failed.
    #[error("key-value store: {source}")]
    Engine {
        /// What the operating system refuses, if that is why the engine failed.
        trouble: Option<DiskTrouble>,
        /// The error of the engine.
        source: Cause,
    },
    /// A key did not have the value that a batch expects of it, so the batch was not applied. The caller reads the key
    /// again and decides again.
    #[error("a key in column {} does not have the expected value", column.name())]
    ConditionFailed {
        /// The column of the key.
        column: Column,
        /// The key.
        key: Vec<u8>,
    },
    /// The key-value engine found its own files damaged. Their content cannot be restored from other data.
    #[error("the records are damaged ({0})")]
    DamagedRecords(#[source] Cause),
    /// Bytes on disk differ from what was written.
    #[error("corrupt {what}: {reason}")]
    Corrupt {
        /// The damaged structure.
        what: String,
        /// The sign of the damage.
        reason: String,
    },
    /// A git repository could not be read or written.
    #[error("git: cannot {action}: {}", with_sources(&**source))]
    Git {
        /// The failed operation, as a verb phrase: `read a commit`.
        action: &'static str,
        /// What the operating system refuses, if that is why the operation failed.
        trouble: Option<DiskTrouble>,
        /// The error of the git library.
        source: Cause,
    },
    /// The bucket could not be read or written.
    #[error("bucket: cannot {action} {name}: {}", with_sources(&**source))]
    Bucket {
        /// The failed operation, as a verb.
        action: &'static str,
        /// The name of the object or directory.
        name: String,
        /// Whether the failure may pass.
        trouble: Option<DiskTrouble>,
        /// The error of the client library.
        source: Cause,
    },
    /// The namespace was deleted, or deleted and created again, after the caller looked it up.
    #[error("the namespace {} was deleted", .0.name)]
    NamespaceGone(NamespaceKey),
    /// This node does not own the namespace, or no longer: another one may.
    #[error("this node does not own the namespace {}", .0.name)]
    NotOwner(NamespaceKey),
    /// This node did not renew its session in time, so that others declared it dead.
    #[error("the session of this node has ended")]
    SessionEnded,
    /// A backup of several nodes is in progress, so nothing that it copies may be deleted. Nothing has changed.
    #[error("a backup is in progress")]
    BackupInProgress,
    /// The branch moved while a commit was being written. The caller reads the branch again and retries.
    #[error("the branch moved while a commit was being written: read the branch again and retry")]
    Conflict,
    /// A file cannot be written because a file and a directory would have one name. Nothing has changed.
    #[error("{path} cannot be written: {existing} is a {kind} in the repository")]
    NameTaken {
        /// The path of the file that was not written.
        path: String,
        /// The path that exists: that of the file, or of a directory above it.
        existing: String,
        /// What exists there.
        kind: NameKind,
    },
    /// Data from outside violates the rules of its format.
    #[error("{what}: {reason}")]
    Invalid {
        /// The kind of data: `path`, `front matter`.
        what: &'static str,
        /// The violated rule.
        reason: String,
    },
}

impl Error {
    /// Returns a conversion for `map_err` on file operations.
    pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Io { action, path: path.to_path_buf(), source }
    }

    /// The cause, if it is the disk or the limit of open files.
    pub fn disk_trouble(&self) -> Option<DiskTrouble> {
        match self {
            Self::Io { source, .. } => DiskTrouble::from_io_error(source),
            Self::NotOwner(_) | Self::SessionEnded => Some(DiskTrouble::Unreachable),
            Self::Engine { trouble, .. } | Self::Git { trouble, .. } | Self::Bucket { trouble, .. } => *trouble,
            _ => None,
        }
    }

    /// Returns a conversion for `map_err` on gix calls.
    pub(crate) fn git<E: StdError + Send + Sync + 'static>(action: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::Git { action, trouble: trouble_in(&error), source: Box::new(error) }
    }

    pub(crate) fn corrupt(what: impl Into<String>, reason: impl std::fmt::Display) -> Self {
        Self::Corrupt { what: what.into(), reason: reason.to_string() }
    }

    pub(crate) fn invalid(what: &'static str, reason: impl std::fmt::Display) -> Self {
        Self::Invalid { what, reason: reason.to_string() }
    }
}

/// The first trouble of the operating system among an error and its sources.
fn trouble_in(error: &(dyn StdError + 'static)) -> Option<DiskTrouble> {
    let mut next = Some(error);
    while let Some(current) = next {
        next = current.source();
        if let Some(io_error) = current.downcast_ref::<io::Error>() {
            if let Some(trouble) = DiskTrouble::from_io_error(io_error) {
                return Some(trouble);
            }
            // `source` skips the error inside an I/O error.
            if let Some(inner) = io_error.get_ref() {
                next = Some(inner);
            }
        }
        if let Some(git_error) = current.downcast_ref::<gix::Error>()
            && let Some(trouble) = trouble_in_git(git_error)
        {
            return Some(trouble);
        }
    }
    None
}

/// The first trouble of the operating system among the causes of an error of gix. It may have several, of which
/// `source` returns one.
fn trouble_in_git(error: &gix::Error) -> Option<DiskTrouble> {
    for cause in error.iter_errors() {
        if let Some(io_error) = cause.downcast_ref::<io::Error>()
            && let Some(trouble) = DiskTrouble::from_io_error(io_error)
        {
            return Some(trouble);
        }
    }
    None
}

/// Joins the messages of an error and of its sources with colons.
fn with_sources(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text.push_str(&format!(": {source}"));
        next = source.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::Error as SystemError;

    use super::*;

    #[test]
    fn disk_trouble_is_classified_by_error_code_not_by_message() {
        for (code, expected) in [
            (28, Some(DiskTrouble::Full)),
            (122, Some(DiskTrouble::Full)),
            (30, Some(DiskTrouble::ReadOnly)),
            (24, Some(DiskTrouble::TooManyOpenFiles)),
            (23, Some(DiskTrouble::TooManyOpenFiles)),
            (5, Some(DiskTrouble::Failing)),
            (117, Some(DiskTrouble::Failing)),
            (74, Some(DiskTrouble::Failing)),
            (1, Some(DiskTrouble::Inaccessible)),
            (13, Some(DiskTrouble::Inaccessible)),
            // A file in place of a folder does not become one by waiting.
            (20, None),
            (2, None),
        ] {
            assert_eq!(DiskTrouble::from_io_error(&SystemError::from_raw_os_error(code)), expected, "{code}");
        }
        let message_only = SystemError::other("No space left on device (os error 28)");
        assert_eq!(DiskTrouble::from_io_error(&message_only), None);
    }

    #[test]
    fn a_git_error_caused_by_the_operating_system_keeps_its_cause() {
        let refused = Error::git("write a pack")(SystemError::from_raw_os_error(28));
        assert_eq!(refused.disk_trouble(), Some(DiskTrouble::Full));
        let text: std::result::Result<u8, _> = "x".parse::<u8>();
        let other = text.map_err(Error::git("read a number")).expect_err("not a number");
        assert_eq!(other.disk_trouble(), None);
        let inner = SystemError::other(SystemError::other(SystemError::from_raw_os_error(30)));
        assert_eq!(Error::git("write a pack")(inner).disk_trouble(), Some(DiskTrouble::ReadOnly));
        let tree = gix::Error::from_error(SystemError::from_raw_os_error(24));
        assert_eq!(Error::git("open a pack")(tree).disk_trouble(), Some(DiskTrouble::TooManyOpenFiles));
    }

    #[test]
    fn a_git_error_shows_its_sources_and_returns_them() {
        let error = Error::git("read a commit")(SystemError::from_raw_os_error(5));
        let cause = error.source().expect("a source");
        assert_eq!(error.to_string(), format!("git: cannot read a commit: {cause}"));
        assert!(cause.downcast_ref::<SystemError>().is_some());
        let pack = Error::Io { action: "read", path: "pack".into(), source: SystemError::from_raw_os_error(5) };
        let text = format!("git: cannot read a commit: {pack}: {cause}");
        assert_eq!(Error::git("read a commit")(pack).to_string(), text);
    }
}
