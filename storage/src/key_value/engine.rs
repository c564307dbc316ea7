//! RocksDB behind ordered keys and atomic batches.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use rocksdb::{ColumnFamily, ColumnFamilyDescriptor, DB, Direction, IteratorMode, Options, WriteBatch, WriteOptions};

use super::{Column, manifest, power};
use crate::error::{Error, Result};

/// Write buffer of one column family, 4 MiB: the records are small and an idle server should stay small too.
const WRITE_BUFFER_BYTES: usize = 4 << 20;
/// Write-ahead log kept before column families are flushed, 64 MiB.
const WRITE_AHEAD_LOG_BYTES_MAX: u64 = 64 << 20;

/// Files that the engine keeps open.
const OPEN_FILES_MAX: i32 = 256;

/// A database that takes no writes is opened again no more often than this.
const REOPEN_INTERVAL: Duration = Duration::from_secs(1);
/// So much must go onto the disk before that is tried: the engine writes some files of its own when it opens.
const PROBE_BYTES: usize = 1 << 20;

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

fn options(recovery: rocksdb::DBRecoveryMode) -> Options {
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
    options
}

fn families() -> [ColumnFamilyDescriptor; Column::ALL.len()] {
    Column::ALL.map(|column| {
        let mut family = Options::default();
        family.set_write_buffer_size(WRITE_BUFFER_BYTES);
        family.set_compression_type(rocksdb::DBCompressionType::Lz4);
        ColumnFamilyDescriptor::new(column.name(), family)
    })
}

/// An open database. Safe to share between threads.
pub struct KeyValueStore {
    path: PathBuf,
    /// Written to only to put the database, opened again, in its own place.
    db: RwLock<DB>,
    /// How often it has been opened again.
    opening: AtomicU64,
    /// How many have asked for what they wrote to be durable, and how many of those it is for.
    asked: AtomicU64,
    durable: Mutex<u64>,
    /// When it was last tried to open it again, and whether that went well.
    reopened: Mutex<Option<(Instant, bool)>>,
}

impl KeyValueStore {
    /// Opens the database in `path`, creating it and any missing column family.
    ///
    /// Fails with [`Error::Locked`] when another process has it open, and with [`Error::DamagedRecords`] when what is
    /// there is not what was written. After a loss of power the end of the write-ahead log may be anything; it is taken
    /// up to where it is whole, since whatever was acknowledged had been synced and stands before that.
    pub fn open(path: &Path) -> Result<Self> {
        let opened = Self::open_log(path, rocksdb::DBRecoveryMode::TolerateCorruptedTailRecords);
        let store = match opened {
            Err(Error::DamagedRecords(reason)) if power::was_lost(path) => {
                tracing::warn!(%reason, "the power was lost: logs are taken up to where they are whole");
                let point_in_time = || Self::open_log(path, rocksdb::DBRecoveryMode::PointInTime);
                match point_in_time() {
                    Err(Error::DamagedRecords(_)) if manifest::cut_back(path)? => point_in_time()?,
                    opened => opened?,
                }
            }
            opened => opened?,
        };
        power::note(path);
        Ok(store)
    }

    fn open_log(path: &Path, recovery: rocksdb::DBRecoveryMode) -> Result<Self> {
        let db = DB::open_cf_descriptors(&options(recovery), path, families()).map_err(|error| {
            let text = error.to_string();
            if text.contains("LOCK") || text.contains("lock hold") {
                Error::Locked(path.to_path_buf())
            } else {
                engine(error)
            }
        })?;
        Ok(Self {
            path: path.to_path_buf(),
            db: RwLock::new(db),
            opening: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            durable: Mutex::default(),
            reopened: Mutex::default(),
        })
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
            *db = DB::open_cf_descriptors_read_only(&options(strict), &self.path, families(), false)?;
            *db = DB::open_cf_descriptors(&options(strict), &self.path, families())?;
            Ok::<_, rocksdb::Error>(())
        })();
        match &opened {
            Ok(()) => tracing::info!("the key-value store takes writes again"),
            Err(error) => tracing::error!(%error, "the key-value store could not be opened again"),
        }
        *reopened = Some((Instant::now(), opened.is_ok()));
        opened.is_ok()
    }

    /// Whether the disk takes writes.
    fn probe(&self) -> std::io::Result<()> {
        let path = self.path.join("probe");
        let probed = std::fs::File::create(&path).and_then(|mut file| {
            file.write_all(&[0; PROBE_BYTES])?;
            file.sync_all()
        });
        std::fs::remove_file(&path).and(probed)
    }

    /// The value at a key.
    pub fn get(&self, column: Column, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let db = self.db.read();
        db.get_cf(family(&db, column)?, key).map_err(engine)
    }

    /// Up to `limit` entries whose key starts with `prefix` and is greater than `after`, in key order.
    pub(crate) fn scan(&self, column: Column, prefix: &[u8], after: Option<&[u8]>, limit: usize) -> Result<Vec<Entry>> {
        let from = after.map_or(prefix, |key| key.max(prefix));
        let mode = IteratorMode::From(from, Direction::Forward);
        let mut entries = Vec::new();
        let db = self.db.read();
        for entry in db.iterator_cf(family(&db, column)?, mode) {
            let (key, value) = entry.map_err(engine)?;
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
            let (key, value) = entry.map_err(engine)?;
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
    pub fn write(&self, batch: &Batch, durability: Durability) -> Result<()> {
        match self.write_once(batch, durability) {
            Err(Error::EngineIo(_)) if self.reopen() => self.write_once(batch, durability),
            written => written,
        }
    }

    fn write_once(&self, batch: &Batch, durability: Durability) -> Result<()> {
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
        let mut options = WriteOptions::default();
        options.set_sync(durability == Durability::Synced);
        db.write_opt(changes, &options).map_err(engine)
    }

    /// Which opening of the database this is.
    pub fn opening(&self) -> Opening {
        Opening(self.opening.load(Ordering::SeqCst))
    }

    /// Puts a copy of the database as it is now into a folder that does not exist yet, on the same file system: files
    /// that never change are linked, not copied.
    pub(crate) fn checkpoint(&self, folder: &Path) -> Result<()> {
        let db = self.db.read();
        let checkpoint = rocksdb::checkpoint::Checkpoint::new(&*db).map_err(engine)?;
        checkpoint.create_checkpoint(folder).map_err(engine)
    }

    /// Reads every entry of a column, each block's checksum being checked on the way.
    pub(crate) fn read_all(&self, column: Column, mut entry: impl FnMut(&[u8], &[u8])) -> Result<()> {
        let db = self.db.read();
        for read in db.iterator_cf(family(&db, column)?, IteratorMode::Start) {
            let (key, value) = read.map_err(engine)?;
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
        if opening == self.opening() {
            return Ok(());
        }
        Err(Error::EngineIo("the database was opened again before what was written was durable".into()))
    }

    /// Makes every buffered write durable that was made before the call.
    pub fn sync(&self) -> Result<()> {
        self.sync_since(self.opening())
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
            db.flush_wal(true).map_err(engine)
        };
        match &synced {
            Ok(()) => *durable = all,
            // What was written may be there or not; it is for the caller to say so.
            Err(Error::EngineIo(_)) => {
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

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn engine(error: rocksdb::Error) -> Error {
    match error.kind() {
        rocksdb::ErrorKind::Corruption => Error::DamagedRecords(error.to_string()),
        rocksdb::ErrorKind::IOError => Error::EngineIo(error.to_string()),
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
        assert!(matches!(store.sync_since(before), Err(Error::EngineIo(_))));
        store.sync().expect("syncs");
    }

    #[test]
    fn a_second_process_is_told_that_the_directory_is_in_use() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let _held = KeyValueStore::open(folder.path()).expect("opens");
        assert!(matches!(KeyValueStore::open(folder.path()), Err(Error::Locked(_))));
    }
}
