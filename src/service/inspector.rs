//! A view of an open data directory for maintenance: doctor, backup, export and lists of commands read through it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cuebase_storage::records::{
    ConversationRecord, DeadLetter, MediaRecord, ModelRecord, NamespaceRecord, QueueEntry, SourceCheck, SourceRecord,
    UnreadableRecord,
};
use cuebase_storage::{AccountId, MessageId, NamespaceId, NamespaceKey, NamespaceName, Store};
use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::media_store::MediaStore;
use super::shared_parts::SharedParts;
use crate::error::Result;

/// Reads the records of a data directory and knows where its files are. Reads of the queue set entries aside that
/// cannot be decoded.
pub struct Inspector {
    data: PathBuf,
    store: Arc<Store>,
    media: Arc<MediaStore>,
}

/// The space of a disk. One with less free space is less than another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DiskSpace {
    /// Space that is available to the server, in bytes.
    pub free_bytes: u64,
    /// Size of the file system, in bytes.
    pub total_bytes: u64,
}

/// The numbers of waiting writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitingWrites {
    /// All waiting writes.
    pub waiting: u64,
    /// Those that failed before.
    pub retried: u64,
}

impl Inspector {
    /// Makes the inspector of an open data directory.
    pub(crate) fn new(data: &Path, shared: &SharedParts) -> Self {
        Self { data: data.to_path_buf(), store: Arc::clone(&shared.store), media: Arc::clone(&shared.media_files) }
    }

    /// Makes everything durable that was written before.
    ///
    /// # Errors
    /// If the disk refuses the sync.
    pub fn sync(&self) -> anyhow::Result<()> {
        Ok(self.store.sync()?)
    }

    /// Returns the open records, for the maintenance of several nodes.
    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Returns the path of the data directory.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Returns the space of the disk with the data directory.
    ///
    /// # Errors
    /// If the system does not report it.
    pub fn disk_space(&self) -> io::Result<DiskSpace> {
        let stat = nix::sys::statvfs::statvfs(&self.data)?;
        Ok(DiskSpace {
            free_bytes: stat.blocks_available().saturating_mul(stat.fragment_size()),
            total_bytes: stat.blocks().saturating_mul(stat.fragment_size()),
        })
    }

    /// Returns the namespaces of all accounts, by account and name.
    pub fn all_namespaces(&self) -> Result<Vec<NamespaceRecord>> {
        let mut namespaces = Vec::new();
        for account in self.store.accounts()? {
            namespaces.extend(self.store.namespaces(&account.account, None, usize::MAX)?);
        }
        Ok(namespaces)
    }

    /// Returns up to `limit` namespaces of an account, by name. Does not create `default`.
    pub fn namespaces(&self, account: &AccountId, limit: usize) -> Result<Vec<NamespaceRecord>> {
        Ok(self.store.namespaces(account, None, limit)?)
    }

    /// Returns a namespace. Does not create `default`.
    pub fn namespace(&self, account: &AccountId, name: &NamespaceName) -> Result<Option<NamespaceRecord>> {
        Ok(self.store.namespace(account, name)?)
    }

    /// Writes a snapshot of the records into a new folder on the same file system.
    pub fn checkpoint(&self, folder: &Path) -> Result<()> {
        Ok(self.store.checkpoint(folder)?)
    }

    /// Reads all records. Returns their number and a description of each problem.
    pub fn check_records(&self) -> (u64, Vec<String>) {
        self.store.check()
    }

    /// Reads all sources.
    ///
    /// # Errors
    /// The storage's own error, which says whether the records are damaged.
    pub fn check_sources(&self) -> Result<SourceCheck, cuebase_storage::Error> {
        self.store.check_sources()
    }

    /// Counts the waiting writes.
    pub fn waiting_writes(&self) -> Result<WaitingWrites> {
        let mut found = WaitingWrites::default();
        self.store.for_each_queue_entry(|entry| {
            found.waiting += 1;
            found.retried += u64::from(entry.failures > 0);
        })?;
        Ok(found)
    }

    /// Returns whether a write still waits.
    pub fn is_queued(&self, namespace: &NamespaceKey, id: MessageId) -> Result<bool> {
        Ok(self.store.is_queued(namespace, id)?)
    }

    /// Returns the dead letters of all accounts.
    pub fn dead_letters(&self) -> Result<Vec<DeadLetter>> {
        let mut letters = Vec::new();
        self.store.for_each_dead_letter(|letter| letters.push(letter))?;
        Ok(letters)
    }

    /// Returns the number of dead letters of all accounts.
    pub fn dead_letter_count(&self) -> Result<u64> {
        Ok(self.store.dead_letter_count()?)
    }

    /// Returns whether a write of an account became a dead letter.
    pub fn is_dead(&self, account: &AccountId, id: MessageId) -> Result<bool> {
        Ok(self.store.dead_letter(Some(account), id)?.is_some())
    }

    /// Returns the records that cannot be decoded.
    pub fn unreadable(&self) -> Result<Vec<UnreadableRecord>> {
        Ok(self.store.unreadable()?)
    }

    /// Returns the calls of each model.
    pub fn model_calls(&self) -> Result<Vec<(String, ModelRecord)>> {
        Ok(self.store.models()?)
    }

    /// Returns the records of a namespace's files.
    pub fn media(&self, namespace: NamespaceId) -> Result<Vec<MediaRecord>> {
        Ok(self.store.media_of_namespace(namespace)?)
    }

    /// Compares an uploaded file with its record: in a folder by its checksum, in a bucket by its size. Returns a
    /// description of the difference.
    ///
    /// # Errors
    /// If the bucket cannot be reached.
    pub fn media_difference(&self, record: &MediaRecord) -> Result<Option<String>> {
        self.media.files().difference(record)
    }

    /// Returns the kept conversation after an id, in order of acceptance.
    pub fn next_source(&self, namespace: NamespaceId, after: Option<MessageId>) -> Result<Option<QueueEntry>> {
        Ok(self.store.next_source(namespace, after)?)
    }

    /// Returns up to `limit` sources of a namespace after an id, oldest first.
    pub fn sources_after(
        &self,
        namespace: NamespaceId,
        after: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<SourceRecord>> {
        Ok(self.store.sources_after(namespace, after, limit)?)
    }

    /// Returns whether a namespace keeps a source.
    pub fn has_source(&self, namespace: NamespaceId, id: MessageId) -> Result<bool> {
        Ok(self.store.has_source(namespace, id)?)
    }

    /// Returns up to `limit` managed conversations of a namespace that are older than `before`, newest first.
    pub fn conversations(
        &self,
        namespace: &NamespaceRecord,
        before: Option<Ulid>,
        limit: usize,
    ) -> Result<Vec<ConversationRecord>> {
        Ok(self.store.conversations(namespace, before, limit)?)
    }
}
