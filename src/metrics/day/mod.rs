//! [`Days`]: the last day of each account, for its dashboard.
//!
//! Requests are counted by route with their times, and retrievals with the score of their best hit. A day is kept in
//! intervals of a quarter of an hour, in memory only: it begins with the start of the server. [`report`] sums it up.
//! [`counts`] has the day in the form in which a node sends it to another one.

mod account_day;
pub mod counts;
pub mod events;
mod interval;
mod latencies;
pub mod report;

use std::collections::HashMap;
use std::sync::OnceLock;

use cuebase_storage::AccountId;
use parking_lot::Mutex;

use self::account_day::AccountDay;
use self::counts::{DayCounts, RouteName};
use self::events::{AnsweredRequest, RetrievalQuality};
use self::interval::Interval;
use self::report::DayReport;
use crate::clock::Clock;

/// Accounts with a day. Beyond, the day that was changed longest ago is dropped. Each takes up to about 1.5 MB.
const ACCOUNTS_MAX: usize = 32;

/// Routes that a dashboard asks for again and again. They are not counted, because they would hide the others.
const POLLED_ROUTES: [&str; 4] = ["/v1/queue", "/v1/statistics", "/v1/usage", "/v1/writes"];

/// The last days of accounts.
pub struct Days {
    clock: Clock,
    accounts: Mutex<HashMap<AccountId, AccountDay>>,
    /// The routes of the API. Empty in a single process.
    routes: OnceLock<Vec<RouteName>>,
}

impl Days {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, accounts: Mutex::default(), routes: OnceLock::new() }
    }

    /// Records a request of an account, unless a dashboard sends it again and again.
    pub fn record_request(&self, account: &AccountId, request: AnsweredRequest) {
        if POLLED_ROUTES.contains(&request.route) {
            return;
        }
        self.change(account, |interval| interval.record_request(request));
    }

    /// Records a retrieval of an account.
    pub fn record_retrieval(&self, account: &AccountId, quality: RetrievalQuality) {
        self.change(account, |interval| interval.record_retrieval(quality));
    }

    /// Returns the last day of an account.
    pub fn report(&self, account: &AccountId) -> DayReport {
        let now_ms = self.clock.now_ms();
        match self.accounts.lock().get(account) {
            Some(day) => DayReport::of(day, now_ms),
            None => DayReport::of(&AccountDay::new(now_ms), now_ms),
        }
    }

    /// Returns what was counted in the last day of an account, for another node. `None` if nothing was.
    pub fn counts(&self, account: &AccountId) -> Option<DayCounts> {
        Some(DayCounts::of(self.accounts.lock().get(account)?))
    }

    /// Sets the routes whose counts [`Self::report_with`] takes from other nodes. Only the first call has an effect.
    pub fn know_routes(&self, routes: Vec<RouteName>) {
        self.routes.get_or_init(|| routes);
    }

    /// Returns the last day of an account on this node and on others. Routes that are not known here are left out: a node
    /// of another version may have them.
    pub fn report_with(&self, account: &AccountId, others: Vec<DayCounts>) -> DayReport {
        let routes = self.routes.get().map(Vec::as_slice).unwrap_or_default();
        let now_ms = self.clock.now_ms();
        let known = self.accounts.lock().get(account).cloned();
        let mut day = known.unwrap_or_else(|| AccountDay::new(now_ms));
        for other in others {
            other.add_to(&mut day, routes);
        }
        DayReport::of(&day, now_ms)
    }

    fn change(&self, account: &AccountId, change: impl FnOnce(&mut Interval)) {
        let now_ms = self.clock.now_ms();
        let mut accounts = self.accounts.lock();
        if let Some(day) = accounts.get_mut(account) {
            change(day.interval(now_ms));
            return;
        }
        if accounts.len() >= ACCOUNTS_MAX {
            drop_oldest(&mut accounts);
        }
        let day = accounts.entry(account.clone()).or_insert_with(|| AccountDay::new(now_ms));
        change(day.interval(now_ms));
    }
}

/// Drops the day that was changed longest ago.
fn drop_oldest(accounts: &mut HashMap<AccountId, AccountDay>) {
    let oldest = accounts.iter().min_by_key(|(_, day)| day.changed_ms);
    if let Some(account) = oldest.map(|(account, _)| account.clone()) {
        accounts.remove(&account);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::{SignedDuration, Timestamp};

    use super::*;

    fn account(name: &str) -> AccountId {
        AccountId::new(name).expect("is valid")
    }

    fn request(route: &'static str, status: u16, milliseconds: u64) -> AnsweredRequest {
        AnsweredRequest { method: "GET", route, status, took: Duration::from_millis(milliseconds) }
    }

    fn days() -> (Days, Clock) {
        let clock = Clock::manual(Timestamp::from_second(900_000_000).expect("a time"));
        (Days::new(clock.clone()), clock)
    }

    #[test]
    fn requests_are_summed_by_route_and_by_interval() {
        let (days, clock) = days();
        let owner = account("a");
        for milliseconds in [1, 2, 100] {
            days.record_request(&owner, request("/v1/retrieve", 200, milliseconds));
        }
        clock.advance(SignedDuration::from_mins(31));
        days.record_request(&owner, request("/v1/retrieve", 503, 5));
        days.record_request(&owner, request("/v1/tree", 200, 5));
        let report = days.report(&owner);
        assert_eq!((report.requests.count, report.requests.errors), (5, 1));
        let routes: Vec<_> = report.routes.iter().map(|each| (each.route, each.requests.count)).collect();
        assert_eq!(routes, [("/v1/retrieve", 4), ("/v1/tree", 1)]);
        let counts: Vec<_> = report.intervals.iter().map(|each| each.requests.count).collect();
        assert_eq!(counts, [3, 0, 2]);
        let slowest = report.requests.p99_ms.expect("has times");
        assert!((95.0..105.0).contains(&slowest), "{slowest}");
    }

    #[test]
    fn requests_that_a_dashboard_repeats_are_not_counted() {
        let (days, _) = days();
        days.record_request(&account("a"), request("/v1/queue", 200, 1));
        assert_eq!(days.report(&account("a")).requests.count, 0);
    }

    #[test]
    fn accounts_do_not_see_each_other() {
        let (days, _) = days();
        days.record_request(&account("a"), request("/v1/tree", 200, 1));
        assert_eq!(days.report(&account("b")).requests.count, 0);
    }

    #[test]
    fn a_day_has_the_last_24_hours() {
        let (days, clock) = days();
        let owner = account("a");
        days.record_request(&owner, request("/v1/tree", 200, 1));
        clock.advance(SignedDuration::from_hours(23));
        days.record_request(&owner, request("/v1/tree", 200, 1));
        assert_eq!(days.report(&owner).requests.count, 2);
        clock.advance(SignedDuration::from_hours(2));
        let report = days.report(&owner);
        assert_eq!(report.requests.count, 1);
        assert_eq!(report.intervals.len(), 96);
        days.record_request(&owner, request("/v1/tree", 200, 1));
        assert_eq!(days.report(&owner).requests.count, 2);
    }

    #[test]
    fn retrievals_are_counted_by_the_score_of_their_best_hit() {
        let (days, _) = days();
        let owner = account("a");
        for (top_score, is_admitted) in [(Some(0.97), true), (Some(1.0), true), (Some(0.01), false), (None, false)] {
            days.record_retrieval(&owner, RetrievalQuality { top_score, is_admitted });
        }
        let retrieval = days.report(&owner).retrieval;
        assert_eq!((retrieval.count, retrieval.empty), (4, 2));
        assert_eq!((retrieval.top_scores[0], retrieval.top_scores[19]), (1, 2));
    }

    #[test]
    fn the_day_that_was_changed_longest_ago_is_dropped() {
        let (days, clock) = days();
        for number in 0..=ACCOUNTS_MAX {
            days.record_request(&account(&format!("a{number}")), request("/v1/tree", 200, 1));
            clock.advance(SignedDuration::from_secs(1));
        }
        assert_eq!(days.report(&account("a0")).requests.count, 0);
        assert_eq!(days.report(&account("a1")).requests.count, 1);
    }
}
