//! What the service answers when it cannot do what was asked, in its own words; `api::error` maps it to HTTP.

use std::fmt::Display;
use std::time::Duration;

use cuebase_storage::error::DiskTrouble;

use crate::git_protocol::{FetchError, InvalidRequest};
use crate::model::ModelError;
use crate::text::steps::Interrupted;

/// The result of a call to the service.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
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
    /// The model does not answer, or its endpoint refuses the configuration: nothing is wrong with what was asked.
    #[error("{message}")]
    ModelOutage {
        /// What happened; it may repeat what the endpoint said.
        message: String,
        /// The HTTP status; none where no answer came.
        status: Option<u16>,
        /// How long the endpoint asked to be left alone.
        retry_after: Option<Duration>,
    },
    /// The disk takes no writes, or gives back no reads, or no file can be opened; the log has the details.
    #[error("{}: {reason}", says(*.trouble))]
    Disk {
        /// What the system refuses.
        trouble: DiskTrouble,
        /// For the log.
        reason: String,
    },
    /// A namespace's repository does not hold what was recorded of it: it can only come from a backup.
    #[error("the namespace is damaged: {0}")]
    DamagedNamespace(String),
    /// The records are not what was written: they can only come from a backup.
    #[error("{0}")]
    Damaged(String),
    /// Our fault; the log has the details.
    #[error("{0}")]
    Internal(String),
}

impl Error {
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

    /// The namespace was deleted after the caller looked it up.
    pub fn namespace_deleted() -> Self {
        Self::not_found("namespace_not_found", "the namespace was deleted meanwhile")
    }

    /// Whether it has to do with room, leave or descriptors, which somebody will see to, and not with what was asked for.
    pub fn passes(&self) -> bool {
        matches!(self, Self::Disk { trouble, .. } if *trouble != DiskTrouble::Failing)
    }

    /// A short word for the kind of failure that holds nothing of what a client sent; for the log.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid { code, .. }
            | Self::Forbidden { code, .. }
            | Self::NotFound { code, .. }
            | Self::TooLarge { code, .. }
            | Self::LimitReached { code, .. }
            | Self::Unavailable { code, .. } => code,
            Self::ModelOutage { .. } => "model_unavailable",
            Self::Unauthenticated => "unauthenticated",
            Self::PaymentRequired(_) => "payment_required",
            Self::Disk { trouble, .. } => says(*trouble),
            Self::DamagedNamespace(_) => "namespace_damaged",
            Self::Damaged(_) => "records_damaged",
            Self::Internal(_) => "internal",
        }
    }

    /// An error of the system: the disk's or the number of open files, else internal.
    fn system(error: &std::io::Error, reason: impl Display) -> Self {
        match DiskTrouble::from_io_error(error) {
            Some(trouble) => Self::Disk { trouble, reason: reason.to_string() },
            None => Self::internal(reason),
        }
    }

    /// For `map_err` on what should not fail.
    pub fn internal(error: impl Display) -> Self {
        Self::Internal(error.to_string())
    }
}

impl From<ModelError> for Error {
    fn from(error: ModelError) -> Self {
        let message = error.to_string();
        match error {
            ModelError::Unavailable { status, retry_after, .. } => Self::ModelOutage { message, status, retry_after },
            ModelError::Misconfigured { status, .. } => {
                Self::ModelOutage { message, status: Some(status), retry_after: None }
            }
            _ => Self::Unavailable { code: "model_unavailable", message },
        }
    }
}

impl From<InvalidRequest> for Error {
    fn from(error: InvalidRequest) -> Self {
        Self::invalid("invalid_body", error.to_string())
    }
}

impl From<FetchError> for Error {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::Storage(error) => error.into(),
            FetchError::Io(error) => error.into(),
            FetchError::Incomplete => Self::internal(error),
        }
    }
}

impl From<Interrupted> for Error {
    fn from(interrupted: Interrupted) -> Self {
        Self::internal(interrupted)
    }
}

impl From<cuebase_storage::Error> for Error {
    fn from(error: cuebase_storage::Error) -> Self {
        match (&error, error.disk_trouble()) {
            (cuebase_storage::Error::DamagedRecords(_), _) => Self::Damaged(error.to_string()),
            (cuebase_storage::Error::NamespaceGone(_), _) => Self::namespace_deleted(),
            // The reason quotes what breaks the rule, and an internal failure is logged.
            (cuebase_storage::Error::Invalid { what, .. }, None) => Self::internal(format!("{what}: not valid")),
            (_, Some(trouble)) => Self::Disk { trouble, reason: error.to_string() },
            (_, None) => Self::internal(error),
        }
    }
}

impl From<cuebase_retrieval::Error> for Error {
    fn from(error: cuebase_retrieval::Error) -> Self {
        match &error {
            cuebase_retrieval::Error::Io { source, .. } => Self::system(source, &error),
            _ => Self::internal(error),
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::system(&error, &error)
    }
}

/// What is the matter with the disk, for the caller.
pub fn says(trouble: DiskTrouble) -> &'static str {
    match trouble {
        DiskTrouble::Full => "the disk is full",
        DiskTrouble::ReadOnly => "the disk is read-only",
        DiskTrouble::TooManyOpenFiles => "too many files are open",
        DiskTrouble::Failing => "the disk fails",
    }
}
