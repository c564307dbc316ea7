//! The key-value interface below all records: ordered keys, atomic batches and conditional writes.
//!
//! [`columns`] lists the column families and their key layouts. [`Engine`] is the interface. [`RocksEngine`] implements
//! it on disk with RocksDB, [`PostgresEngine`] in a database server, [`MemoryEngine`] and [`LossyEngine`] in memory for
//! tests. Code outside of `rocks_engine` and `postgres_engine` depends on neither RocksDB nor PostgreSQL.

mod batch;
pub mod columns;
mod durability;
mod engine;
mod key_range;
mod lossy_engine;
mod memory_engine;
mod page;
pub(crate) mod postgres_engine;
mod rocks_engine;
mod stats;

pub use batch::Batch;
pub use columns::Column;
pub use durability::{Durability, OpenGeneration};
pub use engine::{ColumnEntries, ColumnPrefix, Engine};
pub use lossy_engine::LossyEngine;
pub use memory_engine::MemoryEngine;
pub use page::KeyValuePair;
pub use postgres_engine::{ClockReading, PostgresEngine, ServerFacts};
pub use rocks_engine::{EngineMemory, RocksEngine};
pub use stats::EngineStats;

#[cfg(test)]
mod equivalence;
#[cfg(test)]
mod suite;
