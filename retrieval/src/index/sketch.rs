//! Sketches: one sign bit per dimension of a rotated vector, an eighth of the bytes of its row.
//!
//! Vectors are rotated before they are reduced to bits or to 8-bit integers, so that every dimension carries the same
//! share of the information: signs are flipped by a fixed random draw, then the Walsh-Hadamard transform is applied.
//! Cosines do not change. Two vectors' sketches differ in a share of bits that is proportional to their angle
//! (Charikar, 2002).
//!
//! A query is compared only in the half of its dimensions that are farthest from zero, where a differing sign counts
//! once, twice or four times. This reads half the bytes. For the same recall, about as many rows must be compared in
//! full as if every dimension were compared with two bits.

use std::cmp::Reverse;

use crate::kernels::QuerySketch;

/// One in this many dimensions has weight four, and [`TWICE`] times as many have weight two.
const FOUR_TIMES_SHARE: usize = 16;
const TWICE: usize = 3;
/// Queries of up to this many dimensions use all of them.
const DIMENSIONS_MIN: usize = 128;

/// Rotates a vector. The length of the result is the next power of two.
pub(crate) fn rotated(vector: &[f32]) -> Vec<f32> {
    let mut values = vec![0.0; vector.len().next_power_of_two()];
    // xorshift with a fixed seed: the signs are part of the on-disk format.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for (value, input) in values.iter_mut().zip(vector) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *value = if state & 1 == 0 { *input } else { -*input };
    }
    let mut half = 1;
    while half < values.len() {
        for pair in values.chunks_exact_mut(2 * half) {
            let (low, high) = pair.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    let norm = (values.len() as f32).sqrt();
    values.iter_mut().for_each(|value| *value /= norm);
    values
}

/// Returns the signs of a row's values, 64 per word; a set bit is a negative value.
pub(crate) fn signs(values: &[i8]) -> impl Iterator<Item = u64> {
    values.chunks(64).map(|values| {
        let (eights, rest) = values.as_chunks::<8>();
        let eights = eights.iter().map(|eight| eight_signs(*eight)).enumerate();
        let word = eights.fold(0, |word, (index, signs)| word | (signs << (8 * index)));
        let rest = rest.iter().enumerate().fold(0, |signs, (bit, value)| signs | u64::from(*value < 0) << bit);
        word | (rest << ((values.len() - values.len() % 8) % 64))
    })
}

/// Returns the sketch of a query's row, with a weight for each dimension.
pub(crate) fn query_sketch(values: &[i8]) -> QuerySketch {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by_key(|index| (Reverse(values[*index].unsigned_abs()), *index));
    order.truncate(DIMENSIONS_MIN.max(values.len() / 2));
    let four_times = values.len() / FOUR_TIMES_SHARE;
    let mut query: Vec<(u8, bool)> = values.iter().map(|value| (0, *value < 0)).collect();
    for (rank, index) in order.into_iter().enumerate() {
        query[index].0 = match rank {
            rank if rank < four_times => 4,
            rank if rank < (1 + TWICE) * four_times => 2,
            _ => 1,
        };
    }
    QuerySketch::new(&query)
}

/// Returns the signs of eight values in the low byte: the product moves the lowest bit of byte *k* to bit 56 + *k*.
fn eight_signs(values: [i8; 8]) -> u64 {
    let negative = (u64::from_le_bytes(values.map(|value| value.to_le_bytes()[0])) >> 7) & 0x0101_0101_0101_0101;
    negative.wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bit_is_set_where_a_value_is_negative(values in proptest::collection::vec(any::<i8>(), 1..200)) {
            let words: Vec<u64> = signs(&values).collect();
            prop_assert_eq!(words.len(), values.len().div_ceil(64));
            for (index, value) in values.iter().enumerate() {
                prop_assert_eq!(words[index / 64] >> (index % 64) & 1 == 1, *value < 0);
            }
        }

        #[test]
        fn rotation_keeps_the_dot_product(
            a in proptest::collection::vec(-1f32..1.0, 48), b in proptest::collection::vec(-1f32..1.0, 48),
        ) {
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
            prop_assert!((dot(&a, &b) - dot(&rotated(&a), &rotated(&b))).abs() < 1e-3);
            prop_assert_eq!(rotated(&a).len(), 64);
        }
    }

    #[test]
    fn signs_are_bits() {
        let mut values = vec![1i8; 70];
        (values[0], values[65]) = (-1, -9);
        assert_eq!(signs(&values).collect::<Vec<_>>(), [1, 2]);
    }
}
