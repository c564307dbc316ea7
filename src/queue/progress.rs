//! How far workers are with long writes, such as documents of many passages.

use std::collections::HashMap;

use cuebase_storage::MessageId;
use parking_lot::Mutex;

/// How far a write is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkProgress {
    /// Parts that are done.
    pub done: u64,
    /// All parts.
    pub total: u64,
}

/// The progress of the writes that workers have.
#[derive(Debug, Default)]
pub struct WriteProgresses {
    by_message: Mutex<HashMap<MessageId, WorkProgress>>,
}

impl WriteProgresses {
    /// Sets how far a message is.
    pub fn set(&self, message: MessageId, progress: WorkProgress) {
        self.by_message.lock().insert(message, progress);
    }

    /// Returns how far a message is. `None` if its worker reports nothing.
    pub fn get(&self, message: MessageId) -> Option<WorkProgress> {
        self.by_message.lock().get(&message).copied()
    }

    /// Forgets a message whose attempt has ended.
    pub fn remove(&self, message: MessageId) {
        self.by_message.lock().remove(&message);
    }
}
