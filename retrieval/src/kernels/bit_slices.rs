//! How much sketches differ from a query's, 512 rows at a time.
//!
//! Sketches are bit-sliced (O'Neil and Quass, 1997): a dimension of 512 rows fills a cache line, so a query reads the
//! dimensions that it weighs and no others. The differences are added in slices too, by carry-save adders (Harley and
//! Seal; Warren, Hacker's Delight, 2nd edition, 5-1): slice *n* holds bit *n* of every row's sum.

use super::{is_portable, prefetch};

/// Rows of a tile, a bit each.
pub(crate) const TILE_ROWS: usize = 64 * LANES;
const LANES: usize = 8;
/// Dimensions that are added together.
const TOGETHER: usize = 8;
/// Bits of a dimension's weight.
const WEIGHT_BITS: usize = 3;
/// Slices of a sum in the usual lengths, and in all others.
const FEW_SLICES: usize = 8;
const SLICES: usize = 16;

/// A bit for each row of a tile.
type Bits = [u64; LANES];

/// A dimension of a tile's rows: a bit is set where it is negative.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Line(Bits);

/// What is read of a dimension that no row has.
static NO_LINE: Line = Line([0; LANES]);

/// The sketches of some rows, tile by tile.
#[derive(Clone, Default)]
pub(crate) struct Sketches {
    rows: usize,
    dimensions: usize,
    lines: Vec<Line>,
}

impl Sketches {
    /// None yet, of so many dimensions each, with room for so many.
    pub(crate) fn with_capacity(rows: usize, dimensions: usize) -> Self {
        Self { rows: 0, dimensions, lines: Vec::with_capacity(rows.div_ceil(TILE_ROWS) * dimensions) }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Appends sketches, each as the words of its bits, 64 dimensions in a word.
    pub(crate) fn extend<W: Iterator<Item = u64>>(&mut self, mut sketches: impl ExactSizeIterator<Item = W>) {
        let words = self.dimensions.div_ceil(64);
        let mut squares = vec![[0; 64]; words];
        while sketches.len() > 0 {
            // What is left of the 64 rows that share a word of every line.
            let at = self.rows % 64;
            let some = sketches.len().min(64 - at);
            squares.fill([0; 64]);
            for (row, sketch) in (at..at + some).zip(&mut sketches) {
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
            self.rows += some;
        }
    }

    /// The sketches of several, one after the other; all but the last hold whole tiles.
    pub(crate) fn joined<'a>(all: impl IntoIterator<Item = &'a Self, IntoIter: Clone>) -> Self {
        let all = all.into_iter();
        let dimensions = all.clone().next().map_or(0, |first| first.dimensions);
        let mut joined = Self::with_capacity(all.clone().map(|one| one.rows).sum(), dimensions);
        for one in all {
            debug_assert!(joined.rows.is_multiple_of(TILE_ROWS), "every bit is taken");
            joined.lines.extend_from_slice(&one.lines);
            joined.rows += one.rows;
        }
        joined
    }

    /// Tile by tile: [`TILE_ROWS`] rows each, the last what is left.
    pub(crate) fn tiles(&self) -> impl ExactSizeIterator<Item = Tile<'_>> {
        let lines = |tile: usize| self.lines.get(tile * self.dimensions..(tile + 1) * self.dimensions);
        (0..self.rows.div_ceil(TILE_ROWS)).map(move |tile| Tile {
            rows: TILE_ROWS.min(self.rows - tile * TILE_ROWS),
            lines: lines(tile).unwrap_or_default(),
            next: lines(tile + 1).unwrap_or_default(),
        })
    }
}

/// Some rows' sketches.
#[derive(Clone, Copy)]
pub(crate) struct Tile<'a> {
    rows: usize,
    /// Theirs, and those of the rows that come after them.
    lines: &'a [Line],
    next: &'a [Line],
}

impl Tile<'_> {
    /// For a look that goes on to another tile than the one after it, or to none.
    pub(crate) fn before(self, next: Option<&Self>) -> Self {
        Self { next: next.map_or(&[], |next| next.lines), ..self }
    }
}

/// What sketches are compared with: dimensions of a query, by how much a difference counts there.
pub(crate) struct Sought {
    /// Those whose weights have the bit 1, 2 or 4.
    by_bit: [Vec<Together>; WEIGHT_BITS],
    most: u16,
}

type Together = [Dimension; TOGETHER];

/// One dimension of a query.
#[derive(Clone, Copy)]
struct Dimension {
    at: usize,
    /// What turns a line into the rows that differ: all ones where the query is negative.
    flip: u64,
}

/// Fills up the last eight: no row has it, so it never differs.
const NO_DIMENSION: Dimension = Dimension { at: usize::MAX, flip: 0 };

impl Sought {
    /// Of each dimension how much a difference counts, up to 7, and whether the query is negative.
    pub(crate) fn new(query: &[(u8, bool)]) -> Self {
        let with_bit = |bit: usize| {
            let dimensions = query.iter().enumerate().filter(|(_, (weight, _))| weight >> bit & 1 == 1);
            let flip = |negative: bool| if negative { u64::MAX } else { 0 };
            let dimensions: Vec<Dimension> =
                dimensions.map(|(at, (_, negative))| Dimension { at, flip: flip(*negative) }).collect();
            let together = |some: &[Dimension]| {
                let mut together = [NO_DIMENSION; TOGETHER];
                together[..some.len()].copy_from_slice(some);
                together
            };
            dimensions.chunks(TOGETHER).map(together).collect()
        };
        let most: usize = query.iter().map(|(weight, _)| usize::from(*weight)).sum();
        Self { by_bit: std::array::from_fn(with_bit), most: u16::try_from(most).unwrap_or(u16::MAX) }
    }

    /// How much a sketch differs that differs wherever it is looked at.
    pub(crate) fn most(&self) -> u16 {
        self.most
    }
}

/// What [`differences`] writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Differences {
    /// Of each row's difference its lowest bit, the one after it and so on.
    slices: [Bits; SLICES],
    /// How many of them are in use.
    used: usize,
    /// The rows within the bound.
    within: Bits,
}

impl Differences {
    /// How much a row differs.
    pub(crate) fn of(&self, row: usize) -> u16 {
        let (lane, bit) = (row / 64, row % 64);
        let slices = self.slices[..self.used.min(SLICES)].iter().rev();
        slices.fold(0, |sum, slice| sum << 1 | (slice[lane] >> bit & 1) as u16)
    }

    /// The rows that lie within the bound, ascending.
    pub(crate) fn within(&self) -> impl Iterator<Item = usize> {
        self.within.iter().enumerate().flat_map(|(lane, bits)| {
            let mut bits = *bits;
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(64 * lane + bit)
            })
        })
    }
}

/// How much every sketch of a tile differs from what is sought, and whether it does by `bound` at most.
pub(crate) fn differences(tile: &Tile<'_>, sought: &Sought, bound: u16, out: &mut Differences) {
    #[cfg(target_arch = "x86_64")]
    if !is_portable() {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            #[allow(unsafe_code, reason = "without the instructions the scan takes twice as long")]
            return unsafe { with_avx512(tile, sought, bound, out) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: likewise.
            #[allow(unsafe_code, reason = "without the instructions the scan takes two fifths longer")]
            return unsafe { with_avx2(tile, sought, bound, out) };
        }
    }
    portable(tile, sought, bound, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn with_avx512(tile: &Tile<'_>, sought: &Sought, bound: u16, out: &mut Differences) {
    portable(tile, sought, bound, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2(tile: &Tile<'_>, sought: &Sought, bound: u16, out: &mut Differences) {
    portable(tile, sought, bound, out);
}

// Plain loops over lanes: the compiler makes one instruction of each for all of them.
#[inline(always)]
fn portable(tile: &Tile<'_>, sought: &Sought, bound: u16, out: &mut Differences) {
    if sought.most < 1 << FEW_SLICES {
        in_slices::<FEW_SLICES>(tile, sought, bound, out);
    } else {
        in_slices::<SLICES>(tile, sought, bound, out);
    }
}

#[inline(always)]
fn in_slices<const N: usize>(tile: &Tile<'_>, sought: &Sought, bound: u16, out: &mut Differences) {
    let mut sums = [[0; LANES]; N];
    let [ones, twos, fours] = &sought.by_bit;
    add_all::<N, 0>(tile, ones, &mut sums);
    add_all::<N, 1>(tile, twos, &mut sums);
    add_all::<N, 2>(tile, fours, &mut sums);
    // From the highest bit down: less so far, or the same so far.
    let (mut less, mut same) = ([0; LANES], [u64::MAX; LANES]);
    for n in (0..N).rev() {
        let bit = if bound >> n & 1 == 1 { u64::MAX } else { 0 };
        for lane in 0..LANES {
            less[lane] |= same[lane] & !sums[n][lane] & bit;
            same[lane] &= !(sums[n][lane] ^ bit);
        }
    }
    for lane in 0..LANES {
        let rows = tile.rows.saturating_sub(64 * lane).min(64);
        let there = u64::MAX.checked_shr((64 - rows) as u32).unwrap_or(0);
        out.within[lane] = (less[lane] | same[lane]) & there;
    }
    if out.within != [0; LANES] {
        out.slices[..N].copy_from_slice(&sums);
        out.used = N;
    }
}

/// Adds some dimensions' differences, each counted 2^`LEVEL` times.
#[inline(always)]
fn add_all<const N: usize, const LEVEL: usize>(tile: &Tile<'_>, dimensions: &[Together], sums: &mut [Bits; N]) {
    for together in dimensions {
        let mut lines = [&NO_LINE; TOGETHER];
        for (line, dimension) in lines.iter_mut().zip(together) {
            if let Some(there) = tile.lines.get(dimension.at) {
                *line = there;
            }
            if let Some(next) = tile.next.get(dimension.at) {
                prefetch(std::slice::from_ref(next));
            }
        }
        for lane in 0..LANES {
            let differs = |n: usize| lines[n].0[lane] ^ together[n].flip;
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

/// The sum of three bits, in 64 places at once: its low bit and its high one.
#[inline(always)]
fn add(a: u64, b: u64, c: u64) -> (u64, u64) {
    (a ^ b ^ c, a & b | c & (a ^ b))
}

/// Swaps rows and columns of a square of bits (Warren, Hacker's Delight, 2nd edition, 7-3).
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

    /// A dimension of a query: how much a difference counts there, and whether it is negative.
    fn dimension() -> impl Strategy<Value = (u8, bool)> {
        (0..1u8 << WEIGHT_BITS, any::<bool>())
    }

    proptest! {
        #[test]
        fn every_way_of_counting_counts_the_same(
            (sketches, query) in prop_oneof![1..200usize, 300..700usize].prop_flat_map(|dimensions| {
                let sketch = proptest::collection::vec(any::<u64>(), dimensions.div_ceil(64));
                (proptest::collection::vec(sketch, 1..1200), proptest::collection::vec(dimension(), dimensions))
            }),
            pieces in proptest::collection::vec(1..600usize, 5), share in 0..100u16,
        ) {
            let sought = Sought::new(&query);
            prop_assert_eq!(sought.most(), query.iter().map(|(weight, _)| u16::from(*weight)).sum::<u16>());
            let bound = (u32::from(sought.most()) * u32::from(share) / 100) as u16;

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
            for held in [&held, &Sketches::joined(&parts)] {
                prop_assert_eq!(held.tiles().len(), held_rows.div_ceil(TILE_ROWS));
                for (tile, slow) in held.tiles().zip(slow.chunks(TILE_ROWS)) {
                    let mut fast = Differences { slices: [[7; LANES]; SLICES], used: 3, within: [7; LANES] };
                    let mut plain = Differences::default();
                    differences(&tile, &sought, bound, &mut fast);
                    portable(&tile, &sought, bound, &mut plain);
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
