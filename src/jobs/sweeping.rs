//! The sweep: every minute it removes the remains of deletions, of replaced packs and of
//! messages that must not be stored. Every few seconds it reserves disk
//! space, if there was too little before.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebase_storage::Store;

use super::components::JobComponents;
use super::job::{Job, JobName};
use super::stop::{StopSignal, Wake};
use crate::error::Result;
use crate::namespace::disk_reserve::DiskReserve;
use crate::namespace::registry::Namespaces;
use crate::service::namespaces::NamespaceDirectory;

/// Time between two sweeps.
const INTERVAL: Duration = Duration::from_secs(60);
/// Time between two attempts to reserve disk space that is not reserved yet.
const RESERVE_INTERVAL: Duration = Duration::from_secs(5);

/// The minute sweep. The first one is at the start, but on its own thread, so that it does not delay the start.
pub(super) struct Sweep {
    store: Arc<Store>,
    namespaces: Arc<Namespaces>,
    directory: Arc<NamespaceDirectory>,
    reserve: Arc<DiskReserve>,
    has_run: bool,
}

impl Sweep {
    pub(super) fn new(components: &JobComponents, directory: &Arc<NamespaceDirectory>) -> Self {
        Self {
            store: Arc::clone(&components.store),
            namespaces: Arc::clone(&components.namespaces),
            directory: Arc::clone(directory),
            reserve: Arc::clone(&components.reserve),
            has_run: false,
        }
    }

    fn reserve_space(&self) -> Result<()> {
        if let Err(error) = self.reserve.grow() {
            tracing::warn!(%error, "disk space for deletions and starts could not be reserved");
            return Err(error.into());
        }
        Ok(())
    }
}

impl Job for Sweep {
    fn name(&self) -> JobName {
        JobName::Sweep
    }

    fn wait(&mut self, stop: &StopSignal) -> Wake {
        if !self.has_run {
            return stop.check();
        }
        let until = Instant::now() + INTERVAL;
        while Instant::now() < until {
            if stop.wait_for(RESERVE_INTERVAL) == Wake::Stop {
                return Wake::Stop;
            }
            // The sweep logs and reports a failure that lasts.
            let _ = self.reserve.grow();
        }
        Wake::Work
    }

    fn run(&mut self) -> Result<()> {
        // First, because the other steps can fail.
        let reserved = self.reserve_space();
        // Opening the data directory has just finished the removals, so the first sweep does not repeat them.
        if self.has_run {
            self.namespaces.sweep();
            // Before the removal of copies, so that those of released namespaces are removed at once.
            if let Err(error) = self.directory.ownership().rebalance() {
                tracing::warn!(%error, "namespaces above the share of this node could not be released");
            }
            if self.directory.ownership().is_first() {
                self.directory.finish_removals();
            }
            self.namespaces.remove_foreign_copies()?;
            self.store.release_abandoned_hold()?;
            self.store.purge_unstored()?;
        }
        self.has_run = true;
        reserved
    }
}
