//! The column families, with the keys and values of each.
//!
//! A NUL byte follows each key part of variable length; account ids and names never contain one. Ids are ULIDs, 16
//! bytes big-endian, so key order is creation order. Keys of a namespace's data begin with the namespace's id, keys of
//! the queue with the account and the namespace's id. Each creation of a namespace has a new id, so a deleted namespace
//! shares no key with its successor, and its data is one key range per column. Every value is one format byte
//! ([`crate::records::RECORD_FORMAT`]) and a JSON object, except in columns with raw bytes.

use strum::{IntoStaticStr, VariantArray};

/// A column family. Its `serialize` attribute is its name on disk, which never changes once released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
pub enum Column {
    /// `name` → raw bytes. `format`: u32 little-endian, the data directory's format. `issuer`: PKCS#8 of the local
    /// issuer's signing key. `media`: the key that signs media URLs. `newest-id`: 16 bytes, the greatest id that was
    /// assigned in a deleted namespace, or before [`Column::NewestIds`] was added. `running-ms`: u64 little-endian, the
    /// total running time of services on this data directory. `directories`:
    /// present while folders still have the names of format 1. `prices`: prices record. `embedding`: embedding record. In a shared database also
    /// `cluster-id`: the text of a ULID, `cluster-settings`: record of the settings that all nodes have in common,
    /// `cluster-backup`: record of the backup in progress, and `cluster-revocation`: 16 bytes that every revocation
    /// replaces. A copy leaves out keys that begin with `cluster`, which belong
    /// to one database. `migration` and `migration-source`: 16 bytes, the id of a migration to or from this database that
    /// is not finished.
    #[strum(serialize = "meta")]
    Meta,
    /// `account` → account record.
    #[strum(serialize = "accounts")]
    Accounts,
    /// `key id`, 16 hex characters → API key record. Point reads on every request.
    #[strum(serialize = "keys")]
    Keys,
    /// `account NUL key id` → empty. Iterated to list an account's keys.
    #[strum(serialize = "keys_by_account")]
    KeysByAccount,
    /// `account NUL namespace` → namespace record. Iterated to list an account's namespaces by name.
    #[strum(serialize = "namespaces")]
    Namespaces,
    /// `namespace id` → empty: the namespace exists. Batches that add data to a namespace expect the key, so they fail
    /// once the namespace is deleted. The namespace record cannot be expected, because each commit changes it.
    #[strum(serialize = "live_namespaces")]
    LiveNamespaces,
    /// `namespace id` → removal record: a deleted namespace whose data is not fully removed yet.
    #[strum(serialize = "removals")]
    Removals,
    /// `account NUL`, `namespace id`, `message id` → queue entry. Iterated once at start.
    #[strum(serialize = "queue_by_account")]
    Queue,
    /// `account NUL message id` → dead letter without its work. Iterated to list an account's dead letters.
    #[strum(serialize = "dead_letters_by_account")]
    DeadLetters,
    /// `account NUL message id` → the work of a dead letter.
    #[strum(serialize = "dead_letter_work")]
    DeadLetterWork,
    /// `column name NUL key` → raw bytes: a record of another column that could not be decoded.
    #[strum(serialize = "unreadable")]
    Unreadable,
    /// `namespace id`, `kind NUL SHA-256 of the body` → message id and acceptance time of that body.
    #[strum(serialize = "fingerprints")]
    Fingerprints,
    /// `namespace id`, 16 bytes of a subject's hash, `kind NUL SHA-256 of the body` → empty. A write or deletion of the
    /// subject (a path or term) invalidates the fingerprint.
    #[strum(serialize = "fingerprint_subjects")]
    FingerprintSubjects,
    /// `namespace id`, `path` → message id, raw, 16 bytes. Writes accepted before it must not change the path.
    #[strum(serialize = "path_writes")]
    PathWrites,
    /// `namespace id`, SHA-256 of an imported message → message id of its import.
    #[strum(serialize = "imported_messages")]
    Imports,
    /// `account NUL meter` → usage in total and by month. If several processes share the database, also
    /// `account NUL meter NUL node id` → what that process counted, and `NUL node id` → empty while the process may write
    /// such records, otherwise `ended`.
    #[strum(serialize = "usage")]
    Usage,
    /// `account` → wallet: plan, balance, settled usage.
    #[strum(serialize = "billing")]
    Billing,
    /// `account NUL transaction id` → transaction.
    #[strum(serialize = "transactions")]
    Transactions,
    /// `account NUL transaction id` → empty: a transaction that is missing in the payment provider's ledger.
    #[strum(serialize = "outbox")]
    Outbox,
    /// `payment id` → a started payment: account, amount, whether it was credited.
    #[strum(serialize = "payments")]
    Payments,
    /// `notification id` → when it was processed.
    #[strum(serialize = "notifications")]
    Notifications,
    /// `idempotency key` → entry of the sandbox provider's ledger. `NUL payment id` → payment of the sandbox provider.
    #[strum(serialize = "sandbox")]
    Sandbox,
    /// `namespace id`, `path` → vocabulary term. Derived from git.
    #[strum(serialize = "terms")]
    Terms,
    /// `namespace id`, `folded surface form NUL path` → empty. Derived from git.
    #[strum(serialize = "term_forms")]
    TermForms,
    /// `account NUL conversation id` → conversation.
    #[strum(serialize = "conversations")]
    Conversations,
    /// `namespace id`, `conversation id` → empty. Iterated to list a namespace's conversations.
    #[strum(serialize = "namespace_conversations")]
    ConversationsByNamespace,
    /// `conversation id`, `message id` → message of a conversation.
    #[strum(serialize = "messages")]
    Messages,
    /// `media id` → media record; the bytes are in a file.
    #[strum(serialize = "media")]
    Media,
    /// `namespace id`, `media id` → empty. Iterated when a namespace is deleted.
    #[strum(serialize = "namespace_media")]
    MediaByNamespace,
    /// `account NUL environment NUL`, animal number as u64 big-endian → animal.
    #[strum(serialize = "animals")]
    Animals,
    /// `namespace id`, 8 bytes of the model's hash, SHA-256 of the text → the text's vector, raw: f16 little-endian. A
    /// cache: a missing vector is requested again.
    #[strum(serialize = "namespace_vectors")]
    Vectors,
    /// `model` → calls and tokens of the model.
    #[strum(serialize = "models")]
    Models,
    /// `namespace id`, `path NUL`, position in the history as u64 big-endian → raw: commit id (20 bytes), commit time
    /// in seconds (i64 little-endian). The commits that changed a file. Derived from git.
    #[strum(serialize = "revisions")]
    Revisions,
    /// `namespace id`, `write id` → source record: list view of an ingested conversation.
    #[strum(serialize = "sources")]
    Sources,
    /// `namespace id`, `write id` → the conversation: the bytes of its queue entry.
    #[strum(serialize = "source_conversations")]
    SourceConversations,
    /// `namespace id`, `write id` → paths of the memory files that the conversation changed.
    #[strum(serialize = "source_paths")]
    SourcePaths,
    /// `account NUL message id` → write record: an accepted write and its namespace. Kept for 14 days.
    #[strum(serialize = "writes")]
    Writes,
    /// `namespace id`, `message id` → outcome of a finished write, with the paths that it changed. Kept for 14 days.
    #[strum(serialize = "write_outcomes")]
    WriteOutcomes,
    /// `namespace id` → erasure record: an erasure that is planned, or whose former files are not removed yet.
    #[strum(serialize = "erasures")]
    Erasures,
    /// `namespace id` → 16 bytes, raw: the greatest id assigned in the namespace.
    #[strum(serialize = "newest_ids")]
    NewestIds,
    /// `namespace id` → commit id, raw, 20 bytes: the head of a repository that is kept in the records.
    #[strum(serialize = "heads")]
    Heads,
    /// `namespace id`, pack name, 20 bytes → pack record: a pack of such a repository.
    #[strum(serialize = "packs")]
    Packs,
    /// `namespace id`, pack name → the bytes of a small pack, raw. Larger packs are objects of the bucket.
    #[strum(serialize = "pack_bytes")]
    PackBytes,
    /// `namespace id` → index snapshot record: the objects of the bucket with a copy of the namespace's index. Used only
    /// if several nodes share the database.
    #[strum(serialize = "index_snapshots")]
    IndexSnapshots,
    /// `node id` → node record: a node that has a session. Used only if several nodes share the database.
    #[strum(serialize = "nodes")]
    Nodes,
    /// `namespace id` → owner record: the node that may change the namespace. Used as [`Column::Nodes`] is. Batches that
    /// change a namespace expect the record under which their node claimed it.
    #[strum(serialize = "owners")]
    Owners,
    /// `SHA-256 of a code` → link record: an unused sign-in link. Kept until it is used or expires.
    #[strum(serialize = "links")]
    Links,
}

impl Column {
    /// Every column family, in opening order.
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;

    /// The columns whose keys begin with a namespace's id and which hold its data. The removal of a deleted namespace
    /// deletes its key range in each of them.
    pub(crate) const BY_NAMESPACE: &'static [Self] = &[
        Self::Fingerprints,
        Self::FingerprintSubjects,
        Self::PathWrites,
        Self::Imports,
        Self::Terms,
        Self::TermForms,
        Self::ConversationsByNamespace,
        Self::MediaByNamespace,
        Self::Vectors,
        Self::Revisions,
        Self::Sources,
        Self::SourceConversations,
        Self::SourcePaths,
        Self::WriteOutcomes,
        Self::Erasures,
        Self::NewestIds,
        Self::Heads,
        Self::Packs,
        Self::PackBytes,
        Self::IndexSnapshots,
        Self::Owners,
    ];

    /// The columns that only a database of several nodes uses: they list its nodes, and where it keeps repositories and
    /// copies of indexes. A copy to or from a data directory leaves them out.
    pub(crate) const OF_CLUSTER: &'static [Self] =
        &[Self::Heads, Self::Packs, Self::PackBytes, Self::IndexSnapshots, Self::Nodes, Self::Owners];

    /// Whether the column's values are raw bytes rather than records.
    pub(crate) fn holds_raw_bytes(self) -> bool {
        matches!(
            self,
            Self::Meta
                | Self::Vectors
                | Self::Unreadable
                | Self::Revisions
                | Self::PathWrites
                | Self::NewestIds
                | Self::Heads
                | Self::PackBytes
        )
    }

    /// The column family's name on disk.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Joins two key parts with a NUL byte.
pub(crate) fn joined(first: impl AsRef<str>, second: impl AsRef<str>) -> Vec<u8> {
    [first.as_ref().as_bytes(), &[0], second.as_ref().as_bytes()].concat()
}

/// Joins a name and bytes with a NUL byte.
pub(crate) fn joined_bytes(first: &str, second: &[u8]) -> Vec<u8> {
    [first.as_bytes(), &[0], second].concat()
}

/// Returns the prefix of all keys that begin with these parts: each part followed by a NUL byte.
pub(crate) fn prefix(parts: &[&str]) -> Vec<u8> {
    let mut prefix = Vec::new();
    for part in parts {
        prefix.extend_from_slice(part.as_bytes());
        prefix.push(0);
    }
    prefix
}

/// Joins a prefix of parts and an id or number of fixed length.
pub(crate) fn prefixed_key(parts: &[&str], id: &[u8]) -> Vec<u8> {
    [prefix(parts).as_slice(), id].concat()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_column_family_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = Column::ALL.iter().map(|column| column.name()).collect();
        assert_eq!(names.len(), Column::ALL.len());
        assert_eq!(Column::Queue.name(), "queue_by_account");
        assert_eq!(Column::ALL.first(), Some(&Column::Meta));
    }
}
