//! The number of threads that a search takes: every core if it is the only one, one if others run at the same time.

use std::sync::atomic::{AtomicUsize, Ordering};

/// With fewer rows than this, two threads gain next to nothing: waking one takes as long as the work that it could do.
const ROWS_MIN: usize = 1 << 15;

/// The number of searches that run. Several searches take one thread each, instead of waiting for each other's threads.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// A search that runs until this value is dropped.
pub(crate) struct RunningSearch {
    alone: bool,
}

impl RunningSearch {
    pub(crate) fn begin() -> Self {
        Self { alone: RUNNING.fetch_add(1, Ordering::Relaxed) == 0 }
    }

    /// Returns the threads that the search may take in a namespace of this many rows.
    pub(crate) fn threads(&self, rows: usize) -> Threads {
        if self.alone && rows >= ROWS_MIN { Threads::Several } else { Threads::One }
    }
}

impl Drop for RunningSearch {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The threads for a piece of work. They do not change its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// The calling thread.
    One,
    /// The threads of rayon's pool.
    Several,
}

impl Threads {
    /// Runs both functions, side by side if there are several threads.
    pub(crate) fn both<A: Send, B: Send>(
        self,
        first: impl FnOnce() -> A + Send,
        second: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        match self {
            Self::One => (first(), second()),
            Self::Several => rayon::join(first, second),
        }
    }
}
