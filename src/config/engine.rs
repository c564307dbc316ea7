//! The engine of the records as the value of a setting.

use super::declare::MASK;
use super::refusal::Refusal;
use super::secret::Secret;

/// Maximum length of a connection string, in bytes.
const CONNECTION_BYTES_MAX: usize = 4096;

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

/// Parses the address of a database, with its password. What it means is checked when it is opened.
pub(super) fn connection(text: &str) -> Result<Secret, Refusal> {
    if text.len() > CONNECTION_BYTES_MAX || text.chars().any(char::is_control) {
        return Err(Refusal::new(MASK, format!("at most {CONNECTION_BYTES_MAX} bytes without line breaks")));
    }
    Ok(Secret::new(text))
}
