//! The service itself, without HTTP: what the API, the command line and the workers all call.
//!
//! [`Service`] joins storage and retrieval. [`namespaces`] keeps opened namespaces warm; [`namespace`] is one of them,
//! with its single writer; [`accounts`] holds accounts and keys; [`retrieval`] answers queries.

pub mod accounts;
pub mod error;
pub mod namespace;
pub mod namespaces;
pub mod retrieval;

use std::path::Path;
use std::sync::Arc;

use cuebase_storage::Store;
use cuebase_storage::records::{Enqueued, NamespaceRecord, QueueEntry, QueuedWork};
use jiff::Timestamp;
use parking_lot::Mutex;
use ulid::Ulid;

pub use error::{Failure, Outcome};
use namespaces::Namespaces;

use crate::config::Config;
use crate::gateway::sessions::LocalIssuer;
use crate::ingest::conversation::Conversation;
use crate::ingest::queue::Queue;
use crate::model::{Embedder, StaticTable};

/// Identical bodies within this time are one write: 5 minutes.
const DEDUPLICATION_MS: i64 = 5 * 60 * 1000;
/// Dead letters are kept for 14 days.
const DEAD_LETTERS_MS: i64 = 14 * 24 * 60 * 60 * 1000;

/// An open data directory with everything that works on it.
pub struct Service {
    /// The settings it was started with.
    pub config: Config,
    pub(crate) store: Arc<Store>,
    pub(crate) namespaces: Namespaces,
    pub(crate) queue: Queue,
    pub(crate) issuer: LocalIssuer,
    pub(crate) embedder: Arc<dyn Embedder>,
    /// Held around fingerprint look-up and enqueue; also gives out ids in order.
    ids: Mutex<Ulid>,
}

impl Service {
    /// Opens the data directory; nothing runs yet.
    pub fn open(config: Config) -> anyhow::Result<Arc<Self>> {
        create_private(&config.data)?;
        let store = Arc::new(Store::open(&config.data.join("records"))?);
        let issuer = LocalIssuer::open(&store)?;
        let embedder: Arc<dyn Embedder> = Arc::new(StaticTable::built_in()?);
        let namespaces = Namespaces::new(&config, Arc::clone(&store), Arc::clone(&embedder));
        namespaces.finish_deletions()?;
        let newest = store.newest_message_id()?.unwrap_or(Ulid::nil());
        let queue = Queue::new(&store.queue_entries()?);
        let service = Self { config, store, namespaces, queue, issuer, embedder, ids: Mutex::new(newest) };
        service.purge()?;
        Ok(Arc::new(service))
    }

    /// Accepts a conversation: durable when this returns.
    pub fn accept(&self, namespace: &NamespaceRecord, conversation: &Conversation, body: &[u8]) -> Outcome<Ulid> {
        let request = serde_json::to_value(conversation).map_err(Failure::internal)?;
        let now_ms = Timestamp::now().as_millisecond();
        let NamespaceRecord { account, name, created_at_ms, .. } = namespace;
        // When it was created, so that a namespace deleted and made again does not remember bodies of the former one.
        let created = created_at_ms.to_le_bytes();
        let fingerprint = fingerprint(&[b"memories", account.as_bytes(), name.as_bytes(), &created, body]);
        let mut newest = self.ids.lock();
        let id = next_id(*newest, now_ms);
        let entry = QueueEntry {
            id,
            account: account.clone(),
            namespace: name.clone(),
            accepted_at_ms: now_ms,
            failures: 0,
            work: QueuedWork::Conversation { request },
        };
        *newest = id;
        // The lock is held through the write, so that the queue's order is the order of ids.
        match self.store.enqueue(&entry, fingerprint, DEDUPLICATION_MS)? {
            Enqueued::Accepted(id) => {
                self.queue.add(&entry);
                Ok(id)
            }
            Enqueued::Duplicate(id) => Ok(id),
        }
    }

    /// Forgets dead letters and fingerprints that are past their time.
    pub fn purge(&self) -> Outcome<usize> {
        let now_ms = Timestamp::now().as_millisecond();
        Ok(self.store.purge(now_ms - DEAD_LETTERS_MS, now_ms - DEDUPLICATION_MS)?)
    }
}

/// An id that sorts after `newest`, also when the clock went back.
fn next_id(newest: Ulid, now_ms: i64) -> Ulid {
    let fresh = Ulid::from_parts(now_ms.max(0).unsigned_abs(), Ulid::generate().random());
    if fresh > newest { fresh } else { Ulid::from(u128::from(newest) + 1) }
}

/// SHA-256 over parts, each with its length before it.
fn fingerprint(parts: &[&[u8]]) -> [u8; 32] {
    let mut context = aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256);
    for part in parts {
        context.update(&part.len().to_le_bytes());
        context.update(part);
    }
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

/// Makes the data directory; only its owner can look inside.
fn create_private(path: &Path) -> anyhow::Result<()> {
    use anyhow::Context;
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    if !path.exists() {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.with_context(|| format!("cannot create the data directory {}", path.display()))?;
    }
    let mode = std::fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(data = %path.display(), "others on this machine can look into the data directory; chmod 700 stops that");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_rise_even_when_the_clock_goes_back() {
        let first = next_id(Ulid::nil(), 2_000_000);
        let second = next_id(first, 1_000_000);
        assert!(second > first);
    }
}
