//! Opening and closing a data directory.

use std::collections::BTreeMap;
use std::sync::Arc;

use cuebase_storage::records::shared_setup::agree_on_settings;

use super::{App, search_threads};
use crate::accounts::Accounts;
use crate::billing::PriceSource;
use crate::clock::Clock;
use crate::cluster::{CacheLock, NodeParts, Ownership};
use crate::config::{Config, StorageSettings, setting};
use crate::jobs::{JobComponents, JobParts, JobSettings, Jobs};
use crate::memory_limit::MemoryPlan;
use crate::namespace::disk_reserve::DiskReserve;
use crate::service::animals::Animals;
use crate::service::conversations::Conversations;
use crate::service::data_directory::with_remedy;
use crate::service::direct_writes::DirectWrites;
use crate::service::inspector::Inspector;
use crate::service::intake::Intake;
use crate::service::media::Media;
use crate::service::namespaces::NamespaceDirectory;
use crate::service::reads::Reads;
use crate::service::search_threads::SearchThreads;
use crate::service::shared_parts::SharedParts;
use crate::service::skills::Skills;

impl App {
    /// Opens the data directory for a server. No job is started yet.
    ///
    /// # Errors
    ///
    /// If the records are damaged or a file is inaccessible, the error contains the remedy.
    pub fn open(config: &Config) -> anyhow::Result<Arc<Self>> {
        Self::open_with_clock(config, &Clock::system())
    }

    /// Opens the data directory for a server that takes the time from a clock.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn open_with_clock(config: &Config, clock: &Clock) -> anyhow::Result<Arc<Self>> {
        Self::open_with_remedy(config, PriceSource::Configured, clock)
    }

    /// Opens the data directory of a stopped server for a command. The command may run without the server's settings,
    /// so units have the recorded prices.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn open_for_command(config: &Config) -> anyhow::Result<Arc<Self>> {
        Self::open_with_remedy(config, PriceSource::Recorded, &Clock::system())
    }

    fn open_with_remedy(config: &Config, prices: PriceSource, clock: &Clock) -> anyhow::Result<Arc<Self>> {
        Self::open_parts(config, prices, clock).map_err(|error| with_remedy(error, &config.data))
    }

    fn open_parts(config: &Config, prices: PriceSource, clock: &Clock) -> anyhow::Result<Arc<Self>> {
        let reserve = Arc::new(DiskReserve::of(&config.data));
        let shared = SharedParts::open(config, &reserve, prices, clock)?;
        let accounts = Arc::new(Accounts::open(Arc::clone(&shared.store), clock.clone())?);
        let ownership = Arc::new(join(config, &shared, &accounts)?);
        let namespaces = Arc::new(NamespaceDirectory::new(&shared, ownership));
        namespaces.rename_former_folders()?;
        if namespaces.ownership().is_first() {
            namespaces.finish_removals();
        }
        let intake = Arc::new(Intake::new(&shared));
        let reads = Arc::new(open_reads(config, &shared)?);
        let media = Arc::new(Media::new(&shared, config.server.public_url.clone()));
        let parts = JobParts {
            reads: Arc::clone(&reads),
            intake: Arc::clone(&intake),
            media: Arc::clone(&media),
            directory: Arc::clone(&namespaces),
        };
        Ok(Arc::new(Self {
            writes: DirectWrites::new(
                Arc::clone(&shared.namespaces),
                Arc::clone(&shared.billing),
                Arc::clone(&shared.models),
                Arc::clone(&intake),
                config.data.clone(),
                clock.clone(),
            ),
            conversations: Conversations::new(&shared, &intake),
            skills: Skills::new(
                Arc::clone(&shared.namespaces),
                Arc::clone(&shared.pending),
                Arc::clone(&intake),
                Arc::clone(&reads),
            ),
            animals: Animals::new(Arc::clone(&shared.store)),
            billing: Arc::clone(&shared.billing),
            inspector: Inspector::new(&config.data, &shared),
            jobs: open_jobs(config, &shared, reserve, parts),
            accounts,
            namespaces,
            intake,
            reads,
            media,
        }))
    }

    /// Makes everything durable that was written before. Jobs and requests must have ended.
    ///
    /// # Errors
    ///
    /// If the disk refuses the sync.
    pub fn close(&self) -> anyhow::Result<()> {
        self.inspector.sync()?;
        self.namespaces.ownership().leave();
        Ok(())
    }
}

/// Joins the nodes that share the storage, if it is shared.
fn join(config: &Config, shared: &SharedParts, accounts: &Arc<Accounts>) -> anyhow::Result<Ownership> {
    let StorageSettings::Shared(settings) = &config.storage else { return Ok(Ownership::alone()) };
    let parts = NodeParts {
        store: Arc::clone(&shared.store),
        namespaces: Arc::clone(&shared.namespaces),
        queue: Arc::clone(&shared.queue),
        pending: Arc::clone(&shared.pending),
        backlog: Arc::clone(&shared.backlog),
        ids: Arc::clone(&shared.ids),
        metrics: Arc::clone(&shared.metrics),
        accounts: Arc::clone(accounts),
        cache_lock: CacheLock::take(&config.data)?,
    };
    let ownership = Ownership::join(parts, settings.advertise.to_string())?;
    if let Some(node) = ownership.node_id() {
        agree_on_settings(&shared.store, node, &common_settings(config, shared))?;
    }
    Ok(ownership)
}

/// The settings that all nodes have in common, with their values. With other values, two nodes would write what the
/// other one takes for wrong.
fn common_settings(config: &Config, shared: &SharedParts) -> BTreeMap<String, String> {
    let mut common = BTreeMap::new();
    let embedding = shared.models.current().model().identity().to_owned();
    common.insert("the embedding model".to_owned(), embedding);
    for setting in [
        &setting::billing::rates,
        &setting::billing::currency,
        &setting::billing::default_plan,
        &setting::billing::enforce_balance,
        &setting::ingestion::keep_sources,
        &setting::payments::provider,
    ] {
        common.insert(setting.key.to_string(), config.value(setting).to_owned());
    }
    common
}

/// Makes the part that searches, with one search thread per core.
fn open_reads(config: &Config, shared: &SharedParts) -> anyhow::Result<Reads> {
    let plan = MemoryPlan::current(config.server.body_memory_mib)?;
    let searchers = search_threads::start(plan.worker_threads)?;
    Ok(Reads::new(
        Arc::clone(&shared.store),
        Arc::clone(&shared.namespaces),
        Arc::clone(&shared.models),
        Arc::clone(&shared.metrics),
        SearchThreads::new(searchers),
        shared.clock.clone(),
    ))
}

fn open_jobs(config: &Config, shared: &SharedParts, reserve: Arc<DiskReserve>, parts: JobParts) -> Jobs {
    let components = JobComponents {
        store: Arc::clone(&shared.store),
        namespaces: Arc::clone(&shared.namespaces),
        queue: Arc::clone(&shared.queue),
        pending: Arc::clone(&shared.pending),
        models: Arc::clone(&shared.models),
        backlog: Arc::clone(&shared.backlog),
        metrics: Arc::clone(&shared.metrics),
        billing: Arc::clone(&shared.billing),
        reserve,
        running: Arc::clone(&shared.running),
        clock: shared.clock.clone(),
    };
    let settings =
        JobSettings { ingestion: config.ingestion.clone(), is_traced: config.telemetry.otlp_endpoint.is_some() };
    Jobs::new(components, parts, settings)
}
