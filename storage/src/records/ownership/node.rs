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
    /// Returns the nodes that have a session, by id. Some may be dead without having been declared so. Omits nodes whose
    /// record cannot be decoded; [`Self::sessions`] returns these too.
    pub fn nodes(&self) -> Result<Vec<(NodeId, NodeRecord)>> {
        let mut nodes = Vec::new();
        for (id, record) in self.sessions()? {
            if let Some(record) = record {
                nodes.push((id, record));
            }
        }
        Ok(nodes)
    }

    /// Returns the ids of all nodes that have a session, in order, with their records. A record that cannot be decoded is
    /// logged and `None`. Its node replaces it at the next renewal; otherwise the node is declared dead.
    pub fn sessions(&self) -> Result<Vec<(NodeId, Option<NodeRecord>)>> {
        let mut sessions = Vec::new();
        for (key, value) in self.kv.scan(Column::Nodes, b"", None, usize::MAX)? {
            let Some(id) = NodeId::of_key(&key) else { continue };
            match decode(Column::Nodes, &value) {
                Ok(record) => sessions.push((id, Some(record))),
                Err(error) => {
                    tracing::error!(%error, node = %id, "cannot decode the record of a node");
                    sessions.push((id, None));
                }
            }
        }
        Ok(sessions)
    }

    /// Whether a node has a session. Does not decode its record.
    pub(in crate::records) fn has_session(&self, id: NodeId) -> Result<bool> {
        Ok(self.kv.get(Column::Nodes, &id.to_bytes())?.is_some())
    }

    /// Returns a node that has a session. `None` if the node ended or was declared dead.
    pub fn node(&self, id: NodeId) -> Result<Option<NodeRecord>> {
        self.get_record(Column::Nodes, &id.to_bytes())
    }
}
