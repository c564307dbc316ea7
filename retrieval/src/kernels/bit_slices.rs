//! Weighted Hamming distances between a query's sketch and 512 row sketches at a time.
//!
//! Sketches are bit-sliced (O'Neil and Quass, 1997): one dimension of 512 rows fills a cache line, so a query reads
//! only the dimensions that have a weight. The distances are summed in bit slices too, by carry-save adders (Harley and
//! Seal; Warren, Hacker's Delight, 2nd edition, 5-1): slice *n* holds bit *n* of every row's sum.

use super::{is_portable, prefetch};

/// Rows of a tile, one bit each.
pub(crate) const TILE_ROWS: usize = 64 * LANES;
const LANES: usize = 8;
/// Dimensions that are added in one step.
const GROUP: usize = 8;
/// Bits of a dimension's weight.
const WEIGHT_BITS: usize = 3;
/// Slices of a sum: enough for the usual number of dimensions, and for any number.
const FEW_SLICES: usize = 8;
const SLICES: usize = 16;

/// A bit for each row of a tile.
type Bits = [u64; LANES];

/// One dimension of a tile's rows: a bit is set where the row is negative.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Line(Bits);

/// Stands in for the line of [`NO_DIMENSION`].
static NO_LINE: Line = Line([0; LANES]);

/// The sketches of a range of rows, stored tile by tile.
#[derive(Clone, Default)]
pub(crate) struct Sketches {
    rows: usize,
    dimensions: usize,
    lines: Vec<Line>,
}

impl Sketches {
    /// Creates an empty table with room for `rows` sketches of `dimensions` bits each.
    pub(crate) fn with_capacity(rows: usize, dimensions: usize) -> Self {
        Self { rows: 0, dimensions, lines: Vec::with_capacity(rows.div_ceil(TILE_ROWS) * dimensions) }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Appends sketches, each given as words of 64 dimensions.
    pub(crate) fn extend<W: Iterator<Item = u64>>(&mut self, mut sketches: impl ExactSizeIterator<Item = W>) {
        let words = self.dimensions.div_ceil(64);
        let mut squares = vec![[0; 64]; words];
        while sketches.len() > 0 {
            // The rows that still fit into the current word of every line.
            let first = self.rows % 64;
            let count = sketches.len().min(64 - first);
            squares.fill([0; 64]);
            for (row, sketch) in (first..first + count).zip(&mut sketches) {
                squares.iter_mut().zip(sketch).for_each(|(square, word)| square[row] = word);
            }
            if self.rows.is_multiple_of(TILE_ROWS) {
                self.lines.resize(self.lines.len() + self.dimensions, Line::default());
            }
            let (tile, lane) = (self.rows / TILE_ROWS, self.rows % TILE_ROWS / 64);
            let lines = &mut self.lines[tile * self.dimensions..];
            for (lines, square) in lines.chunks_mut(64).zip(&mut squares) {
                transpose(square);
                lines.iter_mut().zip(square).for_each(|(line, bits)| line.0[lane] |= *bits);
            }
            self.rows += count;
        }
    }

    /// Concatenates tables of equal dimensions; all but the last must hold whole tiles.
    pub(crate) fn concat<'a>(tables: impl IntoIterator<Item = &'a Self, IntoIter: Clone>) -> Self {
        let tables = tables.into_iter();
        let Some(first) = tables.clone().next() else { return Self::default() };
        let rows: usize = tables.clone().map(|table| table.rows).sum();
        let mut all = Self::with_capacity(rows, first.dimensions);
        for table in tables {
            debug_assert!(all.rows.is_multiple_of(TILE_ROWS), "all but the last hold whole tiles");
            all.lines.extend_from_slice(&table.lines);
            all.rows += table.rows;
        }
        all
    }

    /// Returns the tiles: [`TILE_ROWS`] rows each, fewer in the last.
    pub(crate) fn tiles(&self) -> impl ExactSizeIterator<Item = Tile<'_>> {
        (0..self.rows.div_ceil(TILE_ROWS)).map(move |tile| Tile {
            rows: TILE_ROWS.min(self.rows - tile * TILE_ROWS),
            lines: self.lines_of(tile),
            next: self.lines_of(tile + 1),
        })
    }

    /// Returns a tile's lines, one per dimension; empty if the tile does not exist.
    #[inline]
    fn lines_of(&self, tile: usize) -> &[Line] {
        self.lines.get(tile * self.dimensions..(tile + 1) * self.dimensions).unwrap_or_default()
    }
}

/// The sketches of up to [`TILE_ROWS`] rows.
#[derive(Clone, Copy)]
pub(crate) struct Tile<'a> {
    rows: usize,
    /// One line per dimension.
    lines: &'a [Line],
    /// The lines of the tile that is scanned next, which are prefetched.
    next: &'a [Line],
}

impl Tile<'_> {
    /// Sets the tile that is scanned next, if it is not the following one.
    pub(crate) fn followed_by(self, next: Option<&Self>) -> Self {
        match next {
            Some(next) => Self { next: next.lines, ..self },
            None => Self { next: &[], ..self },
        }
    }
}

/// A query's sketch: the dimensions that count, grouped by the bits of their weights.
pub(crate) struct QuerySketch {
    /// The dimensions whose weight has bit 0, 1 or 2 set.
    by_bit: [Vec<DimensionGroup>; WEIGHT_BITS],
    max_difference: u16,
}

type DimensionGroup = [Dimension; GROUP];

/// One dimension of a query.
#[derive(Clone, Copy)]
struct Dimension {
    index: usize,
    /// XORed with a line, gives the rows that differ: all ones where the query is negative.
    flip: u64,
}

/// Fills up the last group. No row has this dimension, so it never differs.
const NO_DIMENSION: Dimension = Dimension { index: usize::MAX, flip: 0 };

impl QuerySketch {
    /// Takes one pair per dimension: the weight of a difference, up to 7, and whether the query is negative.
    pub(crate) fn new(query: &[(u8, bool)]) -> Self {
        let max_difference: usize = query.iter().map(|(weight, _)| usize::from(*weight)).sum();
        Self {
            by_bit: std::array::from_fn(|bit| groups_with_bit(query, bit)),
            max_difference: u16::try_from(max_difference).unwrap_or(u16::MAX),
        }
    }

    /// Returns the difference of a sketch that differs in every dimension that counts.
    pub(crate) fn max_difference(&self) -> u16 {
        self.max_difference
    }
}

/// Returns the dimensions whose weight has a bit set, in groups.
fn groups_with_bit(query: &[(u8, bool)], bit: usize) -> Vec<DimensionGroup> {
    let mut dimensions = Vec::new();
    for (index, (weight, negative)) in query.iter().enumerate() {
        if weight >> bit & 1 == 1 {
            let flip = if *negative { u64::MAX } else { 0 };
            dimensions.push(Dimension { index, flip });
        }
    }
    let mut groups = vec![[NO_DIMENSION; GROUP]; dimensions.len().div_ceil(GROUP)];
    for (group, dimensions) in groups.iter_mut().zip(dimensions.chunks(GROUP)) {
        group[..dimensions.len()].copy_from_slice(dimensions);
    }
    groups
}

/// The output of [`differences`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Differences {
    /// The rows' differences by bit, the lowest bit first.
    slices: [Bits; SLICES],
    /// How many slices are in use.
    used: usize,
    /// The rows within the bound.
    within: Bits,
}

impl Differences {
    /// Returns the difference of a row.
    pub(crate) fn of(&self, row: usize) -> u16 {
        let (lane, bit) = (row / 64, row % 64);
        let slices = self.slices[..self.used.min(SLICES)].iter().rev();
        slices.fold(0, |sum, slice| sum << 1 | (slice[lane] >> bit & 1) as u16)
    }

    /// Returns the rows within the bound, ascending.
    pub(crate) fn within(&self) -> impl Iterator<Item = usize> {
        self.within.iter().enumerate().flat_map(|(lane, bits)| {
            let mut bits = *bits;
            std::iter::from_fn(move || {
                if bits == 0 {
                    return None;
                }
                let bit = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                Some(64 * lane + bit)
            })
        })
    }
}

/// Computes how much every sketch of a tile differs from the query's, and which rows differ by at most `bound`.
pub(crate) fn differences(tile: &Tile<'_>, query: &QuerySketch, bound: u16, out: &mut Differences) {
    #[cfg(target_arch = "x86_64")]
    if !is_portable() {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            #[allow(unsafe_code, reason = "without the instructions the scan takes twice as long")]
            return unsafe { with_avx512(tile, query, bound, out) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            #[allow(unsafe_code, reason = "without the instructions the scan takes two fifths longer")]
            return unsafe { with_avx2(tile, query, bound, out) };
        }
    }
    portable(tile, query, bound, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn with_avx512(tile: &Tile<'_>, query: &QuerySketch, bound: u16, out: &mut Differences) {
    portable(tile, query, bound, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2(tile: &Tile<'_>, query: &QuerySketch, bound: u16, out: &mut Differences) {
    portable(tile, query, bound, out);
}

// Plain loops over lanes, which the compiler turns into one vector instruction each.
#[inline(always)]
fn portable(tile: &Tile<'_>, query: &QuerySketch, bound: u16, out: &mut Differences) {
    if query.max_difference < 1 << FEW_SLICES {
        in_slices::<FEW_SLICES>(tile, query, bound, out);
    } else {
        in_slices::<SLICES>(tile, query, bound, out);
    }
}

#[inline(always)]
fn in_slices<const N: usize>(tile: &Tile<'_>, query: &QuerySketch, bound: u16, out: &mut Differences) {
    let mut sums = [[0; LANES]; N];
    let [ones, twos, fours] = &query.by_bit;
    add_all::<N, 0>(tile, ones, &mut sums);
    add_all::<N, 1>(tile, twos, &mut sums);
    add_all::<N, 2>(tile, fours, &mut sums);
    // Compares with the bound from the highest bit down: rows that are less, and rows that are equal so far.
    let (mut less, mut equal) = ([0; LANES], [u64::MAX; LANES]);
    for n in (0..N).rev() {
        let bit = if bound >> n & 1 == 1 { u64::MAX } else { 0 };
        for lane in 0..LANES {
            less[lane] |= equal[lane] & !sums[n][lane] & bit;
            equal[lane] &= !(sums[n][lane] ^ bit);
        }
    }
    for lane in 0..LANES {
        let rows = tile.rows.saturating_sub(64 * lane).min(64);
        let existing = u64::MAX.checked_shr((64 - rows) as u32).unwrap_or(0);
        out.within[lane] = (less[lane] | equal[lane]) & existing;
    }
    if out.within != [0; LANES] {
        out.slices[..N].copy_from_slice(&sums);
        out.used = N;
    }
}

/// Adds the differences in groups of dimensions to the sums, each counted 2^`LEVEL` times.
#[inline(always)]
fn add_all<const N: usize, const LEVEL: usize>(tile: &Tile<'_>, groups: &[DimensionGroup], sums: &mut [Bits; N]) {
    for group in groups {
        let mut lines = [&NO_LINE; GROUP];
        for (line, dimension) in lines.iter_mut().zip(group) {
            if let Some(existing) = tile.lines.get(dimension.index) {
                *line = existing;
            }
            if let Some(next) = tile.next.get(dimension.index) {
                prefetch(std::slice::from_ref(next));
            }
        }
        for lane in 0..LANES {
            let differs = |n: usize| lines[n].0[lane] ^ group[n].flip;
            let (ones, a) = add(sums[LEVEL][lane], differs(0), differs(1));
            let (ones, b) = add(ones, differs(2), differs(3));
            let (ones, c) = add(ones, differs(4), differs(5));
            let (ones, d) = add(ones, differs(6), differs(7));
            let (twos, a) = add(sums[LEVEL + 1][lane], a, b);
            let (twos, b) = add(twos, c, d);
            let (fours, mut carry) = add(sums[LEVEL + 2][lane], a, b);
            (sums[LEVEL][lane], sums[LEVEL + 1][lane], sums[LEVEL + 2][lane]) = (ones, twos, fours);
            for slice in &mut sums[LEVEL + 3..] {
                (slice[lane], carry) = (slice[lane] ^ carry, slice[lane] & carry);
            }
        }
    }
}

/// Adds three bits in 64 positions at once; returns the low and the high bits of the sums.
#[inline(always)]
fn add(a: u64, b: u64, c: u64) -> (u64, u64) {
    (a ^ b ^ c, a & b | c & (a ^ b))
}

/// Transposes a square of bits (Warren, Hacker's Delight, 2nd edition, 7-3).
fn transpose(square: &mut [u64; 64]) {
    let (mut half, mut mask) = (32, u64::from(u32::MAX));
    while half > 0 {
        for rows in square.chunks_exact_mut(2 * half) {
            let (low, high) = rows.split_at_mut(half);
            for (low, high) in low.iter_mut().zip(high) {
                let swapped = (*low >> half ^ *high) & mask;
                *low ^= swapped << half;
                *high ^= swapped;
            }
        }
        half /= 2;
        mask ^= mask << half;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A dimension of a query: the weight of a difference, and whether the query is negative.
    fn dimension() -> impl Strategy<Value = (u8, bool)> {
        (0..1u8 << WEIGHT_BITS, any::<bool>())
    }

    proptest! {
        #[test]
        fn every_form_counts_the_same_differences(
            (sketches, query) in prop_oneof![1..200usize, 300..700usize].prop_flat_map(|dimensions| {
                let sketch = proptest::collection::vec(any::<u64>(), dimensions.div_ceil(64));
                (proptest::collection::vec(sketch, 1..1200), proptest::collection::vec(dimension(), dimensions))
            }),
            pieces in proptest::collection::vec(1..600usize, 5), share in 0..100u16,
        ) {
            let query_sketch = QuerySketch::new(&query);
            let weights = query.iter().map(|(weight, _)| u16::from(*weight)).sum::<u16>();
            prop_assert_eq!(query_sketch.max_difference(), weights);
            let bound = (u32::from(query_sketch.max_difference()) * u32::from(share) / 100) as u16;

            let (mut held, mut rest) = (Sketches::with_capacity(9, query.len()), sketches.as_slice());
            for piece in pieces {
                let (some, after) = rest.split_at(piece.min(rest.len()));
                held.extend(some.iter().map(|sketch| sketch.iter().copied()));
                rest = after;
            }
            let held_rows = sketches.len() - rest.len();
            prop_assert_eq!(held.rows(), held_rows);
            let slow = |sketch: &Vec<u64>| {
                let differs = |(at, (weight, negative)): (usize, &(u8, bool))| {
                    if (sketch[at / 64] >> (at % 64) & 1 == 1) == *negative { 0 } else { u16::from(*weight) }
                };
                query.iter().enumerate().map(differs).sum::<u16>()
            };
            let slow: Vec<u16> = sketches[..held_rows].iter().map(slow).collect();

            let whole = held_rows / TILE_ROWS * TILE_ROWS;
            let parts = [&sketches[..whole], &sketches[whole..held_rows]].map(|part| {
                let mut some = Sketches::with_capacity(part.len(), query.len());
                some.extend(part.iter().map(|sketch| sketch.iter().copied()));
                some
            });
            for held in [&held, &Sketches::concat(&parts)] {
                prop_assert_eq!(held.tiles().len(), held_rows.div_ceil(TILE_ROWS));
                for (tile, slow) in held.tiles().zip(slow.chunks(TILE_ROWS)) {
                    let mut fast = Differences { slices: [[7; LANES]; SLICES], used: 3, within: [7; LANES] };
                    let mut plain = Differences::default();
                    differences(&tile, &query_sketch, bound, &mut fast);
                    portable(&tile, &query_sketch, bound, &mut plain);
                    let within: Vec<usize> = (0..slow.len()).filter(|row| slow[*row] <= bound).collect();
                    for found in [&fast, &plain] {
                        prop_assert_eq!(&found.within().collect::<Vec<_>>(), &within);
                        prop_assert!(within.iter().all(|row| found.of(*row) == slow[*row]));
                    }
                }
            }
        }
    }
}
