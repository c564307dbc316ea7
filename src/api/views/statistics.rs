//! The response of `GET /v1/statistics`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::schema::values;
use crate::memory::time::format_ms;
use crate::metrics::day::report::{DayReport, INTERVAL_SECONDS, IntervalSums, RequestSums, RetrievalSums, RouteSums};

/// The response of `GET /v1/statistics`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Statistics")]
pub struct StatisticsView {
    /// The last day of the account.
    #[serde(flatten)]
    pub day: DayView,
    /// What is stored.
    pub storage: StorageView,
    /// The models.
    pub models: Vec<ModelView>,
    /// The servers (nodes) that share the data, this one included. Absent if one server has all data.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<NodeView>")]
    pub nodes: Option<Vec<NodeView>>,
}

/// The last day of an account.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DayView {
    /// Begin of the recorded time.
    #[schemars(with = "values::Time")]
    pub since: Option<String>,
    /// Length of an interval, in seconds.
    pub interval_seconds: u64,
    /// All requests.
    pub requests: RequestSumsView,
    /// The requests by route, most used first.
    pub routes: Vec<RouteSumsView>,
    /// The intervals of the recorded time without a gap, oldest first.
    pub intervals: Vec<IntervalView>,
    /// The retrievals with a query: those of `/v1/retrieve`, `/v1/context` and `/v1/answer`.
    pub retrieval: RetrievalSumsView,
}

/// Requests and how long they took.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RequestSums")]
pub struct RequestSumsView {
    /// Number of requests.
    pub count: u64,
    /// Those that were answered with a status of 500 or above.
    pub errors: u64,
    /// Time within which half of the requests were answered, in milliseconds. Null without a request.
    pub p50_ms: Option<f64>,
    /// Time within which 99 % of the requests were answered, in milliseconds. Null without a request.
    pub p99_ms: Option<f64>,
}

/// The requests to a route.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RouteSums")]
pub struct RouteSumsView {
    /// The method.
    pub method: &'static str,
    /// The path with the names of its parameters.
    pub route: &'static str,
    /// The requests.
    #[serde(flatten)]
    pub requests: RequestSumsView,
}

/// The requests and retrievals of an interval.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Interval")]
pub struct IntervalView {
    /// Begin of the interval.
    #[schemars(with = "values::Time")]
    pub at: Option<String>,
    /// Number of requests.
    pub requests: u64,
    /// Those that were answered with a status of 500 or above.
    pub errors: u64,
    /// Time within which half of the requests were answered, in milliseconds. Null without a request.
    pub p50_ms: Option<f64>,
    /// Time within which 99 % of the requests were answered, in milliseconds. Null without a request.
    pub p99_ms: Option<f64>,
    /// Number of retrievals with a query.
    pub retrievals: u64,
    /// Those without an admitted hit.
    pub empty: u64,
}

/// The retrievals of a day.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RetrievalSums")]
pub struct RetrievalSumsView {
    /// Number of retrievals.
    pub count: u64,
    /// Those without an admitted hit, by the `admit` of the request, else by `balanced`.
    pub empty: u64,
    /// Those with a hit, by the score of the best one.
    pub top_scores: Vec<ScoreBinView>,
}

/// The number of retrievals whose best score is in a range.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ScoreBin")]
pub struct ScoreBinView {
    /// Lowest score.
    pub from: f64,
    /// Upper bound of the scores. The last bin includes it.
    pub to: f64,
    /// Number of retrievals.
    pub count: u64,
}

/// What is stored for the account.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Storage")]
pub struct StorageView {
    /// Free space of the disk, rounded down to GiB. Null if the system does not report it.
    pub disk_free_bytes: Option<u64>,
    /// Size of the disk, rounded down to GiB. Null if the system does not report it.
    pub disk_total_bytes: Option<u64>,
    /// Number of namespaces of the account.
    pub namespaces: usize,
    /// Number of memories in them.
    pub memories: u64,
    /// Number of namespaces of the account that are damaged.
    pub damaged_namespaces: usize,
}

/// A model.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Model")]
pub struct ModelView {
    /// `embedding`, or `chat`.
    #[schemars(extend("enum" = ["embedding", "chat"]))]
    pub role: &'static str,
    /// Name of the model. Null if there is none.
    pub name: Option<String>,
    /// `ready`; `behind` while memories of the account wait for vectors; `unavailable` while conversations wait for the
    /// model; `off` if none is set up.
    #[schemars(extend("enum" = ["ready", "behind", "unavailable", "off"]))]
    pub state: &'static str,
}

/// A server that shares the data with others.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Node")]
pub struct NodeView {
    /// Id of the node; another one after each start. `cuebase nodes` shows the operator its address.
    pub id: String,
    /// Version of the node.
    pub version: String,
    /// Whether this node answered the request.
    pub this: bool,
    /// Number of namespaces of the account that the node owns. Null if the node did not answer.
    pub namespaces: Option<usize>,
}

impl DayView {
    /// Makes the view of a day.
    pub fn of(report: &DayReport) -> Self {
        Self {
            since: format_ms(report.since_ms),
            interval_seconds: INTERVAL_SECONDS,
            requests: RequestSumsView::of(&report.requests),
            routes: report.routes.iter().map(RouteSumsView::of).collect(),
            intervals: report.intervals.iter().map(IntervalView::of).collect(),
            retrieval: RetrievalSumsView::of(&report.retrieval),
        }
    }
}

impl RequestSumsView {
    fn of(sums: &RequestSums) -> Self {
        Self { count: sums.count, errors: sums.errors, p50_ms: sums.p50_ms, p99_ms: sums.p99_ms }
    }
}

impl RouteSumsView {
    fn of(sums: &RouteSums) -> Self {
        Self { method: sums.method, route: sums.route, requests: RequestSumsView::of(&sums.requests) }
    }
}

impl IntervalView {
    fn of(sums: &IntervalSums) -> Self {
        Self {
            at: format_ms(sums.at_ms),
            requests: sums.requests.count,
            errors: sums.requests.errors,
            p50_ms: sums.requests.p50_ms,
            p99_ms: sums.requests.p99_ms,
            retrievals: sums.retrievals,
            empty: sums.empty,
        }
    }
}

impl RetrievalSumsView {
    fn of(sums: &RetrievalSums) -> Self {
        let bins = sums.top_scores.len() as f64;
        let mut top_scores = Vec::with_capacity(sums.top_scores.len());
        for (number, count) in sums.top_scores.iter().enumerate() {
            let from = number as f64 / bins;
            top_scores.push(ScoreBinView { from, to: (number + 1) as f64 / bins, count: *count });
        }
        Self { count: sums.count, empty: sums.empty, top_scores }
    }
}
