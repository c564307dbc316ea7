//! Models: what turns text into vectors.
//!
//! [`Embedder`] is what the rest of the server sees; [`static_table`] is the built-in one, a table of token vectors
//! compiled into the binary that needs no file, no key and no network.

pub mod static_table;

pub use static_table::StaticTable;

/// The dimensions of an embedding as the service speaks of it. A model may fill only a prefix; the rest is zero.
pub const DIMENSIONS: usize = 1024;

/// Turns texts into unit vectors, the same way for cues and for queries.
pub trait Embedder: Send + Sync {
    /// Which model this is; kept with every index, since vectors of two models cannot be compared.
    fn identity(&self) -> &str;

    /// How many leading dimensions of [`DIMENSIONS`] it fills; the others are always zero and are not stored.
    fn filled_dimensions(&self) -> usize;

    /// The filled dimensions of a text's vector, of unit length; all zero for a text that holds nothing it knows.
    fn embed(&self, text: &str) -> Vec<f32>;
}

impl<T: Embedder + ?Sized> Embedder for &T {
    fn identity(&self) -> &str {
        (**self).identity()
    }

    fn filled_dimensions(&self) -> usize {
        (**self).filled_dimensions()
    }

    fn embed(&self, text: &str) -> Vec<f32> {
        (**self).embed(text)
    }
}
