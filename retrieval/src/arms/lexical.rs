//! The lexical arm: BM25, a term at a time.
//!
//! Every posting of the query's terms is added to a score for each document, so that the score of any document is known
//! afterwards, not of the best alone: ranking asks for those of a candidate's neighbours. Postings are read in order and
//! scores fit the cache, so that this takes less than looking for documents to leave out.
//!
//! The scores are BM25's (k1 = 1.2, b = 0.75; Robertson and Zaragoza, 2009) over the memories that are current. A
//! document's terms are added in one order, whatever the order in which memories were written, so that the sums are the
//! same to the last bit after a rebuild.

use std::cell::RefCell;

use crate::filter::Bitmap;
use crate::hash::{Kind, hash};
use crate::index::{Layer, Postings, Table};
use crate::kernels::prefetch_at;
use crate::text;
use crate::vocabulary::Synonyms;

const K1: f32 = 1.2;
const B: f32 = 0.75;
/// A query is asked by its rarest terms, at most so many: one bit each in a mask.
const TERMS_MAX: usize = 32;
/// Postings that are scored together.
const TOGETHER: usize = 32;
/// Documents that are looked through together; 64 is a multiple of it.
const LOOKED_AT: usize = 16;

/// What the lexical arm knows after it has run.
#[derive(Default)]
pub(crate) struct LexicalScores {
    /// By document.
    tallies: Vec<Tally>,
    /// The weight (idf) of each part of the query that the namespace knows, in the order of the bits.
    weights: Vec<f32>,
    /// Their sum.
    weight: f32,
    /// What a memory holding every part of the query, saturated, would score.
    pub(crate) ceiling: f32,
    /// The weight of the parts that no memory holds, against that of all.
    pub(crate) unknown: f32,
}

/// What a document has of the query; nothing but zeros where nothing matches.
#[derive(Clone, Copy, Default)]
struct Tally {
    score: f32,
    /// One bit for each of [`LexicalScores::weights`].
    matched: u32,
}

thread_local! {
    /// The array of the last query on this thread, so that a large one is not made for each.
    static SPARE: RefCell<Vec<Tally>> = const { RefCell::new(Vec::new()) };
}

impl Drop for LexicalScores {
    fn drop(&mut self) {
        let tallies = std::mem::take(&mut self.tallies);
        // Not at the end of a thread, when there is nobody to keep it for.
        let _ = SPARE.try_with(|spare| spare.replace(tallies));
    }
}

/// A term that some memory holds.
struct Term<'a> {
    hash: u64,
    weight: f32,
    /// One for each layer.
    postings: Vec<Postings<'a>>,
}

/// A part of the query: any one of its ways of writing counts as the whole.
struct Part {
    ways: Vec<Vec<u64>>,
}

impl LexicalScores {
    /// Scores every memory that holds a term of the query, or of another way of writing a part of it.
    pub(crate) fn of(table: &Table, query: &str, synonyms: &[Synonyms]) -> Self {
        let mut known = Vec::new();
        let (mut known_weight, mut unknown_weight, mut ceiling) = (0.0, 0.0, 0.0);
        let memories = table.live() as f32;
        for part in parts(query, synonyms) {
            let ways: Vec<Vec<Term<'_>>> = part.ways.iter().map(|way| known_terms(table, way)).collect();
            // Any one way counts as the whole, so the part weighs what its best way does.
            let weight = ways.iter().map(|way| way.iter().map(|term| term.weight).sum::<f32>()).fold(0.0, f32::max);
            if weight > 0.0 {
                known_weight += weight;
                ceiling += weight * (K1 + 1.0);
                known.push((weight, ways));
            } else {
                unknown_weight += idf(memories, 0.0);
            }
        }
        // The heaviest first; the hashes settle ties, and the order in which every document's score is summed.
        known.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| first_term(&a.1).cmp(&first_term(&b.1))));
        known.truncate(TERMS_MAX);

        let mut tallies = SPARE.take();
        tallies.resize(table.len(), Tally::default());
        let mean = table.mean_length();
        // A layer at a time, whose scores and lengths stay in the cache meanwhile.
        for (at, layer) in table.layers().iter().enumerate() {
            let range = layer.range();
            let scored = Scored { at, layer, mean };
            let Some(tallies) = tallies.get_mut(range.start as usize..range.end as usize) else { continue };
            tallies.fill(Tally::default());
            for (bit, (_, ways)) in known.iter().enumerate() {
                match ways.as_slice() {
                    [way] if way.len() == 1 => scored.add_term(&way[0], tallies, 1 << bit),
                    ways => scored.add_best_way(ways, tallies, 1 << bit),
                }
            }
        }
        let all = known_weight + unknown_weight;
        let weights: Vec<f32> = known.iter().map(|(weight, _)| *weight).collect();
        Self {
            tallies,
            weight: weights.iter().sum(),
            weights,
            ceiling,
            unknown: if all > 0.0 { unknown_weight / all } else { 0.0 },
        }
    }

    /// The BM25 score of a document.
    pub(crate) fn score(&self, document: u32) -> f32 {
        self.tallies.get(document as usize).copied().unwrap_or_default().score
    }

    /// Which parts of the query a document holds.
    pub(crate) fn matched(&self, document: u32) -> u32 {
        self.tallies.get(document as usize).copied().unwrap_or_default().matched
    }

    /// Has the processor fetch what is known of a document.
    pub(crate) fn prefetch(&self, document: u32) {
        prefetch_at(&self.tallies, document as usize);
    }

    /// How many parts of the query some memory holds.
    pub(crate) fn parts(&self) -> usize {
        self.weights.len()
    }

    /// The weight of some parts against the weight of all that some memory holds, from 0 to 1.
    pub(crate) fn coverage(&self, mut parts: u32) -> f32 {
        let mut held = 0.0;
        while parts != 0 {
            held += self.weights.get(parts.trailing_zeros() as usize).copied().unwrap_or_default();
            parts &= parts - 1;
        }
        if self.weight > 0.0 { held / self.weight } else { 0.0 }
    }

    /// The best documents that the filter lets through, best first; `order` settles ties.
    pub(crate) fn best(&self, allowed: Option<&Bitmap>, limit: usize, order: impl Fn(u32) -> u64) -> Vec<(u32, f32)> {
        let mut best = Best::new(limit, order);
        for (at, tallies) in self.tallies.chunks(LOOKED_AT).enumerate() {
            let first = at * LOOKED_AT;
            // Most hold nothing that is allowed or among the best; a sum instead of an early end compares several at a
            // time.
            let floor = best.floor;
            if allowed.is_some_and(|allowed| !allowed.any(first..first + LOOKED_AT))
                || tallies.iter().map(|tally| u32::from(tally.score > floor)).sum::<u32>() == 0
            {
                continue;
            }
            for (document, tally) in (first as u32..).zip(tallies) {
                if tally.score > best.floor && allowed.is_none_or(|allowed| allowed.contains(document)) {
                    best.push(document, tally.score);
                }
            }
        }
        best.finish()
    }
}

/// The parts of a query: every term for itself, and what has synonyms as one part with several ways.
fn parts(query: &str, synonyms: &[Synonyms]) -> Vec<Part> {
    let terms = |text: &str| {
        let mut terms = Vec::new();
        text::for_each_term(text, |term| terms.push(hash(Kind::Term, term)));
        terms.sort_unstable();
        terms.dedup();
        terms
    };
    let mut parts = Vec::new();
    let mut rest = String::new();
    let mut at = 0;
    for part in synonyms {
        rest.push_str(query.get(at..part.range.start).unwrap_or_default());
        rest.push(' ');
        at = part.range.end;
        let written = query.get(part.range.clone()).unwrap_or_default();
        let ways = std::iter::once(written).chain(part.forms.iter().map(String::as_str)).map(terms);
        parts.push(Part { ways: ways.filter(|way| !way.is_empty()).collect() });
    }
    rest.push_str(query.get(at..).unwrap_or_default());
    parts.extend(terms(&rest).into_iter().map(|term| Part { ways: vec![vec![term]] }));
    parts
}

/// The terms of a way that some memory holds.
fn known_terms<'a>(table: &'a Table, way: &[u64]) -> Vec<Term<'a>> {
    let memories = table.live() as f32;
    let term = |hash: &u64| {
        let postings: Vec<Postings<'_>> = table.layers().iter().map(|layer| layer.postings(*hash)).collect();
        let frequency = table.frequency(*hash, &postings);
        (frequency > 0).then(|| Term { hash: *hash, weight: idf(memories, frequency as f32), postings })
    };
    way.iter().filter_map(term).collect()
}

fn first_term(ways: &[Vec<Term<'_>>]) -> Option<u64> {
    ways.iter().flatten().map(|term| term.hash).next()
}

/// The inverse document frequency, never negative.
pub(crate) fn idf(documents: f32, frequency: f32) -> f32 {
    (1.0 + (documents - frequency + 0.5) / (frequency + 0.5)).ln()
}

/// A layer whose documents are scored.
struct Scored<'a> {
    /// Which layer it is.
    at: usize,
    layer: &'a Layer,
    /// The mean length of a memory in terms.
    mean: f32,
}

impl Scored<'_> {
    fn add_term(&self, term: &Term<'_>, tallies: &mut [Tally], bit: u32) {
        self.for_each_score(term, |at, score| {
            if let Some(tally) = tallies.get_mut(at) {
                tally.score += score;
                tally.matched |= bit;
            }
        });
    }

    /// Adds the best of several ways of writing one part of the query.
    fn add_best_way(&self, ways: &[Vec<Term<'_>>], tallies: &mut [Tally], bit: u32) {
        let mut best = vec![0f32; tallies.len()];
        let mut one = vec![0f32; tallies.len()];
        for way in ways {
            one.fill(0.0);
            for term in way {
                self.for_each_score(term, |at, score| one[at] += score);
            }
            best.iter_mut().zip(&one).for_each(|(best, one)| *best = best.max(*one));
        }
        for (tally, best) in tallies.iter_mut().zip(best) {
            if best > 0.0 {
                tally.score += best;
                tally.matched |= bit;
            }
        }
    }

    /// Tells the place in the layer and the score of each document that holds a term.
    fn for_each_score(&self, term: &Term<'_>, mut take: impl FnMut(usize, f32)) {
        // BM25's fraction with what all postings share taken out, so that one division is left.
        let (most, fixed, by_length) = (term.weight * (K1 + 1.0), K1 * (1.0 - B), K1 * B / self.mean);
        let (first, lengths) = (self.layer.first(), self.layer.lengths());
        let Some(postings) = term.postings.get(self.at) else { return };
        let mut scores = [0f32; TOGETHER];
        for (documents, counts) in postings.documents.chunks(TOGETHER).zip(postings.counts.chunks(TOGETHER)) {
            // The lengths first, so that the divisions are done several at a time.
            for (score, document) in scores.iter_mut().zip(documents) {
                *score = lengths[(document - first) as usize] as f32;
            }
            for (score, count) in scores.iter_mut().zip(counts) {
                let count = f32::from(*count);
                *score = most * count / (count + fixed + by_length * *score);
            }
            documents.iter().zip(&scores).for_each(|(document, score)| take((document - first) as usize, *score));
        }
    }
}

/// Keeps the best of many scores.
pub(crate) struct Best<F> {
    kept: Vec<(u32, f32)>,
    limit: usize,
    /// What does not exceed this is not among the best.
    pub(crate) floor: f32,
    order: F,
}

impl<F: Fn(u32) -> u64> Best<F> {
    pub(crate) fn new(limit: usize, order: F) -> Self {
        Self::above(0.0, limit, order)
    }

    /// Those that exceed a least score.
    pub(crate) fn above(least: f32, limit: usize, order: F) -> Self {
        Self { kept: Vec::new(), limit, floor: least, order }
    }

    pub(crate) fn push(&mut self, document: u32, score: f32) {
        self.kept.push((document, score));
        if self.kept.len() >= 4 * self.limit.max(1) {
            self.shrink();
        }
    }

    /// Drops all but the best, and raises the floor to the last of them.
    fn shrink(&mut self) {
        if self.limit == 0 {
            self.kept.clear();
        } else if self.kept.len() > self.limit {
            let (_, last, _) = self.kept.select_nth_unstable_by(self.limit - 1, by_score(&self.order));
            // A score that equals the last may still win by its order.
            self.floor = last.1.next_down().max(self.floor);
            self.kept.truncate(self.limit);
        }
    }

    /// The best, best first.
    pub(crate) fn finish(mut self) -> Vec<(u32, f32)> {
        self.shrink();
        self.kept.sort_unstable_by(by_score(&self.order));
        self.kept
    }
}

/// Best first, ties by `order`.
fn by_score(order: impl Fn(u32) -> u64) -> impl FnMut(&(u32, f32), &(u32, f32)) -> std::cmp::Ordering {
    move |a, b| b.1.total_cmp(&a.1).then_with(|| order(a.0).cmp(&order(b.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_best_are_kept_whatever_the_order(scores in proptest::collection::vec(0u8..8, 0..200), limit in 1usize..9) {
            let mut best = Best::new(limit, |document| u64::from(document ^ 5));
            let mut all: Vec<(u32, f32)> = (0..).zip(scores.iter().map(|score| f32::from(*score))).collect();
            for (document, score) in &all {
                if *score > best.floor {
                    best.push(*document, *score);
                }
            }
            all.retain(|(_, score)| *score > 0.0);
            all.sort_by(|a, b| b.1.total_cmp(&a.1).then((a.0 ^ 5).cmp(&(b.0 ^ 5))));
            all.truncate(limit);
            prop_assert_eq!(best.finish(), all);
        }
    }
}
