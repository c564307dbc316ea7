//! Cuebase: a long-term memory service for AI applications, in one binary.
//!
//! Conversations come in over HTTP ([`api`], behind [`gateway`]); [`ingest`] makes memories of them; `cuebase-storage`
//! keeps them in git; `cuebase-retrieval` finds them again. [`service`] joins the parts, [`billing`] counts what is used,
//! [`model`] turns text into vectors and memories, [`outgoing`] is how other services are called,
//! [`metrics`] tells how it goes, [`memory_limit`] plans what memory is used for, [`server`] serves them, [`cli`] is the command line; [`dashboard`] is a page that uses the
//! API, [`mcp`] are tools that do, [`git_protocol`] lets git itself clone and push, [`pets`] is an API apart. Begin with [`server::Server`], which reads as the story of a start and a stop.

mod allocator;
pub mod api;
pub mod billing;
pub mod cli;
pub mod config;
pub mod control;
pub mod dashboard;
pub mod dates;
pub mod eval;
pub mod file_errors;
pub mod gateway;
pub mod git_protocol;
pub mod ingest;
pub mod maintenance;
pub mod mcp;
pub mod memory_limit;
pub mod metrics;
pub mod model;
pub mod outgoing;
pub mod pets;
pub mod server;
pub mod service;
pub mod tags;
pub mod telemetry;
pub mod time;
