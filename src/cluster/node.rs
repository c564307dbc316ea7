//! This process as a node: its session, its claims, and what it knows of other nodes.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use cuebase_storage::error::DiskTrouble;
use cuebase_storage::records::ownership::{NodeId, NodeSession, NodeWatch, PreparedClaim};
use cuebase_storage::{MessageId, NamespaceId, NamespaceKey, Store};
use parking_lot::{Mutex, RwLock};
use ulid::Ulid;

use super::cache_lock::CacheLock;
use super::live_node::LiveNode;
use super::owner_cache::OwnerCache;
use super::pass::PassKey;
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

    pub(super) fn forget_owner(&self, namespace: NamespaceId) {
        self.owners.remove(namespace);
    }

    /// Claims a namespace, unless this node owns it already or another node does.
    pub(super) fn hold(&self, namespace: &NamespaceKey) -> Result<()> {
        if self.session().is_none() {
            // The session has ended, and the lock below is held until everything is given up.
            return Err(no_session());
        }
        let _no_end_of_session = self.claims.read();
        let Some(session) = self.session() else { return Err(no_session()) };
        let store = &self.parts.store;
        if store.require_owned(namespace).is_ok() {
            return if session.may_read(Instant::now()) { Ok(()) } else { Err(no_session()) };
        }
        if let Some(address) = self.owners.get(namespace.id, Instant::now()) {
            return Err(Error::Elsewhere { address });
        }
        // The last byte of an id is random.
        let lock = usize::from(namespace.id.to_bytes()[15]) % CLAIM_LOCKS;
        let _claiming = self.claiming[lock].lock();
        if !session.may_read(Instant::now()) {
            // Others waited for the database before.
            return Err(no_session());
        }
        if store.require_owned(namespace).is_ok() {
            return Ok(());
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
        for entry in &entries {
            self.parts.pending.add(entry);
        }
        let record = store.namespace(&namespace.account, &namespace.name)?;
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
        *self.live.lock() = live;
        if !ended.is_empty() {
            tracing::info!(nodes = ended.len(), "nodes have ended; their namespaces can be claimed");
            self.owners.clear();
        }
        Ok(!ended.is_empty())
    }

    /// Claims the namespaces that have queued writes and no owner, and reads writes of owned namespaces whose acceptance
    /// was lost on the way.
    pub(super) fn take_queued(&self) -> Result<()> {
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
        let _order = self.parts.ids.hold(namespace.id);
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

    /// Gives up all namespaces in the records too, and ends the session.
    pub(super) fn leave(&self) {
        let Some(session) = self.session() else { return };
        let owned = self.parts.store.owned_namespaces();
        self.parts.namespaces.release_all();
        for namespace in owned {
            if let Err(error) = self.parts.store.release(namespace) {
                // Others claim it when the session has ended.
                tracing::warn!(%error, "a namespace could not be released");
                break;
            }
        }
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
