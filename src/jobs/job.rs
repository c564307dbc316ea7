//! What a background job is: a name, a wait for its next work, and one run.
//!
//! The [supervisor](super::supervisor) gives each job a thread and alternates between [`Job::wait`] and [`Job::run`].

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::stop::{StopSignal, Wake};
use crate::error::Result;

/// The name of a job in the metrics, the API and the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum JobName {
    /// Commits and indexes accepted writes.
    Ingestion,
    /// Computes missing vectors and those of a new model.
    Reembedding,
    /// Removes the remains of deletions and replaced packs, and reserves disk space.
    Sweep,
    /// Removes records and files that are past their retention.
    Expiry,
    /// Debits wallets and reports to the payment provider.
    Settlement,
    /// Records the number of model calls and the running time.
    CallNotes,
    /// Stores copies of indexes in the bucket that nodes share.
    IndexSnapshots,
}

impl JobName {
    /// Returns the name as text.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// When a job continues after a failed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// After a wait that grows with each failure in a row.
    AfterBackoff,
    /// At its next wake. The job itself waits before it repeats the work that failed.
    OwnSchedule,
}

/// What a stop does with a run in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtStop {
    /// The stop waits until the run has finished.
    Finish,
    /// The stop waits for a moment only. The process may end during the run.
    Abandon,
}

/// Work that no request waits for, done by a thread of its own.
pub trait Job: Send {
    /// Returns the name. Several jobs of one name have one status.
    fn name(&self) -> JobName;

    /// Waits for the next work. Must return soon after a stop.
    fn wait(&mut self, stop: &StopSignal) -> Wake;

    /// Does the work that [`Self::wait`] found.
    ///
    /// # Errors
    ///
    /// The job has logged the error. The supervisor counts it.
    fn run(&mut self) -> Result<()>;

    /// Returns when the job continues after an error. After a panic every job backs off.
    fn retry(&self) -> Retry {
        Retry::AfterBackoff
    }

    /// Returns what a stop does with a run in progress.
    fn at_stop(&self) -> AtStop {
        AtStop::Finish
    }
}
