//! The supervisor: a thread for each job, its waits after failures, its status, and the stop of all.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::job::{AtStop, Job, Retry};
use super::status::{JobState, JobStatus, StatusBoard, ThreadStatus};
use super::stop::{StopSignal, Wake};
use crate::clock::Clock;

/// The error code of a run that panicked.
const PANIC: &str = "panic";

/// The waits after failures in a row.
#[derive(Clone, Copy)]
struct Backoff {
    /// The wait after the first failure. It doubles with each further one.
    min: Duration,
    /// The longest wait.
    max: Duration,
}

/// The waits of the jobs of a service.
const BACKOFF: Backoff = Backoff { min: Duration::from_secs(1), max: Duration::from_secs(60) };

impl Backoff {
    /// Returns the wait after a number of failures in a row, which is at least 1.
    fn after(self, failures: u32) -> Duration {
        self.min.saturating_mul(2u32.saturating_pow(failures.saturating_sub(1))).min(self.max)
    }
}

/// The running jobs.
pub struct Supervisor {
    stop: Arc<StopSignal>,
    board: Arc<StatusBoard>,
    /// The threads that a stop waits for.
    awaited: Vec<JoinHandle<()>>,
    /// The threads that a stop leaves behind if they do not end soon.
    abandoned: Vec<JoinHandle<()>>,
}

/// How long a stop waits for jobs that need not finish. Nearly all end at once. One that ended while the process exits
/// would close the database after RocksDB has removed its global state, which aborts the process.
const ABANDON_AFTER: Duration = Duration::from_millis(200);
/// The wait between two looks at such a job.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

impl Supervisor {
    /// Starts a thread for each job. Several jobs may have the same name.
    ///
    /// # Errors
    ///
    /// The system refuses a thread. The jobs that have started end at their next wait for the stop signal.
    pub fn start(jobs: Vec<Box<dyn Job>>, clock: &Clock) -> std::io::Result<Self> {
        Self::start_with_backoff(jobs, clock, BACKOFF)
    }

    fn start_with_backoff(jobs: Vec<Box<dyn Job>>, clock: &Clock, backoff: Backoff) -> std::io::Result<Self> {
        let board = Arc::new(StatusBoard::new(clock.clone()));
        let mut supervisor = Self { stop: Arc::default(), board, awaited: Vec::new(), abandoned: Vec::new() };
        for (number, job) in jobs.into_iter().enumerate() {
            if let Err(error) = supervisor.spawn(number, job, backoff) {
                supervisor.stop.set();
                return Err(error);
            }
        }
        Ok(supervisor)
    }

    fn spawn(&mut self, number: usize, job: Box<dyn Job>, backoff: Backoff) -> std::io::Result<()> {
        let (name, at_stop) = (job.name(), job.at_stop());
        let supervised = SupervisedJob {
            job,
            status: StatusBoard::add_thread(&self.board, name),
            stop: Arc::clone(&self.stop),
            backoff,
            failures_in_a_row: 0,
        };
        let builder = thread::Builder::new().name(format!("{}-{number}", name.as_str()));
        let thread = builder.spawn(move || supervised.run_until_stopped())?;
        match at_stop {
            AtStop::Finish => self.awaited.push(thread),
            AtStop::Abandon => self.abandoned.push(thread),
        }
        Ok(())
    }

    /// Returns the status of each job.
    pub fn status(&self) -> Vec<JobStatus> {
        self.board.list()
    }

    /// Stops all jobs after their current run, and waits for those that finish it. Jobs that wait for something else
    /// than the stop signal must have been woken before.
    pub fn drain(self) {
        self.drain_within(ABANDON_AFTER);
    }

    fn drain_within(self, abandon_after: Duration) {
        self.stop.set();
        for thread in self.awaited {
            if thread.join().is_err() {
                tracing::error!("a worker thread panicked");
            }
        }
        let deadline = Instant::now() + abandon_after;
        for thread in self.abandoned {
            while !thread.is_finished() && Instant::now() < deadline {
                thread::sleep(LOOK_INTERVAL);
            }
            // Dropping the handle detaches a thread that still runs.
        }
    }
}

/// A job on its thread.
struct SupervisedJob {
    job: Box<dyn Job>,
    status: ThreadStatus,
    stop: Arc<StopSignal>,
    backoff: Backoff,
    failures_in_a_row: u32,
}

/// The outcome of a wait and the run after it.
enum Step {
    /// The job ends.
    Stopped,
    Done,
    /// The run failed with an error of this code.
    Failed(&'static str),
    Panicked,
}

impl SupervisedJob {
    fn run_until_stopped(mut self) {
        while !self.stop.is_set() {
            let step = catch_unwind(AssertUnwindSafe(|| self.step())).unwrap_or(Step::Panicked);
            match step {
                Step::Stopped => return,
                Step::Done => {
                    self.failures_in_a_row = 0;
                    self.status.enter(JobState::Waiting);
                }
                Step::Failed(code) => self.handle_error(code),
                Step::Panicked => {
                    let job = self.job.name().as_str();
                    tracing::error!(job, "a background job panicked and is started again");
                    self.status.record_failure(PANIC);
                    self.back_off();
                }
            }
        }
    }

    /// Waits for work and does it.
    fn step(&mut self) -> Step {
        if self.job.wait(&self.stop) == Wake::Stop {
            return Step::Stopped;
        }
        self.status.begin_run();
        match self.job.run() {
            Ok(()) => Step::Done,
            Err(error) => Step::Failed(error.code()),
        }
    }

    fn handle_error(&mut self, code: &'static str) {
        tracing::debug!(job = self.job.name().as_str(), failure = code, "a run of a background job failed");
        self.status.record_failure(code);
        match self.job.retry() {
            Retry::AfterBackoff => self.back_off(),
            Retry::OwnSchedule => self.status.enter(JobState::Waiting),
        }
    }

    /// Waits after a failure, at most until the stop.
    fn back_off(&mut self) {
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        self.status.enter(JobState::BackingOff);
        self.stop.wait_for(self.backoff.after(self.failures_in_a_row));
        self.status.enter(JobState::Waiting);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

    use jiff::Timestamp;

    use super::*;
    use crate::error::{Error, Result};
    use crate::jobs::job::JobName;

    /// Longer than any test: a wait of this length ends by a stop only.
    const FOREVER: Duration = Duration::from_secs(24 * 60 * 60);
    const NO_BACKOFF: Backoff = Backoff { min: Duration::ZERO, max: Duration::ZERO };
    const ENDLESS_BACKOFF: Backoff = Backoff { min: FOREVER, max: FOREVER };

    /// A job that runs once for each message of its test.
    struct TestJob {
        name: JobName,
        /// The outcome of a run, by its number from 1.
        outcome: fn(u32) -> Result<()>,
        retry: Retry,
        at_stop: AtStop,
        runs: u32,
        work: Receiver<()>,
        begun: Sender<u32>,
    }

    /// The test's end of a job.
    struct Remote {
        work: Sender<()>,
        begun: Receiver<u32>,
    }

    impl Remote {
        /// Makes the job run once more.
        fn order_run(&self) {
            self.work.send(()).expect("the job lives");
        }

        /// Waits for the begin of a run. Returns its number.
        fn next_run(&self) -> u32 {
            self.begun.recv().expect("the job lives")
        }
    }

    impl Job for TestJob {
        fn name(&self) -> JobName {
            self.name
        }

        fn wait(&mut self, stop: &StopSignal) -> Wake {
            match self.work.recv() {
                Ok(()) => Wake::Work,
                // The test orders no more runs.
                Err(_) => stop.wait_for(FOREVER),
            }
        }

        fn run(&mut self) -> Result<()> {
            self.runs += 1;
            self.begun.send(self.runs).expect("the test listens");
            (self.outcome)(self.runs)
        }

        fn retry(&self) -> Retry {
            self.retry
        }

        fn at_stop(&self) -> AtStop {
            self.at_stop
        }
    }

    fn succeed(_: u32) -> Result<()> {
        Ok(())
    }

    fn fail(_: u32) -> Result<()> {
        Err(Error::NamespaceGone)
    }

    fn panic_first(run: u32) -> Result<()> {
        assert_ne!(run, 1, "the first run panics");
        Ok(())
    }

    fn job(name: JobName, outcome: fn(u32) -> Result<()>) -> (TestJob, Remote) {
        let (work, orders) = channel();
        let (begun, runs) = channel();
        let (retry, at_stop) = (Retry::AfterBackoff, AtStop::Finish);
        let job = TestJob { name, outcome, retry, at_stop, runs: 0, work: orders, begun };
        (job, Remote { work, begun: runs })
    }

    fn start(jobs: Vec<Box<dyn Job>>, backoff: Backoff) -> Supervisor {
        Supervisor::start_with_backoff(jobs, &Clock::system(), backoff).expect("threads")
    }

    /// Waits until a job is in a state. Returns its status.
    fn wait_for_state(supervisor: &Supervisor, name: JobName, state: JobState) -> JobStatus {
        loop {
            for status in supervisor.status() {
                if status.name == name && status.state() == state {
                    return status;
                }
            }
            thread::yield_now();
        }
    }

    #[test]
    fn a_panicking_job_runs_again_after_its_backoff() {
        let (panicking, panicking_remote) = job(JobName::Sweep, panic_first);
        let (steady, steady_remote) = job(JobName::Expiry, succeed);
        let supervisor = start(vec![Box::new(panicking), Box::new(steady)], NO_BACKOFF);
        panicking_remote.order_run();
        assert_eq!(panicking_remote.next_run(), 1);
        panicking_remote.order_run();
        assert_eq!(panicking_remote.next_run(), 2);
        let status = wait_for_state(&supervisor, JobName::Sweep, JobState::Waiting);
        assert_eq!((status.runs, status.failures, status.last_error), (2, 1, Some(PANIC)));
        steady_remote.order_run();
        assert_eq!(steady_remote.next_run(), 1);
        drop((panicking_remote.work, steady_remote.work));
        supervisor.drain();
    }

    #[test]
    fn a_failing_job_backs_off_while_others_go_on() {
        let (failing, failing_remote) = job(JobName::Settlement, fail);
        let (steady, steady_remote) = job(JobName::Sweep, succeed);
        let supervisor = start(vec![Box::new(failing), Box::new(steady)], ENDLESS_BACKOFF);
        failing_remote.order_run();
        failing_remote.order_run();
        let status = wait_for_state(&supervisor, JobName::Settlement, JobState::BackingOff);
        assert_eq!((status.runs, status.failures, status.backing_off), (1, 1, 1));
        assert_eq!(status.last_error, Some(Error::NamespaceGone.code()));
        for run in 1..=3 {
            steady_remote.order_run();
            assert_eq!(steady_remote.next_run(), run);
        }
        let status = wait_for_state(&supervisor, JobName::Sweep, JobState::Waiting);
        assert_eq!((status.runs, status.failures, status.last_error), (3, 0, None));
        drop(steady_remote.work);
        supervisor.drain();
        let runs = failing_remote.begun.into_iter().count();
        assert_eq!(runs, 1, "the stop ended the backoff without another run");
    }

    #[test]
    fn a_job_with_its_own_schedule_does_not_back_off() {
        let (failing, remote) = job(JobName::Reembedding, fail);
        let failing = TestJob { retry: Retry::OwnSchedule, ..failing };
        let supervisor = start(vec![Box::new(failing)], ENDLESS_BACKOFF);
        for run in 1..=3 {
            remote.order_run();
            assert_eq!(remote.next_run(), run);
        }
        let status = wait_for_state(&supervisor, JobName::Reembedding, JobState::Waiting);
        assert_eq!((status.runs, status.failures), (3, 3));
        drop(remote.work);
        supervisor.drain();
    }

    #[test]
    fn threads_of_one_job_share_its_status() {
        let now = Timestamp::from_second(1_000_000).expect("a time");
        let (first, first_remote) = job(JobName::Ingestion, succeed);
        let (second, second_remote) = job(JobName::Ingestion, succeed);
        let jobs: Vec<Box<dyn Job>> = vec![Box::new(first), Box::new(second)];
        let supervisor = Supervisor::start_with_backoff(jobs, &Clock::manual(now), NO_BACKOFF).expect("threads");
        let idle = JobStatus { waiting: 2, ..JobStatus::new(JobName::Ingestion) };
        assert_eq!(supervisor.status(), std::slice::from_ref(&idle));
        for remote in [&first_remote, &second_remote] {
            remote.order_run();
            assert_eq!(remote.next_run(), 1);
        }
        let status = wait_for_state(&supervisor, JobName::Ingestion, JobState::Waiting);
        assert_eq!(status, JobStatus { runs: 2, last_run: Some(now), ..idle });
        drop((first_remote.work, second_remote.work));
        supervisor.drain();
    }

    #[test]
    fn a_stop_waits_for_runs_but_not_for_abandoned_ones() {
        let (finished, finished_remote) = job(JobName::Sweep, succeed);
        let (abandoned, abandoned_remote) = job(JobName::Reembedding, succeed);
        let abandoned = TestJob { at_stop: AtStop::Abandon, ..abandoned };
        let supervisor = start(vec![Box::new(finished), Box::new(abandoned)], NO_BACKOFF);
        drop(finished_remote.work);
        // The abandoned job still waits for its test, so a stop that waited for it would not end.
        supervisor.drain();
        assert!(finished_remote.begun.recv().is_err(), "the thread has ended");
        drop(abandoned_remote);
    }

    #[test]
    fn a_stop_waits_for_an_abandoned_job_that_ends_at_once() {
        let (abandoned, remote) = job(JobName::Reembedding, succeed);
        let abandoned = TestJob { at_stop: AtStop::Abandon, ..abandoned };
        let supervisor = start(vec![Box::new(abandoned)], NO_BACKOFF);
        drop(remote.work);
        supervisor.drain_within(Duration::from_secs(30));
        assert_eq!(remote.begun.try_recv(), Err(TryRecvError::Disconnected), "the job is dropped");
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        let waits = [1, 2, 3, 6, 7, 1000].map(|failures| BACKOFF.after(failures).as_secs());
        assert_eq!(waits, [1, 2, 4, 32, 60, 60]);
    }
}
