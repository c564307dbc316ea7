//! Activations, for several numbers at once.
//!
//! GELU is x Φ(x) with the normal distribution's Φ (Hendrycks and Gimpel, 2016), which needs erf. A function called for
//! each number takes a fifth of the time of a text. Here erf is a polynomial with an exponential (Abramowitz and Stegun,
//! 7.1.26; error below 1.5e-7), written so that the compiler emits vector instructions.

use pulp::{Arch, NullaryFnOnce};

use super::settings::Activation;

/// Replaces each number by its activation, with the widest vector instructions of the processor.
pub(super) fn activate(values: &mut [f32], activation: Activation) {
    Arch::new().dispatch(Activate { values, activation });
}

/// The arguments of [`activate`]. A closure would not be inlined into the code for the processor.
struct Activate<'a> {
    values: &'a mut [f32],
    activation: Activation,
}

impl NullaryFnOnce for Activate<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        match self.activation {
            Activation::Gelu => {
                for value in self.values {
                    *value = gelu(*value);
                }
            }
            Activation::GeluTanh => {
                for value in self.values {
                    *value = gelu_tanh(*value);
                }
            }
            Activation::Relu => {
                for value in self.values {
                    *value = value.max(0.0);
                }
            }
        }
    }
}

/// The approximation of GELU with tanh (Hendrycks and Gimpel, 2016).
fn gelu_tanh(x: f32) -> f32 {
    const FACTOR: f32 = 0.797_884_6; // √(2/π)
    0.5 * x * (1.0 + (FACTOR * (x + 0.044_715 * x * x * x)).tanh())
}

#[inline(always)]
fn gelu(x: f32) -> f32 {
    x * 0.5 * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

#[inline(always)]
fn erf(x: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let polynomial = t * (0.254_829_6 + t * (-0.284_496_72 + t * (1.421_413_8 + t * (-1.453_152 + t * 1.061_405_4))));
    (1.0 - polynomial * exp_of_negative(-x * x)).copysign(x)
}

/// Rounds a number of at most 2²² to a whole one when it is added: the unit of the sum's last bit is 1, so its last bits
/// are the whole number. Unlike a conversion to an integer, this is one vector instruction.
pub(super) const ROUNDING: f32 = 12_582_912.0;

/// Returns e^x for x at most zero, to seven digits: 2 to the power of the nearest whole number to x log₂ e, built from the
/// bits of a float, times a polynomial of the rest.
#[inline(always)]
pub(super) fn exp_of_negative(x: f32) -> f32 {
    let scaled = (x * std::f32::consts::LOG2_E).max(-126.0);
    let rounded = scaled + ROUNDING;
    let whole = rounded.to_bits().wrapping_sub(ROUNDING.to_bits());
    let rest = (scaled - (rounded - ROUNDING)) * std::f32::consts::LN_2;
    let series = 1.0
        + rest
            * (1.0
                + rest
                    * (0.5
                        + rest
                            * (1.0 / 6.0
                                + rest
                                    * (1.0 / 24.0
                                        + rest * (1.0 / 120.0 + rest * (1.0 / 720.0 + rest * (1.0 / 5040.0)))))));
    f32::from_bits(whole.wrapping_add(127) << 23) * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_definition() {
        // Φ by its integral, in small steps.
        let phi = |x: f64| {
            let steps = 20_000;
            let width = (x + 10.0) / f64::from(steps);
            let density = |at: f64| (-at * at / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
            (0..steps).map(|n| density(-10.0 + (f64::from(n) + 0.5) * width) * width).sum::<f64>()
        };
        for step in -80..=80 {
            let x = f64::from(step) / 10.0;
            let mut value = [x as f32];
            activate(&mut value, Activation::Gelu);
            assert!((f64::from(value[0]) - x * phi(x)).abs() < 3e-6, "{x}: {} {}", value[0], x * phi(x));
            let mut approximated = [x as f32];
            activate(&mut approximated, Activation::GeluTanh);
            assert!((approximated[0] - value[0]).abs() < 1e-3, "{x}: {} {}", approximated[0], value[0]);
        }
        let mut extremes = [1e30, -1e30, 0.0, f32::MAX];
        activate(&mut extremes, Activation::Gelu);
        assert_eq!(extremes, [1e30, 0.0, 0.0, f32::MAX]);
        let mut signs = [-2.0, 3.0];
        activate(&mut signs, Activation::Relu);
        assert_eq!(signs, [0.0, 3.0]);
    }
}
