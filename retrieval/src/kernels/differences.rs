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
/// Words of a row that are looked at together, so that a sum is written once for all of them.
const FOUR: usize = 4;
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
/// `ahead` are those that come next.
pub(crate) fn differences(sketches: &Sketches, ahead: &Sketches, query: &[Word], bound: u16, out: &mut Differences) {
    debug_assert_eq!(sketches.words, query.len(), "the words of a sketch");
    #[cfg(target_arch = "x86_64")]
    if !is_portable() {
        if std::arch::is_x86_feature_detected!("avx512vpopcntdq")
            && std::arch::is_x86_feature_detected!("avx512vl")
            && std::arch::is_x86_feature_detected!("avx512bw")
        {
            // SAFETY: the processor has the instructions that the function was compiled for.
            #[allow(unsafe_code, reason = "without the instructions the scan takes twice as long")]
            return unsafe { with_vectors(sketches, ahead, query, bound, out) };
        }
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt") {
            // SAFETY: likewise.
            #[allow(unsafe_code, reason = "without the instructions the scan takes twice as long")]
            return unsafe { with_instruction(sketches, ahead, query, bound, out) };
        }
    }
    portable(sketches, ahead, query, bound, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq,popcnt")]
fn with_vectors(sketches: &Sketches, ahead: &Sketches, query: &[Word], bound: u16, out: &mut Differences) {
    portable(sketches, ahead, query, bound, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn with_instruction(sketches: &Sketches, ahead: &Sketches, query: &[Word], bound: u16, out: &mut Differences) {
    portable(sketches, ahead, query, bound, out);
}

// Plain loops: what an iterator calls is compiled for any processor, unless it is inlined by chance.
#[inline(always)]
fn portable(sketches: &Sketches, ahead: &Sketches, query: &[Word], bound: u16, out: &mut Differences) {
    let of_rows = &mut out.of_rows;
    of_rows.clear();
    of_rows.resize(sketches.rows.next_multiple_of(LANES), 0);
    let words = query.len().max(1);
    let (here, ahead) = (&sketches.lines, &ahead.lines);
    for (n, (eight, out)) in here.chunks_exact(words).zip(of_rows.as_chunks_mut::<LANES>().0).enumerate() {
        let at = (n + LINES_AHEAD.div_ceil(words)) * words;
        let later = if at < here.len() { &here[at..] } else { ahead.get(at - here.len()..).unwrap_or_default() };
        prefetch(&later[..later.len().min(words)]);
        *out = of_eight(eight, query);
    }
    of_rows.truncate(sketches.rows);
    out.within.clear();
    for rows in of_rows.chunks(GROUP) {
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
fn of_eight(lines: &[Line], query: &[Word]) -> [u16; LANES] {
    let mut sums = [0; LANES];
    let (fours, rest) = lines.as_chunks::<FOUR>();
    let (words, last) = query.as_chunks::<FOUR>();
    for ([a, b, c, d], [p, q, r, s]) in fours.iter().zip(words) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum += difference(a.0[lane], p) + difference(b.0[lane], q);
            *sum += difference(c.0[lane], r) + difference(d.0[lane], s);
        }
    }
    for (line, word) in rest.iter().zip(last) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum += difference(line.0[lane], word);
        }
    }
    sums.map(|sum| sum as u16)
}

#[inline(always)]
fn difference(bits: u64, query: &Word) -> u64 {
    let differing = bits ^ query.signs;
    u64::from(differing.count_ones()) + (LARGE as u64 - 1) * u64::from((differing & query.large).count_ones())
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
            let mut held = Sketches::with_capacity(sketches.len() / 2, query.len());
            sketches.iter().for_each(|sketch| held.push(sketch.iter().copied()));
            let mut fast = Differences { of_rows: vec![7], within: vec![7] };
            differences(&held, &held, &query, bound, &mut fast);
            let mut plain = Differences::default();
            portable(&held, &Sketches::default(), &query, bound, &mut plain);
            let in_bit = |bits: u64, word: &Word, bit: usize| match ((bits ^ word.signs) >> bit & 1, word.large >> bit & 1) {
                (0, _) => 0,
                (_, 0) => 1,
                _ => 3u16,
            };
            let in_word = |(bits, word): (&u64, &Word)| (0..64).map(|bit| in_bit(*bits, word, bit)).sum::<u16>();
            let slow: Vec<u16> = sketches.iter().map(|sketch| sketch.iter().zip(&query).map(in_word).sum()).collect();
            for found in [&fast, &plain] {
                prop_assert_eq!(&found.of_rows, &slow);
                prop_assert_eq!(found.within.len(), slow.len().div_ceil(GROUP));
                for (row, difference) in slow.iter().enumerate() {
                    prop_assert_eq!(found.within[row / GROUP] >> (row % GROUP) & 1 == 1, *difference <= bound);
                }
            }
        }
    }
}
