//! [`NodeQueue`]: what a node knows of an account's queue and of its jobs. `GET /v1/queue` merges those of all nodes.

use cuebase_storage::{AccountId, MessageId};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::Result;
use crate::jobs::{JobName, JobState, JobStatus};
use crate::service::peers::PeerTopic;

/// A node's part of an account's queue, and its jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NodeQueue {
    /// Queued writes, including those in progress.
    pub(super) waiting: usize,
    /// Memories that wait for vectors. `None` unless the embedding model computes them in the background.
    pub(super) vectors_waiting: Option<u64>,
    /// The oldest queued write.
    pub(super) oldest: Option<MessageId>,
    /// Start of the outage of the chat model, milliseconds since the epoch. `None` while the model responds.
    pub(super) outage_since_ms: Option<i64>,
    /// The jobs, in the order of their names.
    pub(super) jobs: Vec<JobLevels>,
}

/// A job, on one node or on several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JobLevels {
    /// Name of the job.
    pub(super) name: JobName,
    /// What the job does.
    pub(super) state: JobState,
    /// Runs that failed since the start of the node.
    pub(super) failures: u64,
    /// Start of the last run, milliseconds since the epoch.
    pub(super) last_run_ms: Option<i64>,
    /// The last failure. Of several nodes, that of the node whose last run is the latest.
    pub(super) last_error: Option<JobFailure>,
}

/// The last failure of a job on a node. A later one is greater.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct JobFailure {
    /// Start of the job's last run on the node, milliseconds since the epoch.
    last_run_ms: Option<i64>,
    /// Code of the error.
    pub(super) code: String,
}

impl NodeQueue {
    /// Returns the state of this node.
    pub(super) fn of(app: &App, account: &AccountId) -> Result<Self> {
        let levels = app.jobs.account_levels(account);
        Ok(Self {
            waiting: levels.messages,
            vectors_waiting: app.intake.vectors.waiting(account)?,
            oldest: levels.oldest,
            outage_since_ms: app.jobs.outage().map(|outage| outage.since.as_millisecond()),
            jobs: app.jobs.status().iter().map(JobLevels::of).collect(),
        })
    }

    /// Returns the state of this node and of all others.
    ///
    /// # Errors
    ///
    /// A node does not answer: without its part, a queue would seem empty that is not.
    pub(super) fn of_all_nodes(app: &App, account: &AccountId) -> Result<Self> {
        let mut queue = Self::of(app, account)?;
        let peers = app.reads.peers();
        for address in peers.others()? {
            queue.merge(peers.ask(&address, account, PeerTopic::Queue, &())?);
        }
        Ok(queue)
    }

    /// Adds the state of another node.
    fn merge(&mut self, other: Self) {
        let Self { waiting, vectors_waiting, oldest, outage_since_ms, jobs } = other;
        self.waiting += waiting;
        self.vectors_waiting = match (self.vectors_waiting, vectors_waiting) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        self.oldest = earlier(self.oldest, oldest);
        self.outage_since_ms = earlier(self.outage_since_ms, outage_since_ms);
        for job in jobs {
            match self.jobs.binary_search_by_key(&job.name, |known| known.name) {
                Ok(index) => self.jobs[index].merge(job),
                Err(index) => self.jobs.insert(index, job),
            }
        }
    }
}

impl JobLevels {
    fn of(status: &JobStatus) -> Self {
        let last_run_ms = status.last_run.map(jiff::Timestamp::as_millisecond);
        let last_error = status.last_error.map(|code| JobFailure { last_run_ms, code: code.to_owned() });
        Self { name: status.name, state: status.state(), failures: status.failures, last_run_ms, last_error }
    }

    /// Adds the state of the job on another node. A job backs off if it does so on any node.
    fn merge(&mut self, other: Self) {
        self.state = self.state.max(other.state);
        self.failures += other.failures;
        self.last_run_ms = self.last_run_ms.max(other.last_run_ms);
        self.last_error = self.last_error.take().max(other.last_error);
    }
}

/// Returns the earlier of two values that may be absent.
fn earlier<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::peers::{decode, encode};

    fn job(name: JobName, state: JobState, last_run_ms: Option<i64>, code: Option<&str>) -> JobLevels {
        let last_error = code.map(|code| JobFailure { last_run_ms, code: code.to_owned() });
        JobLevels { name, state, failures: u64::from(code.is_some()), last_run_ms, last_error }
    }

    fn nodes() -> [NodeQueue; 3] {
        let id = |text: &str| Some(text.parse::<MessageId>().expect("an id"));
        [
            NodeQueue {
                waiting: 2,
                vectors_waiting: None,
                oldest: id("01J9Z3V7QK0000000000000002"),
                outage_since_ms: None,
                jobs: vec![
                    job(JobName::Ingestion, JobState::BackingOff, Some(70), Some("storage_unavailable")),
                    job(JobName::Expiry, JobState::Waiting, None, None),
                ],
            },
            NodeQueue {
                waiting: 0,
                vectors_waiting: None,
                oldest: None,
                outage_since_ms: Some(500),
                jobs: vec![job(JobName::Ingestion, JobState::Running, Some(90), None)],
            },
            NodeQueue {
                waiting: 3,
                vectors_waiting: None,
                oldest: id("01J9Z3V7QK0000000000000001"),
                outage_since_ms: Some(400),
                jobs: vec![
                    job(JobName::Ingestion, JobState::Waiting, Some(80), Some("internal")),
                    job(JobName::Sweep, JobState::Waiting, Some(10), None),
                ],
            },
        ]
    }

    fn merged(mut first: NodeQueue, others: &[NodeQueue]) -> NodeQueue {
        for other in others {
            first.merge(decode(&encode(other).expect("encodes")).expect("decodes"));
        }
        first
    }

    #[test]
    fn queues_are_summed_and_the_oldest_write_stays() {
        let [a, b, c] = nodes();
        let all = merged(a, &[b, c]);
        assert_eq!((all.waiting, all.outage_since_ms), (5, Some(400)));
        assert_eq!(all.oldest.map(|id| id.to_string()).as_deref(), Some("01J9Z3V7QK0000000000000001"));
        let names: Vec<JobName> = all.jobs.iter().map(|job| job.name).collect();
        assert_eq!(names, [JobName::Ingestion, JobName::Sweep, JobName::Expiry]);
        let ingestion = &all.jobs[0];
        assert_eq!((ingestion.state, ingestion.failures), (JobState::BackingOff, 2));
        assert_eq!(ingestion.last_run_ms, Some(90));
        assert_eq!(ingestion.last_error.as_ref().map(|error| error.code.as_str()), Some("internal"));
    }

    #[test]
    fn nodes_are_merged_alike_in_any_order_and_grouping() {
        let [a, b, c] = nodes();
        let expected = merged(a.clone(), &[b.clone(), c.clone()]);
        for (first, second, third) in [(&a, &c, &b), (&b, &a, &c), (&b, &c, &a), (&c, &a, &b), (&c, &b, &a)] {
            assert_eq!(merged(first.clone(), &[second.clone(), third.clone()]), expected);
            let grouped = merged(second.clone(), std::slice::from_ref(third));
            assert_eq!(merged(first.clone(), &[grouped]), expected);
        }
    }
}
