//! The fitted map from features to a probability: logistic regression.
//!
//! `retrieval/fit/fit.py` fits the coefficients to the output of `cuebase eval --features`; `docs/evaluation.md` has
//! the figures. Do not edit the coefficients by hand. A file with a feature too few, too many or of another name does
//! not compile.

use super::features::Features;

include!("coefficients.rs");

/// Returns the probability that a memory with these features answers the query, strictly between 0 and 1.
pub(crate) fn probability(features: &Features) -> f32 {
    1.0 / (1.0 + (-(features.weighted_sum(&COEFFICIENTS) + INTERCEPT)).exp())
}
