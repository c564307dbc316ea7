//! The lexical arm: BM25, a [`block`] of documents and a term at a time.
//!
//! Every posting of the query's terms is added to a score for each document, so that the score of any document is known
//! afterwards, not of the best alone: ranking asks for those of a candidate's neighbours. Postings are read in order and
//! scores fit the cache, so that this takes less than looking for documents to leave out.
//!
//! The scores are BM25's (k1 = 1.2, b = 0.75; Robertson and Zaragoza, 2009) over the memories that are current; one of
//! more than 65,535 terms counts as that long. A document's terms are added in one order, whatever the order in which
//! memories were written, so that the sums are the same to the last bit after a rebuild.

mod block;

use std::cell::RefCell;
use std::collections::HashSet;

use self::block::{BLOCK_DOCUMENTS, Block, K1, Term};
use super::best::Best;
use crate::filter::Bitmap;
use crate::hash::{Kind, hash};
use crate::index::{Postings, Table};
use crate::kernels::prefetch_at;
use crate::search::Query;
use crate::text::for_each_term;

/// A query is asked by its rarest terms, at most so many: one bit each in a mask.
const TERMS_MAX: usize = 32;

/// What the lexical arm knows after it has run.
#[derive(Default)]
pub(crate) struct LexicalScores {
    /// What each document has of the query.
    tallies: Tallies,
    /// The weight (idf) of each part of the query that the namespace knows, in the order of the bits.
    weights: Vec<f32>,
    /// Their sum.
    weight: f32,
    /// What a memory holding every part of the query, saturated, would score.
    pub(crate) ceiling: f32,
    /// The weight of the parts that no memory holds, against that of all.
    pub(crate) unknown: f32,
}

/// What each document has of the query; nothing but zeros where nothing matches.
#[derive(Default)]
struct Tallies {
    scores: Vec<f32>,
    /// One bit for each of [`LexicalScores::weights`].
    matched: Vec<u32>,
}

thread_local! {
    /// The arrays of the last query on this thread, so that large ones are not made for each.
    static SPARE: RefCell<Tallies> = const { RefCell::new(Tallies { scores: Vec::new(), matched: Vec::new() }) };
}

impl Drop for LexicalScores {
    fn drop(&mut self) {
        let tallies = std::mem::take(&mut self.tallies);
        // Not at the end of a thread, when there is nobody to keep it for.
        let _ = SPARE.try_with(|spare| spare.replace(tallies));
    }
}

/// A part of the query: any one of its ways of writing counts as the whole.
struct Part {
    ways: Vec<Vec<u64>>,
    /// Whether it is a word of a date: a memory of then that does not write it lacks nothing.
    names_time: bool,
}

impl LexicalScores {
    /// Scores every memory that holds a term of the query, or of another way of writing a part of it, and tells the best
    /// of those that the filter lets through.
    pub(crate) fn of(
        table: &Table,
        query: &Query<'_>,
        allowed: Option<&Bitmap>,
        mut best: Best<impl Fn(u32) -> u64>,
    ) -> (Self, Vec<(u32, f32)>) {
        let mut known = Vec::new();
        let (mut known_weight, mut unknown_weight, mut ceiling) = (0.0, 0.0, 0.0);
        let memories = table.live() as f32;
        for part in parts(query) {
            let ways: Vec<Vec<Term<'_>>> = part.ways.iter().map(|way| known_terms(table, way)).collect();
            // Any one way counts as the whole, so the part weighs what its best way does.
            let weight = ways.iter().map(|way| way.iter().map(|term| term.weight).sum::<f32>()).fold(0.0, f32::max);
            if weight > 0.0 {
                known_weight += weight;
                ceiling += weight * (K1 + 1.0);
                known.push((weight, ways));
            } else if !part.names_time {
                unknown_weight += idf(memories, 0.0);
            }
        }
        // The heaviest first; the hashes settle ties, and the order in which every document's score is summed.
        known.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| first_term(&a.1).cmp(&first_term(&b.1))));
        known.truncate(TERMS_MAX);

        let mut tallies = SPARE.take();
        tallies.scores.resize(table.len(), 0.0);
        tallies.matched.resize(table.len(), 0);
        let mean = table.mean_length();
        for (at, layer) in table.layers().iter().enumerate() {
            let documents = layer.range();
            for first in documents.clone().step_by(BLOCK_DOCUMENTS) {
                let range = first as usize..(first as usize + BLOCK_DOCUMENTS).min(documents.end as usize);
                let (scores, matched) = (&mut tallies.scores[range.clone()], &mut tallies.matched[range]);
                let mut block = Block::new(at, first, mean, scores, matched);
                for (bit, (_, ways)) in known.iter_mut().enumerate() {
                    match ways.as_mut_slice() {
                        [way] if way.len() == 1 => block.add_term(&mut way[0], 1 << bit),
                        ways => block.add_best_way(ways, 1 << bit),
                    }
                }
                block.offer(allowed, &mut best);
            }
        }
        let all = known_weight + unknown_weight;
        let weights: Vec<f32> = known.iter().map(|(weight, _)| *weight).collect();
        let scores = Self {
            tallies,
            weight: weights.iter().sum(),
            weights,
            ceiling,
            unknown: if all > 0.0 { unknown_weight / all } else { 0.0 },
        };
        (scores, best.finish())
    }

    /// The BM25 score of a document.
    pub(crate) fn score(&self, document: u32) -> f32 {
        self.tallies.scores.get(document as usize).copied().unwrap_or_default()
    }

    /// Which parts of the query a document holds.
    pub(crate) fn matched(&self, document: u32) -> u32 {
        self.tallies.matched.get(document as usize).copied().unwrap_or_default()
    }

    /// Has the processor fetch what is known of a document.
    pub(crate) fn prefetch(&self, document: u32) {
        prefetch_at(&self.tallies.scores, document as usize);
        prefetch_at(&self.tallies.matched, document as usize);
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
}

/// The parts of a query: every term for itself, and what has synonyms as one part with several ways.
fn parts(query: &Query<'_>) -> Vec<Part> {
    let text = query.text;
    let terms = |text: &str| {
        let mut terms = Vec::new();
        for_each_term(text, |term| terms.push(hash(Kind::Term, term)));
        terms.sort_unstable();
        terms.dedup();
        terms
    };
    let mut parts = Vec::new();
    let mut rest = String::new();
    let mut at = 0;
    for part in query.synonyms {
        rest.push_str(text.get(at..part.range.start).unwrap_or_default());
        rest.push(' ');
        at = part.range.end;
        let written = text.get(part.range.clone()).unwrap_or_default();
        let ways = std::iter::once(written).chain(part.forms.iter().map(String::as_str)).map(terms);
        parts.push(Part { ways: ways.filter(|way| !way.is_empty()).collect(), names_time: false });
    }
    rest.push_str(text.get(at..).unwrap_or_default());
    let of_time = query.time_words.iter().filter_map(|words| text.get(words.clone()));
    let of_time: HashSet<u64> = of_time.flat_map(terms).collect();
    let part = |term| Part { names_time: of_time.contains(&term), ways: vec![vec![term]] };
    parts.extend(terms(&rest).into_iter().map(part));
    parts
}

/// The terms of a way that some memory holds.
fn known_terms<'a>(table: &'a Table, way: &[u64]) -> Vec<Term<'a>> {
    let memories = table.live() as f32;
    let term = |hash: &u64| {
        let postings: Vec<Postings<'_>> = table.layers().iter().map(|layer| layer.postings(*hash)).collect();
        let frequency = table.frequency(*hash, &postings);
        (frequency > 0).then(|| Term { hash: *hash, weight: idf(memories, frequency as f32), rest: postings })
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
