//! Everything that runs without a request: ingestion, re-embedding, sweeps, expiry and the settlement of wallets.
//!
//! [`Jobs`] starts and stops all of it; `state.rs` adds what metrics and API show. A [`Job`] waits for work and does
//! it, and the [`Supervisor`] gives each job a thread and restarts it after a failure. The jobs:
//!
//! - `ingestion.rs` takes writes from the queue, commits and indexes them, with `reextraction.rs` for kept conversations
//!   and `erasure.rs` for text to erase; `attempt.rs` has what both kinds of extraction share;
//! - `outage.rs` and `model_answers.rs` decide what happens to a write while the chat model does not respond;
//! - `reembedding.rs` computes missing vectors, `embedding_change.rs` changes the built-in model, and `priority.rs` lets
//!   requests go first;
//! - `sweeping.rs` runs every minute, `expiry.rs` and `settlement.rs` every hour;
//! - `call_notes.rs` records counters that are kept in memory;
//! - `index_snapshots.rs` stores copies of indexes in the bucket, if several nodes share one.

mod attempt;
mod call_notes;
mod components;
mod embedding_change;
mod erasure;
mod expiry;
mod index_snapshots;
mod ingestion;
mod ingestion_shared;
mod job;
mod late;
mod model_answers;
mod outage;
mod priority;
mod reembedding;
mod reextraction;
mod settlement;
mod state;
mod status;
mod stop;
mod supervisor;
mod sweeping;

use std::sync::Arc;
use std::time::Instant;

use cuebase_storage::MessageId;
use cuebase_storage::records::{NamespaceRecord, QueueEntry, QueuedWork};
use parking_lot::Mutex;

use self::attempt::Attempt;
use self::call_notes::CallNotes;
pub use self::components::{JobComponents, JobParts, JobSettings};
pub use self::embedding_change::EmbeddingChange;
use self::expiry::Expiry;
use self::index_snapshots::IndexSnapshots;
use self::ingestion::IngestionWorker;
use self::ingestion_shared::Ingestion;
pub use self::job::{AtStop, Job, JobName, Retry};
use self::model_answers::ModelAnswers;
use self::reembedding::Reembedding;
use self::settlement::Settlement;
pub use self::status::{JobState, JobStatus};
pub use self::stop::{StopSignal, Wake};
pub use self::supervisor::Supervisor;
use self::sweeping::Sweep;
use crate::error::Result;
use crate::namespace::plan::FileChange;
use crate::namespace::repository_home::RepositoryHome;

/// The jobs of a service and the queue that they work on.
pub struct Jobs {
    components: JobComponents,
    parts: JobParts,
    settings: JobSettings,
    /// Counts of writes that the chat model answered.
    answers: Arc<ModelAnswers>,
    /// The running jobs; `None` before the start and after the stop.
    supervisor: Mutex<Option<Supervisor>>,
}

impl Jobs {
    /// Returns the jobs. None is started yet.
    pub fn new(components: JobComponents, parts: JobParts, settings: JobSettings) -> Self {
        Self { components, parts, settings, answers: Arc::default(), supervisor: Mutex::new(None) }
    }

    /// Starts all jobs, unless they run.
    pub fn start(&self) -> std::io::Result<()> {
        let mut supervisor = self.supervisor.lock();
        if supervisor.is_none() {
            *supervisor = Some(Supervisor::start(self.all_jobs(), &self.components.clock)?);
        }
        Ok(())
    }

    /// Stops all jobs. Workers finish their current message; queued messages are durable and resume at the next start.
    pub fn drain(&self) {
        let Some(supervisor) = self.supervisor.lock().take() else { return };
        self.components.queue.stop();
        self.components.backlog.stop();
        supervisor.drain();
        // Once more, because the workers called models until now. An error is logged.
        let _ = CallNotes::new(&self.components, &self.parts).run();
    }

    /// Returns whether the jobs are being stopped. Queued messages are not ingested any more.
    pub fn is_stopping(&self) -> bool {
        self.components.queue.is_stopping()
    }

    /// Returns the status of each job; none unless the jobs run.
    pub fn status(&self) -> Vec<JobStatus> {
        match self.supervisor.lock().as_ref() {
            Some(supervisor) => supervisor.status(),
            None => Vec::new(),
        }
    }

    /// Returns what another extraction of a kept conversation would change, and changes nothing. A chat model is called as
    /// in the extraction itself.
    ///
    /// # Errors
    ///
    /// Those of an ingestion.
    pub fn preview_reextraction(&self, namespace: &NamespaceRecord, source: MessageId) -> Result<Vec<FileChange>> {
        let ingestion = self.ingestion();
        let open = ingestion.namespaces.lease_key(&namespace.key())?;
        let now = ingestion.clock.now();
        let entry = QueueEntry {
            id: MessageId::default(),
            account: namespace.account.clone(),
            namespace: namespace.name.clone(),
            namespace_id: namespace.id,
            accepted_at_ms: now.as_millisecond(),
            accepted_running_ms: ingestion.running.now_ms(),
            failures: 0,
            fingerprint: None,
            sender: None,
            work: QueuedWork::Reextract { source },
        };
        let deadline = Instant::now() + self.settings.ingestion.timeout;
        reextraction::preview(
            &Attempt { ingestion: &ingestion, namespace: &open, entry: &entry, now, deadline },
            source,
        )
    }

    fn ingestion(&self) -> Ingestion {
        Ingestion::new(&self.components, &self.parts, &self.settings, &self.answers)
    }

    fn all_jobs(&self) -> Vec<Box<dyn Job>> {
        let Self { components, parts, settings, .. } = self;
        let ingestion = Arc::new(self.ingestion());
        let mut jobs: Vec<Box<dyn Job>> = Vec::new();
        for _ in 0..settings.ingestion.workers.get() {
            jobs.push(Box::new(IngestionWorker::new(&ingestion)));
        }
        jobs.push(Box::new(Reembedding::new(components)));
        jobs.push(Box::new(Sweep::new(components, &parts.directory)));
        jobs.push(Box::new(Expiry::new(components, parts)));
        jobs.push(Box::new(Settlement::new(components, parts)));
        jobs.push(Box::new(CallNotes::new(components, parts)));
        if matches!(parts.directory.repositories(), RepositoryHome::Records(_)) {
            jobs.push(Box::new(IndexSnapshots::new(components)));
        }
        jobs
    }
}
