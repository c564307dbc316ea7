//! Layer normalisation (Ba et al., 2016) of a sum of two matrices.

use ndarray::Array2;
use pulp::Arch;

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

    /// Replaces `rows` by the normalised rows of `rows + added`, which has the same shape.
    pub(super) fn add(&self, rows: &mut Array2<f32>, added: &Array2<f32>) {
        let width = self.weight.len();
        if let (Some(rows), Some(added)) = (rows.as_slice_mut(), added.as_slice()) {
            Arch::new().dispatch(|| {
                for (row, added) in rows.chunks_exact_mut(width).zip(added.chunks_exact(width)) {
                    self.apply_to_row(row, added);
                }
            });
        }
    }

    /// Adds `added` to a row, and normalises the sum.
    #[inline(always)]
    fn apply_to_row(&self, row: &mut [f32], added: &[f32]) {
        let mut sum = 0.0;
        for (value, added) in row.iter_mut().zip(added) {
            *value += added;
            sum += *value;
        }
        let count = row.len() as f32;
        let mean = sum / count;
        let mut squares = 0.0;
        for value in row.iter_mut() {
            *value -= mean;
            squares += *value * *value;
        }
        let scale = 1.0 / (squares / count + self.epsilon).sqrt();
        for ((value, weight), bias) in row.iter_mut().zip(&self.weight).zip(&self.bias) {
            *value = *value * scale * weight + bias;
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
        let mut rows = Array2::from_shape_vec((2, 4), numbers).expect("a matrix");
        norm.add(&mut rows, &Array2::ones((2, 4)));
        assert_eq!(rows.row(1).to_vec(), [3.0, 3.0, 7.0, 7.0]);
        let root = 5_f32.sqrt();
        for (value, expected) in rows.row(0).iter().zip([-3.0, -1.0, 1.0, 3.0]) {
            assert!((value - (5.0 + 2.0 * expected / root)).abs() < 1e-5, "{rows}");
        }
    }
}
