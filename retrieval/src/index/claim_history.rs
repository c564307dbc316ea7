//! The claims of the current memories, by fact and time: an interval index over the history of each fact.
//!
//! A fact is an attribute of a subject. Its claims are neighbours, in the order in which they were made, and each knows
//! the claim that ended it. All claims of a namespace are one sorted list in blocks. A block knows the earliest and the
//! latest end of its claims, so that a search for the claims that held at a time skips the blocks in which none did.
//! Finding a claim takes O(log n) steps. Snapshots share the blocks, and a change copies the blocks that it touches.

use std::sync::Arc;

use super::claim_entry::ClaimedValue;
use crate::hash::{FacetHash, PathHash};
use crate::ids::{ClaimId, DocumentId};
use crate::time::{Millis, NEVER};

/// Claims of a block at most. A full block is split into two halves. A change copies a block of 24 KiB at most, and a
/// search skips 128 to 256 claims at a time.
const BLOCK_MAX: usize = 256;

/// The place of a claim among those of its fact: the time of the claim, the time and the position of its writing, and
/// its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClaimOrder {
    /// When the claim began to hold, or when the value ended.
    pub(crate) from: Millis,
    pub(crate) created: Millis,
    pub(crate) sequence: u32,
    pub(crate) path: PathHash,
    pub(crate) id: ClaimId,
}

impl ClaimOrder {
    /// Is before all claims.
    const FIRST: Self =
        Self { from: Millis::MIN, created: Millis::MIN, sequence: 0, path: PathHash::MIN, id: ClaimId::MIN };
    /// Is after all claims. Also stands for the end of a claim that has not ended.
    pub(crate) const LAST: Self =
        Self { from: NEVER, created: Millis::MAX, sequence: u32::MAX, path: PathHash::MAX, id: ClaimId::MAX };
}

/// A claim of a current memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HeldClaim {
    /// The fact, an attribute of a subject.
    pub(crate) key: FacetHash,
    pub(crate) order: ClaimOrder,
    pub(crate) document: DocumentId,
    pub(crate) claimed: ClaimedValue,
    /// The place of the claim that ended it; [`ClaimOrder::LAST`] if none did.
    pub(super) ender: ClaimOrder,
}

impl HeldClaim {
    /// Returns when the claim ended; [`NEVER`] if it holds.
    pub(crate) fn end(&self) -> Millis {
        self.ender.from
    }

    /// Whether a later claim of the same fact ends this one. Claims of one memory do not end each other.
    fn is_ended_by(&self, later: &Self) -> bool {
        self.document != later.document && self.claimed.is_ended_by(later.claimed)
    }

    fn place(&self) -> (FacetHash, ClaimOrder) {
        (self.key, self.order)
    }
}

/// The claims of the current memories. Cloning shares nearly everything.
#[derive(Clone, Default)]
pub(crate) struct ClaimHistory {
    /// Ascending by place. None is empty.
    blocks: Vec<Arc<Block>>,
}

#[derive(Clone)]
struct Block {
    claims: Vec<HeldClaim>,
    /// The first and the last end of the claims.
    ends: (ClaimOrder, ClaimOrder),
}

/// Claims of one fact that are neighbours.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    claims: &'a [HeldClaim],
    /// No claim ended before this place. It may be earlier than the first end of the claims.
    first_end: ClaimOrder,
    /// No claim ended after this place. It may be later than the last end of the claims.
    last_end: ClaimOrder,
}

impl<'a> Piece<'a> {
    /// Returns the claims, ascending.
    pub(crate) fn claims(&self) -> &'a [HeldClaim] {
        #[cfg(test)]
        tests::EXAMINED.set(tests::EXAMINED.get() + self.claims.len());
        self.claims
    }

    /// Whether some of the claims may hold without an end.
    pub(crate) fn may_hold(&self) -> bool {
        self.last_end == ClaimOrder::LAST
    }

    /// Whether some of the claims may have ended after a time, or hold.
    pub(crate) fn may_end_after(&self, at: Millis) -> bool {
        self.last_end.from > at
    }

    /// Whether some of the claims may have ended at a time or before.
    pub(crate) fn may_end_by(&self, at: Millis) -> bool {
        self.first_end.from <= at
    }
}

/// A claim whose end changed.
pub(super) struct ChangedEnd {
    pub(super) id: ClaimId,
    /// The document with the claim that ends it, and when that begins; `None` if no claim ends it.
    pub(super) ended_by: Option<(DocumentId, Millis)>,
}

impl ClaimHistory {
    /// Returns the claims of a fact in pieces, ascending.
    pub(crate) fn pieces(&self, key: FacetHash) -> impl DoubleEndedIterator<Item = Piece<'_>> {
        self.between((key, ClaimOrder::FIRST), (key, ClaimOrder::LAST))
    }

    /// Returns the claims of a fact that begin at a time or before, in pieces, ascending.
    pub(crate) fn pieces_by(&self, key: FacetHash, at: Millis) -> impl DoubleEndedIterator<Item = Piece<'_>> {
        let end = ClaimOrder { from: at, ..ClaimOrder::LAST };
        self.between((key, ClaimOrder::FIRST), (key, end))
    }

    /// Returns the first claim of a fact.
    pub(crate) fn first(&self, key: FacetHash) -> Option<&HeldClaim> {
        self.pieces(key).next()?.claims.first()
    }

    /// Returns the last claim of a fact that begins at a time or before.
    pub(crate) fn last_by(&self, key: FacetHash, at: Millis) -> Option<&HeldClaim> {
        self.pieces_by(key, at).next_back()?.claims.last()
    }

    /// Returns the claims of a fact that the claim at a place ended.
    pub(crate) fn ended_by(&self, key: FacetHash, ender: ClaimOrder) -> Vec<HeldClaim> {
        let mut ended = Vec::new();
        for piece in self.between((key, ClaimOrder::FIRST), (key, ender)) {
            if piece.first_end > ender || piece.last_end < ender {
                continue;
            }
            for claim in piece.claims() {
                if claim.ender == ender {
                    ended.push(*claim);
                }
            }
        }
        ended
    }

    /// Replaces all claims. Appends those with an end to `ended`.
    pub(super) fn fill(&mut self, mut claims: Vec<HeldClaim>, ended: &mut Vec<ChangedEnd>) {
        claims.sort_unstable_by_key(HeldClaim::place);
        for of_fact in claims.chunk_by_mut(|a, b| a.key == b.key) {
            end_in_order(of_fact, ended);
        }
        self.blocks.clear();
        // Half full, so that the first changes do not split them.
        for claims in claims.chunks(BLOCK_MAX / 2) {
            self.blocks.push(Arc::new(Block::new(claims.to_vec())));
        }
    }

    /// Adds a claim. Appends the claims whose ends change to `changed`.
    pub(super) fn insert(&mut self, mut claim: HeldClaim, changed: &mut Vec<ChangedEnd>) {
        let mut ended = Vec::new();
        for piece in self.between((claim.key, ClaimOrder::FIRST), claim.place()) {
            if piece.last_end <= claim.order {
                continue;
            }
            for earlier in piece.claims() {
                if earlier.ender > claim.order && earlier.is_ended_by(&claim) {
                    ended.push(*earlier);
                }
            }
        }
        for earlier in ended {
            self.set_ender(&earlier, claim.order);
            changed.push(ChangedEnd { id: earlier.order.id, ended_by: Some((claim.document, claim.order.from)) });
        }
        let order = claim.order;
        changed.push(self.find_ender(&mut claim, order));
        self.put(claim);
    }

    /// Removes the claim at a place, if there is one. Appends the claims whose ends change to `changed`.
    pub(super) fn remove(&mut self, key: FacetHash, order: ClaimOrder, changed: &mut Vec<ChangedEnd>) {
        if !self.take((key, order)) {
            return;
        }
        for mut earlier in self.ended_by(key, order) {
            changed.push(self.find_ender(&mut earlier, order));
            self.set_ender(&earlier, earlier.ender);
        }
    }

    /// Sets the end of a claim to the first claim after a place that ends it.
    fn find_ender(&self, claim: &mut HeldClaim, after: ClaimOrder) -> ChangedEnd {
        claim.ender = ClaimOrder::LAST;
        let id = claim.order.id;
        for piece in self.between((claim.key, after), (claim.key, ClaimOrder::LAST)) {
            for later in piece.claims() {
                if claim.is_ended_by(later) {
                    claim.ender = later.order;
                    return ChangedEnd { id, ended_by: Some((later.document, later.order.from)) };
                }
            }
        }
        ChangedEnd { id, ended_by: None }
    }

    /// Returns the claims from a place on up to another, which is excluded, in pieces. Both are places of one fact.
    fn between(
        &self,
        begin: (FacetHash, ClaimOrder),
        end: (FacetHash, ClaimOrder),
    ) -> impl DoubleEndedIterator<Item = Piece<'_>> {
        let first = self.blocks.partition_point(|block| block.last_place() < begin);
        let blocks = self.blocks.get(first..).unwrap_or_default();
        let count = blocks.partition_point(|block| block.first_place() < end);
        blocks.iter().take(count).map(move |block| block.piece(begin, end))
    }

    /// Returns the index of the block that has a place, or would have it.
    fn block_of(&self, place: (FacetHash, ClaimOrder)) -> usize {
        let index = self.blocks.partition_point(|block| block.last_place() < place);
        index.min(self.blocks.len().saturating_sub(1))
    }

    fn put(&mut self, claim: HeldClaim) {
        let index = self.block_of(claim.place());
        let Some(block) = self.blocks.get_mut(index) else {
            self.blocks.push(Arc::new(Block::new(vec![claim])));
            return;
        };
        let block = Arc::make_mut(block);
        let at = block.claims.partition_point(|other| other.place() < claim.place());
        block.claims.insert(at, claim);
        if block.claims.len() > BLOCK_MAX {
            let upper = block.claims.split_off(BLOCK_MAX / 2);
            block.measure();
            self.blocks.insert(index + 1, Arc::new(Block::new(upper)));
        } else {
            block.measure();
        }
    }

    /// Removes the claim at a place. Returns false if there is none.
    fn take(&mut self, place: (FacetHash, ClaimOrder)) -> bool {
        let index = self.block_of(place);
        let Some(block) = self.blocks.get_mut(index) else { return false };
        let Ok(at) = block.claims.binary_search_by_key(&place, HeldClaim::place) else { return false };
        let block = Arc::make_mut(block);
        block.claims.remove(at);
        if block.claims.is_empty() {
            self.blocks.remove(index);
        } else {
            block.measure();
        }
        true
    }

    /// Records which claim ended a claim.
    fn set_ender(&mut self, claim: &HeldClaim, ender: ClaimOrder) {
        let index = self.block_of(claim.place());
        let Some(block) = self.blocks.get_mut(index) else { return };
        let Ok(at) = block.claims.binary_search_by_key(&claim.place(), HeldClaim::place) else { return };
        let block = Arc::make_mut(block);
        block.claims[at].ender = ender;
        block.measure();
    }
}

impl Block {
    /// Makes a block of sorted claims, at least one.
    fn new(claims: Vec<HeldClaim>) -> Self {
        let mut block = Self { claims, ends: (ClaimOrder::LAST, ClaimOrder::FIRST) };
        block.measure();
        block
    }

    /// Computes the first and the last end of the claims.
    fn measure(&mut self) {
        let (mut first, mut last) = (ClaimOrder::LAST, ClaimOrder::FIRST);
        for claim in &self.claims {
            first = first.min(claim.ender);
            last = last.max(claim.ender);
        }
        self.ends = (first, last);
    }

    fn first_place(&self) -> (FacetHash, ClaimOrder) {
        self.claims[0].place()
    }

    fn last_place(&self) -> (FacetHash, ClaimOrder) {
        self.claims[self.claims.len() - 1].place()
    }

    fn piece(&self, begin: (FacetHash, ClaimOrder), end: (FacetHash, ClaimOrder)) -> Piece<'_> {
        let first = self.claims.partition_point(|claim| claim.place() < begin);
        let last = self.claims.partition_point(|claim| claim.place() < end);
        Piece { claims: &self.claims[first..last.max(first)], first_end: self.ends.0, last_end: self.ends.1 }
    }
}

/// Sets the ends of the claims of one fact, which are in the order of their times.
///
/// Of the claims that still hold, only those with an equal value remain after a claim of one value, so a list of
/// statements about one thing takes linear time. Different values that hold together are compared with each later end.
fn end_in_order(claims: &mut [HeldClaim], ended: &mut Vec<ChangedEnd>) {
    let mut open: Vec<usize> = Vec::new();
    for index in 0..claims.len() {
        let later = claims[index];
        open.retain(|place| {
            let earlier = &mut claims[*place];
            let is_ended = earlier.is_ended_by(&later);
            if is_ended {
                earlier.ender = later.order;
                let ended_by = Some((later.document, later.order.from));
                ended.push(ChangedEnd { id: earlier.order.id, ended_by });
            }
            !is_ended
        });
        open.push(index);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::claim::ClaimKind;
    use crate::hash::{AttributeHash, SubjectHash};
    use crate::index::claim_entry::ValueSignature;

    thread_local! {
        /// The claims that this thread looked at, one by one.
        pub(super) static EXAMINED: Cell<usize> = const { Cell::new(0) };
    }

    fn key(attribute: &str) -> FacetHash {
        FacetHash::of_claim(SubjectHash::of("ann"), AttributeHash::of(attribute))
    }

    fn claim(attribute: &str, id: u32, from: Millis, value: &str, kind: ClaimKind) -> HeldClaim {
        let id_order = ClaimId::MIN.after(id);
        HeldClaim {
            key: key(attribute),
            order: ClaimOrder { from, created: 0, sequence: id, path: PathHash::MIN, id: id_order },
            // Two claims of each memory.
            document: DocumentId::new(id / 2),
            claimed: ClaimedValue { value: ValueSignature::of(value), kind },
            ender: ClaimOrder::LAST,
        }
    }

    /// Applies changed ends to a copy of all ends, by claim.
    fn apply(changed: Vec<ChangedEnd>, ends: &mut HashMap<ClaimId, Millis>) {
        for one in changed {
            ends.insert(one.id, one.ended_by.map_or(NEVER, |(_, end)| end));
        }
    }

    /// Returns the end of each claim by comparing all with all.
    fn expected_ends(claims: &[HeldClaim]) -> HashMap<ClaimId, Millis> {
        let mut sorted = claims.to_vec();
        sorted.sort_by_key(HeldClaim::place);
        let mut ends = HashMap::new();
        for (index, claim) in sorted.iter().enumerate() {
            let mut later = sorted[index + 1..].iter().filter(|later| later.key == claim.key);
            let ender = later.find(|later| claim.is_ended_by(later));
            ends.insert(claim.order.id, ender.map_or(NEVER, |ender| ender.order.from));
        }
        ends
    }

    fn held_ends(history: &ClaimHistory, attributes: &[&str]) -> HashMap<ClaimId, Millis> {
        let mut ends = HashMap::new();
        for attribute in attributes {
            for piece in history.pieces(key(attribute)) {
                for claim in piece.claims() {
                    ends.insert(claim.order.id, claim.end());
                }
            }
        }
        ends
    }

    proptest! {
        #[test]
        fn every_end_is_that_of_comparing_all_claims(
            steps in prop::collection::vec((0..2_usize, 0..600_u32, 0..40_i64, 0..6_usize, 0..3_usize), 1..700),
            filled in 0..300_usize,
        ) {
            let attributes = ["home", "pet"];
            let values = ["oslo", "oslo norway", "rome", "", "bergen norway", "rome italy"];
            let kinds = [ClaimKind::Only, ClaimKind::Another, ClaimKind::Ended];
            let mut current: HashMap<u32, HeldClaim> = HashMap::new();
            let (mut history, mut ends) = (ClaimHistory::default(), HashMap::new());
            for (number, (attribute, id, from, value, kind)) in steps.into_iter().enumerate() {
                let new = claim(attributes[attribute], id, from, values[value], kinds[kind]);
                let mut changed = Vec::new();
                if number < filled {
                    current.entry(id).or_insert(new);
                    continue;
                }
                if number == filled {
                    history.fill(current.values().copied().collect(), &mut changed);
                }
                match current.remove(&id) {
                    Some(old) => {
                        history.remove(old.key, old.order, &mut changed);
                        ends.remove(&old.order.id);
                        changed.retain(|one| one.id != old.order.id);
                    }
                    None => {
                        history.insert(new, &mut changed);
                        current.insert(id, new);
                    }
                }
                apply(changed, &mut ends);
            }
            if filled > 0 && history.blocks.is_empty() {
                history.fill(current.values().copied().collect(), &mut Vec::new());
            }
            let all: Vec<HeldClaim> = current.values().copied().collect();
            let expected = expected_ends(&all);
            prop_assert_eq!(&held_ends(&history, &attributes), &expected);
            for (id, end) in ends {
                prop_assert_eq!(expected.get(&id), Some(&end));
            }
        }
    }

    /// Returns how many claims a new value of an attribute and the search for the present one look at.
    fn examined_after(values: u32) -> usize {
        let mut history = ClaimHistory::default();
        let mut changed = Vec::new();
        for id in 0..values {
            history.insert(claim("weight", 2 * id, i64::from(id), &format!("{id} kg"), ClaimKind::Only), &mut changed);
        }
        EXAMINED.set(0);
        let now = i64::from(values);
        history.insert(claim("weight", 2 * values, now, "new", ClaimKind::Only), &mut changed);
        let mut holding = 0;
        for piece in history.pieces(key("weight")) {
            if piece.may_end_after(now) {
                holding += piece.claims().iter().filter(|claim| claim.end() > now).count();
            }
        }
        assert_eq!(holding, 1);
        EXAMINED.get()
    }

    #[test]
    fn a_long_history_costs_no_more_than_a_short_one() {
        let (short, long) = (examined_after(1_000), examined_after(16_000));
        assert!(long <= short.max(2 * BLOCK_MAX), "{short} and {long}");
    }

    #[test]
    fn loading_a_history_of_one_value_each_ends_every_claim_but_the_last() {
        let claims = (0..5_000).map(|id| claim("weight", 2 * id, 7, &format!("{id} kg"), ClaimKind::Only)).collect();
        let (mut history, mut ended) = (ClaimHistory::default(), Vec::new());
        history.fill(claims, &mut ended);
        assert_eq!(ended.len(), 4_999);
        let last = history.last_by(key("weight"), 7).expect("a claim");
        assert_eq!(last.end(), NEVER);
        assert_eq!(history.ended_by(key("weight"), last.order).len(), 1);
    }
}
