//! The fitted map from features to a probability: logistic regression.
//!
//! The coefficients are made by `retrieval/fit/fit.py` from what `cuebase eval --features` writes; its figures are in
//! `docs/evaluation.md`. Do not edit them by hand.

use super::features::Features;

include!("coefficients.rs");

/// The probability that a memory with these features answers the query, strictly between 0 and 1.
pub(crate) fn probability(features: &Features) -> f32 {
    let weighted: f32 = features.iter().zip(&COEFFICIENTS).map(|(feature, weight)| feature * weight).sum();
    1.0 / (1.0 + (-(weighted + INTERCEPT)).exp())
}
