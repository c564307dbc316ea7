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

/// Columns that are looked at together.
const FOUR: usize = 4;
/// Rows that are looked at while the next ones are fetched.
const STEP: usize = 256;

/// For every sketch, how much it differs from the query. `columns` are the sketches' first words, their second
/// words and so on, as many as the query has; `ahead` are those that come next.
pub(crate) fn differences(columns: &[Vec<u64>], ahead: &[Vec<u64>], query: &[Word], out: &mut Vec<u16>) {
    #[cfg(target_arch = "x86_64")]
    if !is_portable() {
        if std::arch::is_x86_feature_detected!("avx512vpopcntdq") && std::arch::is_x86_feature_detected!("avx512vl") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            #[allow(unsafe_code, reason = "without the instructions the scan takes twice as long")]
            return unsafe { with_vectors(columns, ahead, query, out) };
        }
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt") {
            // SAFETY: likewise.
            #[allow(unsafe_code, reason = "without the instructions the scan takes twice as long")]
            return unsafe { with_instruction(columns, ahead, query, out) };
        }
    }
    portable(columns, ahead, query, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512vpopcntdq,popcnt")]
fn with_vectors(columns: &[Vec<u64>], ahead: &[Vec<u64>], query: &[Word], out: &mut Vec<u16>) {
    portable(columns, ahead, query, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn with_instruction(columns: &[Vec<u64>], ahead: &[Vec<u64>], query: &[Word], out: &mut Vec<u16>) {
    portable(columns, ahead, query, out);
}

// Plain loops: what an iterator calls is compiled for any processor, unless it is inlined by chance.
#[inline(always)]
fn portable(columns: &[Vec<u64>], ahead: &[Vec<u64>], query: &[Word], out: &mut Vec<u16>) {
    let rows = columns.first().map_or(0, Vec::len);
    out.clear();
    out.resize(rows, 0);
    for (step, out) in out.chunks_mut(STEP).enumerate() {
        let here = step * STEP..step * STEP + out.len();
        for (column, ahead) in columns.iter().zip(ahead) {
            let next = if here.end < rows { &column[here.end..] } else { ahead };
            prefetch(&next[..next.len().min(STEP)]);
        }
        // Four words at a time, so that a sum is written once for all of them.
        let (columns, rest) = columns.as_chunks::<FOUR>();
        let (words, last) = query.as_chunks::<FOUR>();
        for (columns, [p, q, r, s]) in columns.iter().zip(words) {
            let [a, b, c, d] = columns.each_ref().map(|column| &column[here.clone()]);
            for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *out += (difference(*a, p) + difference(*b, q) + difference(*c, r) + difference(*d, s)) as u16;
            }
        }
        for (column, word) in rest.iter().zip(last) {
            for (out, bits) in out.iter_mut().zip(&column[here.clone()]) {
                *out += difference(*bits, word) as u16;
            }
        }
    }
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
        ) {
            let query: Vec<Word> =
                sketches[0].iter().zip(large).map(|(signs, large)| Word { signs: *signs, large }).collect();
            let column = |word: usize| sketches.iter().map(|sketch| sketch[word]).collect();
            let columns: Vec<Vec<u64>> = (0..query.len()).map(column).collect();
            let (mut fast, mut plain) = (vec![7], Vec::new());
            differences(&columns, &columns, &query, &mut fast);
            portable(&columns, &[], &query, &mut plain);
            let in_bit = |bits: u64, word: &Word, bit: usize| match ((bits ^ word.signs) >> bit & 1, word.large >> bit & 1) {
                (0, _) => 0,
                (_, 0) => 1,
                _ => 3u16,
            };
            let in_word = |(bits, word): (&u64, &Word)| (0..64).map(|bit| in_bit(*bits, word, bit)).sum::<u16>();
            let slow: Vec<u16> = sketches.iter().map(|sketch| sketch.iter().zip(&query).map(in_word).sum()).collect();
            prop_assert_eq!(&fast, &slow);
            prop_assert_eq!(&plain, &slow);
        }
    }
}
