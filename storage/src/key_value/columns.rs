//! The column families: one screen that shows the database.
//!
//! Key parts are joined by a NUL byte where a part has no fixed length; account ids and names never hold one. Ids are
//! ULIDs, 16 bytes big-endian, so that key order is creation order. Every value is one format byte
//! ([`crate::records::RECORD_FORMAT`]) and a JSON object, but for the entries marked otherwise.

/// A column family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// `name` → raw bytes. `format`: u32 little-endian, the data directory's format. `issuer`: PKCS#8 of the local
    /// issuer's signing key.
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
    /// `SHA-256 of account, namespace and body` → the message id that body was accepted under, and when.
    Deduplication,
    /// `account NUL period NUL meter` → count. Written from the metering of requests on.
    Usage,
    /// `account NUL id` → wallet and ledger entries. Written from billing on.
    Billing,
    /// `account NUL namespace NUL surface form` → vocabulary term. Written from the vocabulary routes on.
    Vocab,
}

impl Column {
    /// Every column family, in the order in which they are opened.
    pub const ALL: [Self; 12] = [
        Self::Meta,
        Self::Accounts,
        Self::Keys,
        Self::KeysByAccount,
        Self::Namespaces,
        Self::Deletions,
        Self::Queue,
        Self::DeadLetters,
        Self::Deduplication,
        Self::Usage,
        Self::Billing,
        Self::Vocab,
    ];

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
            Self::Usage => "usage",
            Self::Billing => "billing",
            Self::Vocab => "vocab",
        }
    }
}

/// Joins two key parts with a NUL byte.
pub(crate) fn joined(first: &str, second: &str) -> Vec<u8> {
    [first.as_bytes(), &[0], second.as_bytes()].concat()
}
