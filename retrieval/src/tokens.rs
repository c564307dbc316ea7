//! Tokens with a vector each, by which [soft matching](crate::arms::soft) compares words.

/// A fixed vocabulary of word pieces with a vector each. It is the same for every namespace and every embedding model.
pub trait TokenVectors: Send + Sync {
    /// Returns the identity of the vocabulary. Every index stores it, because token numbers of two vocabularies cannot
    /// be compared.
    fn identity(&self) -> &str;

    /// Returns the number of tokens in the vocabulary.
    fn token_count(&self) -> usize;

    /// Returns the tokens of a text in order, with repeats.
    fn tokens(&self, text: &str) -> Vec<u16>;

    /// Whether a token is a content word or a part of one, not punctuation or a stop word.
    fn is_content(&self, token: u16) -> bool;

    /// Begins to load what [`TokenVectors::cosine`] reads of a token. Only a hint.
    fn prefetch(&self, _token: u16) {}

    /// Returns the cosine of two tokens' vectors.
    fn cosine(&self, a: u16, b: u16) -> f32;
}

/// A vocabulary without tokens, for tests.
#[cfg(test)]
pub(crate) struct NoTokens;

#[cfg(test)]
impl TokenVectors for NoTokens {
    fn identity(&self) -> &str {
        "none"
    }

    fn token_count(&self) -> usize {
        0
    }

    fn tokens(&self, _: &str) -> Vec<u16> {
        Vec::new()
    }

    fn is_content(&self, _: u16) -> bool {
        false
    }

    fn cosine(&self, _: u16, _: u16) -> f32 {
        0.0
    }
}
