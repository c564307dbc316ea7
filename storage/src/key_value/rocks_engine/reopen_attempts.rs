//! What is remembered of the attempts to reopen a database.

use std::time::Instant;

use super::probe::PROBE_BYTES_MIN;

/// The attempts to reopen a database.
pub(super) struct Reopening {
    pub(super) last: Option<Attempt>,
    /// Bytes that must be writable before the next attempt, since the engine writes files of its own when it opens: how
    /// many, depends on its log. Doubled when that was not enough.
    pub(super) room_bytes: usize,
}

impl Default for Reopening {
    fn default() -> Self {
        Self { last: None, room_bytes: PROBE_BYTES_MIN }
    }
}

/// The latest attempt to reopen a database.
pub(super) struct Attempt {
    pub(super) at: Instant,
    pub(super) end: AttemptEnd,
}

/// How an attempt ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AttemptEnd {
    /// The database accepts writes.
    Opened,
    /// There was too little space on the disk.
    LackedRoom,
    /// The database could not be opened for another reason.
    Failed,
}
