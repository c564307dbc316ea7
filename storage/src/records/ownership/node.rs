//! A node: one start of a process that shares the database with others.

use std::fmt;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use crate::error::Result;
use crate::key_value::Column;
use crate::records::Store;
use crate::records::store::decode;

/// The id of a node. Every start of a process has a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(Ulid);

impl NodeId {
    /// A new id.
    pub fn generate() -> Self {
        Self(Ulid::generate())
    }

    /// The key of the node's record.
    pub(in crate::records) fn to_bytes(self) -> [u8; 16] {
        self.0.to_bytes()
    }

    /// The id in a key. `None` if the key has another length.
    pub(in crate::records) fn of_key(key: &[u8]) -> Option<Self> {
        let bytes = key.try_into().ok()?;
        Some(Self(Ulid::from_bytes(bytes)))
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

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
