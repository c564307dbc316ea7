//! Removing deleted entries from the files of the database.
//!
//! A deleted or replaced entry is in up to four kinds of files. Each is handled by one step:
//!
//! - the write buffers: every column family is flushed;
//! - the sorted files: the key ranges are compacted, down to the last level;
//! - the write-ahead logs: no family needs a log from before the flush, so the database deletes them;
//! - the manifest, which lists the first and last key of every sorted file: opening the database writes a new one.
//!
//! Logs are not recycled (`recycle_log_file_num` is 0), so a deleted log is a deleted file.

use std::sync::atomic::Ordering;

use rocksdb::{BottommostLevelCompaction, CompactOptions, DB};

use super::database::{RocksEngine, family};
use super::errors::{probed_trouble, write_error};
use crate::error::{Error, Result};
use crate::key_value::key_range::prefix_end;
use crate::key_value::{Column, ColumnPrefix};

/// The number of flushes and compactions that failed since the database was opened.
const BACKGROUND_ERRORS: &str = "rocksdb.background-errors";

impl RocksEngine {
    /// Removes deleted and replaced entries from all files.
    pub(super) fn purge(&self, prefixes: &[ColumnPrefix]) -> Result<()> {
        self.compact(prefixes)?;
        self.renew_files()
    }

    /// Flushes every column family, and compacts those parts of them that begin with the prefixes.
    pub(super) fn compact(&self, prefixes: &[ColumnPrefix]) -> Result<()> {
        let db = self.db.read();
        let errors_before = background_errors(&db);
        for column in Column::ALL {
            db.flush_cf(family(&db, *column)?).map_err(|error| write_error(error, &self.path))?;
        }
        let mut options = CompactOptions::default();
        // By default the last level is left as it is, and with it what was deleted there.
        options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        for ColumnPrefix { column, prefix } in prefixes {
            let start = if prefix.is_empty() { None } else { Some(prefix.as_slice()) };
            let end = prefix_end(prefix);
            db.compact_range_cf_opt(family(&db, *column)?, start, end.as_deref(), &options);
        }
        // A compaction does not return its errors.
        if background_errors(&db) > errors_before {
            let source = "a compaction failed; the log of the database has the reason".into();
            return Err(Error::Engine { trouble: Some(probed_trouble(&self.path)), source });
        }
        Ok(())
    }

    /// Opens the database again, which writes a new manifest and deletes all files that are not needed any more. No
    /// write is lost, so the generation stays: the log is synced before, while no other write can begin.
    fn renew_files(&self) -> Result<()> {
        let mut db = self.db.write();
        db.flush_wal(true).map_err(|error| {
            self.refused.store(true, Ordering::SeqCst);
            write_error(error, &self.path)
        })?;
        self.replace_database(&mut db).map_err(|error| {
            // The next write tries to open it.
            self.refused.store(true, Ordering::SeqCst);
            write_error(error, &self.path)
        })
    }
}

fn background_errors(db: &DB) -> u64 {
    match db.property_int_value(BACKGROUND_ERRORS) {
        Ok(Some(errors)) => errors,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::key_value::{Batch, Durability, Engine};

    /// Returns how many files below a folder contain some bytes.
    fn files_with(folder: &Path, bytes: &[u8]) -> usize {
        let mut found = 0;
        for entry in std::fs::read_dir(folder).expect("lists") {
            let content = std::fs::read(entry.expect("an entry").path()).expect("reads");
            found += usize::from(content.windows(bytes.len()).any(|window| window == bytes));
        }
        found
    }

    #[test]
    fn deleted_and_replaced_entries_are_in_no_file_after_a_purge() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let engine = RocksEngine::open(folder.path()).expect("opens");
        // The second round finds the entries of the first one in sorted files.
        for round in 0..2 {
            let mut batch = Batch::new();
            batch.put(Column::Revisions, "1-first-quince-key", "x");
            batch.put(Column::Sources, "1-a", "the quince text");
            batch.put(Column::Sources, "2-b", "other text");
            engine.write(&batch, Durability::Synced).expect("writes");
            if round == 0 {
                engine.purge(&[]).expect("flushes");
            }
        }
        assert!(files_with(folder.path(), b"quince") > 0);
        let mut batch = Batch::new();
        batch.delete(Column::Revisions, "1-first-quince-key");
        batch.put(Column::Sources, "1-a", "");
        engine.write(&batch, Durability::Synced).expect("writes");
        let prefix = |column| ColumnPrefix { column, prefix: b"1-".to_vec() };
        engine.purge_deleted(&[prefix(Column::Revisions), prefix(Column::Sources)]).expect("purges");
        assert_eq!(files_with(folder.path(), b"quince"), 0);
        assert_eq!(engine.get(Column::Sources, b"1-a").expect("reads"), Some(Vec::new()));
        assert_eq!(engine.get(Column::Sources, b"2-b").expect("reads"), Some(b"other text".to_vec()));
    }

    #[test]
    fn deleted_values_are_removed_while_the_database_stays_open() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let engine = RocksEngine::open(folder.path()).expect("opens");
        for flushed in [false, true] {
            let mut batch = Batch::new();
            batch.put(Column::Queue, "1-a", "a quince value");
            engine.write(&batch, Durability::Synced).expect("writes");
            if flushed {
                engine.purge(&[]).expect("flushes");
            }
            let mut batch = Batch::new();
            batch.delete(Column::Queue, "1-a");
            engine.write(&batch, Durability::Synced).expect("writes");
            assert!(files_with(folder.path(), b"quince") > 0);
            let queue = ColumnPrefix { column: Column::Queue, prefix: Vec::new() };
            engine.purge_deleted_values(&[queue]).expect("purges");
            assert_eq!(files_with(folder.path(), b"quince"), 0, "flushed: {flushed}");
        }
    }

    #[test]
    fn a_purge_keeps_writes_that_were_not_synced() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let engine = RocksEngine::open(folder.path()).expect("opens");
        let generation = engine.generation();
        let mut batch = Batch::new();
        batch.put(Column::Usage, "a", "1");
        engine.write(&batch, Durability::Buffered).expect("writes");
        engine.purge_deleted(&[]).expect("purges");
        engine.sync_since(generation).expect("the writes before the purge are durable");
        assert_eq!(engine.get(Column::Usage, b"a").expect("reads"), Some(b"1".to_vec()));
    }
}
