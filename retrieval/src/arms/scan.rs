//! The first look at every cue: the sketches of all rows, and which of them are nearest to a query's.
//!
//! A scan takes as long as reading its bytes, and memory is read fastest from front to back, so sketches lie apart from
//! the rows and many together. New ones are added to small chunks, since the chunk that a snapshot holds is copied before
//! it is changed; enough small ones become a large one, which is never copied again.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::nearest::{Kept, Nearest};
use super::sketch;
use crate::kernels::{Differences, LARGE, Sketches, differences};
use crate::threads::Threads;

/// Rows of a small chunk, and of what is scanned before the bound is asked for again.
const SMALL_ROWS: usize = 1024;
/// Rows of a large chunk, which one thread scans.
const LARGE_ROWS: usize = 16 * SMALL_ROWS;

/// The sketches of all rows. Cloning shares them.
#[derive(Clone, Default)]
pub(super) struct SketchTable {
    /// Large ones, then small ones; only the last may have room.
    chunks: Vec<Arc<Sketches>>,
}

impl SketchTable {
    /// Appends the sketches of these rows, whose values are asked for, all of one length.
    pub(super) fn extend<'a>(&mut self, mut rows: Range<usize>, values: impl Fn(usize) -> &'a [i8] + Sync) {
        if let Some(last) = self.chunks.last_mut() {
            let free = last.rows().next_multiple_of(SMALL_ROWS) - last.rows();
            let first = rows.by_ref().take(free);
            if free > 0 {
                let last = Arc::make_mut(last);
                first.for_each(|row| last.push(sketch::signs(values(row))));
            }
        }
        let small = |first: usize| {
            let rows = first..rows.end.min(first + SMALL_ROWS);
            let mut small = Sketches::with_capacity(SMALL_ROWS, values(first).len().div_ceil(u64::BITS as usize));
            rows.for_each(|row| small.push(sketch::signs(values(row))));
            Arc::new(small)
        };
        let firsts: Vec<usize> = rows.clone().step_by(SMALL_ROWS).collect();
        self.chunks.par_extend(firsts.into_par_iter().map(small));
        let large = self.chunks.partition_point(|chunk| chunk.rows() == LARGE_ROWS);
        let small = self.chunks.split_off(large);
        for small in small.chunks(LARGE_ROWS / SMALL_ROWS) {
            let small_ones = small.iter().map(Arc::as_ref);
            if small_ones.clone().map(Sketches::rows).sum::<usize>() == LARGE_ROWS {
                self.chunks.push(Arc::new(Sketches::joined(small_ones)));
            } else {
                self.chunks.extend_from_slice(small);
            }
        }
    }

    /// The rows among those that are allowed whose sketches are nearest to a query's, `target` of them and as many as
    /// are just as near as the last, ascending.
    pub(super) fn near(
        &self,
        query: &[i8],
        target: usize,
        threads: Threads,
        allowed: impl Fn(usize) -> bool + Sync,
    ) -> Vec<usize> {
        let wanted = sketch::sought(query);
        let nearest = Nearest::new(target, LARGE * query.len());
        let scan = |(first, chunk): (usize, &Sketches)| {
            let mut kept = Vec::new();
            let mut found = Differences::default();
            for (part, first) in chunk.parts(SMALL_ROWS).zip((first..).step_by(SMALL_ROWS)) {
                differences(&part, &wanted, nearest.bound(), &mut found);
                nearest.take(first, &found, |row| allowed(first + row), &mut kept);
            }
            kept
        };
        let chunks = self.chunks.iter().scan(0, |first, chunk| {
            let at = *first;
            *first += chunk.rows();
            Some((at, chunk.as_ref()))
        });
        let parts: Vec<Vec<Kept>> = match threads {
            Threads::One => chunks.map(scan).collect(),
            Threads::Several => chunks.collect::<Vec<_>>().into_par_iter().map(scan).collect(),
        };
        nearest.finish(&parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{Kind, hash};
    use proptest::prelude::*;

    const WIDTH: usize = 64;

    /// The values of row `n`, by chance and yet always the same.
    fn row(n: usize) -> [i8; WIDTH] {
        std::array::from_fn(|at| {
            let drawn = hash(Kind::Term, &format!("{n} {}", at / 8)) >> (8 * (at % 8));
            i8::from_le_bytes([drawn.to_le_bytes()[0]])
        })
    }

    /// The same by looking at every dimension of every row.
    fn slow(rows: &[[i8; WIDTH]], query: &[i8], target: usize, allowed: impl Fn(usize) -> bool) -> Vec<usize> {
        let mean_square = query.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>() / query.len() as f64;
        let weight = |value: i8| if f64::from(value).powi(2) > mean_square { LARGE } else { 1 };
        let difference = |row: &[i8; WIDTH]| {
            let differing = row.iter().zip(query).filter(|(row, query)| (**row < 0) != (**query < 0));
            differing.map(|(_, query)| weight(*query)).sum::<usize>()
        };
        let differences: Vec<usize> = rows.iter().map(difference).collect();
        let mut sorted: Vec<usize> = (0..rows.len()).filter(|row| allowed(*row)).map(|row| differences[row]).collect();
        sorted.sort_unstable();
        let bound = sorted.get(target - 1).copied().unwrap_or(usize::MAX);
        (0..rows.len()).filter(|row| allowed(*row) && differences[*row] <= bound).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn the_nearest_are_found_however_the_rows_came_in(
            pieces in proptest::collection::vec(prop_oneof![1..50usize, 900..1100usize, 5_000..20_000usize], 1..8),
            target in 1..3000usize, step in 1..4usize,
        ) {
            let rows: Vec<[i8; WIDTH]> = (0..pieces.iter().sum()).map(row).collect();
            let query = row(usize::MAX);
            let mut table = SketchTable::default();
            let mut held = 0;
            for piece in pieces {
                // A snapshot holds what was there before.
                let (before, was) = (table.clone(), held);
                table.extend(held..held + piece, |row| &rows[row]);
                held += piece;
                prop_assert_eq!(before.chunks.iter().map(|chunk| chunk.rows()).sum::<usize>(), was);
            }
            let allowed = |row: usize| row.is_multiple_of(step);
            let expected = slow(&rows, &query, target, allowed);
            for threads in [Threads::One, Threads::Several] {
                prop_assert_eq!(&table.near(&query, target, threads, allowed), &expected);
            }
            let small = table.chunks.iter().filter(|chunk| chunk.rows() < LARGE_ROWS).count();
            prop_assert!(small <= LARGE_ROWS / SMALL_ROWS, "{} small chunks", small);
        }
    }
}
