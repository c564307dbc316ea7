//! This process as a node: its session, its claims, and what it knows of other nodes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use cuebase_storage::error::DiskTrouble;
use cuebase_storage::records::ownership::{NodeId, NodeSession, NodeWatch, PreparedClaim};
use cuebase_storage::{MessageId, NamespaceId, NamespaceKey, Store};
use parking_lot::{Mutex, MutexGuard, RwLock};
use ulid::Ulid;

use super::cache_lock::CacheLock;
use super::live_node::LiveNode;
use super::owner_cache::OwnerCache;
use super::pass::PassKey;
use super::rebalance::{RELEASES_MAX, surplus};
use super::shares::Shares;
use crate::error::{Error, Result};
use crate::metrics::Metrics;
use crate::namespace::backlog::Backlog;
use crate::namespace::ids::Ids;
use crate::namespace::pending::PendingPaths;
use crate::namespace::registry::Namespaces;
use crate::namespace::snapshot_state::UploadReason;
use crate::queue::dispatch::Queue;

/// Time for the last snapshots of indexes before this process gives its namespaces up. What is not stored by then is
/// computed again by the next owner.
const LAST_UPLOADS_MAX: Duration = Duration::from_secs(10);
/// Locks of claims. Claims of namespaces that share one wait for each other.
const CLAIM_LOCKS: usize = 64;

/// Longest time for claiming namespaces with queued writes before other nodes are observed again.
const TAKING_MAX: Duration = Duration::from_secs(1);

/// What a node fills at a claim and empties when its session ends.
pub struct NodeParts {
    /// The shared records.
    pub store: Arc<Store>,
    /// The open namespaces.
    pub namespaces: Arc<Namespaces>,
    /// The order of the accepted writes of the namespaces that the node owns.
    pub queue: Arc<Queue>,
    /// The paths of these writes.
    pub pending: Arc<PendingPaths>,
    /// The owned namespaces that need vectors.
    pub backlog: Arc<Backlog>,
    /// The source of ids.
    pub ids: Arc<Ids>,
    /// Counts claims and lost sessions.
    pub metrics: Arc<Metrics>,
    /// The lock of the data directory with the copies.
    pub cache_lock: CacheLock,
}

/// This process among others that share its storage.
pub(super) struct Node {
    parts: NodeParts,
    address: String,
    pass_key: PassKey,
    /// `None` between the end of a session and the beginning of the next.
    session: Mutex<Option<Arc<NodeSession>>>,
    /// Read by a claim, so that the end of the session waits for claims in progress.
    claims: RwLock<()>,
    /// One of these is held over the claim of a namespace.
    claiming: Vec<Mutex<()>>,
    owners: OwnerCache,
    watch: Mutex<NodeWatch>,
    /// The nodes with a session at the last observation, by id.
    live: Mutex<Vec<LiveNode>>,
    /// This node's part of the limits of all nodes.
    shares: Shares,
    /// Whether this node is about to leave: other nodes claim what it does not own.
    is_draining: AtomicBool,
}

impl Node {
    /// Begins a session.
    pub(super) fn join(parts: NodeParts, address: String) -> anyhow::Result<Self> {
        let mut claiming = Vec::new();
        claiming.resize_with(CLAIM_LOCKS, Mutex::default);
        let node = Self {
            pass_key: PassKey::open(&parts.store)?,
            parts,
            address,
            session: Mutex::new(None),
            claims: RwLock::new(()),
            claiming,
            owners: OwnerCache::default(),
            watch: Mutex::new(NodeWatch::new()),
            live: Mutex::new(Vec::new()),
            shares: Shares::new(),
            is_draining: AtomicBool::new(false),
        };
        node.begin_session()?;
        node.observe()?;
        Ok(node)
    }

    /// The current session.
    pub(super) fn session(&self) -> Option<Arc<NodeSession>> {
        self.session.lock().clone()
    }

    /// The key that signs the requests between nodes.
    pub(super) fn pass_key(&self) -> &PassKey {
        &self.pass_key
    }

    /// The address at which other nodes reach this one.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// The id of the current session's node.
    pub(super) fn session_id(&self) -> Option<NodeId> {
        self.session.lock().as_ref().map(|session| session.id())
    }

    /// The nodes with a session at the last observation.
    pub(super) fn live_nodes(&self) -> Vec<LiveNode> {
        self.live.lock().clone()
    }

    /// This node's part of the limits of all nodes.
    pub(super) fn shares(&self) -> &Shares {
        &self.shares
    }

    pub(super) fn forget_owner(&self, namespace: NamespaceId) {
        self.owners.remove(namespace);
    }

    /// Makes this node claim nothing from now on, while there is another node. What it owns stays in use.
    pub(super) fn begin_drain(&self) {
        self.is_draining.store(true, Ordering::SeqCst);
        // Waits for claims in progress.
        drop(self.claims.write());
    }

    /// Whether this node is about to leave.
    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::SeqCst)
    }

    /// The lock over claims and releases of a namespace.
    fn lock_claims_of(&self, namespace: NamespaceId) -> MutexGuard<'_, ()> {
        // The last byte of an id is random.
        let lock = usize::from(namespace.to_bytes()[15]) % CLAIM_LOCKS;
        self.claiming[lock].lock()
    }

    /// Returns the address of the node that claims a namespace in place of this one, because this one is about to leave.
    /// `None` if this node claims it itself.
    fn successor(&self, namespace: NamespaceId) -> Option<String> {
        if !self.is_draining() {
            return None;
        }
        let live = self.live.lock();
        // Not compared by ids: this node may have no session any more.
        let peers: Vec<&LiveNode> = live.iter().filter(|live| live.address != self.address).collect();
        let chosen = usize::from(namespace.to_bytes()[15]).checked_rem(peers.len())?;
        Some(peers.get(chosen)?.address.clone())
    }

    /// The error for a namespace while this node has no session: another node has it, if this one leaves.
    fn without_session(&self, namespace: NamespaceId) -> Error {
        match self.successor(namespace) {
            Some(address) => Error::Elsewhere { address },
            None => no_session(),
        }
    }

    /// Claims a namespace, unless this node owns it already or another node does.
    pub(super) fn hold(&self, namespace: &NamespaceKey) -> Result<()> {
        if self.session().is_none() {
            // The session has ended, and the lock below is held until everything is given up.
            return Err(self.without_session(namespace.id));
        }
        let _no_end_of_session = self.claims.read();
        let Some(session) = self.session() else { return Err(self.without_session(namespace.id)) };
        let store = &self.parts.store;
        if store.require_owned(namespace).is_ok() {
            return if session.may_read(Instant::now()) { Ok(()) } else { Err(no_session()) };
        }
        if let Some(address) = self.owners.get(namespace.id, Instant::now()) {
            return Err(Error::Elsewhere { address });
        }
        let _claiming = self.lock_claims_of(namespace.id);
        if !session.may_read(Instant::now()) {
            // Others waited for the database before.
            return Err(no_session());
        }
        if store.require_owned(namespace).is_ok() {
            return Ok(());
        }
        if let Some(address) = self.owners.get(namespace.id, Instant::now()) {
            // Another caller that waited has just read it.
            return Err(Error::Elsewhere { address });
        }
        if let Some(successor) = self.successor(namespace.id) {
            return Err(Error::Elsewhere { address: self.owner_or(namespace.id, successor)? });
        }
        let claim = match store.prepare_claim(session.id(), namespace)? {
            PreparedClaim::Held(claim) => claim,
            PreparedClaim::Gone => return Err(Error::NamespaceGone),
            PreparedClaim::OwnedBy(_, owner) => {
                self.owners.put(namespace.id, owner.address.clone(), Instant::now());
                return Err(Error::Elsewhere { address: owner.address });
            }
        };
        // Nobody writes to the namespace now.
        if let Some(newest) = store.newest_id_of(namespace.id)? {
            self.parts.ids.raise(newest);
        }
        let entries = store.queue_entries_after(namespace, MessageId::from(Ulid::nil()))?;
        let record = store.namespace(&namespace.account, &namespace.name)?;
        // Nothing fails from here on, so no path stays pending in a namespace that this node does not own.
        for entry in &entries {
            self.parts.pending.add(entry);
        }
        if record.is_some_and(|record| record.id == namespace.id && record.waiting > 0) {
            self.parts.backlog.add(namespace);
        }
        // A request that accepts a write waits for this lock, so its write comes after those of the former owner.
        let _order = self.parts.ids.hold(namespace.id);
        store.begin_writes(claim);
        for entry in &entries {
            self.parts.queue.add(entry);
        }
        self.parts.metrics.record_claim();
        tracing::debug!(account = %namespace.account, namespace = %namespace.name, queued = entries.len(), "claimed");
        Ok(())
    }

    /// Returns the address of the node that owns a namespace; `successor` if nobody does.
    fn owner_or(&self, namespace: NamespaceId, successor: String) -> Result<String> {
        let Some((_, owner)) = self.parts.store.owner(namespace)? else { return Ok(successor) };
        self.owners.put(namespace, owner.address.clone(), Instant::now());
        Ok(owner.address)
    }

    /// Renews the session, or begins the first one. Gives up everything if the session has ended.
    pub(super) fn keep_session(&self) -> Result<()> {
        let Some(session) = self.session() else { return self.begin_session() };
        match session.renew(Instant::now()) {
            Ok(()) => Ok(()),
            Err(cuebase_storage::Error::SessionEnded) => {
                tracing::warn!(node = %session.id(), "other nodes saw no renewal of this node; it joins again");
                self.parts.metrics.record_lost_session();
                self.give_up();
                self.begin_session()
            }
            Err(error) => Err(error.into()),
        }
    }

    fn begin_session(&self) -> Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        let session = NodeSession::begin(&self.parts.store, &self.address, version, Instant::now())?;
        tracing::info!(node = %session.id(), address = self.address, "joined the nodes that share the database");
        *self.session.lock() = Some(Arc::new(session));
        Ok(())
    }

    /// Gives up all namespaces. Nothing that was read or queued before is used afterwards.
    fn give_up(&self) {
        *self.session.lock() = None;
        let _no_claims = self.claims.write();
        self.parts.store.forget_claims();
        self.parts.queue.clear();
        self.parts.pending.clear();
        self.parts.backlog.clear();
        self.parts.namespaces.release_all();
        self.owners.clear();
    }

    /// Reads which nodes there are, and declares those dead that did not renew their session. Returns whether a node has
    /// ended since the last observation.
    pub(super) fn observe(&self) -> Result<bool> {
        let store = &self.parts.store;
        let rows = store.node_rows()?;
        let ended = self.watch.lock().observe(store, rows, Instant::now())?;
        let mut live = Vec::new();
        for (id, record) in store.nodes()? {
            live.push(LiveNode { id, address: record.address, version: record.version });
        }
        self.shares.observe(live.len(), Instant::now());
        *self.live.lock() = live;
        let queue = &self.parts.queue;
        queue.limit_workers(self.shares.of(queue.workers()));
        if !ended.is_empty() {
            tracing::info!(nodes = ended.len(), "nodes have ended; their namespaces can be claimed");
            self.owners.clear();
        }
        Ok(!ended.is_empty())
    }

    /// Claims the namespaces that have queued writes and no owner, and reads writes of owned namespaces whose acceptance
    /// was lost on the way.
    pub(super) fn take_queued(&self) -> Result<()> {
        if self.is_draining() {
            return Ok(());
        }
        let began = Instant::now();
        let mut result = Ok(());
        for queued in self.parts.store.queued_namespaces()? {
            let taken = match self.parts.store.require_owned(&queued.namespace) {
                Ok(()) => self.complete_queue(&queued.namespace, queued.oldest),
                Err(_) => self.hold(&queued.namespace),
            };
            match taken {
                Ok(()) | Err(Error::Elsewhere { .. } | Error::NamespaceGone) => {}
                // The others are tried too.
                Err(error) => result = Err(error),
            }
            if began.elapsed() > TAKING_MAX {
                // Other nodes are observed in between.
                break;
            }
        }
        result
    }

    /// Adds the queued writes of an owned namespace that the queue in memory lacks: those whose batch was written
    /// although the answer of the database was lost.
    fn complete_queue(&self, namespace: &NamespaceKey, oldest: MessageId) -> Result<()> {
        if self.parts.queue.messages_of(namespace.id).contains(&oldest) {
            return Ok(());
        }
        // The end of the session empties the queue, so nothing is added after it.
        let _no_end_of_session = self.claims.read();
        let _order = self.parts.ids.hold(namespace.id);
        if self.parts.store.require_owned(namespace).is_err() {
            // Released in the meantime.
            return Ok(());
        }
        for entry in self.parts.store.queue_entries_after(namespace, MessageId::from(Ulid::nil()))? {
            if !self.parts.queue.messages_of(namespace.id).contains(&entry.id) {
                self.parts.pending.add(&entry);
                self.parts.queue.add(&entry);
            }
        }
        Ok(())
    }

    /// Stores the last snapshots of the indexes of owned namespaces, for a bounded time. The session must be renewed
    /// meanwhile, because an owner records them.
    pub(super) fn upload_last_snapshots(&self) {
        if self.session().is_none() {
            return;
        }
        let namespaces = Arc::clone(&self.parts.namespaces);
        let (finished, wait) = mpsc::channel();
        let thread = std::thread::Builder::new().name("last-snapshots".into());
        // Not joined: an upload that takes longer ends without effect, as its namespace is released.
        let started = thread.spawn(move || {
            // Failures are logged.
            let _ = namespaces.upload_snapshots(UploadReason::Release);
            let _ = finished.send(());
        });
        if let Err(error) = started {
            tracing::warn!(%error, "the last index snapshots could not be stored");
        } else if wait.recv_timeout(LAST_UPLOADS_MAX).is_err() {
            tracing::info!("not all index snapshots could be stored in time; the next owners compute what is missing");
        }
    }

    /// Gives up namespaces that were not used since the last call, if this node owns more than its share of all. Returns
    /// how many.
    pub(super) fn rebalance(&self) -> Result<usize> {
        let store = &self.parts.store;
        // Read in any case, because it begins the time in which uses are noted for the next call.
        let unused = store.unused_namespaces();
        let live = self.live_nodes();
        if live.len() < 2 || unused.is_empty() {
            return Ok(0);
        }
        let mut owned_by_all = 0;
        for (node, owned) in store.owner_counts()? {
            if live.iter().any(|live| live.id == node) {
                owned_by_all += owned;
            }
        }
        let surplus = surplus(store.owned_namespaces().len(), owned_by_all, live.len());
        let mut released = 0;
        for namespace in unused {
            if released == surplus.min(RELEASES_MAX) {
                break;
            }
            if self.release_namespace(namespace)? {
                released += 1;
            }
        }
        if released > 0 {
            tracing::info!(released, "unused namespaces were released, because this node owned more than its share");
        }
        Ok(released)
    }

    /// Gives up a namespace, so that any node can claim it. Returns false and keeps it if it is in use: it has queued
    /// writes, needs vectors, or is leased.
    pub(super) fn release_namespace(&self, namespace: NamespaceId) -> Result<bool> {
        let _no_end_of_session = self.claims.read();
        // This node claims it again only after it is closed here.
        let _claiming = self.lock_claims_of(namespace);
        let parts = &self.parts;
        let released = {
            // A write is added to the queue under this lock, directly after its batch. So each write that was accepted
            // is in the queue now, or its batch fails.
            let _order = parts.ids.hold(namespace);
            let is_queued = !parts.queue.messages_of(namespace).is_empty();
            if is_queued || parts.backlog.contains(namespace) || parts.namespaces.is_leased(namespace) {
                return Ok(false);
            }
            parts.store.release(namespace)
        };
        // Also if the record could not be written: this process writes nothing more under its claim.
        parts.namespaces.release(namespace);
        parts.pending.remove_namespace(namespace);
        released?;
        Ok(true)
    }

    /// Gives up a namespace, also if it is in use. Requests that have leased it end their reads and the write in progress.
    /// Later writes fail, and are sent to the next owner. Queued writes stay in the records, where the next owner reads
    /// them.
    fn hand_over(&self, namespace: NamespaceId) -> Result<()> {
        let _no_end_of_session = self.claims.read();
        let _claiming = self.lock_claims_of(namespace);
        let parts = &self.parts;
        // A write in progress ends under the claim: without it, the client would learn nothing of a write that is in the
        // history. The ids must not be held meanwhile, because the write may need one.
        parts.namespaces.release(namespace);
        let released = {
            let _order = parts.ids.hold(namespace);
            let released = parts.store.release(namespace);
            parts.queue.give_up_namespace(namespace);
            parts.pending.remove_namespace(namespace);
            parts.backlog.remove_namespace(namespace);
            released
        };
        // A request may have opened it again.
        parts.namespaces.release(namespace);
        Ok(released?)
    }

    /// Gives up all namespaces one after another. The session continues, so that those that are still owned are in use
    /// meanwhile.
    pub(super) fn hand_over_all(&self) {
        self.begin_drain();
        for namespace in self.parts.store.owned_namespaces() {
            if let Err(error) = self.hand_over(namespace) {
                // Others claim it when the session has ended.
                tracing::warn!(%error, "a namespace could not be released");
                break;
            }
        }
    }

    /// Gives up all namespaces in the records too, and ends the session.
    pub(super) fn leave(&self) {
        let Some(session) = self.session() else { return };
        self.hand_over_all();
        self.give_up();
        if let Err(error) = session.end() {
            tracing::warn!(%error, "the session could not be ended; other nodes wait until it expires");
        }
    }
}

fn no_session() -> Error {
    let reason = "this node has no session: the database cannot be reached".to_owned();
    Error::Disk { trouble: DiskTrouble::Unreachable, reason }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cuebase_storage::bucket::Bucket;
    use cuebase_storage::key_value::{Engine, MemoryEngine};
    use cuebase_storage::records::{Dedup, NamespaceRecord, QueueEntry, QueuedWork};
    use cuebase_storage::{AccountId, NamespaceName};
    use tempfile::TempDir;

    use super::*;
    use crate::clock::Clock;
    use crate::config::Config;
    use crate::metrics::Metrics;
    use crate::model::Models;
    use crate::namespace::context::NamespaceContext;
    use crate::namespace::disk_reserve::DiskReserve;
    use crate::namespace::repository_home::RepositoryHome;
    use crate::namespace::retention::SourceRetention;

    /// The data that nodes share.
    struct SharedData {
        engine: Arc<dyn Engine>,
        bucket: Arc<Bucket>,
    }

    /// A node with its cache.
    struct TestNode {
        node: Node,
        /// Removed after the node.
        _cache: TempDir,
    }

    impl std::ops::Deref for TestNode {
        type Target = Node;

        fn deref(&self) -> &Node {
            &self.node
        }
    }

    impl SharedData {
        fn new() -> Self {
            let bucket = Arc::new(Bucket::in_memory().expect("a bucket"));
            Self { engine: Arc::new(MemoryEngine::new()), bucket }
        }

        fn join(&self, address: &str) -> TestNode {
            let cache = tempfile::tempdir().expect("temporary directory");
            let mut config = Config::resolve(&BTreeMap::new(), |_| None, None).expect("resolves");
            config.data = cache.path().to_path_buf();
            let clock = Clock::system();
            let store = Arc::new(Store::open_shared(Arc::clone(&self.engine)).expect("opens"));
            let ids = Arc::new(Ids::after(None, clock.clone()));
            let pending = Arc::new(PendingPaths::default());
            let backlog = Arc::new(Backlog::default());
            let metrics = Arc::new(Metrics::of_node(clock.clone()));
            let context = NamespaceContext {
                store: Arc::clone(&store),
                models: Arc::new(Models::open(&config.model, &store).expect("opens")),
                backlog: Arc::clone(&backlog),
                metrics: Arc::clone(&metrics),
                ids: Arc::clone(&ids),
                pending: Arc::clone(&pending),
                repositories: RepositoryHome::Records(Arc::clone(&self.bucket)),
                sources: SourceRetention::of_setting(config.ingestion.keep_sources),
                clock: clock.clone(),
            };
            let reserve = Arc::new(DiskReserve::of(&config.data));
            let parts = NodeParts {
                store,
                namespaces: Arc::new(Namespaces::new(&config, context, reserve)),
                queue: Arc::new(Queue::new(4, &clock)),
                pending,
                backlog,
                ids,
                cache_lock: CacheLock::take(cache.path()).expect("locks"),
                metrics,
            };
            TestNode { node: Node::join(parts, address.to_owned()).expect("joins"), _cache: cache }
        }
    }

    impl TestNode {
        /// Creates a namespace.
        fn create(&self, number: u128) -> NamespaceKey {
            let name = NamespaceName::new(&format!("n{number}")).expect("a name");
            let id = NamespaceId::new(Ulid::from(number));
            let record = NamespaceRecord::new(&AccountId::default(), &name, id, 0);
            self.parts.store.create_namespace(&record).expect("creates").0.key()
        }

        /// Creates namespaces and claims them.
        fn own(&self, numbers: std::ops::RangeInclusive<u128>) -> Vec<NamespaceKey> {
            let mut owned = Vec::new();
            for number in numbers {
                let namespace = self.create(number);
                self.hold(&namespace).expect("claims");
                owned.push(namespace);
            }
            owned
        }

        /// Accepts a write, as a request does.
        fn accept(&self, namespace: &NamespaceKey) -> MessageId {
            let mut ids = self.parts.ids.hold(namespace.id);
            let entry = QueueEntry {
                id: ids.next(1_000).into(),
                account: namespace.account.clone(),
                namespace: namespace.name.clone(),
                namespace_id: namespace.id,
                accepted_at_ms: 1_000,
                accepted_running_ms: 0,
                failures: 0,
                fingerprint: None,
                sender: None,
                work: QueuedWork::Forget { paths: vec!["facts/a.md".into()] },
            };
            let mut batch = self.parts.store.batch();
            batch.enqueue(&entry, Dedup::Off, &[]).expect("encodes");
            self.parts.store.commit(batch).expect("is the owner");
            self.parts.pending.add(&entry);
            self.parts.queue.add(&entry);
            entry.id
        }

        /// Does what the threads of a node do.
        fn renew_and_observe(&self) {
            self.keep_session().expect("renews");
            self.observe().expect("observes");
        }

        /// Whether the node owns a namespace. This counts as a use.
        fn owns(&self, namespace: &NamespaceKey) -> bool {
            self.parts.store.require_owned(namespace).is_ok()
        }
    }

    fn is_elsewhere(held: &Result<()>, expected: &str) -> bool {
        matches!(held, Err(Error::Elsewhere { address }) if address == expected)
    }

    #[test]
    fn a_released_namespace_moves_to_the_node_that_asks_next() {
        let data = SharedData::new();
        let (first, second) = (data.join("first:1"), data.join("second:1"));
        let namespace = first.own(1..=1).remove(0);
        drop(first.parts.namespaces.lease_key(&namespace).expect("opens"));
        assert!(is_elsewhere(&second.hold(&namespace), "first:1"));
        assert!(first.release_namespace(namespace.id).expect("releases"));
        assert_eq!(first.parts.namespaces.open_count(), 0);
        assert!(matches!(first.parts.namespaces.lease_key(&namespace), Err(Error::NotOwner(_))));
        second.forget_owner(namespace.id);
        second.hold(&namespace).expect("claims");
        assert!(is_elsewhere(&first.hold(&namespace), "second:1"));
    }

    #[test]
    fn a_namespace_in_use_is_kept() {
        let data = SharedData::new();
        let node = data.join("first:1");
        let owned = node.own(1..=3);
        let lease = node.parts.namespaces.lease_key(&owned[0]).expect("opens");
        node.accept(&owned[1]);
        node.parts.backlog.add(&owned[2]);
        for namespace in &owned {
            assert!(!node.release_namespace(namespace.id).expect("reads"));
            assert!(node.owns(namespace));
        }
        drop(lease);
        assert!(node.release_namespace(owned[0].id).expect("releases"));
        assert!(!node.owns(&owned[0]));
    }

    #[test]
    fn queued_writes_of_a_namespace_that_is_handed_over_are_read_by_the_next_owner() {
        let data = SharedData::new();
        let (first, second) = (data.join("first:1"), data.join("second:1"));
        let namespace = first.own(1..=1).remove(0);
        let message = first.accept(&namespace);
        let assigned = first.parts.queue.next().expect("work");
        first.hand_over_all();
        assert!(first.parts.queue.messages_of(namespace.id).is_empty());
        assert!(!first.parts.pending.contains(namespace.id, "facts/a.md"));
        // The worker meets the loss of the namespace, and would try again.
        first.parts.queue.retry(&assigned, std::time::Duration::ZERO);
        assert_eq!(first.parts.queue.levels().waiting, 0);
        second.take_queued().expect("claims");
        assert!(second.parts.queue.messages_of(namespace.id).contains(&message));
        assert!(second.parts.pending.contains(namespace.id, "facts/a.md"));
    }

    #[test]
    fn a_node_gives_up_unused_namespaces_above_its_share() {
        let data = SharedData::new();
        let first = data.join("first:1");
        let owned = first.own(1..=20);
        assert_eq!(first.rebalance().expect("counts"), 0, "it is the only node");
        let second = data.join("second:1");
        first.renew_and_observe();
        for namespace in &owned[..10] {
            assert!(first.owns(namespace));
        }
        // Of 20 namespaces, 13 are within the margin of two nodes.
        assert_eq!(first.rebalance().expect("counts"), 7);
        assert!(owned[..10].iter().all(|namespace| first.owns(namespace)), "they were used");
        assert_eq!(second.rebalance().expect("counts"), 0, "it owns nothing");
    }

    #[test]
    fn few_namespaces_are_given_up_at_once() {
        let data = SharedData::new();
        let first = data.join("first:1");
        first.own(1..=40);
        first.rebalance().expect("counts");
        let _second = data.join("second:1");
        first.renew_and_observe();
        assert_eq!(first.rebalance().expect("counts"), RELEASES_MAX);
    }

    #[test]
    fn a_node_that_drains_keeps_what_it_owns_and_claims_nothing() {
        let data = SharedData::new();
        let first = data.join("first:1");
        let owned = first.own(1..=1).remove(0);
        first.begin_drain();
        let alone = first.create(2);
        first.hold(&alone).expect("claims, because nobody else can");
        let second = data.join("second:1");
        first.renew_and_observe();
        let free = first.create(3);
        first.keep_session().expect("renews");
        first.hold(&owned).expect("owns");
        assert!(is_elsewhere(&first.hold(&free), "second:1"));
        second.hold(&free).expect("claims");
        first.hand_over_all();
        assert!(is_elsewhere(&first.hold(&owned), "second:1"));
        second.hold(&owned).expect("claims");
        first.leave();
        assert!(is_elsewhere(&first.hold(&alone), "second:1"), "it has no session any more");
    }

    #[test]
    fn workers_are_divided_by_the_nodes() {
        let data = SharedData::new();
        let first = data.join("first:1");
        assert_eq!(first.shares().of(first.parts.queue.workers()), 4);
        let _second = data.join("second:1");
        first.renew_and_observe();
        assert_eq!(first.shares().of(first.parts.queue.workers()), 2);
    }
}
