//! A linear layer in single precision.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, ShapeError};

/// The weights and the bias of a layer.
pub(super) struct SinglePrecisionLinear {
    /// Shape: inputs × outputs, column by column, so that the weights of an output are adjacent.
    weights: Array2<f32>,
    bias: Array1<f32>,
}

impl SinglePrecisionLinear {
    /// Returns a layer from its weights, `inputs` numbers for each output, and its bias, a number for each output.
    pub(super) fn new(inputs: usize, weights: Vec<f32>, bias: Vec<f32>) -> Self {
        let mut matrix = Array2::zeros((bias.len(), inputs));
        for (place, weight) in matrix.iter_mut().zip(weights) {
            *place = weight;
        }
        Self { weights: matrix.reversed_axes(), bias: Array1::from_vec(bias) }
    }

    /// Returns the number of outputs.
    pub(super) fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// Maps rows × inputs to rows × outputs.
    pub(super) fn apply(&self, rows: &[f32], results: &mut [f32]) -> Result<(), ShapeError> {
        let count = results.len() / self.bias.len();
        let rows = ArrayView2::from_shape((count, self.weights.nrows()), rows)?;
        let mut results = ArrayViewMut2::from_shape((count, self.bias.len()), results)?;
        results.assign(&self.bias);
        general_mat_mul(1.0, &rows, &self.weights, 1.0, &mut results);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_multiplied_with_the_weights_of_each_output() {
        let layer = SinglePrecisionLinear::new(2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![0.5, 0.0, -1.0]);
        let mut results = [0.0; 6];
        layer.apply(&[1.0, 10.0, 0.0, 1.0], &mut results).expect("a matrix");
        assert_eq!(results, [21.5, 43.0, 64.0, 2.5, 4.0, 5.0]);
    }
}
