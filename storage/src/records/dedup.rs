//! How a write is recognised when it is sent again, and what an enqueue returns.

use crate::identity::MessageId;
use crate::key_value::columns::joined;

/// Length of a subject's hash in a key, in bytes.
pub(super) const SUBJECT_BYTES: usize = 16;

/// How a repeated write is detected.
#[derive(Clone, Copy, Debug, Default)]
pub enum Dedup<'a> {
    /// Every write is new.
    #[default]
    Off,
    /// By the fingerprint of the entry.
    Body {
        /// Length of the window in milliseconds.
        window_ms: u64,
    },
    /// By the SHA-256 hashes of the imported messages in the entry, without a time limit.
    Imports(&'a [[u8; 32]]),
}

/// Something that a write changes: a path or a vocabulary term. Holds a hash of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FingerprintSubject(pub(super) [u8; SUBJECT_BYTES]);

impl FingerprintSubject {
    /// The subject of a path.
    pub fn path(path: &str) -> Self {
        Self::from_name("path", path)
    }

    /// The subject of a term. `identity` is the normalised form that all spellings of the term share.
    pub fn term(identity: &str) -> Self {
        Self::from_name("term", identity)
    }

    fn from_name(kind: &str, name: &str) -> Self {
        let text = joined(kind, name);
        let mut hash = [0; SUBJECT_BYTES];
        let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
        hasher.update(&text);
        // SHA-1 with collision detection fails only for a crafted collision. Its subject is then all zeros.
        if let Ok(digest) = hasher.try_finalize() {
            hash.copy_from_slice(&digest.as_slice()[..SUBJECT_BYTES]);
        }
        Self(hash)
    }
}

/// The result of [`RecordBatch::enqueue`](super::RecordBatch::enqueue).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// The write is new. It is accepted under this id once the batch is committed.
    Accepted(MessageId),
    /// The same body was accepted before, under this id.
    Duplicate(MessageId),
}
