//! [`Reads`]: searches, answers and reads of memories by path.
//!
//! This file has the components. The methods are in `retrieval`, `answer`, `memories.rs` and `vocabulary.rs`.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use cuebase_storage::Store;

use super::peers::Peers;
use super::search_threads::SearchThreads;
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::model::Models;
use crate::namespace::registry::Namespaces;

/// The reads of memories and vocabularies.
pub struct Reads {
    pub(super) store: Arc<Store>,
    pub(super) namespaces: Arc<Namespaces>,
    pub(super) models: Arc<Models>,
    pub(super) metrics: Arc<Metrics>,
    /// Threads of searches, one per core.
    pub(super) searchers: Arc<SearchThreads>,
    pub(super) clock: Clock,
    /// Answers that wait for the chat model.
    pub(super) waiting_answers: AtomicUsize,
    /// The nodes that own other namespaces.
    pub(super) peers: Peers,
}

impl Reads {
    /// Returns the reads of memories in `namespaces`. Searches run on the threads of `searchers`.
    pub fn new(
        store: Arc<Store>,
        namespaces: Arc<Namespaces>,
        models: Arc<Models>,
        metrics: Arc<Metrics>,
        searchers: Arc<SearchThreads>,
        clock: Clock,
    ) -> Self {
        let (waiting_answers, peers) = (AtomicUsize::new(0), Peers::default());
        Self { store, namespaces, models, metrics, searchers, clock, waiting_answers, peers }
    }

    /// Returns the models that embed queries and write answers.
    pub fn models(&self) -> &Models {
        &self.models
    }

    /// Returns the other nodes.
    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// Returns whether a search may wait for the network: for a hosted model, or for another node.
    pub fn may_wait_for_network(&self) -> bool {
        self.models.are_remote() || !self.peers.is_alone()
    }

    /// Returns the threads of searches.
    pub(crate) fn searchers(&self) -> &Arc<SearchThreads> {
        &self.searchers
    }
}
