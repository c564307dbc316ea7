//! The settings that an index is built for.

use crate::tokens::TokenVectors;

/// The beginning of the identity of the built-in encoder. Its vectors say little of other languages than English, which
/// ranking takes into account.
pub const ENCODER_IDENTITY: &str = "built-in-encoder:";

/// The settings that an index is built for. An index of other settings must be rebuilt.
#[derive(Clone)]
pub struct IndexSettings {
    /// The length of every vector.
    pub dimensions: usize,
    /// The identity of the embedding model.
    pub model: String,
    /// The vocabulary that words are compared by.
    pub tokens: &'static dyn TokenVectors,
}
