//! Finding nodes that are dead.

use std::collections::BTreeMap;
use std::time::Instant;

use super::SESSION_TTL;
use super::node_id::NodeId;
use crate::error::{Error, Result};
use crate::key_value::{Batch, Column, Durability};
use crate::records::Store;

/// The records of all nodes at one time, as they are stored.
pub struct NodeRows(Vec<(NodeId, Vec<u8>)>);

impl Store {
    /// Reads the records of all nodes, for [`NodeWatch::observe`].
    pub fn node_rows(&self) -> Result<NodeRows> {
        let mut rows = Vec::new();
        for (key, bytes) in self.kv.scan(Column::Nodes, b"", None, usize::MAX)? {
            if let Some(id) = NodeId::of_key(&key) {
                rows.push((id, bytes));
            }
        }
        Ok(NodeRows(rows))
    }
}

/// What one node has seen of the records of all nodes.
#[derive(Default)]
pub struct NodeWatch {
    seen: BTreeMap<NodeId, Seen>,
    /// Time of the last observation.
    last: Option<Instant>,
}

/// A record as it was seen first.
struct Seen {
    bytes: Vec<u8>,
    since: Instant,
}

impl NodeWatch {
    /// A watch that has seen nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes note of the records, and declares those nodes dead whose record is unchanged since [`SESSION_TTL`]. `now`
    /// is a time after the records were read: an earlier one could precede the renewal that they show. Returns the nodes
    /// that had a session at the last observation and have none now.
    ///
    /// A pause between two observations of more than [`SESSION_TTL`] does not count, since nobody could renew a session
    /// if the database could not be reached.
    pub fn observe(&mut self, store: &Store, rows: NodeRows, now: Instant) -> Result<Vec<NodeId>> {
        let was_observed = self.last.is_some_and(|last| now.saturating_duration_since(last) <= SESSION_TTL);
        self.last = Some(now);
        let mut current = BTreeMap::new();
        let mut unchanged = Vec::new();
        for (id, bytes) in rows.0 {
            let since = match self.seen.get(&id) {
                Some(seen) if was_observed && seen.bytes == bytes => seen.since,
                _ => now,
            };
            if now.saturating_duration_since(since) >= SESSION_TTL {
                unchanged.push((id, bytes.clone()));
            }
            current.insert(id, Seen { bytes, since });
        }
        for (id, bytes) in unchanged {
            if declare_dead(store, id, bytes)? {
                current.remove(&id);
            }
        }
        let mut dead = Vec::new();
        for id in self.seen.keys() {
            if !current.contains_key(id) {
                dead.push(*id);
            }
        }
        self.seen = current;
        Ok(dead)
    }
}

/// Deletes the record of a node, if it is still as it was seen. Returns whether the node is dead.
fn declare_dead(store: &Store, id: NodeId, seen: Vec<u8>) -> Result<bool> {
    let mut batch = Batch::new();
    batch.expect(Column::Nodes, id.to_bytes(), Some(seen));
    batch.delete(Column::Nodes, id.to_bytes());
    match store.kv.write(&batch, Durability::Synced) {
        Ok(()) => Ok(true),
        // The node renewed its session, or somebody else declared it dead. The next observation tells.
        Err(Error::ConditionFailed { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
