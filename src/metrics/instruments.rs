//! The kinds of metrics that several files register.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// Upper bound of the first bucket of a histogram of times, in seconds. Each further bound is twice the former.
const FIRST_BUCKET_SECONDS: f64 = 0.000_25;
/// Number of buckets; the last one ends at about half a minute.
const BUCKETS: u16 = 18;

/// A gauge.
pub(super) type Level = Gauge<f64, AtomicU64>;

/// Registers a gauge.
pub(super) fn level(registry: &mut Registry, name: &str, help: &str) -> Level {
    let level = Level::default();
    registry.register(name, help, level.clone());
    level
}

/// Returns a histogram of times in seconds. It is not registered.
pub(super) fn times() -> Histogram {
    Histogram::new(exponential_buckets(FIRST_BUCKET_SECONDS, 2.0, BUCKETS))
}
