//! Models behind an endpoint that speaks OpenAI's dialect (<https://platform.openai.com/docs/api-reference>): OpenAI
//! itself, and Ollama, vLLM, llama.cpp's server, LM Studio and others on one's own machine.
//!
//! [`Endpoint`] is how such a service is called: so many calls at once ([`slots`]), left alone while it fails
//! ([`breaker`]), everything counted. [`embeddings`] and [`chat`] are what is asked of it; what the servers do
//! differently is told there.

mod breaker;
pub mod chat;
pub mod embeddings;
mod slots;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use serde::Deserialize;
use serde_json::Value;

pub use chat::Chat;
pub use embeddings::HostedEmbedder;

use self::breaker::Breaker;
use self::slots::Slots;
use super::{Deadline, ModelError};
use crate::config::endpoint::EndpointSettings;
use crate::outgoing::{CallError, Caller};

/// An answer longer than this is not read: 128 vectors of 4,096 numbers in text, and more.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// A service that holds a model.
pub struct Endpoint {
    caller: Caller,
    slots: Slots,
    breaker: Breaker,
    counters: Counters,
    /// Whether the URL lacks the `/v1` that the service wants before every path.
    lacks_version: AtomicBool,
}

/// What most services have before every path, and what is most easily left out of a URL.
const VERSION: &str = "/v1";

#[derive(Default)]
struct Counters {
    calls: AtomicU64,
    failures: AtomicU64,
    prompt_tokens: AtomicU64,
    completion_tokens: AtomicU64,
}

/// How much an endpoint was called since it was last asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Answered.
    pub answered: u64,
    /// Not answered.
    pub failed: u64,
    /// Tokens that went in, as the provider counts.
    pub prompt_tokens: u64,
    /// Tokens that came out.
    pub completion_tokens: u64,
}

/// What an answer says of its cost.
#[derive(Clone, Copy, Default, Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
}

impl Endpoint {
    /// An endpoint; nothing is called yet.
    pub fn new(settings: &EndpointSettings) -> Result<Self, ModelError> {
        let EndpointSettings { base_url, api_key, attempts, timeout, concurrency } = settings;
        let caller = Caller::new(base_url, api_key, *attempts, *timeout, ANSWER_BYTES_MAX);
        let caller = caller.map_err(|error| ModelError::Unknown(format!("{base_url}: {error}")))?;
        let slots = Slots::new(*concurrency);
        let (breaker, counters) = (Breaker::default(), Counters::default());
        Ok(Self { caller, slots, breaker, counters, lacks_version: AtomicBool::new(false) })
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        self.caller.url()
    }

    /// Asks, and reads the answer.
    fn ask(&self, path: &str, body: &Value, deadline: Deadline) -> Result<Value, CallError> {
        if !self.breaker.admits(Instant::now()) {
            return Err(CallError::unreachable("it is left alone for a while, since it failed again and again"));
        }
        let busy = || CallError::unreachable("all calls that may be under way are");
        let slot = self.slots.take(deadline).ok_or_else(busy)?;
        let answer = self.call(path, body, deadline);
        drop(slot);
        match &answer {
            // What an endpoint answers may repeat what it was sent.
            Err(CallError::Unavailable { .. }) => {
                self.counters.failures.fetch_add(1, Ordering::Relaxed);
                if self.breaker.failed(Instant::now()) {
                    tracing::warn!(url = self.url(), "a model's endpoint fails again and again");
                }
            }
            Err(CallError::Refused { .. } | CallError::BadAnswer(_)) => {
                self.counters.failures.fetch_add(1, Ordering::Relaxed);
                self.breaker.worked();
            }
            Ok(answer) => {
                self.breaker.worked();
                self.count(answer);
            }
        }
        answer
    }

    /// Calls a path, and where a bare host knows no such path, the same below `/v1`, remembering which it was.
    fn call(&self, path: &str, body: &Value, deadline: Deadline) -> Result<Value, CallError> {
        let versioned = format!("{VERSION}{path}");
        if self.lacks_version.load(Ordering::Relaxed) {
            return self.caller.post(&versioned, body, deadline.until);
        }
        let answer = self.caller.post(path, body, deadline.until);
        let bare = self.url().split_once("://").is_some_and(|(_, rest)| !rest.contains('/'));
        if !bare || !matches!(answer, Err(CallError::Refused { status: 404 | 405, .. })) {
            return answer;
        }
        let below = self.caller.post(&versioned, body, deadline.until);
        if below.is_ok() {
            self.lacks_version.store(true, Ordering::Relaxed);
            return below;
        }
        answer
    }

    fn count(&self, answer: &Value) {
        // Some servers tell nothing of it.
        let usage = answer.get("usage").and_then(|usage| Usage::deserialize(usage).ok()).unwrap_or_default();
        self.counters.calls.fetch_add(1, Ordering::Relaxed);
        self.counters.prompt_tokens.fetch_add(usage.prompt_tokens, Ordering::Relaxed);
        self.counters.completion_tokens.fetch_add(usage.completion_tokens, Ordering::Relaxed);
    }

    /// How much it was called since this was last asked.
    pub fn take_calls(&self) -> Calls {
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        Calls {
            answered: take(&self.counters.calls),
            failed: take(&self.counters.failures),
            prompt_tokens: take(&self.counters.prompt_tokens),
            completion_tokens: take(&self.counters.completion_tokens),
        }
    }
}

impl From<CallError> for ModelError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Unavailable { told, status, retry_after } => Self::Unavailable { told, status, retry_after },
            CallError::BadAnswer(told) => Self::Unusable(told),
            CallError::Refused { status, told } if concerns_configuration(status) => {
                Self::Misconfigured { status, told }
            }
            CallError::Refused { told, .. } => Self::Refused(told),
        }
    }
}

/// Whether a refusal is about the key, the address, the model's name or the account with the provider, which the operator
/// corrects, and not about what was asked.
fn concerns_configuration(status: u16) -> bool {
    matches!(status, 300..=399 | 401 | 402 | 403 | 404 | 405 | 407 | 410)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(status: u16) -> ModelError {
        CallError::Refused { status, told: String::new() }.into()
    }

    #[test]
    fn a_refused_key_or_address_is_an_outage_and_a_refused_request_is_not() {
        for status in [302, 401, 402, 403, 404, 410] {
            assert!(error_of(status).is_outage(), "{status}");
        }
        for status in [400, 413, 422] {
            assert!(!error_of(status).is_outage(), "{status}");
        }
        assert!(ModelError::from(CallError::unreachable("refused")).is_outage());
        assert!(!ModelError::from(CallError::BadAnswer("half of it".into())).is_outage());
    }
}
