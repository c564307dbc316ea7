//! The state of the jobs and their queue: what the metrics and the API show.

use std::collections::BTreeSet;
use std::sync::Arc;

use cuebase_storage::records::QueueEntry;
use cuebase_storage::{AccountId, MessageId, NamespaceId, NamespaceKey};

use super::Jobs;
use super::status::{JobState, JobStatus};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::metrics::{ClusterState, JobSample, Metrics, RecordState, ServiceState};
use crate::namespace::backlog::Progress;
use crate::queue::dispatch::{AccountLevels, QueueLevels};
use crate::queue::hold::OutageLevels;

impl Jobs {
    /// Returns the metrics in the text format that Prometheus reads (OpenMetrics 1.0).
    pub fn metrics_text(&self) -> Result<String> {
        let mut jobs = Vec::new();
        for status in self.status() {
            jobs.push(sample(&status));
        }
        self.components.metrics.text(&self.state()?, &jobs).map_err(Error::internal)
    }

    /// Returns the source of the time.
    pub fn clock(&self) -> &Clock {
        &self.components.clock
    }

    /// Returns the counters of the process.
    pub fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.components.metrics)
    }

    /// Returns the level of the queue.
    pub fn queue_levels(&self) -> QueueLevels {
        self.components.queue.levels()
    }

    /// Returns the level of the queue for one account.
    pub fn account_levels(&self, account: &AccountId) -> AccountLevels {
        self.components.queue.account_levels(account)
    }

    /// Returns the queued messages of a namespace, including the one in progress.
    pub fn messages_of(&self, namespace: NamespaceId) -> BTreeSet<MessageId> {
        self.components.queue.messages_of(namespace)
    }

    /// Returns the number of writes that the chat model has answered in this process.
    pub fn answered_writes(&self) -> u64 {
        self.answers.here()
    }

    /// Returns the current outage of the chat model.
    pub fn outage(&self) -> Option<OutageLevels> {
        self.components.queue.outage()
    }

    /// Returns the namespaces that need vectors, with the progress of the current one.
    pub fn backlog(&self) -> Vec<(NamespaceKey, Option<Progress>)> {
        self.components.backlog.list()
    }

    /// Whether [`Self::backlog`] lacks the namespaces with vectors of another model, because the model was just changed.
    pub fn is_backlog_incomplete(&self) -> bool {
        self.components.backlog.is_incomplete()
    }

    /// Returns the queue entry that has waited longest.
    pub fn oldest_queued(&self) -> Result<Option<QueueEntry>> {
        let Some((namespace, id)) = self.components.queue.levels().oldest else { return Ok(None) };
        Ok(self.components.store.queue_entry(&namespace, id)?)
    }

    fn state(&self) -> Result<ServiceState> {
        let components = &self.components;
        let queue = components.queue.levels();
        let cluster = self.cluster_state();
        // A database that does not answer is not asked: metrics are needed most then, and must not wait for it.
        let records = match cluster {
            Some(cluster) if cluster.reads_left.is_zero() => None,
            _ => Some(self.record_state()?),
        };
        let mut state = ServiceState {
            queue_messages: queue.waiting,
            workers_busy: queue.busy,
            namespaces_open: components.namespaces.open_count(),
            namespaces_behind: components.backlog.list().len(),
            records,
            cluster,
            ..ServiceState::default()
        };
        if let Some(outage) = components.queue.outage() {
            state.model_unavailable = outage.lasted;
            state.namespaces_held = outage.namespaces;
        }
        Ok(state)
    }

    fn record_state(&self) -> Result<RecordState> {
        let components = &self.components;
        let engine = components.store.engine_stats();
        let mut state = RecordState {
            queue_oldest_ms: 0,
            dead_letters: components.store.dead_letter_count()?,
            disk_bytes: engine.disk_bytes,
            memory_bytes: engine.memory_bytes,
            compactions_pending: engine.compactions_pending,
        };
        if let Some(oldest) = self.oldest_queued()? {
            state.queue_oldest_ms = components.running.waited_ms(&oldest);
        }
        Ok(state)
    }

    /// Returns the state of this process as a node. `None` if it is alone.
    fn cluster_state(&self) -> Option<ClusterState> {
        let ownership = self.parts.directory.ownership();
        let reads_left = ownership.reads_left()?;
        Some(ClusterState {
            nodes_live: ownership.live_nodes().len(),
            namespaces_owned: self.components.store.owned_namespaces().len(),
            reads_left,
            has_session: ownership.node_id().is_some(),
        })
    }
}

/// Returns what the metrics show of a job.
fn sample(status: &JobStatus) -> JobSample {
    JobSample {
        job: status.name.as_str(),
        threads: [
            (JobState::Waiting.as_str(), status.waiting),
            (JobState::Running.as_str(), status.running),
            (JobState::BackingOff.as_str(), status.backing_off),
        ],
        runs: status.runs,
        failures: status.failures,
        last_run_ms: status.last_run.map(jiff::Timestamp::as_millisecond),
    }
}
