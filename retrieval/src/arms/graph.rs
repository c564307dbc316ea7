//! The graph arm: one hop along relations from the best hits of the other arms.

use std::collections::HashMap;

use crate::bitmap::Bitmap;
use crate::ids::DocumentId;
use crate::index::{Graph, Table};

/// The number of best hits whose neighbours are added.
pub(crate) const EXPANDED_HITS: usize = 6;
/// Limit of the neighbours added for one hit.
pub(crate) const NEIGHBOURS_MAX: usize = 16;

/// A hit from which a neighbour was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReachedFrom {
    pub(crate) hit: DocumentId,
    /// The rank of the hit among those of the other arms, from 1.
    pub(crate) rank: usize,
}

/// Returns the allowed neighbours of some hits, best first, each with the hit that it was first reached from.
pub(crate) fn expand(
    table: &Table,
    graph: &Graph,
    hits: impl Iterator<Item = DocumentId>,
    allowed: Option<&Bitmap>,
) -> HashMap<DocumentId, ReachedFrom> {
    let mut reached_from = HashMap::new();
    for (index, hit) in hits.take(EXPANDED_HITS).enumerate() {
        let Some(slot) = table.slot_of(hit) else { continue };
        for edge in graph.edges(slot, NEIGHBOURS_MAX) {
            if let Some(neighbour) = table.current(edge.to)
                && allowed.is_none_or(|allowed| allowed.contains(neighbour))
            {
                reached_from.entry(neighbour).or_insert(ReachedFrom { hit, rank: index + 1 });
            }
        }
    }
    reached_from
}
