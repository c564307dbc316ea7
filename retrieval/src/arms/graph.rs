//! The graph arm: one hop along relations from the best of the other arms' hits.

use std::num::NonZeroU32;

use crate::index::Blocks;

/// So many of the best hits are expanded.
pub(crate) const EXPANDED_HITS: usize = 6;

/// What an edge means, seen from where it is kept.
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
///
/// A slot's edges hang together as a list, so that all of them lie in one array: a million lists of their own would be
/// a million allocations when an index is opened.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    edges: Blocks<Link>,
    slots: Blocks<Linked>,
    /// The first of the edges that are free to be used again.
    free: Place,
}

/// Where an edge stands, counted from one; none at a list's end.
type Place = Option<NonZeroU32>;

/// One edge of a list.
#[derive(Clone, Copy, Default)]
struct Link {
    edge: Edge,
    next: Place,
}

/// What a slot is linked with.
#[derive(Clone, Copy, Default)]
struct Linked {
    first: Place,
    /// The first neighbours said right before and right after, counted from one: the ranking asks for nothing else.
    previous: Option<NonZeroU32>,
    next: Option<NonZeroU32>,
}

impl Graph {
    /// The first edges at a slot, at most so many.
    pub(crate) fn edges(&self, slot: u32, limit: usize) -> Vec<Edge> {
        let mut edges: Vec<Edge> = self.list(slot).map(|(_, edge)| edge).collect();
        edges.sort_unstable();
        edges.truncate(limit);
        edges
    }

    /// The slots of the first neighbours that were said right before and right after.
    pub(crate) fn beside(&self, slot: u32) -> [Option<u32>; 2] {
        let Linked { previous, next, .. } = self.slots.get(slot as usize).copied().unwrap_or_default();
        [previous, next].map(|beside| Some(beside?.get() - 1))
    }

    /// Has the processor fetch what is asked for with [`Graph::beside`].
    pub(crate) fn prefetch_beside(&self, slot: u32) {
        self.slots.prefetch(slot as usize);
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
        let own: Vec<Edge> = self.list(from).map(|(_, edge)| edge).filter(|edge| edge.own).collect();
        self.remove(from, |edge| edge.own);
        for edge in own {
            self.remove(edge.to, |back| !back.own && back.to == from);
        }
    }

    /// A slot's edges, the newest first.
    fn list(&self, slot: u32) -> impl Iterator<Item = (NonZeroU32, Edge)> {
        let mut place = self.slots.get(slot as usize).and_then(|linked| linked.first);
        std::iter::from_fn(move || {
            let at = place?;
            let link = self.edges.get(at.get() as usize - 1)?;
            place = link.next;
            Some((at, link.edge))
        })
    }

    fn insert(&mut self, slot: u32, edge: Edge) {
        while self.slots.len() <= slot as usize {
            self.slots.push(Linked::default());
        }
        let before = self.slots.get(slot as usize).and_then(|linked| linked.first);
        let first = self.put(Link { edge, next: before });
        self.begin(slot, first);
        self.note_beside(slot, edge.kind);
    }

    /// Puts an edge where one is free, or at the end.
    fn put(&mut self, link: Link) -> Place {
        let Some(free) = self.free else {
            self.edges.push(link);
            return NonZeroU32::new(self.edges.len() as u32);
        };
        if let Some(place) = self.edges.get_mut(free.get() as usize - 1) {
            self.free = place.next;
            *place = link;
        }
        Some(free)
    }

    /// Takes edges out of a slot's list.
    fn remove(&mut self, slot: u32, gone: impl Fn(&Edge) -> bool) {
        let (mut kept, mut removed) = (Vec::new(), Vec::new());
        self.list(slot).for_each(|(at, edge)| if gone(&edge) { removed.push(at) } else { kept.push(at) });
        if removed.is_empty() {
            return;
        }
        for at in removed {
            self.follow(at, self.free);
            self.free = Some(at);
        }
        let nexts = kept.iter().skip(1).copied().map(Some).chain([None]);
        kept.iter().zip(nexts).for_each(|(at, next)| self.follow(*at, next));
        self.begin(slot, kept.first().copied());
        [EdgeKind::Previous, EdgeKind::Next].into_iter().for_each(|kind| self.note_beside(slot, kind));
    }

    fn follow(&mut self, at: NonZeroU32, next: Place) {
        // What changes nothing copies no block.
        if self.edges.get(at.get() as usize - 1).is_some_and(|link| link.next != next)
            && let Some(link) = self.edges.get_mut(at.get() as usize - 1)
        {
            link.next = next;
        }
    }

    fn begin(&mut self, slot: u32, first: Place) {
        if let Some(linked) = self.slots.get_mut(slot as usize) {
            linked.first = first;
        }
    }

    /// Keeps the first neighbour of a kind at hand.
    fn note_beside(&mut self, slot: u32, kind: EdgeKind) {
        if kind == EdgeKind::Other {
            return;
        }
        let first = self.list(slot).map(|(_, edge)| edge).filter(|edge| edge.kind == kind).min();
        let first = first.and_then(|edge| NonZeroU32::new(edge.to + 1));
        if let Some(linked) = self.slots.get_mut(slot as usize) {
            *(if kind == EdgeKind::Previous { &mut linked.previous } else { &mut linked.next }) = first;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_relation_is_seen_from_both_ends_and_goes_with_its_owner() {
        let mut graph = Graph::default();
        let end = |slot: u32| End { slot, path: u64::from(slot) };
        graph.link(end(2000), end(1), EdgeKind::Previous);
        graph.link(end(1), end(2000), EdgeKind::Other);
        graph.link(end(5), end(5), EdgeKind::Other);
        assert_eq!(graph.beside(1), [None, Some(2000)]);
        assert_eq!(graph.edges(2000, 9).len(), 2);
        assert!(graph.edges(5, 9).is_empty());
        let before = graph.clone();
        graph.unlink(1);
        assert_eq!(graph.beside(2000), [Some(1), None], "what the neighbour says stays");
        assert_eq!((graph.edges(1, 9).len(), graph.beside(1)), (1, [None, Some(2000)]));
        graph.unlink(2000);
        assert!(graph.edges(1, 9).is_empty() && graph.edges(2000, 9).is_empty());
        assert_eq!(before.edges(1, 9).len(), 2, "a snapshot never changes");
    }
    proptest! {
        #[test]
        fn edges_are_those_of_the_memories_that_are_linked(
            changes in proptest::collection::vec((0..8u32, proptest::collection::vec((0..8u32, any::<bool>()), 0..5)), 1..30),
        ) {
            let kind = |follows| if follows { EdgeKind::Previous } else { EdgeKind::Other };
            let end = |slot: u32| End { slot, path: u64::from(slot) };
            let mut graph = Graph::default();
            let mut written: [Vec<(u32, bool)>; 8] = Default::default();
            for (slot, links) in changes {
                graph.unlink(slot);
                links.iter().for_each(|(to, follows)| graph.link(end(slot), end(*to), kind(*follows)));
                written[slot as usize] = links;
            }
            for slot in 0..8 {
                let edge = |kind, to, own| Edge { kind, path: u64::from(to), to, own };
                let own = written[slot as usize].iter().map(|(to, follows)| edge(kind(*follows), *to, true));
                let back = (0..8).flat_map(|from| written[from as usize].iter().map(move |(to, follows)| (from, *to, *follows)));
                let back = back.filter(|(_, to, _)| *to == slot).map(|(from, _, follows)| edge(kind(follows).reversed(), from, false));
                let mut expected: Vec<Edge> = own.chain(back).filter(|edge| edge.to != slot).collect();
                expected.sort_unstable();
                prop_assert_eq!(graph.edges(slot, usize::MAX), expected.clone());
                let first = |kind| expected.iter().find(|edge| edge.kind == kind).map(|edge| edge.to);
                prop_assert_eq!(graph.beside(slot), [first(EdgeKind::Previous), first(EdgeKind::Next)]);
            }
        }
    }
}
