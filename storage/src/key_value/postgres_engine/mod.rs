//! The engine that stores its keys in a PostgreSQL server, so that several processes can share them.
//!
//! Start with [`database`], which answers the calls of the interface. [`read`] and [`write`] are their statements.
//! [`connections`] opens and lends connections, [`schema`] creates the tables. [`sync`] makes buffered writes durable and
//! detects a server that lost some. [`snapshot`] reads all keys as they were at one moment. [`deadline`] bounds how long
//! a call waits and repeats, and [`errors`] converts the errors of the client library. [`facts`] asks the server how
//! safely it keeps writes.
//!
//! All keys are in one table, ordered by column and key. The statements use what servers with PostgreSQL's protocol have
//! in common: row locks, `INSERT … ON CONFLICT` and arrays, but no advisory locks, notifications or sequences.

mod connections;
mod database;
mod deadline;
mod errors;
mod facts;
mod outage;
mod read;
mod schema;
mod snapshot;
mod sync;
mod write;

pub use database::PostgresEngine;
pub use facts::{ClockReading, ServerFacts};

#[cfg(test)]
pub(crate) mod test_database;
#[cfg(test)]
mod tests;
