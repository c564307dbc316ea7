//! The identity of a namespace.

use cuebase_storage::records::{NamespaceId, NamespaceRecord, QueueEntry};

/// Account, name and id of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespaceKey {
    /// The owning account.
    pub account: String,
    /// The name, unique within the account.
    pub name: String,
    /// The id of this creation. A later namespace of the same name has another id.
    pub id: NamespaceId,
}

impl NamespaceKey {
    /// Returns the key of a record.
    pub fn of(record: &NamespaceRecord) -> Self {
        Self { account: record.account.clone(), name: record.name.clone(), id: record.id }
    }

    /// Returns the key of a queue entry's namespace.
    pub fn of_entry(entry: &QueueEntry) -> Self {
        Self { account: entry.account.clone(), name: entry.namespace.clone(), id: entry.namespace_id }
    }
}
