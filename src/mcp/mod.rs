//! The Model Context Protocol: memory as tools for an agent.
//!
//! Each of the [`tools`] sends one request to the public API. [`arguments`] holds the arguments of the tools,
//! [`responses`] the bodies that they read. [`render`] turns those into text for an agent, and [`budget`] limits the
//! length of that text. [`api`] is the interface to the API, over HTTP or inside of the server. `cuebase mcp` serves the
//! tools on standard input and output, the server at `/v1/mcp`. Start at [`tools`].

pub mod api;
mod arguments;
mod budget;
mod render;
mod responses;
mod tools;

pub use tools::Tools;
