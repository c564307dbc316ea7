//! The id of a node: one start of a process that shares the database with others.

use std::fmt;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

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
