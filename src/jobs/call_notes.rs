//! Notes of counters that are kept in memory: the calls to hosted models, and the running time.

use std::sync::Arc;
use std::time::Duration;

use cuebase_storage::Store;

use super::components::{JobComponents, JobParts};
use super::job::{Job, JobName};
use super::stop::{StopSignal, Wake};
use crate::cluster::Ownership;
use crate::error::Result;
use crate::model::Models;
use crate::service::running_time::{Counts, RunningTime};

/// Time between two records.
const INTERVAL: Duration = Duration::from_secs(60);

/// Records the counters once a minute.
pub(super) struct CallNotes {
    store: Arc<Store>,
    models: Arc<Models>,
    running: Arc<RunningTime>,
    ownership: Arc<Ownership>,
}

impl CallNotes {
    pub(super) fn new(components: &JobComponents, parts: &JobParts) -> Self {
        Self {
            store: Arc::clone(&components.store),
            models: Arc::clone(&components.models),
            running: Arc::clone(&components.running),
            ownership: Arc::clone(parts.directory.ownership()),
        }
    }
}

impl Job for CallNotes {
    fn name(&self) -> JobName {
        JobName::CallNotes
    }

    fn wait(&mut self, stop: &StopSignal) -> Wake {
        stop.wait_for(INTERVAL)
    }

    fn run(&mut self) -> Result<()> {
        let noted = self.models.note_calls();
        if let Err(error) = &noted {
            tracing::error!(%error, "the number of model calls could not be recorded");
        }
        let counts = if self.ownership.is_first() { Counts::Here } else { Counts::Elsewhere };
        let recorded = self.running.record(&self.store, counts);
        if let Err(error) = &recorded {
            tracing::error!(%error, "the running time could not be recorded");
        }
        noted?;
        recorded?;
        Ok(())
    }
}
