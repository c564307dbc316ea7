//! The total running time of services on a data directory.

use std::time::Instant;

use cuebase_storage::records::QueueEntry;

/// How long services have run on a data directory. The age of a waiting write is measured in running time: a clock can
/// be set, and it also advances while no service runs.
pub struct RunningTime {
    /// Running time of earlier processes, in milliseconds.
    before_ms: u64,
    /// When this process began.
    began: Instant,
}

impl RunningTime {
    /// Continues from the running time of earlier processes.
    pub fn continue_from(before_ms: u64) -> Self {
        Self { before_ms, began: Instant::now() }
    }

    /// Returns the running time up to now, in milliseconds.
    pub fn now_ms(&self) -> u64 {
        let passed = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.before_ms.saturating_add(passed)
    }

    /// Returns how long a queued write has waited, in milliseconds of running time.
    pub fn waited_ms(&self, entry: &QueueEntry) -> u64 {
        self.now_ms().saturating_sub(entry.accepted_running_ms)
    }
}
