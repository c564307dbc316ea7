//! [`Latencies`]: how long requests took, in buckets, for quantiles.
//!
//! The bounds of the buckets grow by 2^(1/8), so a quantile is within 5 % of the measured time. Only buckets that have
//! a count take memory: the times of one route are close to each other.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Lower bound of the first bucket, in milliseconds. Shorter times are counted in it.
const FIRST_MS: f64 = 0.01;
/// Buckets between a time and twice that time.
const BUCKETS_PER_DOUBLING: f64 = 8.0;

/// Times of requests.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Latencies {
    /// The buckets with a count, by ascending number.
    buckets: Vec<Bucket>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Bucket {
    number: u8,
    count: u32,
}

impl Latencies {
    pub(super) fn record(&mut self, took: Duration) {
        self.add(Bucket { number: bucket_number(took), count: 1 });
    }

    /// Adds the times of others.
    pub(super) fn merge(&mut self, other: &Self) {
        for bucket in &other.buckets {
            self.add(*bucket);
        }
    }

    fn add(&mut self, added: Bucket) {
        match self.buckets.binary_search_by_key(&added.number, |bucket| bucket.number) {
            Ok(index) => self.buckets[index].count = self.buckets[index].count.saturating_add(added.count),
            Err(index) => self.buckets.insert(index, added),
        }
    }

    /// Returns the number of recorded times.
    pub(super) fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| u64::from(bucket.count)).sum()
    }

    /// Returns the time in milliseconds that a share of the requests did not exceed. `None` without a request.
    pub(super) fn quantile_ms(&self, share: f64) -> Option<f64> {
        let rank = (self.count() as f64 * share).ceil().max(1.0) as u64;
        let mut counted = 0;
        for bucket in &self.buckets {
            counted += u64::from(bucket.count);
            if counted >= rank {
                return Some(middle_ms(bucket.number));
            }
        }
        None
    }
}

fn bucket_number(took: Duration) -> u8 {
    let ratio = took.as_secs_f64() * 1000.0 / FIRST_MS;
    // The cast saturates: shorter times are in the first bucket, longer ones in the last.
    (ratio.log2() * BUCKETS_PER_DOUBLING) as u8
}

/// The geometric middle of a bucket, rounded to a microsecond.
fn middle_ms(number: u8) -> f64 {
    let middle = FIRST_MS * ((f64::from(number) + 0.5) / BUCKETS_PER_DOUBLING).exp2();
    (middle * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_five_percent() {
        let mut latencies = Latencies::default();
        for milliseconds in 1..=1000 {
            latencies.record(Duration::from_millis(milliseconds));
        }
        assert_eq!(latencies.count(), 1000);
        for (share, exact) in [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = latencies.quantile_ms(share).expect("has times");
            assert!((found / exact - 1.0).abs() < 0.05, "{share}: {found} instead of {exact}");
        }
    }

    #[test]
    fn no_time_has_no_quantile() {
        assert_eq!(Latencies::default().quantile_ms(0.5), None);
    }

    #[test]
    fn extreme_times_are_counted() {
        let mut latencies = Latencies::default();
        latencies.record(Duration::ZERO);
        latencies.record(Duration::from_secs(1_000_000_000));
        assert_eq!(latencies.count(), 2);
        assert!(latencies.quantile_ms(0.5).expect("has times") < 0.02);
    }

    #[test]
    fn merged_times_are_those_of_both() {
        let mut one = Latencies::default();
        one.record(Duration::from_millis(1));
        let mut other = Latencies::default();
        other.record(Duration::from_millis(1));
        other.record(Duration::from_millis(100));
        one.merge(&other);
        assert_eq!(one.count(), 3);
        let slowest = one.quantile_ms(1.0).expect("has times");
        assert!((95.0..105.0).contains(&slowest), "{slowest}");
    }
}
