//! The softmax of attention, in place. It starts no threads, for the reason in [`super::norm`].

use candle_core::{CpuStorage, Error, InplaceOp1, Layout, Result, Tensor};
use pulp::Arch;

use super::activation::exp_of_negative;

/// Replaces each row of a matrix, along the last dimension, by its softmax.
pub(super) fn softmax(matrix: &Tensor) -> Result<()> {
    matrix.inplace_op1(&Softmax)
}

struct Softmax;

impl InplaceOp1 for Softmax {
    fn name(&self) -> &'static str {
        "softmax"
    }

    fn cpu_fwd(&self, matrix: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let (Some((start, end)), Some(width)) = (layout.contiguous_offsets(), layout.dims().last()) else {
            return Err(Error::Msg("rows must be contiguous".into()));
        };
        let CpuStorage::F32(values) = matrix else {
            return Err(Error::Msg("rows must be of single precision".into()));
        };
        let rows = &mut values[start..end];
        Arch::new().dispatch(|| rows.chunks_exact_mut(*width).for_each(softmax_of_row));
        Ok(())
    }
}

#[inline(always)]
fn softmax_of_row(row: &mut [f32]) {
    let mut largest = f32::NEG_INFINITY;
    for value in row.iter() {
        largest = largest.max(*value);
    }
    let mut sum = 0.0;
    for value in row.iter_mut() {
        *value = exp_of_negative(*value - largest);
        sum += *value;
    }
    let inverse = 1.0 / sum;
    for value in row.iter_mut() {
        *value *= inverse;
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    #[test]
    fn rows_are_in_proportion_to_the_exponentials_and_sum_to_one() {
        let matrix = Tensor::from_slice(&[0.0_f32, 2_f32.ln(), 90.0, 0.0], (2, 2), &Device::Cpu).expect("a tensor");
        softmax(&matrix).expect("rows");
        let rows = matrix.to_vec2::<f32>().expect("rows");
        assert!((rows[0][0] - 1.0 / 3.0).abs() < 1e-6 && (rows[0][1] - 2.0 / 3.0).abs() < 1e-6, "{:?}", rows[0]);
        assert!(rows[1][0] == 1.0 && rows[1][1] < 1e-30, "{:?}", rows[1]);
    }
}
