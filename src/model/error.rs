//! Errors of models.

use std::time::Duration;

use cuebase_language::text::steps::Interrupted;

use super::embedding::DIMENSIONS;

/// Why a model returned no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The model is unreachable or overloaded, or the deadline passed. It may respond later.
    #[error("the model does not respond: {message}")]
    Unavailable {
        /// The cause.
        message: String,
        /// HTTP status; `None` if there was no response.
        status: Option<u16>,
        /// The wait that the endpoint asked for.
        retry_after: Option<Duration>,
    },
    /// The endpoint refuses the key, the address or the model's name. It may respond once the operator has corrected
    /// the settings.
    #[error("the model's endpoint refuses the configuration: {message}")]
    Misconfigured {
        /// HTTP status.
        status: u16,
        /// The endpoint's message.
        message: String,
    },
    /// The time limit of the whole work ended, although the model responds.
    #[error("{0}")]
    OutOfTime(String),
    /// The model refused the request.
    #[error("the model refused the request: {0}")]
    Refused(String),
    /// The response cannot be used.
    #[error("the model's response cannot be used: {0}")]
    Unusable(String),
    /// The vectors have more dimensions than an index can hold.
    #[error(
        "the model's vectors have {found} dimensions, but at most {DIMENSIONS} are supported: choose a model with fewer \
         dimensions, or one that can shorten its vectors"
    )]
    TooLong {
        /// Dimensions of the vectors.
        found: usize,
    },
    /// The model could not be loaded, or its kind is not supported.
    #[error("{0}")]
    Unknown(String),
}

impl ModelError {
    /// Returns the error of a model that did not respond.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::Unavailable { message: message.into(), status: None, retry_after: None }
    }

    /// Returns whether the cause is the endpoint or its configuration, and not the request or the response.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Misconfigured { .. })
    }

    /// Returns the kind of error for the log, since the error itself may repeat text from a client.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unavailable { .. } => "unavailable",
            Self::Misconfigured { .. } => "misconfigured",
            Self::OutOfTime(_) => "out_of_time",
            Self::Refused(_) => "refused",
            Self::Unusable(_) => "unusable",
            Self::TooLong { .. } => "too_long",
            Self::Unknown(_) => "unknown",
        }
    }
}

impl From<Interrupted> for ModelError {
    fn from(interrupted: Interrupted) -> Self {
        match interrupted {
            Interrupted::TimedOut => Self::OutOfTime(interrupted.to_string()),
            Interrupted::Stopped => Self::unavailable(interrupted.to_string()),
        }
    }
}
