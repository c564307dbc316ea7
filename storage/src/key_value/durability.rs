//! When writes must be on disk, and which opening of the database they belong to.

/// When a write must be on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Before the call returns. The write survives a loss of power.
    Synced,
    /// Later. The write survives the death of the process, but not a loss of power. For data that is derived or can be
    /// written again.
    Buffered,
}

/// Identifies one opening of the database. The number increases when the database is reopened after a refused write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenGeneration(pub(super) u64);
