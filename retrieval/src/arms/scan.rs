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
use crate::kernels::{Differences, Sketches, Sought, TILE_ROWS, Tile, differences};
use crate::threads::Threads;

/// Rows of a small chunk.
const SMALL_ROWS: usize = 2 * TILE_ROWS;
/// Rows of a large chunk, which one thread scans.
const LARGE_ROWS: usize = 16 * SMALL_ROWS;
/// One tile in so many is looked at to guess how near the nearest are, for half as many rows as would be right and some.
const GUESS_SHARE: usize = 16;
const GUESS_LEAST: usize = 16;

/// Rows that are counted in one go: the bound may lag behind by so many, and those who count wait for one another.
const COUNTED_TOGETHER: usize = 128;

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
            if free > 0 {
                let first = rows.by_ref().take(free);
                Arc::make_mut(last).extend(first.map(|row| sketch::signs(values(row))));
            }
        }
        let small = |first: usize| {
            let rows = first..rows.end.min(first + SMALL_ROWS);
            let mut small = Sketches::with_capacity(SMALL_ROWS, values(first).len());
            small.extend(rows.map(|row| sketch::signs(values(row))));
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
        let sought = sketch::sought(query);
        let bound = self.guess(&sought, target, &allowed);
        let near = self.within(bound, &sought, target, threads, &allowed);
        if near.len() >= target || bound == sought.most() {
            return near;
        }
        self.within(sought.most(), &sought, target, threads, &allowed)
    }

    /// Within how much some more than `target` rows lie, by a look at a part of them. Without it, most of what a scan
    /// keeps at its begin is of no use in the end.
    fn guess(&self, sought: &Sought, target: usize, allowed: &(impl Fn(usize) -> bool + Sync)) -> u16 {
        let expected = target / GUESS_SHARE;
        let nearest = Nearest::new(expected + expected / 2 + GUESS_LEAST, sought.most());
        let mut found = Differences::default();
        let mut kept = Vec::with_capacity(TILE_ROWS);
        let some: Vec<(usize, Tile<'_>)> = self.chunks().flat_map(tiles).step_by(GUESS_SHARE).collect();
        for (at, (first, tile)) in some.iter().enumerate() {
            let tile = tile.before(some.get(at + 1).map(|(_, next)| next));
            look(*first, &tile, sought, nearest.bound(), allowed, &mut found, &mut kept);
            nearest.count(&kept);
            kept.clear();
        }
        nearest.bound()
    }

    /// The nearest rows, `target` and as many as are just as near, or all within `bound` if they are fewer.
    fn within(
        &self,
        bound: u16,
        sought: &Sought,
        target: usize,
        threads: Threads,
        allowed: &(impl Fn(usize) -> bool + Sync),
    ) -> Vec<usize> {
        let nearest = Nearest::new(target, bound);
        let scan = |mut kept: Vec<Kept>, chunk: (usize, &Sketches)| {
            let (mut found, mut counted) = (Differences::default(), kept.len());
            for (first, tile) in tiles(chunk) {
                look(first, &tile, sought, nearest.bound(), allowed, &mut found, &mut kept);
                if kept.len() - counted >= COUNTED_TOGETHER {
                    nearest.count(&kept[counted..]);
                    counted = kept.len();
                }
            }
            nearest.count(&kept[counted..]);
            kept
        };
        let parts: Vec<Vec<Kept>> = match threads {
            Threads::One => vec![self.chunks().fold(Vec::with_capacity(2 * target), scan)],
            Threads::Several => {
                let chunks: Vec<_> = self.chunks().collect();
                chunks.into_par_iter().map(|chunk| scan(Vec::with_capacity(COUNTED_TOGETHER), chunk)).collect()
            }
        };
        nearest.finish(&parts)
    }

    /// The chunks, each with its first row.
    fn chunks(&self) -> impl Iterator<Item = (usize, &Sketches)> {
        self.chunks.iter().scan(0, |first, chunk| {
            let at = *first;
            *first += chunk.rows();
            Some((at, chunk.as_ref()))
        })
    }
}

/// A chunk's tiles, each with its first row.
fn tiles((first, chunk): (usize, &Sketches)) -> impl Iterator<Item = (usize, Tile<'_>)> {
    (first..).step_by(TILE_ROWS).zip(chunk.tiles())
}

/// Keeps the rows of a tile that lie within the bound.
fn look(
    first: usize,
    tile: &Tile<'_>,
    sought: &Sought,
    bound: u16,
    allowed: &impl Fn(usize) -> bool,
    found: &mut Differences,
    kept: &mut Vec<Kept>,
) {
    differences(tile, sought, bound, found);
    let within = found.within().filter(|row| allowed(first + row));
    kept.extend(within.map(|row| ((first + row) as u32, found.of(row))));
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use super::*;
    use crate::hash::{Kind, hash};
    use proptest::prelude::*;

    const WIDTH: usize = 256;

    /// The values of row `n`, by chance and yet always the same.
    fn row(n: usize) -> [i8; WIDTH] {
        std::array::from_fn(|at| {
            let drawn = hash(Kind::Term, &format!("{n} {}", at / 8)) >> (8 * (at % 8));
            i8::from_le_bytes([drawn.to_le_bytes()[0]])
        })
    }

    /// The same by looking at every dimension of every row.
    fn slow(rows: &[[i8; WIDTH]], query: &[i8], target: usize, allowed: impl Fn(usize) -> bool) -> Vec<usize> {
        // How many come before it: those farther from zero, and as far ones that stand before it.
        let rank = |at: usize| {
            let far = |at: usize| (Reverse(query[at].unsigned_abs()), at);
            (0..WIDTH).filter(|other| far(*other) < far(at)).count()
        };
        let weights: Vec<usize> = (0..WIDTH)
            .map(|at| match rank(at) {
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

    #[test]
    fn a_mistaken_guess_changes_nothing() {
        // The first tile, which the guess is made by, holds as many near rows as are wanted of all; nothing else is near.
        let query = row(usize::MAX);
        let near = |n: usize| std::array::from_fn(|at| if at == n % WIDTH { 0 } else { query[at] });
        let rows: Vec<[i8; WIDTH]> = (0..20_000).map(|n| if n < TILE_ROWS { near(n) } else { row(n) }).collect();
        let mut table = SketchTable::default();
        table.extend(0..rows.len(), |row| &rows[row]);
        let target = 4 * TILE_ROWS;
        let sought = sketch::sought(&query);
        let bound = table.guess(&sought, target, &|_| true);
        assert!(table.within(bound, &sought, target, Threads::One, &|_| true).len() < target, "the guess is mistaken");
        assert_eq!(table.near(&query, target, Threads::One, |_| true), slow(&rows, &query, target, |_| true));
    }
}
