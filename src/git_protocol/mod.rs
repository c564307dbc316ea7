//! git's own protocol, the server's side: what a clone, a fetch and a push say, and what they are told.
//!
//! Stateless, as it goes over HTTP: every request stands for itself. [`advertisement`] is what a client is told first,
//! [`fetch`] answers clone and fetch in protocol versions 0 and 2, [`push`] reads and answers a push, [`lines`] is the
//! framing of all of them. No HTTP here, and no opinion on who may do what.
//!
//! Formats: git's `gitprotocol-http`, `gitprotocol-pack`, `gitprotocol-v2` and `gitprotocol-common`.

pub mod advertisement;
pub mod fetch;
pub mod lines;
pub mod push;

use cuebase_storage::git::CommitId;

/// The one branch that a namespace has.
pub const BRANCH: &str = "refs/heads/main";
/// What stands for no commit.
pub const NO_COMMIT: &str = "0000000000000000000000000000000000000000";
/// Who speaks.
pub const AGENT: &str = concat!("agent=cuebase/", env!("CARGO_PKG_VERSION"));

/// What the client wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Clone, fetch, pull, ls-remote.
    Fetch,
    /// Push.
    Push,
}

impl Action {
    /// The action of a service's name.
    pub fn of(service: &str) -> Option<Self> {
        [Self::Fetch, Self::Push].into_iter().find(|action| action.service() == service)
    }

    /// The service's name, which is also the last part of its address.
    pub fn service(self) -> &'static str {
        match self {
            Self::Fetch => "git-upload-pack",
            Self::Push => "git-receive-pack",
        }
    }
}

/// A request that is not what the protocol says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not what git sends: {0}")]
pub struct Malformed(pub String);

impl Malformed {
    fn new(reason: impl Into<String>) -> Self {
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

/// A commit's id as a client writes it.
fn id(text: &str) -> Result<CommitId, Malformed> {
    text.parse().map_err(|_| Malformed::new(format!("{text:?} is no commit's id")))
}
