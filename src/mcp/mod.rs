//! The Model Context Protocol: memory as tools for an agent.
//!
//! [`tools`] are few, and each is one request of the public API; [`told`] says the answers in as few words as an agent
//! needs; [`api`] is how the API is reached, over HTTP or within the server. `cuebase mcp` speaks on standard input and
//! output, the server at `/v1/mcp`.

pub mod api;
mod told;
mod tools;

pub use tools::Tools;
