//! A node that lives.

use cuebase_storage::records::ownership::NodeId;

/// A node that has a session, as it was observed last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveNode {
    /// Its id.
    pub id: NodeId,
    /// Its address for other nodes.
    pub address: String,
    /// The version of its program.
    pub version: String,
}
