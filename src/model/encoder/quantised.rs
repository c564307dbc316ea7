//! A linear layer in 8 bits.
//!
//! Each output has its own scale, which maps its weights to -127..=127, and each row of a text has one. The product of
//! the integers is exact; only rounding to 8 bits changes the result. A layer is a quarter as large as in single
//! precision, and a text of a few words takes as long as reading the weights.

use ndarray::Array2;
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
    /// Returns a layer from its weights, `inputs` numbers for each output, and its bias, a number for each output.
    pub(super) fn new(inputs: usize, weights: &[f32], bias: Vec<f32>) -> Self {
        let steps = inputs.div_ceil(INPUTS);
        let mut panels = vec![vec![Step([OFFSET as u8; INPUTS * OUTPUTS]); steps]; bias.len().div_ceil(OUTPUTS)];
        let mut scales = Vec::with_capacity(bias.len());
        for (output, row) in weights.chunks_exact(inputs).enumerate() {
            let scale = Scale::of(row);
            let panel = &mut panels[output / OUTPUTS];
            for (input, weight) in row.iter().enumerate() {
                let weight = i32::from(scale.quantise(*weight)) + OFFSET;
                panel[input / INPUTS].0[INPUTS * (output % OUTPUTS) + input % INPUTS] = weight as u8;
            }
            scales.push(scale.unit);
        }
        Self { inputs, panels, scales, bias }
    }

    /// Maps rows × inputs to rows × outputs.
    pub(super) fn of(&self, rows: &Array2<f32>) -> Array2<f32> {
        let mut results = Array2::zeros((rows.nrows(), self.bias.len()));
        if let (Some(rows), Some(results)) = (rows.as_slice(), results.as_slice_mut()) {
            self.apply(rows, results);
        }
        results
    }

    /// As [`Self::of`], with the rows of both matrices one after the other.
    fn apply(&self, rows: &[f32], results: &mut [f32]) {
        let arch = Arch::new();
        let rows = arch.dispatch(|| QuantisedRows::new(rows, self.inputs));
        let mut sums = vec![Sums::default(); rows.scales.len()];
        for (number, panel) in self.panels.iter().enumerate() {
            multiply(&rows.values, panel, &mut sums);
            arch.dispatch(|| self.write_results(number, &rows, &sums, results));
        }
    }

    /// Writes the results of one panel from the sums of all rows.
    #[inline(always)]
    fn write_results(&self, panel: usize, rows: &QuantisedRows, sums: &[Sums], results: &mut [f32]) {
        let outputs = self.bias.len();
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
    use super::*;

    fn matrix(rows: usize, columns: usize, numbers: Vec<f32>) -> Array2<f32> {
        Array2::from_shape_vec((rows, columns), numbers).expect("a matrix")
    }

    /// Returns numbers between -1 and 1 that look random.
    fn numbers(count: usize, seed: u64) -> Vec<f32> {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..count).map(|_| 2.0 * random.f32() - 1.0).collect()
    }

    #[test]
    fn a_layer_of_any_shape_is_near_the_exact_product() {
        for (count, inputs, outputs) in [(1, 16, 16), (3, 5, 7), (20, 30, 33), (9, 384, 48)] {
            let (rows, weights, bias) = (numbers(count * inputs, 1), numbers(inputs * outputs, 2), numbers(outputs, 3));
            let layer = QuantisedLinear::new(inputs, &weights, bias.clone());
            let results = layer.of(&matrix(count, inputs, rows.clone()));
            assert_eq!(results.dim(), (count, outputs));
            for (row, results) in rows.chunks(inputs).zip(results.rows()) {
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
        let layer = QuantisedLinear::new(4, &[0.0; 12], vec![1.0, 2.0, 3.0]);
        assert_eq!(layer.of(&matrix(1, 4, vec![0.0; 4])), matrix(1, 3, vec![1.0, 2.0, 3.0]));
        assert_eq!(layer.of(&matrix(1, 4, vec![f32::NAN, f32::INFINITY, 0.0, 1.0])).dim(), (1, 3));
    }
}
