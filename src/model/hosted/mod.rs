//! Models behind an OpenAI-compatible endpoint (<https://platform.openai.com/docs/api-reference>): OpenAI itself, or a
//! local Ollama, vLLM, llama.cpp server, LM Studio or similar.
//!
//! [`Endpoint`] calls such a service: it limits concurrent calls (`call_slots.rs`), disables an endpoint that keeps
//! failing (`circuit_breaker.rs`), and counts calls. [`embeddings`] and [`chat`] are the two APIs, including the
//! differences between servers.

mod call_slots;
pub mod chat;
mod circuit_breaker;
pub mod embeddings;
mod endpoint;

pub use chat::Chat;
pub use embeddings::HostedEmbedder;
pub use endpoint::{CallCounts, Endpoint};
