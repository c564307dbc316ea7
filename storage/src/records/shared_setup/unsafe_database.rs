//! Whether a database that can lose acknowledged writes is accepted.

/// Whether a node starts on a database that can lose acknowledged writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnsafeDatabase {
    /// The node does not start.
    #[default]
    Refused,
    /// The node logs a warning for each unsafe setting and starts: for tests, and for servers that keep copies of their
    /// storage without a synchronous standby.
    Allowed,
}
