//! Whether the memories of a write have the vectors of a model that computes them in the background.

use std::sync::Arc;

use cuebase_storage::AccountId;

use super::reads::Reads;
use super::writes::{VectorState, Write, WriteStatus};
use crate::error::{Error, Result};
use crate::namespace::backlog::Backlog;

impl Reads {
    /// Sets whether the memories of a write have their vectors.
    pub fn add_vector_state(&self, account: &AccountId, write: &mut Write) -> Result<()> {
        if self.models.current().model().is_deferred() {
            write.vectors = self.vector_state(account, write)?;
        }
        Ok(())
    }

    /// Returns how many memories of an account wait for vectors.
    pub fn vectors_waiting(&self, account: &AccountId) -> Result<Option<u64>> {
        if !self.models.current().model().is_deferred() {
            return Ok(None);
        }
        let mut waiting = 0;
        for (key, _) in self.backlog().list() {
            if key.account != *account {
                continue;
            }
            if let Some(record) = self.store.namespace(account, &key.name)? {
                // If none waits, all of them get the vectors of another model.
                waiting += if record.waiting > 0 { record.waiting } else { record.memories };
            }
        }
        Ok(Some(waiting))
    }

    /// Returns the namespaces that need vectors.
    pub fn backlog(&self) -> &Arc<Backlog> {
        self.namespaces.backlog()
    }

    fn vector_state(&self, account: &AccountId, write: &Write) -> Result<Option<VectorState>> {
        match write.status {
            WriteStatus::Queued | WriteStatus::Ingesting | WriteStatus::Retrying => Ok(Some(VectorState::Pending)),
            WriteStatus::Dead | WriteStatus::Dropped => Ok(None),
            WriteStatus::Ingested => match self.await_vectors(account, write) {
                Ok(true) => Ok(Some(VectorState::Pending)),
                Ok(false) => Ok(Some(VectorState::Done)),
                Err(Error::NamespaceGone | Error::NotFound { .. }) => Ok(None),
                Err(Error::NotOwner(_) | Error::Elsewhere { .. }) => self.recorded_vector_state(account, write),
                Err(error) => Err(error),
            },
        }
    }

    /// Returns the state of a write to a namespace that another node owns, as far as the record tells it: whether any memory
    /// of the namespace waits.
    fn recorded_vector_state(&self, account: &AccountId, write: &Write) -> Result<Option<VectorState>> {
        match self.store.namespace(account, &write.namespace)? {
            Some(record) if record.waiting > 0 => Ok(Some(VectorState::Pending)),
            Some(_) => Ok(Some(VectorState::Done)),
            None => Ok(None),
        }
    }

    /// Whether memories of an ingested write await vectors.
    fn await_vectors(&self, account: &AccountId, write: &Write) -> Result<bool> {
        let lease = self.namespaces.lease(account, &write.namespace)?;
        if lease.id() != write.namespace_id {
            return Err(Error::NamespaceGone);
        }
        let changed = write.changes.made.iter().chain(&write.changes.rewritten);
        let snapshot = lease.snapshot();
        let is_outdated = snapshot.model() != self.models.current().model().identity();
        Ok(is_outdated || snapshot.any_waits(changed.map(String::as_str)))
    }
}
