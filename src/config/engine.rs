//! The engine of the records as the value of a setting.

use super::refusal::Refusal;

/// The value of `storage.engine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// RocksDB in the data directory.
    RocksDb,
    /// PostgreSQL and a bucket.
    Postgres,
}

/// Parses the name of an engine.
pub(super) fn engine(text: &str) -> Result<EngineChoice, Refusal> {
    match text {
        "rocksdb" => Ok(EngineChoice::RocksDb),
        "postgres" => Ok(EngineChoice::Postgres),
        other => Err(Refusal::new(other, "rocksdb or postgres")),
    }
}
