//! The cue arm: the nearest cues by cosine, an exact scan over rows of 8-bit integers.
//!
//! A row is a cue's unit vector scaled so that its largest component is 127, with the scale beside it: dot products of
//! integers times two scales are cosines to about three digits, at a quarter of the bytes of float. A memory's score is
//! the best of its cues'. Several cues of one memory and cues of forgotten ones are told apart by `owners`.

use std::sync::Arc;

use rayon::prelude::*;
use simsimd::SpatialSimilarity;

use crate::error::{Error, Result};
use crate::filter::Bitmap;

/// Rows of one block; a full block is never copied again.
pub(crate) const BLOCK_ROWS: usize = 1024;
/// The owner of a row whose memory was forgotten or rewritten.
const NOBODY: u32 = u32::MAX;
/// Below this many blocks one thread is quicker than several.
const PARALLEL_BLOCKS_MIN: usize = 16;

/// A quantised vector.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) values: Vec<i8>,
    pub(crate) scale: f32,
}

impl Row {
    /// Quantises a vector of unit length. A vector that holds no finite direction becomes a row of zeros.
    pub(crate) fn new(vector: &[f32]) -> Self {
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
        dimensions + size_of::<f32>()
    }

    /// The values as two's complement, then the scale as f32 little-endian.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let values = self.values.iter().map(|value| value.to_le_bytes()[0]);
        values.chain(self.scale.to_le_bytes()).collect()
    }

    /// Reads what [`Row::to_bytes`] wrote.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let (values, scale) = bytes.split_at(bytes.len().saturating_sub(size_of::<f32>()));
        let scale = scale.try_into().map_or(0.0, f32::from_le_bytes);
        Self { values: values.iter().map(|byte| i8::from_le_bytes([*byte])).collect(), scale }
    }
}

#[derive(Clone, Default)]
struct Block {
    values: Vec<i8>,
    scales: Vec<f32>,
    owners: Vec<u32>,
}

/// All rows of a namespace. Cloning shares the blocks; a change copies only the blocks that it touches.
#[derive(Clone)]
pub(crate) struct CueTable {
    dimensions: usize,
    rows: usize,
    blocks: Vec<Arc<Block>>,
}

impl CueTable {
    pub(crate) fn new(dimensions: usize) -> Self {
        Self { dimensions, rows: 0, blocks: Vec::new() }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Appends a row for a memory and returns its number.
    pub(crate) fn push(&mut self, row: &Row, owner: Option<u32>) -> Result<usize> {
        if row.values.len() != self.dimensions {
            return Err(Error::Dimensions { found: row.values.len(), expected: self.dimensions });
        }
        if self.rows.is_multiple_of(BLOCK_ROWS) {
            self.blocks.push(Arc::default());
        }
        if let Some(block) = self.blocks.last_mut() {
            let block = Arc::make_mut(block);
            block.values.extend_from_slice(&row.values);
            block.scales.push(row.scale);
            block.owners.push(owner.unwrap_or(NOBODY));
        }
        self.rows += 1;
        Ok(self.rows - 1)
    }

    /// Says whose row it is; nobody's when its memory is gone.
    pub(crate) fn assign(&mut self, row: usize, owner: Option<u32>) {
        if let Some(block) = self.blocks.get_mut(row / BLOCK_ROWS)
            && let Some(slot) = Arc::make_mut(block).owners.get_mut(row % BLOCK_ROWS)
        {
            *slot = owner.unwrap_or(NOBODY);
        }
    }

    /// The best cosine of every memory's cues, indexed by slot; NaN where a memory has no row or is not allowed.
    pub(crate) fn search(&self, query: &[f32], memories: usize, allowed: Option<&Bitmap>) -> Result<Vec<f32>> {
        if query.len() != self.dimensions {
            return Err(Error::Dimensions { found: query.len(), expected: self.dimensions });
        }
        let query = Row::new(query);
        let scan = |block: &Arc<Block>| block.scan(&query, self.dimensions, allowed);
        let scored: Vec<Vec<(u32, f32)>> = if self.blocks.len() < PARALLEL_BLOCKS_MIN {
            self.blocks.iter().map(scan).collect()
        } else {
            self.blocks.par_iter().map(scan).collect()
        };
        let mut best = vec![f32::NAN; memories];
        for (owner, cosine) in scored.into_iter().flatten() {
            if let Some(held) = best.get_mut(owner as usize) {
                *held = held.max(cosine);
            }
        }
        Ok(best)
    }
}

impl Block {
    fn scan(&self, query: &Row, dimensions: usize, allowed: Option<&Bitmap>) -> Vec<(u32, f32)> {
        let mut found = Vec::with_capacity(self.owners.len());
        for ((values, scale), owner) in self.values.chunks_exact(dimensions).zip(&self.scales).zip(&self.owners) {
            if *owner == NOBODY || allowed.is_some_and(|allowed| !allowed.contains(*owner)) {
                continue;
            }
            let dot = i8::dot(values, &query.values).unwrap_or(0.0) as f32;
            found.push((*owner, dot * scale * query.scale));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unit(values: &[f32]) -> Vec<f32> {
        let norm = values.iter().map(|v| v * v).sum::<f32>().sqrt().max(1e-9);
        values.iter().map(|v| v / norm).collect()
    }

    #[test]
    fn a_memory_scores_by_its_best_cue_and_a_forgotten_one_not_at_all() {
        let mut table = CueTable::new(4);
        table.push(&Row::new(&[1.0, 0.0, 0.0, 0.0]), Some(0)).expect("fits");
        table.push(&Row::new(&[0.0, 1.0, 0.0, 0.0]), Some(0)).expect("fits");
        let gone = table.push(&Row::new(&[0.0, 1.0, 0.0, 0.0]), Some(1)).expect("fits");
        table.assign(gone, None);
        let scores = table.search(&[0.0, 1.0, 0.0, 0.0], 2, None).expect("searches");
        assert!((scores[0] - 1.0).abs() < 0.01 && scores[1].is_nan(), "{scores:?}");
        assert!(table.search(&[1.0], 2, None).is_err());
    }

    proptest! {
        #[test]
        fn quantised_cosines_are_close_to_exact_ones(
            a in proptest::collection::vec(-1f32..1.0, 64), b in proptest::collection::vec(-1f32..1.0, 64),
        ) {
            let (a, b) = (unit(&a), unit(&b));
            let exact: f32 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            let mut table = CueTable::new(64);
            table.push(&Row::new(&a), Some(0)).expect("fits");
            let found = table.search(&b, 1, None).expect("searches")[0];
            prop_assert!((found - exact).abs() < 0.02, "{} against {}", found, exact);
        }
    }
}
