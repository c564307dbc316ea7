//! The service itself, without HTTP: what the API, the command line and the workers all call.
//!
//! [`Service`] joins storage and retrieval. [`namespaces`] keeps opened namespaces warm; [`namespace`] is one of them,
//! with its single writer; [`accounts`] holds accounts and keys; [`retrieval`] answers queries, [`answer`] questions;
//! [`backlog`] is what is still to be embedded;
//! [`memories`], [`vocabulary`] and [`skills`] are what a caller reads and writes by name; [`conversations`] and
//! [`media`] are kept beside the memories, and so are the conversations that they were made from, in [`sources`];
//! [`push`] takes in what another git sends.

pub mod accounts;
pub mod answer;
pub mod conversations;
pub mod dead_letters;
pub mod deletion;
pub mod media;
pub mod memories;
pub mod push;
pub mod retrieval;
pub mod skills;
pub mod sources;
pub mod state;
pub mod vocabulary;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use conversations::ConversationLocks;
use cuebase_storage::Error as StorageError;
use cuebase_storage::Error::DamagedRecords;
use cuebase_storage::Store;
use cuebase_storage::key_value::EngineMemory;
use cuebase_storage::records::{
    Dedup, EnqueueOptions, Enqueued, FingerprintSubject, NamespaceRecord, QueueEntry, QueuedWork, UsageRecord,
};
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use media::MediaStore;
use ulid::Ulid;

use crate::accounts::sessions::LocalIssuer;
use crate::billing::meters::{Meter, Permit};
use crate::billing::{Billing, PriceSource};
use crate::config::{Config, EmbeddingChoice};
use crate::dashboard::Dashboard;
use crate::error::{Error, Result};
use crate::file_errors::{explain, explained, inaccessible_part, is_refusal};
use crate::memory_limit::MemoryPlan;
use crate::metrics::Metrics;
use crate::model::{Models, StaticTable};
use crate::namespace::backlog::Backlog;
use crate::namespace::context::NamespaceContext;
use crate::namespace::damage::restore_advice;
use crate::namespace::disk_reserve::DiskReserve;
use crate::namespace::ids::{HeldIds, Ids};
use crate::namespace::names::DEFAULT;
use crate::namespace::pending::PendingPaths;
use crate::namespace::registry::Namespaces;
use crate::namespace::retention::SourceRetention;
use crate::queue::dispatch::Queue;
use crate::secrets::fingerprint;

/// Identical bodies within this time are one write: 5 minutes.
const DEDUPLICATION_MS: u64 = 5 * 60 * 1000;
/// Dead letters are kept for 14 days of running time.
const DEAD_LETTERS_MS: u64 = 14 * 24 * 60 * 60 * 1000;

/// A notification is remembered for so long; the provider gives up repeating it much earlier.
const NOTIFICATIONS_MS: i64 = 60 * 24 * 60 * 60 * 1000;
/// An open data directory with everything that works on it.
pub struct Service {
    /// The settings it was started with.
    pub config: Config,
    /// Meters, plans, wallets.
    pub billing: Billing,
    pub(crate) store: Arc<Store>,
    pub(crate) namespaces: Namespaces,
    pub(crate) queue: Queue,
    pub(crate) pending: Arc<PendingPaths>,
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
    /// One lock for each conversation that is being changed; taken before `ids`.
    conversations: ConversationLocks,
    /// Held context fingerprint look-up and enqueue; also gives out ids in order.
    ids: Arc<Ids>,
    pub(crate) reserve: Arc<DiskReserve>,
    running: RunningTime,
}

/// For how long services have run on this data directory. What waits grows old by this time, not by a clock that can be
/// set or that goes on while nothing runs.
struct RunningTime {
    /// Before this process, milliseconds.
    before_ms: u64,
    began: Instant,
}

impl RunningTime {
    fn now_ms(&self) -> u64 {
        let passed = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.before_ms.saturating_add(passed)
    }
}

impl Service {
    /// Opens the data directory for a server; nothing runs yet. Where its records are damaged the error says what to do.
    pub fn open(config: Config) -> anyhow::Result<Arc<Self>> {
        Self::open_with_prices(config, PriceSource::Configured)
    }

    /// Opens the data directory of a stopped server for a command. The command may have been started without the server's
    /// settings, so its units cost what the server's did.
    pub fn open_for_command(config: Config) -> anyhow::Result<Arc<Self>> {
        Self::open_with_prices(config, PriceSource::Recorded)
    }

    fn open_with_prices(config: Config, prices: PriceSource) -> anyhow::Result<Arc<Self>> {
        let data = config.data.clone();
        Self::open_whole(config, prices).map_err(|error| {
            let damaged = matches!(error.downcast_ref(), Some(DamagedRecords(_)))
                || matches!(error.downcast_ref(), Some(Error::Damaged(_)));
            if damaged { anyhow::anyhow!("{error:#}: {}", restore_advice(&data)) } else { with_refusal(error, &data) }
        })
    }

    fn open_whole(config: Config, prices: PriceSource) -> anyhow::Result<Arc<Self>> {
        create_private(&config.data)?;
        if matches!(config.model.embedding, EmbeddingChoice::BuiltIn) {
            // It takes as long as opening the records.
            StaticTable::open_in_background();
        }
        let reserve = Arc::new(DiskReserve::of(&config.data));
        reserve.release_for_start();
        let plan = MemoryPlan::current(config.server.body_memory_mib)?;
        let memory =
            EngineMemory { block_cache_bytes: plan.block_cache_bytes, write_buffer_bytes: plan.write_buffer_bytes };
        let store = Arc::new(Store::open_with_memory(&config.data.join("records"), memory)?);
        let issuer = LocalIssuer::open(&store)?;
        let models = Arc::new(Models::open(&config.model, &store)?);
        let backlog = Arc::new(Backlog::default());
        let searchers = rayon::ThreadPoolBuilder::new().num_threads(plan.worker_threads);
        let searchers = searchers.thread_name(|n| format!("retrieve-{n}")).build()?;
        let media = MediaStore::open(&config.data.join("media"), &store)?;
        let metrics = Arc::new(Metrics::default());
        let ids = Arc::new(Ids::after(store.newest_id()?));
        let pending = Arc::new(PendingPaths::default());
        let context = NamespaceContext {
            store: Arc::clone(&store),
            models: Arc::clone(&models),
            backlog: Arc::clone(&backlog),
            metrics: Arc::clone(&metrics),
            ids: Arc::clone(&ids),
            pending: Arc::clone(&pending),
            sources: SourceRetention::of_setting(config.keep_sources),
        };
        let namespaces = Namespaces::new(&config, context, Arc::clone(&reserve));
        let queue = Queue::new(config.ingestion_workers.max(1));
        store.for_each_queue_entry(|entry| {
            pending.add(&entry);
            queue.add(&entry);
        })?;
        let dashboard = Dashboard::new(&config)?;
        let running = RunningTime { before_ms: store.running_ms()?, began: Instant::now() };
        let service = Self {
            dashboard,
            address: OnceLock::new(),
            billing: Billing::open(&config, &store, prices)?,
            config,
            namespaces,
            queue,
            pending,
            issuer,
            models,
            backlog,
            searchers,
            media,
            metrics,
            conversations: ConversationLocks::default(),
            ids,
            reserve,
            running,
            store,
        };
        service.rename_former_folders()?;
        service.finish_removals();
        Ok(Arc::new(service))
    }

    /// For how long services have run on this data directory, milliseconds.
    pub fn running_ms(&self) -> u64 {
        self.running.now_ms()
    }

    /// Notes the running time, so that the next process goes on from it.
    pub fn note_running(&self) -> Result<()> {
        Ok(self.store.put_running_ms(self.running_ms())?)
    }

    /// The entry of the queue that has waited longest.
    pub fn oldest_queued(&self) -> Result<Option<QueueEntry>> {
        let Some((namespace, id)) = self.queue.oldest() else { return Ok(None) };
        Ok(self.store.queue_entry(namespace, id)?)
    }

    /// For how long a message has waited, milliseconds of running time.
    pub fn waited_ms(&self, entry: &QueueEntry) -> u64 {
        self.running_ms().saturating_sub(entry.accepted_running_ms)
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

    /// Accepts a write: durable when this returns. An identical body a short while ago is the same write. Where it is known
    /// already what the write is about, fingerprints of earlier writes about the same are void.
    pub fn accept(
        &self,
        namespace: &NamespaceRecord,
        work: QueuedWork,
        body: Option<&[u8]>,
        subjects: &[FingerprintSubject],
    ) -> Result<Ulid> {
        let permit = self.permit_write(&namespace.account, &work)?;
        let known = match body {
            Some(body) => DedupKey::Body(body),
            None => DedupKey::Nothing,
        };
        self.accept_permitted(namespace, work, known, subjects, permit)
    }

    /// Accepts a conversation from elsewhere, and remembers for good which of its messages were brought. One that a Cuebase
    /// accepted before keeps that time: times that it leaves out, and words such as "yesterday", refer to it.
    pub fn accept_import(
        &self,
        namespace: &NamespaceRecord,
        request: serde_json::Value,
        marks: &[[u8; 32]],
        accepted_at: Option<Timestamp>,
    ) -> Result<Ulid> {
        let work = QueuedWork::Conversation { request };
        let permit = self.permit_write(&namespace.account, &work)?;
        let known = DedupKey::Marks { marks, accepted_at_ms: accepted_at.map(Timestamp::as_millisecond) };
        self.accept_permitted(namespace, work, known, &[], permit)
    }

    /// Queues a kept conversation to have memories extracted from it again. It counts as no write.
    pub fn accept_reextraction(&self, namespace: &NamespaceRecord, source: Ulid) -> Result<Ulid> {
        self.accept(namespace, QueuedWork::Reextract { source }, None, &[])
    }

    /// Which messages from elsewhere were brought before, in the same order.
    pub fn imported(&self, namespace: &NamespaceRecord, marks: &[[u8; 32]]) -> Result<Vec<bool>> {
        Ok(self.store.imported(namespace.id, marks)?)
    }

    /// The same, for one that may be counted. Many accepted at the same time share one sync of the disk.
    fn accept_permitted(
        &self,
        namespace: &NamespaceRecord,
        work: QueuedWork,
        known: DedupKey<'_>,
        subjects: &[FingerprintSubject],
        permit: Option<Permit<'_>>,
    ) -> Result<Ulid> {
        self.namespaces.require_undamaged(namespace)?;
        let generation = self.store.generation();
        let id = self.enqueue(&mut self.ids.hold(), namespace, work, known, subjects, permit)?;
        self.store.sync_since(generation)?;
        Ok(id)
    }

    /// Does a write, and does it once more where the namespace is `default` and was deleted meanwhile: that one exists
    /// again at once.
    pub fn with_default_again<T>(
        &self,
        namespace: &NamespaceRecord,
        write: impl Fn(&NamespaceRecord) -> Result<T>,
    ) -> Result<T> {
        match write(namespace) {
            Err(Error::NotFound { code: "namespace_not_found", .. }) if namespace.name == DEFAULT => {
                write(&self.namespaces.existing(&namespace.account, DEFAULT)?)
            }
            written => written,
        }
    }

    /// Leave to have a write counted; none for what is free.
    fn permit_write(&self, account: &str, work: &QueuedWork) -> Result<Option<Permit<'_>>> {
        if matches!(work, QueuedWork::Forget { .. } | QueuedWork::ForgetTerms { .. } | QueuedWork::Reextract { .. }) {
            return Ok(None);
        }
        if matches!(work, QueuedWork::Conversation { .. }) {
            self.billing.require_balance(account)?;
        }
        self.billing.reserve(account, Meter::Writes, || self.memories(account)).map(Some)
    }

    /// The ids are held by the caller through the write, so that the queue's order is the order of ids.
    fn enqueue(
        &self,
        ids: &mut HeldIds<'_>,
        namespace: &NamespaceRecord,
        work: QueuedWork,
        known: DedupKey<'_>,
        subjects: &[FingerprintSubject],
        permit: Option<Permit<'_>>,
    ) -> Result<Ulid> {
        let mut entry = self.entry(ids, namespace, work);
        let dedup = match known {
            DedupKey::Nothing => Dedup::Off,
            DedupKey::Body(body) => {
                entry.fingerprint = Some(HEXLOWER.encode(&fingerprint(&[body])));
                Dedup::Body { window_ms: DEDUPLICATION_MS }
            }
            DedupKey::Marks { marks, accepted_at_ms } => {
                entry.accepted_at_ms = accepted_at_ms.unwrap_or(entry.accepted_at_ms);
                Dedup::Imports(marks)
            }
        };
        let write = |usage: Option<&UsageRecord>| -> Result<(Ulid, bool)> {
            let options = EnqueueOptions { dedup, subjects, usage };
            match self.store.enqueue(namespace, &entry, &options).map_err(refused_entry)? {
                Enqueued::Accepted(id) => {
                    self.pending.add(&entry);
                    self.queue.add(&entry);
                    Ok((id, true))
                }
                Enqueued::Duplicate(id) => {
                    // A write that failed may have become durable all the same; this one vouches for it.
                    if let Some(entry) = self.store.queue_entry(namespace.id, id)? {
                        self.pending.add(&entry);
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

    /// A queue entry with the next id.
    fn entry(&self, ids: &mut HeldIds<'_>, namespace: &NamespaceRecord, work: QueuedWork) -> QueueEntry {
        let now_ms = Timestamp::now().as_millisecond();
        QueueEntry {
            id: ids.next(now_ms),
            account: namespace.account.clone(),
            namespace: namespace.name.clone(),
            namespace_id: namespace.id,
            accepted_at_ms: now_ms,
            accepted_running_ms: self.running_ms(),
            failures: 0,
            fingerprint: None,
            work,
        }
    }

    /// How many memories an account has, over all its namespaces.
    pub fn memories(&self, account: &str) -> Result<u64> {
        let records = self.store.namespaces(account, None, usize::MAX)?;
        Ok(records.iter().map(|record| record.memories).sum())
    }

    /// Forgets dead letters, fingerprints and notifications that are past their time.
    pub fn purge(&self) -> Result<usize> {
        let running_ms = self.running_ms();
        let letters = self.store.purge_dead_letters(running_ms.saturating_sub(DEAD_LETTERS_MS))?;
        let fingerprints = self.store.purge_fingerprints(running_ms.saturating_sub(DEDUPLICATION_MS))?;
        self.store.purge_path_writes(self.queue.levels().oldest)?;
        let now_ms = Timestamp::now().as_millisecond();
        Ok(letters + fingerprints + self.store.purge_notifications(now_ms - NOTIFICATIONS_MS)?)
    }
}

/// An error of accepting a write: one that could not be read back from the queue is the client's to mend.
fn refused_entry(error: StorageError) -> Error {
    match error {
        StorageError::Invalid { .. } => {
            Error::invalid("invalid_body", "the body cannot be kept as it is: it may be nested too deep")
        }
        error => error.into(),
    }
}

/// By what a write is known when it comes again.
#[derive(Clone, Copy)]
enum DedupKey<'a> {
    /// By nothing: every one is new.
    Nothing,
    /// By its body, for a while.
    Body(&'a [u8]),
    /// By each message from elsewhere that it brings.
    Marks {
        /// The messages.
        marks: &'a [[u8; 32]],
        /// When it was accepted where it comes from, milliseconds since the epoch.
        accepted_at_ms: Option<i64>,
    },
}

/// Adds which file refused, whose it is and what to do to an error of opening a data directory.
fn with_refusal(error: anyhow::Error, data: &Path) -> anyhow::Error {
    let found = match error.downcast_ref::<StorageError>() {
        Some(StorageError::Io { action, path, source }) if is_refusal(source) => Some(explain(action, path, source)),
        // The engine reports a refusal in words only; which of its files refuses shows when each one is tried.
        Some(StorageError::EngineIo { .. }) => inaccessible_part(&data.join("records")),
        _ => None,
    };
    found.map_or(error, anyhow::Error::msg)
}

/// Makes the data directory; only its owner can look inside.
fn create_private(path: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    if !path.exists() {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(|error| {
            anyhow::anyhow!("{} (--data takes another one)", explain("create the data directory", path, &error))
        })?;
    }
    let found = std::fs::metadata(path).map_err(explained("read the data directory", path))?;
    anyhow::ensure!(found.is_dir(), "the data directory {} is a file: --data takes another path", path.display());
    let mode = found.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    if let Err(error) = std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode & 0o700)) {
        anyhow::bail!(
            "others can read the data directory {} and its mode cannot be changed ({error}): its owner must run chmod 700 on it",
            path.display()
        );
    }
    tracing::warn!(data = %path.display(), "others could read the data directory: its mode is 700 now");
    Ok(())
}
