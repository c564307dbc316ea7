//! The interface of embedding models.

use super::deadline::Deadline;
use super::error::ModelError;

/// A model that turns texts into unit vectors, in the same way for cues and for queries.
pub trait Embedder: Send + Sync {
    /// Returns the identity of the model. It is stored with every index, since vectors of two models cannot be
    /// compared.
    fn identity(&self) -> &str;

    /// Returns how many leading dimensions of [`DIMENSIONS`](super::DIMENSIONS) the model fills. The others are always
    /// zero and are not stored.
    fn filled_dimensions(&self) -> usize;

    /// Returns whether a vector takes microseconds. Vectors of such a model are not stored, and no caller waits for
    /// them.
    fn is_immediate(&self) -> bool {
        false
    }

    /// Returns whether writes are committed without the model's vectors, which follow in the background.
    fn is_deferred(&self) -> bool {
        false
    }

    /// Returns whether the model is called over the network, so that the caller's thread waits idle.
    fn is_remote(&self) -> bool {
        false
    }

    /// Returns the filled dimensions of each text's vector, in order, of unit length. A text without anything that the
    /// model knows has a vector of zeros.
    fn embed(&self, texts: &[&str], deadline: Deadline) -> Result<Vec<Vec<f32>>, ModelError>;
}

impl<T: Embedder + ?Sized> Embedder for &T {
    fn identity(&self) -> &str {
        (**self).identity()
    }

    fn filled_dimensions(&self) -> usize {
        (**self).filled_dimensions()
    }

    fn is_immediate(&self) -> bool {
        (**self).is_immediate()
    }

    fn is_deferred(&self) -> bool {
        (**self).is_deferred()
    }

    fn is_remote(&self) -> bool {
        (**self).is_remote()
    }

    fn embed(&self, texts: &[&str], deadline: Deadline) -> Result<Vec<Vec<f32>>, ModelError> {
        (**self).embed(texts, deadline)
    }
}
