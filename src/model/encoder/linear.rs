//! A layer's multiplications: rows times weights, plus the bias, through GELU where one follows.
//!
//! What comes after the product is done in one pass over it. For a few rows the product is made the other way round,
//! weights times rows: the library's kernel works on many rows of its left side at a time and would idle on the rest.

use candle_core::{CpuStorage, CustomOp2, Error, InplaceOp2, Layout, Result, Shape, Tensor};

use super::activation::gelu;

/// With fewer rows than this the product is made the other way round.
const ROWS_MIN: usize = 64;

/// Weights and bias.
pub(super) struct Linear {
    /// outputs × inputs
    weight: Tensor,
    bias: Tensor,
}

impl Linear {
    /// From weights of outputs × inputs.
    pub(super) fn new(weight: &Tensor, bias: Tensor) -> Result<Self> {
        Ok(Self { weight: weight.contiguous()?, bias })
    }

    /// rows × inputs to rows × outputs.
    pub(super) fn of(&self, rows: &Tensor) -> Result<Tensor> {
        self.finished(rows, &Finish { gelu: false })
    }

    /// The same, and GELU of it.
    pub(super) fn gelu_of(&self, rows: &Tensor) -> Result<Tensor> {
        self.finished(rows, &Finish { gelu: true })
    }

    fn finished(&self, rows: &Tensor, finish: &Finish) -> Result<Tensor> {
        if rows.dim(0)? < ROWS_MIN {
            return self.weight.matmul(&rows.t()?)?.apply_op2_no_bwd(&self.bias, finish);
        }
        let product = rows.matmul(&self.weight.t()?)?;
        product.inplace_op2(&self.bias, finish)?;
        Ok(product)
    }
}

/// What is done with a product. In place it is of rows × outputs; as an operation of its own it is of outputs × rows and
/// is turned.
struct Finish {
    gelu: bool,
}

impl Finish {
    fn row(&self, row: &mut [f32], bias: &[f32]) {
        row.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
        if self.gelu {
            gelu(row);
        }
    }
}

impl InplaceOp2 for Finish {
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
        let CpuStorage::F32(product) = product else { return Err(not_single()) };
        product[start..end].chunks_exact_mut(bias.len()).for_each(|row| self.row(row, bias));
        Ok(())
    }
}

impl CustomOp2 for Finish {
    fn name(&self) -> &'static str {
        "turn and bias"
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
        let mut turned = vec![0.0; outputs * rows];
        for (output, column) in product.chunks_exact(rows).enumerate() {
            for (row, value) in column.iter().enumerate() {
                turned[row * outputs + output] = *value;
            }
        }
        turned.chunks_exact_mut(outputs).for_each(|row| self.row(row, bias));
        Ok((CpuStorage::F32(turned), Shape::from((rows, outputs))))
    }
}

fn values<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let (start, end) = offsets(layout)?;
    let CpuStorage::F32(values) = storage else { return Err(not_single()) };
    Ok(&values[start..end])
}

fn offsets(layout: &Layout) -> Result<(usize, usize)> {
    layout.contiguous_offsets().ok_or_else(|| Error::Msg("rows must be contiguous".into()))
}

fn not_single() -> Error {
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
        let linear = Linear::new(&random((24, 16)), bias).expect("a layer");
        let many = random((ROWS_MIN, 16));
        let few = many.narrow(0, 3, 5).expect("rows");
        for (whole, part) in [(linear.of(&many), linear.of(&few)), (linear.gelu_of(&many), linear.gelu_of(&few))] {
            let whole = whole.expect("a product").narrow(0, 3, 5).expect("rows");
            let apart = (whole - part.expect("a product")).expect("a difference").abs().expect("sizes");
            let most =
                apart.to_dtype(DType::F32).and_then(|apart| apart.max_all()?.to_scalar::<f32>()).expect("a number");
            assert!(most < 1e-5, "{most}");
        }
    }
}
