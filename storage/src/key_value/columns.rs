//! The column families: one screen that shows the database.
//!
//! Key parts are joined by a NUL byte where a part has no fixed length; account ids and names never hold one. Ids are
//! ULIDs, 16 bytes big-endian, so that key order is creation order, and stand last where they follow a name. Every value is one format byte
//! ([`crate::records::RECORD_FORMAT`]) and a JSON object, but for the entries marked otherwise.

/// A column family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// `name` → raw bytes. `format`: u32 little-endian, the data directory's format. `issuer`: PKCS#8 of the local
    /// issuer's signing key. `media`: the key that signs addresses of media.
    Meta,
    /// `account` → account record (suspended or not, since when).
    Accounts,
    /// `key id`, 16 hex characters → API key record. Point reads on every request.
    Keys,
    /// `account NUL key id` → empty. Iterated to list an account's keys.
    KeysByAccount,
    /// `account NUL namespace` → namespace record. Iterated to list an account's namespaces by name.
    Namespaces,
    /// `account NUL namespace` → empty: a namespace whose files are still to be removed.
    Deletions,
    /// `message id` → queue entry. Iterated once, at start.
    Queue,
    /// `message id` → dead letter.
    DeadLetters,
    /// `account NUL namespace NUL kind NUL SHA-256 of the body` → the message id that body was accepted under, and when.
    Deduplication,
    /// `account NUL namespace NUL SHA-256 of a message from elsewhere` → the message id that it was imported under.
    Imports,
    /// `account NUL meter` → how much was used, ever and since the month began.
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
    /// `account NUL namespace NUL path` → vocabulary term. Derived from git.
    Vocab,
    /// `account NUL namespace NUL folded surface form NUL path` → empty. Derived from git.
    VocabForms,
    /// `account NUL conversation id` → conversation.
    Conversations,
    /// `account NUL namespace NUL conversation id` → empty. Iterated to list a namespace's conversations.
    ConversationsByNamespace,
    /// `conversation id`, `message id` → message of a conversation.
    Messages,
    /// `media id` → media record; the bytes are in a file.
    Media,
    /// `account NUL namespace NUL media id` → empty. Iterated when a namespace is deleted.
    MediaByNamespace,
    /// `account NUL environment NUL`, the animal's number as u64 big-endian → animal.
    Animals,
    /// `account NUL`, 8 bytes of the model, SHA-256 of the text → its vector, raw: f16 little-endian. A cache: whatever
    /// is missing is asked for again.
    Vectors,
    /// `model` → how much it was called.
    Models,
}

impl Column {
    /// Every column family, in the order in which they are opened.
    pub const ALL: [Self; 27] = [
        Self::Meta,
        Self::Accounts,
        Self::Keys,
        Self::KeysByAccount,
        Self::Namespaces,
        Self::Deletions,
        Self::Queue,
        Self::DeadLetters,
        Self::Deduplication,
        Self::Imports,
        Self::Usage,
        Self::Billing,
        Self::Transactions,
        Self::Outbox,
        Self::Payments,
        Self::Notifications,
        Self::Sandbox,
        Self::Vocab,
        Self::VocabForms,
        Self::Conversations,
        Self::ConversationsByNamespace,
        Self::Messages,
        Self::Media,
        Self::MediaByNamespace,
        Self::Animals,
        Self::Vectors,
        Self::Models,
    ];

    /// Whether its values are bytes rather than records.
    pub(crate) fn holds_raw_bytes(self) -> bool {
        matches!(self, Self::Meta | Self::Vectors)
    }

    /// The column family's name on disk. Never changes once released.
    pub fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Accounts => "accounts",
            Self::Keys => "keys",
            Self::KeysByAccount => "keys_by_account",
            Self::Namespaces => "namespaces",
            Self::Deletions => "deletions",
            Self::Queue => "queue",
            Self::DeadLetters => "dead_letters",
            Self::Deduplication => "deduplication",
            Self::Imports => "imports",
            Self::Usage => "usage",
            Self::Billing => "billing",
            Self::Transactions => "transactions",
            Self::Outbox => "outbox",
            Self::Payments => "payments",
            Self::Notifications => "notifications",
            Self::Sandbox => "sandbox",
            Self::Vocab => "vocab",
            Self::VocabForms => "vocab_forms",
            Self::Conversations => "conversations",
            Self::ConversationsByNamespace => "conversations_by_namespace",
            Self::Messages => "messages",
            Self::Media => "media",
            Self::MediaByNamespace => "media_by_namespace",
            Self::Animals => "animals",
            Self::Vectors => "vectors",
            Self::Models => "models",
        }
    }
}

/// Joins two key parts with a NUL byte.
pub(crate) fn joined(first: &str, second: &str) -> Vec<u8> {
    [first.as_bytes(), &[0], second.as_bytes()].concat()
}

/// Joins key parts with NUL bytes, the last one being followed by one too: the prefix of every key below them.
pub(crate) fn prefix(parts: &[&str]) -> Vec<u8> {
    parts.iter().flat_map(|part| part.bytes().chain([0])).collect()
}

/// A prefix and an id or number of fixed length after it.
pub(crate) fn below(parts: &[&str], id: &[u8]) -> Vec<u8> {
    [prefix(parts).as_slice(), id].concat()
}
