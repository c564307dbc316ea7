//! What the service answers when it cannot do what was asked, in its own words; `api::error` maps it to HTTP.

use std::fmt::Display;
use std::io::ErrorKind;

/// Of a disk that neither is full nor refuses writes as a whole.
const FAILING: &str = "the disk fails";

/// The result of a call to the service.
pub type Outcome<T> = Result<T, Failure>;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The caller's input breaks a rule; `code` is the specification's.
    #[error("{message}")]
    Invalid {
        /// The specification's error code.
        code: &'static str,
        /// What was wrong, where, and what to do.
        message: String,
    },
    /// The caller may not do this.
    #[error("{message}")]
    Forbidden {
        /// The specification's error code.
        code: &'static str,
        /// Why.
        message: String,
    },
    /// There is no such thing.
    #[error("{message}")]
    NotFound {
        /// The specification's error code.
        code: &'static str,
        /// What was looked for.
        message: String,
    },
    /// The input is larger than is taken.
    #[error("{message}")]
    TooLarge {
        /// The specification's error code.
        code: &'static str,
        /// The size and the limit.
        message: String,
    },
    /// The caller proved nothing.
    #[error("the signature is missing or wrong")]
    Unauthenticated,
    /// The wallet is empty.
    #[error("{0}")]
    PaymentRequired(String),
    /// A limit of the account is reached.
    #[error("{message}")]
    LimitReached {
        /// The specification's error code.
        code: &'static str,
        /// Which limit.
        message: String,
        /// Seconds until it makes sense to try again.
        retry_after: u64,
    },
    /// Something that is needed is not there just now, or not switched on.
    #[error("{message}")]
    Unavailable {
        /// The specification's error code.
        code: &'static str,
        /// What.
        message: String,
    },
    /// The disk takes no writes, or gives back no reads, or no file can be opened; the log has the details.
    #[error("{says}: {reason}")]
    Disk {
        /// For the caller: what is the matter.
        says: &'static str,
        /// For the log.
        reason: String,
    },
    /// The records are not what was written: they can only come from a backup.
    #[error("{0}")]
    Damaged(String),
    /// Our fault; the log has the details.
    #[error("{0}")]
    Internal(String),
}

impl Failure {
    /// Bad input.
    pub fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid { code, message: message.into() }
    }

    /// Not allowed.
    pub fn forbidden(code: &'static str, message: impl Into<String>) -> Self {
        Self::Forbidden { code, message: message.into() }
    }

    /// Not there.
    pub fn not_found(code: &'static str, message: impl Into<String>) -> Self {
        Self::NotFound { code, message: message.into() }
    }

    /// Whether it has to do with room, leave or descriptors, which somebody will see to, and not with what was asked for.
    pub fn passes(&self) -> bool {
        matches!(self, Self::Disk { says, .. } if *says != FAILING)
    }

    /// What the system refused, where it is the disk or the number of open files; anything else is internal.
    fn disk(kind: ErrorKind, reason: impl Display) -> Self {
        let reason = reason.to_string();
        let code = |code: &str| reason.contains(&format!("(os error {code})"));
        let says = match kind {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "the disk is full",
            ErrorKind::ReadOnlyFilesystem => "the disk is read-only",
            // EMFILE and ENFILE: of this process, or of the machine.
            _ if code("24") || code("23") => "too many files are open",
            // EIO; and the engine tells no numbers.
            _ if code("5") || kind == ErrorKind::Other => FAILING,
            _ => return Self::Internal(reason),
        };
        Self::Disk { says, reason }
    }

    /// For `map_err` on what should not fail.
    pub fn internal(error: impl Display) -> Self {
        Self::Internal(error.to_string())
    }
}

impl From<crate::model::ModelError> for Failure {
    fn from(error: crate::model::ModelError) -> Self {
        Self::Unavailable { code: "model_unavailable", message: error.to_string() }
    }
}

impl From<cuebase_storage::Error> for Failure {
    fn from(error: cuebase_storage::Error) -> Self {
        match (&error, error.disk_trouble()) {
            (cuebase_storage::Error::DamagedRecords(_), _) => Self::Damaged(error.to_string()),
            (_, Some(kind)) => Self::disk(kind, error),
            (_, None) => Self::internal(error),
        }
    }
}

impl From<cuebase_retrieval::Error> for Failure {
    fn from(error: cuebase_retrieval::Error) -> Self {
        match &error {
            cuebase_retrieval::Error::Io { source, .. } => Self::disk(source.kind(), error),
            _ => Self::internal(error),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::disk(error.kind(), error)
    }
}
