//! Shared by the engine's tests: a vocabulary whose tokens are whole words, and a query with defaults.

use cuebase_language::claims::AskedClaims;
use cuebase_retrieval::{Currency, Explain, Filter, Query, TokenVectors};

/// A vocabulary of a few words.
pub(crate) struct Pieces {
    /// The words. Each is a token of every text that contains it.
    pub(crate) words: &'static [&'static str],
    /// The cosine of a word to the words before and after it in the list; to other words it is zero.
    pub(crate) nearness: f32,
}

impl TokenVectors for Pieces {
    fn identity(&self) -> &str {
        "pieces"
    }

    fn token_count(&self) -> usize {
        self.words.len()
    }

    fn tokens(&self, text: &str) -> Vec<u16> {
        (0..self.words.len()).filter(|n| text.contains(self.words[*n])).map(|n| n as u16).collect()
    }

    fn is_content(&self, _: u16) -> bool {
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

/// A query for up to 200 hits at time zero, when no memory has expired.
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
        as_of: None,
        currency: Currency::First,
        asked: AskedClaims::NONE,
        user: None,
        exact: false,
        explain: Explain::No,
        reranker: None,
    }
}
