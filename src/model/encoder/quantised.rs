//! A linear layer in 8 bits.
//!
//! Each output has its own scale, which maps its weights to -127..=127. Each row of a text has a scale and a lowest number,
//! which map its numbers to 0..=127. The product of the integers is exact; only rounding changes the result. A layer is
//! a quarter as large as in single precision, and a text of a few words takes as long as reading the weights.

use ndarray::Array2;
use pulp::Arch;

use super::activation::ROUNDING;
use super::product::{INPUTS, OUTPUTS, Step, Sums, VALUE_MAX, Values, WEIGHT_MIN, multiply};

/// The largest integer of a weight.
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
    /// The sum of each output's weights: what is added for a row whose numbers are all 1.
    sums: Vec<f32>,
    bias: Vec<f32>,
}

/// Weights as integers, those of one output after those of another, with the scale of each output.
pub(super) struct QuantisedWeights {
    /// Each from -127 to 127.
    pub(super) values: Vec<i8>,
    pub(super) scales: Vec<f32>,
}

impl QuantisedWeights {
    /// Rounds weights, `inputs` numbers for each output.
    pub(super) fn of(inputs: usize, weights: &[f32]) -> Self {
        let mut quantised = Self { values: Vec::with_capacity(weights.len()), scales: Vec::new() };
        for row in weights.chunks_exact(inputs) {
            let mut largest = 0.0_f32;
            for weight in row {
                largest = largest.max(weight.abs());
            }
            let inverse = if largest > SMALLEST { LARGEST / largest } else { 0.0 };
            quantised.values.extend(row.iter().map(|weight| rounded(weight * inverse) as i8));
            quantised.scales.push(if largest > SMALLEST { largest / LARGEST } else { 0.0 });
        }
        quantised
    }
}

/// Rows of a text as integers.
struct QuantisedRows {
    /// The rows one after the other, filled with zeros to a whole number of steps.
    values: Vec<Values>,
    ranges: Vec<Range>,
}

impl QuantisedLinear {
    /// Returns a layer from its weights, `inputs` numbers for each output, and its bias, a number for each output.
    pub(super) fn new(inputs: usize, weights: QuantisedWeights, bias: Vec<f32>) -> Self {
        let QuantisedWeights { values, scales } = weights;
        let steps = inputs.div_ceil(INPUTS);
        let mut panels = vec![vec![Step([0; INPUTS * OUTPUTS]); steps]; bias.len().div_ceil(OUTPUTS)];
        let mut sums = Vec::with_capacity(bias.len());
        for ((output, row), scale) in values.chunks_exact(inputs).enumerate().zip(&scales) {
            let panel = &mut panels[output / OUTPUTS];
            let mut sum = 0;
            for (input, weight) in row.iter().enumerate() {
                let weight = (*weight).max(WEIGHT_MIN);
                panel[input / INPUTS].0[INPUTS * (output % OUTPUTS) + input % INPUTS] = weight;
                sum += i32::from(weight);
            }
            sums.push(sum as f32 * scale);
        }
        Self { inputs, panels, scales, sums, bias }
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
        let mut sums = vec![Sums::default(); rows.ranges.len()];
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
        let of_ones = &self.sums[first..end];
        for ((row, sums), range) in sums.iter().enumerate().zip(&rows.ranges) {
            let results = &mut results[row * outputs + first..row * outputs + end];
            for ((((result, sum), scale), of_ones), bias) in
                results.iter_mut().zip(sums).zip(scales).zip(of_ones).zip(bias)
            {
                *result = *sum as f32 * (range.unit * scale) + (range.lowest * of_ones + bias);
            }
        }
    }
}

impl QuantisedRows {
    #[inline(always)]
    fn new(rows: &[f32], inputs: usize) -> Self {
        let (count, steps) = (rows.len() / inputs, inputs.div_ceil(INPUTS));
        let mut values = vec![Values::default(); count * steps];
        let mut ranges = Vec::with_capacity(count);
        for (row, values) in rows.chunks_exact(inputs).zip(values.chunks_exact_mut(steps)) {
            let range = Range::of(row);
            for (value, number) in values.as_flattened_mut().iter_mut().zip(row) {
                *value = rounded((number - range.lowest) * range.inverse) as u8 & VALUE_MAX;
            }
            ranges.push(range);
        }
        Self { values, ranges }
    }
}

/// How the numbers of a row are mapped to integers.
#[derive(Clone, Copy)]
struct Range {
    /// The number that the integer 0 stands for.
    lowest: f32,
    /// What the next integer stands for beyond it.
    unit: f32,
    /// The inverse of that; zero if all numbers are equal.
    inverse: f32,
}

impl Range {
    /// Returns the range that maps the lowest of some numbers to zero, and the highest to [`VALUE_MAX`].
    #[inline(always)]
    fn of(numbers: &[f32]) -> Self {
        let (mut lowest, mut highest) = (f32::INFINITY, f32::NEG_INFINITY);
        for number in numbers {
            lowest = lowest.min(*number);
            highest = highest.max(*number);
        }
        let width = highest - lowest;
        if width > SMALLEST {
            Self { lowest, unit: width / f32::from(VALUE_MAX), inverse: f32::from(VALUE_MAX) / width }
        } else {
            Self { lowest, unit: 0.0, inverse: 0.0 }
        }
    }
}

/// Rounds a number to a whole one, of which the last bits are returned. Of a number that is not finite they mean nothing.
#[inline(always)]
fn rounded(number: f32) -> u32 {
    (number + ROUNDING).to_bits()
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
            let layer = QuantisedLinear::new(inputs, QuantisedWeights::of(inputs, &weights), bias.clone());
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
        let layer = QuantisedLinear::new(4, QuantisedWeights::of(4, &[0.0; 12]), vec![1.0, 2.0, 3.0]);
        assert_eq!(layer.of(&matrix(1, 4, vec![0.0; 4])), matrix(1, 3, vec![1.0, 2.0, 3.0]));
        assert_eq!(layer.of(&matrix(1, 4, vec![f32::NAN, f32::INFINITY, 0.0, 1.0])).dim(), (1, 3));
    }
}
