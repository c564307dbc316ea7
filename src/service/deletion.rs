//! Deleting a namespace, and finishing deletions that something interrupted.
//!
//! The namespace is gone with one small batch ([`Namespaces::retire`](crate::namespace::registry::Namespaces)); what it leaves in
//! the records and on disk is removed right after, or by a later sweep where the disk refuses.

use std::fs;
use std::io::ErrorKind;

use cuebase_storage::records::RemovalRecord;

use super::Service;
use crate::error::Result;

impl Service {
    /// Removes a namespace for good, with everything in it. False when there is none.
    pub fn delete_namespace(&self, account: &str, name: &str) -> Result<bool> {
        let Some(removal) = self.namespaces.retire(account, name)? else { return Ok(false) };
        self.queue.remove_namespace(removal.id);
        self.pending.remove_namespace(removal.id);
        if let Err(error) = self.remove(&removal) {
            tracing::warn!(account, namespace = name, %error, "the files of a deleted namespace are removed later");
        }
        Ok(true)
    }

    /// Removes what is left of deleted namespaces. Where one cannot be removed it is tried again by the next sweep.
    pub fn finish_removals(&self) {
        let removals = match self.store.pending_removals() {
            Ok(removals) => removals,
            Err(error) => {
                tracing::error!(%error, "the deletions that are not finished cannot be read");
                return;
            }
        };
        for removal in removals {
            if let Err(error) = self.remove(&removal) {
                let RemovalRecord { account, name, .. } = removal;
                tracing::warn!(account, namespace = name, %error, "a deletion could not be finished; it is tried again");
            }
        }
    }

    fn remove(&self, removal: &RemovalRecord) -> Result<()> {
        let mut media_bytes = 0;
        for record in self.store.media_of_namespace(removal.id)? {
            media_bytes += record.bytes;
        }
        self.store.remove_records(removal)?;
        self.billing.release_media(&removal.account, media_bytes)?.charge();
        self.namespaces.remove_files(removal)?;
        match fs::remove_dir_all(self.media.folder(removal.id)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        Ok(self.store.finish_removal(removal.id)?)
    }

    /// Gives the folders of format 1 their names of today, after the records were brought to this format.
    pub(super) fn rename_former_folders(&self) -> Result<()> {
        self.namespaces.empty_trash().unwrap_or_else(|error| {
            tracing::warn!(%error, "what a former process left could not be removed");
        });
        if !self.store.has_format_1_directories()? {
            return Ok(());
        }
        for account in self.store.accounts_with_namespaces()? {
            let records = self.store.namespaces(&account, None, usize::MAX)?;
            self.namespaces.rename_former_folders(&records)?;
            for record in &records {
                self.media.move_former_files(&self.store.media_of_namespace(record.id)?)?;
            }
        }
        for removal in self.store.pending_removals()? {
            self.namespaces.remove_former_folders(&removal)?;
        }
        Ok(self.store.mark_directories_renamed()?)
    }
}
