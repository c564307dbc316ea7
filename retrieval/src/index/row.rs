//! Rows: the quantised vectors that are compared in full, and the blocks that store them.
//!
//! A row is a cue's unit vector, [rotated](super::sketch::rotated) and scaled so that its largest component is 127, and
//! its scale. The integer dot product of two rows times both scales is the cosine to about three digits. A row takes a
//! quarter of the bytes of the vector in floats.

use super::sketch;
use crate::ids::DocumentId;
use crate::kernels::{dot, prefetch, prefetch_at};

/// Rows of one block; a full block is never copied again.
pub(super) const BLOCK_ROWS: usize = 1024;
/// Bytes of a cache line. An aligned row spans one line less than an unaligned row.
const ALIGNMENT: usize = 64;

/// A quantised vector.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(super) values: Vec<i8>,
    scale: f32,
}

impl Row {
    /// Quantises a vector of unit length. A vector without a finite direction becomes a row of zeros.
    pub(crate) fn new(vector: &[f32]) -> Self {
        let vector = sketch::rotated(vector);
        let largest = vector.iter().fold(0f32, |largest, v| largest.max(v.abs()));
        if !largest.is_finite() || largest == 0.0 {
            return Self { values: vec![0; vector.len()], scale: 0.0 };
        }
        let scale = largest / 127.0;
        // The rounded values lie within ±127, so the cast is exact.
        let values = vector.iter().map(|v| (v / scale).round() as i8).collect();
        Self { values, scale }
    }

    /// Returns the bytes that a row of this many dimensions takes on disk.
    pub(crate) fn bytes(dimensions: usize) -> usize {
        dimensions.next_power_of_two() + size_of::<f32>()
    }

    /// Returns the on-disk form: the values in two's complement, then the scale as f32 little-endian.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.values.len() + size_of::<f32>());
        bytes.extend(self.values.iter().map(|value| value.to_le_bytes()[0]));
        bytes.extend_from_slice(&self.scale.to_le_bytes());
        bytes
    }
}

/// Up to [`BLOCK_ROWS`] rows of one width, each with its document. A row is named by its index in the block.
pub(crate) struct RowBlock {
    /// Values of one row.
    width: usize,
    /// The values of all rows, after the padding.
    values: Vec<i8>,
    /// Bytes before the first row, so that every row begins at a cache line.
    padding: usize,
    /// The scale and the document of each row, in ascending order of documents.
    labels: Vec<RowLabel>,
}

/// What a block stores for a row in addition to its values.
#[derive(Clone, Copy)]
struct RowLabel {
    scale: f32,
    document: DocumentId,
}

impl RowBlock {
    /// Creates an empty block with room for [`BLOCK_ROWS`] rows of `width` values.
    pub(super) fn new(width: usize) -> Self {
        let mut values: Vec<i8> = Vec::with_capacity(BLOCK_ROWS * width + ALIGNMENT);
        let padding = values.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        values.resize(padding, 0);
        Self { width, values, padding, labels: Vec::with_capacity(BLOCK_ROWS) }
    }

    /// Appends a row in its on-disk form.
    pub(super) fn push(&mut self, row: &[u8], document: DocumentId) {
        let (values, scale) = row.split_at(self.width);
        self.values.extend(values.iter().map(|byte| i8::from_le_bytes([*byte])));
        let scale = match scale.try_into() {
            Ok(bytes) => f32::from_le_bytes(bytes),
            Err(_) => 0.0,
        };
        self.labels.push(RowLabel { scale, document });
    }

    /// Returns the document of a row.
    #[inline]
    pub(crate) fn document(&self, row: usize) -> Option<DocumentId> {
        self.labels.get(row).map(|label| label.document)
    }

    /// Returns the values of a row; empty if the row does not exist.
    #[inline]
    pub(super) fn values(&self, row: usize) -> &[i8] {
        let from = self.padding + row * self.width;
        self.values.get(from..from + self.width).unwrap_or_default()
    }

    /// Returns the cosine of a row, which must exist, and a query's.
    #[inline]
    pub(crate) fn cosine(&self, row: usize, query: &Row) -> f32 {
        dot(self.values(row), &query.values) * self.labels[row].scale * query.scale
    }

    /// Prefetches the first line of a row, and with it the translation of its page.
    #[inline]
    pub(super) fn prefetch_first_line(&self, row: usize) {
        prefetch_at(&self.values, self.padding + row * self.width);
        prefetch_at(&self.labels, row);
    }

    /// Prefetches a row.
    #[inline]
    pub(super) fn prefetch(&self, row: usize) {
        prefetch(self.values(row));
        prefetch_at(&self.labels, row);
    }
}

impl Clone for RowBlock {
    /// Copies the rows and keeps room for more, because a block is copied only to be extended.
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.width);
        copy.values.extend_from_slice(&self.values[self.padding..]);
        copy.labels.extend_from_slice(&self.labels);
        copy
    }
}
