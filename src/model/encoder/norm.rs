//! Layer normalisation (Ba et al., 2016) of a sum of two matrices.
//!
//! The library starts several threads for this. Batches of texts are processed in parallel already, and for a short text
//! the threads take longer than the arithmetic.

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor};
use pulp::Arch;

use super::single_precision::values;

/// A layer normalisation.
pub(super) struct LayerNorm {
    weight: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

impl LayerNorm {
    pub(super) fn new(weight: &Tensor, bias: &Tensor, epsilon: f64) -> Result<Self> {
        Ok(Self { weight: weight.to_vec1()?, bias: bias.to_vec1()?, epsilon: epsilon as f32 })
    }

    /// Returns the normalised rows of `a + b`, which have the same shape.
    pub(super) fn of_sum(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        a.apply_op2_no_bwd(b, &NormOperation { norm: self })
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

struct NormOperation<'a> {
    norm: &'a LayerNorm,
}

impl CustomOp2 for NormOperation<'_> {
    fn name(&self) -> &'static str {
        "normalised sum"
    }

    fn cpu_fwd(
        &self,
        a: &CpuStorage,
        a_layout: &Layout,
        b: &CpuStorage,
        b_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (width, count) = (self.norm.weight.len(), a_layout.shape().elem_count());
        if a_layout.dims().last() != Some(&width) || b_layout.shape() != a_layout.shape() {
            let shapes = format!("{:?} and {:?}", a_layout.shape(), b_layout.shape());
            return Err(candle_core::Error::Msg(format!("rows of the shapes {shapes}, expected {width} numbers each")));
        }
        let mut rows = values(a, a_layout)?.to_vec();
        let added = values(b, b_layout)?;
        debug_assert_eq!(rows.len(), count, "the rows are contiguous");
        Arch::new().dispatch(|| {
            for (row, added) in rows.chunks_exact_mut(width).zip(added.chunks_exact(width)) {
                self.norm.apply_to_row(row, added);
            }
        });
        Ok((CpuStorage::F32(rows), a_layout.shape().clone()))
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    #[test]
    fn rows_have_the_mean_of_the_bias_and_the_deviation_of_the_weight() {
        let tensor = |numbers: &[f32], shape: (usize, usize)| {
            Tensor::from_slice(numbers, shape, &Device::Cpu).expect("a tensor")
        };
        let weight = Tensor::from_slice(&[2.0_f32; 4], 4, &Device::Cpu).expect("a tensor");
        let bias = Tensor::from_slice(&[5.0_f32; 4], 4, &Device::Cpu).expect("a tensor");
        let norm = LayerNorm::new(&weight, &bias, 0.0).expect("a layer");
        let (a, b) = (tensor(&[1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 8.0, 8.0], (2, 4)), tensor(&[1.0; 8], (2, 4)));
        let rows = norm.of_sum(&a, &b).expect("a sum").to_vec2::<f32>().expect("rows");
        assert_eq!(rows[1], [3.0, 3.0, 7.0, 7.0]);
        let root = 5_f32.sqrt();
        for (value, expected) in rows[0].iter().zip([-3.0, -1.0, 1.0, 3.0]) {
            assert!((value - (5.0 + 2.0 * expected / root)).abs() < 1e-5, "{:?}", rows[0]);
        }
        assert!(norm.of_sum(&a, &tensor(&[1.0; 4], (1, 4))).is_err(), "shapes that differ are refused");
    }
}
