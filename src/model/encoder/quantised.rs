//! A linear layer in 8 bits.
//!
//! Each output has its own scale, which maps its weights to -127..=127. Each row of a text has a scale and a lowest number,
//! which map its numbers to 0..=127. The product of the integers is exact; only rounding changes the result. A layer is
//! a quarter as large as in single precision, and a text of a few words takes as long as reading the weights.

use pulp::{Arch, NullaryFnOnce};

use super::activation::ROUNDING;
use super::lanes::lowest_and_highest;
use super::product::{INPUTS, OUTPUTS, Sink, Step, Sums, VALUE_MAX, Values, WEIGHT_MIN, multiply};

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

    /// Returns the number of outputs.
    pub(super) fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// Maps rows × inputs to rows × outputs, one row after the other.
    pub(super) fn apply(&self, rows: &[f32], results: &mut [f32]) {
        let rows = Arch::new().dispatch(Quantisation { rows, inputs: self.inputs });
        let outputs = self.bias.len();
        for (number, panel) in self.panels.iter().enumerate() {
            let first = number * OUTPUTS;
            let end = outputs.min(first + OUTPUTS);
            let mut writer = ResultWriter {
                ranges: &rows.ranges,
                scales: &self.scales[first..end],
                sums: &self.sums[first..end],
                bias: &self.bias[first..end],
                outputs,
                results: &mut results[first..],
            };
            multiply(&rows.values, panel, rows.ranges.len(), &mut writer);
        }
    }
}

/// Turns the sums of a panel into numbers.
struct ResultWriter<'a> {
    /// The range of each row.
    ranges: &'a [Range],
    // Of the outputs of the panel.
    scales: &'a [f32],
    sums: &'a [f32],
    bias: &'a [f32],
    /// The number of outputs of the layer: results between one row and the next.
    outputs: usize,
    /// The results, from the first output of the panel on.
    results: &'a mut [f32],
}

impl Sink for ResultWriter<'_> {
    #[inline(always)]
    fn take(&mut self, row: usize, sums: &Sums) {
        let range = self.ranges[row];
        let results = &mut self.results[row * self.outputs..];
        if let (Some(results), Some(scales), Some(of_ones), Some(bias)) = (
            results.first_chunk_mut::<OUTPUTS>(),
            self.scales.first_chunk::<OUTPUTS>(),
            self.sums.first_chunk::<OUTPUTS>(),
            self.bias.first_chunk::<OUTPUTS>(),
        ) {
            // Of known length and in an array of its own, so that the compiler emits vector instructions.
            let mut numbers = [0.0; OUTPUTS];
            for output in 0..OUTPUTS {
                numbers[output] = sums[output] as f32 * (range.unit * scales[output])
                    + (range.lowest * of_ones[output] + bias[output]);
            }
            *results = numbers;
            return;
        }
        for (output, bias) in self.bias.iter().enumerate() {
            results[output] =
                sums[output] as f32 * (range.unit * self.scales[output]) + (range.lowest * self.sums[output] + bias);
        }
    }
}

/// Rows that are to be mapped to integers. A closure would not be inlined into the code for the processor.
struct Quantisation<'a> {
    rows: &'a [f32],
    inputs: usize,
}

impl NullaryFnOnce for Quantisation<'_> {
    type Output = QuantisedRows;

    #[inline(always)]
    fn call(self) -> QuantisedRows {
        let Self { rows, inputs } = self;
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
        QuantisedRows { values, ranges }
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
    /// Returns the range that maps the lowest of some finite numbers to zero, and the highest to [`VALUE_MAX`].
    #[inline(always)]
    fn of(numbers: &[f32]) -> Self {
        let (lowest, highest) = lowest_and_highest(numbers);
        let width = highest - lowest;
        if width > SMALLEST {
            Self { lowest, unit: width / f32::from(VALUE_MAX), inverse: f32::from(VALUE_MAX) / width }
        } else {
            Self { lowest: if lowest.is_finite() { lowest } else { 0.0 }, unit: 0.0, inverse: 0.0 }
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

    /// Returns the results of a layer for some rows.
    fn results_of(layer: &QuantisedLinear, rows: &[f32]) -> Vec<f32> {
        let mut results = vec![f32::NAN; rows.len() / layer.inputs * layer.outputs()];
        layer.apply(rows, &mut results);
        results
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
            let results = results_of(&layer, &rows);
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
        let layer = QuantisedLinear::new(4, QuantisedWeights::of(4, &[0.0; 12]), vec![1.0, 2.0, 3.0]);
        assert_eq!(results_of(&layer, &[0.0; 4]), [1.0, 2.0, 3.0]);
        assert_eq!(results_of(&layer, &[7.0; 4]), [1.0, 2.0, 3.0]);
        assert_eq!(results_of(&layer, &[f32::NAN, f32::INFINITY, 0.0, 1.0]).len(), 3);
    }
}
