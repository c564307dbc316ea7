//! Errors of requests and of their answers.

/// A request that does not follow the protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid git request: {0}")]
pub struct InvalidRequest(pub String);

impl InvalidRequest {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// Why the response to a fetch did not reach its end.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The repository could not be read.
    #[error(transparent)]
    Storage(#[from] cuebase_storage::Error),
    /// The response could not be written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The pack ended early; the client has received an incomplete response.
    #[error("the fetch ended before its pack was complete")]
    Incomplete,
}
