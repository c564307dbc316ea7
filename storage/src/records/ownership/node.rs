//! A node: one start of a process that shares the database with others.

use serde::{Deserialize, Serialize};

use super::node_id::NodeId;
use crate::error::Result;
use crate::key_value::Column;
use crate::records::Store;
use crate::records::store::decode;

/// A node that has a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// `host:port` at which other nodes reach this one.
    pub address: String,
    /// The version of the program.
    pub version: String,
    /// Number of renewals of the session.
    pub renewals: u64,
}

impl Store {
    /// Returns the nodes that have a session, by id. Some may be dead without having been declared so.
    pub fn nodes(&self) -> Result<Vec<(NodeId, NodeRecord)>> {
        let mut nodes = Vec::new();
        for (key, value) in self.kv.scan(Column::Nodes, b"", None, usize::MAX)? {
            if let Some(id) = NodeId::of_key(&key) {
                nodes.push((id, decode(Column::Nodes, &value)?));
            }
        }
        Ok(nodes)
    }

    /// Returns a node that has a session. `None` if the node ended or was declared dead.
    pub fn node(&self, id: NodeId) -> Result<Option<NodeRecord>> {
        self.get_record(Column::Nodes, &id.to_bytes())
    }
}
