//! What can be seen of a running service, as Prometheus reads it.
//!
//! What happens is counted where it happens ([`Metrics::answered`], [`Metrics::retrieved`], [`Metrics::ingested`]); what
//! is at a moment is read when somebody asks ([`Metrics::text`]). Nothing that a client sent is ever a label.

mod levels;

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use self::levels::Levels;
pub use self::levels::ServiceState;

/// The first bucket of a histogram of times ends here, seconds; each further one at twice that.
const SHORTEST_SECONDS: f64 = 0.000_25;
/// So many buckets, up to about a minute.
const BUCKETS: u16 = 18;

/// Everything that is counted.
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Histogram>,
    parts: Family<PartLabels, Histogram>,
    ingestion: Histogram,
    steps: Family<StepLabels, Histogram>,
    writes: Family<WriteLabels, Counter>,
    levels: Levels,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    /// As in the route table, never as it was sent.
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

/// What a change of a namespace consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The commit, until it is durable in git.
    Commit,
    /// Then the index, until it can be retrieved.
    Index,
    /// Later, packs are joined.
    Pack,
}

/// What became of a try to ingest a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IngestionOutcome {
    /// It is there.
    Done,
    /// It failed and is tried again.
    Failed,
    /// It waits for the disk, or for the chat model.
    Waiting,
    /// It is a dead letter.
    Buried,
}

fn times() -> Histogram {
    Histogram::new(exponential_buckets(SHORTEST_SECONDS, 2.0, BUCKETS))
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("cuebase");
        let requests = Family::<RequestLabels, Histogram>::new_with_constructor(times);
        let parts = Family::<PartLabels, Histogram>::new_with_constructor(times);
        let ingestion = times();
        let steps = Family::<StepLabels, Histogram>::new_with_constructor(times);
        let writes = Family::<WriteLabels, Counter>::default();
        registry.register("request_seconds", "Time from a whole request to its answer, by route", requests.clone());
        registry.register(
            "retrieval_seconds",
            "Time in a part of a retrieval: vector (embedding and cues), lexical, graph (expansion and ranking)",
            parts.clone(),
        );
        registry.register("ingestion_seconds", "Time in one try to ingest a write", ingestion.clone());
        registry.register(
            "write_seconds",
            "Time in a step of a change to a namespace: commit (git), index, pack (joining git's packs)",
            steps.clone(),
        );
        registry.register("ingested", "Tries to ingest a write, by what became of them", writes.clone());
        let levels = Levels::new(&mut registry);
        Self { registry, requests, parts, ingestion, steps, writes, levels }
    }
}

impl Metrics {
    /// A request was answered.
    pub fn answered(&self, method: &'static str, route: &'static str, status: u16, took: Duration) {
        self.requests.get_or_create(&RequestLabels { method, route, status }).observe(took.as_secs_f64());
    }

    /// A query was answered; the times of its parts.
    pub fn retrieved(&self, vector: Duration, lexical: Duration, graph: Duration) {
        for (part, took) in [("vector", vector), ("lexical", lexical), ("graph", graph)] {
            self.parts.get_or_create(&PartLabels { part }).observe(took.as_secs_f64());
        }
    }

    /// A step of a change was done.
    pub fn changed(&self, step: Step, took: Duration) {
        let step = match step {
            Step::Commit => "commit",
            Step::Index => "index",
            Step::Pack => "pack",
        };
        self.steps.get_or_create(&StepLabels { step }).observe(took.as_secs_f64());
    }

    /// A write was tried.
    pub fn ingested(&self, outcome: IngestionOutcome, took: Duration) {
        let outcome = match outcome {
            IngestionOutcome::Done => "done",
            IngestionOutcome::Failed => "failed",
            IngestionOutcome::Waiting => "waiting",
            IngestionOutcome::Buried => "buried",
        };
        self.ingestion.observe(took.as_secs_f64());
        self.writes.get_or_create(&WriteLabels { outcome }).inc();
    }

    /// Everything in the text format that Prometheus reads (OpenMetrics 1.0).
    pub fn text(&self, state: &ServiceState) -> Result<String, std::fmt::Error> {
        self.levels.set(state);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
