//! Ordered keys with atomic batches: the narrow interface under every record.
//!
//! [`columns`] is the one place that lists the column families and their key layouts; [`engine`] is the RocksDB behind
//! them; [`power`] tells whether the machine was off since, and [`manifest`] cuts back what was torn then. Nothing above
//! this folder knows which engine it is, so that another one that offers ordered keys and atomic batches can take its
//! place.

pub mod columns;
mod engine;
mod manifest;
mod power;

pub use columns::Column;
pub use engine::{Batch, Durability, EngineMemory, KeyValueStore, Levels, Opening};
