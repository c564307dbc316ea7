//! One bit a dimension: a first look at every cue that takes an eighth of its row, of which a query reads half.
//!
//! Vectors are turned before they are cut down to bits or to 8-bit integers, so that every dimension carries as much as
//! any other: signs flipped by a fixed draw, then the Walsh-Hadamard transform. Cosines stay as they were. Two vectors'
//! sketches differ in as many bits as their angle is wide (Charikar, 2002).
//!
//! Of a query the half of its dimensions is looked at that is farthest from zero, and another sign counts once, twice or
//! four times there. Half the bytes are read for it, and about as many rows hold as many of the best as if all dimensions
//! were looked at in two bits.

use std::cmp::Reverse;

use crate::kernels::Sought;

/// One dimension in so many counts four times, this many times as many count twice.
const FOUR_TIMES_SHARE: usize = 16;
const TWICE: usize = 3;
/// Fewer dimensions than this are looked at all of them.
const ALL: usize = 128;

/// A vector turned; its length is the next power of two.
pub(crate) fn turned(vector: &[f32]) -> Vec<f32> {
    let mut values = vec![0.0; vector.len().next_power_of_two()];
    // xorshift with a fixed seed: the draw is part of the format.
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

/// The signs of a row's values, 64 in a word.
pub(crate) fn signs(values: &[i8]) -> impl Iterator<Item = u64> {
    values.chunks(64).map(|values| {
        let (eights, rest) = values.as_chunks::<8>();
        let eights = eights.iter().map(|eight| eight_signs(*eight)).enumerate();
        let word = eights.fold(0, |word, (at, signs)| word | (signs << (8 * at)));
        let rest = rest.iter().enumerate().fold(0, |signs, (bit, value)| signs | u64::from(*value < 0) << bit);
        word | (rest << ((values.len() - values.len() % 8) % 64))
    })
}

/// A query's row as sketches are compared with it.
pub(crate) fn sought(values: &[i8]) -> Sought {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by_key(|at| (Reverse(values[*at].unsigned_abs()), *at));
    order.truncate(ALL.max(values.len() / 2));
    let four_times = values.len() / FOUR_TIMES_SHARE;
    let mut query: Vec<(u8, bool)> = values.iter().map(|value| (0, *value < 0)).collect();
    for (rank, at) in order.into_iter().enumerate() {
        query[at].0 = match rank {
            rank if rank < four_times => 4,
            rank if rank < (1 + TWICE) * four_times => 2,
            _ => 1,
        };
    }
    Sought::new(&query)
}

/// The signs of eight values in the low byte: the product brings the lowest bit of byte *k* to bit 56 + *k*.
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
            for (at, value) in values.iter().enumerate() {
                prop_assert_eq!(words[at / 64] >> (at % 64) & 1 == 1, *value < 0);
            }
        }

        #[test]
        fn turning_keeps_the_dot_product(
            a in proptest::collection::vec(-1f32..1.0, 48), b in proptest::collection::vec(-1f32..1.0, 48),
        ) {
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
            prop_assert!((dot(&a, &b) - dot(&turned(&a), &turned(&b))).abs() < 1e-3);
            prop_assert_eq!(turned(&a).len(), 64);
        }
    }

    #[test]
    fn signs_are_bits() {
        let mut values = vec![1i8; 70];
        (values[0], values[65]) = (-1, -9);
        assert_eq!(signs(&values).collect::<Vec<_>>(), [1, 2]);
    }
}
