//! Which node may change which namespace, when several nodes share one database.
//!
//! - A node has a **session**: a record that it renews every second ([`session`]). A node whose record did not change
//!   for [`SESSION_TTL`] by the clock of an observer is declared dead: its record is deleted, for good, since every start
//!   of a node has an id of its own ([`watch`]).
//! - A namespace has at most one **owner**, with an **epoch** that rises with each claim ([`claims`]). A namespace can be
//!   claimed while it has no owner, or a dead one.
//! - Every batch that changes a namespace expects the owner record under which the node claimed it ([`fences`]). A batch
//!   of a former owner therefore either commits before the claim, and the new owner reads what it wrote, or changes
//!   nothing.
//! - Reads do not write and meet no fence. A node stops reading before others can declare it dead: [`SESSION_MARGIN`]
//!   before its session would end.
//!
//! Clocks of different machines are not compared. A node measures from the moment at which it sent a renewal, an observer
//! from the moment at which it first read the renewed record, which is later. Both use their own monotonic clock.
//!
//! An owner record that cannot be decoded makes its namespace unavailable: a node that owns it may still read, so no other
//! node may claim it. A node record that cannot be decoded is that of a node with a session. Its node replaces it at the
//! next renewal; otherwise the node is declared dead.
//!
//! A store of one process ([`Store::open`](super::Store::open)) has no nodes, no owners and no fences.

mod claims;
mod fences;
mod node;
mod node_id;
mod session;
mod watch;

pub use claims::{Claim, ClaimMark, OwnerClaim, PreparedClaim};
pub use fences::FENCED;
pub use node::NodeRecord;
pub use node_id::NodeId;
pub use session::NodeSession;
pub use watch::{NodeRows, NodeWatch};

pub(super) use claims::OwnerRecord;
pub(super) use fences::Fences;

use std::time::Duration;

/// How long the record of a node may stay unchanged before others declare the node dead.
pub const SESSION_TTL: Duration = Duration::from_secs(3);
/// How long before the end of its session a node stops reading. Bounds how much clocks of two machines may differ in
/// speed, and how long a read that began in time may take.
pub const SESSION_MARGIN: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests;
#[cfg(test)]
mod unreadable_tests;
