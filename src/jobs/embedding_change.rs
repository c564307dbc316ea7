//! The change of the built-in embedding model: to which one, and how fast.

use cuebase_storage::NamespaceKey;
use cuebase_storage::records::EmbeddingRecord;
use serde::{Deserialize, Serialize};

use super::Jobs;
use super::components::JobComponents;
use super::reembedding::needs;
use crate::config::BuiltInModel;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::namespace::pace::Pace;

/// What to change. What is `None` stays as it is.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct EmbeddingChange {
    /// The built-in model.
    pub model: Option<BuiltInModel>,
    /// How much of a processor core may compute vectors meanwhile, in percent.
    pub share_percent: Option<u8>,
    /// Whether no vectors are computed meanwhile.
    pub is_paused: Option<bool>,
    /// Whether the change is only checked.
    #[serde(default)]
    pub is_trial: bool,
}

impl Jobs {
    /// Returns the record of the built-in model; `None` if another model is configured.
    pub fn built_in_record(&self) -> Result<Option<EmbeddingRecord>> {
        Ok(self.components.models.built_in_record()?)
    }

    /// Returns the namespaces that need vectors according to their records and indexes. In a running server it is those of
    /// [`Self::backlog`].
    pub fn namespaces_in_need(&self) -> Result<Vec<NamespaceKey>> {
        let JobComponents { store, namespaces, models, .. } = &self.components;
        let mut found = Vec::new();
        for (key, need) in needs(store, namespaces, models)? {
            if need.is_some() {
                found.push(key);
            }
        }
        Ok(found)
    }

    /// Changes the built-in model or the pace of its change. The namespaces are embedded again in the background, and serve
    /// their former vectors until then.
    ///
    /// # Errors
    ///
    /// If a setting says which model is used, or if several nodes have to use the same one.
    pub fn change_embedding(&self, change: EmbeddingChange) -> Result<EmbeddingRecord> {
        let components = &self.components;
        if components.store.is_shared() {
            return Err(refused(
                "nodes share the data, and all need the same model: stop them, set model.builtin for all of them, and \
                 start them again",
            ));
        }
        let Some(mut record) = components.models.built_in_record()? else {
            return Err(refused(
                "the embedding model is not a built-in one: model.embedding or model.local selects it. Remove the setting \
                 and restart the server first",
            ));
        };
        if let Some(model) = change.model {
            if let Some(configured) = components.models.configured_built_in()
                && configured != model
            {
                let configured = configured.name();
                return Err(refused(format!(
                    "the setting model.builtin says {configured}: change or remove it, and restart the server"
                )));
            }
            model.name().clone_into(&mut record.builtin);
        }
        record.share_percent = change.share_percent.unwrap_or(record.share_percent);
        record.is_paused = change.is_paused.unwrap_or(record.is_paused);
        if change.is_trial {
            return Ok(record);
        }
        components.models.use_built_in(&record).map_err(Error::internal)?;
        components.backlog.set_pace(Pace::from(&record));
        components.backlog.model_changed();
        Ok(record)
    }
}

fn refused(message: impl Into<String>) -> Error {
    Error::invalid(ErrorCode::InvalidParameter, message.into())
}
