//! Selection of the rows whose sketches are nearest, in one pass.
//!
//! The result is every row whose difference is at most that of the `target`-th nearest row. That difference is known
//! only at the end. An upper bound is known once `target` rows were counted, and only falls from then on: a row beyond
//! the bound cannot be in the result. The rows kept meanwhile are a few times the result, however many rows there are.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::ids::RowId;

/// A row and the difference of its sketch.
pub(super) type RowDifference = (RowId, u16);

/// Counts the rows kept so far, by all threads of a scan, and derives the bound from the counts.
pub(super) struct NearestRows {
    target: u32,
    /// Rows beyond it are not in the result. It only falls; a stale value costs only rows kept in vain.
    bound: AtomicUsize,
    counts: Mutex<DifferenceCounts>,
}

struct DifferenceCounts {
    /// The number of rows kept, by difference.
    histogram: Vec<u32>,
    /// The number of rows kept that lie within the bound.
    within: u32,
}

impl NearestRows {
    /// Selects `target` rows among those that differ by at most `max_difference`.
    pub(super) fn new(target: usize, max_difference: u16) -> Self {
        let max_difference = usize::from(max_difference);
        Self {
            target: u32::try_from(target).unwrap_or(u32::MAX),
            bound: AtomicUsize::new(max_difference),
            counts: Mutex::new(DifferenceCounts { histogram: vec![0; max_difference + 1], within: 0 }),
        }
    }

    /// Returns the present bound: rows that differ by more are not in the result.
    pub(super) fn bound(&self) -> u16 {
        self.bound.load(Ordering::Relaxed) as u16
    }

    /// Counts rows that were kept and lowers the bound as far as enough rows remain within it.
    ///
    /// Every row within the bound that the caller last read must be among those counted.
    pub(super) fn count(&self, kept: &[RowDifference]) {
        let mut counts = self.counts.lock();
        let mut bound = self.bound.load(Ordering::Relaxed);
        for (_, difference) in kept {
            counts.histogram[usize::from(*difference)] += 1;
            counts.within += u32::from(usize::from(*difference) <= bound);
        }
        while bound > 0 && counts.within - counts.histogram[bound] >= self.target {
            counts.within -= counts.histogram[bound];
            bound -= 1;
        }
        self.bound.store(bound, Ordering::Relaxed);
    }

    /// Returns the selected rows, ascending. `parts` holds the rows kept, one list for each part of the table.
    pub(super) fn finish(self, parts: &[Vec<RowDifference>]) -> Vec<RowId> {
        // Every row was counted, so the bound is exact.
        let bound = self.bound.into_inner();
        let kept = parts.iter().flatten().filter(|(_, difference)| usize::from(*difference) <= bound);
        kept.map(|(row, _)| *row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same selection by sorting.
    fn reference(differences: &[u16], allowed: &[bool], target: usize) -> Vec<RowId> {
        let mut sorted: Vec<u16> = differences.iter().zip(allowed).filter(|(_, a)| **a).map(|(d, _)| *d).collect();
        sorted.sort_unstable();
        let within = sorted.get(target - 1).copied().unwrap_or(u16::MAX);
        let selected = (0..differences.len()).filter(|row| allowed[*row] && differences[*row] <= within);
        selected.map(|row| RowId::new(row as u32)).collect()
    }

    proptest! {
        #[test]
        fn the_selection_equals_sorting_whatever_the_parts(
            rows in proptest::collection::vec((0..=64u16, proptest::bool::weighted(0.8)), 1..600),
            target in 1..80usize, block in 1..90usize, parts in 1..4usize,
        ) {
            let (differences, allowed): (Vec<u16>, Vec<bool>) = rows.into_iter().unzip();
            let nearest = NearestRows::new(target, 64);
            let share = differences.len().div_ceil(parts);
            let part = |(part, differences): (usize, &[u16])| {
                let mut kept = Vec::new();
                for (index, differences) in differences.chunks(block).enumerate() {
                    let first = part * share + index * block;
                    let bound = nearest.bound();
                    let found = (first..).zip(differences).filter(|(row, found)| allowed[*row] && **found <= bound);
                    let before = kept.len();
                    kept.extend(found.map(|(row, found)| (RowId::new(row as u32), *found)));
                    nearest.count(&kept[before..]);
                }
                kept
            };
            // Any order works: here the last part is scanned first.
            let mut parts: Vec<Vec<RowDifference>> = differences.chunks(share).enumerate().rev().map(part).collect();
            parts.reverse();
            prop_assert_eq!(nearest.finish(&parts), reference(&differences, &allowed, target));
        }
    }
}
