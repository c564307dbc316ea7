//! The RocksDB database behind the key-value interface: opening, batches, scans, syncs, and reopening after a refused
//! write.

#![expect(clippy::disallowed_types, reason = "this file hides RocksDB")]

use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, DB, Direction, IteratorMode, Options, WriteBatch,
    WriteOptions,
};

use super::{Column, manifest, power};
use crate::error::{DiskTrouble, Error, Result};

/// A file in the database's folder that the process holds locked while it has the database open. RocksDB reports its
/// own lock only as the text of an error; this lock can be tested by type.
const PROCESS_LOCK: &str = "PROCESS";
/// Size of the write-ahead log at which column families are flushed, 64 MiB.
const WRITE_AHEAD_LOG_BYTES_MAX: u64 = 64 << 20;

/// Write buffer of one column family, 4 MiB: records are small, and an idle server should use little memory.
const WRITE_BUFFER_BYTES: usize = 4 << 20;
/// The column family that RocksDB always creates. Cuebase stores nothing in it.
const DEFAULT_FAMILY: &str = "default";

/// Files that the engine keeps open at most.
const OPEN_FILES_MAX: i32 = 256;

/// Shortest time between two attempts to reopen a database that refuses writes.
const REOPEN_INTERVAL: Duration = Duration::from_secs(1);
/// Bytes that must be writable before the database is reopened: the engine writes files of its own when it opens.
const PROBE_BYTES: usize = 1 << 20;

/// Memory limits of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineMemory {
    /// Cache of blocks of sorted files, shared by all column families.
    pub block_cache_bytes: usize,
    /// Write buffers of all column families together. One write buffer takes at most 4 MiB.
    pub write_buffer_bytes: usize,
}

impl Default for EngineMemory {
    fn default() -> Self {
        Self { block_cache_bytes: 64 << 20, write_buffer_bytes: 64 << 20 }
    }
}

/// When a write must be on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Before the call returns. The write survives a loss of power.
    Synced,
    /// Later. The write survives the death of the process, but not a loss of power. For data that is derived or can be
    /// written again.
    Buffered,
}

/// Disk and memory use of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineStats {
    /// Bytes of the sorted files.
    pub disk_bytes: u64,
    /// Bytes of the write buffers, which are not in sorted files yet.
    pub memory_bytes: u64,
    /// Column families with a pending compaction.
    pub compactions_pending: u64,
}

/// Identifies one opening of the database. The number increases when the database is reopened after a refused write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenGeneration(u64);

/// Changes that are applied atomically.
#[derive(Default)]
pub struct Batch {
    changes: Vec<KeyChange>,
    deleted_prefixes: Vec<(Column, Vec<u8>)>,
}

struct KeyChange {
    column: Column,
    key: Vec<u8>,
    /// The new value; `None` deletes the key.
    value: Option<Vec<u8>>,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a key.
    pub fn put(&mut self, column: Column, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> &mut Self {
        self.changes.push(KeyChange { column, key: key.into(), value: Some(value.into()) });
        self
    }

    /// Deletes every key with a prefix, before the batch's other changes are applied.
    pub(crate) fn delete_prefix(&mut self, column: Column, prefix: Vec<u8>) -> &mut Self {
        self.deleted_prefixes.push((column, prefix));
        self
    }

    /// Deletes a key. Deleting a missing key succeeds.
    pub fn delete(&mut self, column: Column, key: impl Into<Vec<u8>>) -> &mut Self {
        self.changes.push(KeyChange { column, key: key.into(), value: None });
        self
    }
}

fn options(recovery: rocksdb::DBRecoveryMode, memory: EngineMemory) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_max_total_wal_size(WRITE_AHEAD_LOG_BYTES_MAX);
    options.set_keep_log_file_num(2);
    options.set_max_background_jobs(2);
    options.set_max_open_files(OPEN_FILES_MAX);
    // RocksDB starts this number of threads for every column family that has files, and each has few files.
    options.set_max_file_opening_threads(1);
    options.set_wal_recovery_mode(recovery);
    options.set_db_write_buffer_size(memory.write_buffer_bytes);
    options
}

/// The names of the column families to open: every column, and those that an earlier format left in the database.
fn family_names(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = Column::ALL.iter().map(|column| column.name().to_owned()).collect();
    names.extend(legacy_family_names(path));
    names
}

/// The names of column families on disk that this build does not know.
fn legacy_family_names(path: &Path) -> Vec<String> {
    let mut legacy = Vec::new();
    // Listing fails if the database does not exist yet. A damaged database fails when it is opened.
    let Ok(names) = DB::list_cf(&Options::default(), path) else { return legacy };
    for name in names {
        let is_known = name == DEFAULT_FAMILY || Column::ALL.iter().any(|column| column.name() == name);
        if !is_known {
            legacy.push(name);
        }
    }
    legacy
}

fn descriptors(names: &[String], memory: EngineMemory, cache: &Cache) -> Vec<ColumnFamilyDescriptor> {
    let mut descriptors = Vec::with_capacity(names.len());
    for name in names {
        let mut blocks = BlockBasedOptions::default();
        blocks.set_block_cache(cache);
        let mut family = Options::default();
        family.set_write_buffer_size(WRITE_BUFFER_BYTES.min(memory.write_buffer_bytes));
        family.set_compression_type(rocksdb::DBCompressionType::Lz4);
        family.set_block_based_table_factory(&blocks);
        descriptors.push(ColumnFamilyDescriptor::new(name, family));
    }
    descriptors
}

/// An open database. Safe to share between threads.
pub struct KeyValueStore {
    path: PathBuf,
    memory: EngineMemory,
    cache: Cache,
    /// Locked while the database is open.
    _process_lock: File,
    /// Locked for writing only to replace the database with a reopened one, or to drop a column family.
    db: RwLock<DB>,
    /// Number of times the database was reopened.
    generation: AtomicU64,
    /// Number of sync requests so far.
    sync_requests: AtomicU64,
    /// Number of sync requests whose writes are durable. Locked during a sync, so that concurrent requests share it.
    durable_requests: Mutex<u64>,
    last_reopen: Mutex<Option<ReopenAttempt>>,
    /// Whether the system refused a write or sync since the database was opened. The engine then refuses all later
    /// ones.
    refused: AtomicBool,
}

/// The latest attempt to reopen the database.
struct ReopenAttempt {
    at: Instant,
    succeeded: bool,
}

impl KeyValueStore {
    /// Opens the database in `path`, creating it and any missing column family.
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
        let process_lock = lock_process(path)?;
        let cache = Cache::new_lru_cache(memory.block_cache_bytes);
        let strict = rocksdb::DBRecoveryMode::TolerateCorruptedTailRecords;
        let db = match open_database(path, memory, &cache, strict) {
            Err(Error::DamagedRecords(reason)) if power::was_lost(path) => {
                tracing::warn!(%reason, "recovering after a loss of power: logs are read up to the last intact record");
                open_after_power_loss(path, memory, &cache)?
            }
            opened => opened?,
        };
        power::record_boot(path);
        Ok(Self {
            path: path.to_path_buf(),
            memory,
            cache,
            _process_lock: process_lock,
            db: RwLock::new(db),
            generation: AtomicU64::new(0),
            sync_requests: AtomicU64::new(0),
            durable_requests: Mutex::default(),
            last_reopen: Mutex::default(),
            refused: AtomicBool::new(false),
        })
    }

    /// The names of column families that this build does not know, left by an earlier format.
    pub(crate) fn legacy_families(&self) -> Vec<String> {
        legacy_family_names(&self.path)
    }

    /// Up to `limit` entries of a legacy column family, in key order, with keys greater than `after`. Empty if there is
    /// no column family of that name.
    pub(crate) fn scan_legacy(&self, name: &str, after: Option<&[u8]>, limit: usize) -> Result<Vec<KeyValuePair>> {
        let db = self.db.read();
        let Some(family) = db.cf_handle(name) else { return Ok(Vec::new()) };
        let mut entries = Vec::new();
        for entry in db.iterator_cf(family, forward_from(after.unwrap_or(b""))) {
            let (key, value) = entry.map_err(read_error)?;
            if entries.len() == limit {
                break;
            }
            if Some(&*key) > after {
                entries.push((key.into_vec(), value.into_vec()));
            }
        }
        Ok(entries)
    }

    /// Drops a legacy column family.
    pub(crate) fn drop_legacy(&self, name: &str) -> Result<()> {
        self.db.write().drop_cf(name).map_err(|error| self.failed(&error))
    }

    /// Reopens the database after a refused write, since the engine then refuses all later writes. Tries at most once a
    /// second, and only if the disk accepts writes. Returns whether writes are possible again, also to callers that
    /// waited for another caller's attempt. Reads continue until then.
    fn reopen(&self) -> bool {
        let mut last_reopen = self.last_reopen.lock();
        if let Some(last) = &*last_reopen
            && last.at.elapsed() < REOPEN_INTERVAL
        {
            return last.succeeded;
        }
        if probe(&self.path).is_err() {
            return false;
        }
        let mut db = self.db.write();
        let reopened = self.replace_database(&mut db);
        match &reopened {
            Ok(()) => tracing::info!("the key-value store accepts writes again"),
            Err(error) => tracing::error!(%error, "cannot reopen the key-value store"),
        }
        self.refused.store(reopened.is_err(), Ordering::SeqCst);
        *last_reopen = Some(ReopenAttempt { at: Instant::now(), succeeded: reopened.is_ok() });
        reopened.is_ok()
    }

    fn replace_database(&self, db: &mut DB) -> std::result::Result<(), rocksdb::Error> {
        self.generation.fetch_add(1, Ordering::SeqCst);
        let options = options(rocksdb::DBRecoveryMode::TolerateCorruptedTailRecords, self.memory);
        let names = family_names(&self.path);
        // RocksDB allows one writer at a time. A read-only database replaces the old writer until the new one is open.
        let families = descriptors(&names, self.memory, &self.cache);
        *db = DB::open_cf_descriptors_read_only(&options, &self.path, families, false)?;
        let families = descriptors(&names, self.memory, &self.cache);
        *db = DB::open_cf_descriptors(&options, &self.path, families)?;
        Ok(())
    }

    /// Converts an error of the engine. The engine reports a refusal by the system only as text, so the cause is found
    /// with a test write.
    fn failed(&self, error: &rocksdb::Error) -> Error {
        engine_error(error, &self.path)
    }

    /// Returns the value of a key.
    pub fn get(&self, column: Column, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let db = self.db.read();
        db.get_cf(family(&db, column)?, key).map_err(read_error)
    }

    /// Up to `limit` entries whose key starts with `prefix` and is greater than `after`, in key order.
    pub(crate) fn scan(
        &self,
        column: Column,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<KeyValuePair>> {
        let from = after.unwrap_or(prefix).max(prefix);
        let mut entries = Vec::new();
        let db = self.db.read();
        for entry in db.iterator_cf(family(&db, column)?, forward_from(from)) {
            let (key, value) = entry.map_err(read_error)?;
            if entries.len() == limit || !key.starts_with(prefix) {
                break;
            }
            if Some(&*key) > after {
                entries.push((key.into_vec(), value.into_vec()));
            }
        }
        Ok(entries)
    }

    /// Up to `limit` entries whose key starts with `prefix` and is less than `before`, in descending key order.
    pub(crate) fn scan_back(
        &self,
        column: Column,
        prefix: &[u8],
        before: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<KeyValuePair>> {
        // Sorts after every key with the prefix: ids are at most 32 bytes long, and no byte is greater than 0xff.
        let end = [prefix, &[0xff; 32]].concat();
        let from = before.unwrap_or(&end);
        let mut entries = Vec::new();
        let db = self.db.read();
        for entry in db.iterator_cf(family(&db, column)?, IteratorMode::From(from, Direction::Reverse)) {
            let (key, value) = entry.map_err(read_error)?;
            if entries.len() == limit || !key.starts_with(prefix) {
                break;
            }
            // The iterator starts at `before` itself, which is excluded.
            if before != Some(&*key) {
                entries.push((key.into_vec(), value.into_vec()));
            }
        }
        Ok(entries)
    }

    /// Applies a batch atomically. A batch whose write failed may still have been applied, in whole.
    ///
    /// A synced batch is written like any other and then waits for a sync that it shares with other callers. The
    /// engine's own synced write would block every later write, and with them readers that charge a unit.
    pub fn write(&self, batch: &Batch, durability: Durability) -> Result<()> {
        let mut generation = self.current();
        match self.write_once(batch) {
            Err(Error::EngineIo { .. }) if self.reopen() => {
                generation = self.current();
                self.write_once(batch)?;
            }
            written => written?,
        }
        match durability {
            Durability::Synced => self.sync_since(generation),
            Durability::Buffered => Ok(()),
        }
    }

    fn write_once(&self, batch: &Batch) -> Result<()> {
        let db = self.db.read();
        let mut changes = WriteBatch::default();
        for (column, prefix) in &batch.deleted_prefixes {
            changes.delete_range_cf(family(&db, *column)?, prefix, &prefix_end(prefix));
        }
        for KeyChange { column, key, value } in &batch.changes {
            let family = family(&db, *column)?;
            match value {
                Some(value) => changes.put_cf(family, key, value),
                None => changes.delete_cf(family, key),
            }
        }
        let written = db.write_opt(changes, &WriteOptions::default());
        written.map_err(|error| {
            self.refused.store(true, Ordering::SeqCst);
            self.failed(&error)
        })
    }

    /// Returns the current generation, for [`Self::sync_since`]. Reopens a database that refuses writes first, if
    /// possible, so that the caller's next writes belong to the returned generation.
    pub fn generation(&self) -> OpenGeneration {
        if self.refused.load(Ordering::SeqCst) {
            self.reopen();
        }
        self.current()
    }

    fn current(&self) -> OpenGeneration {
        OpenGeneration(self.generation.load(Ordering::SeqCst))
    }

    /// Writes a snapshot of the database into a new folder on the same file system. Immutable files are linked, not
    /// copied.
    pub(crate) fn checkpoint(&self, folder: &Path) -> Result<()> {
        let db = self.db.read();
        let checkpoint = rocksdb::checkpoint::Checkpoint::new(&*db).map_err(|error| self.failed(&error))?;
        checkpoint.create_checkpoint(folder).map_err(|error| self.failed(&error))
    }

    /// Visits every entry of a column and verifies the checksum of each block.
    pub(crate) fn read_all(&self, column: Column, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        let db = self.db.read();
        for entry in db.iterator_cf(family(&db, column)?, IteratorMode::Start) {
            let (key, value) = entry.map_err(read_error)?;
            visit(&key, &value);
        }
        Ok(())
    }

    /// Returns the disk and memory use of the database.
    pub fn stats(&self) -> EngineStats {
        let db = self.db.read();
        EngineStats {
            disk_bytes: sum_property(&db, "rocksdb.total-sst-files-size"),
            memory_bytes: sum_property(&db, "rocksdb.cur-size-all-mem-tables"),
            compactions_pending: sum_property(&db, "rocksdb.compaction-pending"),
        }
    }

    fn require_generation(&self, generation: OpenGeneration) -> Result<()> {
        if generation == self.current() {
            return Ok(());
        }
        let reason = "the database was reopened before the preceding writes were durable".into();
        Err(Error::EngineIo { trouble: DiskTrouble::Failing, reason })
    }

    /// Makes all buffered writes that were made before the call durable.
    pub fn sync(&self) -> Result<()> {
        self.sync_since(self.current())
    }

    /// Makes all buffered writes that were made before the call durable, as well as the data the caller has read.
    /// Concurrent callers share one sync of the disk.
    ///
    /// # Errors
    /// [`Error::EngineIo`] if the database was reopened since the caller obtained `generation`: writes that were not
    /// synced before may be lost.
    pub fn sync_since(&self, generation: OpenGeneration) -> Result<()> {
        let request = self.sync_requests.fetch_add(1, Ordering::SeqCst) + 1;
        let mut durable_requests = self.durable_requests.lock();
        self.require_generation(generation)?;
        if *durable_requests >= request {
            return Ok(());
        }
        // Callers write before they request a sync, so this sync covers every request up to now.
        let covered_requests = self.sync_requests.load(Ordering::SeqCst);
        let synced = {
            // While this lock is held, the database is not reopened.
            let db = self.db.read();
            self.require_generation(generation)?;
            db.flush_wal(true).map_err(|error| {
                self.refused.store(true, Ordering::SeqCst);
                self.failed(&error)
            })
        };
        match &synced {
            Ok(()) => *durable_requests = covered_requests,
            // The writes may be on disk or not. The caller reports that.
            Err(Error::EngineIo { .. }) => {
                self.reopen();
            }
            Err(_) => {}
        }
        synced
    }
}

fn family(db: &DB, column: Column) -> Result<&ColumnFamily> {
    match db.cf_handle(column.name()) {
        Some(family) => Ok(family),
        None => Err(Error::Engine(format!("column family {} is missing", column.name()))),
    }
}

fn forward_from(key: &[u8]) -> IteratorMode<'_> {
    IteratorMode::From(key, Direction::Forward)
}

/// Adds up an integer property over all column families. Families without the property count as 0.
fn sum_property(db: &DB, property: &str) -> u64 {
    let mut sum = 0;
    for column in Column::ALL {
        if let Ok(family) = family(db, column)
            && let Ok(Some(value)) = db.property_int_value_cf(family, property)
        {
            sum += value;
        }
    }
    sum
}

/// The smallest key greater than every key with a prefix. The prefix must not consist of 0xff bytes only.
fn prefix_end(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while end.last() == Some(&0xff) {
        end.pop();
    }
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

/// A key and its value.
pub(crate) type KeyValuePair = (Vec<u8>, Vec<u8>);

/// Opens the database with every column family, creating missing ones.
fn open_database(path: &Path, memory: EngineMemory, cache: &Cache, recovery: rocksdb::DBRecoveryMode) -> Result<DB> {
    let families = descriptors(&family_names(path), memory, cache);
    DB::open_cf_descriptors(&options(recovery, memory), path, families).map_err(|error| engine_error(&error, path))
}

/// Opens a database whose files were damaged by a loss of power. Logs are replayed up to the last intact record. If
/// that fails, the manifest is cut back as well.
fn open_after_power_loss(path: &Path, memory: EngineMemory, cache: &Cache) -> Result<DB> {
    let point_in_time = rocksdb::DBRecoveryMode::PointInTime;
    match open_database(path, memory, cache, point_in_time) {
        Err(Error::DamagedRecords(_)) if manifest::cut_back(path)? => open_database(path, memory, cache, point_in_time),
        opened => opened,
    }
}

/// Locks the database for this process.
fn lock_process(path: &Path) -> Result<File> {
    let name = path.join(PROCESS_LOCK);
    let opened = File::options().create(true).truncate(false).write(true).open(&name);
    let file = opened.map_err(Error::io("open", &name))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Locked(path.to_path_buf())),
        Err(TryLockError::Error(source)) => Err(Error::io("lock", &name)(source)),
    }
}

/// Tests whether the disk of a folder accepts writes.
fn probe(folder: &Path) -> std::io::Result<()> {
    let path = folder.join("probe");
    let probed = write_probe(&path);
    std::fs::remove_file(&path)?;
    probed
}

fn write_probe(path: &Path) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(&[0; PROBE_BYTES])?;
    file.sync_all()
}

/// Converts an error of opening, writing or syncing. The engine reports the cause only as text, so a test write
/// determines it.
fn engine_error(error: &rocksdb::Error, path: &Path) -> Error {
    let Error::EngineIo { reason, .. } = classify(error) else { return classify(error) };
    let trouble = match probe(path) {
        Err(refused) => DiskTrouble::from_io_error(&refused).unwrap_or(DiskTrouble::Failing),
        Ok(()) => DiskTrouble::Failing,
    };
    Error::EngineIo { trouble, reason }
}

/// Converts an error of reading.
#[expect(clippy::needless_pass_by_value, reason = "the signature that map_err requires")]
fn read_error(error: rocksdb::Error) -> Error {
    classify(&error)
}

fn classify(error: &rocksdb::Error) -> Error {
    use rocksdb::ErrorKind::{Aborted, Corruption, IOError, Incomplete, ShutdownInProgress, TryAgain};
    match error.kind() {
        Corruption => Error::DamagedRecords(error.to_string()),
        // After one refusal by the system, the engine refuses all later writes with one of these kinds.
        IOError | Aborted | Incomplete | ShutdownInProgress | TryAgain => {
            Error::EngineIo { trouble: DiskTrouble::Failing, reason: error.to_string() }
        }
        _ => Error::Engine(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_is_ordered_and_limited_and_starts_after_the_given_key() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = KeyValueStore::open(folder.path()).expect("opens");
        let mut batch = Batch::new();
        for name in ["a\0one", "a\0two", "a\0three", "b\0one"] {
            batch.put(Column::Namespaces, name, name);
        }
        store.write(&batch, Durability::Buffered).expect("writes");
        let names = |after: Option<&[u8]>, limit| {
            let entries = store.scan(Column::Namespaces, b"a\0", after, limit).expect("scans");
            entries.into_iter().map(|(key, _)| String::from_utf8_lossy(&key[2..]).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(None, 9), ["one", "three", "two"]);
        assert_eq!(names(Some(b"a\0one"), 9), ["three", "two"]);
        assert_eq!(names(None, 1), ["one"]);
        let mut batch = Batch::new();
        batch.delete_prefix(Column::Namespaces, b"a\0".to_vec()).put(Column::Namespaces, "a\0four", "");
        store.write(&batch, Durability::Buffered).expect("writes");
        assert_eq!(names(None, 9), ["four"]);
        assert!(store.get(Column::Namespaces, b"b\0one").expect("reads").is_some());
    }

    #[test]
    fn a_prefix_ends_at_the_next_prefix() {
        assert_eq!(prefix_end(b"a\0"), b"a\x01");
        assert_eq!(prefix_end(b"a\xff\xff"), b"b");
    }

    #[test]
    fn a_sync_fails_for_writes_that_preceded_a_reopening() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = KeyValueStore::open(folder.path()).expect("opens");
        let mut batch = Batch::new();
        batch.put(Column::Namespaces, "a", "1");
        let before = store.generation();
        store.write(&batch, Durability::Buffered).expect("writes");
        assert!(store.reopen());
        assert!(matches!(store.sync_since(before), Err(Error::EngineIo { .. })));
        store.sync().expect("syncs");
    }

    #[test]
    fn a_second_process_fails_with_locked() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let _held = KeyValueStore::open(folder.path()).expect("opens");
        assert!(matches!(KeyValueStore::open(folder.path()), Err(Error::Locked(_))));
    }

    #[test]
    fn a_path_that_contains_the_word_lock_does_not_fail_as_locked() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let path = folder.path().join("LOCK: lock hold by current process");
        std::fs::write(&path, "a file, not a folder").expect("writes");
        let opened = KeyValueStore::open(&path);
        assert!(matches!(opened, Err(Error::Io { .. })), "{:?}", opened.err());
    }
}
