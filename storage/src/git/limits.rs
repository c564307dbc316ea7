//! Limits on data from another git, received by a push or in a bundle.
//!
//! A pack of a few kilobytes can expand to any number of bytes, paths and nested directories. Each of these is checked
//! before the contents of a file are read.

/// Largest unpacked object that is accepted: 64 MiB, the size of the largest pack that can be pushed.
pub(super) const OBJECT_BYTES_MAX: u64 = 64 << 20;
/// Largest commit that is accepted. Its message is read with every history that contains the commit.
pub(super) const COMMIT_BYTES_MAX: u64 = 256 << 10;

/// Limits on a pack and on the directories in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntakeLimits {
    /// Objects in the pack.
    pub objects_max: u32,
    /// Total bytes of all unpacked objects.
    pub unpacked_bytes_max: u64,
    /// Deltas that name their base by its id. git sends them only to servers that accept incomplete packs; this one
    /// does not. The time to resolve them grows with the square of their number.
    pub reference_deltas_max: u32,
    /// Length of a chain of deltas. The time to read an object is proportional to it.
    pub chain_max: u32,
    /// Names in one directory.
    pub names_max: usize,
    /// Directories above a file.
    pub depth_max: usize,
    /// Files and directories that differ from the previous commit, summed over all commits. An object under several
    /// paths counts once for each path.
    pub paths_max: u64,
    /// Bytes of those paths.
    pub path_bytes_max: u64,
    /// Bytes of the directories that are read to find those paths.
    pub tree_bytes_max: u64,
    /// Bytes of the files that differ between the first and the last state, counted once for each path.
    pub changed_bytes_max: u64,
}

impl IntakeLimits {
    /// Limits on a push. Any client may send one, so these limits keep it well below a gibibyte of memory and within a
    /// few seconds of work.
    pub const PUSH: Self = Self {
        objects_max: 200_000,
        unpacked_bytes_max: 256 << 20,
        reference_deltas_max: 1000,
        // git creates chains of up to 50 deltas, and up to 250 with `gc --aggressive`.
        chain_max: 512,
        names_max: 100_000,
        // A memory's path has at most 9 segments; other files in the repository may be nested deeper.
        depth_max: 32,
        paths_max: 100_000,
        path_bytes_max: 16 << 20,
        tree_bytes_max: 1 << 30,
        changed_bytes_max: 64 << 20,
    };

    /// Limits on a bundle. An operator imports it, and it may hold the history of several years.
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
