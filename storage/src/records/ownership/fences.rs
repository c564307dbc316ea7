//! What a batch expects of the owner records of its namespaces.

use std::collections::HashMap;

use parking_lot::RwLock;

use crate::error::{Error, Result};
use crate::identity::{NamespaceId, NamespaceKey};
use crate::key_value::{Batch, Column};

/// Whether this build respects the ownership of namespaces: batches expect the owner records, and reads end with the
/// session. The feature `unfenced` turns it off, for the fault campaign only: a run of such a build must lose or mix up
/// data, which shows that the campaign would notice.
pub const FENCED: bool = !cfg!(feature = "unfenced");

/// Under which claims this process may change namespaces.
pub(crate) enum Fences {
    /// The process is the only one with the database. Batches expect nothing.
    Alone,
    /// The process shares the database. The owner records of the namespaces that it claimed, as they are stored.
    Shared(RwLock<HashMap<NamespaceId, Vec<u8>>>),
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
            Some(record) => Held::Under(record.clone()),
            None => Held::Nothing,
        }
    }

    /// Whether this process holds a namespace, as far as it knows.
    pub(super) fn holds(&self, namespace: NamespaceId) -> bool {
        match self {
            Self::Alone => true,
            Self::Shared(held) => held.read().contains_key(&namespace),
        }
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
            held.write().insert(namespace, record);
        }
    }

    /// Forgets a claim, whose record is returned.
    pub(crate) fn drop_hold(&self, namespace: NamespaceId) -> Option<Vec<u8>> {
        match self {
            Self::Alone => None,
            Self::Shared(held) => held.write().remove(&namespace),
        }
    }

    /// Forgets all claims.
    pub(super) fn drop_all(&self) {
        if let Self::Shared(held) = self {
            held.write().clear();
        }
    }
}
