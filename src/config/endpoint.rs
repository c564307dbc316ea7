//! Settings of one model endpoint.

use std::time::Duration;

use zeroize::Zeroizing;

/// Where a model is, and how it is to be treated.
#[derive(Clone)]
pub struct EndpointSettings {
    /// The part of the URL before `/embeddings` and `/chat/completions`, such as `https://api.openai.com/v1`.
    pub base_url: String,
    /// Empty where none is needed.
    pub api_key: Zeroizing<String>,
    /// Tries of one call.
    pub attempts: u32,
    /// How long one try may take.
    pub timeout: Duration,
    /// Calls under way at once.
    pub concurrency: usize,
}
