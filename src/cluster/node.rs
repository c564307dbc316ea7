//! This process as a node: its session, its claims, and what it knows of other nodes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use cuebase_storage::error::DiskTrouble;
use cuebase_storage::records::ownership::{NodeId, NodeSession, NodeWatch, PreparedClaim};
use cuebase_storage::{MessageId, NamespaceId, NamespaceKey, Store};
use parking_lot::{Mutex, MutexGuard, RwLock};

use super::cache_lock::CacheLock;
use super::live_node::LiveNode;
use super::owner_cache::OwnerCache;
use super::pass::PassKey;
use super::rebalance::{RELEASES_MAX, surplus};
use super::shares::Shares;
use crate::accounts::Accounts;
use crate::error::{Error, Result};
use crate::metrics::Metrics;
use crate::namespace::backlog::{Backlog, Need};
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
    /// The accounts, whose cache of authorized callers follows the revocations of other nodes.
    pub accounts: Arc<Accounts>,
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

    /// The addresses of the other nodes with a session, read for the call. Fails while the record of one cannot be decoded,
    /// because the caller needs the answers of all.
    pub(super) fn read_peer_addresses(&self) -> Result<Vec<String>> {
        let own = self.session_id();
        let mut addresses = Vec::new();
        for (id, record) in self.parts.store.sessions()? {
            if own == Some(id) {
                continue;
            }
            let Some(record) = record else { return Err(unknown_address(id)) };
            if record.address != self.address {
                addresses.push(record.address);
            }
        }
        Ok(addresses)
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
            return Err(self.without_session(namespace.id));
        }
        self.close_former(namespace)?;
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
        if self.parts.namespaces.is_open(namespace.id) {
            // The session in which it was opened has ended since the beginning of this function.
            return Err(no_session());
        }
        if let Some(successor) = self.successor(namespace.id) {
            return Err(Error::Elsewhere { address: self.owner_or(namespace.id, successor)? });
        }
        let claim = match store.prepare_claim(session.id(), namespace) {
            Ok(PreparedClaim::Held(claim)) => claim,
            Ok(PreparedClaim::Gone) => return Err(Error::NamespaceGone),
            Ok(PreparedClaim::OwnedBy(_, owner)) => {
                self.owners.put(namespace.id, owner.address.clone(), Instant::now());
                return Err(Error::Elsewhere { address: owner.address });
            }
            Err(error) => return Err(owner_error(namespace.id, error)),
        };
        // Nobody writes to the namespace now.
        if let Some(newest) = store.newest_id_of(namespace.id)? {
            self.parts.ids.raise(newest);
        }
        let queued = store.queued_entries(namespace)?;
        let record = store.namespace(&namespace.account, &namespace.name)?;
        // Nothing fails from here on, so no path stays pending in a namespace that this node does not own.
        for entry in &queued.entries {
            self.parts.pending.add(entry);
        }
        if record.is_some_and(|record| record.id == namespace.id && record.waiting > 0) {
            self.parts.backlog.add(namespace, Need::Missing);
        }
        // A request that accepts a write waits for this lock, so its write comes after those of the former owner.
        let order = self.parts.ids.hold(namespace.id);
        store.begin_writes(claim);
        for entry in &queued.entries {
            self.parts.queue.add(entry);
        }
        drop(order);
        self.parts.metrics.record_claim();
        let number = queued.entries.len();
        tracing::debug!(account = %namespace.account, namespace = %namespace.name, queued = number, "claimed");
        self.set_aside(namespace, &queued.unreadable);
        Ok(())
    }

    /// Closes a namespace that was opened under a claim of a former session. Called without a lock, because an opening can
    /// take minutes. If another node has the namespace by now, fails with its address instead of waiting.
    fn close_former(&self, namespace: &NamespaceKey) -> Result<()> {
        let NodeParts { store, namespaces, .. } = &self.parts;
        if store.require_owned(namespace).is_ok() || !namespaces.is_open(namespace.id) {
            return Ok(());
        }
        let owner = store.owner(namespace.id).map_err(|error| owner_error(namespace.id, error))?;
        if let Some((_, owner)) = owner
            && owner.address != self.address
        {
            return Err(Error::Elsewhere { address: owner.address });
        }
        namespaces.close_unowned(namespace);
        Ok(())
    }

    /// Sets entries of the queue aside that cannot be decoded. Those of an owned namespace are shown with the dead letters
    /// then.
    fn set_aside(&self, namespace: &NamespaceKey, unreadable: &[MessageId]) {
        for id in unreadable {
            tracing::error!(%id, "cannot decode a queue entry; `cuebase dead-letters list` shows it");
            if let Err(error) = self.parts.store.set_entry_aside(namespace, *id) {
                // The next claim tries again.
                tracing::warn!(%id, %error, "the queue entry could not be set aside");
            }
        }
    }

    /// Returns the address of the node that owns a namespace; `successor` if nobody does.
    fn owner_or(&self, namespace: NamespaceId, successor: String) -> Result<String> {
        let owner = self.parts.store.owner(namespace).map_err(|error| owner_error(namespace, error))?;
        let Some((_, owner)) = owner else { return Ok(successor) };
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
                self.close_given_up();
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

    /// Gives up all namespaces. Nothing that was read or queued before is used afterwards. Does not wait for openings and
    /// writes in progress, so that the next session begins soon: they fail at their end.
    fn give_up(&self) {
        *self.session.lock() = None;
        let _no_claims = self.claims.write();
        self.parts.store.forget_claims();
        self.parts.queue.clear();
        self.parts.pending.clear();
        self.parts.backlog.clear();
        self.parts.namespaces.end_all_writes();
        self.owners.clear();
    }

    /// Closes the namespaces that were given up on a thread of its own, because openings and writes in progress have to
    /// end first. A claim waits for those of its namespace.
    fn close_given_up(&self) {
        let namespaces = Arc::clone(&self.parts.namespaces);
        let thread = std::thread::Builder::new().name("close-namespaces".into());
        if let Err(error) = thread.spawn(move || namespaces.close_all_unowned()) {
            tracing::warn!(%error, "namespaces of other nodes stay open until they are claimed again");
        }
    }

    /// Reads which nodes there are, and declares those dead that did not renew their session. Returns whether a node has
    /// ended since the last observation. Also follows the revocations of other nodes.
    pub(super) fn observe(&self) -> Result<bool> {
        self.parts.accounts.follow_revocations()?;
        let store = &self.parts.store;
        let rows = store.node_rows()?;
        let ended = self.watch.lock().observe(store, rows, Instant::now())?;
        let sessions = store.sessions()?;
        self.shares.observe(sessions.len(), Instant::now());
        let mut live = Vec::new();
        for (id, record) in sessions {
            if let Some(record) = record {
                live.push(LiveNode { id, address: record.address, version: record.version });
            }
        }
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
        for entry in self.parts.store.queued_entries(namespace)?.entries {
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
        self.parts.namespaces.close_all_unowned();
        if let Err(error) = session.end() {
            tracing::warn!(%error, "the session could not be ended; other nodes wait until it expires");
        }
    }
}

fn no_session() -> Error {
    let reason = "this node has no session: the database cannot be reached".to_owned();
    Error::Disk { trouble: DiskTrouble::Unreachable, reason }
}

/// The error for a namespace whose owner was not read. One that cannot be decoded makes the namespace unavailable: the
/// owner may still read it, so no other node may claim it.
fn owner_error(namespace: NamespaceId, error: cuebase_storage::Error) -> Error {
    match error {
        cuebase_storage::Error::Corrupt { .. } => {
            Error::DamagedNamespace(format!("the owner record of the namespace {namespace} is unreadable: {error}"))
        }
        error => error.into(),
    }
}

/// The error while the record of a node cannot be decoded. The node replaces it, or is declared dead.
fn unknown_address(node: NodeId) -> Error {
    let reason = format!("the record of the node {node} cannot be decoded");
    Error::Disk { trouble: DiskTrouble::Unreachable, reason }
}

#[cfg(test)]
mod tests;
