//! [`Service`] and its start: the parts of an open data directory, created in order.
//!
//! Each other file of this folder adds the methods of one subject to [`Service`].

use std::sync::{Arc, OnceLock};

use cuebase_storage::Store;
use cuebase_storage::key_value::EngineMemory;

use super::conversation_locks::ConversationLocks;
use super::data_directory::{create_private, with_remedy};
use super::media_store::MediaStore;
use super::running_time::RunningTime;
use crate::accounts::sessions::LocalIssuer;
use crate::billing::{Billing, PriceSource};
use crate::config::{Config, EmbeddingChoice};
use crate::dashboard::Dashboard;
use crate::memory_limit::MemoryPlan;
use crate::metrics::Metrics;
use crate::model::{Models, StaticTable};
use crate::namespace::backlog::Backlog;
use crate::namespace::context::NamespaceContext;
use crate::namespace::disk_reserve::DiskReserve;
use crate::namespace::ids::Ids;
use crate::namespace::pending::PendingPaths;
use crate::namespace::registry::Namespaces;
use crate::namespace::retention::SourceRetention;
use crate::queue::dispatch::Queue;

/// An open data directory with all parts that work on it.
pub struct Service {
    /// The settings of the process.
    pub config: Config,
    /// Meters, plans and wallets.
    pub billing: Billing,
    pub(crate) store: Arc<Store>,
    pub(crate) namespaces: Namespaces,
    /// Order of the accepted writes.
    pub(crate) queue: Queue,
    /// Paths of accepted writes that are not committed yet.
    pub(crate) pending: Arc<PendingPaths>,
    /// Issuer of the sessions that this server signs.
    pub(crate) issuer: LocalIssuer,
    /// Links and sign-in of the dashboard.
    pub dashboard: Dashboard,
    /// Base URL of the API, set once the listener is bound.
    address: OnceLock<String>,
    pub(crate) models: Arc<Models>,
    /// Namespaces with memories that are not embedded yet.
    pub(crate) backlog: Arc<Backlog>,
    /// Threads of searches, one per core.
    pub(crate) searchers: rayon::ThreadPool,
    pub(crate) media: MediaStore,
    /// Counters of the process.
    pub metrics: Arc<Metrics>,
    /// A lock for each conversation that is being changed. It is taken before `ids`.
    pub(super) conversations: ConversationLocks,
    /// Source of ids in ascending order. Held from the lookup of a fingerprint until the write is in the queue.
    pub(super) ids: Arc<Ids>,
    pub(crate) reserve: Arc<DiskReserve>,
    pub(super) running: RunningTime,
}

impl Service {
    /// Opens the data directory for a server. No job is started yet.
    ///
    /// # Errors
    ///
    /// If the records are damaged or a file is inaccessible, the error contains the remedy.
    pub fn open(config: Config) -> anyhow::Result<Arc<Self>> {
        Self::open_with_prices(config, PriceSource::Configured)
    }

    /// Opens the data directory of a stopped server for a command. The command may run without the server's settings,
    /// so units have the recorded prices.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn open_for_command(config: Config) -> anyhow::Result<Arc<Self>> {
        Self::open_with_prices(config, PriceSource::Recorded)
    }

    fn open_with_prices(config: Config, prices: PriceSource) -> anyhow::Result<Arc<Self>> {
        let data = config.data.clone();
        Self::open_parts(config, prices).map_err(|error| with_remedy(error, &data))
    }

    fn open_parts(config: Config, prices: PriceSource) -> anyhow::Result<Arc<Self>> {
        create_private(&config.data)?;
        if matches!(config.model.embedding, EmbeddingChoice::BuiltIn) {
            // Unpacking takes as long as opening the records, so both run at the same time.
            StaticTable::open_in_background();
        }
        let reserve = Arc::new(DiskReserve::of(&config.data));
        reserve.release_for_start();
        let plan = MemoryPlan::current(config.server.body_memory_mib)?;
        let memory =
            EngineMemory { block_cache_bytes: plan.block_cache_bytes, write_buffer_bytes: plan.write_buffer_bytes };
        let store = Arc::new(Store::open_with_memory(&config.data.join("records"), memory)?);
        let issuer = LocalIssuer::open(&store)?;
        let models = Arc::new(Models::open(&config.model, &store)?);
        let backlog = Arc::new(Backlog::default());
        let searchers = rayon::ThreadPoolBuilder::new().num_threads(plan.worker_threads);
        let searchers = searchers.thread_name(|n| format!("retrieve-{n}")).build()?;
        let media = MediaStore::open(&config.data.join("media"), &store)?;
        let metrics = Arc::new(Metrics::default());
        let ids = Arc::new(Ids::after(store.newest_id()?));
        let pending = Arc::new(PendingPaths::default());
        let context = NamespaceContext {
            store: Arc::clone(&store),
            models: Arc::clone(&models),
            backlog: Arc::clone(&backlog),
            metrics: Arc::clone(&metrics),
            ids: Arc::clone(&ids),
            pending: Arc::clone(&pending),
            sources: SourceRetention::of_setting(config.ingestion.keep_sources),
        };
        let namespaces = Namespaces::new(&config, context, Arc::clone(&reserve));
        let queue = load_queue(&store, &pending, config.ingestion.workers.get())?;
        let dashboard = Dashboard::new(&config)?;
        let running = RunningTime::continue_from(store.running_ms()?);
        let service = Self {
            dashboard,
            address: OnceLock::new(),
            billing: Billing::open(&config, &store, prices)?,
            config,
            namespaces,
            queue,
            pending,
            issuer,
            models,
            backlog,
            searchers,
            media,
            metrics,
            conversations: ConversationLocks::default(),
            ids,
            reserve,
            running,
            store,
        };
        service.rename_former_folders()?;
        service.finish_removals();
        Ok(Arc::new(service))
    }

    /// Sets the base URL of the API. There is one listener, so later calls have no effect.
    pub fn set_address(&self, address: String) {
        let _ = self.address.set(address);
    }

    /// Returns the base URL of the API, or `None` before the listener is bound.
    pub fn address(&self) -> Option<&str> {
        self.address.get().map(String::as_str)
    }
}

/// Reads the accepted writes of the records into a queue, and their paths into `pending`.
fn load_queue(store: &Store, pending: &PendingPaths, workers: usize) -> anyhow::Result<Queue> {
    let queue = Queue::new(workers);
    store.for_each_queue_entry(|entry| {
        pending.add(&entry);
        queue.add(&entry);
    })?;
    Ok(queue)
}
