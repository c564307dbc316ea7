//! What the service answers when it cannot do what was asked, in its own words; `api::error` maps it to HTTP.

use std::fmt::Display;

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
        Self::internal(error)
    }
}

impl From<cuebase_retrieval::Error> for Failure {
    fn from(error: cuebase_retrieval::Error) -> Self {
        Self::internal(error)
    }
}
