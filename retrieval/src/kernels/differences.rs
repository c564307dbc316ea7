//! In how many bits sketches differ.

use super::is_portable;

/// For every sketch of so many words in `sketches`, in how many bits it differs from the query's.
pub(crate) fn differences(sketches: &[u64], query: &[u64], out: &mut Vec<u16>) {
    #[cfg(target_arch = "x86_64")]
    if !is_portable() {
        if std::arch::is_x86_feature_detected!("avx512vpopcntdq") && std::arch::is_x86_feature_detected!("avx512vl") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            #[allow(unsafe_code, reason = "without the instructions the scan takes twice as long")]
            return unsafe { with_vectors(sketches, query, out) };
        }
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt") {
            // SAFETY: likewise.
            #[allow(unsafe_code, reason = "without the instructions the scan takes twice as long")]
            return unsafe { with_instruction(sketches, query, out) };
        }
    }
    portable(sketches, query, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512vpopcntdq,popcnt")]
fn with_vectors(sketches: &[u64], query: &[u64], out: &mut Vec<u16>) {
    portable(sketches, query, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn with_instruction(sketches: &[u64], query: &[u64], out: &mut Vec<u16>) {
    portable(sketches, query, out);
}

// Plain loops: what an iterator calls is compiled for any processor, unless it is inlined by chance.
#[inline(always)]
fn portable(sketches: &[u64], query: &[u64], out: &mut Vec<u16>) {
    let from = out.len();
    out.resize(from + sketches.len() / query.len().max(1), 0);
    let out = &mut out[from..];
    // The usual length gets a loop of its own, which needs no inner one.
    if let [a, b, c, d] = query {
        let (sketches, _) = sketches.as_chunks::<4>();
        for (out, s) in out.iter_mut().zip(sketches) {
            let count =
                (s[0] ^ a).count_ones() + (s[1] ^ b).count_ones() + (s[2] ^ c).count_ones() + (s[3] ^ d).count_ones();
            *out = count as u16;
        }
        return;
    }
    for (out, sketch) in out.iter_mut().zip(sketches.chunks_exact(query.len().max(1))) {
        let mut count = 0;
        for (a, b) in sketch.iter().zip(query) {
            count += (a ^ b).count_ones();
        }
        *out = count as u16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_way_of_counting_counts_the_same(
            words in proptest::collection::vec(any::<u64>(), 0..200), query in proptest::collection::vec(any::<u64>(), 1..20),
        ) {
            let (mut fast, mut plain) = (Vec::new(), Vec::new());
            differences(&words, &query, &mut fast);
            portable(&words, &query, &mut plain);
            prop_assert_eq!(fast, plain);
        }
    }
}
