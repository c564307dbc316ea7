//! Limits of a document, whatever its kind.

/// Most bytes of text that a document can have, without its format: 8 MiB.
pub(super) const TEXT_BYTES_MAX: usize = 8 << 20;
/// Most passages of a document.
pub(super) const PASSAGES_MAX: usize = 10_000;
