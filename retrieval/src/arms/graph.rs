//! The graph arm: one hop along relations from the best of the other arms' hits.

use std::sync::Arc;

/// So many of the best hits are expanded.
pub const EXPANDED_HITS: usize = 6;
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

/// An edge to a neighbour's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) to: u32,
    pub(crate) kind: EdgeKind,
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

    /// Adds a relation and its reverse.
    pub(crate) fn link(&mut self, from: u32, to: u32, kind: EdgeKind) {
        let back = match kind {
            EdgeKind::Previous => EdgeKind::Next,
            EdgeKind::Next => EdgeKind::Previous,
            EdgeKind::Other => EdgeKind::Other,
        };
        if from != to {
            self.add(from, Edge { to, kind });
            self.add(to, Edge { to: from, kind: back });
        }
    }

    /// Takes one relation and its reverse away.
    pub(crate) fn unlink(&mut self, from: u32, to: u32) {
        self.at(from).retain(|edge| edge.to != to);
        self.at(to).retain(|edge| edge.to != from);
    }

    fn add(&mut self, slot: u32, edge: Edge) {
        let edges = self.at(slot);
        if !edges.contains(&edge) {
            edges.push(edge);
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
