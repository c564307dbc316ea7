//! Reopening the database in place after a refused write.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rocksdb::{DB, DBRecoveryMode};

use super::database::RocksEngine;
use super::errors::write_error;
use super::open::{descriptors, family_names, options};
use super::power;
use super::probe::{PROBE_BYTES_MIN, probe};
use super::reopen_attempts::{Attempt, AttemptEnd};
use crate::error::DiskTrouble;

/// Shortest time between two attempts to reopen a database that refuses writes.
const REOPEN_INTERVAL: Duration = Duration::from_secs(1);
/// Largest space that must be free before an attempt: that of the tables into which a full log is written.
const ROOM_BYTES_MAX: usize = 64 << 20;

impl RocksEngine {
    /// Reopens the database after a refused write, since the engine then refuses all later writes. Tries at most once a
    /// second, and only if the disk accepts writes. Returns whether writes are possible again, also to callers that
    /// waited for another caller's attempt. Reads continue until then.
    pub(super) fn reopen(&self) -> bool {
        let mut reopening = self.reopening.lock();
        // An attempt that lacked room is repeated as soon as there is more, since a deletion may have freed it.
        if let Some(last) = &reopening.last
            && last.end != AttemptEnd::LackedRoom
            && last.at.elapsed() < REOPEN_INTERVAL
        {
            return last.end == AttemptEnd::Opened;
        }
        if probe(&self.path, reopening.room_bytes).is_err() {
            return false;
        }
        let mut db = self.db.write();
        // Writes that were not synced may be lost, so their callers must not count on them.
        self.generation.fetch_add(1, Ordering::SeqCst);
        let reopened = self.replace_database(&mut db);
        self.refused.store(reopened.is_err(), Ordering::SeqCst);
        drop(db);
        let end = match reopened {
            Ok(()) => {
                tracing::info!("the key-value store accepts writes again");
                power::record_boot(&self.path);
                AttemptEnd::Opened
            }
            Err(error) => {
                tracing::error!(%error, "cannot reopen the key-value store");
                let is_full = write_error(error, &self.path).disk_trouble() == Some(DiskTrouble::Full);
                if is_full { AttemptEnd::LackedRoom } else { AttemptEnd::Failed }
            }
        };
        reopening.room_bytes = match end {
            AttemptEnd::LackedRoom => (reopening.room_bytes * 2).min(ROOM_BYTES_MAX),
            AttemptEnd::Opened | AttemptEnd::Failed => PROBE_BYTES_MIN,
        };
        reopening.last = Some(Attempt { at: Instant::now(), end });
        end == AttemptEnd::Opened
    }

    /// Whether the last attempt to reopen the database failed because the disk has too little space.
    pub(super) fn lacks_room(&self) -> bool {
        matches!(&self.reopening.lock().last, Some(Attempt { end: AttemptEnd::LackedRoom, .. }))
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
