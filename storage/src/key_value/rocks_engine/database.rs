//! The open database: reads and batches.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use rocksdb::checkpoint::Checkpoint;
use rocksdb::{Cache, ColumnFamily, DB, WriteBatch, WriteOptions};

use super::errors::{read_error, write_error};
use super::open::{self, Access, EngineMemory, OpenDatabase};
use super::reopen_attempts::Reopening;
use super::scan::{scan_backward, scan_forward};
use crate::error::{DiskTrouble, Error, Result};
use crate::key_value::batch::{Condition, KeyChange};
use crate::key_value::key_range::prefix_end;
use crate::key_value::page::Page;
use crate::key_value::{Batch, Column, ColumnPrefix, Durability, Engine, EngineStats, KeyValuePair, OpenGeneration};

/// An open RocksDB database. Each column is a column family.
pub struct RocksEngine {
    pub(super) path: PathBuf,
    pub(super) memory: EngineMemory,
    pub(super) cache: Cache,
    /// Locked while the database is open.
    _process_lock: File,
    /// Locked for writing only to replace the database with a reopened one, or to drop a column family.
    pub(super) db: RwLock<DB>,
    /// Locked for writing while the conditions of a batch are checked and its changes written. Locked for reading while
    /// a batch without conditions is written, as it must not change a key between check and write. Other batches wait
    /// for one buffered write, which takes about ten microseconds. They would wait for it in RocksDB too, which writes
    /// its log for one group of batches at a time, so a lock per key would gain little. Locked after `db`, and never
    /// while the log is synced, which takes a thousand times longer.
    conditional_writes: RwLock<()>,
    /// Number of times the database was reopened.
    pub(super) generation: AtomicU64,
    /// Number of sync requests so far.
    pub(super) sync_requests: AtomicU64,
    /// Number of sync requests whose writes are durable. Locked during a sync, so that concurrent requests share it.
    pub(super) durable_requests: Mutex<u64>,
    pub(super) reopening: Mutex<Reopening>,
    /// Whether the system refused a write or sync since the database was opened, or its opening for writes. The engine
    /// then refuses all later ones.
    pub(super) refused: AtomicBool,
}

impl RocksEngine {
    /// Opens the database in `path`, creating it and any missing column family.
    ///
    /// If the disk is full, an existing database is opened all the same, for reads. Writes fail until there is room.
    ///
    /// After a loss of power the write-ahead log may end in arbitrary bytes. It is replayed up to the last intact
    /// record: acknowledged writes were synced, so they precede the damage.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process has the database open, [`Error::DamagedRecords`] if its files differ from
    /// what was written.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with_memory(path, EngineMemory::default())
    }

    /// Opens the database like [`Self::open`], with given memory limits.
    pub fn open_with_memory(path: &Path, memory: EngineMemory) -> Result<Self> {
        std::fs::create_dir_all(path).map_err(Error::io("create", path))?;
        let process_lock = open::lock_process(path)?;
        let cache = Cache::new_lru_cache(memory.block_cache_bytes);
        let OpenDatabase { db, access } = open::open_or_recover(path, memory, &cache)?;
        Ok(Self {
            path: path.to_path_buf(),
            memory,
            cache,
            _process_lock: process_lock,
            db: RwLock::new(db),
            conditional_writes: RwLock::new(()),
            generation: AtomicU64::new(0),
            sync_requests: AtomicU64::new(0),
            durable_requests: Mutex::default(),
            reopening: Mutex::default(),
            refused: AtomicBool::new(access == Access::ReadOnly),
        })
    }

    /// Writes a batch, if its conditions hold, without a sync.
    fn write_once(&self, batch: &Batch) -> Result<()> {
        let db = self.db.read();
        // Copies every value, so it is done before other batches are excluded.
        let changes = encode_changes(&db, batch)?;
        if batch.conditions.is_empty() {
            let _shared = self.conditional_writes.read();
            return self.write_changes(&db, changes);
        }
        // This check reads the keys from disk. The check that counts then finds them in memory.
        check_conditions(&db, &batch.conditions)?;
        let _exclusive = self.conditional_writes.write();
        check_conditions(&db, &batch.conditions)?;
        self.write_changes(&db, changes)
    }

    fn write_changes(&self, db: &DB, changes: WriteBatch) -> Result<()> {
        let written = db.write_opt(changes, &WriteOptions::default());
        written.map_err(|error| {
            self.refused.store(true, Ordering::SeqCst);
            write_error(error, &self.path)
        })
    }
}

impl Engine for RocksEngine {
    fn get(&self, column: Column, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let db = self.db.read();
        db.get_cf(family(&db, column)?, key).map_err(read_error)
    }

    fn scan(&self, column: Column, prefix: &[u8], after: Option<&[u8]>, limit: usize) -> Result<Vec<KeyValuePair>> {
        let db = self.db.read();
        scan_forward(&db, family(&db, column)?, prefix, after, Page::with_limit(limit))
    }

    fn scan_back(
        &self,
        column: Column,
        prefix: &[u8],
        before: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<KeyValuePair>> {
        let db = self.db.read();
        scan_backward(&db, family(&db, column)?, prefix, before, Page::with_limit(limit))
    }

    fn read_page(&self, column: Column, after: Option<&[u8]>) -> Result<Vec<KeyValuePair>> {
        let db = self.db.read();
        scan_forward(&db, family(&db, column)?, b"", after, Page::of_bounded_size())
    }

    /// A synced batch is written like any other and then waits for a sync that it shares with other callers. RocksDB's
    /// own synced write would block every later write, and with them readers that charge a unit.
    fn write(&self, batch: &Batch, durability: Durability) -> Result<()> {
        let mut generation = self.current_generation();
        match self.write_once(batch) {
            Err(refused) if refused.disk_trouble().is_some() && self.reopen() => {
                generation = self.current_generation();
                match self.write_once(batch) {
                    // The refused write may have been applied, so this condition may fail because of it.
                    Err(Error::ConditionFailed { .. }) => return Err(refused),
                    written => written?,
                }
            }
            // Its text says only that a former write failed.
            Err(Error::Engine { trouble: Some(_), source }) if self.lacks_room() => {
                return Err(Error::Engine { trouble: Some(DiskTrouble::Full), source });
            }
            written => written?,
        }
        match durability {
            Durability::Synced => self.sync_since(generation),
            Durability::Buffered => Ok(()),
        }
    }

    fn sync(&self) -> Result<()> {
        self.sync_since(self.current_generation())
    }

    fn sync_since(&self, generation: OpenGeneration) -> Result<()> {
        self.shared_sync(generation)
    }

    fn generation(&self) -> OpenGeneration {
        if self.refused.load(Ordering::SeqCst) {
            self.reopen();
        }
        self.current_generation()
    }

    fn stats(&self) -> EngineStats {
        let db = self.db.read();
        EngineStats {
            disk_bytes: sum_property(&db, "rocksdb.total-sst-files-size"),
            memory_bytes: sum_property(&db, "rocksdb.cur-size-all-mem-tables"),
            compactions_pending: sum_property(&db, "rocksdb.compaction-pending"),
        }
    }

    /// Immutable files are linked, not copied.
    fn checkpoint(&self, folder: &Path) -> Result<()> {
        let db = self.db.read();
        let checkpoint = Checkpoint::new(&*db).map_err(|error| write_error(error, &self.path))?;
        checkpoint.create_checkpoint(folder).map_err(|error| write_error(error, &self.path))
    }

    fn purge_deleted(&self, prefixes: &[ColumnPrefix]) -> Result<()> {
        self.purge(prefixes)
    }

    fn purge_deleted_values(&self, prefixes: &[ColumnPrefix]) -> Result<()> {
        self.compact(prefixes)
    }
}

pub(super) fn family(db: &DB, column: Column) -> Result<&ColumnFamily> {
    match db.cf_handle(column.name()) {
        Some(family) => Ok(family),
        None => {
            let source = format!("column family {} is missing", column.name()).into();
            Err(Error::Engine { trouble: None, source })
        }
    }
}

/// Converts the changes of a batch to RocksDB's form.
fn encode_changes(db: &DB, batch: &Batch) -> Result<WriteBatch> {
    let mut changes = WriteBatch::default();
    for (column, prefix) in &batch.deleted_prefixes {
        if let Some(end) = prefix_end(prefix) {
            changes.delete_range_cf(family(db, *column)?, prefix, &end);
        }
    }
    for KeyChange { column, key, value } in &batch.changes {
        let family = family(db, *column)?;
        match value {
            Some(value) => changes.put_cf(family, key, value),
            None => changes.delete_cf(family, key),
        }
    }
    Ok(changes)
}

fn check_conditions(db: &DB, conditions: &[Condition]) -> Result<()> {
    for Condition { column, key, value } in conditions {
        let found = db.get_cf(family(db, *column)?, key).map_err(read_error)?;
        if found != *value {
            return Err(Error::ConditionFailed { column: *column, key: key.clone() });
        }
    }
    Ok(())
}

/// Adds up an integer property over all column families. Families without the property count as 0.
fn sum_property(db: &DB, property: &str) -> u64 {
    let mut sum = 0;
    for column in Column::ALL {
        if let Ok(family) = family(db, *column)
            && let Ok(Some(value)) = db.property_int_value_cf(family, property)
        {
            sum += value;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_fails_for_writes_that_preceded_a_reopening() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = RocksEngine::open(folder.path()).expect("opens");
        let mut batch = Batch::new();
        batch.put(Column::Namespaces, "a", "1");
        let before = store.generation();
        store.write(&batch, Durability::Buffered).expect("writes");
        assert!(store.reopen());
        assert!(matches!(store.sync_since(before), Err(Error::Engine { trouble: Some(_), .. })));
        store.sync().expect("syncs");
    }

    #[test]
    fn a_database_that_is_open_for_reads_serves_them_and_is_reopened_by_a_write() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = RocksEngine::open(folder.path()).expect("opens");
        let mut batch = Batch::new();
        batch.put(Column::Namespaces, "a", "1");
        store.write(&batch, Durability::Synced).expect("writes");
        {
            let mut db = store.db.write();
            *db = open::open_for_reads(folder.path(), store.memory, &store.cache).expect("opens");
        }
        assert_eq!(store.get(Column::Namespaces, b"a").expect("reads"), Some(b"1".to_vec()));
        let refused = store.write_once(&batch).expect_err("accepts no writes");
        assert!(refused.disk_trouble().is_some(), "{refused:?}");
        store.write(&batch, Durability::Synced).expect("writes after it was opened again");
    }

    #[test]
    fn a_second_process_fails_with_locked() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let _held = RocksEngine::open(folder.path()).expect("opens");
        assert!(matches!(RocksEngine::open(folder.path()), Err(Error::Locked(_))));
    }

    #[test]
    fn a_path_that_contains_the_word_lock_does_not_fail_as_locked() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let path = folder.path().join("LOCK: lock hold by current process");
        std::fs::write(&path, "a file, not a folder").expect("writes");
        let opened = RocksEngine::open(&path);
        assert!(matches!(opened, Err(Error::Io { .. })), "{:?}", opened.err());
    }
}
