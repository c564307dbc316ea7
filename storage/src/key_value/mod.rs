//! The key-value interface below all records: ordered keys and atomic batches.
//!
//! [`columns`] lists the column families and their key layouts. [`engine`] implements the interface with RocksDB. After
//! a failed opening, [`power`] detects a loss of power, and [`manifest`] repairs the manifest that it tore. Code
//! outside of this folder does not depend on RocksDB, so another engine with ordered keys and atomic batches can
//! replace it.

pub mod columns;
mod engine;
mod manifest;
mod power;

pub use columns::Column;
pub(crate) use engine::KeyValuePair;
pub use engine::{Batch, Durability, EngineMemory, EngineStats, KeyValueStore, OpenGeneration};
