//! Usage counts of each model over all runs, and the folders of local models.

use serde::{Deserialize, Serialize};

use super::store::{Store, decode, encode};
use crate::error::Result;
use crate::key_value::{Batch, Column, Durability};

/// A model that was used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRecord {
    /// The folder of a local model, so that it can serve until another model replaces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Number of successful calls.
    #[serde(default)]
    pub calls: u64,
    /// Number of failed calls.
    #[serde(default)]
    pub failures: u64,
    /// Input tokens, as counted by the provider.
    #[serde(default)]
    pub prompt_tokens: u64,
    /// Output tokens, as counted by the provider.
    #[serde(default)]
    pub completion_tokens: u64,
}

impl Store {
    /// Returns the record of a model.
    pub fn model(&self, identity: &str) -> Result<Option<ModelRecord>> {
        self.get_record(Column::Models, identity.as_bytes())
    }

    /// Returns the records of all models with their identities, ordered by identity.
    pub fn models(&self) -> Result<Vec<(String, ModelRecord)>> {
        let mut models = Vec::new();
        for (key, value) in self.kv.scan(Column::Models, b"", None, usize::MAX)? {
            let identity = String::from_utf8_lossy(&key).into_owned();
            models.push((identity, decode(Column::Models, &value)?));
        }
        Ok(models)
    }

    /// Writes the record of a model. Buffered: a loss of power may lose the newest counts.
    pub fn put_model(&self, identity: &str, record: &ModelRecord) -> Result<()> {
        let mut batch = Batch::new();
        batch.put(Column::Models, identity, encode(record)?);
        self.kv.write(&batch, Durability::Buffered)
    }
}
