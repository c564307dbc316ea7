//! Locks of managed conversations.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use ulid::Ulid;

/// A lock for each conversation that is being read and changed, so that a long change does not block other
/// conversations.
#[derive(Default)]
pub(super) struct ConversationLocks {
    held: Mutex<HashMap<Ulid, Arc<Mutex<()>>>>,
}

impl ConversationLocks {
    /// Returns the lock of a conversation, and removes the locks that are no longer used.
    pub(super) fn of(&self, id: Ulid) -> Arc<Mutex<()>> {
        let mut held = self.held.lock();
        held.retain(|_, lock| Arc::strong_count(lock) > 1);
        Arc::clone(held.entry(id).or_default())
    }
}
