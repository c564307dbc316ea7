//! Gauges: current values such as the length of the queue, the memory of the process and the size of the records.

use std::fs;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

type Level = Gauge<f64, AtomicU64>;

/// The state of the service shown by the gauges.
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
    /// Column families of the records with a pending compaction.
    pub records_compactions_pending: u64,
}

/// The gauges, set when they are read.
pub(super) struct Levels {
    process: ProcessLevels,
    queue: QueueLevels,
    namespaces: NamespaceLevels,
    records: RecordLevels,
}

impl Levels {
    pub(super) fn new(registry: &mut Registry) -> Self {
        Self {
            process: ProcessLevels::new(registry),
            queue: QueueLevels::new(registry),
            namespaces: NamespaceLevels::new(registry),
            records: RecordLevels::new(registry),
        }
    }

    pub(super) fn set(&self, state: &ServiceState) {
        self.process.set();
        self.queue.set(state);
        self.namespaces.set(state);
        self.records.set(state);
    }
}

/// Registers a gauge.
fn level(registry: &mut Registry, name: &str, help: &str) -> Level {
    let level = Level::default();
    registry.register(name, help, level.clone());
    level
}

/// What the process uses.
struct ProcessLevels {
    began: Instant,
    uptime: Level,
    resident: Level,
    files: Level,
}

impl ProcessLevels {
    fn new(registry: &mut Registry) -> Self {
        Self {
            began: Instant::now(),
            uptime: level(registry, "uptime_seconds", "Time since the start"),
            resident: level(registry, "resident_bytes", "Resident memory of the process"),
            files: level(registry, "open_files", "Open files and connections of the process"),
        }
    }

    fn set(&self) {
        self.uptime.set(self.began.elapsed().as_secs_f64());
        self.resident.set(resident_bytes());
        self.files.set(open_files() as f64);
    }
}

/// Accepted writes and the model that some of them wait for.
struct QueueLevels {
    messages: Level,
    oldest: Level,
    busy: Level,
    dead_letters: Level,
    model_unavailable: Level,
}

impl QueueLevels {
    fn new(registry: &mut Registry) -> Self {
        Self {
            messages: level(registry, "queue_messages", "Accepted writes that are not ingested yet"),
            oldest: level(
                registry,
                "queue_oldest_seconds",
                "Age of the oldest accepted write that is not ingested yet",
            ),
            busy: level(registry, "workers_busy", "Ingestion workers that are ingesting a write"),
            dead_letters: level(registry, "dead_letters", "Writes in the dead-letter queue"),
            model_unavailable: level(
                registry,
                "model_unavailable_seconds",
                "Duration of the chat model's outage; 0 while the model responds",
            ),
        }
    }

    fn set(&self, state: &ServiceState) {
        self.messages.set(state.queue_messages as f64);
        self.oldest.set(state.queue_oldest_ms as f64 / 1000.0);
        self.busy.set(state.workers_busy as f64);
        self.dead_letters.set(state.dead_letters as f64);
        self.model_unavailable.set(state.model_unavailable.as_secs_f64());
    }
}

/// The states of namespaces.
struct NamespaceLevels {
    held: Level,
    open: Level,
    behind: Level,
}

impl NamespaceLevels {
    fn new(registry: &mut Registry) -> Self {
        Self {
            held: level(registry, "namespaces_held", "Namespaces whose conversations wait for the chat model"),
            open: level(registry, "namespaces_open", "Namespaces whose index is in memory"),
            behind: level(registry, "namespaces_behind", "Namespaces with memories that wait for vectors"),
        }
    }

    fn set(&self, state: &ServiceState) {
        self.held.set(state.namespaces_held as f64);
        self.open.set(state.namespaces_open as f64);
        self.behind.set(state.namespaces_behind as f64);
    }
}

/// The size of the records.
struct RecordLevels {
    disk: Level,
    memory: Level,
    compactions: Level,
}

impl RecordLevels {
    fn new(registry: &mut Registry) -> Self {
        Self {
            disk: level(registry, "records_bytes", "Size of the records on disk"),
            memory: level(registry, "records_memory_bytes", "Size of records in memory that are not in a file yet"),
            compactions: level(
                registry,
                "records_compactions_pending",
                "Column families of the records with a pending compaction",
            ),
        }
    }

    fn set(&self, state: &ServiceState) {
        self.disk.set(state.records_bytes as f64);
        self.memory.set(state.records_memory_bytes as f64);
        self.compactions.set(state.records_compactions_pending as f64);
    }
}

/// Returns the number of open files and connections of the process; 0 if the system does not report it.
fn open_files() -> usize {
    match fs::read_dir("/proc/self/fd") {
        Ok(entries) => entries.count(),
        Err(_) => 0,
    }
}

/// Returns the resident memory of the process in bytes; 0 if the system does not report it.
fn resident_bytes() -> f64 {
    let Ok(status) = fs::read_to_string("/proc/self/status") else { return 0.0 };
    for line in status.lines() {
        // The value is in KiB, followed by the unit.
        if let Some(value) = line.strip_prefix("VmRSS:") {
            let kib = value.trim().trim_end_matches(" kB").parse::<f64>();
            return kib.unwrap_or(0.0) * 1024.0;
        }
    }
    0.0
}
