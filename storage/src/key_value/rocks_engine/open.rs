//! Creating and opening the database: its options, its column families, the lock of the process, and recovery after a
//! loss of power.

use std::fs::{File, TryLockError};
use std::path::Path;

use rocksdb::{BlockBasedOptions, Cache, ColumnFamilyDescriptor, DB, DBRecoveryMode, Options};

use super::errors::write_error;
use super::{manifest, power};
use crate::error::{DiskTrouble, Error, Result};
use crate::key_value::Column;

/// A file in the database's folder that the process holds locked while it has the database open. RocksDB reports its
/// own lock only as the text of an error; this lock can be tested by type.
const PROCESS_LOCK: &str = "PROCESS";
/// Size of the write-ahead log at which column families are flushed, 64 MiB.
const WRITE_AHEAD_LOG_BYTES_MAX: u64 = 64 << 20;

/// Write buffer of one column family, 4 MiB: records are small, and an idle server should use little memory.
const WRITE_BUFFER_BYTES: usize = 4 << 20;
/// The column family that RocksDB always creates. Cuebase stores nothing in it.
const DEFAULT_FAMILY: &str = "default";

/// Space that is allocated for the manifest before it is written. RocksDB's default of 4 MiB takes what is left of an
/// almost full disk, since a file system may keep a part of an allocation that it refuses.
const MANIFEST_PREALLOCATION_BYTES: usize = 64 << 10;

/// Files that the engine keeps open at most.
const OPEN_FILES_MAX: i32 = 256;

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

/// An open database.
pub(super) struct OpenDatabase {
    pub(super) db: DB,
    pub(super) access: Access,
}

/// What an open database accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Reads and writes.
    ReadWrite,
    /// Reads. It must be opened again for a write.
    ReadOnly,
}

/// Opens the database with every column family, creating missing ones. Recovers it if a loss of power damaged it. If
/// the disk has no room for the files that this writes, opens it for reads only.
pub(super) fn open_or_recover(path: &Path, memory: EngineMemory, cache: &Cache) -> Result<OpenDatabase> {
    let strict = DBRecoveryMode::TolerateCorruptedTailRecords;
    let opened = match open_database(path, memory, cache, strict) {
        Err(Error::DamagedRecords(reason)) if power::was_lost(path) => {
            tracing::warn!(%reason, "recovering after a loss of power: logs are read up to the last intact record");
            open_after_power_loss(path, memory, cache)
        }
        opened => opened,
    };
    match opened {
        Ok(db) => {
            power::record_boot(path);
            Ok(OpenDatabase { db, access: Access::ReadWrite })
        }
        Err(refused) if refused.disk_trouble() == Some(DiskTrouble::Full) => {
            let Some(db) = open_for_reads(path, memory, cache) else { return Err(refused) };
            tracing::warn!(error = %refused, "the disk is full: the key-value store accepts reads only, until there is space");
            Ok(OpenDatabase { db, access: Access::ReadOnly })
        }
        Err(error) => Err(error),
    }
}

/// Opens an existing database without writing anything: its log is replayed into memory. `None` if that fails.
pub(super) fn open_for_reads(path: &Path, memory: EngineMemory, cache: &Cache) -> Option<DB> {
    let options = options(DBRecoveryMode::TolerateCorruptedTailRecords, memory);
    // Only the column families on disk: a missing one cannot be created.
    let names = DB::list_cf(&options, path).ok()?;
    DB::open_cf_descriptors_read_only(&options, path, descriptors(&names, memory, cache), false).ok()
}

/// Opens a database whose files were damaged by a loss of power. Logs are replayed up to the last intact record. If
/// that fails, the manifest is cut back as well.
fn open_after_power_loss(path: &Path, memory: EngineMemory, cache: &Cache) -> Result<DB> {
    let point_in_time = DBRecoveryMode::PointInTime;
    match open_database(path, memory, cache, point_in_time) {
        Err(Error::DamagedRecords(_)) if manifest::cut_back(path)? => open_database(path, memory, cache, point_in_time),
        opened => opened,
    }
}

fn open_database(path: &Path, memory: EngineMemory, cache: &Cache, recovery: DBRecoveryMode) -> Result<DB> {
    let families = descriptors(&family_names(path), memory, cache);
    DB::open_cf_descriptors(&options(recovery, memory), path, families).map_err(|error| write_error(error, path))
}

/// Locks the database for this process.
pub(super) fn lock_process(path: &Path) -> Result<File> {
    let name = path.join(PROCESS_LOCK);
    let opened = File::options().create(true).truncate(false).write(true).open(&name);
    let file = opened.map_err(Error::io("open", &name))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Locked(path.to_path_buf())),
        Err(TryLockError::Error(source)) => Err(Error::io("lock", &name)(source)),
    }
}

pub(super) fn options(recovery: DBRecoveryMode, memory: EngineMemory) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_max_total_wal_size(WRITE_AHEAD_LOG_BYTES_MAX);
    options.set_manifest_preallocation_size(MANIFEST_PREALLOCATION_BYTES);
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
pub(super) fn family_names(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = Column::ALL.iter().map(|column| column.name().to_owned()).collect();
    names.extend(legacy_family_names(path));
    names
}

/// The names of column families on disk that this build does not know.
pub(super) fn legacy_family_names(path: &Path) -> Vec<String> {
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

pub(super) fn descriptors(names: &[String], memory: EngineMemory, cache: &Cache) -> Vec<ColumnFamilyDescriptor> {
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
