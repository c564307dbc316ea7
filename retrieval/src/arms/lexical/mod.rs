//! The lexical arm: BM25, one term after the other over a [`block`] of documents.
//!
//! [`parts`] splits the query and looks its terms up. Every posting of these is added to a score for each document. The
//! score of any document is known afterwards, not only that of the best: ranking reads the scores of a candidate's
//! neighbours. Postings are read in order and the scores fit into the cache, so this takes less time than deciding which
//! documents to skip. [`terms`] computes one document's score again, part by part, to explain it.
//!
//! The statistics of [`bm25`](super::bm25) are those of the current memories. A memory of more than 65,535 terms counts
//! as that long. A document's terms are always added in the same order, whatever the order in which memories were
//! written, so that a rebuilt index returns the same sums to the last bit.

mod block;
mod parts;
pub(crate) mod terms;

use std::cell::RefCell;

use self::block::{BLOCK_DOCUMENTS, ScoreBlock, WordingScores};
use self::parts::{WeightedParts, weighted_parts};
use crate::bitmap::Bitmap;
use crate::hash::PathHash;
use crate::ids::DocumentId;
use crate::index::Table;
use crate::kernels::prefetch_at;
use crate::query::Query;
use crate::top_k::{Scored, TopK};

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
    /// The scores by the wordings of one part, in one block.
    by_wording: WordingScores,
}

impl Tallies {
    const fn new() -> Self {
        Self { scores: Vec::new(), matched: Vec::new(), by_wording: WordingScores::new() }
    }
}

thread_local! {
    /// The arrays of this thread's last query, which the next query reuses instead of allocating large ones.
    static SPARE: RefCell<Tallies> = const { RefCell::new(Tallies::new()) };
}

impl Drop for LexicalScores {
    fn drop(&mut self) {
        let tallies = std::mem::take(&mut self.tallies);
        // Fails only while the thread ends, when no further query can reuse them.
        let _ = SPARE.try_with(|spare| spare.replace(tallies));
    }
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
        let mut tallies = SPARE.take();
        tallies.scores.resize(table.len(), 0.0);
        tallies.matched.resize(table.len(), 0);
        let Tallies { scores: all_scores, matched: all_matched, by_wording } = &mut tallies;
        let mean_length = table.mean_length();
        for (index, layer) in table.layers().iter().enumerate() {
            let end = layer.end().index();
            for first in (layer.first().index()..end).step_by(BLOCK_DOCUMENTS) {
                let range = first..(first + BLOCK_DOCUMENTS).min(end);
                let (scores, matched) = (&mut all_scores[range.clone()], &mut all_matched[range]);
                let mut block = ScoreBlock::new(index, first as u32, mean_length, scores, matched);
                for (bit, part) in known.iter_mut().enumerate() {
                    match part.wordings.as_mut_slice() {
                        [wording] if wording.len() == 1 => block.add_term(&mut wording[0], 1 << bit),
                        wordings => block.add_best_wording(wordings, 1 << bit, by_wording),
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

#[cfg(test)]
mod bm25_tantivy;
