//! The column families, with the keys and values of each.
//!
//! A NUL byte follows each key part of variable length; account ids and names never contain one. Ids are ULIDs, 16
//! bytes big-endian, so key order is creation order. Keys of a namespace's data begin with the namespace's id. Each
//! creation of a namespace has a new id, so a deleted namespace shares no key with its successor, and its data is one
//! key range per column. Every value is one format byte ([`crate::records::RECORD_FORMAT`]) and a JSON object, except
//! in columns with raw bytes.

/// A column family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// `name` → raw bytes. `format`: u32 little-endian, the data directory's format. `issuer`: PKCS#8 of the local
    /// issuer's signing key. `media`: the key that signs media URLs. `newest-id`: 16 bytes, the greatest id assigned.
    /// `running-ms`: u64 little-endian, the total running time of services on this data directory. `directories`:
    /// present while folders still have the names of format 1. `prices`: prices record.
    Meta,
    /// `account` → account record.
    Accounts,
    /// `key id`, 16 hex characters → API key record. Point reads on every request.
    Keys,
    /// `account NUL key id` → empty. Iterated to list an account's keys.
    KeysByAccount,
    /// `account NUL namespace` → namespace record. Iterated to list an account's namespaces by name.
    Namespaces,
    /// `namespace id` → removal record: a deleted namespace whose data is not fully removed yet.
    Removals,
    /// `namespace id`, `message id` → queue entry. Iterated once at start.
    Queue,
    /// `account NUL message id` → dead letter without its work. Iterated to list an account's dead letters.
    DeadLetters,
    /// `account NUL message id` → the work of a dead letter.
    DeadLetterWork,
    /// `column name NUL key` → raw bytes: a queue entry or dead letter that could not be decoded.
    Unreadable,
    /// `namespace id`, `kind NUL SHA-256 of the body` → message id and acceptance time of that body.
    Fingerprints,
    /// `namespace id`, 16 bytes of a subject's hash, `kind NUL SHA-256 of the body` → empty. A write or deletion of the
    /// subject (a path or term) invalidates the fingerprint.
    FingerprintSubjects,
    /// `namespace id`, `path` → message id, raw, 16 bytes. Writes accepted before it must not change the path.
    PathWrites,
    /// `namespace id`, SHA-256 of an imported message → message id of its import.
    Imports,
    /// `account NUL meter` → usage in total and by month.
    Usage,
    /// `account` → wallet: plan, balance, settled usage.
    Billing,
    /// `account NUL transaction id` → transaction.
    Transactions,
    /// `account NUL transaction id` → empty: a transaction that is missing in the payment provider's ledger.
    Outbox,
    /// `payment id` → a started payment: account, amount, whether it was credited.
    Payments,
    /// `notification id` → when it was processed.
    Notifications,
    /// `idempotency key` → entry of the sandbox provider's ledger. `NUL payment id` → payment of the sandbox provider.
    Sandbox,
    /// `namespace id`, `path` → vocabulary term. Derived from git.
    Terms,
    /// `namespace id`, `folded surface form NUL path` → empty. Derived from git.
    TermForms,
    /// `account NUL conversation id` → conversation.
    Conversations,
    /// `namespace id`, `conversation id` → empty. Iterated to list a namespace's conversations.
    ConversationsByNamespace,
    /// `conversation id`, `message id` → message of a conversation.
    Messages,
    /// `media id` → media record; the bytes are in a file.
    Media,
    /// `namespace id`, `media id` → empty. Iterated when a namespace is deleted.
    MediaByNamespace,
    /// `account NUL environment NUL`, animal number as u64 big-endian → animal.
    Animals,
    /// `namespace id`, 8 bytes of the model's hash, SHA-256 of the text → the text's vector, raw: f16 little-endian. A
    /// cache: a missing vector is requested again.
    Vectors,
    /// `model` → calls and tokens of the model.
    Models,
    /// `namespace id`, `path NUL`, position in the history as u64 big-endian → raw: commit id (20 bytes), commit time
    /// in seconds (i64 little-endian). The commits that changed a file. Derived from git.
    Revisions,
    /// `namespace id`, `write id` → source record: list view of an ingested conversation.
    Sources,
    /// `namespace id`, `write id` → the conversation: the bytes of its queue entry.
    SourceConversations,
    /// `namespace id`, `write id` → paths of the memory files that the conversation changed.
    SourcePaths,
}

impl Column {
    /// Every column family, in opening order.
    pub const ALL: [Self; 35] = [
        Self::Meta,
        Self::Accounts,
        Self::Keys,
        Self::KeysByAccount,
        Self::Namespaces,
        Self::Removals,
        Self::Queue,
        Self::DeadLetters,
        Self::DeadLetterWork,
        Self::Unreadable,
        Self::Fingerprints,
        Self::FingerprintSubjects,
        Self::PathWrites,
        Self::Imports,
        Self::Usage,
        Self::Billing,
        Self::Transactions,
        Self::Outbox,
        Self::Payments,
        Self::Notifications,
        Self::Sandbox,
        Self::Terms,
        Self::TermForms,
        Self::Conversations,
        Self::ConversationsByNamespace,
        Self::Messages,
        Self::Media,
        Self::MediaByNamespace,
        Self::Animals,
        Self::Vectors,
        Self::Models,
        Self::Revisions,
        Self::Sources,
        Self::SourceConversations,
        Self::SourcePaths,
    ];

    /// The columns whose keys begin with a namespace's id. Deleting a namespace deletes its key range in each of them.
    pub(crate) const BY_NAMESPACE: [Self; 14] = [
        Self::Queue,
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
    ];

    /// Whether the column's values are raw bytes rather than records.
    pub(crate) fn holds_raw_bytes(self) -> bool {
        matches!(self, Self::Meta | Self::Vectors | Self::Unreadable | Self::Revisions | Self::PathWrites)
    }

    /// The column family's name on disk. Never changes once released.
    pub fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Accounts => "accounts",
            Self::Keys => "keys",
            Self::KeysByAccount => "keys_by_account",
            Self::Namespaces => "namespaces",
            Self::Removals => "removals",
            Self::Queue => "queue_by_namespace",
            Self::DeadLetters => "dead_letters_by_account",
            Self::DeadLetterWork => "dead_letter_work",
            Self::Unreadable => "unreadable",
            Self::Fingerprints => "fingerprints",
            Self::FingerprintSubjects => "fingerprint_subjects",
            Self::PathWrites => "path_writes",
            Self::Imports => "imported_messages",
            Self::Usage => "usage",
            Self::Billing => "billing",
            Self::Transactions => "transactions",
            Self::Outbox => "outbox",
            Self::Payments => "payments",
            Self::Notifications => "notifications",
            Self::Sandbox => "sandbox",
            Self::Terms => "terms",
            Self::TermForms => "term_forms",
            Self::Conversations => "conversations",
            Self::ConversationsByNamespace => "namespace_conversations",
            Self::Messages => "messages",
            Self::Media => "media",
            Self::MediaByNamespace => "namespace_media",
            Self::Animals => "animals",
            Self::Vectors => "namespace_vectors",
            Self::Models => "models",
            Self::Revisions => "revisions",
            Self::Sources => "sources",
            Self::SourceConversations => "source_conversations",
            Self::SourcePaths => "source_paths",
        }
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
