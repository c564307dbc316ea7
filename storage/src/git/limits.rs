//! Bounds of what another git may bring in, by a push or in a bundle.
//!
//! A pack of a few kilobytes can stand for any number of bytes, paths and nested directories, so each of these is bounded
//! before the contents of a file are read.

/// Unpacked, an object above this is refused: 64 MiB, the largest pack that a push may be.
pub(super) const OBJECT_BYTES_MAX: u64 = 64 << 20;
/// A commit above this is refused: its message is read with every history that it belongs to.
pub(super) const COMMIT_BYTES_MAX: u64 = 256 << 10;

/// Bounds of a pack and of the directories in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntakeLimits {
    /// Objects in the pack.
    pub objects_max: u32,
    /// Bytes of all objects once they are unpacked.
    pub unpacked_bytes_max: u64,
    /// Deltas that name their base by its id. git sends them only to servers that take incomplete packs, which this one
    /// does not, and resolving them takes time that grows with the square of their number.
    pub reference_deltas_max: u32,
    /// Deltas that stand on one another. Reading an object takes time in proportion.
    pub chain_max: u32,
    /// Names in one directory.
    pub names_max: usize,
    /// Directories above a file.
    pub depth_max: usize,
    /// Files and directories that differ from the commit before, over all commits. One object under several paths
    /// counts once for each.
    pub paths_max: u64,
    /// Bytes of those paths.
    pub path_bytes_max: u64,
    /// Bytes of the directories that are read to find them.
    pub tree_bytes_max: u64,
    /// Bytes of the files that differ in the end, counted once for each path.
    pub changed_bytes_max: u64,
}

impl IntakeLimits {
    /// Of a push: any client may send one, so that all of it together stays well below a gibibyte of memory and some
    /// seconds of work.
    pub const PUSH: Self = Self {
        objects_max: 200_000,
        unpacked_bytes_max: 256 << 20,
        reference_deltas_max: 1000,
        // git itself makes chains of up to 50, 250 when it is asked to try hard.
        chain_max: 512,
        names_max: 100_000,
        // A memory's path has at most 9 segments; the rest is for what a person keeps beside the memories.
        depth_max: 32,
        paths_max: 100_000,
        path_bytes_max: 16 << 20,
        tree_bytes_max: 1 << 30,
        changed_bytes_max: 64 << 20,
    };

    /// Of a bundle: the operator imports it, and it is a whole history, maybe of years.
    pub const IMPORT: Self = Self {
        objects_max: 20_000_000,
        unpacked_bytes_max: 64 << 30,
        reference_deltas_max: u32::MAX,
        chain_max: 4096,
        names_max: 1_000_000,
        depth_max: 32,
        paths_max: 20_000_000,
        path_bytes_max: 2 << 30,
        tree_bytes_max: 256 << 30,
        changed_bytes_max: 2 << 30,
    };
}
