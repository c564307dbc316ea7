//! Choosing the rows whose sketches are nearest, in one pass.
//!
//! Wanted are all rows within the smallest difference that so many rows are within. How small that is shows only at the
//! end, but a bound is known as soon as so many rows have been met, and falls from then on: a row beyond it is never
//! wanted. What is kept meanwhile is a few times what is wanted, however many rows there are.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

/// A row and how much its sketch differs.
pub(super) type Kept = (u32, u16);

/// What is known of the rows met so far, by whichever thread.
pub(super) struct Nearest {
    target: u32,
    /// No row beyond it is wanted. It only falls, and only decides how much is kept for nothing.
    bound: AtomicUsize,
    met: Mutex<Met>,
}

struct Met {
    /// How many of the rows kept have each difference.
    histogram: Vec<u32>,
    /// How many of them lie within the bound.
    within: u32,
}

impl Nearest {
    /// Looks for `target` rows among those that differ by `most` at most.
    pub(super) fn new(target: usize, most: u16) -> Self {
        let most = usize::from(most);
        Self {
            target: u32::try_from(target).unwrap_or(u32::MAX),
            bound: AtomicUsize::new(most),
            met: Mutex::new(Met { histogram: vec![0; most + 1], within: 0 }),
        }
    }

    /// Beyond how much nothing is wanted, as far as is known.
    pub(super) fn bound(&self) -> u16 {
        self.bound.load(Ordering::Relaxed) as u16
    }

    /// Counts rows that were kept, of all that lie within what the bound was a moment ago, and lowers the bound as far as
    /// enough rows remain within it.
    pub(super) fn count(&self, kept: &[Kept]) {
        let mut met = self.met.lock();
        let mut bound = self.bound.load(Ordering::Relaxed);
        for (_, difference) in kept {
            met.histogram[usize::from(*difference)] += 1;
            met.within += u32::from(usize::from(*difference) <= bound);
        }
        while bound > 0 && met.within - met.histogram[bound] >= self.target {
            met.within -= met.histogram[bound];
            bound -= 1;
        }
        self.bound.store(bound, Ordering::Relaxed);
    }

    /// The rows wanted, ascending, of what was kept in the parts that the rows were split into.
    pub(super) fn finish(self, parts: &[Vec<Kept>]) -> Vec<usize> {
        // Every row was met, so the bound is what was looked for.
        let bound = self.bound.into_inner();
        let kept = parts.iter().flatten().filter(|(_, difference)| usize::from(*difference) <= bound);
        kept.map(|(row, _)| *row as usize).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same by sorting everything.
    fn slow(differences: &[u16], allowed: &[bool], target: usize) -> Vec<usize> {
        let mut sorted: Vec<u16> = differences.iter().zip(allowed).filter(|(_, a)| **a).map(|(d, _)| *d).collect();
        sorted.sort_unstable();
        let within = sorted.get(target - 1).copied().unwrap_or(u16::MAX);
        (0..differences.len()).filter(|row| allowed[*row] && differences[*row] <= within).collect()
    }

    proptest! {
        #[test]
        fn the_same_rows_are_chosen_as_by_sorting_whatever_the_parts(
            rows in proptest::collection::vec((0..=64u16, proptest::bool::weighted(0.8)), 1..600),
            target in 1..80usize, block in 1..90usize, parts in 1..4usize,
        ) {
            let (differences, allowed): (Vec<u16>, Vec<bool>) = rows.into_iter().unzip();
            let nearest = Nearest::new(target, 64);
            let share = differences.len().div_ceil(parts);
            let part = |(part, differences): (usize, &[u16])| {
                let mut kept = Vec::new();
                for (at, differences) in differences.chunks(block).enumerate() {
                    let first = part * share + at * block;
                    let bound = nearest.bound();
                    let found = (first..).zip(differences).filter(|(row, found)| allowed[*row] && **found <= bound);
                    let before = kept.len();
                    kept.extend(found.map(|(row, found)| (row as u32, *found)));
                    nearest.count(&kept[before..]);
                }
                kept
            };
            // In any order: the last part first.
            let mut parts: Vec<Vec<Kept>> = differences.chunks(share).enumerate().rev().map(part).collect();
            parts.reverse();
            prop_assert_eq!(nearest.finish(&parts), slow(&differences, &allowed, target));
        }
    }
}
