//! The errors of the service, independent of HTTP. `api::error` maps them to status codes.

use std::fmt::Display;
use std::time::Duration;

use cuebase_language::text::steps::Interrupted;
use cuebase_storage::NamespaceKey;
use cuebase_storage::error::{DiskTrouble, NameKind};

use crate::documents::error::DocumentError;
use crate::error_codes::ErrorCode;
use crate::git_protocol::{FetchError, InvalidRequest};
use crate::model::ModelError;

/// The result of a call to the service.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input of the caller is not valid.
    #[error("{message}")]
    Invalid {
        /// Code of the response.
        code: ErrorCode,
        /// What is wrong, where, and what to do.
        message: String,
    },
    /// The caller has no permission.
    #[error("{message}")]
    Forbidden {
        /// Code of the response.
        code: ErrorCode,
        /// The missing permission.
        message: String,
    },
    /// The named object does not exist.
    #[error("{message}")]
    NotFound {
        /// Code of the response.
        code: ErrorCode,
        /// The missing object.
        message: String,
    },
    /// The namespace was deleted after the caller looked it up. Never an error of an object in a namespace, so that the
    /// queued writes of a deleted namespace can be dropped.
    #[error("the namespace was deleted in the meantime")]
    NamespaceGone,
    /// This node does not own the namespace, as far as it knows. Nothing has changed. The server claims the namespace, or
    /// forwards the request to the owner.
    #[error("the namespace has another owner: try again")]
    NotOwner(NamespaceKey),
    /// Another node owns the namespace. Nothing has changed.
    #[error("another node, {address}, owns the namespace: try again")]
    Elsewhere {
        /// The address of that node for other nodes.
        address: String,
    },
    /// The input exceeds a size limit.
    #[error("{message}")]
    TooLarge {
        /// Code of the response.
        code: ErrorCode,
        /// The size and the limit.
        message: String,
    },
    /// The request has no valid signature.
    #[error("the signature is missing or wrong")]
    Unauthenticated,
    /// The wallet is empty.
    #[error("{0}")]
    PaymentRequired(String),
    /// A limit of the account is reached.
    #[error("{message}")]
    LimitReached {
        /// Code of the response.
        code: ErrorCode,
        /// The limit.
        message: String,
        /// Seconds until a retry can succeed.
        retry_after: u64,
    },
    /// Too much memory is taken for bodies and replies at the moment.
    #[error("there is no memory for the reply: try again in a second")]
    OutOfMemory,
    /// A part that the call needs is unavailable or disabled.
    #[error("{message}")]
    Unavailable {
        /// Code of the response.
        code: ErrorCode,
        /// The part.
        message: String,
    },
    /// The model does not respond, or its endpoint rejects the configuration. The input of the caller is not the cause.
    #[error("{message}")]
    ModelOutage {
        /// The failure. May quote the endpoint's response.
        message: String,
        /// HTTP status; `None` without a response.
        status: Option<u16>,
        /// Delay that the endpoint requested.
        retry_after: Option<Duration>,
    },
    /// The operating system refuses to write, to read or to open a file.
    #[error("{}: {reason}", disk_message(*.trouble))]
    Disk {
        /// The refused operation.
        trouble: DiskTrouble,
        /// Details for the log.
        reason: String,
    },
    /// The repository of a namespace does not contain the recorded head. Only a backup can restore it.
    #[error("the namespace is damaged: {0}")]
    DamagedNamespace(String),
    /// The failure of one of the namespaces that a request names.
    #[error("{error}")]
    InNamespace {
        /// The namespace as the request names it.
        namespace: String,
        /// The failure.
        error: Box<Error>,
    },
    /// The client has closed its connection, so that the work for its response ends.
    #[error("the client has closed the connection")]
    ClientLeft,
    /// The records differ from what was written. Only a backup can restore them.
    #[error("{0}")]
    Damaged(String),
    /// A fault of the server. The details are for the log.
    #[error("{0}")]
    Internal(String),
}

/// Returns whether a batch was committed. False if a record changed since it was read: the caller reads again and
/// repeats. Each repetition means that another writer has succeeded.
pub fn was_committed(committed: Result<(), cuebase_storage::Error>) -> Result<bool> {
    match committed {
        Ok(()) => Ok(true),
        Err(cuebase_storage::Error::ConditionFailed { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl Error {
    /// Returns an error for input that is not valid.
    pub fn invalid(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Invalid { code, message: message.into() }
    }

    /// Returns an error for a caller without permission.
    pub fn forbidden(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Forbidden { code, message: message.into() }
    }

    /// Returns an error for an object that does not exist.
    pub fn not_found(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::NotFound { code, message: message.into() }
    }

    /// Returns an error for what has to wait for a backup.
    pub fn backup_in_progress(remedy: &str) -> Self {
        Self::Unavailable { code: ErrorCode::BackupInProgress, message: format!("a backup is in progress: {remedy}") }
    }

    /// Returns the error as that of one of the namespaces that a request names.
    pub fn in_namespace(self, namespace: &str) -> Self {
        Self::InNamespace { namespace: namespace.to_owned(), error: Box::new(self) }
    }

    /// Returns whether the cause is disk space, permissions, file descriptors or a backup in progress. Such a cause
    /// ends or can be removed by an operator, so the same call can succeed later.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Disk { trouble, .. } => *trouble != DiskTrouble::Failing,
            Self::NotOwner(_) | Self::Elsewhere { .. } => true,
            Self::Unavailable { code, .. } => *code == ErrorCode::BackupInProgress,
            Self::InNamespace { error, .. } => error.is_temporary(),
            _ => false,
        }
    }

    /// Returns the code of the error in a response or in the outcome of a write.
    pub fn response_code(&self) -> ErrorCode {
        match self {
            Self::Invalid { code, .. }
            | Self::Forbidden { code, .. }
            | Self::NotFound { code, .. }
            | Self::TooLarge { code, .. }
            | Self::LimitReached { code, .. }
            | Self::Unavailable { code, .. } => *code,
            Self::NamespaceGone => ErrorCode::NamespaceNotFound,
            Self::PaymentRequired(_) => ErrorCode::PaymentRequired,
            Self::ModelOutage { .. } => ErrorCode::ModelUnavailable,
            Self::Disk { .. } | Self::NotOwner(_) | Self::Elsewhere { .. } => ErrorCode::StorageUnavailable,
            Self::DamagedNamespace(_) => ErrorCode::NamespaceDamaged,
            Self::InNamespace { error, .. } => error.response_code(),
            // Nobody reads the response.
            Self::ClientLeft => ErrorCode::Internal,
            // The responses to a missing signature and to a lack of memory have no code.
            Self::Unauthenticated | Self::OutOfMemory | Self::Damaged(_) | Self::Internal(_) => ErrorCode::Internal,
        }
    }

    /// Returns a short name of the error for the log, without any text of the client.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid { code, .. }
            | Self::Forbidden { code, .. }
            | Self::NotFound { code, .. }
            | Self::TooLarge { code, .. }
            | Self::LimitReached { code, .. }
            | Self::Unavailable { code, .. } => code.as_str(),
            Self::NamespaceGone => ErrorCode::NamespaceNotFound.as_str(),
            Self::ModelOutage { .. } => ErrorCode::ModelUnavailable.as_str(),
            Self::Unauthenticated => "unauthenticated",
            Self::OutOfMemory => "out_of_memory",
            Self::PaymentRequired(_) => ErrorCode::PaymentRequired.as_str(),
            Self::Disk { trouble, .. } => disk_message(*trouble),
            Self::NotOwner(_) => "not_owner",
            Self::Elsewhere { .. } => "owned_elsewhere",
            Self::DamagedNamespace(_) => ErrorCode::NamespaceDamaged.as_str(),
            Self::InNamespace { error, .. } => error.code(),
            Self::Damaged(_) => "records_damaged",
            Self::ClientLeft => "client_left",
            Self::Internal(_) => ErrorCode::Internal.as_str(),
        }
    }

    /// Returns a disk error if the operating system refuses the disk or more open files, otherwise an internal error.
    fn system(error: &std::io::Error, reason: impl Display) -> Self {
        match DiskTrouble::from_io_error(error) {
            Some(trouble) => Self::Disk { trouble, reason: reason.to_string() },
            None => Self::internal(reason),
        }
    }

    /// Returns an internal error, for `map_err` on calls that should not fail.
    pub fn internal(error: impl Display) -> Self {
        Self::Internal(error.to_string())
    }
}

impl From<DocumentError> for Error {
    fn from(error: DocumentError) -> Self {
        let message = error.to_string();
        match error {
            DocumentError::TooMuchText | DocumentError::TooSlow { .. } | DocumentError::TooMuchMemory { .. } => {
                Self::TooLarge { code: ErrorCode::PayloadTooLarge, message }
            }
            DocumentError::Busy => Self::LimitReached { code: ErrorCode::RateLimited, message, retry_after: 1 },
            DocumentError::Stopped => Self::Unavailable { code: ErrorCode::StorageUnavailable, message },
            DocumentError::NoReader(_) => Self::Internal(message),
            DocumentError::UnknownKind
            | DocumentError::Malformed { .. }
            | DocumentError::NotUtf8 { .. }
            | DocumentError::Encrypted
            | DocumentError::NoText => Self::invalid(ErrorCode::InvalidDocument, message),
        }
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
            _ => Self::Unavailable { code: ErrorCode::ModelUnavailable, message },
        }
    }
}

impl From<InvalidRequest> for Error {
    fn from(error: InvalidRequest) -> Self {
        Self::invalid(ErrorCode::InvalidBody, error.to_string())
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
            (cuebase_storage::Error::NamespaceGone(_), _) => Self::NamespaceGone,
            (cuebase_storage::Error::NotOwner(namespace), _) => Self::NotOwner(namespace.clone()),
            (cuebase_storage::Error::NameTaken { existing, kind, .. }, _) => {
                let remedy = match kind {
                    NameKind::Directory if existing.ends_with(".md") => {
                        "`cuebase doctor --repair` moves its memories to another directory"
                    }
                    _ => "choose another path",
                };
                Self::invalid(ErrorCode::InvalidPath, format!("{error}: {remedy}"))
            }
            (cuebase_storage::Error::BackupInProgress, _) => Self::backup_in_progress("try again after it"),
            // The reason may quote the client's input, which must not be in the log.
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
            cuebase_retrieval::Error::OverBudget => Self::OutOfMemory,
            _ => Self::internal(error),
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::system(&error, &error)
    }
}

/// Returns the message of a disk error for the caller.
pub fn disk_message(trouble: DiskTrouble) -> &'static str {
    match trouble {
        DiskTrouble::Full => "the disk is full",
        DiskTrouble::ReadOnly => "the disk is read-only",
        DiskTrouble::TooManyOpenFiles => "too many files are open",
        DiskTrouble::Inaccessible => "the server may not access a file of its data directory",
        DiskTrouble::Failing => "the disk reports errors",
        DiskTrouble::Unreachable => "the database or the bucket cannot be reached",
    }
}

/// Joins the messages of an error and of its causes with colons. Leaves out a cause that the text already quotes, as
/// errors of the storage crate quote their causes.
pub fn with_causes(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let message = cause.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn a_bucket_that_cannot_be_reached_is_unavailable_storage() {
        let error = Error::from(cuebase_storage::Error::Bucket {
            action: "read",
            name: "media/1/2".to_owned(),
            trouble: Some(DiskTrouble::Unreachable),
            source: "connection refused".into(),
        });
        assert_eq!(error.response_code(), ErrorCode::StorageUnavailable);
        assert!(error.is_temporary());
        let expected =
            "the database or the bucket cannot be reached: bucket: cannot read media/1/2: connection refused";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_cause_that_the_text_quotes_is_not_repeated() {
        let source = std::io::Error::from_raw_os_error(5);
        let reason = source.to_string();
        let error = cuebase_storage::Error::Io { action: "read", path: "/data/x".into(), source };
        let error = Err::<(), _>(error).context("opening the data directory").expect_err("failed");
        let text = with_causes(&error);
        assert_eq!(text, format!("opening the data directory: cannot read /data/x: {reason}"));
    }
}
