//! What whoever runs the service does with a data directory: copy it, put a copy in its place, see whether it is sound.
//!
//! [`backup`] copies everything while the service works; [`restore`] makes a data directory of such a copy; [`doctor`]
//! looks at everything and mends what is derived; [`export`] and [`import`] take single namespaces out and in.

pub mod backup;
pub mod doctor;
pub mod export;
pub mod import;
pub mod manifest;
pub mod restore;

use serde::{Deserialize, Serialize};

/// How far a long task is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// What is being done, for people.
    pub doing: String,
    /// So much of it is done.
    pub done: u64,
    /// So much there is to do; zero where that is not known.
    pub all: u64,
}

impl Progress {
    /// A step of a task.
    pub fn new(doing: impl Into<String>, done: u64, all: u64) -> Self {
        Self { doing: doing.into(), done, all }
    }
}
