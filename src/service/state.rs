//! The state of the service: running time, waiting writes, and the values that the metrics show.

use cuebase_storage::records::QueueEntry;

use super::Service;
use crate::error::{Error, Result};
use crate::metrics::ServiceState;

impl Service {
    /// Returns the metrics in the text format that Prometheus reads (OpenMetrics 1.0).
    pub fn metrics_text(&self) -> Result<String> {
        self.metrics.text(&self.state()?).map_err(Error::internal)
    }

    /// Returns how long services have run on this data directory, in milliseconds.
    pub fn running_ms(&self) -> u64 {
        self.running.now_ms()
    }

    /// Writes the running time, so that the next process continues from it.
    pub fn write_running_time(&self) -> Result<()> {
        Ok(self.store.put_running_ms(self.running_ms())?)
    }

    /// Returns the queue entry that has waited longest.
    pub fn oldest_queued(&self) -> Result<Option<QueueEntry>> {
        let Some((namespace, id)) = self.queue.oldest() else { return Ok(None) };
        Ok(self.store.queue_entry(namespace, id)?)
    }

    /// Returns how long an entry has waited, in milliseconds of running time.
    pub fn waited_ms(&self, entry: &QueueEntry) -> u64 {
        self.running_ms().saturating_sub(entry.accepted_running_ms)
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
