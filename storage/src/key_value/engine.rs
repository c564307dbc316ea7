//! RocksDB behind ordered keys and atomic batches.

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

/// A file beside the database that the process with the database open holds locked. It exists for its lock alone, so
/// that a lock held elsewhere is known by its kind and not by the words of an error.
const PROCESS_LOCK: &str = "PROCESS";
/// Write-ahead log kept before column families are flushed, 64 MiB.
const WRITE_AHEAD_LOG_BYTES_MAX: u64 = 64 << 20;

/// Write buffer of one column family, 4 MiB: the records are small and an idle server should stay small too.
const WRITE_BUFFER_BYTES: usize = 4 << 20;
/// The column family that RocksDB makes by itself and that holds nothing of ours.
const DEFAULT_FAMILY: &str = "default";

/// Files that the engine keeps open.
const OPEN_FILES_MAX: i32 = 256;

/// A database that takes no writes is opened again no more often than this.
const REOPEN_INTERVAL: Duration = Duration::from_secs(1);
/// So much must go onto the disk before that is tried: the engine writes some files of its own when it opens.
const PROBE_BYTES: usize = 1 << 20;

/// How much memory the database may take for its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineMemory {
    /// Blocks of sorted files, shared by all column families.
    pub block_cache_bytes: usize,
    /// The write buffers of all column families together; a single one takes at most 4 MiB.
    pub write_buffer_bytes: usize,
}

impl Default for EngineMemory {
    fn default() -> Self {
        Self { block_cache_bytes: 64 << 20, write_buffer_bytes: 64 << 20 }
    }
}

/// When a write has to be on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Before the call returns: survives the loss of power.
    Synced,
    /// Soon: survives the death of the process. For what is derived or can be done again.
    Buffered,
}

/// How much a database takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// Its sorted files.
    pub disk_bytes: u64,
    /// What is not in them yet.
    pub memory_bytes: u64,
    /// Column families that wait to be merged.
    pub compactions_pending: u64,
}

/// One opening of a database; after a write that the system refused there is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening(u64);

/// Changes that take effect together or not at all.
#[derive(Default)]
pub struct Batch {
    changes: Vec<(Column, Vec<u8>, Option<Vec<u8>>)>,
    prefixes: Vec<(Column, Vec<u8>)>,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a key.
    pub fn put(&mut self, column: Column, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> &mut Self {
        self.changes.push((column, key.into(), Some(value.into())));
        self
    }

    /// Removes every key that starts with a prefix, before the batch's other changes are made.
    pub(crate) fn delete_below(&mut self, column: Column, prefix: Vec<u8>) -> &mut Self {
        self.prefixes.push((column, prefix));
        self
    }

    /// Removes a key; one that is not there is no error.
    pub fn delete(&mut self, column: Column, key: impl Into<Vec<u8>>) -> &mut Self {
        self.changes.push((column, key.into(), None));
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
    // As many threads are begun for every column family with files in it, and its files are few.
    options.set_max_file_opening_threads(1);
    options.set_wal_recovery_mode(recovery);
    options.set_db_write_buffer_size(memory.write_buffer_bytes);
    options
}

/// The names of the column families to open: every column, and what an earlier format left in the database.
fn family_names(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = Column::ALL.iter().map(|column| column.name().to_owned()).collect();
    // Fails where there is no database yet; what is wrong with one that is there shows when it is opened.
    for name in DB::list_cf(&Options::default(), path).unwrap_or_default() {
        if name != DEFAULT_FAMILY && !names.contains(&name) {
            names.push(name);
        }
    }
    names
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
    /// Locked for as long as the database is open.
    _process: File,
    /// Written to only to put the database, opened again, in its own place.
    db: RwLock<DB>,
    /// How often it has been opened again.
    opening: AtomicU64,
    /// How many have asked for what they wrote to be durable, and how many of those it is for.
    asked: AtomicU64,
    durable: Mutex<u64>,
    /// When it was last tried to open it again, and whether that went well.
    reopened: Mutex<Option<(Instant, bool)>>,
    /// Whether the system refused a write or sync since the database was opened: then it takes no further one.
    refused: AtomicBool,
}

impl KeyValueStore {
    /// Opens the database in `path`, creating it and any missing column family.
    ///
    /// Fails with [`Error::Locked`] when another process has it open, and with [`Error::DamagedRecords`] when what is
    /// there is not what was written. After a loss of power the end of the write-ahead log may be anything; it is taken
    /// up to where it is whole, since whatever was acknowledged had been synced and stands before that.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_within(path, EngineMemory::default())
    }

    /// The same with another amount of memory.
    pub fn open_within(path: &Path, memory: EngineMemory) -> Result<Self> {
        std::fs::create_dir_all(path).map_err(Error::io("create", path))?;
        let process = lock_process(path)?;
        let cache = Cache::new_lru_cache(memory.block_cache_bytes);
        let opened = open_database(path, memory, &cache, rocksdb::DBRecoveryMode::TolerateCorruptedTailRecords);
        let db = match opened {
            Err(Error::DamagedRecords(reason)) if power::was_lost(path) => {
                tracing::warn!(%reason, "the power was lost: logs are taken up to where they are whole");
                let point_in_time = rocksdb::DBRecoveryMode::PointInTime;
                match open_database(path, memory, &cache, point_in_time) {
                    Err(Error::DamagedRecords(_)) if manifest::cut_back(path)? => {
                        open_database(path, memory, &cache, point_in_time)?
                    }
                    opened => opened?,
                }
            }
            opened => opened?,
        };
        power::note(path);
        Ok(Self {
            path: path.to_path_buf(),
            memory,
            cache,
            _process: process,
            db: RwLock::new(db),
            opening: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            durable: Mutex::default(),
            reopened: Mutex::default(),
            refused: AtomicBool::new(false),
        })
    }

    /// The names of column families that this build does not know: left by an earlier format.
    pub(crate) fn former_families(&self) -> Vec<String> {
        let names = DB::list_cf(&Options::default(), &self.path).unwrap_or_default();
        let known = |name: &String| name == DEFAULT_FAMILY || Column::ALL.iter().any(|column| column.name() == name);
        names.into_iter().filter(|name| !known(name)).collect()
    }

    /// Up to `limit` entries of a column family of an earlier format, in key order, after a given key; none where there is
    /// no column family of that name.
    pub(crate) fn scan_former(&self, name: &str, after: Option<&[u8]>, limit: usize) -> Result<Vec<Entry>> {
        let db = self.db.read();
        let Some(family) = db.cf_handle(name) else { return Ok(Vec::new()) };
        let mode = after.map_or(IteratorMode::Start, |key| IteratorMode::From(key, Direction::Forward));
        let mut entries = Vec::new();
        for entry in db.iterator_cf(family, mode) {
            let (key, value) = entry.map_err(read_error)?;
            if entries.len() == limit {
                break;
            }
            if after.is_none_or(|after| &*key > after) {
                entries.push((key.into_vec(), value.into_vec()));
            }
        }
        Ok(entries)
    }

    /// Drops a column family of an earlier format.
    pub(crate) fn drop_former(&self, name: &str) -> Result<()> {
        self.db.write().drop_cf(name).map_err(|error| self.failed(&error))
    }

    /// After a write that the system refused the engine takes no further one. Opens it again, once the disk takes writes
    /// and not more than once a second; true where that went well, for all who waited for it. Until then reads go on.
    fn reopen(&self) -> bool {
        let mut reopened = self.reopened.lock();
        if let Some((at, went_well)) = *reopened
            && at.elapsed() < REOPEN_INTERVAL
        {
            return went_well;
        }
        if self.probe().is_err() {
            return false;
        }
        let strict = rocksdb::DBRecoveryMode::TolerateCorruptedTailRecords;
        let mut db = self.db.write();
        let opened = (|| {
            self.opening.fetch_add(1, Ordering::SeqCst);
            // Only one at a time may write; one that only reads takes the place of the other meanwhile.
            let names = family_names(&self.path);
            let families = || descriptors(&names, self.memory, &self.cache);
            *db = DB::open_cf_descriptors_read_only(&options(strict, self.memory), &self.path, families(), false)?;
            *db = DB::open_cf_descriptors(&options(strict, self.memory), &self.path, families())?;
            Ok::<_, rocksdb::Error>(())
        })();
        match &opened {
            Ok(()) => tracing::info!("the key-value store takes writes again"),
            Err(error) => tracing::error!(%error, "the key-value store could not be opened again"),
        }
        self.refused.store(opened.is_err(), Ordering::SeqCst);
        *reopened = Some((Instant::now(), opened.is_ok()));
        opened.is_ok()
    }

    /// Whether the disk takes writes.
    fn probe(&self) -> std::io::Result<()> {
        probe(&self.path)
    }

    /// An error of the engine as ours. The engine reports a refusal by the system in words only; what the system
    /// refuses is found out by trying.
    fn failed(&self, error: &rocksdb::Error) -> Error {
        engine_error(error, &self.path)
    }

    /// The value at a key.
    pub fn get(&self, column: Column, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let db = self.db.read();
        db.get_cf(family(&db, column)?, key).map_err(read_error)
    }

    /// Up to `limit` entries whose key starts with `prefix` and is greater than `after`, in key order.
    pub(crate) fn scan(&self, column: Column, prefix: &[u8], after: Option<&[u8]>, limit: usize) -> Result<Vec<Entry>> {
        let from = after.map_or(prefix, |key| key.max(prefix));
        let mode = IteratorMode::From(from, Direction::Forward);
        let mut entries = Vec::new();
        let db = self.db.read();
        for entry in db.iterator_cf(family(&db, column)?, mode) {
            let (key, value) = entry.map_err(read_error)?;
            if entries.len() == limit || !key.starts_with(prefix) {
                break;
            }
            if after.is_none_or(|after| &*key > after) {
                entries.push((key.into_vec(), value.into_vec()));
            }
        }
        Ok(entries)
    }

    /// Up to `limit` entries whose key starts with `prefix` and is less than `before`, in falling key order.
    pub(crate) fn scan_back(
        &self,
        column: Column,
        prefix: &[u8],
        before: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        // Ids are no longer than this, and no byte is greater.
        let end = [prefix, &[0xff; 32]].concat();
        let from = before.unwrap_or(&end);
        let mut entries = Vec::new();
        let db = self.db.read();
        for entry in db.iterator_cf(family(&db, column)?, IteratorMode::From(from, Direction::Reverse)) {
            let (key, value) = entry.map_err(read_error)?;
            if entries.len() == limit || !key.starts_with(prefix) {
                break;
            }
            if before.is_none_or(|before| &*key < before) {
                entries.push((key.into_vec(), value.into_vec()));
            }
        }
        Ok(entries)
    }

    /// Applies a batch atomically. One that failed may be there all the same, in whole.
    ///
    /// A synced batch is written like any other and then waits for a sync that it shares with others: the engine's own
    /// synced write would hold up every write behind it, and with them readers that count a unit.
    pub fn write(&self, batch: &Batch, durability: Durability) -> Result<()> {
        let mut opening = self.current();
        match self.write_once(batch) {
            Err(Error::EngineIo { .. }) if self.reopen() => {
                opening = self.current();
                self.write_once(batch)?;
            }
            written => written?,
        }
        match durability {
            Durability::Synced => self.sync_since(opening),
            Durability::Buffered => Ok(()),
        }
    }

    fn write_once(&self, batch: &Batch) -> Result<()> {
        let db = self.db.read();
        let mut changes = WriteBatch::default();
        for (column, prefix) in &batch.prefixes {
            changes.delete_range_cf(family(&db, *column)?, prefix, &after_all(prefix));
        }
        for (column, key, value) in &batch.changes {
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

    /// Which opening of the database this is. A database that takes no writes is opened again first where that is
    /// possible, so that what is written next can be made durable under the opening that is returned.
    pub fn opening(&self) -> Opening {
        if self.refused.load(Ordering::SeqCst) {
            self.reopen();
        }
        self.current()
    }

    fn current(&self) -> Opening {
        Opening(self.opening.load(Ordering::SeqCst))
    }

    /// Puts a copy of the database as it is now into a folder that does not exist yet, on the same file system: files
    /// that never change are linked, not copied.
    pub(crate) fn checkpoint(&self, folder: &Path) -> Result<()> {
        let db = self.db.read();
        let checkpoint = rocksdb::checkpoint::Checkpoint::new(&*db).map_err(|error| self.failed(&error))?;
        checkpoint.create_checkpoint(folder).map_err(|error| self.failed(&error))
    }

    /// Reads every entry of a column, each block's checksum being checked on the way.
    pub(crate) fn read_all(&self, column: Column, mut entry: impl FnMut(&[u8], &[u8])) -> Result<()> {
        let db = self.db.read();
        for read in db.iterator_cf(family(&db, column)?, IteratorMode::Start) {
            let (key, value) = read.map_err(read_error)?;
            entry(&key, &value);
        }
        Ok(())
    }

    /// How much the database takes.
    pub fn levels(&self) -> Levels {
        let db = self.db.read();
        let sum = |property: &str| {
            let of = |column: Column| db.property_int_value_cf(family(&db, column).ok()?, property).ok().flatten();
            Column::ALL.into_iter().filter_map(of).sum()
        };
        Levels {
            disk_bytes: sum("rocksdb.total-sst-files-size"),
            memory_bytes: sum("rocksdb.cur-size-all-mem-tables"),
            compactions_pending: sum("rocksdb.compaction-pending"),
        }
    }

    fn is_still(&self, opening: Opening) -> Result<()> {
        if opening == self.current() {
            return Ok(());
        }
        let reason = "the database was opened again before what was written was durable".into();
        Err(Error::EngineIo { trouble: DiskTrouble::Failing, reason })
    }

    /// Makes every buffered write durable that was made before the call.
    pub fn sync(&self) -> Result<()> {
        self.sync_since(self.current())
    }

    /// The same for what was written, or read, since an opening was asked for; fails where there has been another, as
    /// what had not been synced may not have come through that. Those who call at the same time share one sync of the
    /// disk.
    pub fn sync_since(&self, opening: Opening) -> Result<()> {
        let place = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let mut durable = self.durable.lock();
        self.is_still(opening)?;
        if *durable >= place {
            return Ok(());
        }
        // Whoever has asked by now has written by now.
        let all = self.asked.load(Ordering::SeqCst);
        let synced = {
            let db = self.db.read();
            // Nobody opens it again while this is held.
            self.is_still(opening)?;
            db.flush_wal(true).map_err(|error| {
                self.refused.store(true, Ordering::SeqCst);
                self.failed(&error)
            })
        };
        match &synced {
            Ok(()) => *durable = all,
            // What was written may be there or not; it is for the caller to say so.
            Err(Error::EngineIo { .. }) => {
                self.reopen();
            }
            Err(_) => {}
        }
        synced
    }
}

fn family(db: &DB, column: Column) -> Result<&ColumnFamily> {
    let missing = || Error::Engine(format!("column family {} is missing", column.name()));
    db.cf_handle(column.name()).ok_or_else(missing)
}

/// The first key after all that start with a prefix, which is no run of 0xff alone.
fn after_all(prefix: &[u8]) -> Vec<u8> {
    let kept = prefix.iter().rposition(|byte| *byte != 0xff).map_or(0, |last| last + 1);
    let mut end = prefix[..kept].to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

/// A key and its value.
pub(crate) type Entry = (Vec<u8>, Vec<u8>);

/// Opens the database with every column family, creating what is missing.
fn open_database(path: &Path, memory: EngineMemory, cache: &Cache, recovery: rocksdb::DBRecoveryMode) -> Result<DB> {
    let families = descriptors(&family_names(path), memory, cache);
    DB::open_cf_descriptors(&options(recovery, memory), path, families).map_err(|error| engine_error(&error, path))
}

/// Takes the lock that says which process has the database open.
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

/// Whether the disk under a folder takes writes.
fn probe(folder: &Path) -> std::io::Result<()> {
    let path = folder.join("probe");
    let probed = File::create(&path).and_then(|mut file| {
        file.write_all(&[0; PROBE_BYTES])?;
        file.sync_all()
    });
    std::fs::remove_file(&path).and(probed)
}

/// An error of opening, writing or syncing. What the system refuses is found out by trying: the engine says it in words
/// only.
fn engine_error(error: &rocksdb::Error, path: &Path) -> Error {
    let Error::EngineIo { reason, .. } = classified(error) else { return classified(error) };
    let trouble = match probe(path) {
        Err(refused) => DiskTrouble::of(&refused).unwrap_or(DiskTrouble::Failing),
        Ok(()) => DiskTrouble::Failing,
    };
    Error::EngineIo { trouble, reason }
}

/// An error of reading.
#[expect(clippy::needless_pass_by_value, reason = "the signature that map_err wants")]
fn read_error(error: rocksdb::Error) -> Error {
    classified(&error)
}

fn classified(error: &rocksdb::Error) -> Error {
    use rocksdb::ErrorKind::{Aborted, Corruption, IOError, Incomplete, ShutdownInProgress, TryAgain};
    match error.kind() {
        Corruption => Error::DamagedRecords(error.to_string()),
        // After a refusal the engine goes on refusing, with one of these kinds.
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
    fn a_scan_is_ordered_bounded_and_starts_after_the_given_key() {
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
        batch.delete_below(Column::Namespaces, b"a\0".to_vec()).put(Column::Namespaces, "a\0four", "");
        store.write(&batch, Durability::Buffered).expect("writes");
        assert_eq!(names(None, 9), ["four"]);
        assert!(store.get(Column::Namespaces, b"b\0one").expect("reads").is_some());
    }

    #[test]
    fn the_end_of_a_prefix_is_the_next_one() {
        assert_eq!(after_all(b"a\0"), b"a\x01");
        assert_eq!(after_all(b"a\xff\xff"), b"b");
    }

    #[test]
    fn what_was_not_durable_when_it_was_opened_again_is_not_said_to_be() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = KeyValueStore::open(folder.path()).expect("opens");
        let mut batch = Batch::new();
        batch.put(Column::Namespaces, "a", "1");
        let before = store.opening();
        store.write(&batch, Durability::Buffered).expect("writes");
        assert!(store.reopen());
        assert!(matches!(store.sync_since(before), Err(Error::EngineIo { .. })));
        store.sync().expect("syncs");
    }

    #[test]
    fn a_second_process_is_told_that_the_directory_is_in_use() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let _held = KeyValueStore::open(folder.path()).expect("opens");
        assert!(matches!(KeyValueStore::open(folder.path()), Err(Error::Locked(_))));
    }

    #[test]
    fn a_path_that_holds_the_word_lock_is_not_taken_for_a_lock_held_elsewhere() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let path = folder.path().join("LOCK: lock hold by current process");
        std::fs::write(&path, "in the way").expect("writes");
        let opened = KeyValueStore::open(&path);
        assert!(matches!(opened, Err(Error::Io { .. })), "{:?}", opened.err());
    }
}
