//! What the ingestion workers share.

use std::sync::Arc;

use cuebase_storage::Store;

use super::components::{JobComponents, JobParts, JobSettings};
use super::model_answers::ModelAnswers;
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::model::Models;
use crate::namespace::pending::PendingPaths;
use crate::namespace::registry::Namespaces;
use crate::queue::dispatch::Queue;
use crate::service::intake::Intake;
use crate::service::reads::Reads;
use crate::service::running_time::RunningTime;

/// The components and settings of the ingestion workers. `ingestion.rs` has their work.
pub(super) struct Ingestion {
    pub(super) store: Arc<Store>,
    pub(super) namespaces: Arc<Namespaces>,
    pub(super) queue: Arc<Queue>,
    pub(super) pending: Arc<PendingPaths>,
    pub(super) models: Arc<Models>,
    /// Counts of writes that the chat model answered.
    pub(super) answers: Arc<ModelAnswers>,
    /// Finds the memories that a chat model sees next to a conversation.
    pub(super) reads: Arc<Reads>,
    /// Queues conversations to be extracted again.
    pub(super) intake: Arc<Intake>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) running: Arc<RunningTime>,
    pub(super) clock: Clock,
    pub(super) settings: JobSettings,
}

impl Ingestion {
    pub(super) fn new(
        components: &JobComponents,
        parts: &JobParts,
        settings: &JobSettings,
        answers: &Arc<ModelAnswers>,
    ) -> Self {
        Self {
            store: Arc::clone(&components.store),
            namespaces: Arc::clone(&components.namespaces),
            queue: Arc::clone(&components.queue),
            pending: Arc::clone(&components.pending),
            models: Arc::clone(&components.models),
            answers: Arc::clone(answers),
            reads: Arc::clone(&parts.reads),
            intake: Arc::clone(&parts.intake),
            metrics: Arc::clone(&components.metrics),
            running: Arc::clone(&components.running),
            clock: components.clock.clone(),
            settings: settings.clone(),
        }
    }
}
