//! [`DayCounts`]: an account's last day as a node sends it to another one, which adds it to its own.

use serde::{Deserialize, Serialize};

use super::account_day::AccountDay;
use super::interval::{Retrievals, RouteRequests};

/// The method and the path of a route.
pub type RouteName = (&'static str, &'static str);

/// What a node counted in the last day of an account.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DayCounts {
    /// Begin of the record, milliseconds since the epoch.
    began_ms: i64,
    intervals: Vec<IntervalCounts>,
}

/// The requests and retrievals of an interval.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct IntervalCounts {
    /// Number of the interval since the epoch.
    number: i64,
    routes: Vec<RouteCounts>,
    retrievals: Retrievals,
}

/// The requests to a route.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RouteCounts {
    method: String,
    route: String,
    requests: RouteRequests,
}

impl DayCounts {
    pub(super) fn of(day: &AccountDay) -> Self {
        let mut intervals = Vec::with_capacity(day.intervals.len());
        for (number, interval) in &day.intervals {
            let mut routes = Vec::with_capacity(interval.routes.len());
            for ((method, route), requests) in &interval.routes {
                let (method, route) = ((*method).to_owned(), (*route).to_owned());
                routes.push(RouteCounts { method, route, requests: requests.clone() });
            }
            intervals.push(IntervalCounts { number: *number, routes, retrievals: interval.retrievals.clone() });
        }
        Self { began_ms: day.began_ms, intervals }
    }

    /// Adds the counts to a day. Routes that are not in `routes` are left out.
    pub(super) fn add_to(self, day: &mut AccountDay, routes: &[RouteName]) {
        day.began_ms = day.began_ms.min(self.began_ms);
        for counts in self.intervals {
            let interval = day.intervals.entry(counts.number).or_default();
            interval.retrievals.merge(&counts.retrievals);
            for RouteCounts { method, route, requests } in counts.routes {
                let mut known = routes.iter();
                let named = known.find(|(known_method, known_route)| *known_method == method && *known_route == route);
                if let Some(name) = named {
                    interval.routes.entry(*name).or_default().merge(&requests);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cuebase_storage::AccountId;
    use jiff::{SignedDuration, Timestamp};

    use super::super::Days;
    use super::super::events::{AnsweredRequest, RetrievalQuality};
    use super::super::report::DayReport;
    use super::*;
    use crate::clock::Clock;

    const ROUTES: [RouteName; 2] = [("GET", "/v1/tree"), ("GET", "/v1/retrieve")];

    fn account() -> AccountId {
        AccountId::new("a").expect("is valid")
    }

    fn clock() -> Clock {
        Clock::manual(Timestamp::from_second(900_000_000).expect("a time"))
    }

    /// Records what reaches one of three nodes.
    fn record(days: &Days, clock: &Clock, node: usize) {
        let times = [(1, 200), (40, 503), (900, 200)];
        let (milliseconds, status) = times[node];
        for &(method, route) in &ROUTES[..=node.min(1)] {
            let took = Duration::from_millis(milliseconds);
            days.record_request(&account(), AnsweredRequest { method, route, status, took });
        }
        days.record_retrieval(&account(), RetrievalQuality { top_score: Some(0.3), is_admitted: node == 2 });
        clock.advance(SignedDuration::from_mins(20));
    }

    /// Returns the counts of three nodes. They begin one after the other.
    fn counts_of_nodes(clock: &Clock) -> Vec<DayCounts> {
        let mut counts = Vec::new();
        for node in 0..3 {
            let days = Days::new(clock.clone());
            record(&days, clock, node);
            counts.push(days.counts(&account()).expect("counts"));
        }
        counts
    }

    /// Returns the report of a node that counted nothing itself and knows some of the routes.
    fn report(clock: &Clock, others: Vec<DayCounts>, routes: &[RouteName]) -> DayReport {
        let days = Days::new(clock.clone());
        days.know_routes(routes.to_vec());
        days.report_with(&account(), others)
    }

    #[test]
    fn the_days_of_nodes_sum_up_to_the_day_of_one_process() {
        let single = clock();
        let days = Days::new(single.clone());
        for node in 0..3 {
            record(&days, &single, node);
        }
        let several = clock();
        let counts = counts_of_nodes(&several);
        assert_eq!(report(&several, counts, &ROUTES), days.report(&account()));
    }

    #[test]
    fn the_order_of_the_nodes_does_not_matter() {
        let clock = clock();
        let counts = counts_of_nodes(&clock);
        let expected = report(&clock, counts.clone(), &ROUTES);
        assert_eq!(expected.requests.count, 5);
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let others = order.iter().map(|&node| counts[node].clone()).collect();
            assert_eq!(report(&clock, others, &ROUTES), expected, "{order:?}");
        }
    }

    #[test]
    fn a_node_without_others_reports_its_own_day() {
        let clock = clock();
        let days = Days::new(clock.clone());
        record(&days, &clock, 2);
        assert_eq!(days.report_with(&account(), Vec::new()), days.report(&account()));
    }

    #[test]
    fn a_route_of_another_version_is_left_out() {
        let clock = clock();
        let counts = counts_of_nodes(&clock);
        let report = report(&clock, counts, &ROUTES[..1]);
        assert_eq!((report.requests.count, report.retrieval.count), (3, 3));
    }
}
