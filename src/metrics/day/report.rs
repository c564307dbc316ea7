//! [`DayReport`]: the sums of an account's last day.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::account_day::{AccountDay, INTERVAL_MS, INTERVALS, number_of};
use super::interval::{Interval, Retrievals, RouteRequests, SCORE_BINS};

/// Length of the intervals of a report, in seconds.
pub const INTERVAL_SECONDS: u64 = INTERVAL_MS.unsigned_abs() / 1000;

/// The last day of an account.
#[derive(Clone, Debug, PartialEq)]
pub struct DayReport {
    /// Begin of the recorded time, milliseconds since the epoch.
    pub since_ms: i64,
    /// All requests.
    pub requests: RequestSums,
    /// The requests by route, most used first.
    pub routes: Vec<RouteSums>,
    /// The intervals of the recorded time without a gap, oldest first.
    pub intervals: Vec<IntervalSums>,
    /// All retrievals with a query.
    pub retrieval: RetrievalSums,
}

/// Requests and how long they took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestSums {
    /// Number of requests.
    pub count: u64,
    /// Those that the server failed to answer (status 500 and above).
    pub errors: u64,
    /// Half of the requests were answered within this time, in milliseconds. `None` without a request.
    pub p50_ms: Option<f64>,
    /// 99 % of the requests were answered within this time, in milliseconds. `None` without a request.
    pub p99_ms: Option<f64>,
}

/// The requests to a route.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteSums {
    /// The method.
    pub method: &'static str,
    /// The route in the route table.
    pub route: &'static str,
    /// The requests.
    pub requests: RequestSums,
}

/// The requests and retrievals of an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalSums {
    /// Begin of the interval, milliseconds since the epoch.
    pub at_ms: i64,
    /// The requests.
    pub requests: RequestSums,
    /// Number of retrievals with a query.
    pub retrievals: u64,
    /// Those without an admitted hit.
    pub empty: u64,
}

/// Retrievals with a query.
#[derive(Clone, Debug, PartialEq)]
pub struct RetrievalSums {
    /// Number of retrievals.
    pub count: u64,
    /// Those without an admitted hit.
    pub empty: u64,
    /// Those with a hit by the score of the best one. The bins divide the range from 0 to 1 evenly.
    pub top_scores: [u64; SCORE_BINS],
}

impl DayReport {
    pub(super) fn of(day: &AccountDay, now_ms: i64) -> Self {
        let last = number_of(now_ms);
        let first = number_of(day.began_ms).max(last - INTERVALS + 1);
        let mut all = RouteRequests::default();
        let mut routes: HashMap<(&'static str, &'static str), RouteRequests> = HashMap::new();
        let mut retrievals = Retrievals::default();
        let mut intervals = Vec::new();
        let none = Interval::default();
        for number in first..=last {
            let interval = day.intervals.get(&number).unwrap_or(&none);
            let mut sum = RouteRequests::default();
            for (route, requests) in &interval.routes {
                sum.merge(requests);
                routes.entry(*route).or_default().merge(requests);
            }
            all.merge(&sum);
            retrievals.merge(&interval.retrievals);
            intervals.push(IntervalSums {
                at_ms: number * INTERVAL_MS,
                requests: RequestSums::of(&sum),
                retrievals: interval.retrievals.count,
                empty: interval.retrievals.empty,
            });
        }
        Self {
            since_ms: day.began_ms.max(first * INTERVAL_MS),
            requests: RequestSums::of(&all),
            routes: route_sums(&routes),
            intervals,
            retrieval: RetrievalSums::of(&retrievals),
        }
    }
}

/// Returns the sums of routes, most used first.
fn route_sums(routes: &HashMap<(&'static str, &'static str), RouteRequests>) -> Vec<RouteSums> {
    let mut sums = Vec::with_capacity(routes.len());
    for ((method, route), requests) in routes {
        sums.push(RouteSums { method, route, requests: RequestSums::of(requests) });
    }
    sums.sort_by_key(|sum| (Reverse(sum.requests.count), sum.route, sum.method));
    sums
}

impl RequestSums {
    fn of(requests: &RouteRequests) -> Self {
        let RouteRequests { errors, latencies } = requests;
        Self {
            count: latencies.count(),
            errors: *errors,
            p50_ms: latencies.quantile_ms(0.5),
            p99_ms: latencies.quantile_ms(0.99),
        }
    }
}

impl RetrievalSums {
    fn of(retrievals: &Retrievals) -> Self {
        let Retrievals { count, empty, top_scores } = retrievals;
        Self { count: *count, empty: *empty, top_scores: *top_scores }
    }
}
