//! Whether conversations are kept after ingestion, and the record that a list shows of one.

use cuebase_storage::records::{QueueEntry, QueuedWork, SourceRecord};
use serde::Deserialize;
use serde_json::Value;

use crate::memory::conversation::Moment;

/// What becomes of a conversation once it is ingested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceRetention {
    /// It is kept until it is deleted.
    Keep,
    /// It is dropped.
    Drop,
}

impl SourceRetention {
    /// What the setting `ingestion.keep_sources` says.
    pub fn of_setting(keep_sources: bool) -> Self {
        if keep_sources { Self::Keep } else { Self::Drop }
    }

    /// What a list will show of the conversation that an entry carries; none where it carries none, or is not kept.
    pub fn record_of(self, entry: &QueueEntry) -> Option<SourceRecord> {
        let QueuedWork::Conversation { request } = &entry.work else { return None };
        if self == Self::Drop {
            return None;
        }
        // Read field by field: the messages of a long conversation are only counted.
        let messages = request.get("messages").and_then(Value::as_array).map_or(0, Vec::len);
        let session_id = request.get("session_id").and_then(Value::as_str).map(str::to_owned);
        let moment = request.get("occurred_at").and_then(|value| Moment::deserialize(value).ok());
        Some(SourceRecord {
            id: entry.id,
            session_id,
            messages: messages as u64,
            occurred_at: moment.map(Moment::text),
            accepted_at_ms: entry.accepted_at_ms,
        })
    }
}
