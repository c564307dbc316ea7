//! What the parts of the service share: the open records, the namespaces, the queue and the models.
//!
//! `App::open` opens them once and makes each part of those that it needs.

use std::sync::Arc;

use cuebase_storage::Store;

use super::media_store::MediaStore;
use super::open_storage::OpenStorage;
use super::running_time::RunningTime;
use crate::billing::{Billing, PriceSource};
use crate::clock::Clock;
use crate::config::{Config, EmbeddingChoice};
use crate::metrics::Metrics;
use crate::model::{Models, StaticTable};
use crate::namespace::backlog::Backlog;
use crate::namespace::context::NamespaceContext;
use crate::namespace::disk_reserve::DiskReserve;
use crate::namespace::ids::Ids;
use crate::namespace::pace::Pace;
use crate::namespace::pending::PendingPaths;
use crate::namespace::registry::Namespaces;
use crate::namespace::retention::SourceRetention;
use crate::queue::dispatch::Queue;
use crate::service::data_directory::create_private;

/// The components that more than one part of the service uses.
pub(crate) struct SharedParts {
    /// The open records.
    pub(crate) store: Arc<Store>,
    /// The namespaces of all accounts.
    pub(crate) namespaces: Arc<Namespaces>,
    /// The order of the accepted writes.
    pub(crate) queue: Arc<Queue>,
    /// The paths of accepted writes that are not committed yet.
    pub(crate) pending: Arc<PendingPaths>,
    /// The source of ids in ascending order.
    pub(crate) ids: Arc<Ids>,
    /// The models that embed and chat.
    pub(crate) models: Arc<Models>,
    /// The namespaces with memories that are not embedded yet.
    pub(crate) backlog: Arc<Backlog>,
    /// The counters of the process.
    pub(crate) metrics: Arc<Metrics>,
    /// Meters, plans and wallets.
    pub(crate) billing: Arc<Billing>,
    /// The uploaded files, and the key that signs URLs of them.
    pub(crate) media_files: Arc<MediaStore>,
    /// How long services have run on the data directory.
    pub(crate) running: Arc<RunningTime>,
    /// The source of the time.
    pub(crate) clock: Clock,
}

impl SharedParts {
    /// Opens the records of a data directory and what stands on them.
    pub(crate) fn open(
        config: &Config,
        reserve: &Arc<DiskReserve>,
        prices: PriceSource,
        clock: &Clock,
    ) -> anyhow::Result<Self> {
        create_private(&config.data)?;
        if matches!(config.model.embedding, EmbeddingChoice::BuiltIn(_)) {
            // Unpacking takes as long as opening the records, so both run at the same time.
            StaticTable::open_in_background();
        }
        reserve.release_for_start();
        let OpenStorage { store, repositories, bucket } = OpenStorage::open(config)?;
        let models = Arc::new(Models::open(&config.model, &store)?);
        let backlog = Arc::new(open_backlog(&models)?);
        let metrics = if store.is_shared() { Metrics::of_node(clock.clone()) } else { Metrics::new(clock.clone()) };
        let metrics = Arc::new(metrics);
        // A claim of a namespace raises the ids above those of the former owner.
        let newest = if store.is_shared() { None } else { store.newest_id()? };
        let ids = Arc::new(Ids::after(newest, clock.clone()));
        let pending = Arc::new(PendingPaths::default());
        let context = NamespaceContext {
            store: Arc::clone(&store),
            models: Arc::clone(&models),
            backlog: Arc::clone(&backlog),
            metrics: Arc::clone(&metrics),
            ids: Arc::clone(&ids),
            pending: Arc::clone(&pending),
            repositories,
            sources: SourceRetention::of_setting(config.ingestion.keep_sources),
            clock: clock.clone(),
        };
        let queue = load_queue(&store, &pending, config.ingestion.workers.get(), clock)?;
        Ok(Self {
            namespaces: Arc::new(Namespaces::new(config, context, Arc::clone(reserve))),
            queue: Arc::new(queue),
            pending,
            ids,
            models,
            backlog,
            metrics,
            billing: Arc::new(Billing::open(config, &store, prices, clock.clone())?),
            media_files: Arc::new(MediaStore::open(&config.data.join("media"), bucket, &store)?),
            running: Arc::new(RunningTime::continue_from(store.running_ms()?)),
            clock: clock.clone(),
            store,
        })
    }
}

/// Returns an empty backlog with the recorded pace.
fn open_backlog(models: &Models) -> anyhow::Result<Backlog> {
    Ok(match models.built_in_record()? {
        Some(record) => Backlog::new(Pace::from(&record)),
        None => Backlog::default(),
    })
}

/// Reads the accepted writes of the records into a queue, and their paths into `pending`.
fn load_queue(store: &Store, pending: &PendingPaths, workers: usize, clock: &Clock) -> anyhow::Result<Queue> {
    let queue = Queue::new(workers, clock);
    if store.is_shared() {
        // The queue of a namespace is read when the namespace is claimed.
        return Ok(queue);
    }
    store.for_each_queue_entry(|entry| {
        pending.add(&entry);
        queue.add(&entry);
    })?;
    Ok(queue)
}
