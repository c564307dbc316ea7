//! Progress of a long operation.

use serde::{Deserialize, Serialize};

/// The progress of a long operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The current step, for people.
    pub doing: String,
    /// Number of completed units.
    pub done: u64,
    /// Number of all units; zero if it is not known.
    pub all: u64,
}

impl Progress {
    /// Creates a report of progress.
    pub fn new(doing: impl Into<String>, done: u64, all: u64) -> Self {
        Self { doing: doing.into(), done, all }
    }
}
