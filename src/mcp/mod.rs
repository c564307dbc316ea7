//! The Model Context Protocol: memory as tools for an agent.
//!
//! There are few [`tools`], and each makes one request of the public API. [`arguments`] are what they take; [`render`]
//! turns responses into text for an agent, and [`budget`] keeps that text short; [`api`] is how the API is reached, over
//! HTTP or within the server. `cuebase mcp` speaks on standard input and output, the server at `/v1/mcp`.

pub mod api;
mod arguments;
mod budget;
mod render;
mod tools;

pub use tools::Tools;
