//! The settings of an index for a model.

use cuebase_retrieval::IndexSettings;

use super::embedder::Embedder;
use super::static_table::{StaticTable, TableError};

/// Returns the settings of an index with the vectors of a model. Words are compared with the built-in table.
pub fn index_settings(model: &dyn Embedder) -> Result<IndexSettings, TableError> {
    let tokens = StaticTable::built_in()?;
    Ok(IndexSettings { dimensions: model.filled_dimensions(), model: model.identity().to_owned(), tokens })
}
