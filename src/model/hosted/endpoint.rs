//! A service that offers models over HTTP.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use serde::Deserialize;
use serde_json::Value;

use super::call_slots::CallSlots;
use super::circuit_breaker::CircuitBreaker;
use crate::config::endpoint::EndpointSettings;
use crate::model::deadline::Deadline;
use crate::model::error::ModelError;
use crate::outgoing::{CallError, Caller};

/// Maximum length of a response that is read: more than 128 vectors of 4,096 numbers as text.
const RESPONSE_BYTES_MAX: u64 = 64 << 20;
/// The first part of every path of most services, which is often missing in a configured URL.
const VERSION: &str = "/v1";

/// A service that offers models.
pub struct Endpoint {
    caller: Caller,
    slots: CallSlots,
    breaker: CircuitBreaker,
    counters: CallCounters,
    /// Whether the configured URL lacks the `/v1` that the service expects before every path.
    lacks_version: AtomicBool,
}

#[derive(Default)]
struct CallCounters {
    answered: AtomicU64,
    failed: AtomicU64,
    prompt_tokens: AtomicU64,
    completion_tokens: AtomicU64,
}

/// Counts of calls to an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Successful calls.
    pub answered: u64,
    /// Failed calls.
    pub failed: u64,
    /// Input tokens as counted by the provider.
    pub prompt_tokens: u64,
    /// Output tokens as counted by the provider.
    pub completion_tokens: u64,
}

/// The tokens that a response reports.
#[derive(Clone, Copy, Default, Deserialize)]
struct TokenUsage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
}

impl Endpoint {
    /// Returns a client of an endpoint. Makes no call.
    pub fn new(settings: &EndpointSettings) -> Result<Self, ModelError> {
        let EndpointSettings { base_url, api_key, attempts, timeout, concurrency } = settings;
        let caller = match Caller::new(base_url, api_key, *attempts, *timeout, RESPONSE_BYTES_MAX) {
            Ok(caller) => caller,
            Err(error) => return Err(ModelError::Unknown(format!("{base_url}: {error}"))),
        };
        Ok(Self {
            caller,
            slots: CallSlots::new(*concurrency),
            breaker: CircuitBreaker::default(),
            counters: CallCounters::default(),
            lacks_version: AtomicBool::new(false),
        })
    }

    /// Returns the base URL.
    pub fn url(&self) -> &str {
        self.caller.url()
    }

    /// Makes the next call even if the endpoint is disabled after repeated failures.
    pub(super) fn allow_probe(&self) {
        self.breaker.allow_probe(Instant::now());
    }

    /// Posts a request to a path and returns the response.
    pub(super) fn ask(&self, path: &str, body: &Value, deadline: Deadline) -> Result<Value, CallError> {
        if !self.breaker.admits(Instant::now()) {
            return Err(CallError::unreachable("the endpoint is disabled for up to 15 s after repeated failures"));
        }
        let Some(slot) = self.slots.take(deadline) else {
            return Err(CallError::unreachable("the limit of concurrent calls (model.concurrency) is reached"));
        };
        let response = self.call(path, body, deadline);
        drop(slot);
        match &response {
            Ok(response) => {
                self.breaker.record_success();
                self.count(response);
            }
            // The error is not logged, because it may repeat text of the request.
            Err(CallError::Unavailable { .. }) => {
                self.counters.failed.fetch_add(1, Ordering::Relaxed);
                if self.breaker.record_failure(Instant::now()) {
                    tracing::warn!(
                        url = self.url(),
                        "a model endpoint is disabled for a while after repeated failures"
                    );
                }
            }
            Err(CallError::Refused { .. } | CallError::UnusableResponse(_)) => {
                self.counters.failed.fetch_add(1, Ordering::Relaxed);
                self.breaker.record_success();
            }
        }
        response
    }

    /// Calls a path. If the configured URL is only a host, and the host does not know the path, calls the same path
    /// below `/v1`, and remembers which of the two succeeded.
    fn call(&self, path: &str, body: &Value, deadline: Deadline) -> Result<Value, CallError> {
        let versioned_path = format!("{VERSION}{path}");
        if self.lacks_version.load(Ordering::Relaxed) {
            return self.caller.post(&versioned_path, body, deadline.until);
        }
        let response = self.caller.post(path, body, deadline.until);
        let is_unknown_path = matches!(response, Err(CallError::Refused { status: 404 | 405, .. }));
        if !self.is_bare_host() || !is_unknown_path {
            return response;
        }
        let versioned = self.caller.post(&versioned_path, body, deadline.until);
        if versioned.is_ok() {
            self.lacks_version.store(true, Ordering::Relaxed);
            return versioned;
        }
        response
    }

    /// Returns whether the configured URL has no path.
    fn is_bare_host(&self) -> bool {
        match self.url().split_once("://") {
            Some((_, rest)) => !rest.contains('/'),
            None => false,
        }
    }

    fn count(&self, response: &Value) {
        self.counters.answered.fetch_add(1, Ordering::Relaxed);
        // Some servers report no usage.
        let Some(usage) = response.get("usage") else { return };
        let Ok(usage) = TokenUsage::deserialize(usage) else { return };
        self.counters.prompt_tokens.fetch_add(usage.prompt_tokens, Ordering::Relaxed);
        self.counters.completion_tokens.fetch_add(usage.completion_tokens, Ordering::Relaxed);
    }

    /// Returns the counts since the last call of this method.
    pub fn take_counts(&self) -> CallCounts {
        CallCounts {
            answered: self.counters.answered.swap(0, Ordering::Relaxed),
            failed: self.counters.failed.swap(0, Ordering::Relaxed),
            prompt_tokens: self.counters.prompt_tokens.swap(0, Ordering::Relaxed),
            completion_tokens: self.counters.completion_tokens.swap(0, Ordering::Relaxed),
        }
    }
}

impl From<CallError> for ModelError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Unavailable { message, status, retry_after } => {
                Self::Unavailable { message, status, retry_after }
            }
            CallError::UnusableResponse(message) => Self::Unusable(message),
            CallError::Refused { status, message } if concerns_configuration(status) => {
                Self::Misconfigured { status, message }
            }
            CallError::Refused { message, .. } => Self::Refused(message),
        }
    }
}

/// Returns whether a refusal concerns the key, the address, the model's name or the account with the provider, which
/// the operator corrects, and not the request itself.
fn concerns_configuration(status: u16) -> bool {
    matches!(status, 300..=399 | 401 | 402 | 403 | 404 | 405 | 407 | 410)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(status: u16) -> ModelError {
        CallError::Refused { status, message: String::new() }.into()
    }

    #[test]
    fn a_refused_key_is_an_outage_and_a_refused_request_is_not() {
        for status in [302, 401, 402, 403, 404, 410] {
            assert!(error_of(status).is_outage(), "{status}");
        }
        for status in [400, 413, 422] {
            assert!(!error_of(status).is_outage(), "{status}");
        }
        assert!(ModelError::from(CallError::unreachable("refused")).is_outage());
        assert!(!ModelError::from(CallError::UnusableResponse("half of it".into())).is_outage());
    }
}
