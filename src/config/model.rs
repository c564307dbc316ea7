//! Settings of the embedding model and the chat model.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};

use super::endpoint::EndpointSettings;
use super::values::Values;

/// Attempts of one call to a hosted model.
const CALL_ATTEMPTS: u32 = 3;

/// The models for embedding, extraction and answers: `model.*`.
#[derive(Clone)]
pub struct ModelSettings {
    /// `model.embedding` or `model.local`: the embedding model. Default: the built-in table.
    pub embedding: EmbeddingChoice,
    /// `model.chat`: the chat model. Default `None`: the built-in extractor.
    pub chat: Option<ChatSettings>,
    /// `model.base_url` with its key and limits. Default `None`.
    pub endpoint: Option<EndpointSettings>,
    /// `model.embedding_deadline_ms`: how long a retrieval waits for the vector of its query. Default 1 second.
    pub embedding_deadline: Duration,
    /// `model.timeout_ms`: time limit of any other call, retries included. Default 60 seconds.
    pub call_time: Duration,
}

/// A chat model behind an endpoint.
#[derive(Clone)]
pub struct ChatSettings {
    /// The endpoint: `model.chat_base_url` if it is set, otherwise `model.base_url`.
    pub endpoint: EndpointSettings,
    /// The name of the model.
    pub model: String,
}

/// The embedding model.
#[derive(Clone)]
pub enum EmbeddingChoice {
    /// The table compiled into the binary.
    BuiltIn,
    /// An encoder in this folder.
    Local(PathBuf),
    /// A model behind an endpoint.
    Hosted {
        /// The endpoint.
        endpoint: EndpointSettings,
        /// The name of the model.
        model: String,
    },
}

impl std::fmt::Debug for ModelSettings {
    // Leaves out the endpoints, which hold keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelSettings").field("embedding_deadline", &self.embedding_deadline).finish_non_exhaustive()
    }
}

impl ModelSettings {
    /// Reads `model.*` and checks that the settings agree with each other.
    pub(super) fn read(values: &Values<'_>) -> anyhow::Result<Self> {
        let endpoint = read_endpoint(values, "model.base_url", "model.api_key")?;
        let chat_endpoint = match read_endpoint(values, "model.chat_base_url", "model.chat_api_key")? {
            Some(chat_endpoint) => Some(chat_endpoint),
            None => endpoint.clone(),
        };
        Ok(Self {
            chat: read_chat(values, chat_endpoint)?,
            embedding: read_embedding(values, endpoint.as_ref())?,
            embedding_deadline: values.milliseconds("model.embedding_deadline_ms")?,
            call_time: values.milliseconds("model.timeout_ms")?,
            endpoint,
        })
    }
}

/// Reads an endpoint from the settings of its URL and its key; `None` if no URL is set.
fn read_endpoint(values: &Values<'_>, url_key: &str, api_key_key: &str) -> anyhow::Result<Option<EndpointSettings>> {
    let concurrency = values.positive("model.concurrency")?;
    let timeout = values.milliseconds("model.timeout_ms")?;
    let Some(base_url) = values.optional_url(url_key)? else { return Ok(None) };
    let api_key = values.secret(api_key_key)?.into();
    Ok(Some(EndpointSettings { base_url, api_key, attempts: CALL_ATTEMPTS, timeout, concurrency }))
}

fn read_chat(values: &Values<'_>, endpoint: Option<EndpointSettings>) -> anyhow::Result<Option<ChatSettings>> {
    if !values.is_set("model.chat") {
        return Ok(None);
    }
    let endpoint = endpoint.context("setting model.base_url is missing: model.chat needs it")?;
    Ok(Some(ChatSettings { endpoint, model: values.name("model.chat")? }))
}

fn read_embedding(values: &Values<'_>, endpoint: Option<&EndpointSettings>) -> anyhow::Result<EmbeddingChoice> {
    match (values.is_set("model.embedding"), values.is_set("model.local")) {
        (true, true) => bail!("settings model.embedding and model.local: set one of them, not both"),
        (true, false) => {
            let endpoint = endpoint.cloned().context("setting model.base_url is missing: model.embedding needs it")?;
            Ok(EmbeddingChoice::Hosted { endpoint, model: values.name("model.embedding")? })
        }
        (false, true) => Ok(EmbeddingChoice::Local(values.path("model.local")?)),
        (false, false) => Ok(EmbeddingChoice::BuiltIn),
    }
}
