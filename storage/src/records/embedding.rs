//! Which built-in embedding model a data directory has, and how fast it may be replaced by another.

use serde::{Deserialize, Serialize};

use super::store::{Store, encode};
use crate::error::{Error, Result};
use crate::key_value::{Batch, Column, Durability};

/// Key of the embedding record in [`Column::Meta`].
const EMBEDDING_KEY: &[u8] = b"embedding";

/// The built-in embedding model of a data directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbeddingRecord {
    /// The name of the model, as in the setting.
    pub builtin: String,
    /// How much of a processor core may compute vectors when the model is changed, in percent.
    pub share_percent: u8,
    /// Whether no vectors are computed for a changed model at the moment.
    #[serde(default)]
    pub is_paused: bool,
}

impl Store {
    /// Returns the embedding record. `None` if no start stored one yet.
    pub fn embedding(&self) -> Result<Option<EmbeddingRecord>> {
        self.get_record(Column::Meta, EMBEDDING_KEY)
    }

    /// Stores the embedding record. It is durable on return.
    pub fn put_embedding(&self, record: &EmbeddingRecord) -> Result<()> {
        let mut batch = Batch::new();
        batch.put(Column::Meta, EMBEDDING_KEY, encode(record)?);
        self.kv.write(&batch, Durability::Synced)
    }

    /// Stores the embedding record unless there is one. Returns the stored one.
    pub fn put_embedding_if_absent(&self, record: &EmbeddingRecord) -> Result<EmbeddingRecord> {
        loop {
            if let Some(stored) = self.embedding()? {
                return Ok(stored);
            }
            let mut batch = Batch::new();
            batch.put_if_absent(Column::Meta, EMBEDDING_KEY, encode(record)?);
            match self.kv.write(&batch, Durability::Synced) {
                Ok(()) => return Ok(record.clone()),
                // Another process that shares the database stored one in between.
                Err(Error::ConditionFailed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_record_stays_until_it_is_replaced() {
        let store = Store::in_memory().expect("creates");
        let record = |builtin: &str| EmbeddingRecord { builtin: builtin.into(), share_percent: 50, is_paused: false };
        assert_eq!(store.embedding().expect("reads"), None);
        assert_eq!(store.put_embedding_if_absent(&record("encoder")).expect("stores"), record("encoder"));
        assert_eq!(store.put_embedding_if_absent(&record("table")).expect("reads"), record("encoder"));
        store.put_embedding(&record("table")).expect("stores");
        assert_eq!(store.embedding().expect("reads"), Some(record("table")));
    }
}
