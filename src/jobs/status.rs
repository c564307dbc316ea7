//! The status of each job: what its threads do, and how often it ran and failed.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::job::JobName;
use crate::clock::Clock;

/// What a thread of a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum JobState {
    /// It waits for work.
    Waiting,
    /// It works.
    Running,
    /// It waits after a failure.
    BackingOff,
}

impl JobState {
    /// Returns the name of the state.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The status of a job since the start of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStatus {
    /// Name of the job.
    pub name: JobName,
    /// Threads that wait for work.
    pub waiting: usize,
    /// Threads that work.
    pub running: usize,
    /// Threads that wait after a failure.
    pub backing_off: usize,
    /// Number of runs, including those in progress.
    pub runs: u64,
    /// Number of runs that failed or panicked.
    pub failures: u64,
    /// Code of the last error; `None` if no run has failed.
    pub last_error: Option<&'static str>,
    /// When the last run began.
    pub last_run: Option<Timestamp>,
}

impl JobStatus {
    pub(super) fn new(name: JobName) -> Self {
        Self { name, waiting: 0, running: 0, backing_off: 0, runs: 0, failures: 0, last_error: None, last_run: None }
    }

    /// Returns the state of the job: running if any of its threads is, otherwise backing off if any is.
    pub fn state(&self) -> JobState {
        if self.running > 0 {
            JobState::Running
        } else if self.backing_off > 0 {
            JobState::BackingOff
        } else {
            JobState::Waiting
        }
    }

    fn threads_mut(&mut self, state: JobState) -> &mut usize {
        match state {
            JobState::Waiting => &mut self.waiting,
            JobState::Running => &mut self.running,
            JobState::BackingOff => &mut self.backing_off,
        }
    }
}

/// The statuses of all jobs of a supervisor.
pub(super) struct StatusBoard {
    clock: Clock,
    jobs: Mutex<BTreeMap<JobName, JobStatus>>,
}

impl StatusBoard {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, jobs: Mutex::default() }
    }

    /// Adds a thread of a job, which waits.
    pub(super) fn add_thread(board: &Arc<Self>, name: JobName) -> ThreadStatus {
        let mut jobs = board.jobs.lock();
        jobs.entry(name).or_insert_with(|| JobStatus::new(name)).waiting += 1;
        ThreadStatus { board: Arc::clone(board), name, state: JobState::Waiting }
    }

    /// Returns the statuses of all jobs, in the order of [`JobName`].
    pub(super) fn list(&self) -> Vec<JobStatus> {
        self.jobs.lock().values().cloned().collect()
    }
}

/// The part of one thread in the status of its job.
pub(super) struct ThreadStatus {
    board: Arc<StatusBoard>,
    name: JobName,
    state: JobState,
}

impl ThreadStatus {
    /// Records the begin of a run.
    pub(super) fn begin_run(&mut self) {
        let now = self.board.clock.now();
        let mut jobs = self.board.jobs.lock();
        if let Some(status) = jobs.get_mut(&self.name) {
            status.runs += 1;
            status.last_run = Some(now);
            *status.threads_mut(self.state) -= 1;
            status.running += 1;
        }
        self.state = JobState::Running;
    }

    /// Records the failure of a run.
    pub(super) fn record_failure(&self, code: &'static str) {
        if let Some(status) = self.board.jobs.lock().get_mut(&self.name) {
            status.failures += 1;
            status.last_error = Some(code);
        }
    }

    /// Changes the state of the thread.
    pub(super) fn enter(&mut self, state: JobState) {
        if let Some(status) = self.board.jobs.lock().get_mut(&self.name) {
            *status.threads_mut(self.state) -= 1;
            *status.threads_mut(state) += 1;
        }
        self.state = state;
    }
}
