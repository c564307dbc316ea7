//! The identity of a namespace.

use cuebase_storage::records::{NamespaceId, NamespaceRecord, QueueEntry};

/// Which namespace: account, name and identity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespaceKey {
    /// The owning account.
    pub account: String,
    /// The name within it.
    pub name: String,
    /// Which of those that have had the name.
    pub id: NamespaceId,
}

impl NamespaceKey {
    /// The key of a record.
    pub fn of(record: &NamespaceRecord) -> Self {
        Self { account: record.account.clone(), name: record.name.clone(), id: record.id }
    }

    /// The namespace that an entry of the queue is for.
    pub fn of_entry(entry: &QueueEntry) -> Self {
        Self { account: entry.account.clone(), name: entry.namespace.clone(), id: entry.namespace_id }
    }
}
