//! The tables, and their creation.

use tokio_postgres::Client;

use super::errors::convert;
use crate::error::Result;

/// Creates what is missing.
///
/// `cuebase_kv` holds every key. The collation `"C"` orders columns by their bytes, as PostgreSQL orders `bytea` anyway.
/// `cuebase_syncs` has a row for each process: an update of it makes the writes before it durable, and its token tells
/// servers apart.
const CREATE: &str = r#"
CREATE TABLE IF NOT EXISTS cuebase_kv (
    family text COLLATE "C" NOT NULL,
    key bytea NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (family, key)
);
CREATE TABLE IF NOT EXISTS cuebase_syncs (
    process text PRIMARY KEY,
    token text NOT NULL,
    syncs bigint NOT NULL
)"#;

/// Creates the tables where they are missing. Several processes may do so at the same time.
pub(super) async fn create_tables(client: &Client) -> Result<()> {
    match client.batch_execute(CREATE).await {
        Ok(()) => Ok(()),
        // `IF NOT EXISTS` fails if another process creates the table between the check and the creation. The tables
        // exist the second time.
        Err(_) => client.batch_execute(CREATE).await.map_err(convert),
    }
}
