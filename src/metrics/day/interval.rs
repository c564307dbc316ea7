//! [`Interval`]: the requests and retrievals of a quarter of an hour.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::events::{AnsweredRequest, RetrievalQuality};
use super::latencies::Latencies;

/// Bins of the scores of best hits. Each is 0.05 wide.
pub(super) const SCORE_BINS: usize = 20;
/// The lowest status of an error of the server.
const ERROR_STATUS_MIN: u16 = 500;

/// What happened in an interval.
#[derive(Clone, Debug, Default)]
pub(super) struct Interval {
    /// Requests by method and route.
    pub(super) routes: HashMap<(&'static str, &'static str), RouteRequests>,
    pub(super) retrievals: Retrievals,
}

/// The requests to a route.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct RouteRequests {
    /// Requests that the server failed to answer.
    pub(super) errors: u64,
    pub(super) latencies: Latencies,
}

/// Retrievals with a query.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Retrievals {
    pub(super) count: u64,
    /// Those without an admitted hit.
    pub(super) empty: u64,
    /// Those with a hit, by the score of the best one.
    pub(super) top_scores: [u64; SCORE_BINS],
}

impl Interval {
    pub(super) fn record_request(&mut self, request: AnsweredRequest) {
        let requests = self.routes.entry((request.method, request.route)).or_default();
        requests.errors += u64::from(request.status >= ERROR_STATUS_MIN);
        requests.latencies.record(request.took);
    }

    pub(super) fn record_retrieval(&mut self, quality: RetrievalQuality) {
        self.retrievals.count += 1;
        self.retrievals.empty += u64::from(!quality.is_admitted);
        if let Some(score) = quality.top_score {
            // The cast saturates. A score of 1 is in the last bin.
            let bin = (score * SCORE_BINS as f32) as usize;
            self.retrievals.top_scores[bin.min(SCORE_BINS - 1)] += 1;
        }
    }
}

impl RouteRequests {
    pub(super) fn merge(&mut self, other: &Self) {
        self.errors += other.errors;
        self.latencies.merge(&other.latencies);
    }
}

impl Retrievals {
    pub(super) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.empty += other.empty;
        for (sum, added) in self.top_scores.iter_mut().zip(other.top_scores) {
            *sum += added;
        }
    }
}
