//! What the jobs are made of: components, parts of the application, and settings.

use std::sync::Arc;

use cuebase_storage::Store;

use crate::billing::Billing;
use crate::clock::Clock;
use crate::config::IngestionSettings;
use crate::metrics::Metrics;
use crate::model::Models;
use crate::namespace::backlog::Backlog;
use crate::namespace::disk_reserve::DiskReserve;
use crate::namespace::pending::PendingPaths;
use crate::namespace::registry::Namespaces;
use crate::queue::dispatch::Queue;
use crate::service::intake::Intake;
use crate::service::media::Media;
use crate::service::namespaces::NamespaceDirectory;
use crate::service::reads::Reads;
use crate::service::running_time::RunningTime;

/// The components that the jobs work on.
pub struct JobComponents {
    /// The records.
    pub store: Arc<Store>,
    /// The open namespaces.
    pub namespaces: Arc<Namespaces>,
    /// Order of the accepted writes.
    pub queue: Arc<Queue>,
    /// Paths of accepted writes that are not committed yet.
    pub pending: Arc<PendingPaths>,
    /// Embedding and chat models.
    pub models: Arc<Models>,
    /// Namespaces that need vectors.
    pub backlog: Arc<Backlog>,
    /// Counters of the process.
    pub metrics: Arc<Metrics>,
    /// Meters, plans and wallets.
    pub billing: Arc<Billing>,
    /// Reserved disk space.
    pub reserve: Arc<DiskReserve>,
    /// Running time of services on the data directory.
    pub running: Arc<RunningTime>,
    /// Source of the time.
    pub clock: Clock,
}

/// The parts of the application whose operations the jobs call.
pub struct JobParts {
    /// Finds the memories that a chat model sees next to a conversation.
    pub reads: Arc<Reads>,
    /// Queues conversations to be extracted again.
    pub intake: Arc<Intake>,
    /// Removes files without a record.
    pub media: Arc<Media>,
    /// Removes the remains of deleted namespaces.
    pub directory: Arc<NamespaceDirectory>,
}

/// The settings of the jobs.
#[derive(Clone)]
pub struct JobSettings {
    /// Number, retries and time limits of the ingestion workers.
    pub ingestion: IngestionSettings,
    /// Whether traces of ingested writes are sent.
    pub is_traced: bool,
}
