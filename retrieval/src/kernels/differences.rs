//! In how many bits sketches differ.

use super::is_portable;

/// Columns that are looked at together.
const FOUR: usize = 4;

/// For every sketch, in how many bits it differs from the query's. `columns` are the sketches' first words, their second
/// words and so on, as many as the query has.
pub(crate) fn differences(columns: &[Vec<u64>], query: &[u64], out: &mut Vec<u16>) {
    #[cfg(target_arch = "x86_64")]
    if !is_portable() {
        if std::arch::is_x86_feature_detected!("avx512vpopcntdq") && std::arch::is_x86_feature_detected!("avx512vl") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            #[allow(unsafe_code, reason = "without the instructions the scan takes twice as long")]
            return unsafe { with_vectors(columns, query, out) };
        }
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt") {
            // SAFETY: likewise.
            #[allow(unsafe_code, reason = "without the instructions the scan takes twice as long")]
            return unsafe { with_instruction(columns, query, out) };
        }
    }
    portable(columns, query, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512vpopcntdq,popcnt")]
fn with_vectors(columns: &[Vec<u64>], query: &[u64], out: &mut Vec<u16>) {
    portable(columns, query, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn with_instruction(columns: &[Vec<u64>], query: &[u64], out: &mut Vec<u16>) {
    portable(columns, query, out);
}

// Plain loops: what an iterator calls is compiled for any processor, unless it is inlined by chance.
#[inline(always)]
fn portable(columns: &[Vec<u64>], query: &[u64], out: &mut Vec<u16>) {
    out.clear();
    out.resize(columns.first().map_or(0, Vec::len), 0);
    // Four words at a time, so that a sum is written once for all of them.
    let (columns, rest) = columns.as_chunks::<FOUR>();
    let (words, last) = query.as_chunks::<FOUR>();
    for ([a, b, c, d], [p, q, r, s]) in columns.iter().zip(words) {
        for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            let count = (a ^ p).count_ones() + (b ^ q).count_ones() + (c ^ r).count_ones() + (d ^ s).count_ones();
            *out += count as u16;
        }
    }
    for (column, word) in rest.iter().zip(last) {
        for (out, bits) in out.iter_mut().zip(column) {
            *out += (bits ^ word).count_ones() as u16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_way_of_counting_counts_the_same(
            sketches in (1..20usize).prop_flat_map(|words| {
                proptest::collection::vec(proptest::collection::vec(any::<u64>(), words), 1..200)
            }),
        ) {
            let query = &sketches[0];
            let column = |word: usize| sketches.iter().map(|sketch| sketch[word]).collect();
            let columns: Vec<Vec<u64>> = (0..query.len()).map(column).collect();
            let (mut fast, mut plain) = (vec![7], Vec::new());
            differences(&columns, query, &mut fast);
            portable(&columns, query, &mut plain);
            let bits = |sketch: &Vec<u64>| sketch.iter().zip(query).map(|(a, b)| (a ^ b).count_ones() as u16).sum();
            let slow: Vec<u16> = sketches.iter().map(bits).collect();
            prop_assert_eq!(&fast, &slow);
            prop_assert_eq!(&plain, &slow);
        }
    }
}
