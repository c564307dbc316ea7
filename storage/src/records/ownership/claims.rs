//! Claiming and releasing namespaces.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::fences::{Fences, Held};
use super::node::NodeRecord;
use super::node_id::NodeId;
use crate::error::{Error, Result};
use crate::identity::{NamespaceId, NamespaceKey};
use crate::key_value::{Batch, Column, Durability};
use crate::records::Store;
use crate::records::store::{decode, encode};

/// Entries that a scan of all owners reads at a time.
const PAGE_ENTRIES: usize = 10_000;

/// Who owns a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::records) struct OwnerRecord {
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

/// The result of a claim after which nothing is written yet.
#[derive(Debug)]
pub enum PreparedClaim {
    /// This node owns the namespace, and can write to it after [`Store::begin_writes`].
    Held(OwnerClaim),
    /// Another node does, and is not known to be dead.
    OwnedBy(NodeId, NodeRecord),
    /// The namespace was deleted.
    Gone,
}

/// The ownership of a namespace to which this node does not write yet. Nobody else can write to it either, so what is
/// read now stays as it is.
#[derive(Debug)]
#[must_use = "nothing can be written to the namespace before the claim is given to `begin_writes`"]
pub struct OwnerClaim {
    namespace: NamespaceId,
    /// The owner record as it is stored.
    record: Vec<u8>,
}

/// One claim of a namespace. No two claims have equal marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimMark(Vec<u8>);

impl Store {
    /// Claims a namespace for this node, unless another node that has a session owns it. Durable on return. Writes can
    /// begin at once.
    ///
    /// # Errors
    /// [`Error::Engine`] if the outcome is unknown. The claim can be repeated.
    pub fn claim(&self, node: NodeId, namespace: &NamespaceKey) -> Result<Claim> {
        Ok(match self.prepare_claim(node, namespace)? {
            PreparedClaim::Held(claim) => {
                self.begin_writes(claim);
                Claim::Held
            }
            PreparedClaim::OwnedBy(owner, record) => Claim::OwnedBy(owner, record),
            PreparedClaim::Gone => Claim::Gone,
        })
    }

    /// Claims a namespace like [`Self::claim`]. Until the claim is given to [`Self::begin_writes`], nobody writes to the
    /// namespace, so the caller can read what the former owner left.
    ///
    /// # Errors
    /// As [`Self::claim`]. [`Error::Corrupt`] if the owner record cannot be decoded: another node may own the namespace.
    /// [`Error::NotOwner`] if the record of the owner's node cannot be decoded.
    pub fn prepare_claim(&self, node: NodeId, namespace: &NamespaceKey) -> Result<PreparedClaim> {
        let key = namespace.id.to_bytes();
        loop {
            if !self.is_live(namespace.id)? {
                return Ok(PreparedClaim::Gone);
            }
            let stored = self.kv.get(Column::Owners, &key)?;
            let former: Option<OwnerRecord> = match &stored {
                Some(bytes) => Some(decode(Column::Owners, bytes)?),
                None => None,
            };
            let owner = former.as_ref().and_then(|record| record.node);
            // A claim or a release whose answer was lost leaves this node as the owner. It claims again, so that a release
            // or a batch under the former claim that comes late fails.
            if let Some(owner) = owner
                && owner != node
                && let Some(record) = self.session_of_owner(owner, namespace)?
            {
                return Ok(PreparedClaim::OwnedBy(owner, record));
            }
            // Another former owner has no session. It cannot get one again, so this need not be a condition.
            let epoch = former.map_or(0, |record| record.epoch) + 1;
            let record = encode(&OwnerRecord { node: Some(node), epoch })?;
            let mut batch = Batch::new();
            batch.expect(Column::LiveNamespaces, key, Some(Vec::new()));
            batch.expect(Column::Owners, key, stored);
            batch.put(Column::Owners, key, record.clone());
            match self.kv.write(&batch, Durability::Synced) {
                Ok(()) => return Ok(PreparedClaim::Held(OwnerClaim { namespace: namespace.id, record })),
                // Somebody else was first, or the namespace was deleted. The next round tells.
                Err(Error::ConditionFailed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the record of a node that owns a namespace. `None` if the node has no session.
    ///
    /// # Errors
    /// [`Error::NotOwner`] if the record cannot be decoded: the node has a session, but its address is unknown.
    fn session_of_owner(&self, owner: NodeId, namespace: &NamespaceKey) -> Result<Option<NodeRecord>> {
        match self.node(owner) {
            Err(error @ Error::Corrupt { .. }) => {
                tracing::error!(%error, node = %owner, "cannot decode the record of a node");
                Err(Error::NotOwner(namespace.clone()))
            }
            found => found,
        }
    }

    /// Begins to write to a claimed namespace.
    pub fn begin_writes(&self, claim: OwnerClaim) {
        // Another node may have assigned ids since this one owned the namespace.
        self.newest_ids.lock().remove(&claim.namespace);
        self.fences.hold(claim.namespace, claim.record);
    }

    /// Whether this process may write to a namespace, as far as it knows. Reads no record.
    ///
    /// # Errors
    /// [`Error::NotOwner`] if it does not own the namespace.
    pub fn require_owned(&self, namespace: &NamespaceKey) -> Result<()> {
        if self.fences.holds(namespace.id) { Ok(()) } else { Err(Error::NotOwner(namespace.clone())) }
    }

    /// Returns the claim under which this process owns a namespace. A later claim differs from it. `None` if the process
    /// shares the database with nobody.
    ///
    /// # Errors
    /// [`Error::NotOwner`] if the process does not own the namespace, as far as it knows.
    pub fn current_claim(&self, namespace: &NamespaceKey) -> Result<Option<ClaimMark>> {
        match self.fences.record(namespace.id) {
            Held::All => Ok(None),
            Held::Under(record) => Ok(Some(ClaimMark(record))),
            Held::Nothing => Err(Error::NotOwner(namespace.clone())),
        }
    }

    /// Whether the process shares the database with others.
    pub fn is_shared(&self) -> bool {
        matches!(self.fences, Fences::Shared(_))
    }

    /// Returns the namespaces that this process owns; none if it shares the database with nobody.
    pub fn owned_namespaces(&self) -> Vec<NamespaceId> {
        self.fences.owned()
    }

    /// Returns the namespaces that this process owns and did not use since the last call of this function. It uses one by
    /// a claim, by a batch, and by the question whether it owns the namespace.
    pub fn unused_namespaces(&self) -> Vec<NamespaceId> {
        self.fences.take_unused()
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
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the owner record, or the record of the owner's node, cannot be decoded.
    pub fn owner(&self, namespace: NamespaceId) -> Result<Option<(NodeId, NodeRecord)>> {
        let record: Option<OwnerRecord> = self.get_record(Column::Owners, &namespace.to_bytes())?;
        let Some(owner) = record.and_then(|record| record.node) else { return Ok(None) };
        let node = self.node(owner)?;
        Ok(node.map(|record| (owner, record)))
    }

    /// Returns how many namespaces each node owns. Reads the owner of every namespace. A node that ended without
    /// releasing a namespace is counted until another node claims it. Logs and omits owners that cannot be decoded.
    pub fn owner_counts(&self) -> Result<BTreeMap<NodeId, usize>> {
        let mut counts = BTreeMap::new();
        let mut after: Option<Vec<u8>> = None;
        loop {
            let page = self.kv.scan(Column::Owners, b"", after.as_deref(), PAGE_ENTRIES)?;
            let Some((last, _)) = page.last() else { return Ok(counts) };
            after = Some(last.clone());
            for (key, value) in page {
                if let Some(record) = readable_owner(&key, &value)
                    && let Some(node) = record.node
                {
                    *counts.entry(node).or_insert(0) += 1;
                }
            }
        }
    }

    /// Returns the number of namespaces whose owner has no session any more. Any node can claim them. Logs and omits owners
    /// that cannot be decoded.
    pub fn stale_owners(&self) -> Result<u64> {
        let mut live = BTreeSet::new();
        for (id, _) in self.sessions()? {
            live.insert(id);
        }
        let mut stale = 0;
        for entry in self.kv.read_all(Column::Owners) {
            let (key, value) = entry?;
            if let Some(record) = readable_owner(&key, &value)
                && let Some(node) = record.node
            {
                stale += u64::from(!live.contains(&node));
            }
        }
        Ok(stale)
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

/// Decodes the owner record of a namespace. Logs one that cannot be decoded.
fn readable_owner(key: &[u8], value: &[u8]) -> Option<OwnerRecord> {
    match decode(Column::Owners, value) {
        Ok(record) => Some(record),
        Err(error) => {
            let namespace = NamespaceId::at_start_of(key).map(|id| id.to_string());
            tracing::error!(%error, namespace, "cannot decode the owner of a namespace, which is unavailable");
            None
        }
    }
}
