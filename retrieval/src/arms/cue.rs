//! The cue arm: the nearest cues by cosine.
//!
//! Cues are compared as [rows](super::row). A memory's score is the best of its cues'.
//!
//! Up to [`EXACT_ROWS`] rows are all compared, and so are the rows that a filter leaves when they are few. Beyond that
//! sketches are compared, and only the few thousand rows whose sketches are nearest are compared in full.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::best::Best;
pub(crate) use super::row::Row;
use super::row::{BLOCK_ROWS, Block};
use super::scan::SketchTable;
use crate::error::{Error, Result};
use crate::filter::Bitmap;
use crate::kernels::AHEAD;
use crate::threads::Threads;

/// So many rows are compared without a look at their sketches.
const EXACT_ROWS: usize = 16 << 10;
/// Rows that are compared in full after their sketches were: at least so many, and one in [`RESCORED_SHARE`].
const RESCORED_MIN: usize = 2048;
const RESCORED_SHARE: usize = 288;
/// Rows whose pages are looked up together, before the first of them is fetched.
const LOOKED_UP: usize = 64;
/// A filter that leaves at most one document for so many rows is cheaper to follow than the sketches.
const FEW_SHARE: usize = 16;

/// Which rows a query is compared with.
pub(crate) struct Look<'a> {
    /// The documents that may be found; none for all.
    pub(crate) allowed: Option<&'a Bitmap>,
    /// How many rows the namespace's memories have. Not the table's, which keeps those of former versions too: what is
    /// found must not depend on them.
    pub(crate) live_rows: usize,
    pub(crate) at: At,
    /// How many threads compare.
    pub(crate) threads: Threads,
}

/// How the rows are chosen that are compared in full.
pub(crate) enum At {
    /// Every row.
    All,
    /// Those whose sketches are nearest.
    Nearest,
    /// These, ascending: all that are allowed.
    Rows(Vec<usize>),
}

impl Look<'_> {
    /// Whether the rows of so many documents are few enough to be compared one by one.
    pub(crate) fn is_few(&self, documents: usize) -> bool {
        documents <= RESCORED_MIN.max(self.live_rows / FEW_SHARE)
    }
}

/// All rows of a namespace, in the order of their documents. Cloning shares the blocks.
#[derive(Clone)]
pub(crate) struct CueTable {
    dimensions: usize,
    /// Values of a row: the next power of two.
    width: usize,
    rows: usize,
    blocks: Vec<Arc<Block>>,
    sketches: SketchTable,
}

impl CueTable {
    pub(crate) fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            width: dimensions.next_power_of_two(),
            rows: 0,
            blocks: Vec::new(),
            sketches: SketchTable::default(),
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// How many bytes a row takes on disk.
    pub(crate) fn row_bytes(&self) -> usize {
        Row::bytes(self.dimensions)
    }

    /// Appends the rows that stand in `bytes` one after the other, each with its document.
    pub(crate) fn extend(&mut self, bytes: &[u8], owners: &[u32]) {
        let mut rows = bytes.chunks_exact(Row::bytes(self.dimensions)).zip(owners);
        let free = self.blocks.len() * BLOCK_ROWS - self.rows;
        let first: Vec<_> = rows.by_ref().take(free).collect();
        if let Some(block) = self.blocks.last_mut().filter(|_| !first.is_empty()) {
            let block = Arc::make_mut(block);
            first.into_iter().for_each(|(row, owner)| block.push(row, *owner));
        }
        let rest: Vec<_> = rows.collect();
        let block = |rows: &[(&[u8], &u32)]| {
            let mut block = Block::new(self.width);
            rows.iter().for_each(|(row, owner)| block.push(row, **owner));
            Arc::new(block)
        };
        self.blocks.par_extend(rest.par_chunks(BLOCK_ROWS).map(block));
        let (from, blocks) = (self.rows, &self.blocks);
        self.rows += owners.len();
        self.sketches.extend(from..self.rows, |row| blocks[row / BLOCK_ROWS].values(row % BLOCK_ROWS));
    }

    /// A query's vector as a row.
    pub(crate) fn query(&self, vector: &[f32]) -> Result<Row> {
        if vector.len() != self.dimensions {
            return Err(Error::Dimensions { found: vector.len(), expected: self.dimensions });
        }
        Ok(Row::new(vector))
    }

    /// The best cosine among some rows; none where there are none.
    pub(crate) fn cosine(&self, query: &Row, rows: Range<usize>) -> Option<f32> {
        let cosines = rows.filter_map(|row| {
            let block = self.blocks.get(row / BLOCK_ROWS)?;
            Some(block.cosine(row % BLOCK_ROWS, query))
        });
        cosines.reduce(f32::max)
    }

    /// The document of a row.
    fn owner(&self, row: usize) -> Option<u32> {
        self.blocks.get(row / BLOCK_ROWS)?.owner(row % BLOCK_ROWS)
    }

    /// Has the processor look up where a row lies.
    fn prefetch_begin(&self, row: usize) {
        if let Some(block) = self.blocks.get(row / BLOCK_ROWS) {
            block.prefetch_begin(row % BLOCK_ROWS);
        }
    }

    /// Has the processor fetch a row that will be asked for soon.
    pub(crate) fn prefetch(&self, row: usize) {
        if let Some(block) = self.blocks.get(row / BLOCK_ROWS) {
            block.prefetch(row % BLOCK_ROWS);
        }
    }

    /// The memories with the nearest cues that the filter lets through, best first, above a least cosine; `order`
    /// settles ties.
    pub(crate) fn best(
        &self,
        query: &Row,
        look: &Look<'_>,
        limit: usize,
        least: f32,
        order: impl Fn(u32) -> u64 + Sync,
    ) -> Vec<(u32, f32)> {
        let rows = match &look.at {
            At::Rows(rows) => Cow::Borrowed(rows.as_slice()),
            At::Nearest if look.live_rows > EXACT_ROWS => Cow::Owned(self.near(query, look)),
            At::All | At::Nearest => {
                return self.compare(query, 0..self.rows, look.allowed, Best::above(least, limit, order));
            }
        };
        let compare = |rows: &[usize]| {
            let rows = rows.iter().enumerate().map(|(n, row)| {
                // They lie far apart, so each is asked for ahead of its turn. Before that, where many of them lie: the
                // processor looks up several pages at a time, but only for what it meets within some hundred instructions.
                if n.is_multiple_of(LOOKED_UP) {
                    let some = rows[n..].iter().take(LOOKED_UP + AHEAD);
                    some.for_each(|row| self.prefetch_begin(*row));
                }
                rows.get(n + AHEAD).into_iter().for_each(|ahead| self.prefetch(*ahead));
                *row
            });
            self.compare(query, rows, look.allowed, Best::above(least, limit, &order))
        };
        if look.threads == Threads::One {
            return compare(&rows);
        }
        // No document's rows may be parted.
        let middle = rows.get(rows.len() / 2).and_then(|row| self.owner(*row));
        let (first, second) = rows.split_at(rows.partition_point(|row| self.owner(*row) < middle));
        let (first, second) = look.threads.both(|| compare(first), || compare(second));
        let mut best = Best::above(least, limit, &order);
        first.into_iter().chain(second).for_each(|(document, cosine)| best.push(document, cosine));
        best.finish()
    }

    /// Compares some rows in full, ascending, and tells the best of each document that exceed the floor, best first.
    fn compare<F: Fn(u32) -> u64>(
        &self,
        query: &Row,
        rows: impl Iterator<Item = usize>,
        allowed: Option<&Bitmap>,
        mut best: Best<F>,
    ) -> Vec<(u32, f32)> {
        let mut memory: Option<(u32, f32)> = None;
        for row in rows {
            let (block, row) = (&self.blocks[row / BLOCK_ROWS], row % BLOCK_ROWS);
            let Some(owner) = block.owner(row) else { continue };
            if allowed.is_some_and(|allowed| !allowed.contains(owner)) {
                continue;
            }
            let cosine = block.cosine(row, query);
            memory = match memory {
                // A document's rows stand one after the other.
                Some((same, held)) if same == owner => Some((owner, held.max(cosine))),
                before => {
                    before.filter(|(_, held)| *held > best.floor).into_iter().for_each(|(d, c)| best.push(d, c));
                    Some((owner, cosine))
                }
            };
        }
        if let Some((document, cosine)) = memory.filter(|(_, held)| *held > best.floor) {
            best.push(document, cosine);
        }
        best.finish()
    }

    /// The rows whose sketches are nearest to the query's, ascending.
    fn near(&self, query: &Row, look: &Look<'_>) -> Vec<usize> {
        let target = RESCORED_MIN.max(look.live_rows / RESCORED_SHARE);
        let allowed = |row: usize| {
            let of_owner = |allowed: &Bitmap| self.owner(row).is_some_and(|owner| allowed.contains(owner));
            look.allowed.is_none_or(of_owner)
        };
        self.sketches.near(&query.values, target, look.threads, allowed)
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

    fn table(rows: &[Vec<f32>], owners: &[u32]) -> CueTable {
        let mut table = CueTable::new(rows[0].len());
        // In two goes, so that a block that is not full is filled up.
        let (first, rest) = rows.split_at(rows.len() / 3);
        for (rows, owners) in [(first, &owners[..first.len()]), (rest, &owners[first.len()..])] {
            let bytes: Vec<u8> = rows.iter().flat_map(|row| Row::new(row).to_bytes()).collect();
            table.extend(&bytes, owners);
        }
        table
    }

    #[test]
    fn a_memory_scores_by_its_best_cue_and_what_is_not_allowed_not_at_all() {
        let rows = [vec![1.0, 0.0, 0.0, 0.0], vec![0.0, 1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0, 0.0]];
        let table = table(&rows, &[0, 0, 1]);
        let query = table.query(&[0.0, 1.0, 0.0, 0.0]).expect("fits");
        let mut allowed = Bitmap::default();
        allowed.insert(0);
        let look = |allowed| Look { allowed, live_rows: 3, at: At::Nearest, threads: Threads::One };
        let found = table.best(&query, &look(Some(&allowed)), 9, 0.1, u64::from);
        assert!(found.len() == 1 && found[0].0 == 0 && (found[0].1 - 1.0).abs() < 0.01, "{found:?}");
        assert_eq!(table.best(&query, &look(None), 9, 0.1, u64::from).len(), 2);
        assert!(table.query(&[1.0]).is_err());
    }

    #[test]
    fn sketches_find_what_comparing_every_row_finds() {
        // Clusters of near vectors, so that there is something to confuse.
        let mut state = 7u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % 2000) as f32 / 1000.0 - 1.0
        };
        let centres: Vec<Vec<f32>> = (0..50).map(|_| (0..128).map(|_| random()).collect()).collect();
        let near = |n: usize, random: &mut dyn FnMut() -> f32| {
            unit(&centres[n % 50].iter().map(|value| value + 1.2 * random()).collect::<Vec<_>>())
        };
        let rows: Vec<Vec<f32>> = (0..30_000).map(|n| near(n, &mut random)).collect();
        // The first third has a cue a memory, the rest have seven.
        let owners: Vec<u32> = (0..30_000u32).map(|row| row.min(10_000 + row / 7)).collect();
        let table = table(&rows, &owners);
        let (mut found, mut wanted) = (0, 0);
        for n in 0..20 {
            let query = table.query(&near(n, &mut random)).expect("fits");
            let look = |at, threads| Look { allowed: None, live_rows: 30_000, at, threads };
            let search = |look| table.best(&query, &look, 24, 0.0, u64::from);
            let exact = search(look(At::All, Threads::One));
            let fast = search(look(At::Nearest, Threads::One));
            assert_eq!(search(look(At::Nearest, Threads::Several)), fast, "threads change nothing");
            assert_eq!(search(look(At::All, Threads::Several)), exact, "threads change nothing");
            assert_eq!(search(look(At::Rows((0..30_000).collect()), Threads::One)), exact);
            wanted += exact.len();
            found += exact.iter().filter(|hit| fast.contains(hit)).count();
        }
        assert!(found * 100 >= wanted * 99, "{found} of {wanted}");
    }

    proptest! {
        #[test]
        fn quantised_cosines_are_close_to_exact_ones(
            a in proptest::collection::vec(-1f32..1.0, 64), b in proptest::collection::vec(-1f32..1.0, 64),
        ) {
            let (a, b) = (unit(&a), unit(&b));
            let exact: f32 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            let table = table(std::slice::from_ref(&a), &[0]);
            let found = table.cosine(&table.query(&b).expect("fits"), 0..1).expect("is there");
            prop_assert!((found - exact).abs() < 0.02, "{} against {}", found, exact);
        }
    }
}
