//! Whether the memories of a write have the vectors of a model that computes them in the background.

use std::sync::Arc;

use cuebase_retrieval::Index;
use cuebase_storage::records::NamespaceRecord;
use cuebase_storage::{AccountId, NamespaceId, NamespaceName, Store};
use strum::IntoStaticStr;
use tokio::sync::futures::Notified;

use super::shared_parts::SharedParts;
use crate::error::{Error, Result};
use crate::model::{Models, StaticTable};
use crate::namespace::backlog::Backlog;
use crate::namespace::registry::Namespaces;

/// Whether the memories of a write have their vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum VectorState {
    /// At least one waits for its vectors, or the write for its ingestion.
    Pending,
    /// All of them have their vectors.
    Done,
}

impl VectorState {
    /// Returns the name of the state.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Knows which memories wait for their vectors.
pub struct WriteVectors {
    store: Arc<Store>,
    namespaces: Arc<Namespaces>,
    models: Arc<Models>,
    backlog: Arc<Backlog>,
}

impl WriteVectors {
    /// Makes the part of an open data directory.
    pub(super) fn new(shared: &SharedParts) -> Self {
        Self {
            store: Arc::clone(&shared.store),
            namespaces: Arc::clone(&shared.namespaces),
            models: Arc::clone(&shared.models),
            backlog: Arc::clone(&shared.backlog),
        }
    }

    /// Returns how many memories of an account wait for vectors, or for those of another model. `None` if there are none, and
    /// vectors do not follow in the background.
    pub fn waiting(&self, account: &AccountId) -> Result<Option<u64>> {
        let mut waiting = 0;
        for (key, _) in self.backlog.list() {
            if key.account != *account {
                continue;
            }
            if let Some(record) = self.store.namespace(account, &key.name)? {
                waiting += if self.is_outdated(&record) { record.memories } else { record.waiting };
            }
        }
        Ok(if waiting > 0 || self.are_deferred() { Some(waiting) } else { None })
    }

    /// Returns how many memories of a namespace wait for vectors that follow in the background.
    pub fn waiting_in(&self, account: &AccountId, namespace: &NamespaceName) -> Result<u64> {
        if !self.are_deferred() {
            return Ok(0);
        }
        Ok(self.store.namespace(account, namespace)?.map_or(0, |record| record.waiting))
    }

    /// Waits until memories of any namespace get their vectors.
    pub fn next_indexed(&self) -> Notified<'_> {
        self.backlog.next_indexed()
    }

    /// Wakes all callers of [`Self::next_indexed`], although no memory got its vectors.
    pub(super) fn wake_all(&self) {
        self.backlog.notify_indexed();
    }

    /// Whether the index of a namespace has the vectors of another model.
    fn is_outdated(&self, record: &NamespaceRecord) -> bool {
        let Ok(table) = StaticTable::built_in() else { return false };
        match Index::settings_of(&self.namespaces.index_path(record), table) {
            Some(settings) => settings.model != self.models.current().model().identity(),
            None => false,
        }
    }

    /// Whether the vectors of the embedding model follow in the background.
    pub(super) fn are_deferred(&self) -> bool {
        self.models.current().model().is_deferred()
    }

    /// Returns whether the memories at the paths that an ingested write changed have their vectors. `None` if its namespace
    /// was deleted.
    pub(super) fn state_of(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        id: NamespaceId,
        paths: &[&str],
    ) -> Result<Option<VectorState>> {
        match self.await_vectors(account, namespace, id, paths) {
            Ok(true) => Ok(Some(VectorState::Pending)),
            Ok(false) => Ok(Some(VectorState::Done)),
            Err(Error::NamespaceGone | Error::NotFound { .. }) => Ok(None),
            Err(Error::NotOwner(_) | Error::Elsewhere { .. }) => self.recorded_state(account, namespace),
            Err(error) => Err(error),
        }
    }

    /// Returns the state of a write to a namespace that another node owns, as far as the record tells it: whether any memory
    /// of the namespace waits.
    fn recorded_state(&self, account: &AccountId, namespace: &NamespaceName) -> Result<Option<VectorState>> {
        match self.store.namespace(account, namespace)? {
            Some(record) if record.waiting > 0 => Ok(Some(VectorState::Pending)),
            Some(_) => Ok(Some(VectorState::Done)),
            None => Ok(None),
        }
    }

    /// Whether memories of a namespace await vectors: those of the model that its index has, until a change of the model is
    /// complete.
    fn await_vectors(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        id: NamespaceId,
        paths: &[&str],
    ) -> Result<bool> {
        let lease = self.namespaces.lease(account, namespace)?;
        if lease.id() != id {
            return Err(Error::NamespaceGone);
        }
        Ok(lease.snapshot().any_waits(paths.iter().copied()))
    }
}
