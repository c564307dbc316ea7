//! Opening the records: those of a data directory, or those that several nodes share.

use std::sync::Arc;

use anyhow::Context;
use cuebase_storage::Store;
use cuebase_storage::bucket::Bucket;
use cuebase_storage::key_value::{EngineMemory, PostgresEngine};
use cuebase_storage::records::shared_setup::check_cluster;
use ulid::Ulid;

use crate::config::{Config, SharedStorageSettings, StorageSettings};
use crate::memory_limit::MemoryPlan;
use crate::namespace::repository_home::RepositoryHome;
use crate::service::data_directory::require_complete;

/// The open records, and where everything else is kept.
pub(super) struct OpenStorage {
    /// The records.
    pub(super) store: Arc<Store>,
    /// Where repositories are kept.
    pub(super) repositories: RepositoryHome,
    /// The bucket that nodes share; none with a data directory.
    pub(super) bucket: Option<Arc<Bucket>>,
}

impl OpenStorage {
    /// Opens what the settings name.
    pub(super) fn open(config: &Config) -> anyhow::Result<Self> {
        let opened = match &config.storage {
            StorageSettings::Directory => Self::of_directory(config)?,
            StorageSettings::Shared(shared) => Self::of_nodes(shared)?,
        };
        require_complete(&opened.store)?;
        Ok(opened)
    }

    fn of_directory(config: &Config) -> anyhow::Result<Self> {
        let plan = MemoryPlan::current(config.server.body_memory_mib)?;
        let memory =
            EngineMemory { block_cache_bytes: plan.block_cache_bytes, write_buffer_bytes: plan.write_buffer_bytes };
        let store = Store::open_with_memory(&config.data.join("records"), memory)?;
        Ok(Self { store: Arc::new(store), repositories: RepositoryHome::Disk, bucket: None })
    }

    fn of_nodes(settings: &SharedStorageSettings) -> anyhow::Result<Self> {
        let process = Ulid::generate().to_string();
        let engine = PostgresEngine::open(&settings.database_url, &process);
        let engine = Arc::new(engine.context("the database of storage.postgres.url cannot be opened")?);
        let store = Arc::new(Store::open_shared(engine.clone())?);
        let bucket = Bucket::open(&settings.bucket).context("the bucket of storage.bucket cannot be opened")?;
        check_cluster(&engine, &store, &bucket, settings.unsafe_database)?;
        let bucket = Arc::new(bucket);
        Ok(Self { store, repositories: RepositoryHome::Records(Arc::clone(&bucket)), bucket: Some(bucket) })
    }
}
