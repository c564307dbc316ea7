//! A namespace that the node which owns it has searched for a request of this node.

use std::collections::HashMap;

use cuebase_storage::NamespaceName;

use super::history::History;

/// A namespace that was searched by the node that owns it.
pub(in crate::service) struct RemoteNamespace {
    /// Address of the node.
    pub(in crate::service) address: String,
    /// Name of the namespace.
    pub(in crate::service) name: NamespaceName,
    /// Whether the namespace was opened for the search.
    pub(super) is_cold: bool,
    /// The histories of the hits by their paths.
    pub(super) histories: HashMap<String, History>,
}

impl RemoteNamespace {
    /// Returns the history of each path; an empty one for a path that was not a hit.
    pub(super) fn histories_of(&self, paths: &[&str]) -> Vec<History> {
        let mut histories = Vec::with_capacity(paths.len());
        for path in paths {
            histories.push(self.histories.get(*path).cloned().unwrap_or_default());
        }
        histories
    }
}
