//! Sums and extremes of many numbers, in as many parts as a vector register has lanes.
//!
//! The compiler keeps the order of floating-point additions, so a plain loop over a slice adds one number after another.
//! Sixteen sums side by side become vector instructions. The functions are inlined, so that the caller decides for which
//! processor they are compiled.

/// Numbers in the widest vector register.
const LANES: usize = 16;

/// Returns the sum of numbers.
#[inline(always)]
pub(super) fn sum(numbers: &[f32]) -> f32 {
    let (chunks, rest) = numbers.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for chunk in chunks {
        for (sum, number) in sums.iter_mut().zip(chunk) {
            *sum += number;
        }
    }
    sums.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

/// Returns the sum of the squares of numbers.
#[inline(always)]
pub(super) fn sum_of_squares(numbers: &[f32]) -> f32 {
    let (chunks, rest) = numbers.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for chunk in chunks {
        for (sum, number) in sums.iter_mut().zip(chunk) {
            *sum += number * number;
        }
    }
    sums.iter().sum::<f32>() + rest.iter().map(|number| number * number).sum::<f32>()
}

/// Returns the lowest and the highest of numbers: infinity and negative infinity if there are none.
#[inline(always)]
pub(super) fn lowest_and_highest(numbers: &[f32]) -> (f32, f32) {
    let (chunks, rest) = numbers.as_chunks::<LANES>();
    let (mut lowest, mut highest) = ([f32::INFINITY; LANES], [f32::NEG_INFINITY; LANES]);
    for chunk in chunks {
        for ((low, high), number) in lowest.iter_mut().zip(&mut highest).zip(chunk) {
            *low = lower(*low, *number);
            *high = higher(*high, *number);
        }
    }
    let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
    for number in lowest.iter().chain(&highest).chain(rest) {
        if number.is_finite() {
            (low, high) = (lower(low, *number), higher(high, *number));
        }
    }
    (low, high)
}

/// Returns the lower of two numbers. Unlike `f32::min`, which has rules for numbers that are not numbers, this is one
/// instruction.
#[inline(always)]
fn lower(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

/// Returns the higher of two numbers, in one instruction.
#[inline(always)]
fn higher(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_counts_wherever_it_stands() {
        for count in [0, 1, 15, 16, 17, 40] {
            let numbers: Vec<f32> = (0..count).map(|number| number as f32 - 7.0).collect();
            assert_eq!(sum(&numbers), numbers.iter().sum::<f32>());
            assert_eq!(sum_of_squares(&numbers), numbers.iter().map(|number| number * number).sum::<f32>());
            let lowest = numbers.iter().copied().fold(f32::INFINITY, f32::min);
            let highest = numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            assert_eq!(lowest_and_highest(&numbers), (lowest, highest));
        }
    }
}
