//! How much each model was called, over all runs, and what is needed to call it again.

use serde::{Deserialize, Serialize};

use super::{Store, decode, encode};
use crate::error::Result;
use crate::key_value::{Batch, Column, Durability};

/// What is known of a model that was used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRecord {
    /// The folder of a local one, so that it can serve until another has taken its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Calls that were answered.
    #[serde(default)]
    pub calls: u64,
    /// Calls that were not.
    #[serde(default)]
    pub failures: u64,
    /// Tokens that went in, as the provider counts.
    #[serde(default)]
    pub prompt_tokens: u64,
    /// Tokens that came out.
    #[serde(default)]
    pub completion_tokens: u64,
}

impl Store {
    /// What is known of a model by its identity.
    pub fn model(&self, identity: &str) -> Result<Option<ModelRecord>> {
        let found = self.kv.get(Column::Models, identity.as_bytes())?;
        found.map(|bytes| decode(Column::Models, &bytes)).transpose()
    }

    /// Everything that is known of models, by identity.
    pub fn models(&self) -> Result<Vec<(String, ModelRecord)>> {
        let entries = self.kv.scan(Column::Models, b"", None, usize::MAX)?;
        let entry = |(key, value): (Vec<u8>, Vec<u8>)| {
            Ok((String::from_utf8_lossy(&key).into_owned(), decode(Column::Models, &value)?))
        };
        entries.into_iter().map(entry).collect()
    }

    /// Notes what is known of a model. Buffered: counts of the last moments may be lost with the power.
    pub fn put_model(&self, identity: &str, record: &ModelRecord) -> Result<()> {
        let mut batch = Batch::new();
        batch.put(Column::Models, identity, encode(record)?);
        self.kv.write(&batch, Durability::Buffered)
    }
}
