//! A linear layer: rows times weights, plus the bias.

use ndarray::ShapeError;

use super::quantised::{QuantisedLinear, QuantisedWeights};
use super::single_precision::SinglePrecisionLinear;
use crate::config::Precision;

/// A linear layer in one of the precisions.
pub(super) enum Linear {
    SinglePrecision(SinglePrecisionLinear),
    Quantised(QuantisedLinear),
}

impl Linear {
    /// Returns a layer from its weights, `inputs` numbers for each output, and its bias, a number for each output.
    pub(super) fn new(inputs: usize, weights: Vec<f32>, bias: Vec<f32>, precision: Precision) -> Self {
        match precision {
            Precision::Float32 => Self::SinglePrecision(SinglePrecisionLinear::new(inputs, weights, bias)),
            Precision::Int8 => {
                let weights = QuantisedWeights::of(inputs, &weights);
                Self::Quantised(QuantisedLinear::new(inputs, weights, bias))
            }
        }
    }

    /// Maps rows × inputs to rows × outputs. `results` gets the length of the result.
    pub(super) fn apply(&self, rows: &[f32], count: usize, results: &mut Vec<f32>) -> Result<(), ShapeError> {
        results.resize(count * self.outputs(), 0.0);
        match self {
            Self::SinglePrecision(layer) => layer.apply(rows, results),
            Self::Quantised(layer) => {
                layer.apply(rows, results);
                Ok(())
            }
        }
    }

    fn outputs(&self) -> usize {
        match self {
            Self::SinglePrecision(layer) => layer.outputs(),
            Self::Quantised(layer) => layer.outputs(),
        }
    }
}
