//! A linear layer in 8 bits.
//!
//! Each output has its own scale, which maps its weights to -127..=127, and each row of a text has one. The product of
//! the integers is exact; only rounding to 8 bits changes the result. A layer is a quarter as large as in single
//! precision, and a text of a few words takes as long as reading the weights.

use candle_core::{Error, Result, Tensor};
use pulp::Arch;

use super::activation::ROUNDING;
use super::product::{INPUTS, OUTPUTS, Step, Sums, Values, multiply};

/// Added to a weight, so that it is stored without sign.
const OFFSET: i32 = 128;
/// The largest integer of a weight or a value.
const LARGEST: f32 = 127.0;
/// Numbers whose largest is smaller become zeros.
const SMALLEST: f32 = 1e-30;

/// The weights and the bias of a layer.
pub(super) struct QuantisedLinear {
    inputs: usize,
    /// [`OUTPUTS`] outputs each; the last is filled with outputs that are not used.
    panels: Vec<Vec<Step>>,
    /// The scale of each output's weights.
    scales: Vec<f32>,
    bias: Vec<f32>,
}

/// Rows of a text as integers.
struct QuantisedRows {
    /// The rows one after the other, filled with zeros to a whole number of steps.
    values: Vec<Values>,
    /// The scale of each row.
    scales: Vec<f32>,
    /// The sum of each row's integers.
    sums: Vec<i32>,
}

impl QuantisedLinear {
    /// Returns a layer with weights of the shape outputs × inputs.
    pub(super) fn new(weight: &Tensor, bias: &Tensor) -> Result<Self> {
        let rows = weight.to_vec2::<f32>()?;
        let bias = bias.to_vec1::<f32>()?;
        let inputs = weight.dim(1)?;
        if bias.len() != rows.len() {
            return Err(Error::Msg(format!("a bias of {} numbers for {} outputs", bias.len(), rows.len())));
        }
        let steps = inputs.div_ceil(INPUTS);
        let mut panels = vec![vec![Step([OFFSET as u8; INPUTS * OUTPUTS]); steps]; rows.len().div_ceil(OUTPUTS)];
        let mut scales = Vec::with_capacity(rows.len());
        for (output, row) in rows.iter().enumerate() {
            let scale = Scale::of(row);
            let panel = &mut panels[output / OUTPUTS];
            for (input, weight) in row.iter().enumerate() {
                let weight = i32::from(scale.quantise(*weight)) + OFFSET;
                panel[input / INPUTS].0[INPUTS * (output % OUTPUTS) + input % INPUTS] = weight as u8;
            }
            scales.push(scale.unit);
        }
        Ok(Self { inputs, panels, scales, bias })
    }

    pub(super) fn inputs(&self) -> usize {
        self.inputs
    }

    pub(super) fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// Maps rows × inputs to rows × outputs.
    pub(super) fn apply(&self, rows: &[f32]) -> Vec<f32> {
        let arch = Arch::new();
        let rows = arch.dispatch(|| QuantisedRows::new(rows, self.inputs));
        let (count, outputs) = (rows.scales.len(), self.outputs());
        let mut results = vec![0.0; count * outputs];
        let mut sums = vec![Sums::default(); count];
        for (number, panel) in self.panels.iter().enumerate() {
            multiply(&rows.values, panel, &mut sums);
            arch.dispatch(|| self.write_results(number, &rows, &sums, &mut results));
        }
        results
    }

    /// Writes the results of one panel from the sums of all rows.
    #[inline(always)]
    fn write_results(&self, panel: usize, rows: &QuantisedRows, sums: &[Sums], results: &mut [f32]) {
        let outputs = self.outputs();
        let first = panel * OUTPUTS;
        let end = outputs.min(first + OUTPUTS);
        let (scales, bias) = (&self.scales[first..end], &self.bias[first..end]);
        for (row, sums) in sums.iter().enumerate() {
            let results = &mut results[row * outputs + first..row * outputs + end];
            let (row_scale, offset) = (rows.scales[row], OFFSET * rows.sums[row]);
            for (((result, sum), scale), bias) in results.iter_mut().zip(sums).zip(scales).zip(bias) {
                *result = (sum - offset) as f32 * (row_scale * scale) + bias;
            }
        }
    }
}

impl QuantisedRows {
    #[inline(always)]
    fn new(rows: &[f32], inputs: usize) -> Self {
        let (count, steps) = (rows.len() / inputs, inputs.div_ceil(INPUTS));
        let mut values = vec![Values::default(); count * steps];
        let (mut scales, mut sums) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (row, values) in rows.chunks_exact(inputs).zip(values.chunks_exact_mut(steps)) {
            let scale = Scale::of(row);
            let mut sum = 0;
            for (value, number) in values.as_flattened_mut().iter_mut().zip(row) {
                *value = scale.quantise(*number);
                sum += i32::from(*value);
            }
            scales.push(scale.unit);
            sums.push(sum);
        }
        Self { values, scales, sums }
    }
}

/// How numbers are mapped to integers.
#[derive(Clone, Copy)]
struct Scale {
    /// The number that the integer 1 stands for.
    unit: f32,
    /// Its inverse; zero if all numbers become zeros.
    inverse: f32,
}

impl Scale {
    /// Returns the scale that maps the largest of some numbers to [`LARGEST`].
    #[inline(always)]
    fn of(numbers: &[f32]) -> Self {
        let mut largest = 0.0_f32;
        for number in numbers {
            largest = largest.max(number.abs());
        }
        if largest > SMALLEST {
            Self { unit: largest / LARGEST, inverse: LARGEST / largest }
        } else {
            Self { unit: 0.0, inverse: 0.0 }
        }
    }

    /// Rounds a number to an integer.
    #[inline(always)]
    fn quantise(self, number: f32) -> i8 {
        let sum = number * self.inverse + ROUNDING;
        // The last eight bits of the whole number. Of a number that is not finite they mean nothing.
        sum.to_bits() as i8
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    /// Returns numbers between -1 and 1 that look random.
    fn numbers(count: usize, seed: u64) -> Vec<f32> {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..count).map(|_| 2.0 * random.f32() - 1.0).collect()
    }

    #[test]
    fn a_layer_of_any_shape_is_near_the_exact_product() {
        for (count, inputs, outputs) in [(1, 16, 16), (3, 5, 7), (20, 30, 33), (9, 384, 48)] {
            let (rows, weights, bias) = (numbers(count * inputs, 1), numbers(inputs * outputs, 2), numbers(outputs, 3));
            let weight = Tensor::from_slice(&weights, (outputs, inputs), &Device::Cpu).expect("a tensor");
            let tensor = Tensor::from_slice(&bias, outputs, &Device::Cpu).expect("a tensor");
            let layer = QuantisedLinear::new(&weight, &tensor).expect("a layer");
            let results = layer.apply(&rows);
            assert_eq!(results.len(), count * outputs);
            for (row, results) in rows.chunks(inputs).zip(results.chunks(outputs)) {
                for ((weights, bias), result) in weights.chunks(inputs).zip(&bias).zip(results) {
                    let exact = row.iter().zip(weights).map(|(a, b)| a * b).sum::<f32>() + bias;
                    let tolerance = 0.01 * (inputs as f32).sqrt();
                    assert!((result - exact).abs() < tolerance, "{inputs} x {outputs}: {result} instead of {exact}");
                }
            }
        }
    }

    #[test]
    fn zeros_and_numbers_that_are_not_finite_cause_no_panic() {
        let weight = Tensor::zeros((3, 4), candle_core::DType::F32, &Device::Cpu).expect("a tensor");
        let bias = Tensor::from_slice(&[1.0_f32, 2.0, 3.0], 3, &Device::Cpu).expect("a tensor");
        let layer = QuantisedLinear::new(&weight, &bias).expect("a layer");
        assert_eq!(layer.apply(&[0.0; 4]), [1.0, 2.0, 3.0]);
        assert_eq!(layer.apply(&[f32::NAN, f32::INFINITY, 0.0, 1.0]).len(), 3);
    }
}
