//! What the rest of the service asks: whether this process owns a namespace, and who else there is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebase_storage::NamespaceKey;
use cuebase_storage::error::DiskTrouble;
use cuebase_storage::records::ownership::{FENCED, NodeId};

use super::keeper::Keeper;
use super::live_node::LiveNode;
use super::node::{Node, NodeParts};
use super::pass::PassKey;
use crate::error::{Error, Result};

/// The ownership of namespaces by this process.
pub struct Ownership {
    mode: Mode,
}

enum Mode {
    /// The process is the only one with its data.
    Alone,
    /// The process shares its data with other nodes.
    Shared { node: Arc<Node>, keeper: Keeper },
}

/// The session in which a read began. `None` in a process that is alone.
#[derive(Clone, Copy, Debug)]
pub struct Reading(Option<NodeId>);

impl Ownership {
    /// The ownership of a process that is the only one with its data.
    pub fn alone() -> Self {
        Self { mode: Mode::Alone }
    }

    /// Begins the session of a node, and the threads that keep it. `address` is where other nodes reach it.
    ///
    /// # Errors
    ///
    /// If the database cannot be reached, or a thread cannot be started.
    pub fn join(parts: NodeParts, address: String) -> anyhow::Result<Self> {
        if !FENCED {
            tracing::warn!("this build has the feature `unfenced`: nodes can lose and mix up data");
        }
        let node = Arc::new(Node::join(parts, address)?);
        let keeper = Keeper::start(&node)?;
        Ok(Self { mode: Mode::Shared { node, keeper } })
    }

    /// Whether the process is the only one with its data.
    pub fn is_alone(&self) -> bool {
        matches!(self.mode, Mode::Alone)
    }

    /// The id of this process as a node. `None` if it is alone, or has no session at the moment.
    pub fn node_id(&self) -> Option<NodeId> {
        match &self.mode {
            Mode::Alone => None,
            Mode::Shared { node, .. } => node.session_id(),
        }
    }

    /// Makes sure that this process owns a namespace. Claims it if nobody owns it, or if its owner is dead.
    ///
    /// # Errors
    ///
    /// [`Error::Elsewhere`](crate::error::Error::Elsewhere) if another node owns it,
    /// [`Error::NamespaceGone`](crate::error::Error::NamespaceGone) if it was deleted.
    pub fn hold(&self, namespace: &NamespaceKey) -> Result<()> {
        match &self.mode {
            Mode::Alone => Ok(()),
            Mode::Shared { node, .. } => node.hold(namespace),
        }
    }

    /// Forgets who owns a namespace, so that the next call of [`Self::hold`] reads it again.
    pub fn forget_owner(&self, namespace: &NamespaceKey) {
        if let Mode::Shared { node, .. } = &self.mode {
            node.forget_owner(namespace.id);
        }
    }

    /// The key that signs the requests between nodes. `None` in a process that is alone.
    pub fn pass_key(&self) -> Option<&PassKey> {
        match &self.mode {
            Mode::Alone => None,
            Mode::Shared { node, .. } => Some(node.pass_key()),
        }
    }

    /// Begins a read of namespaces that this process owns.
    pub fn begin_reading(&self) -> Reading {
        match &self.mode {
            Mode::Alone => Reading(None),
            Mode::Shared { node, .. } => Reading(node.session_id()),
        }
    }

    /// Whether the result of a read may be returned: nobody else could have changed what was read before the read ended.
    pub fn may_return(&self, reading: Reading) -> bool {
        match &self.mode {
            Mode::Alone => true,
            Mode::Shared { .. } if !FENCED => true,
            Mode::Shared { node, .. } => {
                let Some(session) = node.session() else { return false };
                reading.0 == Some(session.id()) && session.may_read(Instant::now())
            }
        }
    }

    /// Fails if the result of a read may not be returned, see [`Self::may_return`].
    pub fn check_reading(&self, reading: Reading) -> Result<()> {
        if self.may_return(reading) {
            return Ok(());
        }
        let reason = "this node lost the connection to the database while it answered".to_owned();
        Err(Error::Disk { trouble: DiskTrouble::Unreachable, reason })
    }

    /// Returns how long this process may still read what it owns, unless it renews its session: zero without a session.
    /// `None` in a process that is alone, which has no session.
    pub fn reads_left(&self) -> Option<Duration> {
        let Mode::Shared { node, .. } = &self.mode else { return None };
        match node.session() {
            Some(session) => Some(session.reads_left(Instant::now())),
            None => Some(Duration::ZERO),
        }
    }

    /// Whether this process does the periodic work that one node does for all: it is alone, or has the smallest id.
    /// Two nodes may do it for a moment, so the work must bear that.
    pub fn is_first(&self) -> bool {
        match &self.mode {
            Mode::Alone => true,
            Mode::Shared { node, .. } => {
                let first = node.live_nodes().first().map(|live| live.id);
                first.is_some() && first == node.session_id()
            }
        }
    }

    /// Returns the nodes that have a session, by id, this one included. Empty in a process that is alone.
    pub fn live_nodes(&self) -> Vec<LiveNode> {
        match &self.mode {
            Mode::Alone => Vec::new(),
            Mode::Shared { node, .. } => node.live_nodes(),
        }
    }

    /// Returns the live nodes without this one. A node with the address of this one is left out: it is the former session
    /// of this process, or of one that ran here before.
    pub fn peers(&self) -> Vec<LiveNode> {
        let Mode::Shared { node, .. } = &self.mode else { return Vec::new() };
        let own = node.session_id();
        let mut peers = node.live_nodes();
        peers.retain(|live| Some(live.id) != own && live.address != node.address());
        peers
    }

    /// Returns the addresses of [`Self::peers`] as the records list them now, with nodes that joined since the last
    /// observation.
    pub fn read_peer_addresses(&self) -> Result<Vec<String>> {
        match &self.mode {
            Mode::Alone => Ok(Vec::new()),
            Mode::Shared { node, .. } => node.read_peer_addresses(),
        }
    }

    /// Whether a node with an address has a session, as far as it was observed.
    pub fn is_live(&self, address: &str) -> bool {
        self.live_nodes().iter().any(|live| live.address == address)
    }

    /// Returns the part of a limit of all nodes that this process may use: an equal part, rounded up. It shrinks at once
    /// when a node joins, and grows some seconds after one has left. A process that is alone has the whole limit.
    pub fn share_of(&self, limit: usize) -> usize {
        match &self.mode {
            Mode::Alone => limit,
            Mode::Shared { node, .. } => node.shares().of(limit),
        }
    }

    /// Gives up namespaces that nobody used since the last call, if this process owns more than its share of all.
    ///
    /// # Errors
    ///
    /// The database cannot be reached.
    pub fn rebalance(&self) -> Result<()> {
        if let Mode::Shared { node, .. } = &self.mode {
            node.rebalance()?;
        }
        Ok(())
    }

    /// Makes other nodes claim what this process does not own, because it is about to leave. Returns whether there are
    /// other nodes.
    pub fn begin_drain(&self) -> bool {
        let Mode::Shared { node, .. } = &self.mode else { return false };
        node.begin_drain();
        !self.peers().is_empty()
    }

    /// Whether this process is about to leave the other nodes. Never in a process that is alone.
    pub fn is_draining(&self) -> bool {
        match &self.mode {
            Mode::Alone => false,
            Mode::Shared { node, .. } => node.is_draining(),
        }
    }

    /// Stores the last snapshots of indexes and gives up all namespaces one after another. Those that are still owned can
    /// be used meanwhile, and reads that began can end.
    pub fn hand_over_all(&self) {
        if let Mode::Shared { node, .. } = &self.mode {
            // A namespace that was given up is closed, and its snapshot cannot be recorded.
            node.upload_last_snapshots();
            node.hand_over_all();
        }
    }

    /// Gives up all namespaces and ends the session, so that other nodes need not wait. Jobs and requests have ended.
    pub fn leave(&self) {
        if let Mode::Shared { node, keeper } = &self.mode {
            node.upload_last_snapshots();
            keeper.stop();
            node.leave();
        }
    }
}

impl Drop for Ownership {
    fn drop(&mut self) {
        self.leave();
    }
}
