//! A node in the answer of [`Command::ListNodes`](super::Command::ListNodes).

use serde::{Deserialize, Serialize};

/// A node that has a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRow {
    /// Its id. Each start of a node has a new one.
    pub id: String,
    /// Address at which other nodes reach it.
    pub address: String,
    /// The version of its program.
    pub version: String,
    /// Whether it is the server on the data directory of the command.
    pub this: bool,
    /// Number of namespaces of all accounts that it owns.
    pub namespaces: usize,
}
