//! Syncs of the write-ahead log. Concurrent callers share one.

use std::sync::atomic::Ordering;

use super::database::RocksEngine;
use super::errors::write_error;
use crate::error::{DiskTrouble, Error, Result};
use crate::key_value::OpenGeneration;

impl RocksEngine {
    /// Returns the current generation, without reopening a database that refuses writes.
    pub(super) fn current_generation(&self) -> OpenGeneration {
        OpenGeneration(self.generation.load(Ordering::SeqCst))
    }

    fn require_generation(&self, generation: OpenGeneration) -> Result<()> {
        if generation == self.current_generation() {
            return Ok(());
        }
        let source = "the database was reopened before the preceding writes were durable".into();
        Err(Error::Engine { trouble: Some(DiskTrouble::Failing), source })
    }

    /// Makes all writes that returned before the call durable, or waits until another caller's sync has done so.
    pub(super) fn shared_sync(&self, generation: OpenGeneration) -> Result<()> {
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
                write_error(error, &self.path)
            })
        };
        match &synced {
            Ok(()) => *durable_requests = covered_requests,
            // The writes may be on disk or not. The caller reports that.
            Err(error) if error.disk_trouble().is_some() => {
                self.reopen();
            }
            Err(_) => {}
        }
        synced
    }
}
