//! Choosing the rows whose sketches are nearest, in one pass.
//!
//! Wanted are all rows within the smallest difference that so many rows are within. How small that is shows only at the
//! end, but a bound is known as soon as so many rows have been met, and falls from then on: a row beyond it is never
//! wanted. What is kept meanwhile is a few times what is wanted, however many rows there are.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Differences that are looked at together: most such groups hold nothing near.
const GROUP: usize = 32;

/// The nearest rows met so far, in one of the parts that the rows were split into.
pub(super) struct Nearest<'a> {
    target: u32,
    /// The least bound that any part has found.
    bound: &'a AtomicUsize,
    /// This part's own.
    own_bound: usize,
    /// How many of the rows kept within the own bound have each difference.
    histogram: Vec<u32>,
    within: u32,
    /// Row and difference, rows ascending.
    kept: Vec<(u32, u16)>,
}

impl<'a> Nearest<'a> {
    /// Looks for `target` rows among those whose sketches have `bits` bits; the parts of one search share `bound`,
    /// which begins at `bits`.
    pub(super) fn new(target: usize, bits: usize, bound: &'a AtomicUsize) -> Self {
        Self {
            target: u32::try_from(target).unwrap_or(u32::MAX),
            bound,
            own_bound: bits,
            histogram: vec![0; bits + 1],
            within: 0,
            kept: Vec::with_capacity(4 * target),
        }
    }

    /// Takes in the differences of the rows from `first` on; rows must come in ascending order.
    pub(super) fn take(&mut self, first: usize, differences: &[u16], allowed: impl Fn(usize) -> bool) {
        self.lower_to(self.bound.load(Ordering::Relaxed));
        let bound = self.own_bound as u16;
        for (group, differences) in differences.chunks(GROUP).enumerate() {
            if all_beyond(differences, bound) {
                continue;
            }
            for (at, difference) in differences.iter().enumerate() {
                let row = group * GROUP + at;
                if *difference <= bound && allowed(row) {
                    self.kept.push(((first + row) as u32, *difference));
                    self.histogram[usize::from(*difference)] += 1;
                    self.within += 1;
                }
            }
        }
        let mut lower = self.own_bound;
        let mut left = self.within;
        while lower > 0 && left - self.histogram[lower] >= self.target {
            left -= self.histogram[lower];
            lower -= 1;
        }
        self.lower_to(lower);
        self.bound.fetch_min(lower, Ordering::Relaxed);
    }

    fn lower_to(&mut self, bound: usize) {
        while self.own_bound > bound {
            self.within -= self.histogram[self.own_bound];
            self.own_bound -= 1;
        }
    }

    /// The rows wanted of all parts together, ascending.
    pub(super) fn finish(parts: &[Self]) -> Vec<usize> {
        let Some(first) = parts.first() else { return Vec::new() };
        let bound = parts.iter().map(|part| part.own_bound).min().unwrap_or_default();
        let mut histogram = vec![0u32; bound + 1];
        let kept = || parts.iter().flat_map(|part| &part.kept);
        for (_, difference) in kept() {
            if let Some(count) = histogram.get_mut(usize::from(*difference)) {
                *count += 1;
            }
        }
        let mut counted = 0;
        let within = histogram.iter().position(|count| {
            counted += count;
            counted >= first.target
        });
        let within = within.unwrap_or(bound);
        kept().filter(|(_, difference)| usize::from(*difference) <= within).map(|(row, _)| *row as usize).collect()
    }
}

// A sum instead of an early end, so that the compiler compares many at a time.
fn all_beyond(differences: &[u16], bound: u16) -> bool {
    differences.iter().map(|difference| u16::from(*difference <= bound)).sum::<u16>() == 0
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
            let bound = AtomicUsize::new(64);
            let share = differences.len().div_ceil(parts);
            let part = |(part, differences): (usize, &[u16])| {
                let mut nearest = Nearest::new(target, 64, &bound);
                for (at, differences) in differences.chunks(block).enumerate() {
                    let first = part * share + at * block;
                    nearest.take(first, differences, |row| allowed[first + row]);
                }
                nearest
            };
            let parts: Vec<Nearest<'_>> = differences.chunks(share).enumerate().map(part).collect();
            prop_assert_eq!(Nearest::finish(&parts), slow(&differences, &allowed, target));
        }
    }
}
