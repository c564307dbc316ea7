//! The interface of a key-value engine: ordered keys in columns, atomic and conditional batches, and syncs.

use std::path::Path;
use std::sync::Arc;

use super::batch::Batch;
use super::columns::Column;
use super::durability::{Durability, OpenGeneration};
use super::page::KeyValuePair;
use super::stats::EngineStats;
use crate::error::{Error, Result};

/// A database of ordered keys in columns. Safe to share between threads.
///
/// A read sees every write that returned before the read began. A single read sees a batch in whole or not at all.
///
/// A call that reads fails with [`Error::DamagedRecords`](crate::Error::DamagedRecords) if stored bytes differ from
/// what was written, and with [`Error::Engine`](crate::Error::Engine) if the operating system refuses to read them.
pub trait Engine: Send + Sync {
    /// Returns the value of a key. `None` if the key is absent.
    fn get(&self, column: Column, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Returns up to `limit` entries whose key starts with `prefix` and is greater than `after`, in key order.
    fn scan(&self, column: Column, prefix: &[u8], after: Option<&[u8]>, limit: usize) -> Result<Vec<KeyValuePair>>;

    /// Returns up to `limit` entries whose key starts with `prefix` and is less than `before`, in descending key order.
    fn scan_back(
        &self,
        column: Column,
        prefix: &[u8],
        before: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<KeyValuePair>>;

    /// Returns the next entries of a column with keys greater than `after`, in key order, and verifies the checksum of
    /// each block that it reads. A page ends after 1 MiB. It is empty only if there are no further entries.
    fn read_page(&self, column: Column, after: Option<&[u8]>) -> Result<Vec<KeyValuePair>>;

    /// Applies a batch atomically. With [`Durability::Synced`] it is durable on return, with [`Durability::Buffered`]
    /// after the next successful [`Self::sync`]. The batch's conditions apply to the state before the batch. No other
    /// write changes a key between the check of the conditions and the write.
    ///
    /// # Errors
    /// [`Error::ConditionFailed`](crate::Error::ConditionFailed) if a condition does not hold; nothing is changed then.
    /// [`Error::Engine`](crate::Error::Engine) if the operating system refuses the write or sync. The batch may still
    /// have been applied then, in whole.
    fn write(&self, batch: &Batch, durability: Durability) -> Result<()>;

    /// Makes all writes that returned before the call durable.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) if the operating system refuses the sync. The writes may be durable or
    /// not.
    fn sync(&self) -> Result<()>;

    /// Makes all writes that returned before the call durable, as well as the data the caller has read. Concurrent
    /// callers share one sync of the disk.
    ///
    /// # Errors
    /// The errors of [`Self::sync`]. Also fails with [`Error::Engine`](crate::Error::Engine) if the database was
    /// reopened since the caller obtained `generation`: writes that were not synced before may be lost.
    fn sync_since(&self, generation: OpenGeneration) -> Result<()>;

    /// Returns the current generation, for [`Self::sync_since`]. Reopens a database that refuses writes first, if
    /// possible, so that the caller's next writes belong to the returned generation.
    fn generation(&self) -> OpenGeneration;

    /// Returns the disk and memory use of the database.
    fn stats(&self) -> EngineStats;

    /// Writes a snapshot of the database into a new folder on the same file system.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) if the operating system refuses to write it, or if the engine has no
    /// files.
    fn checkpoint(&self, folder: &Path) -> Result<()>;

    /// Returns the keys as they are now, to be read only. They do not change while the returned engine exists, which may
    /// keep the database from removing what is deleted meanwhile.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) if the database cannot be reached, or if the engine has files:
    /// [`Self::checkpoint`] copies them.
    fn snapshot(&self) -> Result<Arc<dyn Engine>> {
        let source = "this engine has no snapshots: its files can be copied with a checkpoint".into();
        Err(Error::Engine { trouble: None, source })
    }

    /// Removes from the files of the database what was deleted or replaced before the call, in each column below the
    /// prefix given with it. An empty prefix means the whole column.
    ///
    /// A deletion only hides an entry. Its bytes stay in sorted files until a compaction reaches them, in the
    /// write-ahead log until all column families are flushed, and its key stays in the manifest until the next opening.
    /// Erased text must not stay there. The cost is a rewrite of the files that hold keys with these prefixes, and a
    /// pause of all reads and writes while the database is opened again.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) if the operating system refuses to write. Deleted bytes may still be in
    /// the files then; the call can be repeated.
    fn purge_deleted(&self, prefixes: &[ColumnPrefix]) -> Result<()>;

    /// Does the same for the values only: keys may stay in the manifest. Nothing has to wait meanwhile.
    ///
    /// # Errors
    /// Those of [`Self::purge_deleted`].
    fn purge_deleted_values(&self, prefixes: &[ColumnPrefix]) -> Result<()> {
        self.purge_deleted(prefixes)
    }
}

/// The keys of a column that begin with a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnPrefix {
    /// The column.
    pub column: Column,
    /// The prefix; empty for all keys.
    pub prefix: Vec<u8>,
}

impl dyn Engine + '_ {
    /// Reads every entry of a column, in key order, and verifies the checksum of each block. An entry that is written
    /// or deleted meanwhile may be returned or not; all others are returned once.
    pub fn read_all(&self, column: Column) -> ColumnEntries<'_> {
        ColumnEntries { engine: self, column, page: Vec::new().into_iter(), last_key: None, is_finished: false }
    }
}

/// The entries of a column. Reads them in pages, and holds no lock between two pages. The first error ends the
/// iteration.
pub struct ColumnEntries<'a> {
    engine: &'a dyn Engine,
    column: Column,
    page: std::vec::IntoIter<KeyValuePair>,
    /// Key of the last entry of `page`.
    last_key: Option<Vec<u8>>,
    /// Whether this was the last page.
    is_finished: bool,
}

impl ColumnEntries<'_> {
    fn read_next_page(&mut self) -> Result<()> {
        let page = self.engine.read_page(self.column, self.last_key.as_deref())?;
        match page.last() {
            Some((last_key, _)) => self.last_key = Some(last_key.clone()),
            None => self.is_finished = true,
        }
        self.page = page.into_iter();
        Ok(())
    }
}

impl Iterator for ColumnEntries<'_> {
    type Item = Result<KeyValuePair>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.page.as_slice().is_empty()
            && !self.is_finished
            && let Err(error) = self.read_next_page()
        {
            self.is_finished = true;
            return Some(Err(error));
        }
        self.page.next().map(Ok)
    }
}
