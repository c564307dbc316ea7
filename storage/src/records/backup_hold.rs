//! The hold of a backup of several nodes: while it lasts, no node deletes an object that the backup may copy.
//!
//! A backup writes its hold and then takes a snapshot of the records. It copies the objects that the snapshot names.
//! What deletes objects keeps to this order, so no lock is needed:
//!
//! - The batch that begins the deletion of a namespace or an erasure expects that the hold is absent. Either it precedes
//!   the hold, and the snapshot shows it, or it fails.
//! - A sweep that found objects without a record looks for a hold before it deletes them. If it finds none, the snapshot
//!   of a later backup lacks their records too.
//!
//! A hold ends with the session of its node, so no clock is compared and a crash leaves none for long.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::ownership::NodeId;
use super::store::{Store, decode, encode};
use crate::error::{Error, Result};
use crate::key_value::{Batch, Column, Durability};

/// Key in [`Column::Meta`]: the hold of the backup in progress.
const HOLD_KEY: &[u8] = b"cluster-backup";

#[derive(Debug, Serialize, Deserialize)]
struct HoldRecord {
    /// Another one for each backup.
    id: Ulid,
    /// The node that makes the backup.
    node: NodeId,
}

/// The hold of a backup that this process makes. Dropping it ends the hold.
pub struct BackupHold {
    store: Arc<Store>,
    node: NodeId,
    /// The record as it is stored.
    record: Vec<u8>,
}

impl BackupHold {
    /// Begins a backup by a node that has a session.
    ///
    /// # Errors
    /// [`Error::BackupInProgress`] if another backup is in progress.
    pub fn begin(store: &Arc<Store>, node: NodeId) -> Result<Self> {
        store.release_abandoned_hold()?;
        let record = encode(&HoldRecord { id: Ulid::generate(), node })?;
        loop {
            let stored = store.kv.get(Column::Meta, HOLD_KEY)?;
            if store.is_hold_live(stored.as_deref())? {
                return Err(Error::BackupInProgress);
            }
            let mut batch = Batch::new();
            batch.expect(Column::Meta, HOLD_KEY, stored);
            batch.put(Column::Meta, HOLD_KEY, record.clone());
            match store.kv.write(&batch, Durability::Synced) {
                Ok(()) => return Ok(Self { store: Arc::clone(store), node, record }),
                // Another backup was first.
                Err(Error::ConditionFailed { .. }) => {}
                Err(error) => {
                    // It may have been written.
                    *store.abandoned_hold.lock() = Some(record);
                    return Err(error);
                }
            }
        }
    }

    /// Checks that nothing that the backup copies was deleted since its beginning.
    ///
    /// # Errors
    /// [`Error::SessionEnded`] if other nodes declared the node of the backup dead, so that the hold has ended.
    pub fn require_held(&self) -> Result<()> {
        let is_stored = self.store.kv.get(Column::Meta, HOLD_KEY)?.as_ref() == Some(&self.record);
        if is_stored && self.store.has_session(self.node)? { Ok(()) } else { Err(Error::SessionEnded) }
    }
}

impl Drop for BackupHold {
    fn drop(&mut self) {
        if let Err(error) = self.store.release_hold(&self.record) {
            tracing::warn!(%error, "the hold of a backup could not be released; the next sweep tries again");
            *self.store.abandoned_hold.lock() = Some(self.record.clone());
        }
    }
}

impl Store {
    /// Whether a backup of several nodes is in progress. Always false in a data directory, where the server keeps backups
    /// and deletions apart.
    pub fn is_backup_in_progress(&self) -> Result<bool> {
        if !self.is_shared() {
            return Ok(false);
        }
        let stored = self.kv.get(Column::Meta, HOLD_KEY)?;
        self.is_hold_live(stored.as_deref())
    }

    /// Fails if a backup of several nodes is in progress.
    ///
    /// # Errors
    /// [`Error::BackupInProgress`].
    pub fn require_no_backup(&self) -> Result<()> {
        if self.is_backup_in_progress()? { Err(Error::BackupInProgress) } else { Ok(()) }
    }

    /// Makes a batch expect that no backup of several nodes is in progress. The batch has no other condition on
    /// [`Column::Meta`].
    ///
    /// # Errors
    /// [`Error::BackupInProgress`] if one is.
    pub(super) fn expect_no_backup(&self, changes: &mut Batch) -> Result<()> {
        if !self.is_shared() {
            return Ok(());
        }
        let stored = self.kv.get(Column::Meta, HOLD_KEY)?;
        if self.is_hold_live(stored.as_deref())? {
            return Err(Error::BackupInProgress);
        }
        // A hold that has ended stays as it is, or is replaced by that of another backup.
        changes.expect(Column::Meta, HOLD_KEY, stored);
        Ok(())
    }

    /// Ends a hold of this process that could not be released after its backup.
    pub fn release_abandoned_hold(&self) -> Result<()> {
        let Some(record) = self.abandoned_hold.lock().clone() else { return Ok(()) };
        self.release_hold(&record)?;
        *self.abandoned_hold.lock() = None;
        Ok(())
    }

    /// Whether the node of a hold has a session.
    fn is_hold_live(&self, stored: Option<&[u8]>) -> Result<bool> {
        let Some(stored) = stored else { return Ok(false) };
        let hold: HoldRecord = decode(Column::Meta, stored)?;
        self.has_session(hold.node)
    }

    fn release_hold(&self, record: &[u8]) -> Result<()> {
        let mut batch = Batch::new();
        batch.expect(Column::Meta, HOLD_KEY, Some(record.to_vec()));
        batch.delete(Column::Meta, HOLD_KEY);
        match self.kv.write(&batch, Durability::Synced) {
            // It has ended already.
            Ok(()) | Err(Error::ConditionFailed { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Returns the error of a batch that expected that no backup is in progress.
pub(super) fn explained(error: Error) -> Error {
    match error {
        Error::ConditionFailed { column: Column::Meta, .. } => Error::BackupInProgress,
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::identity::{AccountId, NamespaceId, NamespaceName};
    use crate::key_value::{Engine, MemoryEngine};
    use crate::records::ownership::{NodeSession, NodeWatch, SESSION_TTL};
    use crate::records::{ErasureRecord, NamespaceRecord};

    /// Two nodes on one database.
    struct Nodes {
        first: Arc<Store>,
        second: Arc<Store>,
        session: NodeSession,
    }

    impl Nodes {
        fn start() -> Self {
            let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
            let first = Arc::new(Store::open_shared(Arc::clone(&engine)).expect("opens"));
            let second = Arc::new(Store::open_shared(engine).expect("opens"));
            let session = NodeSession::begin(&first, "first:1", "1.0.0", Instant::now()).expect("begins");
            Self { first, second, session }
        }

        /// A namespace of the second node.
        fn namespace(&self) -> NamespaceRecord {
            let session = NodeSession::begin(&self.second, "second:1", "1.0.0", Instant::now()).expect("begins");
            let (account, name) = (AccountId::default(), NamespaceName::default());
            let wanted = NamespaceRecord::new(&account, &name, NamespaceId::new(Ulid::from(1)), 0);
            let namespace = self.second.create_namespace(&wanted).expect("creates").0;
            self.second.claim(session.id(), &namespace.key()).expect("claims");
            namespace
        }

        fn hold(&self) -> Result<BackupHold> {
            BackupHold::begin(&self.first, self.session.id())
        }
    }

    fn is_refused<T>(result: &Result<T>) -> bool {
        matches!(result, Err(Error::BackupInProgress))
    }

    #[test]
    fn deletions_and_erasures_wait_for_a_backup() {
        let nodes = Nodes::start();
        let namespace = nodes.namespace();
        let erasure = ErasureRecord::Applied { former_files: Vec::new() };
        let hold = nodes.hold().expect("begins");
        assert!(is_refused(&nodes.second.require_no_backup()));
        assert!(is_refused(&nodes.second.retire_namespace(&namespace)));
        assert!(is_refused(&nodes.second.put_erasure(&namespace, &erasure)));
        assert!(is_refused(&BackupHold::begin(&nodes.second, nodes.session.id())));
        hold.require_held().expect("is held");
        drop(hold);
        nodes.second.require_no_backup().expect("has ended");
        nodes.second.put_erasure(&namespace, &erasure).expect("writes");
        assert!(nodes.second.retire_namespace(&namespace).expect("deletes"));
    }

    #[test]
    fn a_backup_that_began_after_the_check_is_noticed_by_the_batch() {
        let nodes = Nodes::start();
        let mut batch = nodes.second.batch();
        nodes.second.expect_no_backup(&mut batch.changes).expect("no backup is in progress");
        let _hold = nodes.hold().expect("begins");
        assert!(is_refused(&nodes.second.commit(batch).map_err(explained)));
    }

    #[test]
    fn the_hold_of_a_dead_node_ends() {
        let nodes = Nodes::start();
        let namespace = nodes.namespace();
        let hold = nodes.hold().expect("begins");
        let (mut watch, now) = (NodeWatch::new(), Instant::now());
        for at in [now, now + SESSION_TTL] {
            watch.observe(&nodes.second, nodes.second.node_rows().expect("reads"), at).expect("observes");
        }
        assert!(matches!(hold.require_held(), Err(Error::SessionEnded)));
        nodes.second.require_no_backup().expect("has ended");
        assert!(nodes.second.retire_namespace(&namespace).expect("deletes"));
        let session = NodeSession::begin(&nodes.second, "second:1", "1.0.0", Instant::now()).expect("begins");
        let other = BackupHold::begin(&nodes.second, session.id()).expect("begins");
        drop(hold);
        other.require_held().expect("the end of the former hold leaves this one");
    }

    #[test]
    fn an_abandoned_hold_is_released() {
        let nodes = Nodes::start();
        let hold = nodes.hold().expect("begins");
        *nodes.first.abandoned_hold.lock() = Some(hold.record.clone());
        nodes.first.release_abandoned_hold().expect("releases");
        nodes.second.require_no_backup().expect("has ended");
        assert!(nodes.first.abandoned_hold.lock().is_none());
        assert!(matches!(hold.require_held(), Err(Error::SessionEnded)));
    }

    #[test]
    fn a_data_directory_has_no_holds() {
        let store = Store::in_memory().expect("creates");
        store.require_no_backup().expect("no backup is in progress");
        let mut batch = store.batch();
        store.expect_no_backup(&mut batch.changes).expect("no backup is in progress");
        store.commit(batch).expect("has no condition");
    }
}
