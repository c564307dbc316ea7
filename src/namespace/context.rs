//! The context that all open namespaces share.

use std::sync::Arc;

use cuebase_storage::Store;

use super::backlog::Backlog;
use super::ids::Ids;
use super::pending::PendingPaths;
use super::repository_home::RepositoryHome;
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::model::Models;
use crate::namespace::retention::SourceRetention;

/// Shared services of all open namespaces.
#[derive(Clone)]
pub struct NamespaceContext {
    /// The store of the records.
    pub(crate) store: Arc<Store>,
    /// The models that compute vectors.
    pub(crate) models: Arc<Models>,
    /// The namespaces that need vectors.
    pub(crate) backlog: Arc<Backlog>,
    /// Metrics sink.
    pub(crate) metrics: Arc<Metrics>,
    /// Source of ids.
    pub(crate) ids: Arc<Ids>,
    /// The paths that queued writes are about.
    pub(crate) pending: Arc<PendingPaths>,
    /// Where repositories are kept.
    pub(crate) repositories: RepositoryHome,
    /// Whether ingested conversations are kept.
    pub(crate) sources: SourceRetention,
    /// The source of the time.
    pub(crate) clock: Clock,
}
