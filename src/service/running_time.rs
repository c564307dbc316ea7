//! The total running time of services on a data directory.

use std::time::{Duration, Instant};

use cuebase_storage::Store;
use cuebase_storage::records::QueueEntry;
use parking_lot::Mutex;

use crate::error::Result;

/// How long services have run on a data directory. The age of a waiting write is measured in running time: a clock can
/// be set, and it also advances while no service runs.
///
/// Of several nodes that share the data, one counts ([`Counts`]). The others read what it recorded, and add the time
/// since then by their own clocks. The value of a process never goes back.
pub struct RunningTime {
    reached: Mutex<Reached>,
    /// Locked by a record until it ends, so that no time is added twice.
    recording: Mutex<()>,
}

/// A running time, and when it was reached.
struct Reached {
    total_ms: u64,
    at: Instant,
}

impl Reached {
    /// The whole milliseconds that have passed since then.
    fn passed_ms(&self) -> u64 {
        u64::try_from(self.at.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// Which process adds the time that passes to the recorded running time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// This one. It is the only process, or the node that does the periodic work of all.
    Here,
    /// Another node.
    Elsewhere,
}

impl RunningTime {
    /// Continues from the running time of earlier processes.
    pub fn continue_from(before_ms: u64) -> Self {
        Self { reached: Mutex::new(Reached { total_ms: before_ms, at: Instant::now() }), recording: Mutex::default() }
    }

    /// Returns the running time up to now, in milliseconds.
    pub fn now_ms(&self) -> u64 {
        let reached = self.reached.lock();
        reached.total_ms.saturating_add(reached.passed_ms())
    }

    /// Returns how long a queued write has waited, in milliseconds of running time.
    pub fn waited_ms(&self, entry: &QueueEntry) -> u64 {
        self.now_ms().saturating_sub(entry.accepted_running_ms)
    }

    /// Adds the time since the last call to the recorded running time, from which the next process continues. If another
    /// node counts, reads the running time that it recorded.
    ///
    /// If this fails, the time is added by the next call. A shared database may have applied an addition whose answer was
    /// lost; it is then counted twice.
    pub fn record(&self, store: &Store, counts: Counts) -> Result<()> {
        let _recording = self.recording.lock();
        let passed_ms = self.reached.lock().passed_ms();
        // `reached` is not locked meanwhile, because accepted writes need the time.
        let recorded_ms = match counts {
            Counts::Here => store.add_running_ms(passed_ms)?,
            Counts::Elsewhere => store.running_ms()?,
        };
        let mut reached = self.reached.lock();
        reached.total_ms = reached.total_ms.saturating_add(passed_ms).max(recorded_ms);
        reached.at += Duration::from_millis(passed_ms);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets a minute pass.
    fn pass_a_minute(running: &RunningTime) {
        running.reached.lock().at -= Duration::from_secs(60);
    }

    #[test]
    fn the_time_that_passes_is_recorded_once() {
        let store = Store::in_memory().expect("creates");
        let running = RunningTime::continue_from(0);
        pass_a_minute(&running);
        running.record(&store, Counts::Here).expect("records");
        let recorded_ms = store.running_ms().expect("reads");
        assert!((60_000..120_000).contains(&recorded_ms), "{recorded_ms}");
        running.record(&store, Counts::Here).expect("records");
        assert!(store.running_ms().expect("reads") < 120_000);
        assert!((60_000..120_000).contains(&running.now_ms()));
        pass_a_minute(&running);
        assert!(running.now_ms() >= 120_000, "the time passes between two records");
    }

    #[test]
    fn a_node_that_does_not_count_reads_the_time_and_never_goes_back() {
        let store = Store::in_memory().expect("creates");
        store.add_running_ms(500_000).expect("records");
        let running = RunningTime::continue_from(0);
        running.record(&store, Counts::Elsewhere).expect("reads");
        assert!(running.now_ms() >= 500_000);
        pass_a_minute(&running);
        running.record(&store, Counts::Elsewhere).expect("reads");
        assert!(running.now_ms() >= 560_000);
        assert_eq!(store.running_ms().expect("reads"), 500_000);
        pass_a_minute(&running);
        running.record(&store, Counts::Here).expect("records");
        let recorded_ms = store.running_ms().expect("reads");
        assert!((560_000..620_000).contains(&recorded_ms), "only the time since the last record: {recorded_ms}");
    }
}
