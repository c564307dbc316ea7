//! Durable storage.
//!
//! - [`key_value`] stores everything except memories (keys, namespaces, the queue): in RocksDB, or in PostgreSQL.
//! - [`records`] are the typed records in them, one file for each resource.
//! - [`git`] keeps one bare repository per namespace, the source of truth for memories.
//! - [`identity`] has the types of ids: accounts, namespaces, accepted writes.
//! - [`memory_file`] is the format of one memory: front matter and markdown.
//! - [`files`] replaces a file completely or not at all.
//! - [`bucket`] keeps objects in an S3-compatible service.
//!
//! This crate does not search memories (`cuebase-retrieval` does) and knows nothing of HTTP or models. Its public API
//! exposes no type of RocksDB or gix.
//!
//! Start with [`Store`] for records and [`git::Repository`] for memories.

pub mod bucket;
mod call_threads;
pub mod error;
pub mod files;
pub mod git;
pub mod identity;
pub mod key_value;
pub mod memory_file;
pub mod records;

pub use error::{DiskTrouble, Error, Result};
pub use identity::{AccountId, MessageId, NamespaceId, NamespaceKey, NamespaceName};
pub use records::Store;
