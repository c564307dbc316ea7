//! Settings of one model endpoint.

use std::time::Duration;

use super::secret::Secret;

/// The address of a model endpoint, its key and the limits of calls to it.
#[derive(Clone, Debug)]
pub struct EndpointSettings {
    /// Base URL, the part before `/embeddings` and `/chat/completions`, for example `https://api.openai.com/v1`.
    pub base_url: String,
    /// API key; empty if the endpoint requires none.
    pub api_key: Secret,
    /// Maximum number of attempts per call; always 3.
    pub attempts: u32,
    /// Time limit of one attempt; `model.timeout_ms`.
    pub timeout: Duration,
    /// Maximum number of concurrent calls; `model.concurrency`.
    pub concurrency: usize,
}
