//! The server's side of git's protocol: clone, fetch and push.
//!
//! The protocol is stateless, as git uses it over HTTP. [`advertisement`] answers the first request of a client. Clones
//! and fetches are read by [`fetch_request`] and answered by [`fetch`], in protocol versions 0 and 2. [`push`] reads
//! and answers pushes. [`lines`] is the framing of all of them. HTTP and permissions are the task of `server::git`.
//!
//! Formats: git's `gitprotocol-http`, `gitprotocol-pack`, `gitprotocol-v2` and `gitprotocol-common`.

pub mod advertisement;
pub mod fetch;
pub mod fetch_request;
pub mod lines;
pub mod push;

mod error;
mod protocol;

pub use self::error::{FetchError, InvalidRequest};
pub use self::protocol::{Action, BRANCH, Framing, ProtocolVersion};
