//! A linear layer: rows times weights, plus the bias.

use ndarray::Array2;

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

    /// Maps rows × inputs to rows × outputs.
    pub(super) fn of(&self, rows: &Array2<f32>) -> Array2<f32> {
        match self {
            Self::SinglePrecision(layer) => layer.of(rows),
            Self::Quantised(layer) => layer.of(rows),
        }
    }
}
