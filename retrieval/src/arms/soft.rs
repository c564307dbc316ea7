//! Soft matching: for every word piece of the query, the nearest word piece that a memory holds.
//!
//! The sum of those cosines, weighted by how rare each of the query's pieces is in the namespace, is the late
//! interaction of ColBERT (Khattab and Zaharia, 2020) over vectors without context. It recognises that "puppy" answers
//! "dog" where the texts share no term and the sum of all word vectors hides the match.

use super::bm25::idf;
use crate::index::{Document, Table};
use crate::tokens::TokenVectors;

/// Limit of the query's pieces that are matched, the rarest first.
const TOKENS_MAX: usize = 24;
/// Cosines are stored in rows of a multiple of this many, so that they are compared several at a time.
const LANES: usize = 8;
/// Marks a piece without a row of cosines yet.
const NO_ROW: u16 = u16::MAX;

/// The word pieces of a query.
pub(crate) struct SoftMatch<'a> {
    vectors: &'a dyn TokenVectors,
    /// The query's pieces, each with its share of the weight.
    query: Vec<(u16, f32)>,
}

/// A cache of the cosines between memories' pieces and a query's. Each thread has its own.
#[derive(Default)]
pub(crate) struct TokenCosines {
    /// For each piece of the vocabulary, the number of its row in `cosines`.
    rows: Vec<u16>,
    /// For each cached piece, its cosines to the query's pieces, then zeros.
    cosines: Vec<[f32; LANES]>,
}

/// The highest cosine to each of a query's pieces, of one memory or of several; zeros after the last piece.
#[derive(Clone, Copy, Default)]
pub(crate) struct BestCosines([[f32; LANES]; TOKENS_MAX / LANES]);

impl BestCosines {
    /// Takes the higher of both cosines for each of the query's pieces.
    pub(crate) fn merge(&mut self, other: &Self) {
        let pairs = self.0.as_flattened_mut().iter_mut().zip(other.0.as_flattened());
        pairs.for_each(|(best, cosine)| *best = best.max(*cosine));
    }
}

impl<'a> SoftMatch<'a> {
    pub(crate) fn new(table: &Table, vectors: &'a dyn TokenVectors, query: &str) -> Self {
        let mut tokens = vectors.tokens(query);
        tokens.retain(|token| vectors.is_content(*token));
        tokens.sort_unstable();
        tokens.dedup();
        let memories = table.live() as f32;
        let mut query = Vec::with_capacity(tokens.len());
        for token in tokens {
            query.push((token, idf(memories, table.token_frequency(token) as f32)));
        }
        query.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        query.truncate(TOKENS_MAX);
        let all: f32 = query.iter().map(|(_, weight)| weight).sum();
        query.iter_mut().for_each(|(_, weight)| *weight /= all);
        Self { vectors, query }
    }

    /// Begins to load the vectors of a document's pieces, except those whose cosines are known.
    pub(crate) fn prefetch(&self, document: Document<'_>, cache: &TokenCosines) {
        for token in document.tokens() {
            if !matches!(cache.rows.get(usize::from(*token)), Some(row) if *row != NO_ROW) {
                self.vectors.prefetch(*token);
            }
        }
    }

    /// Returns the highest cosine of a document's pieces to each of the query's.
    pub(crate) fn best_cosines(&self, document: Document<'_>, cache: &mut TokenCosines) -> BestCosines {
        cache.rows.resize(self.vectors.token_count(), NO_ROW);
        let mut best = BestCosines::default();
        let lanes = self.query.len().div_ceil(LANES);
        for token in document.tokens() {
            let row = match cache.rows.get(usize::from(*token)) {
                Some(&NO_ROW) => self.add_row(*token, cache),
                Some(row) => usize::from(*row),
                None => continue,
            };
            for (best, cosines) in best.0.iter_mut().zip(&cache.cosines[row * lanes..(row + 1) * lanes]) {
                best.iter_mut().zip(cosines).for_each(|(best, cosine)| *best = best.max(*cosine));
            }
        }
        best
    }

    /// Returns the weighted mean of the cosines, and that of their squares, from 0 to 1.
    pub(crate) fn mean(&self, best: &BestCosines) -> (f32, f32) {
        let (mut mean, mut squares) = (0.0, 0.0);
        for ((_, weight), cosine) in self.query.iter().zip(best.0.as_flattened()) {
            mean += weight * cosine;
            squares += weight * cosine * cosine;
        }
        (mean, squares)
    }

    /// Returns the lowest of the cosines to those of the query's pieces that weigh at least as much as the mean: what of
    /// the query is matched worst. Zero for a query without pieces.
    pub(crate) fn weakest(&self, best: &BestCosines) -> f32 {
        let mean = 1.0 / self.query.len().max(1) as f32;
        let mut weakest: Option<f32> = None;
        for ((_, weight), cosine) in self.query.iter().zip(best.0.as_flattened()) {
            if *weight >= mean && weakest.is_none_or(|weakest| *cosine < weakest) {
                weakest = Some(*cosine);
            }
        }
        weakest.unwrap_or_default()
    }

    /// Computes the cosines of a piece to the query's pieces; returns the number of their row.
    fn add_row(&self, token: u16, cache: &mut TokenCosines) -> usize {
        let lanes = self.query.len().div_ceil(LANES);
        let row = cache.cosines.len() / lanes.max(1);
        for wanted in self.query.chunks(LANES) {
            let mut cosines = [0.0; LANES];
            let pairs = cosines.iter_mut().zip(wanted);
            pairs.for_each(|(cosine, (wanted, _))| *cosine = self.vectors.cosine(*wanted, token).min(1.0));
            cache.cosines.push(cosines);
        }
        if let Some(known) = cache.rows.get_mut(usize::from(token)) {
            *known = row as u16;
        }
        row
    }
}
