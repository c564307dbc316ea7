//! The threads of a node: one renews the session, one observes other nodes and claims queued namespaces.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::node::Node;
use super::stop::Stop;

/// Time between two renewals, a third of the time after which a node is declared dead.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(1);
/// Time before a renewal that failed is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// Time between two observations of other nodes.
const OBSERVATION_INTERVAL: Duration = Duration::from_millis(500);
/// Time between two looks for queued writes whose namespace has no owner. A node that ends is a reason to look at once.
const QUEUE_INTERVAL: Duration = Duration::from_secs(5);

/// The running threads of a node.
pub(super) struct Keeper {
    stop: Arc<Stop>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Keeper {
    /// Starts the threads.
    pub(super) fn start(node: &Arc<Node>) -> std::io::Result<Self> {
        let stop = Arc::new(Stop::default());
        let keeper = Self { stop: Arc::clone(&stop), threads: Mutex::default() };
        let (session_node, session_stop) = (Arc::clone(node), Arc::clone(&stop));
        let session = std::thread::Builder::new().name("session".into());
        keeper.threads.lock().push(session.spawn(move || keep_session(&session_node, &session_stop))?);
        let node = Arc::clone(node);
        let watch = std::thread::Builder::new().name("node-watch".into());
        keeper.threads.lock().push(watch.spawn(move || watch_nodes(&node, &stop))?);
        Ok(keeper)
    }

    /// Ends the threads and waits for them. Can be called again.
    pub(super) fn stop(&self) {
        self.stop.set();
        for thread in self.threads.lock().drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread that keeps the session of this node panicked");
            }
        }
    }
}

/// Renews the session until the stop.
fn keep_session(node: &Node, stop: &Stop) {
    let mut pause = RENEWAL_INTERVAL;
    while stop.wait(pause) {
        let began = Instant::now();
        pause = match node.keep_session() {
            Ok(()) => RENEWAL_INTERVAL.saturating_sub(began.elapsed()),
            Err(error) => {
                tracing::warn!(%error, "the session of this node was not renewed; it tries again");
                RETRY_INTERVAL
            }
        };
    }
}

/// Observes other nodes until the stop, and claims what they leave.
fn watch_nodes(node: &Node, stop: &Stop) {
    let mut last_look: Option<Instant> = None;
    while stop.wait(OBSERVATION_INTERVAL) {
        let ended = match node.observe() {
            Ok(ended) => ended,
            Err(error) => {
                tracing::warn!(%error, "other nodes could not be observed");
                continue;
            }
        };
        let is_due = last_look.is_none_or(|last| last.elapsed() >= QUEUE_INTERVAL);
        if (ended || is_due) && !stop.is_set() {
            match node.take_queued() {
                Ok(()) => last_look = Some(Instant::now()),
                Err(error) => tracing::warn!(%error, "queued writes without an owner could not be claimed"),
            }
        }
    }
}
