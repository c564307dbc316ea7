//! The state of the service that its metrics show.

use super::Service;
use crate::error::{Error, Result};
use crate::metrics::ServiceState;

impl Service {
    /// Returns the metrics in the text format that Prometheus reads (OpenMetrics 1.0).
    pub fn metrics_text(&self) -> Result<String> {
        self.metrics.text(&self.state()?).map_err(Error::internal)
    }

    fn state(&self) -> Result<ServiceState> {
        let queue = self.queue.levels();
        let records = self.store.engine_stats();
        let mut state = ServiceState {
            queue_messages: queue.waiting,
            workers_busy: queue.busy,
            dead_letters: self.store.dead_letter_count()?,
            namespaces_open: self.namespaces.open_count(),
            namespaces_behind: self.backlog.list().len(),
            records_bytes: records.disk_bytes,
            records_memory_bytes: records.memory_bytes,
            records_compactions_pending: records.compactions_pending,
            ..ServiceState::default()
        };
        if let Some(oldest) = self.oldest_queued()? {
            state.queue_oldest_ms = self.waited_ms(&oldest);
        }
        if let Some(outage) = self.queue.outage() {
            state.model_unavailable = outage.lasted;
            state.namespaces_held = outage.namespaces;
        }
        Ok(state)
    }
}
