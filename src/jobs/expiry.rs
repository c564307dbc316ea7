//! The removal of expired data: records past their retention, files without a record, and vectors of former models.

use std::sync::Arc;
use std::time::Duration;

use cuebase_storage::Store;

use super::components::{JobComponents, JobParts};
use super::job::{Job, JobName};
use super::stop::{StopSignal, Wake};
use crate::clock::Clock;
use crate::error::Result;
use crate::model::Models;
use crate::namespace::backlog::Backlog;
use crate::namespace::repository_home::RepositoryHome;
use crate::service::intake::DEDUP_WINDOW_MS;
use crate::service::media::Media;
use crate::service::namespaces::NamespaceDirectory;
use crate::service::orphan_objects::{ObjectKind, remove_orphans};
use crate::service::running_time::RunningTime;
use crate::service::writes::WRITE_RETENTION_MS;

/// Time between two removals: an hour.
const INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Retention of dead letters: 14 days of running time.
const DEAD_LETTER_RETENTION_MS: u64 = 14 * 24 * 60 * 60 * 1000;
/// Retention of payment notifications: 60 days. The provider stops repeating a notification much earlier.
const NOTIFICATION_RETENTION_MS: i64 = 60 * 24 * 60 * 60 * 1000;

/// What the next run removes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Records only. The run at the start cannot drop vectors, because namespaces with vectors of a former model may
    /// not be in the backlog yet.
    Records,
    Everything,
}

/// The hourly removal. The first one is at the start, but on its own thread, so that it does not delay the start.
pub(super) struct Expiry {
    store: Arc<Store>,
    running: Arc<RunningTime>,
    media: Arc<Media>,
    models: Arc<Models>,
    backlog: Arc<Backlog>,
    clock: Clock,
    scope: Scope,
    directory: Arc<NamespaceDirectory>,
}

impl Expiry {
    pub(super) fn new(components: &JobComponents, parts: &JobParts) -> Self {
        Self {
            store: Arc::clone(&components.store),
            running: Arc::clone(&components.running),
            media: Arc::clone(&parts.media),
            models: Arc::clone(&components.models),
            backlog: Arc::clone(&components.backlog),
            clock: components.clock.clone(),
            scope: Scope::Records,
            directory: Arc::clone(&parts.directory),
        }
    }

    fn remove_expired(&self) -> Result<()> {
        // Of several nodes, one purges for all.
        let is_first = self.directory.ownership().is_first();
        if is_first {
            self.purge()?;
        }
        if self.scope == Scope::Records {
            return Ok(());
        }
        if is_first {
            self.media.sweep()?;
            self.remove_orphans()?;
        }
        self.drop_unused_vectors()
    }

    /// Removes the objects of packs and of index snapshots that no record names.
    fn remove_orphans(&self) -> Result<()> {
        if let RepositoryHome::Records(bucket) = self.directory.repositories() {
            for kind in [ObjectKind::Pack, ObjectKind::IndexSnapshot] {
                let removed = remove_orphans(&self.store, bucket, kind, self.clock.now_ms())?;
                tracing::debug!(removed, ?kind, "objects without a record were removed from the bucket");
            }
        }
        Ok(())
    }

    /// Deletes dead letters, fingerprints, records of writes, notifications and sign-in links that are past their
    /// retention.
    fn purge(&self) -> Result<()> {
        let running_ms = self.running.now_ms();
        self.store.purge_dead_letters(running_ms.saturating_sub(DEAD_LETTER_RETENTION_MS))?;
        self.store.purge_fingerprints(running_ms.saturating_sub(DEDUP_WINDOW_MS))?;
        self.store.purge_path_writes()?;
        self.store.purge_writes(self.clock.now_ms() - WRITE_RETENTION_MS)?;
        self.store.purge_notifications(self.clock.now_ms() - NOTIFICATION_RETENTION_MS)?;
        self.store.purge_links(self.clock.now_ms())?;
        Ok(())
    }

    /// Drops the stored vectors of models that no index uses, in the namespaces that this process owns. The backlog has
    /// those of them that still need vectors of a former model.
    fn drop_unused_vectors(&self) -> Result<()> {
        if self.backlog.list().is_empty() {
            let dropped = self.store.drop_vectors_except(&[self.models.current().key()])?;
            tracing::debug!(dropped, "vectors of former models were dropped");
        }
        Ok(())
    }
}

impl Job for Expiry {
    fn name(&self) -> JobName {
        JobName::Expiry
    }

    fn wait(&mut self, stop: &StopSignal) -> Wake {
        match self.scope {
            Scope::Records => stop.check(),
            Scope::Everything => stop.wait_for(INTERVAL),
        }
    }

    fn run(&mut self) -> Result<()> {
        let removed = self.remove_expired();
        self.scope = Scope::Everything;
        if let Err(error) = &removed {
            tracing::error!(%error, "expired data could not be removed");
        }
        removed
    }
}
