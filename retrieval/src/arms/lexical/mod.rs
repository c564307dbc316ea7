//! The lexical arm: BM25, one term after the other over a [`block`] of documents.
//!
//! Every posting of the query's terms is added to a score for each document. The score of any document is known
//! afterwards, not only that of the best: ranking reads the scores of a candidate's neighbours. Postings are read in
//! order and the scores fit into the cache, so this takes less time than deciding which documents to skip.
//!
//! The statistics of [`bm25`](super::bm25) are those of the current memories. A memory of more than 65,535 terms counts
//! as that long. A document's terms are always added in the same order, whatever the order in which memories were
//! written, so that a rebuilt index returns the same sums to the last bit.

mod block;

use std::cell::RefCell;
use std::collections::HashSet;

use self::block::{BLOCK_DOCUMENTS, QueryTerm, ScoreBlock};
use super::bm25::{idf, saturated};
use crate::bitmap::Bitmap;
use crate::hash::{PathHash, PostingKey, TermHash};
use crate::ids::DocumentId;
use crate::index::{Postings, Table};
use crate::kernels::prefetch_at;
use crate::query::Query;
use crate::text::for_each_term;
use crate::top_k::{Scored, TopK};
use crate::vocabulary::Synonyms;

/// Limit of the query's parts that are scored, the heaviest first: each has one bit in a mask.
const PARTS_MAX: usize = 32;

/// The scores of all documents for one query.
#[derive(Default)]
pub(crate) struct LexicalScores {
    tallies: Tallies,
    /// The weight (idf) of each part of the query that some memory holds, in the order of the bits.
    weights: Vec<f32>,
    /// The sum of the weights.
    weight: f32,
    /// The limit of the score of a memory that holds every part of the query ever more often.
    pub(crate) ceiling: f32,
    /// The share of the query's weight in parts that no memory holds.
    pub(crate) unknown_share: f32,
}

/// What each document holds of the query; all zeros where nothing matches.
#[derive(Default)]
struct Tallies {
    scores: Vec<f32>,
    /// One bit for each of [`LexicalScores::weights`].
    matched: Vec<u32>,
}

thread_local! {
    /// The arrays of this thread's last query, which the next query reuses instead of allocating large ones.
    static SPARE: RefCell<Tallies> = const { RefCell::new(Tallies { scores: Vec::new(), matched: Vec::new() }) };
}

impl Drop for LexicalScores {
    fn drop(&mut self) {
        let tallies = std::mem::take(&mut self.tallies);
        // Fails only while the thread ends, when no further query can reuse them.
        let _ = SPARE.try_with(|spare| spare.replace(tallies));
    }
}

/// A part of the query: a memory that holds any one of its wordings holds the part.
struct QueryPart {
    /// The terms of each wording.
    wordings: Vec<Vec<TermHash>>,
    /// Whether the part is a word of a date: a memory of that date need not contain it.
    names_time: bool,
}

/// A part of the query that some memory holds.
struct KnownPart<'a> {
    /// The weight of the heaviest wording.
    weight: f32,
    wordings: Vec<Vec<QueryTerm<'a>>>,
}

/// The parts of the query that some memory holds, and the weights of all parts.
#[derive(Default)]
struct WeightedParts<'a> {
    known: Vec<KnownPart<'a>>,
    known_weight: f32,
    unknown_weight: f32,
    ceiling: f32,
}

impl LexicalScores {
    /// Scores every memory that holds a part of the query. Also returns the allowed documents with the highest scores.
    pub(crate) fn compute(
        table: &Table,
        query: &Query<'_>,
        allowed: Option<&Bitmap>,
        mut top: TopK<impl Fn(DocumentId) -> PathHash>,
    ) -> (Self, Vec<Scored>) {
        let WeightedParts { mut known, known_weight, unknown_weight, ceiling } = weighted_parts(table, query);
        // The heaviest first, ties by hash. This is the order in which every document's score is summed.
        known.sort_by(|a, b| {
            b.weight.total_cmp(&a.weight).then_with(|| first_term(&a.wordings).cmp(&first_term(&b.wordings)))
        });
        known.truncate(PARTS_MAX);

        let mut tallies = SPARE.take();
        tallies.scores.resize(table.len(), 0.0);
        tallies.matched.resize(table.len(), 0);
        let mean_length = table.mean_length();
        for (index, layer) in table.layers().iter().enumerate() {
            let end = layer.end().index();
            for first in (layer.first().index()..end).step_by(BLOCK_DOCUMENTS) {
                let range = first..(first + BLOCK_DOCUMENTS).min(end);
                let (scores, matched) = (&mut tallies.scores[range.clone()], &mut tallies.matched[range]);
                let mut block = ScoreBlock::new(index, first as u32, mean_length, scores, matched);
                for (bit, part) in known.iter_mut().enumerate() {
                    match part.wordings.as_mut_slice() {
                        [wording] if wording.len() == 1 => block.add_term(&mut wording[0], 1 << bit),
                        wordings => block.add_best_wording(wordings, 1 << bit),
                    }
                }
                block.offer_to(&mut top, allowed);
            }
        }
        let all_weight = known_weight + unknown_weight;
        let weights: Vec<f32> = known.iter().map(|part| part.weight).collect();
        let scores = Self {
            tallies,
            weight: weights.iter().sum(),
            weights,
            ceiling,
            unknown_share: if all_weight > 0.0 { unknown_weight / all_weight } else { 0.0 },
        };
        (scores, top.finish())
    }

    /// Returns the BM25 score of a document.
    pub(crate) fn score(&self, document: DocumentId) -> f32 {
        self.tallies.scores.get(document.index()).copied().unwrap_or_default()
    }

    /// Returns the parts of the query that a document holds, as bits.
    pub(crate) fn matched(&self, document: DocumentId) -> u32 {
        self.tallies.matched.get(document.index()).copied().unwrap_or_default()
    }

    /// Prefetches what [`LexicalScores::score`] and [`LexicalScores::matched`] read.
    pub(crate) fn prefetch(&self, document: DocumentId) {
        prefetch_at(&self.tallies.scores, document.index());
        prefetch_at(&self.tallies.matched, document.index());
    }

    /// Returns the number of parts of the query that some memory holds.
    pub(crate) fn part_count(&self) -> usize {
        self.weights.len()
    }

    /// Returns the share of the weight of these parts in the weight of all that some memory holds, from 0 to 1.
    pub(crate) fn coverage(&self, mut parts: u32) -> f32 {
        let mut held = 0.0;
        while parts != 0 {
            if let Some(weight) = self.weights.get(parts.trailing_zeros() as usize) {
                held += weight;
            }
            parts &= parts - 1;
        }
        if self.weight > 0.0 { held / self.weight } else { 0.0 }
    }
}

/// Looks up the parts of a query in the index and weighs them.
fn weighted_parts<'a>(table: &'a Table, query: &Query<'_>) -> WeightedParts<'a> {
    let memories = table.live() as f32;
    let mut parts = WeightedParts::default();
    for part in query_parts(query) {
        let wordings: Vec<Vec<QueryTerm<'_>>> =
            part.wordings.iter().map(|wording| known_terms(table, wording)).collect();
        let mut weight = 0f32;
        for wording in &wordings {
            weight = weight.max(wording.iter().map(|term| term.weight).sum());
        }
        if weight > 0.0 {
            parts.known_weight += weight;
            parts.ceiling += saturated(weight);
            parts.known.push(KnownPart { weight, wordings });
        } else if !part.names_time {
            parts.unknown_weight += idf(memories, 0.0);
        }
    }
    parts
}

/// Splits a query into parts: each range with synonyms, with a wording per synonym, and every other term on its own.
fn query_parts(query: &Query<'_>) -> Vec<QueryPart> {
    let text = query.text;
    let mut parts = Vec::new();
    let mut rest = String::new();
    let mut end = 0;
    for synonyms in query.synonyms {
        if let Some(between) = text.get(end..synonyms.range.start) {
            rest.push_str(between);
        }
        rest.push(' ');
        end = synonyms.range.end;
        parts.push(QueryPart { wordings: wordings(text, synonyms), names_time: false });
    }
    if let Some(tail) = text.get(end..) {
        rest.push_str(tail);
    }
    let time_terms = time_terms(query);
    for term in terms_of(&rest) {
        parts.push(QueryPart { wordings: vec![vec![term]], names_time: time_terms.contains(&term) });
    }
    parts
}

/// Returns the terms of each wording of a range with synonyms: as it is written, then the other forms.
fn wordings(text: &str, synonyms: &Synonyms) -> Vec<Vec<TermHash>> {
    let mut wordings = Vec::with_capacity(1 + synonyms.forms.len());
    let written = text.get(synonyms.range.clone()).unwrap_or_default();
    for wording in std::iter::once(written).chain(synonyms.forms.iter().map(String::as_str)) {
        let terms = terms_of(wording);
        if !terms.is_empty() {
            wordings.push(terms);
        }
    }
    wordings
}

/// Returns the terms of the words that name times.
fn time_terms(query: &Query<'_>) -> HashSet<TermHash> {
    let mut terms = HashSet::new();
    for range in query.time_words {
        if let Some(words) = query.text.get(range.clone()) {
            terms.extend(terms_of(words));
        }
    }
    terms
}

/// Returns a text's terms, ascending, without duplicates.
fn terms_of(text: &str) -> Vec<TermHash> {
    let mut terms = Vec::new();
    for_each_term(text, |term| terms.push(TermHash::of(term)));
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Returns the terms of a wording that some memory holds.
fn known_terms<'a>(table: &'a Table, wording: &[TermHash]) -> Vec<QueryTerm<'a>> {
    let memories = table.live() as f32;
    let mut terms = Vec::new();
    for term in wording {
        let key = PostingKey::from(*term);
        let postings: Vec<Postings<'_>> = table.layers().iter().map(|layer| layer.postings(key)).collect();
        let frequency = table.frequency(*term, &postings);
        if frequency > 0 {
            terms.push(QueryTerm { term: *term, weight: idf(memories, frequency as f32), rest: postings });
        }
    }
    terms
}

fn first_term(wordings: &[Vec<QueryTerm<'_>>]) -> Option<TermHash> {
    wordings.iter().flatten().map(|term| term.term).next()
}

#[cfg(test)]
mod bm25_tantivy;
