//! Usage counts of each model over all runs, and the folders of local models.

use serde::{Deserialize, Serialize};

use super::store::{Store, decode, encode};
use crate::error::{Error, Result};
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

    /// Returns the records of all models with their identities, ordered by identity. Logs and omits records that cannot
    /// be decoded.
    pub fn models(&self) -> Result<Vec<(String, ModelRecord)>> {
        let mut models = Vec::new();
        for (key, value) in self.kv.scan(Column::Models, b"", None, usize::MAX)? {
            match decode(Column::Models, &value) {
                Ok(model) => models.push((String::from_utf8_lossy(&key).into_owned(), model)),
                Err(error) => tracing::error!(%error, "cannot decode the record of a model"),
            }
        }
        Ok(models)
    }

    /// Adds the counts of `added` to the record of a model, and sets its folder if `added` has one. Buffered: a loss of
    /// power may lose the newest counts. Concurrent additions add up.
    pub fn add_to_model(&self, identity: &str, added: &ModelRecord) -> Result<()> {
        loop {
            let stored = self.kv.get(Column::Models, identity.as_bytes())?;
            let mut record = match &stored {
                Some(bytes) => decode(Column::Models, bytes)?,
                None => ModelRecord::default(),
            };
            record.add(added);
            let mut batch = Batch::new();
            batch.expect(Column::Models, identity, stored);
            batch.put(Column::Models, identity, encode(&record)?);
            match self.kv.write(&batch, Durability::Buffered) {
                // Another process added to it.
                Err(Error::ConditionFailed { .. }) => {}
                outcome => return outcome,
            }
        }
    }
}

impl ModelRecord {
    fn add(&mut self, added: &Self) {
        let Self { folder, calls, failures, prompt_tokens, completion_tokens } = added;
        if folder.is_some() {
            self.folder.clone_from(folder);
        }
        self.calls = self.calls.saturating_add(*calls);
        self.failures = self.failures.saturating_add(*failures);
        self.prompt_tokens = self.prompt_tokens.saturating_add(*prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(*completion_tokens);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::key_value::{Engine, MemoryEngine};

    #[test]
    fn a_model_that_cannot_be_decoded_does_not_hide_others() {
        let store = Store::in_memory().expect("creates");
        store.add_to_model("a", &ModelRecord::default()).expect("adds");
        let mut batch = Batch::new();
        batch.put(Column::Models, "b", b"garbage".to_vec());
        store.kv.write(&batch, Durability::Buffered).expect("writes");
        assert_eq!(store.models().expect("reads"), [("a".to_owned(), ModelRecord::default())]);
    }

    #[test]
    fn calls_that_processes_add_at_once_add_up() {
        let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
        let first = Store::open_shared(Arc::clone(&engine)).expect("opens");
        let second = Store::open_shared(engine).expect("opens");
        let call = ModelRecord { calls: 1, prompt_tokens: 7, completion_tokens: 2, ..ModelRecord::default() };
        std::thread::scope(|scope| {
            for store in [&first, &second] {
                let call = &call;
                scope.spawn(move || {
                    for _ in 0..100 {
                        store.add_to_model("m", call).expect("adds");
                    }
                });
            }
            let folder = ModelRecord { folder: Some("/models/m".into()), failures: 1, ..ModelRecord::default() };
            first.add_to_model("m", &folder).expect("adds");
        });
        let expected = ModelRecord {
            folder: Some("/models/m".into()),
            calls: 200,
            failures: 1,
            prompt_tokens: 1400,
            completion_tokens: 400,
        };
        assert_eq!(second.model("m").expect("reads"), Some(expected));
    }
}
