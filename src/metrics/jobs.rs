//! Metrics of the background jobs, set when they are read.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// What the metrics show of a job.
#[derive(Clone, Copy, Debug)]
pub struct JobSample {
    /// Name of the job.
    pub job: &'static str,
    /// Number of its threads by state; every state is listed.
    pub threads: [(&'static str, usize); 3],
    /// Number of runs, including those in progress.
    pub runs: u64,
    /// Number of runs that failed or panicked.
    pub failures: u64,
    /// When the last run began, milliseconds since the epoch.
    pub last_run_ms: Option<i64>,
}

/// The metrics of all jobs.
pub(super) struct JobMetrics {
    runs: Family<JobLabels, Counter>,
    failures: Family<JobLabels, Counter>,
    threads: Family<JobStateLabels, Gauge>,
    last_run: Family<JobLabels, Gauge<f64, AtomicU64>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JobLabels {
    job: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JobStateLabels {
    job: &'static str,
    state: &'static str,
}

impl JobMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let runs = Family::<JobLabels, Counter>::default();
        let failures = Family::<JobLabels, Counter>::default();
        let threads = Family::<JobStateLabels, Gauge>::default();
        let last_run = Family::<JobLabels, Gauge<f64, AtomicU64>>::default();
        registry.register("job_runs", "Runs of a background job, including those in progress", runs.clone());
        registry.register("job_failures", "Runs of a background job that failed or panicked", failures.clone());
        registry.register("job_state", "Threads of a background job, by state", threads.clone());
        registry.register(
            "job_last_run_timestamp_seconds",
            "Time at which the last run of a background job began, in seconds since the epoch",
            last_run.clone(),
        );
        Self { runs, failures, threads, last_run }
    }

    pub(super) fn set(&self, samples: &[JobSample]) {
        for sample in samples {
            let labels = JobLabels { job: sample.job };
            // Two requests may set the counters in the order opposite to their samples, and a counter never decreases.
            self.runs.get_or_create(&labels).inner().fetch_max(sample.runs, Ordering::Relaxed);
            self.failures.get_or_create(&labels).inner().fetch_max(sample.failures, Ordering::Relaxed);
            if let Some(last_run_ms) = sample.last_run_ms {
                self.last_run.get_or_create(&labels).set(last_run_ms as f64 / 1000.0);
            }
            for (state, threads) in sample.threads {
                let labels = JobStateLabels { job: sample.job, state };
                self.threads.get_or_create(&labels).set(i64::try_from(threads).unwrap_or(i64::MAX));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_jobs_never_decrease() {
        let mut registry = Registry::with_prefix("cuebase");
        let metrics = JobMetrics::new(&mut registry);
        let sample = |runs| JobSample {
            job: "sweep",
            threads: [("waiting", 1), ("running", 0), ("backing_off", 0)],
            runs,
            failures: 1,
            last_run_ms: Some(1_500),
        };
        metrics.set(&[sample(3)]);
        metrics.set(&[sample(2)]);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).expect("encodes");
        for line in [
            "cuebase_job_runs_total{job=\"sweep\"} 3",
            "cuebase_job_failures_total{job=\"sweep\"} 1",
            "cuebase_job_state{job=\"sweep\",state=\"waiting\"} 1",
            "cuebase_job_state{job=\"sweep\",state=\"running\"} 0",
            "cuebase_job_last_run_timestamp_seconds{job=\"sweep\"} 1.5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }
}
