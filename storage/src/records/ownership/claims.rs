//! Claiming and releasing namespaces.

use serde::{Deserialize, Serialize};

use super::fences::Held;
use super::node::{NodeId, NodeRecord};
use crate::error::{Error, Result};
use crate::identity::{NamespaceId, NamespaceKey};
use crate::key_value::{Batch, Column, Durability};
use crate::records::Store;
use crate::records::store::{decode, encode};

/// Who owns a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OwnerRecord {
    /// The owner. `None` after it released the namespace.
    node: Option<NodeId>,
    /// Number of claims so far.
    epoch: u64,
}

/// The result of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// This node owns the namespace.
    Held,
    /// Another node does, and is not known to be dead.
    OwnedBy(NodeId, NodeRecord),
    /// The namespace was deleted.
    Gone,
}

impl Store {
    /// Claims a namespace for this node, unless another node that has a session owns it. Durable on return.
    ///
    /// # Errors
    /// [`Error::Engine`] if the outcome is unknown. The claim can be repeated.
    pub fn claim(&self, node: NodeId, namespace: &NamespaceKey) -> Result<Claim> {
        let key = namespace.id.to_bytes();
        loop {
            if !self.is_live(namespace.id)? {
                return Ok(Claim::Gone);
            }
            let stored = self.kv.get(Column::Owners, &key)?;
            let former: Option<OwnerRecord> = match &stored {
                Some(bytes) => Some(decode(Column::Owners, bytes)?),
                None => None,
            };
            let owner = former.as_ref().and_then(|record| record.node);
            // A claim whose answer was lost leaves this node as the owner.
            if let (Some(owner), Some(bytes)) = (owner, &stored)
                && owner == node
            {
                self.fences.hold(namespace.id, bytes.clone());
                return Ok(Claim::Held);
            }
            if let Some(owner) = owner
                && let Some(record) = self.node(owner)?
            {
                return Ok(Claim::OwnedBy(owner, record));
            }
            // The former owner has no session. It cannot get one again, so this need not be a condition.
            let epoch = former.map_or(0, |record| record.epoch) + 1;
            let bytes = encode(&OwnerRecord { node: Some(node), epoch })?;
            let mut batch = Batch::new();
            batch.expect(Column::LiveNamespaces, key, Some(Vec::new()));
            batch.expect(Column::Owners, key, stored);
            batch.put(Column::Owners, key, bytes.clone());
            match self.kv.write(&batch, Durability::Synced) {
                Ok(()) => {
                    self.fences.hold(namespace.id, bytes);
                    return Ok(Claim::Held);
                }
                // Somebody else was first, or the namespace was deleted. The next round tells.
                Err(Error::ConditionFailed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives a namespace up, so that any node can claim it. Nothing of the namespace is written by this node from the
    /// beginning of the call on, even if it fails.
    ///
    /// # Errors
    /// [`Error::Engine`] if the record cannot be written. The namespace can then be claimed once this node has ended.
    pub fn release(&self, namespace: NamespaceId) -> Result<()> {
        let Some(held) = self.fences.drop_hold(namespace) else { return Ok(()) };
        let record: OwnerRecord = decode(Column::Owners, &held)?;
        let key = namespace.to_bytes();
        let mut batch = Batch::new();
        batch.expect(Column::Owners, key, Some(held));
        batch.put(Column::Owners, key, encode(&OwnerRecord { node: None, epoch: record.epoch })?);
        match self.kv.write(&batch, Durability::Synced) {
            // The namespace was deleted, or has another owner already.
            Ok(()) | Err(Error::ConditionFailed { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns the owner of a namespace. `None` if it was never claimed, was released, or its owner has no session.
    pub fn owner(&self, namespace: NamespaceId) -> Result<Option<(NodeId, NodeRecord)>> {
        let record: Option<OwnerRecord> = self.get_record(Column::Owners, &namespace.to_bytes())?;
        let Some(owner) = record.and_then(|record| record.node) else { return Ok(None) };
        let node = self.node(owner)?;
        Ok(node.map(|record| (owner, record)))
    }

    /// Whether this process still owns a namespace that it claimed. A process that shares the database with nobody owns
    /// all.
    pub(in crate::records) fn is_held(&self, namespace: NamespaceId) -> Result<bool> {
        match self.fences.record(namespace) {
            Held::All => Ok(true),
            Held::Nothing => Ok(false),
            Held::Under(record) => Ok(self.kv.get(Column::Owners, &namespace.to_bytes())? == Some(record)),
        }
    }

    /// Stops writing to all namespaces, as after the end of the session.
    pub fn forget_claims(&self) {
        self.fences.drop_all();
    }
}
