//! The graph arm: one hop along relations from the best of the other arms' hits.

use std::num::NonZeroU32;

use crate::index::Blocks;

/// So many of the best hits are expanded.
pub(crate) const EXPANDED_HITS: usize = 6;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) kind: EdgeKind,
    /// The neighbour's path: edges stand in this order, so that it does not depend on what was written first.
    path: u64,
    pub(crate) to: u32,
    /// Whether the relation is written in this memory, or in the neighbour.
    own: bool,
}

/// One end of a relation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// The path's slot.
    pub(crate) slot: u32,
    /// Its hash.
    pub(crate) path: u64,
}

/// Who is linked with whom, both ways, by slot. Cloning shares; a change copies the blocks that it touches.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    edges: Blocks<Vec<Edge>>,
    /// The first neighbours said right before and right after, apart: the ranking asks for nothing else.
    beside: Blocks<Beside>,
}

#[derive(Clone, Copy, Default)]
struct Beside {
    previous: Option<NonZeroU32>,
    next: Option<NonZeroU32>,
}

impl Graph {
    /// The edges at a slot.
    pub(crate) fn edges(&self, slot: u32) -> &[Edge] {
        self.edges.get(slot as usize).map_or(&[], Vec::as_slice)
    }

    /// The slots of the first neighbours that were said right before and right after.
    pub(crate) fn beside(&self, slot: u32) -> [Option<u32>; 2] {
        let Beside { previous, next } = self.beside.get(slot as usize).copied().unwrap_or_default();
        [previous, next].map(|beside| Some(beside?.get() - 1))
    }

    /// Has the processor fetch what is asked for with [`Graph::beside`].
    pub(crate) fn prefetch_beside(&self, slot: u32) {
        self.beside.prefetch(slot as usize);
    }

    /// Adds a relation of one memory, seen from both ends.
    pub(crate) fn link(&mut self, from: End, to: End, kind: EdgeKind) {
        if from.slot != to.slot {
            self.insert(from.slot, Edge { kind, path: to.path, to: to.slot, own: true });
            self.insert(to.slot, Edge { kind: kind.reversed(), path: from.path, to: from.slot, own: false });
        }
    }

    /// Takes the relations of one memory away; what its neighbours say of it stays.
    pub(crate) fn unlink(&mut self, from: u32) {
        let own: Vec<Edge> = self.edges(from).iter().copied().filter(|edge| edge.own).collect();
        self.change(from, |edges| edges.retain(|edge| !edge.own));
        for edge in own {
            self.change(edge.to, |edges| edges.retain(|back| back.own || back.to != from));
        }
    }

    fn insert(&mut self, slot: u32, edge: Edge) {
        self.change(slot, |edges| {
            let at = edges.partition_point(|other| *other < edge);
            edges.insert(at, edge);
        });
    }

    fn change(&mut self, slot: u32, change: impl FnOnce(&mut Vec<Edge>)) {
        let slot = slot as usize;
        while self.edges.len() <= slot {
            self.edges.push(Vec::new());
            self.beside.push(Beside::default());
        }
        if let (Some(edges), Some(beside)) = (self.edges.get_mut(slot), self.beside.get_mut(slot)) {
            change(edges);
            let first =
                |kind| edges.iter().find(|edge| edge.kind == kind).and_then(|edge| NonZeroU32::new(edge.to + 1));
            *beside = Beside { previous: first(EdgeKind::Previous), next: first(EdgeKind::Next) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relation_is_seen_from_both_ends_and_goes_with_its_owner() {
        let mut graph = Graph::default();
        let end = |slot: u32| End { slot, path: u64::from(slot) };
        graph.link(end(2000), end(1), EdgeKind::Previous);
        graph.link(end(1), end(2000), EdgeKind::Other);
        graph.link(end(5), end(5), EdgeKind::Other);
        assert_eq!(graph.beside(1), [None, Some(2000)]);
        assert_eq!(graph.edges(2000).len(), 2);
        assert!(graph.edges(5).is_empty());
        let before = graph.clone();
        graph.unlink(1);
        assert_eq!(graph.beside(2000), [Some(1), None], "what the neighbour says stays");
        assert_eq!((graph.edges(1).len(), graph.beside(1)), (1, [None, Some(2000)]));
        graph.unlink(2000);
        assert!(graph.edges(1).is_empty() && graph.edges(2000).is_empty());
        assert_eq!(before.edges(1).len(), 2, "a snapshot never changes");
    }
}
