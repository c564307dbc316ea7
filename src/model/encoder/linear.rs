//! A linear layer: rows times weights, plus the bias, optionally followed by GELU.

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};

use super::activation::gelu;
use super::quantised::QuantisedLinear;
use super::single_precision::{SinglePrecisionLinear, values};
use crate::config::Precision;

/// A linear layer in one of the precisions.
pub(super) enum Linear {
    SinglePrecision(SinglePrecisionLinear),
    Quantised(QuantisedLinear),
}

impl Linear {
    /// Returns a layer with weights of the shape outputs × inputs.
    pub(super) fn new(weight: &Tensor, bias: Tensor, precision: Precision) -> Result<Self> {
        Ok(match precision {
            Precision::Float32 => Self::SinglePrecision(SinglePrecisionLinear::new(weight, bias)?),
            Precision::Int8 => Self::Quantised(QuantisedLinear::new(weight, &bias)?),
        })
    }

    /// Maps rows × inputs to rows × outputs.
    pub(super) fn of(&self, rows: &Tensor) -> Result<Tensor> {
        match self {
            Self::SinglePrecision(layer) => layer.of(rows),
            Self::Quantised(layer) => rows.apply_op1_no_bwd(&QuantisedOperation { layer, gelu: false }),
        }
    }

    /// As [`Self::of`], followed by GELU.
    pub(super) fn gelu_of(&self, rows: &Tensor) -> Result<Tensor> {
        match self {
            Self::SinglePrecision(layer) => layer.gelu_of(rows),
            Self::Quantised(layer) => rows.apply_op1_no_bwd(&QuantisedOperation { layer, gelu: true }),
        }
    }
}

/// A quantised layer as an operation on a tensor.
struct QuantisedOperation<'a> {
    layer: &'a QuantisedLinear,
    gelu: bool,
}

impl CustomOp1 for QuantisedOperation<'_> {
    fn name(&self) -> &'static str {
        "quantised linear"
    }

    fn cpu_fwd(&self, rows: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (count, inputs) = layout.shape().dims2()?;
        if inputs != self.layer.inputs() {
            return Err(candle_core::Error::Msg(format!("{inputs} inputs, expected {}", self.layer.inputs())));
        }
        let mut results = self.layer.apply(values(rows, layout)?);
        if self.gelu {
            gelu(&mut results);
        }
        Ok((CpuStorage::F32(results), Shape::from((count, self.layer.outputs()))))
    }
}
