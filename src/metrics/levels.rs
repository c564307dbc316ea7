//! What is at a moment: how long the queue is, how much memory is taken, what the records take on disk.

use std::fs;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

type Level = Gauge<f64, AtomicU64>;

/// The state of the service that the gauges show.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServiceState {
    /// Accepted writes that are not ingested.
    pub queue_messages: usize,
    /// Age of the oldest of them, milliseconds of running time; 0 without one.
    pub queue_oldest_ms: u64,
    /// Workers that ingest a write.
    pub workers_busy: usize,
    /// Writes in the dead-letter queue.
    pub dead_letters: u64,
    /// Duration of the chat model's outage; zero while it responds.
    pub model_unavailable: Duration,
    /// Namespaces whose conversations wait for the chat model.
    pub namespaces_held: usize,
    /// Namespaces whose index is in memory.
    pub namespaces_open: usize,
    /// Namespaces with memories that wait for vectors.
    pub namespaces_behind: usize,
    /// Size of the records on disk.
    pub records_bytes: u64,
    /// Records in memory that are not in a file yet.
    pub records_memory_bytes: u64,
    /// Compactions that the records wait for.
    pub records_compactions_pending: u64,
}

/// The gauges, set when they are read.
pub(super) struct Levels {
    began: Instant,
    uptime: Level,
    queue: Level,
    oldest: Level,
    working: Level,
    dead: Level,
    model_unavailable: Level,
    held: Level,
    warm: Level,
    behind: Level,
    resident: Level,
    files: Level,
    records: Level,
    memtables: Level,
    compactions: Level,
}

impl Levels {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let mut level = |name: &str, help: &str| {
            let level = Level::default();
            registry.register(name, help, level.clone());
            level
        };
        Self {
            began: Instant::now(),
            uptime: level("uptime_seconds", "Time since the start"),
            queue: level("queue_messages", "Accepted writes that are not ingested yet"),
            oldest: level("queue_oldest_seconds", "For how long the oldest of them has waited"),
            working: level("workers_busy", "Ingestion workers with a write at hand"),
            dead: level("dead_letters", "Writes that failed for good"),
            model_unavailable: level(
                "model_unavailable_seconds",
                "For how long ingestion has waited for the chat model; 0 while the model answers",
            ),
            held: level("namespaces_held", "Namespaces whose conversations wait for the chat model"),
            warm: level("namespaces_open", "Namespaces whose index is in memory"),
            behind: level("namespaces_behind", "Namespaces with memories that wait for vectors"),
            resident: level("resident_bytes", "Memory of the process"),
            files: level("open_files", "Files and connections that are open"),
            records: level("records_bytes", "What the records take on disk"),
            memtables: level("records_memory_bytes", "Records in memory that are not in their files yet"),
            compactions: level("records_compactions_pending", "Whether the records' files wait to be merged"),
        }
    }

    pub(super) fn set(&self, state: &ServiceState) {
        self.uptime.set(self.began.elapsed().as_secs_f64());
        self.queue.set(state.queue_messages as f64);
        self.working.set(state.workers_busy as f64);
        self.oldest.set(state.queue_oldest_ms as f64 / 1000.0);
        self.dead.set(state.dead_letters as f64);
        self.model_unavailable.set(state.model_unavailable.as_secs_f64());
        self.held.set(state.namespaces_held as f64);
        self.warm.set(state.namespaces_open as f64);
        self.behind.set(state.namespaces_behind as f64);
        self.resident.set(resident_bytes());
        self.files.set(open_files() as f64);
        self.records.set(state.records_bytes as f64);
        self.memtables.set(state.records_memory_bytes as f64);
        self.compactions.set(state.records_compactions_pending as f64);
    }
}

/// Files and connections that the process has open; zero where the system does not say.
fn open_files() -> usize {
    match fs::read_dir("/proc/self/fd") {
        Ok(entries) => entries.count(),
        Err(_) => 0,
    }
}

/// Zero where the system does not say.
fn resident_bytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or_default() * 1024.0
}
