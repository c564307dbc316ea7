//! Coding agents: their configuration files, and the hooks that give an agent a memory.
//!
//! [`install`] adds the MCP server, and for Claude Code the hooks, to the files of an agent, and removes them; [`edit`]
//! changes a file and leaves its other content as it is. [`hook`] runs when the agent calls a hook: it prints memories
//! for a prompt, and stores what was said. [`project`] names the namespace of a repository. [`connection`] reaches a
//! server, with the small HTTP client of [`client`]. [`places`] knows the user's folders.
//!
//! Nothing here opens a data directory. Start with [`hook`] or [`install`].

mod client;
pub mod connection;
mod edit;
pub mod hook;
pub mod install;
pub mod places;
pub mod project;
