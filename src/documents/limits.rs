//! Limits of a document, whatever its kind.

/// Most bytes of text that a document can have, without its format: 8 MiB.
pub(super) const TEXT_BYTES_MAX: usize = 8 << 20;
/// Most passages of a document.
pub(super) const PASSAGES_MAX: usize = 10_000;
/// Longest time in which a process reads a file, in seconds. Every reader takes time linear in the file.
pub(super) const SECONDS_MAX: u32 = 10;

/// Memory of a process that reads a file, whatever the size of the file: 16 MiB.
const MEMORY_BYTES_BASE: usize = 16 << 20;
/// Further memory for each byte of the file: the file, its decoded text, and its pieces with their places.
const MEMORY_BYTES_PER_BYTE: usize = 8;

/// Returns the most memory in bytes that the process may take that reads a file, in addition to its program.
pub const fn memory_bytes_max(file_bytes: usize) -> usize {
    MEMORY_BYTES_BASE.saturating_add(file_bytes.saturating_mul(MEMORY_BYTES_PER_BYTE))
}
