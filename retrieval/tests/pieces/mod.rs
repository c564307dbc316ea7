//! What the engine's tests share: word pieces that are whole words, and how a query is put.

use cuebase_retrieval::{Filter, Query, TokenVectors};

/// A vocabulary of a few words.
pub(crate) struct Pieces {
    /// The words; a text holds those that it contains.
    pub(crate) words: &'static [&'static str],
    /// How like each word is to the one before and after it; to the others not at all.
    pub(crate) nearness: f32,
}

impl TokenVectors for Pieces {
    fn identity(&self) -> &str {
        "pieces"
    }

    fn vocabulary(&self) -> usize {
        self.words.len()
    }

    fn tokens(&self, text: &str) -> Vec<u16> {
        (0..self.words.len()).filter(|n| text.contains(self.words[*n])).map(|n| n as u16).collect()
    }

    fn tells(&self, _: u16) -> bool {
        true
    }

    fn cosine(&self, a: u16, b: u16) -> f32 {
        match a.abs_diff(b) {
            0 => 1.0,
            1 => self.nearness,
            _ => 0.0,
        }
    }
}

/// Asks for as many hits as there may be, at the beginning of time, when nothing has expired.
pub(crate) fn query<'a>(text: &'a str, vector: &'a [f32], filter: &'a Filter) -> Query<'a> {
    Query {
        text,
        synonyms: &[],
        vector: Some(vector),
        times: &[],
        time_words: &[],
        filter,
        min_score: 0.0,
        limit: 200,
        now: 0,
        exact: false,
    }
}
