//! Checks of a node's set-up: a node does not start on a database, a bucket or settings that are wrong or unsafe.
//!
//! - [`check_cluster`] comes first, before the node has a session. It checks the PostgreSQL server and its clock
//!   ([`server`]), the bucket's permissions ([`access`]), and that database and bucket belong together ([`identity`]).
//! - [`agree_on_settings`] follows once the node has a session. It checks that all live nodes have the same settings
//!   ([`settings`]). Only then the node may serve requests.
//!
//! Each refusal is a [`SetupError`], whose message says what is wrong and what to do. The data format is not checked
//! here: [`Store::open_shared`](super::Store::open_shared) refuses another one.
//!
//! After a fail-over the new primary has no standby, until one is rebuilt. A node that is running continues then, but a
//! node that starts is refused unless [`UnsafeDatabase::Allowed`]: what it acknowledges would exist once.

mod access;
mod error;
mod identity;
mod server;
mod settings;
mod unsafe_database;

pub use error::{BucketStep, SetupError};
pub use settings::agree_on_settings;
pub use unsafe_database::UnsafeDatabase;

use crate::bucket::Bucket;
use crate::error::Result;
use crate::key_value::PostgresEngine;
use crate::records::Store;

/// Checks the database server, its clock and the bucket, and that database and bucket belong to the same cluster. Marks
/// both with a new id if the cluster is new.
///
/// # Errors
/// The first refusal. A new database may have got the id of a cluster then, which does not prevent a later start.
pub fn check_cluster(
    engine: &PostgresEngine,
    store: &Store,
    bucket: &Bucket,
    unsafe_database: UnsafeDatabase,
) -> Result<(), SetupError> {
    let facts = engine.server_facts()?;
    server::check_server(&facts, unsafe_database)?;
    server::check_clocks(facts.clocks)?;
    access::check_access(bucket)?;
    identity::check_identity(store, bucket)
}

#[cfg(test)]
mod tests;
