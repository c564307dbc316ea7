//! Layer normalisation (Ba et al., 2016) of a sum of two matrices.

use pulp::{Arch, NullaryFnOnce};

use super::lanes::{sum, sum_of_squares};

/// A layer normalisation.
pub(super) struct LayerNorm {
    weight: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

impl LayerNorm {
    /// Returns the normalisation of rows with as many numbers as `weight` and `bias` have.
    pub(super) fn new(weight: Vec<f32>, bias: Vec<f32>, epsilon: f64) -> Self {
        Self { weight, bias, epsilon: epsilon as f32 }
    }

    /// Replaces `rows` by the normalised rows of `rows + added`, which has as many numbers.
    pub(super) fn add(&self, rows: &mut [f32], added: &[f32]) {
        Arch::new().dispatch(Addition { norm: self, rows, added });
    }

    /// Adds `added` to a row, and normalises the sum.
    #[inline(always)]
    fn apply_to_row(&self, row: &mut [f32], added: &[f32]) {
        for (value, added) in row.iter_mut().zip(added) {
            *value += added;
        }
        let count = row.len() as f32;
        let mean = sum(row) / count;
        for value in row.iter_mut() {
            *value -= mean;
        }
        let scale = 1.0 / (sum_of_squares(row) / count + self.epsilon).sqrt();
        for ((value, weight), bias) in row.iter_mut().zip(&self.weight).zip(&self.bias) {
            *value = *value * scale * weight + bias;
        }
    }
}

/// The arguments of [`LayerNorm::add`]. A closure would not be inlined into the code for the processor.
struct Addition<'a> {
    norm: &'a LayerNorm,
    rows: &'a mut [f32],
    added: &'a [f32],
}

impl NullaryFnOnce for Addition<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let width = self.norm.weight.len();
        for (row, added) in self.rows.chunks_exact_mut(width).zip(self.added.chunks_exact(width)) {
            self.norm.apply_to_row(row, added);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_mean_of_the_bias_and_the_deviation_of_the_weight() {
        let norm = LayerNorm::new(vec![2.0; 4], vec![5.0; 4], 0.0);
        let numbers = vec![1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 8.0, 8.0];
        let mut rows = numbers;
        norm.add(&mut rows, &[1.0; 8]);
        assert_eq!(rows[4..], [3.0, 3.0, 7.0, 7.0]);
        let root = 5_f32.sqrt();
        for (value, expected) in rows.iter().zip([-3.0, -1.0, 1.0, 3.0]) {
            assert!((value - (5.0 + 2.0 * expected / root)).abs() < 1e-5, "{rows:?}");
        }
    }
}
