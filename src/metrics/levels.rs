//! Gauges: current values such as the length of the queue, the memory of the process and the size of the records.

use std::fs;
use std::time::{Duration, Instant};

use prometheus_client::registry::Registry;

use super::cluster::ClusterState;
use super::instruments::{Level, level};

/// The state of the service shown by the gauges.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServiceState {
    /// Accepted writes that are not ingested.
    pub queue_messages: usize,
    /// Workers that ingest a write.
    pub workers_busy: usize,
    /// Duration of the chat model's outage; zero while it responds.
    pub model_unavailable: Duration,
    /// Namespaces whose conversations wait for the chat model.
    pub namespaces_held: usize,
    /// Namespaces whose index is in memory.
    pub namespaces_open: usize,
    /// Namespaces with memories that wait for vectors.
    pub namespaces_behind: usize,
    /// What the records show. `None` if they cannot be read at the moment: the gauges then keep their values.
    pub records: Option<RecordState>,
    /// The state of this node. `None` in a process that is alone.
    pub cluster: Option<ClusterState>,
}

/// The state of the records shown by the gauges.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordState {
    /// Age of the oldest accepted write that is not ingested, milliseconds of running time; 0 without one.
    pub queue_oldest_ms: u64,
    /// Writes in the dead-letter queue.
    pub dead_letters: u64,
    /// Size of the records on disk.
    pub disk_bytes: u64,
    /// Records in memory that are not in a file yet.
    pub memory_bytes: u64,
    /// Column families of the records with a pending compaction.
    pub compactions_pending: u64,
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
        if let Some(records) = &state.records {
            self.queue.set_records(records);
            self.records.set(records);
        }
    }
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
        self.busy.set(state.workers_busy as f64);
        self.model_unavailable.set(state.model_unavailable.as_secs_f64());
    }

    fn set_records(&self, records: &RecordState) {
        self.oldest.set(records.queue_oldest_ms as f64 / 1000.0);
        self.dead_letters.set(records.dead_letters as f64);
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

    fn set(&self, records: &RecordState) {
        self.disk.set(records.disk_bytes as f64);
        self.memory.set(records.memory_bytes as f64);
        self.compactions.set(records.compactions_pending as f64);
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
