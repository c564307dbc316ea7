//! What is at a moment: how long the queue is, how much memory is taken, what the records take on disk.

use std::fs;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::service::{Outcome, Service};

type Level = Gauge<f64, AtomicU64>;

/// The gauges, set anew whenever they are read.
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

    pub(super) fn read(&self, service: &Service) -> Outcome<()> {
        let queue = service.queue.levels();
        self.uptime.set(self.began.elapsed().as_secs_f64());
        self.queue.set(queue.waiting as f64);
        self.working.set(queue.busy as f64);
        let oldest = service.oldest_queued()?;
        self.oldest.set(oldest.map_or(0.0, |entry| service.waited_ms(&entry) as f64 / 1000.0));
        self.dead.set(service.store.dead_letter_count()? as f64);
        let outage = service.queue.outage();
        self.model_unavailable.set(outage.map_or(0.0, |outage| outage.lasted.as_secs_f64()));
        self.held.set(outage.map_or(0.0, |outage| outage.namespaces as f64));
        self.warm.set(service.namespaces.open_count() as f64);
        self.behind.set(service.backlog.list().len() as f64);
        self.resident.set(resident_bytes());
        self.files.set(fs::read_dir("/proc/self/fd").map_or(0, Iterator::count) as f64);
        let records = service.store.levels();
        self.records.set(records.disk_bytes as f64);
        self.memtables.set(records.memory_bytes as f64);
        self.compactions.set(records.compactions_pending as f64);
        Ok(())
    }
}

/// Zero where the system does not tell.
fn resident_bytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or_default() * 1024.0
}
