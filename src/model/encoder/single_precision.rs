//! A linear layer in single precision: rows times weights, plus the bias, optionally followed by GELU.
//!
//! Bias and GELU are applied in one pass over the product. With few rows the product is computed in the opposite order,
//! weights times rows: the library's kernel processes many rows of its left side at a time and would be partly idle.

use candle_core::{CpuStorage, CustomOp2, Error, InplaceOp2, Layout, Result, Shape, Tensor};

use super::activation::gelu;

/// With fewer rows than this, the product is computed as weights times rows.
const ROWS_MIN: usize = 64;

/// The weights and the bias of a layer.
pub(super) struct SinglePrecisionLinear {
    /// Shape: outputs × inputs.
    weight: Tensor,
    bias: Tensor,
}

impl SinglePrecisionLinear {
    /// Returns a layer with weights of the shape outputs × inputs.
    pub(super) fn new(weight: &Tensor, bias: Tensor) -> Result<Self> {
        Ok(Self { weight: weight.contiguous()?, bias })
    }

    /// Maps rows × inputs to rows × outputs.
    pub(super) fn of(&self, rows: &Tensor) -> Result<Tensor> {
        self.apply(rows, &BiasOperation { gelu: false })
    }

    /// As [`Self::of`], followed by GELU.
    pub(super) fn gelu_of(&self, rows: &Tensor) -> Result<Tensor> {
        self.apply(rows, &BiasOperation { gelu: true })
    }

    fn apply(&self, rows: &Tensor, operation: &BiasOperation) -> Result<Tensor> {
        if rows.dim(0)? < ROWS_MIN {
            return self.weight.matmul(&rows.t()?)?.apply_op2_no_bwd(&self.bias, operation);
        }
        let product = rows.matmul(&self.weight.t()?)?;
        product.inplace_op2(&self.bias, operation)?;
        Ok(product)
    }
}

/// Adds the bias to a product and optionally applies GELU. In place, the product has the shape rows × outputs.
/// Otherwise it has the shape outputs × rows and is transposed.
struct BiasOperation {
    gelu: bool,
}

impl BiasOperation {
    fn apply_to_row(&self, row: &mut [f32], bias: &[f32]) {
        row.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
        if self.gelu {
            gelu(row);
        }
    }
}

impl InplaceOp2 for BiasOperation {
    fn name(&self) -> &'static str {
        "bias"
    }

    fn cpu_fwd(
        &self,
        product: &mut CpuStorage,
        layout: &Layout,
        bias: &CpuStorage,
        bias_layout: &Layout,
    ) -> Result<()> {
        let bias = values(bias, bias_layout)?;
        let (start, end) = offsets(layout)?;
        let CpuStorage::F32(product) = product else { return Err(not_single_precision()) };
        for row in product[start..end].chunks_exact_mut(bias.len()) {
            self.apply_to_row(row, bias);
        }
        Ok(())
    }
}

impl CustomOp2 for BiasOperation {
    fn name(&self) -> &'static str {
        "transpose and bias"
    }

    fn cpu_fwd(
        &self,
        product: &CpuStorage,
        layout: &Layout,
        bias: &CpuStorage,
        bias_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (product, bias) = (values(product, layout)?, values(bias, bias_layout)?);
        let (outputs, rows) = layout.shape().dims2()?;
        let mut transposed = vec![0.0; outputs * rows];
        for (output, column) in product.chunks_exact(rows).enumerate() {
            for (row, value) in column.iter().enumerate() {
                transposed[row * outputs + output] = *value;
            }
        }
        for row in transposed.chunks_exact_mut(outputs) {
            self.apply_to_row(row, bias);
        }
        Ok((CpuStorage::F32(transposed), Shape::from((rows, outputs))))
    }
}

pub(super) fn values<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let (start, end) = offsets(layout)?;
    let CpuStorage::F32(values) = storage else { return Err(not_single_precision()) };
    Ok(&values[start..end])
}

fn offsets(layout: &Layout) -> Result<(usize, usize)> {
    match layout.contiguous_offsets() {
        Some(offsets) => Ok(offsets),
        None => Err(Error::Msg("rows must be contiguous".into())),
    }
}

fn not_single_precision() -> Error {
    Error::Msg("rows must be of single precision".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::{DType, Device};

    #[test]
    fn few_rows_and_many_give_the_same() {
        let random = |shape: (usize, usize)| Tensor::rand(-1f32, 1f32, shape, &Device::Cpu).expect("a tensor");
        let bias = random((1, 24)).get(0).expect("a row");
        let linear = SinglePrecisionLinear::new(&random((24, 16)), bias).expect("a layer");
        let many = random((ROWS_MIN, 16));
        let few = many.narrow(0, 3, 5).expect("rows");
        for (whole, part) in [(linear.of(&many), linear.of(&few)), (linear.gelu_of(&many), linear.gelu_of(&few))] {
            let whole = whole.expect("a product").narrow(0, 3, 5).expect("rows");
            let difference = (whole - part.expect("a product")).expect("a difference").abs().expect("sizes");
            let difference = difference.to_dtype(DType::F32).expect("single precision");
            let largest = difference.max_all().expect("a tensor").to_scalar::<f32>().expect("a number");
            assert!(largest < 1e-5, "{largest}");
        }
    }
}
