//! Rows: the quantised vectors that are compared in full, and the blocks that they stand in.
//!
//! A row is a cue's unit vector, [turned](super::sketch::turned) and scaled so that its largest component is 127, with
//! the scale beside it: dot products of integers times two scales are cosines to about three digits, at a quarter of
//! the bytes of float.

use super::sketch;
use crate::kernels::{dot, prefetch, prefetch_at};

/// Rows of one block; a full block is never copied again.
pub(super) const BLOCK_ROWS: usize = 1024;
/// Where a row begins to lie in one cache line less.
const ALIGNMENT: usize = 64;

/// A quantised vector.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(super) values: Vec<i8>,
    scale: f32,
}

impl Row {
    /// Quantises a vector of unit length. A vector that holds no finite direction becomes a row of zeros.
    pub(crate) fn new(vector: &[f32]) -> Self {
        let vector = sketch::turned(vector);
        let largest = vector.iter().fold(0f32, |largest, v| largest.max(v.abs()));
        if !largest.is_finite() || largest == 0.0 {
            return Self { values: vec![0; vector.len()], scale: 0.0 };
        }
        let scale = largest / 127.0;
        // Cast after rounding to a value within ±127.
        let values = vector.iter().map(|v| (v / scale).round() as i8).collect();
        Self { values, scale }
    }

    /// How many bytes a row of so many dimensions takes on disk.
    pub(crate) fn bytes(dimensions: usize) -> usize {
        dimensions.next_power_of_two() + size_of::<f32>()
    }

    /// The values as two's complement, then the scale as f32 little-endian.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let values = self.values.iter().map(|value| value.to_le_bytes()[0]);
        values.chain(self.scale.to_le_bytes()).collect()
    }
}

/// Some rows of one width.
pub(super) struct Block {
    width: usize,
    /// Begins with as many bytes as bring the first row to a cache line's begin.
    values: Vec<i8>,
    unused: usize,
    /// Of each row, in the order of their documents.
    marks: Vec<Mark>,
}

/// What belongs to a row beside its values.
#[derive(Clone, Copy)]
struct Mark {
    scale: f32,
    /// The row's document.
    owner: u32,
}

impl Block {
    /// No rows yet, of so many values each, with room for [`BLOCK_ROWS`].
    pub(super) fn new(width: usize) -> Self {
        let mut values: Vec<i8> = Vec::with_capacity(BLOCK_ROWS * width + ALIGNMENT);
        let unused = values.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        values.resize(unused, 0);
        Self { width, values, unused, marks: Vec::with_capacity(BLOCK_ROWS) }
    }

    /// Appends a row as it is on disk.
    pub(super) fn push(&mut self, row: &[u8], owner: u32) {
        let (values, scale) = row.split_at(self.width);
        self.values.extend(values.iter().map(|byte| i8::from_le_bytes([*byte])));
        self.marks.push(Mark { scale: scale.try_into().map_or(0.0, f32::from_le_bytes), owner });
    }

    /// The document of a row.
    pub(super) fn owner(&self, row: usize) -> Option<u32> {
        self.marks.get(row).map(|mark| mark.owner)
    }

    /// The values of a row; none where there is none.
    pub(super) fn values(&self, row: usize) -> &[i8] {
        let from = self.unused + row * self.width;
        self.values.get(from..from + self.width).unwrap_or_default()
    }

    /// The cosine of a row, which must be there, and a query's.
    pub(super) fn cosine(&self, row: usize, query: &Row) -> f32 {
        dot(self.values(row), &query.values) * self.marks[row].scale * query.scale
    }

    /// Has the processor look up where a row lies.
    pub(super) fn prefetch_begin(&self, row: usize) {
        prefetch_at(&self.values, self.unused + row * self.width);
        prefetch_at(&self.marks, row);
    }

    /// Has the processor fetch a row that will be asked for soon.
    pub(super) fn prefetch(&self, row: usize) {
        prefetch(self.values(row));
        prefetch_at(&self.marks, row);
    }
}

impl Clone for Block {
    /// A copy with room for more, since it is made to be added to.
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.width);
        copy.values.extend_from_slice(&self.values[self.unused..]);
        copy.marks.extend_from_slice(&self.marks);
        copy
    }
}
