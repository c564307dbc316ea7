//! Where the repositories of namespaces are kept: on the disk, or in the records and a bucket with the disk as a cache.

use std::path::Path;
use std::sync::Arc;

use cuebase_storage::bucket::Bucket;
use cuebase_storage::git::Repository;
use cuebase_storage::records::{IndexSnapshotRecord, StoreLedger};
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

    /// Removes the packs and the snapshots of the index of a deleted namespace from the bucket. What is on the disk is
    /// removed with its folders.
    pub(super) fn remove(&self, namespace: NamespaceId) -> Result<()> {
        let Some(bucket) = self.bucket() else { return Ok(()) };
        bucket.delete_all(&format!("packs/{namespace}/"))?;
        Ok(bucket.delete_all(&IndexSnapshotRecord::directory(namespace))?)
    }

    /// The bucket. `None` if the data directory has the only copy.
    pub(super) fn bucket(&self) -> Option<&Arc<Bucket>> {
        match self {
            Self::Disk => None,
            Self::Records(bucket) => Some(bucket),
        }
    }

    /// Whether the data directory has the only copy.
    pub(super) fn is_disk(&self) -> bool {
        matches!(self, Self::Disk)
    }
}
