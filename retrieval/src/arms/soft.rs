//! Soft matching: for every word piece of the query, the nearest piece that a memory holds.
//!
//! The sum of those cosines, weighted by how rare each of the query's pieces is here, is the late interaction of ColBERT
//! (Khattab and Zaharia, 2020) over vectors that know no context. It sees that "puppy" answers "dog" where the terms
//! share nothing and the sum of all words hides it.

use std::collections::HashMap;

use super::lexical::idf;
use crate::index::Table;
use crate::tokens::TokenVectors;

/// A query is matched by its rarest pieces, at most so many.
const TOKENS_MAX: usize = 24;

/// A query's pieces, with their cosines to the pieces met so far.
pub(crate) struct SoftMatch<'a> {
    table: &'a Table,
    vectors: &'a dyn TokenVectors,
    /// The query's pieces with their share of the weight.
    query: Vec<(u16, f32)>,
    /// For each piece met, where its cosines begin: one for each of the query's pieces.
    met: HashMap<u16, u32, ahash::RandomState>,
    cosines: Vec<f32>,
}

impl<'a> SoftMatch<'a> {
    pub(crate) fn new(table: &'a Table, vectors: &'a dyn TokenVectors, query: &str) -> Self {
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
        Self { table, vectors, query, met: HashMap::default(), cosines: Vec::new() }
    }

    /// The weighted mean of the best cosines of a document's pieces, and that of their squares, from 0 to 1.
    pub(crate) fn of(&mut self, document: u32) -> (f32, f32) {
        let mut best = [0f32; TOKENS_MAX];
        let width = self.query.len();
        let Some(held) = self.table.document(document) else { return (0.0, 0.0) };
        for token in held.tokens() {
            let from = match self.met.get(token) {
                Some(from) => *from as usize,
                None => self.meet(*token),
            };
            let cosines = &self.cosines[from..from + width];
            best.iter_mut().zip(cosines).for_each(|(best, cosine)| *best = best.max(*cosine));
        }
        let (mut mean, mut squares) = (0.0, 0.0);
        for ((_, weight), cosine) in self.query.iter().zip(best) {
            mean += weight * cosine;
            squares += weight * cosine * cosine;
        }
        (mean, squares)
    }

    fn meet(&mut self, token: u16) -> usize {
        let from = self.cosines.len();
        self.cosines.extend(self.query.iter().map(|(wanted, _)| self.vectors.cosine(*wanted, token).min(1.0)));
        self.met.insert(token, from as u32);
        from
    }
}
