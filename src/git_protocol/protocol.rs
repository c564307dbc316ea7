//! What requests and answers have in common: actions, versions and constants.

use cuebase_storage::git::CommitId;

use super::error::InvalidRequest;

/// The only branch of a namespace.
pub const BRANCH: &str = "refs/heads/main";
/// The id that means "no commit".
pub(super) const NO_COMMIT: &str = "0000000000000000000000000000000000000000";
/// The server's name for itself.
pub(super) const AGENT: &str = concat!("agent=cuebase/", env!("CARGO_PKG_VERSION"));

/// What the client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Clone, fetch, pull, ls-remote.
    Fetch,
    /// Push.
    Push,
}

impl Action {
    /// Returns the action of a service name.
    pub fn of(service: &str) -> Option<Self> {
        [Self::Fetch, Self::Push].into_iter().find(|action| action.service() == service)
    }

    /// Returns the service name, which is also the last part of its path.
    pub fn service(self) -> &'static str {
        match self {
            Self::Fetch => "git-upload-pack",
            Self::Push => "git-receive-pack",
        }
    }
}

/// The protocol version of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProtocolVersion {
    /// The original protocol, which pushes always use.
    #[default]
    V0,
    /// Fetches of git 2.26 and newer.
    V2,
}

/// How an answer carries data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// As raw bytes.
    #[default]
    Raw,
    /// In lines on a side band, which also has bands for messages and errors.
    SideBand,
}

/// Parses the commit id that a client sent.
pub(super) fn parse_id(text: &str) -> Result<CommitId, InvalidRequest> {
    text.parse().map_err(|_| InvalidRequest::new(format!("{text:?} is not a commit id")))
}
