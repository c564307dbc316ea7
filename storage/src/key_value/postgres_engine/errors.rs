//! Conversion of the client library's errors.

use std::error::Error as StdError;
use std::fmt;

use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;

use crate::error::{DiskTrouble, Error};

/// An error of the client library. Its text has the code and the message of the server. The server's detail is left out,
/// because it quotes keys, which may contain text of clients.
#[derive(Debug)]
struct DatabaseError(tokio_postgres::Error);

impl StdError for DatabaseError {}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(refusal) = self.0.as_db_error() {
            return write!(f, "the database refuses: {} ({})", refusal.message(), refusal.code().code());
        }
        write!(f, "the database cannot be reached: {}", self.0)?;
        let mut next = self.0.source();
        while let Some(source) = next {
            write!(f, ": {source}")?;
            next = source.source();
        }
        Ok(())
    }
}

/// Converts an error of a statement.
pub(super) fn convert(error: tokio_postgres::Error) -> Error {
    Error::Engine { trouble: trouble_of(&error), source: Box::new(DatabaseError(error)) }
}

/// Converts an error of opening a connection.
pub(super) fn convert_pool(error: PoolError) -> Error {
    match error {
        PoolError::Backend(error) => convert(error),
        other => Error::Engine { trouble: Some(DiskTrouble::Unreachable), source: Box::new(other) },
    }
}

/// Whether the cause of an error may pass, so that the call can be repeated: the server cannot be reached, or another
/// transaction was in the way.
pub(super) fn is_passing(error: &Error) -> bool {
    error.disk_trouble() == Some(DiskTrouble::Unreachable)
}

/// Whether the server did not run the statement because another transaction was in its way, so that it can be repeated.
fn is_conflict(error: &tokio_postgres::Error) -> bool {
    let conflicts = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
    error.code().is_some_and(|code| conflicts.contains(code))
}

/// Whether the connection is lost, or the server refuses work because it starts, stops or is a standby.
pub(super) fn is_unreachable(error: &tokio_postgres::Error) -> bool {
    let Some(code) = error.code() else {
        return true;
    };
    let refusals = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::READ_ONLY_SQL_TRANSACTION,
    ];
    // Class 08: connection exceptions.
    refusals.contains(code) || code.code().starts_with("08")
}

fn trouble_of(error: &tokio_postgres::Error) -> Option<DiskTrouble> {
    if is_unreachable(error) || is_conflict(error) {
        return Some(DiskTrouble::Unreachable);
    }
    match error.code() {
        Some(&SqlState::DISK_FULL) => Some(DiskTrouble::Full),
        Some(&SqlState::IO_ERROR) => Some(DiskTrouble::Failing),
        _ => None,
    }
}
