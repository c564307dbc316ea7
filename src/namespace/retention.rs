//! Whether conversations are kept after ingestion, and the record of a kept one in listings.

use cuebase_storage::records::{QueueEntry, QueuedWork, SourceRecord};

use crate::memory::conversation::Moment;

/// What happens to a conversation after ingestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceRetention {
    /// It is kept until it is deleted.
    Keep,
    /// It is dropped.
    Drop,
}

impl SourceRetention {
    /// Converts the setting `ingestion.keep_sources`.
    pub fn of_setting(keep_sources: bool) -> Self {
        if keep_sources { Self::Keep } else { Self::Drop }
    }

    /// Returns the record of an entry's conversation for listings, or `None` if it has none or it is not kept.
    pub fn record_of(self, entry: &QueueEntry) -> Option<SourceRecord> {
        let QueuedWork::Conversation { request } = &entry.work else { return None };
        if self == Self::Drop {
            return None;
        }
        let messages = request.messages.len() as u64;
        let session_id = request.session_id.clone();
        let occurred_at = request.occurred_at.map(Moment::text);
        Some(SourceRecord { id: entry.id, session_id, messages, occurred_at, accepted_at_ms: entry.accepted_at_ms })
    }
}
