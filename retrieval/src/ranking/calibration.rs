//! The fitted map from features to a probability: logistic regression.
//!
//! `retrieval/fit/fit.py` fits the coefficients to the output of `cuebase eval --features`; `docs/evaluation.md` has
//! the figures. Do not edit the coefficients by hand.

use super::features::Features;

include!("coefficients.rs");

/// Returns the probability that a memory with these features answers the query, strictly between 0 and 1.
pub(crate) fn probability(features: &Features) -> f32 {
    let weighted: f32 = features.iter().zip(&COEFFICIENTS).map(|(feature, weight)| feature * weight).sum();
    1.0 / (1.0 + (-(weighted + INTERCEPT)).exp())
}
