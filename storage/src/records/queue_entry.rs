//! An entry of the queue, its key and its encoding.

use serde::{Deserialize, Serialize};

use super::namespaces::key;
use super::store::{decode, encode};
use crate::error::{Error, Result};
use crate::identity::{AccountId, MessageId, NamespaceId, NamespaceKey, NamespaceName};
use crate::key_value::{Batch, Column};

/// The work of a queue entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum QueuedWork {
    /// A conversation to extract memories from: the validated request body.
    Conversation {
        /// The request, in the server's own format.
        request: serde_json::Value,
    },
    /// Memories to delete.
    Forget {
        /// Their paths.
        paths: Vec<String>,
    },
    /// Terms to add to the vocabulary.
    Teach {
        /// The terms, in the server's own format.
        request: serde_json::Value,
    },
    /// Terms to delete.
    ForgetTerms {
        /// Their canonical forms.
        terms: Vec<String>,
    },
    /// Skills to store.
    Skills {
        /// The skills with their paths, in the server's own format.
        request: serde_json::Value,
    },
    /// A kept conversation to extract memories from again.
    Reextract {
        /// The id of the write that contained the conversation.
        source: MessageId,
    },
}

impl QueuedWork {
    /// Name of the kind of work.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Conversation { .. } => "memories",
            Self::Forget { .. } => "forget",
            Self::Teach { .. } => "teach",
            Self::ForgetTerms { .. } => "forget-terms",
            Self::Skills { .. } => "skills",
            Self::Reextract { .. } => "reextract",
        }
    }
}

/// An accepted write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueEntry {
    /// The queue message id. Ids are ordered by acceptance.
    pub id: MessageId,
    /// The owning account.
    pub account: AccountId,
    /// The namespace to write to.
    pub namespace: NamespaceName,
    /// The id of the namespace.
    pub namespace_id: NamespaceId,
    /// Time of acceptance, milliseconds since the epoch.
    pub accepted_at_ms: i64,
    /// Total running time of services on the data directory at acceptance, in milliseconds.
    pub accepted_running_ms: u64,
    /// Number of failed attempts.
    pub failures: u32,
    /// SHA-256 of the body in hex, if repetitions of the body within the dedup window are the same write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The work.
    pub work: QueuedWork,
}

impl QueueEntry {
    /// Returns the identity of the namespace to write to.
    pub fn namespace_key(&self) -> NamespaceKey {
        NamespaceKey { account: self.account.clone(), name: self.namespace.clone(), id: self.namespace_id }
    }
}

/// The key of an entry.
pub(super) fn queue_key(namespace: NamespaceId, id: MessageId) -> Vec<u8> {
    key(namespace, &id.to_bytes())
}

/// Adds an entry to a batch. Decodes the encoded entry as a check: an entry that cannot be decoded would be
/// acknowledged but never ingested.
pub(super) fn put(batch: &mut Batch, entry: &QueueEntry) -> Result<()> {
    let bytes = encode(entry)?;
    if let Err(error) = decode::<QueueEntry>(Column::Queue, &bytes) {
        return Err(Error::Invalid {
            what: "write",
            reason: format!("the encoded entry cannot be read back: {error}"),
        });
    }
    batch.put(Column::Queue, queue_key(entry.namespace_id, entry.id), bytes);
    Ok(())
}

/// Deletes an entry in a batch.
pub(super) fn delete(batch: &mut Batch, namespace: NamespaceId, id: MessageId) {
    batch.delete(Column::Queue, queue_key(namespace, id));
}
