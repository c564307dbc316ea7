//! The scan: the sketches of all rows, and the selection of the rows whose sketches are nearest to a query's.
//!
//! The duration of a scan is that of reading its bytes, and memory is read fastest from front to back, so sketches are
//! stored separately from the rows, many in one chunk. New sketches go to small chunks, because a chunk that a snapshot
//! holds is copied before it changes. Enough small chunks are joined to a large one, which is never copied again.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::nearest_rows::{NearestRows, RowDifference};
use super::sketch;
use crate::ids::RowId;
use crate::kernels::{Differences, QuerySketch, Sketches, TILE_ROWS, Tile, differences};
use crate::threads::Threads;

/// Rows of a small chunk.
const SMALL_ROWS: usize = 2 * TILE_ROWS;
/// Rows of a large chunk, which one thread scans.
const LARGE_ROWS: usize = 16 * SMALL_ROWS;
/// One tile in this many is sampled to estimate the bound. The estimate aims at one and a half times the target's share
/// of the sample, plus [`ESTIMATE_MARGIN`] rows.
const ESTIMATE_SHARE: usize = 16;
const ESTIMATE_MARGIN: usize = 16;

/// Rows that are counted under one lock. More would let the bound lag behind; fewer would make threads wait for the
/// lock.
const COUNTED_TOGETHER: usize = 128;

/// The sketches of all rows. Cloning shares them.
#[derive(Clone, Default)]
pub(super) struct SketchTable {
    /// The large chunks, then the small ones; only the last may have room.
    chunks: Vec<Arc<Sketches>>,
}

impl SketchTable {
    /// Appends the sketches of a range of rows. `values` returns a row's values, all rows of one length.
    pub(super) fn extend<'a>(&mut self, mut rows: Range<usize>, values: impl Fn(usize) -> &'a [i8] + Sync) {
        if let Some(last) = self.chunks.last_mut() {
            let free = last.rows().next_multiple_of(SMALL_ROWS) - last.rows();
            if free > 0 {
                let first = rows.by_ref().take(free);
                Arc::make_mut(last).extend(first.map(|row| sketch::signs(values(row))));
            }
        }
        let firsts: Vec<usize> = rows.clone().step_by(SMALL_ROWS).collect();
        self.chunks.par_extend(firsts.into_par_iter().map(|first| {
            let rows = first..rows.end.min(first + SMALL_ROWS);
            let mut small = Sketches::with_capacity(SMALL_ROWS, values(first).len());
            small.extend(rows.map(|row| sketch::signs(values(row))));
            Arc::new(small)
        }));
        self.join_small_chunks();
    }

    /// Replaces every full group of small chunks by a large one.
    fn join_small_chunks(&mut self) {
        let large = self.chunks.partition_point(|chunk| chunk.rows() == LARGE_ROWS);
        let small = self.chunks.split_off(large);
        for group in small.chunks(LARGE_ROWS / SMALL_ROWS) {
            let tables = group.iter().map(Arc::as_ref);
            if tables.clone().map(Sketches::rows).sum::<usize>() == LARGE_ROWS {
                self.chunks.push(Arc::new(Sketches::concat(tables)));
            } else {
                self.chunks.extend_from_slice(group);
            }
        }
    }

    /// Returns the `target` allowed rows whose sketches are nearest to a query's, and those that are as near as the
    /// last of them, ascending.
    pub(super) fn nearest(
        &self,
        query: &[i8],
        target: usize,
        threads: Threads,
        allowed: impl Fn(RowId) -> bool + Sync,
    ) -> Vec<RowId> {
        let query = sketch::query_sketch(query);
        let bound = self.estimate(&query, target, &allowed);
        let nearest = self.nearest_within(bound, &query, target, threads, &allowed);
        if nearest.len() >= target || bound == query.max_difference() {
            return nearest;
        }
        self.nearest_within(query.max_difference(), &query, target, threads, &allowed)
    }

    /// Estimates, on a sample of the tiles, a bound within which somewhat more than `target` rows lie. Without it, most
    /// rows that a scan keeps at its beginning would be kept in vain.
    fn estimate(&self, query: &QuerySketch, target: usize, allowed: &(impl Fn(RowId) -> bool + Sync)) -> u16 {
        let expected = target / ESTIMATE_SHARE;
        let nearest = NearestRows::new(expected + expected / 2 + ESTIMATE_MARGIN, query.max_difference());
        let mut found = Differences::default();
        let mut kept = Vec::with_capacity(TILE_ROWS);
        let sample: Vec<(usize, Tile<'_>)> = self.chunks().flat_map(tiles).step_by(ESTIMATE_SHARE).collect();
        for (index, (first, tile)) in sample.iter().enumerate() {
            let tile = tile.followed_by(sample.get(index + 1).map(|(_, next)| next));
            keep_within(*first, &tile, query, nearest.bound(), allowed, &mut found, &mut kept);
            nearest.count(&kept);
            kept.clear();
        }
        nearest.bound()
    }

    /// Returns the `target` nearest rows and those as near as the last of them, or all rows within `bound` if they are
    /// fewer.
    fn nearest_within(
        &self,
        bound: u16,
        query: &QuerySketch,
        target: usize,
        threads: Threads,
        allowed: &(impl Fn(RowId) -> bool + Sync),
    ) -> Vec<RowId> {
        let nearest = NearestRows::new(target, bound);
        let scan = |mut kept: Vec<RowDifference>, chunk: (usize, &Sketches)| {
            let (mut found, mut counted) = (Differences::default(), kept.len());
            for (first, tile) in tiles(chunk) {
                keep_within(first, &tile, query, nearest.bound(), allowed, &mut found, &mut kept);
                if kept.len() - counted >= COUNTED_TOGETHER {
                    nearest.count(&kept[counted..]);
                    counted = kept.len();
                }
            }
            nearest.count(&kept[counted..]);
            kept
        };
        let parts: Vec<Vec<RowDifference>> = match threads {
            Threads::One => vec![self.chunks().fold(Vec::with_capacity(2 * target), scan)],
            Threads::Several => {
                let chunks: Vec<_> = self.chunks().collect();
                chunks.into_par_iter().map(|chunk| scan(Vec::with_capacity(COUNTED_TOGETHER), chunk)).collect()
            }
        };
        nearest.finish(&parts)
    }

    /// Returns the chunks, each with its first row.
    fn chunks(&self) -> impl Iterator<Item = (usize, &Sketches)> {
        self.chunks.iter().scan(0, |next_row, chunk| {
            let first = *next_row;
            *next_row += chunk.rows();
            Some((first, chunk.as_ref()))
        })
    }
}

/// Returns a chunk's tiles, each with its first row.
fn tiles((first, chunk): (usize, &Sketches)) -> impl Iterator<Item = (usize, Tile<'_>)> {
    (first..).step_by(TILE_ROWS).zip(chunk.tiles())
}

/// Adds the allowed rows of a tile that lie within the bound to `kept`. `found` is scratch space.
fn keep_within(
    first: usize,
    tile: &Tile<'_>,
    query: &QuerySketch,
    bound: u16,
    allowed: &impl Fn(RowId) -> bool,
    found: &mut Differences,
    kept: &mut Vec<RowDifference>,
) {
    differences(tile, query, bound, found);
    for row in found.within() {
        let id = RowId::new((first + row) as u32);
        if allowed(id) {
            kept.push((id, found.of(row)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use super::*;
    use crate::hash::{PostingKey, TermHash};
    use proptest::prelude::*;

    const WIDTH: usize = 256;

    /// The values of row `n`: random, and the same in every run.
    fn row(n: usize) -> [i8; WIDTH] {
        std::array::from_fn(|index| {
            let drawn = PostingKey::from(TermHash::of(&format!("{n} {}", index / 8))).to_le_bytes();
            i8::from_le_bytes([drawn[index % 8]])
        })
    }

    /// The same selection, from every dimension of every row.
    fn reference(rows: &[[i8; WIDTH]], query: &[i8], target: usize, allowed: impl Fn(RowId) -> bool) -> Vec<RowId> {
        // The number of dimensions that are farther from zero, or as far and earlier.
        let rank = |index: usize| {
            let key = |index: usize| (Reverse(query[index].unsigned_abs()), index);
            (0..WIDTH).filter(|other| key(*other) < key(index)).count()
        };
        let weights: Vec<usize> = (0..WIDTH)
            .map(|index| match rank(index) {
                0..16 => 4,
                16..64 => 2,
                64..128 => 1,
                _ => 0,
            })
            .collect();
        let difference = |row: &[i8; WIDTH]| {
            let signs = row.iter().zip(query).map(|(row, query)| (*row < 0) != (*query < 0));
            signs.zip(&weights).filter(|(differs, _)| *differs).map(|(_, weight)| weight).sum::<usize>()
        };
        let differences: Vec<usize> = rows.iter().map(difference).collect();
        let allowed_rows = RowId::new(0).until(RowId::new(rows.len() as u32)).filter(|row| allowed(*row));
        let mut sorted: Vec<usize> = allowed_rows.clone().map(|row| differences[row.index()]).collect();
        sorted.sort_unstable();
        let bound = sorted.get(target - 1).copied().unwrap_or(usize::MAX);
        allowed_rows.filter(|row| differences[row.index()] <= bound).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn the_nearest_rows_are_found_however_the_rows_were_added(
            pieces in proptest::collection::vec(prop_oneof![1..50usize, 900..1100usize, 5_000..20_000usize], 1..8),
            target in 1..3000usize, step in 1..4usize,
        ) {
            let rows: Vec<[i8; WIDTH]> = (0..pieces.iter().sum()).map(row).collect();
            let query = row(usize::MAX);
            let mut table = SketchTable::default();
            let mut held = 0;
            for piece in pieces {
                // A snapshot keeps the rows that it was taken with.
                let (before, was) = (table.clone(), held);
                table.extend(held..held + piece, |row| &rows[row]);
                held += piece;
                prop_assert_eq!(before.chunks.iter().map(|chunk| chunk.rows()).sum::<usize>(), was);
            }
            let allowed = |row: RowId| row.index().is_multiple_of(step);
            let expected = reference(&rows, &query, target, allowed);
            for threads in [Threads::One, Threads::Several] {
                prop_assert_eq!(&table.nearest(&query, target, threads, allowed), &expected);
            }
            let small = table.chunks.iter().filter(|chunk| chunk.rows() < LARGE_ROWS).count();
            prop_assert!(small <= LARGE_ROWS / SMALL_ROWS, "{} small chunks", small);
        }
    }

    #[test]
    fn a_wrong_estimate_does_not_change_the_result() {
        // The first tile, which is in the sample, holds near rows only; no other row is near.
        let query = row(usize::MAX);
        let near = |n: usize| std::array::from_fn(|index| if index == n % WIDTH { 0 } else { query[index] });
        let rows: Vec<[i8; WIDTH]> = (0..20_000).map(|n| if n < TILE_ROWS { near(n) } else { row(n) }).collect();
        let mut table = SketchTable::default();
        table.extend(0..rows.len(), |row| &rows[row]);
        let target = 4 * TILE_ROWS;
        let sketch = sketch::query_sketch(&query);
        let bound = table.estimate(&sketch, target, &|_| true);
        let within = table.nearest_within(bound, &sketch, target, Threads::One, &|_| true);
        assert!(within.len() < target, "the estimate is too low");
        assert_eq!(table.nearest(&query, target, Threads::One, |_| true), reference(&rows, &query, target, |_| true));
    }
}
