//! What an engine reports about its size and work.

/// Disk and memory use of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineStats {
    /// Bytes of the sorted files.
    pub disk_bytes: u64,
    /// Bytes of the write buffers, which are not in sorted files yet.
    pub memory_bytes: u64,
    /// Column families with a pending compaction.
    pub compactions_pending: u64,
}
