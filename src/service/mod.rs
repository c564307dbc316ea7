//! The service itself, without HTTP: what the API, the command line and the workers all call.
//!
//! [`Service`] joins storage and retrieval. [`namespaces`] keeps opened namespaces warm; [`namespace`] is one of them,
//! with its single writer; [`accounts`] holds accounts and keys; [`retrieval`] answers queries, [`answer`] questions;
//! [`backlog`] is what is still to be embedded;
//! [`memories`], [`vocabulary`] and [`skills`] are what a caller reads and writes by name; [`conversations`] and
//! [`media`] are kept beside the memories; [`push`] takes in what another git sends.

pub mod accounts;
pub mod answer;
pub mod backlog;
pub mod conversations;
pub mod dead_letters;
pub mod error;
pub mod media;
pub mod memories;
pub mod namespace;
pub mod namespaces;
pub mod push;
pub mod retrieval;
pub mod skills;
pub mod vocabulary;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use cuebase_storage::Error::DamagedRecords;
use cuebase_storage::Store;
use cuebase_storage::records::{Enqueued, KnownBy, NamespaceRecord, QueueEntry, QueuedWork, UsageRecord};
use jiff::Timestamp;
use parking_lot::Mutex;
use ulid::Ulid;

pub use error::{Failure, Outcome};
use namespace::Around;
use namespaces::Namespaces;

use crate::billing::Billing;
use crate::billing::meters::{Meter, Permit};
use crate::config::{Config, EmbeddingChoice};
use crate::dashboard::Dashboard;
use crate::gateway::sessions::LocalIssuer;
use crate::ingest::queue::Queue;
use crate::maintenance::backup::restoring;
use crate::metrics::Metrics;
use crate::model::{Models, StaticTable};
use backlog::Backlog;
use media::MediaStore;
use skills::Promises;

/// Identical bodies within this time are one write: 5 minutes.
const DEDUPLICATION_MS: i64 = 5 * 60 * 1000;
/// Dead letters are kept for 14 days.
const DEAD_LETTERS_MS: i64 = 14 * 24 * 60 * 60 * 1000;

/// A notification is remembered for so long; the provider gives up repeating it much earlier.
const NOTIFICATIONS_MS: i64 = 60 * 24 * 60 * 60 * 1000;
/// Bytes of a secret that the data directory keeps.
const SECRET_BYTES: usize = 32;

/// An open data directory with everything that works on it.
pub struct Service {
    /// The settings it was started with.
    pub config: Config,
    /// Meters, plans, wallets.
    pub billing: Billing,
    pub(crate) store: Arc<Store>,
    pub(crate) namespaces: Namespaces,
    pub(crate) queue: Queue,
    pub(crate) promises: Promises,
    pub(crate) issuer: LocalIssuer,
    /// What the dashboard knows.
    pub dashboard: Dashboard,
    address: OnceLock<String>,
    pub(crate) models: Arc<Models>,
    pub(crate) backlog: Arc<Backlog>,
    /// Where searches run: as many at once as there are cores.
    pub(crate) searchers: rayon::ThreadPool,
    pub(crate) media: MediaStore,
    /// What is counted of all this.
    pub metrics: Arc<Metrics>,
    /// Held around reading and changing a conversation; taken before `ids`.
    conversations: Mutex<()>,
    /// Held around fingerprint look-up and enqueue; also gives out ids in order.
    ids: Mutex<Ulid>,
}

impl Service {
    /// Opens the data directory; nothing runs yet. Where its records are damaged the error says what to do.
    pub fn open(config: Config) -> anyhow::Result<Arc<Self>> {
        let data = config.data.clone();
        Self::open_whole(config).map_err(|error| {
            let damaged = matches!(error.downcast_ref(), Some(DamagedRecords(_)))
                || matches!(error.downcast_ref(), Some(Failure::Damaged(_)));
            if damaged { anyhow::anyhow!("{error:#}: {}", restoring(&data)) } else { error }
        })
    }

    fn open_whole(config: Config) -> anyhow::Result<Arc<Self>> {
        create_private(&config.data)?;
        if matches!(config.model.embedding, EmbeddingChoice::BuiltIn) {
            // It takes as long as opening the records.
            StaticTable::unpack_ahead();
        }
        let store = Arc::new(Store::open(&config.data.join("records"))?);
        let issuer = LocalIssuer::open(&store)?;
        let models = Arc::new(Models::open(&config.model, &store)?);
        let backlog = Arc::new(Backlog::default());
        let searchers = rayon::ThreadPoolBuilder::new().thread_name(|n| format!("retrieve-{n}")).build()?;
        let media = MediaStore::open(&config.data.join("media"), &store)?;
        let metrics = Arc::new(Metrics::default());
        let around = Around {
            store: Arc::clone(&store),
            models: Arc::clone(&models),
            backlog: Arc::clone(&backlog),
            metrics: Arc::clone(&metrics),
        };
        let namespaces = Namespaces::new(&config, around);
        namespaces.finish_deletions()?;
        let newest = store.newest_message_id()?.unwrap_or(Ulid::nil());
        let (mut queue, promises) = (Queue::default(), Promises::default());
        store.each_queue_entry(|entry| {
            promises.note(&entry);
            queue.take_over(&entry);
        })?;
        let dashboard = Dashboard::new(&config)?;
        let service = Self {
            dashboard,
            address: OnceLock::new(),
            billing: Billing::open(&config, &store)?,
            config,
            namespaces,
            queue,
            promises,
            issuer,
            models,
            backlog,
            searchers,
            media,
            metrics,
            conversations: Mutex::new(()),
            ids: Mutex::new(newest),
            store,
        };
        service.purge()?;
        Ok(Arc::new(service))
    }

    /// Tells where the API listens.
    pub fn listens_at(&self, address: String) {
        // There is one listener; a second call would name the same.
        let _ = self.address.set(address);
    }

    /// Where the API listens, once it does.
    pub fn address(&self) -> Option<&str> {
        self.address.get().map(String::as_str)
    }

    /// Accepts a write: durable when this returns. An identical body a short while ago is the same write.
    pub fn accept(&self, namespace: &NamespaceRecord, work: QueuedWork, body: Option<&[u8]>) -> Outcome<Ulid> {
        let permit = self.permit_write(&namespace.account, &work)?;
        self.accept_permitted(namespace, work, known_by(namespace, body), permit)
    }

    /// Accepts a conversation from elsewhere, and remembers for good which of its messages were brought.
    pub fn accept_import(
        &self,
        namespace: &NamespaceRecord,
        request: serde_json::Value,
        marks: &[[u8; 32]],
    ) -> Outcome<Ulid> {
        let work = QueuedWork::Conversation { request };
        let permit = self.permit_write(&namespace.account, &work)?;
        self.accept_permitted(namespace, work, KnownBy::Imports(marks), permit)
    }

    /// Which messages from elsewhere were brought before, in the same order.
    pub fn imported(&self, namespace: &NamespaceRecord, marks: &[[u8; 32]]) -> Outcome<Vec<bool>> {
        Ok(self.store.imported(&namespace.account, &namespace.name, marks)?)
    }

    /// The same, for one that may be counted. Many accepted at the same time share one sync of the disk.
    fn accept_permitted(
        &self,
        namespace: &NamespaceRecord,
        work: QueuedWork,
        known_by: KnownBy<'_>,
        permit: Option<Permit<'_>>,
    ) -> Outcome<Ulid> {
        let opening = self.store.opening();
        let id = self.enqueue(&mut self.ids.lock(), namespace, work, known_by, permit)?;
        self.store.sync_since(opening)?;
        Ok(id)
    }

    /// Leave to have a write counted; none for what is free.
    fn permit_write(&self, account: &str, work: &QueuedWork) -> Outcome<Option<Permit<'_>>> {
        if matches!(work, QueuedWork::Forget { .. } | QueuedWork::ForgetTerms { .. }) {
            return Ok(None);
        }
        if matches!(work, QueuedWork::Conversation { .. }) {
            self.billing.require_balance(account)?;
        }
        self.billing.reserve(account, Meter::Writes, || self.memories(account)).map(Some)
    }

    /// An id that sorts after every one before it.
    fn fresh_id(&self) -> Ulid {
        let mut newest = self.ids.lock();
        *newest = next_id(*newest, Timestamp::now().as_millisecond());
        *newest
    }

    /// The lock is held by the caller through the write, so that the queue's order is the order of ids.
    fn enqueue(
        &self,
        newest: &mut Ulid,
        namespace: &NamespaceRecord,
        work: QueuedWork,
        known_by: KnownBy<'_>,
        permit: Option<Permit<'_>>,
    ) -> Outcome<Ulid> {
        let entry = entry(newest, namespace, work);
        let write = |usage: Option<&UsageRecord>| -> Outcome<(Ulid, bool)> {
            match self.store.enqueue(&entry, known_by, usage)? {
                Enqueued::Accepted(id) => {
                    self.promises.note(&entry);
                    self.queue.add(&entry);
                    Ok((id, true))
                }
                Enqueued::Duplicate(id) => {
                    // A write that failed may have become durable all the same; this one vouches for it.
                    if let Some(entry) = self.store.queue_entry(id)? {
                        self.promises.note(&entry);
                        self.queue.add(&entry);
                    }
                    Ok((id, false))
                }
            }
        };
        match permit {
            Some(permit) => permit.charge_with(|usage| write(Some(usage))),
            None => write(None).map(|(id, _)| id),
        }
    }

    /// How many memories an account has, over all its namespaces.
    pub fn memories(&self, account: &str) -> Outcome<u64> {
        let records = self.store.namespaces(account, None, usize::MAX)?;
        Ok(records.iter().map(|record| record.memories).sum())
    }

    /// Debits what was used and tells the payment provider's ledger, for every account.
    pub fn mirror_all(&self) {
        for account in self.accounts().unwrap_or_default() {
            let account = account.account;
            let told = self.billing.settle(&account).and_then(|_| self.billing.mirror(&account));
            if let Err(error) = told {
                tracing::warn!(account, %error, "the payment provider's ledger is behind");
            }
        }
    }

    /// Forgets dead letters and fingerprints that are past their time.
    pub fn purge(&self) -> Outcome<usize> {
        let now_ms = Timestamp::now().as_millisecond();
        // A clock that was set forward must not cost a dead letter.
        let died_before_ms = self.queue.now_ms().min(now_ms) - DEAD_LETTERS_MS;
        let forgotten = self.store.purge(died_before_ms, now_ms - DEDUPLICATION_MS)?;
        Ok(forgotten + self.store.purge_notifications(now_ms - NOTIFICATIONS_MS)?)
    }
}

/// A queue entry with the next id.
fn entry(newest: &mut Ulid, namespace: &NamespaceRecord, work: QueuedWork) -> QueueEntry {
    let now_ms = Timestamp::now().as_millisecond();
    *newest = next_id(*newest, now_ms);
    QueueEntry {
        id: *newest,
        account: namespace.account.clone(),
        namespace: namespace.name.clone(),
        accepted_at_ms: now_ms,
        failures: 0,
        work,
    }
}

/// By what a write with a body is known for a while. When the namespace was created counts too, so that one deleted and
/// made again does not remember bodies of the former one.
fn known_by<'a>(namespace: &NamespaceRecord, body: Option<&[u8]>) -> KnownBy<'a> {
    let Some(body) = body else { return KnownBy::Nothing };
    let hash = fingerprint(&[&namespace.created_at_ms.to_le_bytes(), body]);
    KnownBy::Body { hash, window_ms: DEDUPLICATION_MS }
}

/// Random bytes for a secret; none where the system has no randomness.
pub(crate) fn random_secret() -> Vec<u8> {
    let mut bytes = vec![0; SECRET_BYTES];
    if aws_lc_rs::rand::fill(&mut bytes).is_err() {
        bytes.clear();
    }
    bytes
}

/// An id that sorts after `newest`, also when the clock went back.
fn next_id(newest: Ulid, now_ms: i64) -> Ulid {
    let fresh = Ulid::from_parts(now_ms.max(0).unsigned_abs(), Ulid::generate().random());
    if fresh > newest { fresh } else { Ulid::from(u128::from(newest) + 1) }
}

/// SHA-256 over parts, each with its length before it.
pub(crate) fn fingerprint(parts: &[&[u8]]) -> [u8; 32] {
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
        made.with_context(|| {
            format!("cannot create the data directory {} (--data takes another one)", path.display())
        })?;
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
