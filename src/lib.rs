//! Cuebase: a long-term memory service for AI applications, in one binary.
//!
//! A conversation arrives over HTTP ([`server`]), is authenticated ([`gateway`]) and validated ([`api`]), and is durable
//! in the queue when the client receives `202` ([`service`]). A worker ([`jobs`]) extracts memories from it ([`ingest`])
//! and writes them to the namespace's git repository and index ([`namespace`]). A query runs on a snapshot of that index.
//!
//! Start reading at [`server::Server`], which shows the start and the stop of the process. The folders are layers:
//! `ARCHITECTURE.md` has the table of allowed imports, and a test enforces it.

pub mod account_slots;
pub mod accounts;
pub mod agent_text;
pub mod agents;
mod allocator;
pub mod api;
pub mod app;
pub mod billing;
pub mod cli;
pub mod clock;
pub mod cluster;
pub mod config;
pub mod control;
pub mod dashboard;
pub mod documents;
pub mod error;
pub mod error_codes;
pub mod eval;
pub mod file_errors;
pub mod gateway;
pub mod git_protocol;
pub mod ingest;
pub mod jobs;
pub mod maintenance;
pub mod mcp;
pub mod memory;
pub mod memory_limit;
pub mod metrics;
pub mod model;
pub mod namespace;
pub mod outgoing;
pub mod pets;
pub mod queue;
pub mod secrets;
pub mod server;
pub mod service;
pub mod sha256;
pub mod telemetry;
pub mod text_file;
pub mod webhook;
