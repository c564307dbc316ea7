//! Reopening the database in place after a refused write.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rocksdb::{DB, DBRecoveryMode};

use super::database::{ReopenAttempt, RocksEngine};
use super::open::{descriptors, family_names, options};
use super::probe::probe;

/// Shortest time between two attempts to reopen a database that refuses writes.
const REOPEN_INTERVAL: Duration = Duration::from_secs(1);

impl RocksEngine {
    /// Reopens the database after a refused write, since the engine then refuses all later writes. Tries at most once a
    /// second, and only if the disk accepts writes. Returns whether writes are possible again, also to callers that
    /// waited for another caller's attempt. Reads continue until then.
    pub(super) fn reopen(&self) -> bool {
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
        // Writes that were not synced may be lost, so their callers must not count on them.
        self.generation.fetch_add(1, Ordering::SeqCst);
        let reopened = self.replace_database(&mut db);
        match &reopened {
            Ok(()) => tracing::info!("the key-value store accepts writes again"),
            Err(error) => tracing::error!(%error, "cannot reopen the key-value store"),
        }
        self.refused.store(reopened.is_err(), Ordering::SeqCst);
        *last_reopen = Some(ReopenAttempt { at: Instant::now(), succeeded: reopened.is_ok() });
        reopened.is_ok()
    }

    /// Closes the database and opens it again. The caller holds its lock.
    pub(super) fn replace_database(&self, db: &mut DB) -> Result<(), rocksdb::Error> {
        let options = options(DBRecoveryMode::TolerateCorruptedTailRecords, self.memory);
        let names = family_names(&self.path);
        // RocksDB allows one writer at a time. A read-only database replaces the old writer until the new one is open.
        let families = descriptors(&names, self.memory, &self.cache);
        *db = DB::open_cf_descriptors_read_only(&options, &self.path, families, false)?;
        let families = descriptors(&names, self.memory, &self.cache);
        *db = DB::open_cf_descriptors(&options, &self.path, families)?;
        Ok(())
    }
}
