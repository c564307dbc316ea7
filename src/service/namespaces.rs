//! The namespaces of all accounts, the deletion of one, and the completion of interrupted deletions.
//!
//! One small batch deletes a namespace ([`Namespaces::retire`]). Its records and files are removed directly after it.
//! If the disk refuses, a later sweep removes them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use cuebase_storage::error::DiskTrouble;
use cuebase_storage::records::ownership::NodeId;
use cuebase_storage::records::{NamespaceRecord, RemovalRecord};
use cuebase_storage::{AccountId, NamespaceId, NamespaceName, Store};

use super::media_store::MediaStore;
use super::shared_parts::SharedParts;
use crate::billing::Billing;
use crate::cluster::Ownership;
use crate::error::{Error, Result};
use crate::namespace::pending::PendingPaths;
use crate::namespace::registry::Namespaces;
use crate::queue::dispatch::Queue;

/// The namespaces of all accounts. Creates, lists and leases them as [`Namespaces`] does, and deletes them with their
/// records and files.
pub struct NamespaceDirectory {
    /// The open records.
    pub(super) store: Arc<Store>,
    /// The namespaces of all accounts.
    pub(super) namespaces: Arc<Namespaces>,
    /// Order of the accepted writes.
    pub(super) queue: Arc<Queue>,
    /// Paths of accepted writes that are not committed yet.
    pub(super) pending: Arc<PendingPaths>,
    /// Counts the stored bytes of files.
    pub(super) billing: Arc<Billing>,
    /// The uploaded files.
    pub(super) media: Arc<MediaStore>,
    /// Which namespaces this process owns.
    ownership: Arc<Ownership>,
}

impl std::ops::Deref for NamespaceDirectory {
    type Target = Namespaces;

    fn deref(&self) -> &Namespaces {
        &self.namespaces
    }
}

impl NamespaceDirectory {
    /// Makes the part of an open data directory.
    pub(crate) fn new(shared: &SharedParts, ownership: Arc<Ownership>) -> Self {
        Self {
            store: Arc::clone(&shared.store),
            namespaces: Arc::clone(&shared.namespaces),
            queue: Arc::clone(&shared.queue),
            pending: Arc::clone(&shared.pending),
            billing: Arc::clone(&shared.billing),
            media: Arc::clone(&shared.media_files),
            ownership,
        }
    }

    /// Which namespaces this process owns.
    pub fn ownership(&self) -> &Arc<Ownership> {
        &self.ownership
    }

    /// Fails if this process does not own a namespace, as far as it knows. Called before work that the owner would do
    /// again. A process that is alone owns all.
    ///
    /// # Errors
    ///
    /// [`Error::NotOwner`].
    pub fn require_owned(&self, namespace: &NamespaceRecord) -> Result<()> {
        Ok(self.store.require_owned(&namespace.key())?)
    }

    /// Returns how many of the namespaces this process owns, as far as it knows: all, if it is alone.
    pub fn owned_among(&self, namespaces: &[NamespaceRecord]) -> usize {
        if !self.store.is_shared() {
            return namespaces.len();
        }
        // Not asked one by one, which would count as a use of each, and keep it from moving to another node.
        let owned: HashSet<NamespaceId> = self.store.owned_namespaces().into_iter().collect();
        let mut count = 0;
        for namespace in namespaces {
            count += usize::from(owned.contains(&namespace.id));
        }
        count
    }

    /// Returns how many namespaces each node owns. Reads the owner of every namespace.
    pub fn owner_counts(&self) -> Result<BTreeMap<NodeId, usize>> {
        Ok(self.store.owner_counts()?)
    }

    /// Deletes a namespace with everything in it. Returns false if it does not exist.
    pub fn delete(&self, account: &AccountId, name: &NamespaceName) -> Result<bool> {
        let retired = match self.namespaces.retire(account, name) {
            Err(Error::Disk { trouble: DiskTrouble::Full, .. }) if !self.store.is_shared() => {
                self.retire_without_files(account, name)?
            }
            retired => retired?,
        };
        let Some(removal) = retired else { return Ok(false) };
        self.queue.remove_namespace(removal.id);
        self.pending.remove_namespace(removal.id);
        if let Err(error) = self.remove(&removal) {
            tracing::warn!(
                ?account,
                namespace = ?name,
                %error,
                "cannot remove the files of a deleted namespace; the next sweep tries again"
            );
        }
        Ok(true)
    }

    /// Deletes a namespace on a disk that has no room to record the deletion, not even a reserve. Its files are removed
    /// first, which makes room. If the record is refused all the same, the namespace counts as damaged until it is
    /// deleted again.
    fn retire_without_files(&self, account: &AccountId, name: &NamespaceName) -> Result<Option<RemovalRecord>> {
        let Some(record) = self.store.namespace(account, name)? else { return Ok(None) };
        tracing::warn!(?account, namespace = ?name, "the disk is full: the files of a namespace are removed before its record");
        self.namespaces.discard_files(&record)?;
        self.media.files().remove_namespace(record.id)?;
        self.namespaces.retire(account, name)
    }

    /// Removes the remaining records and files of deleted namespaces. The next sweep repeats removals that failed.
    pub fn finish_removals(&self) {
        let removals = match self.store.pending_removals() {
            Ok(removals) => removals,
            Err(error) => {
                tracing::error!(%error, "cannot read the unfinished deletions");
                return;
            }
        };
        for removal in removals {
            if let Err(error) = self.remove(&removal) {
                let RemovalRecord { account, name, .. } = removal;
                tracing::warn!(
                    ?account,
                    namespace = ?name,
                    %error,
                    "cannot finish the deletion of a namespace; the next sweep tries again"
                );
            }
        }
    }

    /// Removes the records and files of a deleted namespace.
    fn remove(&self, removal: &RemovalRecord) -> Result<()> {
        let mut media_bytes = 0;
        for record in self.store.media_of_namespace(removal.id)? {
            media_bytes += record.bytes;
        }
        self.store.remove_records(removal)?;
        self.billing.release_media(&removal.account, media_bytes)?.charge();
        self.namespaces.remove_files(removal)?;
        self.media.files().remove_namespace(removal.id)?;
        Ok(self.store.finish_removal(removal.id)?)
    }

    /// Renames the folders of format 1 to their current names. The records already have the current format.
    pub(crate) fn rename_former_folders(&self) -> Result<()> {
        if let Err(error) = self.namespaces.empty_trash() {
            tracing::warn!(%error, "cannot remove files that an earlier process left in the trash");
        }
        if !self.store.has_format_1_directories()? {
            return Ok(());
        }
        for account in self.store.accounts_with_namespaces()? {
            let records = self.store.namespaces(&account, None, usize::MAX)?;
            self.namespaces.rename_former_folders(&records)?;
            for record in &records {
                self.media.files().move_former_files(&self.store.media_of_namespace(record.id)?)?;
            }
        }
        for removal in self.store.pending_removals()? {
            self.namespaces.remove_former_folders(&removal)?;
        }
        Ok(self.store.mark_directories_renamed()?)
    }
}
