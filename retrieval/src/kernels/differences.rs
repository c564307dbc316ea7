//! How much sketches differ from a query's.

use super::{is_portable, prefetch};

/// 64 dimensions of a query in two bits each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// Where it is negative.
    pub(crate) signs: u64,
    /// Where it is large: a difference counts [`LARGE`] times there.
    pub(crate) large: u64,
}

/// What a difference counts in a large dimension against any other.
pub(crate) const LARGE: usize = 3;

/// Rows that are looked at at once: a word of each fills a cache line.
const LANES: usize = 8;
/// Cache lines are asked for so many ahead of their turn.
const LINES_AHEAD: usize = 128;
/// Rows whose differences are compared with the bound together, a bit each.
pub(crate) const GROUP: usize = 32;

/// The sketches of some rows, eight rows side by side: their first words, their second words and so on, then the next
/// eight rows. So they are read from front to back, and the processor counts eight of them at a time.
#[derive(Clone, Default)]
pub(crate) struct Sketches {
    rows: usize,
    /// Words of a sketch.
    words: usize,
    lines: Vec<Line>,
}

/// A word of eight rows.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Line([u64; LANES]);

impl Sketches {
    /// None yet, of so many words each, with room for so many.
    pub(crate) fn with_capacity(rows: usize, words: usize) -> Self {
        Self { rows: 0, words, lines: Vec::with_capacity(rows.div_ceil(LANES) * words) }
    }

    /// Appends the sketch of one more row.
    pub(crate) fn push(&mut self, sketch: impl Iterator<Item = u64>) {
        let lane = self.rows % LANES;
        if lane == 0 {
            self.lines.resize(self.lines.len() + self.words, Line::default());
        }
        let first = self.lines.len() - self.words;
        self.lines[first..].iter_mut().zip(sketch).for_each(|(line, word)| line.0[lane] = word);
        self.rows += 1;
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The sketches of several, one after the other; all but the last hold a multiple of [`LANES`] rows.
    pub(crate) fn joined<'a>(all: impl IntoIterator<Item = &'a Self, IntoIter: Clone>) -> Self {
        let all = all.into_iter();
        let words = all.clone().next().map_or(0, |first| first.words);
        let mut joined = Self::with_capacity(all.clone().map(|one| one.rows).sum(), words);
        for one in all {
            debug_assert!(joined.rows.is_multiple_of(LANES), "every lane is taken");
            joined.lines.extend_from_slice(&one.lines);
            joined.rows += one.rows;
        }
        joined
    }

    /// So many rows at a time, a multiple of [`LANES`].
    pub(crate) fn parts(&self, rows: usize) -> impl Iterator<Item = Part<'_>> {
        let lines = rows / LANES * self.words;
        (0..self.rows).step_by(rows).enumerate().map(move |(n, first)| Part {
            rows: rows.min(self.rows - first),
            lines: self.lines.get(n * lines..).unwrap_or_default(),
        })
    }
}

/// Some rows' sketches.
pub(crate) struct Part<'a> {
    rows: usize,
    /// Theirs, and those of the rows that come after them.
    lines: &'a [Line],
}

/// What [`differences`] writes.
#[derive(Default)]
pub(crate) struct Differences {
    /// How much each row's sketch differs.
    pub(crate) of_rows: Vec<u16>,
    /// For each [`GROUP`] of rows, a bit for each of them that lies within the bound.
    pub(crate) within: Vec<u32>,
}

/// For every sketch, how much it differs from the query, which has as many words, and whether it does by `bound` at most.
pub(crate) fn differences(sketches: &Part<'_>, query: &[Word], bound: u16, out: &mut Differences) {
    #[cfg(target_arch = "x86_64")]
    if !is_portable() {
        if std::arch::is_x86_feature_detected!("avx512vpopcntdq")
            && std::arch::is_x86_feature_detected!("avx512vl")
            && std::arch::is_x86_feature_detected!("avx512bw")
        {
            // SAFETY: the processor has the instructions that the function was compiled for.
            #[allow(unsafe_code, reason = "without the instructions the scan takes twice as long")]
            return unsafe { with_vectors(sketches, query, bound, out) };
        }
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt") {
            // SAFETY: likewise.
            #[allow(unsafe_code, reason = "without the instructions the scan takes twice as long")]
            return unsafe { with_instruction(sketches, query, bound, out) };
        }
    }
    portable(sketches, query, bound, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq,popcnt")]
fn with_vectors(sketches: &Part<'_>, query: &[Word], bound: u16, out: &mut Differences) {
    portable(sketches, query, bound, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn with_instruction(sketches: &Part<'_>, query: &[Word], bound: u16, out: &mut Differences) {
    portable(sketches, query, bound, out);
}

// Plain loops: what an iterator calls is compiled for any processor, unless it is inlined by chance.
#[inline(always)]
fn portable(sketches: &Part<'_>, query: &[Word], bound: u16, out: &mut Differences) {
    let Part { rows, lines } = *sketches;
    out.of_rows.resize(rows.next_multiple_of(LANES), 0);
    let eights = out.of_rows.as_chunks_mut().0;
    // The usual lengths are known when the loops are compiled.
    match query.len() {
        1 => of_eights::<1>(lines, query, eights),
        2 => of_eights::<2>(lines, query, eights),
        4 => of_eights::<4>(lines, query, eights),
        8 => of_eights::<8>(lines, query, eights),
        16 => of_eights::<16>(lines, query, eights),
        words => {
            for (lines, out) in lines.chunks_exact(words.max(1)).zip(eights) {
                *out = [0; LANES];
                for (line, word) in lines.iter().zip(query) {
                    let of_word = of_eight(std::array::from_ref(line), std::array::from_ref(word));
                    for (sum, of_word) in out.iter_mut().zip(of_word) {
                        *sum += of_word;
                    }
                }
            }
        }
    }
    out.of_rows.truncate(rows);
    out.within.clear();
    for rows in out.of_rows.chunks(GROUP) {
        let mut nearest = u16::MAX;
        for difference in rows {
            nearest = nearest.min(*difference);
        }
        let mut within = 0;
        if nearest <= bound {
            for (at, difference) in rows.iter().enumerate() {
                within |= u32::from(*difference <= bound) << at;
            }
        }
        out.within.push(within);
    }
}

#[inline(always)]
fn of_eights<const WORDS: usize>(lines: &[Line], query: &[Word], out: &mut [[u16; LANES]]) {
    let Some(query) = query.first_chunk() else { return };
    let eights = lines.as_chunks::<WORDS>().0;
    for (n, (eight, out)) in eights.iter().zip(out).enumerate() {
        if let Some(later) = eights.get(n + LINES_AHEAD.div_ceil(WORDS)) {
            prefetch(later);
        }
        *out = of_eight(eight, query);
    }
}

#[inline(always)]
fn of_eight<const WORDS: usize>(lines: &[Line; WORDS], query: &[Word; WORDS]) -> [u16; LANES] {
    let (mut all, mut large) = ([0; LANES], [0; LANES]);
    for (line, word) in lines.iter().zip(query) {
        for lane in 0..LANES {
            let differing = line.0[lane] ^ word.signs;
            all[lane] += u64::from(differing.count_ones());
            large[lane] += u64::from((differing & word.large).count_ones());
        }
    }
    let mut sums = [0; LANES];
    for lane in 0..LANES {
        sums[lane] = (all[lane] + (LARGE as u64 - 1) * large[lane]) as u16;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_way_of_counting_counts_the_same(
            (sketches, large) in (1..20usize).prop_flat_map(|words| {
                let sketch = proptest::collection::vec(any::<u64>(), words);
                (proptest::collection::vec(sketch.clone(), 1..400), sketch)
            }),
            bound in 0..2000u16,
        ) {
            let query: Vec<Word> =
                sketches[0].iter().zip(large).map(|(signs, large)| Word { signs: *signs, large }).collect();
            let mut held = Vec::new();
            for sketches in sketches.chunks(sketches.len().div_ceil(3).next_multiple_of(LANES)) {
                let mut some = Sketches::with_capacity(sketches.len() / 2, query.len());
                sketches.iter().for_each(|sketch| some.push(sketch.iter().copied()));
                held.push(some);
            }
            let held = Sketches::joined(&held);
            let mut fast = Differences { of_rows: vec![7], within: vec![7] };
            let mut plain = Differences::default();
            let in_bit = |bits: u64, word: &Word, bit: usize| match ((bits ^ word.signs) >> bit & 1, word.large >> bit & 1) {
                (0, _) => 0,
                (_, 0) => 1,
                _ => 3u16,
            };
            let in_word = |(bits, word): (&u64, &Word)| (0..64).map(|bit| in_bit(*bits, word, bit)).sum::<u16>();
            let slow: Vec<u16> = sketches.iter().map(|sketch| sketch.iter().zip(&query).map(in_word).sum()).collect();
            prop_assert_eq!(held.parts(64).count(), slow.len().div_ceil(64));
            for (part, slow) in held.parts(64).zip(slow.chunks(64)) {
                differences(&part, &query, bound, &mut fast);
                portable(&part, &query, bound, &mut plain);
                for found in [&fast, &plain] {
                    prop_assert_eq!(&found.of_rows, slow);
                    prop_assert_eq!(found.within.len(), slow.len().div_ceil(GROUP));
                    for (row, difference) in slow.iter().enumerate() {
                        prop_assert_eq!(found.within[row / GROUP] >> (row % GROUP) & 1 == 1, *difference <= bound);
                    }
                }
            }
        }
    }
}
