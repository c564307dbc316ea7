//! The dot product of 8-bit vectors.

use simsimd::SpatialSimilarity;

use super::is_portable;

/// Returns the dot product of two vectors of equal length: a sum of integers, the same on every processor.
pub fn dot(a: &[i8], b: &[i8]) -> f32 {
    if is_portable() {
        return portable(a, b);
    }
    i8::dot(a, b).unwrap_or_default() as f32
}

fn portable(a: &[i8], b: &[i8]) -> f32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>() as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_forms_return_the_same_sum(pairs in proptest::collection::vec(any::<(i8, i8)>(), 1..2000)) {
            let (a, b): (Vec<i8>, Vec<i8>) = pairs.into_iter().unzip();
            prop_assert_eq!(dot(&a, &b), portable(&a, &b));
        }
    }
}
