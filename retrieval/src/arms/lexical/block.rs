//! The scores of some documents, to which all terms are added before the next ones come.
//!
//! So the scores stay in the processor's own cache, and what is among the best is looked for while they are there.

use crate::arms::best::Best;
use crate::filter::Bitmap;
use crate::index::Postings;

/// How soon a term that a document holds again stops counting for more.
pub(super) const K1: f32 = 1.2;
/// How much a document's length counts against it.
const B: f32 = 0.75;
/// Documents of a block; their scores take a quarter of a megabyte.
pub(super) const BLOCK_DOCUMENTS: usize = 1 << 15;
/// Postings that are scored together.
const TOGETHER: usize = 32;
/// Documents that are looked through together; 64 is a multiple of it.
const LOOKED_AT: usize = 16;

/// A term that some memory holds.
pub(super) struct Term<'a> {
    pub(super) hash: u64,
    pub(super) weight: f32,
    /// Its postings in each layer, without those of the blocks that are done.
    pub(super) rest: Vec<Postings<'a>>,
}

/// Some documents of one layer, in their order.
pub(super) struct Block<'a> {
    layer: usize,
    first: u32,
    /// The mean length of a memory in terms.
    mean: f32,
    scores: &'a mut [f32],
    /// One bit for each part of the query.
    matched: &'a mut [u32],
}

impl<'a> Block<'a> {
    /// The documents from `first` on, of which nothing is known yet.
    pub(super) fn new(layer: usize, first: u32, mean: f32, scores: &'a mut [f32], matched: &'a mut [u32]) -> Self {
        scores.fill(0.0);
        matched.fill(0);
        Self { layer, first, mean, scores, matched }
    }

    /// Adds what a term scores that is a part of the query by itself.
    pub(super) fn add_term(&mut self, term: &mut Term<'_>, bit: u32) {
        let Self { layer, first, mean, .. } = *self;
        for_each_score(term, layer, first, self.scores.len(), mean, |at, score| {
            if let (Some(sum), Some(matched)) = (self.scores.get_mut(at), self.matched.get_mut(at)) {
                *sum += score;
                *matched |= bit;
            }
        });
    }

    /// Adds the best of several ways of writing one part of the query.
    pub(super) fn add_best_way(&mut self, ways: &mut [Vec<Term<'_>>], bit: u32) {
        let mut best = vec![0f32; self.scores.len()];
        let mut one = vec![0f32; self.scores.len()];
        for way in ways {
            one.fill(0.0);
            for term in way {
                for_each_score(term, self.layer, self.first, one.len(), self.mean, |at, score| one[at] += score);
            }
            best.iter_mut().zip(&one).for_each(|(best, one)| *best = best.max(*one));
        }
        for ((sum, matched), best) in self.scores.iter_mut().zip(&mut *self.matched).zip(best) {
            if best > 0.0 {
                *sum += best;
                *matched |= bit;
            }
        }
    }

    /// Offers what the filter lets through to the best.
    pub(super) fn offer(&self, allowed: Option<&Bitmap>, best: &mut Best<impl Fn(u32) -> u64>) {
        let first = self.first as usize;
        // The first group ends where the filter's do.
        let (begin, rest) = self.scores.split_at(self.scores.len().min(first.next_multiple_of(LOOKED_AT) - first));
        let mut first = first;
        for scores in [begin].into_iter().filter(|begin| !begin.is_empty()).chain(rest.chunks(LOOKED_AT)) {
            let documents = first..first + scores.len();
            first = documents.end;
            // Most hold nothing that is allowed or among the best; a sum instead of an early end compares several at a
            // time.
            let floor = best.floor;
            if allowed.is_some_and(|allowed| !allowed.any(documents.clone()))
                || scores.iter().map(|score| u32::from(*score > floor)).sum::<u32>() == 0
            {
                continue;
            }
            for (document, score) in (documents.start as u32..).zip(scores) {
                if *score > best.floor && allowed.is_none_or(|allowed| allowed.contains(document)) {
                    best.push(document, *score);
                }
            }
        }
    }
}

/// Tells the place and the score of each of the `count` documents from `first` on that hold a term. What comes before
/// them was told for the block before.
fn for_each_score(
    term: &mut Term<'_>,
    layer: usize,
    first: u32,
    count: usize,
    mean: f32,
    mut take: impl FnMut(usize, f32),
) {
    // BM25's fraction with what all postings share taken out, so that one division is left.
    let (most, fixed, by_length) = (term.weight * (K1 + 1.0), K1 * (1.0 - B), K1 * B / mean);
    let Some(rest) = term.rest.get_mut(layer) else { return };
    let end = first + count as u32;
    let mut scores = [0f32; TOGETHER];
    loop {
        let next = &rest.documents[..rest.documents.len().min(TOGETHER)];
        let here = match next.last() {
            Some(last) if *last < end => next.len(),
            _ => next.partition_point(|document| *document < end),
        };
        let (documents, counts, lengths) = (&next[..here], &rest.counts[..here], &rest.lengths[..here]);
        // Apart from adding, so that the divisions are done several at a time.
        for ((score, count), length) in scores.iter_mut().zip(counts).zip(lengths) {
            let (count, length) = (f32::from(*count), f32::from(*length));
            *score = most * count / (count + fixed + by_length * length);
        }
        documents.iter().zip(&scores).for_each(|(document, score)| take((document - first) as usize, *score));
        rest.skip(here);
        if here < TOGETHER {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WEIGHTS: [f32; 3] = [2.5, 1.25, 0.5];

    proptest! {
        #[test]
        fn scores_and_the_best_are_the_same_however_the_documents_are_cut_into_blocks(
            held in proptest::collection::vec((proptest::array::uniform3(0..4u8), 1..90u16, any::<bool>()), 1..300),
            offset in 0..200u32, block in 1..150usize, limit in 1..9usize, filtered: bool,
        ) {
            let mean = 20.0;
            let fraction = |count: u8, length: u16| {
                let (count, length) = (f32::from(count), f32::from(length));
                count / (count + K1 * (1.0 - B) + K1 * B / mean * length)
            };
            let expected: Vec<f32> = held.iter().map(|(counts, length, _)| {
                let terms = counts.iter().zip(WEIGHTS).filter(|(count, _)| **count > 0);
                terms.fold(0.0, |sum, (count, weight)| sum + weight * (K1 + 1.0) * fraction(*count, *length))
            }).collect();

            // Each term's postings, one layer.
            let holds = |term: usize| (offset..).zip(&held).filter(move |(_, (counts, ..))| counts[term] > 0);
            let columns: Vec<(Vec<u32>, Vec<u8>, Vec<u16>)> = (0..WEIGHTS.len()).map(|term| {
                let posting = |(document, (counts, length, _)): (u32, &([u8; 3], u16, bool))| {
                    (document, (counts[term], *length))
                };
                let (documents, (counts, lengths)): (Vec<u32>, (Vec<u8>, Vec<u16>)) = holds(term).map(posting).unzip();
                (documents, counts, lengths)
            }).collect();
            let mut terms: Vec<Term<'_>> = columns.iter().zip(WEIGHTS).map(|((documents, counts, lengths), weight)| {
                Term { hash: 0, weight, rest: vec![Postings { documents, counts, lengths }] }
            }).collect();
            let mut allowed = Bitmap::default();
            (offset..).zip(&held).filter(|(_, (.., open))| *open).for_each(|(document, _)| allowed.insert(document));
            let allowed = filtered.then_some(&allowed);

            let (mut scores, mut matched) = (vec![7f32; held.len()], vec![7u32; held.len()]);
            let mut best = Best::new(limit, u64::from);
            let cut = scores.chunks_mut(block).zip(matched.chunks_mut(block));
            for (first, (scores, matched)) in (offset..).step_by(block).zip(cut) {
                let mut block = Block::new(0, first, mean, scores, matched);
                // The last one as one of two ways, of which the other is never held.
                let (single, last) = terms.split_at_mut(2);
                single.iter_mut().enumerate().for_each(|(bit, term)| block.add_term(term, 1 << bit));
                let rest = std::mem::take(&mut last[0].rest);
                let mut ways = [vec![Term { hash: 0, weight: WEIGHTS[2], rest }], Vec::new()];
                block.add_best_way(&mut ways, 4);
                last[0].rest = std::mem::take(&mut ways[0][0].rest);
                block.offer(allowed, &mut best);
            }
            for ((expected, score), (counts, ..)) in expected.iter().zip(&scores).zip(&held) {
                prop_assert!((expected - score).abs() < 1e-4, "{} instead of {}", score, expected);
                prop_assert_eq!(*score > 0.0, counts.iter().any(|count| *count > 0));
            }
            for (matched, (counts, ..)) in matched.iter().zip(&held) {
                let bits = counts.iter().enumerate().map(|(bit, count)| u32::from(*count > 0) << bit);
                prop_assert_eq!(*matched, bits.sum::<u32>());
            }
            let mut sorted: Vec<(u32, f32)> = (offset..).zip(scores).zip(&held)
                .filter(|((_, score), (.., open))| *score > 0.0 && (*open || !filtered))
                .map(|(scored, _)| scored)
                .collect();
            sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            sorted.truncate(limit);
            prop_assert_eq!(best.finish(), sorted);
        }
    }
}
