//! Models: what turns text into vectors.
//!
//! [`Embedder`] is what the rest of the server sees; [`static_table`] is the built-in one, a table of token vectors
//! compiled into the binary that needs no file, no key and no network.

pub mod static_table;

use cuebase_retrieval::IndexSettings;
pub use static_table::{StaticTable, TableError};

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

/// What a namespace's index is made for: the model's vectors, and the built-in table to compare words by.
pub fn index_settings(embedder: &dyn Embedder) -> Result<IndexSettings, TableError> {
    let tokens = StaticTable::built_in()?;
    Ok(IndexSettings { dimensions: embedder.filled_dimensions(), model: embedder.identity().to_owned(), tokens })
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
