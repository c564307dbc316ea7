//! The job that stores copies of indexes in the bucket, so that the next owner of a namespace begins with one.
//!
//! It exists only if several nodes share a bucket.

use std::sync::Arc;
use std::time::Duration;

use super::components::JobComponents;
use super::job::{AtStop, Job, JobName};
use super::stop::{StopSignal, Wake};
use crate::error::Result;
use crate::namespace::registry::Namespaces;
use crate::namespace::snapshot_state::UploadReason;

/// Time between two looks at the open namespaces. A look at a namespace that has nothing to store takes microseconds.
const INTERVAL: Duration = Duration::from_secs(10);

/// Stores the snapshots that are due.
pub(super) struct IndexSnapshots {
    namespaces: Arc<Namespaces>,
}

impl IndexSnapshots {
    pub(super) fn new(components: &JobComponents) -> Self {
        Self { namespaces: Arc::clone(&components.namespaces) }
    }
}

impl Job for IndexSnapshots {
    fn name(&self) -> JobName {
        JobName::IndexSnapshots
    }

    fn wait(&mut self, stop: &StopSignal) -> Wake {
        stop.wait_for(INTERVAL)
    }

    fn run(&mut self) -> Result<()> {
        self.namespaces.upload_snapshots(UploadReason::Due)
    }

    /// The release of the namespaces waits for an upload in progress, for a bounded time.
    fn at_stop(&self) -> AtStop {
        AtStop::Abandon
    }
}
