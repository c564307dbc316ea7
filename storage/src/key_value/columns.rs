//! The column families: one screen that shows the database.
//!
//! Key parts are joined by a NUL byte where a part has no fixed length; account ids and names never hold one. Ids are
//! ULIDs, 16 bytes big-endian, so that key order is creation order. What belongs to a namespace begins with the
//! namespace's id, which is new with each creation: a namespace that is deleted and made again shares no key with the
//! former one, and one range of each column holds all of it. Every value is one format byte
//! ([`crate::records::RECORD_FORMAT`]) and a JSON object, except for the columns that hold raw bytes.

/// A column family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// `name` → raw bytes. `format`: u32 little-endian, the data directory's format. `issuer`: PKCS#8 of the local
    /// issuer's signing key. `media`: the key that signs addresses of media. `newest-id`: 16 bytes, the greatest id
    /// that was given out. `running-ms`: u64 little-endian, for how long services have run on this data directory.
    /// `directories`: present while folders still have the names of format 1.
    Meta,
    /// `account` → account record (suspended or not, since when).
    Accounts,
    /// `key id`, 16 hex characters → API key record. Point reads on every request.
    Keys,
    /// `account NUL key id` → empty. Iterated to list an account's keys.
    KeysByAccount,
    /// `account NUL namespace` → namespace record. Iterated to list an account's namespaces by name.
    Namespaces,
    /// `namespace id` → which namespace that was: deleted, with files that are still to be removed.
    Removals,
    /// `namespace id`, `message id` → queue entry. Iterated once, at start.
    Queue,
    /// `account NUL message id` → dead letter without its work. Iterated to list an account's dead letters.
    DeadLetters,
    /// `account NUL message id` → the work of a dead letter.
    DeadLetterWork,
    /// `column name NUL key` → raw bytes: a queue entry or dead letter that could not be decoded.
    Unreadable,
    /// `namespace id`, `kind NUL SHA-256 of the body` → the message id that body was accepted under, and when.
    Fingerprints,
    /// `namespace id`, 16 bytes of a subject's SHA-256, `kind NUL SHA-256 of the body` → empty: the fingerprint is void
    /// once the subject (a path, a term) is written or forgotten.
    FingerprintSubjects,
    /// `namespace id`, `path` → message id, raw, 16 bytes: writes accepted before it do not touch the path any more.
    PathWrites,
    /// `namespace id`, SHA-256 of a message from elsewhere → the message id that it was imported under.
    Imports,
    /// `account NUL meter` → how much was used, ever and by month.
    Usage,
    /// `account` → wallet: plan, balance, up to where usage was debited.
    Billing,
    /// `account NUL transaction id` → transaction.
    Transactions,
    /// `account NUL transaction id` → empty: a transaction that the payment provider's ledger does not have yet.
    Outbox,
    /// `payment id` → what a started payment is for, and whether it was credited.
    Payments,
    /// `notification id` → when it was processed.
    Notifications,
    /// `idempotency key` → an entry of the sandbox provider's ledger. `NUL payment id` → one of its payments.
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
    /// `account NUL environment NUL`, the animal's number as u64 big-endian → animal.
    Animals,
    /// `namespace id`, 8 bytes of the model, SHA-256 of the text → its vector, raw: f16 little-endian. A cache: a missing
    /// vector is requested again.
    Vectors,
    /// `model` → how much it was called.
    Models,
    /// `namespace id`, `path NUL`, place in the history as u64 big-endian → raw: commit id (20 bytes), its time in seconds
    /// (i64 little-endian). Which commits changed a file. Derived from git.
    Revisions,
    /// `namespace id`, `write id` → what a list shows of a conversation that was ingested.
    Sources,
    /// `namespace id`, `write id` → that conversation: the bytes of its queue entry.
    SourceConversations,
    /// `namespace id`, `write id` → the paths of the memory files that it changed.
    SourcePaths,
}

impl Column {
    /// Every column family, in the order in which they are opened.
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

    /// The columns whose keys begin with a namespace's id: a deletion empties the namespace's range in each.
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

    /// Whether its values are bytes rather than records.
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
pub(crate) fn joined(first: &str, second: &str) -> Vec<u8> {
    [first.as_bytes(), &[0], second.as_bytes()].concat()
}

/// Joins a name and bytes with a NUL byte.
pub(crate) fn joined_bytes(first: &str, second: &[u8]) -> Vec<u8> {
    [first.as_bytes(), &[0], second].concat()
}

/// Joins key parts with NUL bytes, the last one being followed by one too: the prefix of every key below them.
pub(crate) fn prefix(parts: &[&str]) -> Vec<u8> {
    parts.iter().flat_map(|part| part.bytes().chain([0])).collect()
}

/// A prefix and an id or number of fixed length after it.
pub(crate) fn below(parts: &[&str], id: &[u8]) -> Vec<u8> {
    [prefix(parts).as_slice(), id].concat()
}
