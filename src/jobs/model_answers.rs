//! Numbers of writes that the chat model answered, in this process and at other nodes.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// Counts of writes that the chat model answered.
#[derive(Default)]
pub(super) struct ModelAnswers {
    /// Writes of this process.
    here: AtomicU64,
    /// Writes of all other nodes, when they were last asked.
    elsewhere: Mutex<Option<u64>>,
}

impl ModelAnswers {
    /// Counts a write of this process.
    pub(super) fn count(&self) {
        self.here.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of writes of this process.
    pub(super) fn here(&self) -> u64 {
        self.here.load(Ordering::Relaxed)
    }

    /// Takes note of the number of writes of all other nodes. Returns whether it has grown since the last call. It
    /// shrinks when a node has ended.
    pub(super) fn have_grown_elsewhere(&self, answers: u64) -> bool {
        let before = self.elsewhere.lock().replace(answers);
        before.is_some_and(|before| answers > before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_at_other_nodes_matter_once_there_are_more() {
        let counts = ModelAnswers::default();
        let mut grown = Vec::new();
        for answers in [5, 5, 6, 2, 3] {
            grown.push(counts.have_grown_elsewhere(answers));
        }
        assert_eq!(grown, [false, false, true, false, true]);
        counts.count();
        assert_eq!(counts.here(), 1, "those of other nodes are not among them");
    }
}
