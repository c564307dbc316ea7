//! What a batch expects of the owner records of its namespaces.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;

use crate::error::{Error, Result};
use crate::identity::{NamespaceId, NamespaceKey};
use crate::key_value::{Batch, Column};

/// Whether this build respects the ownership of namespaces: batches expect the owner records, reads end with the session,
/// and a node that was declared dead learns it by its next renewal.
///
/// The feature `unfenced` turns it off, for the fault campaign only: a run of such a build must lose or mix up data, which
/// shows that the campaign would notice.
pub const FENCED: bool = !cfg!(feature = "unfenced");

/// Under which claims this process may change namespaces.
pub(crate) enum Fences {
    /// The process is the only one with the database. Batches expect nothing.
    Alone,
    /// The process shares the database. The namespaces that it claimed.
    Shared(RwLock<HashMap<NamespaceId, ClaimedNamespace>>),
}

/// A namespace that this process claimed.
pub(crate) struct ClaimedNamespace {
    /// The owner record as it is stored.
    record: Vec<u8>,
    /// Whether the namespace was used since [`Fences::take_unused`] was called last.
    is_used: AtomicBool,
}

/// What a process holds of a namespace.
pub(super) enum Held {
    /// Everything, as nobody else has the database.
    All,
    /// The namespace, under this owner record.
    Under(Vec<u8>),
    /// Not this namespace.
    Nothing,
}

impl Fences {
    /// The fences of a process that shares the database and has claimed nothing.
    pub(crate) fn shared() -> Self {
        Self::Shared(RwLock::default())
    }

    /// What this process holds of a namespace, as far as it knows.
    pub(super) fn record(&self, namespace: NamespaceId) -> Held {
        let Self::Shared(held) = self else { return Held::All };
        match held.read().get(&namespace) {
            Some(claimed) => {
                claimed.is_used.store(true, Ordering::Relaxed);
                Held::Under(claimed.record.clone())
            }
            None => Held::Nothing,
        }
    }

    /// Whether this process holds a namespace, as far as it knows.
    pub(super) fn holds(&self, namespace: NamespaceId) -> bool {
        match self {
            Self::Alone => true,
            Self::Shared(held) => match held.read().get(&namespace) {
                Some(claimed) => {
                    claimed.is_used.store(true, Ordering::Relaxed);
                    true
                }
                None => false,
            },
        }
    }

    /// Returns the claimed namespaces that were not used since the last call of this function. A claim is a use.
    pub(super) fn take_unused(&self) -> Vec<NamespaceId> {
        let Self::Shared(held) = self else { return Vec::new() };
        let mut unused = Vec::new();
        for (namespace, claimed) in held.read().iter() {
            if !claimed.is_used.swap(false, Ordering::Relaxed) {
                unused.push(*namespace);
            }
        }
        unused
    }

    /// The namespaces that this process claimed.
    pub(super) fn owned(&self) -> Vec<NamespaceId> {
        match self {
            Self::Alone => Vec::new(),
            Self::Shared(held) => held.read().keys().copied().collect(),
        }
    }

    /// Makes a batch expect that this process still owns a namespace.
    ///
    /// # Errors
    /// [`Error::NotOwner`] if it does not own the namespace as far as it knows.
    pub(crate) fn expect_held(&self, batch: &mut Batch, namespace: &NamespaceKey) -> Result<()> {
        if self.expect_if_held(batch, namespace.id) { Ok(()) } else { Err(Error::NotOwner(namespace.clone())) }
    }

    /// Makes a batch expect that this process still owns a namespace, if it owns the namespace as far as it knows.
    /// Returns whether it does.
    pub(crate) fn expect_if_held(&self, batch: &mut Batch, namespace: NamespaceId) -> bool {
        match self.record(namespace) {
            Held::All => true,
            Held::Under(record) => {
                if FENCED {
                    batch.expect(Column::Owners, namespace.to_bytes(), Some(record));
                }
                true
            }
            Held::Nothing => false,
        }
    }

    /// The beginnings of the keys of all namespaces that this process holds as far as it knows. An empty one stands for
    /// all keys.
    pub(crate) fn held_prefixes(&self) -> Vec<Vec<u8>> {
        let Self::Shared(held) = self else { return vec![Vec::new()] };
        let mut prefixes = Vec::new();
        for namespace in held.read().keys() {
            prefixes.push(namespace.to_bytes().to_vec());
        }
        prefixes
    }

    /// Remembers a claim.
    pub(super) fn hold(&self, namespace: NamespaceId, record: Vec<u8>) {
        if let Self::Shared(held) = self {
            held.write().insert(namespace, ClaimedNamespace { record, is_used: AtomicBool::new(true) });
        }
    }

    /// Forgets a claim, whose record is returned.
    pub(crate) fn drop_hold(&self, namespace: NamespaceId) -> Option<Vec<u8>> {
        match self {
            Self::Alone => None,
            Self::Shared(held) => held.write().remove(&namespace).map(|claimed| claimed.record),
        }
    }

    /// Forgets all claims.
    pub(super) fn drop_all(&self) {
        if let Self::Shared(held) = self {
            held.write().clear();
        }
    }
}
