//! The scores of a block of documents. All terms are added to one block before the next block begins.
//!
//! The scores of a block therefore stay in the processor's own cache, and the best are selected while they are there.

use crate::arms::bm25::PostingScore;
use crate::bitmap::Bitmap;
use crate::hash::{PathHash, TermHash};
use crate::ids::DocumentId;
use crate::index::Postings;
use crate::top_k::{Scored, TopK};

/// Documents of a block; their scores take a quarter of a megabyte.
pub(super) const BLOCK_DOCUMENTS: usize = 1 << 15;
/// Postings that are scored in one step.
const POSTINGS_PER_STEP: usize = 32;
/// Documents that are compared with the floor in one step; divides 64.
const DOCUMENTS_PER_STEP: usize = 16;

/// A term of the query that at least one memory holds.
pub(super) struct QueryTerm<'a> {
    pub(super) term: TermHash,
    pub(super) weight: f32,
    /// The postings in each layer that belong to the present or a later block.
    pub(super) rest: Vec<Postings<'a>>,
}

/// The scores of consecutive documents of one layer. Inside a block, documents are plain numbers.
pub(super) struct ScoreBlock<'a> {
    layer: usize,
    /// The number of the first document.
    first: u32,
    /// The mean length of a memory in words that have terms.
    mean_length: f32,
    scores: &'a mut [f32],
    /// For each document, one bit for each part of the query.
    matched: &'a mut [u32],
}

/// The scores of a block's documents by the wordings of one part of the query. All are zero between two parts.
#[derive(Default)]
pub(super) struct WordingScores {
    /// The scores by the present wording.
    present: Vec<f32>,
    /// The best scores by the wordings before.
    best: Vec<f32>,
    /// The documents whose scores are not zero.
    present_documents: Vec<usize>,
    best_documents: Vec<usize>,
}

impl WordingScores {
    pub(super) const fn new() -> Self {
        Self { present: Vec::new(), best: Vec::new(), present_documents: Vec::new(), best_documents: Vec::new() }
    }

    /// Makes room for the documents of a block.
    fn grow(&mut self, count: usize) {
        if self.present.len() < count {
            self.present.resize(count, 0.0);
            self.best.resize(count, 0.0);
        }
    }

    /// Adds the score of a term of the present wording.
    fn add(&mut self, index: usize, score: f32) {
        if self.present[index] == 0.0 {
            self.present_documents.push(index);
        }
        self.present[index] += score;
    }

    /// Merges the scores of the present wording into the best ones.
    fn end_wording(&mut self) {
        for index in self.present_documents.drain(..) {
            let score = std::mem::take(&mut self.present[index]);
            if self.best[index] == 0.0 {
                self.best_documents.push(index);
            }
            self.best[index] = self.best[index].max(score);
        }
    }
}

impl<'a> ScoreBlock<'a> {
    /// Resets the scores of the documents from `first` on.
    pub(super) fn new(
        layer: usize,
        first: u32,
        mean_length: f32,
        scores: &'a mut [f32],
        matched: &'a mut [u32],
    ) -> Self {
        scores.fill(0.0);
        matched.fill(0);
        Self { layer, first, mean_length, scores, matched }
    }

    /// Adds the scores of a term that is a whole part of the query.
    pub(super) fn add_term(&mut self, term: &mut QueryTerm<'_>, bit: u32) {
        let Self { layer, first, mean_length, .. } = *self;
        for_each_score(term, layer, first, self.scores.len(), mean_length, |index, score| {
            if let (Some(sum), Some(matched)) = (self.scores.get_mut(index), self.matched.get_mut(index)) {
                *sum += score;
                *matched |= bit;
            }
        });
    }

    /// Adds, for each document, the score of the best of several wordings of one part of the query. Takes time in
    /// proportion to the postings: many words of languages other than English have two wordings.
    pub(super) fn add_best_wording(
        &mut self,
        wordings: &mut [Vec<QueryTerm<'_>>],
        bit: u32,
        wording_scores: &mut WordingScores,
    ) {
        let count = self.scores.len();
        wording_scores.grow(count);
        for wording in wordings {
            for term in wording {
                for_each_score(term, self.layer, self.first, count, self.mean_length, |index, score| {
                    wording_scores.add(index, score);
                });
            }
            wording_scores.end_wording();
        }
        let WordingScores { best, best_documents, .. } = wording_scores;
        for index in best_documents.drain(..) {
            self.scores[index] += std::mem::take(&mut best[index]);
            self.matched[index] |= bit;
        }
    }

    /// Offers the scores of the allowed documents.
    pub(super) fn offer_to(&self, top: &mut TopK<impl Fn(DocumentId) -> PathHash>, allowed: Option<&Bitmap>) {
        let first = self.first as usize;
        // The first step ends at a multiple of the step size, so that no later step crosses a word of the bitmap.
        let aligned = first.next_multiple_of(DOCUMENTS_PER_STEP) - first;
        let (begin, rest) = self.scores.split_at(self.scores.len().min(aligned));
        let mut first = first;
        for scores in [begin].into_iter().filter(|begin| !begin.is_empty()).chain(rest.chunks(DOCUMENTS_PER_STEP)) {
            let documents = first..first + scores.len();
            first = documents.end;
            // Most steps hold no allowed document above the floor. The sum, unlike an early exit, vectorises.
            let floor = top.floor();
            if allowed.is_some_and(|allowed| !allowed.any(documents.clone()))
                || scores.iter().map(|score| u32::from(*score > floor)).sum::<u32>() == 0
            {
                continue;
            }
            for (number, score) in (documents.start as u32..).zip(scores) {
                let document = DocumentId::new(number);
                if *score > floor && allowed.is_none_or(|allowed| allowed.contains(document)) {
                    top.offer(Scored { document, score: *score });
                }
            }
        }
    }
}

/// Calls `take` with the index and the score of each of the `count` documents from `first` on that hold the term, and
/// removes their postings from the rest. Blocks must be processed in order.
fn for_each_score(
    term: &mut QueryTerm<'_>,
    layer: usize,
    first: u32,
    count: usize,
    mean_length: f32,
    mut take: impl FnMut(usize, f32),
) {
    let posting_score = PostingScore::new(term.weight, mean_length);
    let Some(rest) = term.rest.get_mut(layer) else { return };
    let end = first + count as u32;
    let mut scores = [0f32; POSTINGS_PER_STEP];
    loop {
        let next = &rest.documents[..rest.documents.len().min(POSTINGS_PER_STEP)];
        let here = match next.last() {
            Some(last) if last.get() < end => next.len(),
            _ => next.partition_point(|document| document.get() < end),
        };
        let (documents, counts, lengths) = (&next[..here], &rest.counts[..here], &rest.lengths[..here]);
        // Scores are computed before they are added, so that the compiler vectorises the divisions.
        for ((score, count), length) in scores.iter_mut().zip(counts).zip(lengths) {
            *score = posting_score.of(f32::from(*count), f32::from(*length));
        }
        documents.iter().zip(&scores).for_each(|(document, score)| take((document.get() - first) as usize, *score));
        rest.skip(here);
        if here < POSTINGS_PER_STEP {
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
        fn scores_and_best_documents_do_not_depend_on_the_block_size(
            held in proptest::collection::vec((proptest::array::uniform3(0..4u8), 1..90u16, any::<bool>()), 1..300),
            offset in 0..200u32, block in 1..150usize, limit in 1..9usize, filtered: bool,
        ) {
            let mean_length = 20.0;
            // The formula as it is published: k1 = 1.2, b = 0.75.
            let fraction = |count: u8, length: u16| {
                let (count, length) = (f32::from(count), f32::from(length));
                count / (count + 1.2 * (0.25 + 0.75 * length / mean_length))
            };
            let expected: Vec<f32> = held.iter().map(|(counts, length, _)| {
                let terms = counts.iter().zip(WEIGHTS).filter(|(count, _)| **count > 0);
                terms.fold(0.0, |sum, (count, weight)| sum + weight * 2.2 * fraction(*count, *length))
            }).collect();

            // Each term's postings, one layer.
            let holds = |term: usize| (offset..).zip(&held).filter(move |(_, (counts, ..))| counts[term] > 0);
            let columns: Vec<(Vec<DocumentId>, Vec<u8>, Vec<u16>)> = (0..WEIGHTS.len()).map(|term| {
                let posting = |(document, (counts, length, _)): (u32, &([u8; 3], u16, bool))| {
                    (DocumentId::new(document), (counts[term], *length))
                };
                let (documents, (counts, lengths)): (Vec<DocumentId>, (Vec<u8>, Vec<u16>)) =
                    holds(term).map(posting).unzip();
                (documents, counts, lengths)
            }).collect();
            let mut terms = Vec::new();
            for ((documents, counts, lengths), weight) in columns.iter().zip(WEIGHTS) {
                let rest = vec![Postings { documents, counts, lengths }];
                terms.push(QueryTerm { term: TermHash::of_number(0), weight, rest });
            }
            let mut allowed = Bitmap::default();
            (offset..).zip(&held).filter(|(_, (.., open))| *open)
                .for_each(|(document, _)| allowed.insert(DocumentId::new(document)));
            let allowed = filtered.then_some(&allowed);

            let (mut scores, mut matched) = (vec![7f32; held.len()], vec![7u32; held.len()]);
            let path = |document: DocumentId| PathHash::of_number(u64::from(document.get()));
            let mut top = TopK::new(limit, path);
            let mut wording_scores = WordingScores::new();
            let cut = scores.chunks_mut(block).zip(matched.chunks_mut(block));
            for (first, (scores, matched)) in (offset..).step_by(block).zip(cut) {
                let mut block = ScoreBlock::new(0, first, mean_length, scores, matched);
                // The last term as one of two wordings, of which no document holds the other.
                let (single, last) = terms.split_at_mut(2);
                single.iter_mut().enumerate().for_each(|(bit, term)| block.add_term(term, 1 << bit));
                let rest = std::mem::take(&mut last[0].rest);
                let last_term = QueryTerm { term: TermHash::of_number(0), weight: WEIGHTS[2], rest };
                let mut wordings = [vec![last_term], Vec::new()];
                block.add_best_wording(&mut wordings, 4, &mut wording_scores);
                last[0].rest = std::mem::take(&mut wordings[0][0].rest);
                block.offer_to(&mut top, allowed);
            }
            for ((expected, score), (counts, ..)) in expected.iter().zip(&scores).zip(&held) {
                prop_assert!((expected - score).abs() < 1e-4, "{} instead of {}", score, expected);
                prop_assert_eq!(*score > 0.0, counts.iter().any(|count| *count > 0));
            }
            for (matched, (counts, ..)) in matched.iter().zip(&held) {
                let bits = counts.iter().enumerate().map(|(bit, count)| u32::from(*count > 0) << bit);
                prop_assert_eq!(*matched, bits.sum::<u32>());
            }
            let mut sorted: Vec<Scored> = (offset..).zip(scores).zip(&held)
                .filter(|((_, score), (.., open))| *score > 0.0 && (*open || !filtered))
                .map(|((document, score), _)| Scored { document: DocumentId::new(document), score })
                .collect();
            sorted.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.document.cmp(&b.document)));
            sorted.truncate(limit);
            prop_assert_eq!(top.finish(), sorted);
        }
    }
}
