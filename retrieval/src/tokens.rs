//! Word pieces with a vector each: what [soft matching](crate::arms::soft) compares words by.

/// A fixed vocabulary of word pieces, each with a direction. The same for every namespace and every embedding model.
pub trait TokenVectors: Send + Sync {
    /// Which vocabulary this is; kept with every index, since numbers of two vocabularies cannot be compared.
    fn identity(&self) -> &str;

    /// How many tokens there are.
    fn vocabulary(&self) -> usize;

    /// The tokens of a text in order, with repeats.
    fn tokens(&self, text: &str) -> Vec<u16>;

    /// Whether a token carries a subject: punctuation and stop words do not.
    fn tells(&self, token: u16) -> bool;

    /// The cosine of two tokens' vectors.
    fn cosine(&self, a: u16, b: u16) -> f32;
}
