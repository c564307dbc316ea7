//! The graph arm: one hop along relations from the best of the other arms' hits.

use std::sync::Arc;

/// So many of the best hits are expanded.
pub(crate) const EXPANDED_HITS: usize = 6;
/// Slots of one block of adjacency.
const BLOCK_SLOTS: usize = 1024;

/// What an edge means, seen from where it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EdgeKind {
    /// The neighbour was said right before.
    Previous,
    /// The neighbour was said right after.
    Next,
    /// Any other relation, in either direction.
    Other,
}

impl EdgeKind {
    fn reversed(self) -> Self {
        match self {
            Self::Previous => Self::Next,
            Self::Next => Self::Previous,
            Self::Other => Self::Other,
        }
    }
}

/// An edge to a neighbour's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) to: u32,
    pub(crate) kind: EdgeKind,
    /// Whether the relation is written in this memory, or in the neighbour.
    own: bool,
}

/// Who is linked with whom, both ways. Cloning shares; a change copies the blocks that it touches.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    blocks: Vec<Arc<Vec<Vec<Edge>>>>,
}

impl Graph {
    /// The edges at a slot.
    pub(crate) fn edges(&self, slot: u32) -> &[Edge] {
        let slot = slot as usize;
        let block = self.blocks.get(slot / BLOCK_SLOTS);
        block.and_then(|block| block.get(slot % BLOCK_SLOTS)).map_or(&[], Vec::as_slice)
    }

    /// The neighbour of a kind, if there is one.
    pub(crate) fn neighbour(&self, slot: u32, kind: EdgeKind) -> Option<u32> {
        self.edges(slot).iter().find(|edge| edge.kind == kind).map(|edge| edge.to)
    }

    /// Adds a relation of one memory, seen from both ends.
    pub(crate) fn link(&mut self, from: u32, to: u32, kind: EdgeKind) {
        if from != to {
            self.at(from).push(Edge { to, kind, own: true });
            self.at(to).push(Edge { to: from, kind: kind.reversed(), own: false });
        }
    }

    /// Takes the relations of one memory away; what its neighbours say of it stays.
    pub(crate) fn unlink(&mut self, from: u32) {
        let mut removed = Vec::new();
        self.at(from).retain(|edge| {
            if edge.own {
                removed.push(*edge);
            }
            !edge.own
        });
        for edge in removed {
            self.at(edge.to).retain(|back| back.own || back.to != from);
        }
    }

    fn at(&mut self, slot: u32) -> &mut Vec<Edge> {
        let slot = slot as usize;
        while self.blocks.len() <= slot / BLOCK_SLOTS {
            self.blocks.push(Arc::new(vec![Vec::new(); BLOCK_SLOTS]));
        }
        &mut Arc::make_mut(&mut self.blocks[slot / BLOCK_SLOTS])[slot % BLOCK_SLOTS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relation_is_seen_from_both_ends_and_goes_with_its_owner() {
        let mut graph = Graph::default();
        graph.link(2000, 1, EdgeKind::Previous);
        graph.link(1, 2000, EdgeKind::Other);
        graph.link(5, 5, EdgeKind::Other);
        assert_eq!(graph.neighbour(1, EdgeKind::Next), Some(2000));
        assert_eq!(graph.edges(2000).len(), 2);
        assert!(graph.edges(5).is_empty());
        let before = graph.clone();
        graph.unlink(1);
        assert_eq!(graph.neighbour(2000, EdgeKind::Previous), Some(1), "what the neighbour says stays");
        assert_eq!(graph.neighbour(1, EdgeKind::Other), None);
        graph.unlink(2000);
        assert!(graph.edges(1).is_empty() && graph.edges(2000).is_empty());
        assert_eq!(before.edges(1).len(), 2, "a snapshot never changes");
    }
}
