//! The graph of relations between memories.
//!
//! Nodes are slots: one for every path, whether or not a memory is stored there. Every relation is an edge at both
//! ends.
//!
//! The edges of a slot form a linked list within one array. A list of its own per slot would be a million allocations
//! when an index of a million memories is opened.

use std::num::NonZeroU32;

use crate::blocks::Blocks;
use crate::hash::PathHash;
use crate::ids::SlotId;

/// What an edge means, seen from the slot that it is stored at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EdgeKind {
    /// The neighbour was said right before.
    Previous,
    /// The neighbour was said right after.
    Next,
    /// Any other relation, in either direction.
    #[default]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) kind: EdgeKind,
    /// The neighbour's path. Edges are sorted by it, so that their order does not depend on the order of writes.
    path: PathHash,
    pub(crate) to: SlotId,
    /// Whether the relation is written in the memory at this slot, not in the neighbour.
    own: bool,
}

/// One end of a relation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// The slot of the path.
    pub(crate) slot: SlotId,
    pub(crate) path: PathHash,
}

/// The relations between slots, in both directions. Cloning shares the blocks; a change copies only the blocks that it
/// touches.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    edges: Blocks<EdgeLink>,
    slots: Blocks<SlotLinks>,
    /// The first free element of `edges`.
    free: LinkIndex,
}

/// The index of an element of [`Graph::edges`], counted from one; `None` at the end of a list.
type LinkIndex = Option<NonZeroU32>;

/// One element of a list of edges.
#[derive(Clone, Copy, Default)]
struct EdgeLink {
    edge: Edge,
    next: LinkIndex,
}

/// The edges of one slot.
#[derive(Clone, Copy, Default)]
struct SlotLinks {
    first: LinkIndex,
    /// The slot of the first [`EdgeKind::Previous`] edge, counted from one. Kept here because ranking reads nothing
    /// else.
    previous: Option<NonZeroU32>,
    /// The slot of the first [`EdgeKind::Next`] edge, counted from one.
    next: Option<NonZeroU32>,
}

impl Graph {
    /// Returns the first `limit` edges of a slot.
    pub(crate) fn edges(&self, slot: SlotId, limit: usize) -> Vec<Edge> {
        let mut edges: Vec<Edge> = self.list(slot).map(|(_, edge)| edge).collect();
        edges.sort_unstable();
        edges.truncate(limit);
        edges
    }

    /// Returns the slots of the first neighbours that were said right before and right after.
    pub(crate) fn neighbours(&self, slot: SlotId) -> [Option<SlotId>; 2] {
        let Some(links) = self.slots.get(slot.index()) else { return [None; 2] };
        [links.previous, links.next].map(|neighbour| Some(SlotId::new(neighbour?.get() - 1)))
    }

    /// Prefetches what [`Graph::neighbours`] reads.
    pub(crate) fn prefetch_neighbours(&self, slot: SlotId) {
        self.slots.prefetch(slot.index());
    }

    /// Adds a relation that is written in the memory at `from`, at both ends.
    pub(crate) fn link(&mut self, from: End, to: End, kind: EdgeKind) {
        if from.slot != to.slot {
            self.insert(from.slot, Edge { kind, path: to.path, to: to.slot, own: true });
            self.insert(to.slot, Edge { kind: kind.reversed(), path: from.path, to: from.slot, own: false });
        }
    }

    /// Removes the relations that are written in the memory at `from`. Those written in its neighbours stay.
    pub(crate) fn unlink(&mut self, from: SlotId) {
        let own: Vec<Edge> = self.list(from).map(|(_, edge)| edge).filter(|edge| edge.own).collect();
        self.remove(from, |edge| edge.own);
        for edge in own {
            self.remove(edge.to, |back| !back.own && back.to == from);
        }
    }

    /// Returns the edges of a slot, the newest first.
    fn list(&self, slot: SlotId) -> impl Iterator<Item = (NonZeroU32, Edge)> {
        let mut next = self.first(slot);
        std::iter::from_fn(move || {
            let index = next?;
            let link = self.edges.get(index.get() as usize - 1)?;
            next = link.next;
            Some((index, link.edge))
        })
    }

    fn first(&self, slot: SlotId) -> LinkIndex {
        self.slots.get(slot.index())?.first
    }

    fn insert(&mut self, slot: SlotId, edge: Edge) {
        while self.slots.len() <= slot.index() {
            self.slots.push(SlotLinks::default());
        }
        let next = self.first(slot);
        let first = self.store(EdgeLink { edge, next });
        self.set_first(slot, first);
        self.update_neighbour(slot, edge.kind);
    }

    /// Stores an element in a free place, or at the end.
    fn store(&mut self, link: EdgeLink) -> LinkIndex {
        let Some(free) = self.free else {
            self.edges.push(link);
            return NonZeroU32::new(self.edges.len() as u32);
        };
        if let Some(element) = self.edges.get_mut(free.get() as usize - 1) {
            self.free = element.next;
            *element = link;
        }
        Some(free)
    }

    /// Removes the edges of a slot for which `is_removed` holds.
    fn remove(&mut self, slot: SlotId, is_removed: impl Fn(&Edge) -> bool) {
        let (mut kept, mut removed) = (Vec::new(), Vec::new());
        self.list(slot)
            .for_each(|(index, edge)| if is_removed(&edge) { removed.push(index) } else { kept.push(index) });
        if removed.is_empty() {
            return;
        }
        for index in removed {
            self.set_next(index, self.free);
            self.free = Some(index);
        }
        for (position, index) in kept.iter().enumerate() {
            self.set_next(*index, kept.get(position + 1).copied());
        }
        self.set_first(slot, kept.first().copied());
        self.update_neighbour(slot, EdgeKind::Previous);
        self.update_neighbour(slot, EdgeKind::Next);
    }

    fn set_next(&mut self, index: NonZeroU32, next: LinkIndex) {
        let index = index.get() as usize - 1;
        // An unchanged element must not copy its block.
        if self.edges.get(index).is_some_and(|link| link.next != next)
            && let Some(link) = self.edges.get_mut(index)
        {
            link.next = next;
        }
    }

    fn set_first(&mut self, slot: SlotId, first: LinkIndex) {
        if let Some(links) = self.slots.get_mut(slot.index()) {
            links.first = first;
        }
    }

    /// Updates the slot's first neighbour of a kind, unless the kind is [`EdgeKind::Other`].
    fn update_neighbour(&mut self, slot: SlotId, kind: EdgeKind) {
        if kind == EdgeKind::Other {
            return;
        }
        let first = self.list(slot).map(|(_, edge)| edge).filter(|edge| edge.kind == kind).min();
        let neighbour = first.and_then(|edge| NonZeroU32::new(edge.to.get() + 1));
        if let Some(links) = self.slots.get_mut(slot.index()) {
            match kind {
                EdgeKind::Previous => links.previous = neighbour,
                EdgeKind::Next => links.next = neighbour,
                EdgeKind::Other => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn end(number: u32) -> End {
        End { slot: SlotId::new(number), path: PathHash::of_number(u64::from(number)) }
    }

    #[test]
    fn a_relation_is_an_edge_at_both_ends_and_is_removed_with_its_owner() {
        let mut graph = Graph::default();
        let [one, five, two_thousand] = [1, 5, 2000].map(SlotId::new);
        graph.link(end(2000), end(1), EdgeKind::Previous);
        graph.link(end(1), end(2000), EdgeKind::Other);
        graph.link(end(5), end(5), EdgeKind::Other);
        assert_eq!(graph.neighbours(one), [None, Some(two_thousand)]);
        assert_eq!(graph.edges(two_thousand, 9).len(), 2);
        assert!(graph.edges(five, 9).is_empty());
        let before = graph.clone();
        graph.unlink(one);
        assert_eq!(graph.neighbours(two_thousand), [Some(one), None], "the neighbour's own relations stay");
        assert_eq!((graph.edges(one, 9).len(), graph.neighbours(one)), (1, [None, Some(two_thousand)]));
        graph.unlink(two_thousand);
        assert!(graph.edges(one, 9).is_empty() && graph.edges(two_thousand, 9).is_empty());
        assert_eq!(before.edges(one, 9).len(), 2, "a snapshot never changes");
    }

    proptest! {
        #[test]
        fn edges_are_the_relations_of_the_linked_memories(
            changes in proptest::collection::vec(
                (0..8u32, proptest::collection::vec((0..8u32, any::<bool>()), 0..5)), 1..30,
            ),
        ) {
            let kind = |follows| if follows { EdgeKind::Previous } else { EdgeKind::Other };
            let mut graph = Graph::default();
            let mut written: [Vec<(u32, bool)>; 8] = Default::default();
            for (slot, links) in changes {
                graph.unlink(SlotId::new(slot));
                links.iter().for_each(|(to, follows)| graph.link(end(slot), end(*to), kind(*follows)));
                written[slot as usize] = links;
            }
            for slot in 0..8 {
                let edge = |kind, to, own| Edge { kind, path: end(to).path, to: SlotId::new(to), own };
                let own = written[slot as usize].iter().map(|(to, follows)| edge(kind(*follows), *to, true));
                let back = (0..8).flat_map(|from| {
                    written[from as usize].iter().map(move |(to, follows)| (from, *to, *follows))
                });
                let back = back.filter(|(_, to, _)| *to == slot);
                let back = back.map(|(from, _, follows)| edge(kind(follows).reversed(), from, false));
                let mut expected: Vec<Edge> = own.chain(back).filter(|edge| edge.to.get() != slot).collect();
                expected.sort_unstable();
                let slot = SlotId::new(slot);
                prop_assert_eq!(graph.edges(slot, usize::MAX), expected.clone());
                let first = |kind| expected.iter().find(|edge| edge.kind == kind).map(|edge| edge.to);
                prop_assert_eq!(graph.neighbours(slot), [first(EdgeKind::Previous), first(EdgeKind::Next)]);
            }
        }
    }
}
