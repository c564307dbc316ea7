//! Deletion of records that are past their retention.

use jiff::Timestamp;

use super::Service;
use super::intake::DEDUP_WINDOW_MS;
use crate::error::Result;

/// Retention of dead letters: 14 days of running time.
const DEAD_LETTER_RETENTION_MS: u64 = 14 * 24 * 60 * 60 * 1000;
/// Retention of payment notifications: 60 days. The provider stops repeating a notification much earlier.
const NOTIFICATION_RETENTION_MS: i64 = 60 * 24 * 60 * 60 * 1000;

impl Service {
    /// Deletes dead letters, fingerprints and notifications that are past their retention. Returns how many.
    pub fn purge(&self) -> Result<usize> {
        let running_ms = self.running_ms();
        let letters = self.store.purge_dead_letters(running_ms.saturating_sub(DEAD_LETTER_RETENTION_MS))?;
        let fingerprints = self.store.purge_fingerprints(running_ms.saturating_sub(DEDUP_WINDOW_MS))?;
        self.store.purge_path_writes(self.queue.levels().oldest)?;
        let now_ms = Timestamp::now().as_millisecond();
        Ok(letters + fingerprints + self.store.purge_notifications(now_ms - NOTIFICATION_RETENTION_MS)?)
    }
}
