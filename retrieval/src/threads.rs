//! How many threads a search takes: every core where it is alone, one where others are under way.

use std::sync::atomic::{AtomicUsize, Ordering};

/// With fewer rows than this two threads gain next to nothing: waking another takes as long as what it could do.
const ROWS_MIN: usize = 1 << 15;

/// Searches under way. Several keep to a thread each instead of waiting for one another's.
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// A search under way, until it is dropped.
pub(crate) struct UnderWay {
    alone: bool,
}

impl UnderWay {
    pub(crate) fn begin() -> Self {
        Self { alone: UNDER_WAY.fetch_add(1, Ordering::Relaxed) == 0 }
    }

    /// What it may take in a namespace of so many rows.
    pub(crate) fn threads(&self, rows: usize) -> Threads {
        if self.alone && rows >= ROWS_MIN { Threads::Several } else { Threads::One }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        UNDER_WAY.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How many threads there are for something. What comes of it is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// The calling one.
    One,
    /// Those of rayon's pool.
    Several,
}

impl Threads {
    /// Does both, side by side where there are several threads.
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
