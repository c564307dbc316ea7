//! Where the repositories of namespaces are kept: on the disk, or in the records and a bucket with the disk as a cache.

use std::path::Path;
use std::sync::Arc;

use cuebase_storage::bucket::Bucket;
use cuebase_storage::git::Repository;
use cuebase_storage::records::StoreLedger;
use cuebase_storage::{NamespaceId, NamespaceKey, Store};

use crate::error::Result;

/// Where repositories are kept.
#[derive(Clone)]
pub enum RepositoryHome {
    /// In the data directory.
    Disk,
    /// In the records, with large packs in a bucket. The data directory has copies.
    Records(Arc<Bucket>),
}

impl RepositoryHome {
    /// Opens the repository of a namespace that this process owns. `None` if it is kept on the disk and does not exist.
    pub(super) fn open_existing(
        &self,
        path: &Path,
        store: &Arc<Store>,
        namespace: &NamespaceKey,
    ) -> cuebase_storage::Result<Option<Repository>> {
        match self {
            Self::Disk => Repository::open_existing(path),
            Self::Records(bucket) => {
                let ledger = StoreLedger::new(Arc::clone(store), Arc::clone(bucket), namespace.clone());
                Repository::open_with_ledger(path, Arc::new(ledger)).map(Some)
            }
        }
    }

    /// Opens the repository of a namespace without commits. Creates it if it does not exist.
    pub(super) fn open_or_create(
        &self,
        path: &Path,
        store: &Arc<Store>,
        namespace: &NamespaceKey,
    ) -> Result<Repository> {
        match self.open_existing(path, store, namespace)? {
            Some(repository) => Ok(repository),
            None => Ok(Repository::open_or_create(path)?),
        }
    }

    /// Removes the packs of a deleted namespace from the bucket. Those on the disk are removed with its folder.
    pub(super) fn remove(&self, namespace: NamespaceId) -> Result<()> {
        match self {
            Self::Disk => Ok(()),
            Self::Records(bucket) => Ok(bucket.delete_all(&format!("packs/{namespace}/"))?),
        }
    }

    /// Whether the data directory has the only copy.
    pub(super) fn is_disk(&self) -> bool {
        matches!(self, Self::Disk)
    }
}
