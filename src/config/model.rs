//! The embedding model and the chat model that the settings select.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;

use super::builtin_model::BuiltInModel;
use super::endpoint::EndpointSettings;
use super::precision::Precision;
use super::secret::Secret;
use super::settings::{ModelValues, ReaderValues, setting};
use super::values::missing;

/// Attempts of one call to a hosted model.
const CALL_ATTEMPTS: u32 = 3;

/// The models for embedding, extraction and answers: `model.*`.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// `model.embedding`, `model.local` or `model.builtin`: the embedding model. Default: the built-in model of the data
    /// directory.
    pub embedding: EmbeddingChoice,
    /// `model.chat`: the chat model. Default `None`: the built-in extractor.
    pub chat: Option<ChatSettings>,
    /// `model.base_url` with its key and limits. Default `None`.
    pub endpoint: Option<EndpointSettings>,
    /// `model.embedding_deadline_ms`: how long a retrieval waits for the vector of its query.
    pub embedding_deadline: Duration,
    /// `model.read_budget_ms`: how long the reader may take for a query.
    pub read_budget: Duration,
    /// `model.timeout_ms`: time limit of any other call, retries included.
    pub call_time: Duration,
}

/// A chat model behind an endpoint.
#[derive(Clone, Debug)]
pub struct ChatSettings {
    /// The endpoint: `model.chat_base_url` if it is set, otherwise `model.base_url`.
    pub endpoint: EndpointSettings,
    /// The name of the model.
    pub model: String,
}

/// The embedding model.
#[derive(Clone, Debug)]
pub enum EmbeddingChoice {
    /// A model in the binary; `None` for that of the data directory.
    BuiltIn(Option<BuiltInModel>),
    /// An encoder that runs in the server process.
    Local {
        /// The folder with its files.
        folder: PathBuf,
        /// `model.local_precision`: the precision of its linear layers.
        precision: Precision,
    },
    /// A model behind an endpoint.
    Hosted {
        /// The endpoint.
        endpoint: EndpointSettings,
        /// The name of the model.
        model: String,
    },
}

impl ModelSettings {
    /// Checks that the settings agree with each other.
    pub(super) fn new(values: ModelValues, reader: &ReaderValues) -> anyhow::Result<Self> {
        let (timeout, concurrency) = (values.timeout, values.concurrency);
        let endpoint = endpoint_at(values.base_url.clone(), values.api_key.clone(), timeout, concurrency);
        let chat_url = values.chat_base_url.clone();
        let chat_endpoint = match endpoint_at(chat_url, values.chat_api_key.clone(), timeout, concurrency) {
            Some(chat_endpoint) => Some(chat_endpoint),
            None => endpoint.clone(),
        };
        Ok(Self {
            embedding: embedding(&values, endpoint.as_ref())?,
            chat: chat(values.chat, chat_endpoint)?,
            embedding_deadline: values.embedding_deadline,
            read_budget: reader.read_budget,
            call_time: timeout,
            endpoint,
        })
    }
}

/// Returns the endpoint at a URL; `None` without a URL.
fn endpoint_at(
    base_url: Option<String>,
    api_key: Secret,
    timeout: Duration,
    concurrency: NonZeroUsize,
) -> Option<EndpointSettings> {
    let base_url = base_url?;
    Some(EndpointSettings { base_url, api_key, attempts: CALL_ATTEMPTS, timeout, concurrency: concurrency.get() })
}

fn chat(model: Option<String>, endpoint: Option<EndpointSettings>) -> anyhow::Result<Option<ChatSettings>> {
    let Some(model) = model else { return Ok(None) };
    let Some(endpoint) = endpoint else { return Err(missing(&setting::model::base_url, &setting::model::chat)) };
    Ok(Some(ChatSettings { endpoint, model }))
}

fn embedding(values: &ModelValues, endpoint: Option<&EndpointSettings>) -> anyhow::Result<EmbeddingChoice> {
    match (&values.embedding, &values.local) {
        (Some(_), Some(_)) => {
            let (embedding, local) = (setting::model::embedding.key, setting::model::local.key);
            bail!("settings {embedding} and {local}: set one of them, not both")
        }
        (Some(model), None) => match endpoint {
            Some(endpoint) => Ok(EmbeddingChoice::Hosted { endpoint: endpoint.clone(), model: model.clone() }),
            None => Err(missing(&setting::model::base_url, &setting::model::embedding)),
        },
        (None, Some(folder)) => {
            Ok(EmbeddingChoice::Local { folder: folder.clone(), precision: values.local_precision })
        }
        (None, None) => Ok(EmbeddingChoice::BuiltIn(values.builtin)),
    }
}
