//! One bit a dimension: a first look at every cue that reads an eighth of what its row takes.
//!
//! Vectors are turned before they are cut down to bits or to 8-bit integers, so that every dimension carries as much as
//! any other: signs flipped by a fixed draw, then the Walsh-Hadamard transform. Cosines stay as they were. Two vectors'
//! sketches differ in as many bits as their angle is wide (Charikar, 2002).
//!
//! A query is looked for with two bits a dimension, its sign and whether it is large: where it is, another sign counts
//! more. That costs no byte of what is read, and a third of the rows then hold as many of the best.

use crate::kernels::Word;

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

/// A query's row as sketches are compared with it. Large is what exceeds the root of the mean square.
pub(crate) fn sought(values: &[i8]) -> Vec<Word> {
    let square = |value: &i8| u64::from(value.unsigned_abs()).pow(2);
    let all: u64 = values.iter().map(square).sum();
    let is_large = |value: &i8| square(value) * values.len() as u64 > all;
    let large = |values: &[i8]| values.iter().rev().fold(0, |word, value| word << 1 | u64::from(is_large(value)));
    signs(values).zip(values.chunks(64)).map(|(signs, values)| Word { signs, large: large(values) }).collect()
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
        // Of the 70 squares, 69 are one and one is 81.
        assert_eq!(sought(&values), [Word { signs: 1, large: 0 }, Word { signs: 2, large: 2 }]);
    }
}
