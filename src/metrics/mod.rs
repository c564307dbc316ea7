//! Metrics of a running service: counters in the format of Prometheus for its operator, and the last day of each account
//! for its dashboard ([`Days`]).
//!
//! Events are counted where they happen ([`Metrics::record_request`], [`Metrics::record_retrieval`],
//! [`Metrics::record_ingestion`]). Gauges and the counts of background jobs are read when the metrics are requested
//! ([`Metrics::text`]). A label never holds text from a client. A node of a cluster has more metrics ([`cluster`]).

mod cluster;
pub mod day;
mod instruments;
mod jobs;
mod levels;

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use self::cluster::ClusterMetrics;
pub use self::cluster::{CallOutcome, ClusterState, NodeCall};
use self::day::Days;
use self::instruments::times;
use self::jobs::JobMetrics;
pub use self::jobs::JobSample;
use self::levels::Levels;
pub use self::levels::{RecordState, ServiceState};
use crate::clock::Clock;

/// All metrics.
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Histogram>,
    parts: Family<PartLabels, Histogram>,
    ingestion: Histogram,
    steps: Family<StepLabels, Histogram>,
    writes: Family<WriteLabels, Counter>,
    levels: Levels,
    jobs: JobMetrics,
    days: Days,
    /// `None` in a process that is alone.
    cluster: Option<ClusterMetrics>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    /// The route in the route table, never the path that the client sent.
    route: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PartLabels {
    part: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StepLabels {
    step: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WriteLabels {
    outcome: &'static str,
}

/// A step of a change to a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The commit to git, until it is durable.
    Commit,
    /// The update of the index, until the change can be retrieved.
    Index,
    /// The merge of packs, later.
    Pack,
}

/// The outcome of an attempt to ingest a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IngestionOutcome {
    /// The write is ingested.
    Done,
    /// The attempt failed and will be retried.
    Failed,
    /// The write waits for the disk or for the chat model.
    Waiting,
    /// The write became a dead letter.
    Buried,
}

impl Metrics {
    /// Makes metrics without any event, of a process that is alone. Days are by the time of `clock`.
    pub fn new(clock: Clock) -> Self {
        let mut registry = Registry::with_prefix("cuebase");
        let requests = Family::<RequestLabels, Histogram>::new_with_constructor(times);
        let parts = Family::<PartLabels, Histogram>::new_with_constructor(times);
        let ingestion = times();
        let steps = Family::<StepLabels, Histogram>::new_with_constructor(times);
        let writes = Family::<WriteLabels, Counter>::default();
        registry.register(
            "request_seconds",
            "Time from the end of a request to its response, by route",
            requests.clone(),
        );
        registry.register(
            "retrieval_seconds",
            "Time in a part of a retrieval: vector (embedding and cues), lexical, graph (expansion, ranking and reading)",
            parts.clone(),
        );
        registry.register("ingestion_seconds", "Time of one attempt to ingest a write", ingestion.clone());
        registry.register(
            "write_seconds",
            "Time in a step of a change to a namespace: commit (git), index, pack (merging git's packs)",
            steps.clone(),
        );
        registry.register("ingested", "Attempts to ingest a write, by outcome", writes.clone());
        let levels = Levels::new(&mut registry);
        let jobs = JobMetrics::new(&mut registry);
        let days = Days::new(clock);
        Self { registry, requests, parts, ingestion, steps, writes, levels, jobs, days, cluster: None }
    }

    /// Makes metrics without any event, of a node that shares its storage with others.
    pub fn of_node(clock: Clock) -> Self {
        let mut metrics = Self::new(clock);
        metrics.cluster = Some(ClusterMetrics::new(&mut metrics.registry));
        metrics
    }

    /// Returns the last days of the accounts.
    pub fn days(&self) -> &Days {
        &self.days
    }

    /// Records a request and its response.
    pub fn record_request(&self, method: &'static str, route: &'static str, status: u16, took: Duration) {
        self.requests.get_or_create(&RequestLabels { method, route, status }).observe(took.as_secs_f64());
    }

    /// Records the times of the parts of a retrieval.
    pub fn record_retrieval(&self, vector: Duration, lexical: Duration, graph: Duration) {
        for (part, took) in [("vector", vector), ("lexical", lexical), ("graph", graph)] {
            self.parts.get_or_create(&PartLabels { part }).observe(took.as_secs_f64());
        }
    }

    /// Records a step of a change to a namespace.
    pub fn record_step(&self, step: Step, took: Duration) {
        let step = match step {
            Step::Commit => "commit",
            Step::Index => "index",
            Step::Pack => "pack",
        };
        self.steps.get_or_create(&StepLabels { step }).observe(took.as_secs_f64());
    }

    /// Records an attempt to ingest a write.
    pub fn record_ingestion(&self, outcome: IngestionOutcome, took: Duration) {
        let outcome = match outcome {
            IngestionOutcome::Done => "done",
            IngestionOutcome::Failed => "failed",
            IngestionOutcome::Waiting => "waiting",
            IngestionOutcome::Buried => "buried",
        };
        self.ingestion.observe(took.as_secs_f64());
        self.writes.get_or_create(&WriteLabels { outcome }).inc();
    }

    /// Records that this node claimed a namespace.
    pub fn record_claim(&self) {
        if let Some(cluster) = &self.cluster {
            cluster.record_claim();
        }
    }

    /// Records that the session of this node ended because other nodes saw no renewal.
    pub fn record_lost_session(&self) {
        if let Some(cluster) = &self.cluster {
            cluster.record_lost_session();
        }
    }

    /// Records a call of another node and how it ended.
    pub fn record_forwarded(&self, call: NodeCall, outcome: CallOutcome, took: Duration) {
        if let Some(cluster) = &self.cluster {
            cluster.record_forwarded(call, outcome, took);
        }
    }

    /// Records a call by another node.
    pub fn record_received(&self, call: NodeCall) {
        if let Some(cluster) = &self.cluster {
            cluster.record_received(call);
        }
    }

    /// Returns all metrics in the text format of Prometheus (OpenMetrics 1.0).
    pub fn text(&self, state: &ServiceState, jobs: &[JobSample]) -> Result<String, std::fmt::Error> {
        self.levels.set(state);
        if let (Some(metrics), Some(state)) = (&self.cluster, &state.cluster) {
            metrics.set(state);
        }
        self.jobs.set(jobs);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(cluster: Option<ClusterState>) -> ServiceState {
        let records = RecordState { dead_letters: 2, ..RecordState::default() };
        ServiceState { records: Some(records), cluster, ..ServiceState::default() }
    }

    #[test]
    fn only_a_node_shows_metrics_of_a_cluster() {
        let alone = Metrics::new(Clock::system());
        alone.record_claim();
        alone.record_received(NodeCall::Request);
        let text = alone.text(&state(None), &[]).expect("encodes");
        for name in ["cuebase_nodes", "cuebase_session", "cuebase_namespaces_claimed", "cuebase_requests_received"] {
            assert!(!text.contains(name), "{name} in {text}");
        }
        let node = Metrics::of_node(Clock::system());
        node.record_claim();
        let cluster =
            ClusterState { nodes_live: 2, namespaces_owned: 1, reads_left: Duration::ZERO, has_session: true };
        let text = node.text(&state(Some(cluster)), &[]).expect("encodes");
        for line in ["cuebase_nodes_live 2.0", "cuebase_namespaces_claimed_total 1", "cuebase_dead_letters 2.0"] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }

    #[test]
    fn gauges_of_records_that_cannot_be_read_keep_their_values() {
        let metrics = Metrics::new(Clock::system());
        metrics.text(&state(None), &[]).expect("encodes");
        let unread = ServiceState { queue_messages: 5, ..ServiceState::default() };
        let text = metrics.text(&unread, &[]).expect("encodes");
        for line in ["cuebase_dead_letters 2.0", "cuebase_queue_messages 5.0"] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }
}
