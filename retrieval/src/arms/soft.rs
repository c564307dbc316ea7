//! Soft matching: for every word piece of the query, the nearest piece that a memory holds.
//!
//! The sum of those cosines, weighted by how rare each of the query's pieces is here, is the late interaction of ColBERT
//! (Khattab and Zaharia, 2020) over vectors that know no context. It sees that "puppy" answers "dog" where the terms
//! share nothing and the sum of all words hides it.

use super::lexical::idf;
use crate::index::{Document, Table};
use crate::tokens::TokenVectors;

/// A query is matched by its rarest pieces, at most so many.
const TOKENS_MAX: usize = 24;
/// Cosines stand in rows of a multiple of so many, so that they are compared several at a time.
const LANES: usize = 8;
/// A piece that was not met yet.
const UNMET: u16 = u16::MAX;

/// A query's pieces.
pub(crate) struct SoftMatch<'a> {
    vectors: &'a dyn TokenVectors,
    /// The query's pieces with their share of the weight.
    query: Vec<(u16, f32)>,
}

/// The pieces that were met so far, with their cosines to a query's. Each thread has its own.
#[derive(Default)]
pub(crate) struct Met {
    /// For each piece of the vocabulary, the number of its row in `cosines`.
    rows: Vec<u16>,
    /// A row for each piece met: its cosines to the query's pieces, then zeros.
    cosines: Vec<[f32; LANES]>,
}

/// The best cosine to each of a query's pieces, of one memory or of several; zeros beyond the last piece.
#[derive(Clone, Copy, Default)]
pub(crate) struct Nearest([[f32; LANES]; TOKENS_MAX / LANES]);

impl Nearest {
    /// Takes in what another memory holds.
    pub(crate) fn join(&mut self, other: &Self) {
        let pairs = self.0.as_flattened_mut().iter_mut().zip(other.0.as_flattened());
        pairs.for_each(|(best, cosine)| *best = best.max(*cosine));
    }
}

impl<'a> SoftMatch<'a> {
    pub(crate) fn new(table: &Table, vectors: &'a dyn TokenVectors, query: &str) -> Self {
        let mut tokens = vectors.tokens(query);
        tokens.retain(|token| vectors.tells(*token));
        tokens.sort_unstable();
        tokens.dedup();
        let memories = table.live() as f32;
        let weight = |token: &u16| idf(memories, table.token_frequency(*token) as f32);
        let mut query: Vec<(u16, f32)> = tokens.iter().map(|token| (*token, weight(token))).collect();
        query.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        query.truncate(TOKENS_MAX);
        let all: f32 = query.iter().map(|(_, weight)| weight).sum();
        query.iter_mut().for_each(|(_, weight)| *weight /= all);
        Self { vectors, query }
    }

    /// The best cosine of a document's pieces to each of the query's.
    pub(crate) fn of(&self, document: Document<'_>, met: &mut Met) -> Nearest {
        met.rows.resize(self.vectors.vocabulary(), UNMET);
        let mut best = Nearest::default();
        let lanes = self.query.len().div_ceil(LANES);
        for token in document.tokens() {
            let row = match met.rows.get(usize::from(*token)) {
                Some(&UNMET) => self.meet(*token, met),
                Some(row) => usize::from(*row),
                None => continue,
            };
            for (best, cosines) in best.0.iter_mut().zip(&met.cosines[row * lanes..(row + 1) * lanes]) {
                best.iter_mut().zip(cosines).for_each(|(best, cosine)| *best = best.max(*cosine));
            }
        }
        best
    }

    /// The weighted mean of best cosines, and that of their squares, from 0 to 1.
    pub(crate) fn mean(&self, best: &Nearest) -> (f32, f32) {
        let (mut mean, mut squares) = (0.0, 0.0);
        for ((_, weight), cosine) in self.query.iter().zip(best.0.as_flattened()) {
            mean += weight * cosine;
            squares += weight * cosine * cosine;
        }
        (mean, squares)
    }

    fn meet(&self, token: u16, met: &mut Met) -> usize {
        let lanes = self.query.len().div_ceil(LANES);
        let row = met.cosines.len() / lanes.max(1);
        for wanted in self.query.chunks(LANES) {
            let mut cosines = [0.0; LANES];
            let pairs = cosines.iter_mut().zip(wanted);
            pairs.for_each(|(cosine, (wanted, _))| *cosine = self.vectors.cosine(*wanted, token).min(1.0));
            met.cosines.push(cosines);
        }
        if let Some(known) = met.rows.get_mut(usize::from(token)) {
            *known = row as u16;
        }
        row
    }
}
