//! The fitted map from features to a probability: logistic regression.
//!
//! `retrieval/fit/fit.py` fits the coefficients to the output of `cuebase eval --features`; `docs/evaluation.md` has
//! the figures. Do not edit the coefficients by hand. A file with a feature too few, too many or of another name does
//! not compile.

use super::features::Features;
use super::groups::Contribution;

include!("coefficients.rs");

/// Returns the probability that a memory with these features answers the query, strictly between 0 and 1.
pub(crate) fn probability(features: &Features) -> f32 {
    1.0 / (1.0 + (-(features.weighted_sum(&COEFFICIENTS) + INTERCEPT)).exp())
}

/// Returns the log-odds of a memory whose features are all zero: where an explanation begins.
pub(crate) fn base_log_odds() -> f64 {
    f64::from(INTERCEPT)
}

/// Returns what each group of features adds to [`base_log_odds`]. The sum is the log-odds of [`probability`].
pub(crate) fn contributions(features: &Features) -> Vec<Contribution> {
    features.contributions(&COEFFICIENTS)
}

/// Returns the log-odds of a probability; finite for zero and one.
pub(crate) fn log_odds(probability: f32) -> f64 {
    let probability = f64::from(probability).clamp(f64::from(f32::MIN_POSITIVE), 1.0 - f64::EPSILON);
    (probability / (1.0 - probability)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::groups::FeatureGroup;

    #[test]
    fn base_and_contributions_are_the_weighted_sum() {
        // Every feature has its coefficient as its value, so that none is zero.
        let contributions = contributions(&COEFFICIENTS);
        let sum = base_log_odds() + contributions.iter().map(|part| part.log_odds).sum::<f64>();
        let single = f64::from(COEFFICIENTS.weighted_sum(&COEFFICIENTS) + INTERCEPT);
        assert!((sum - single).abs() < 1e-3, "{sum}, in single precision {single}");
        let groups: Vec<FeatureGroup> = contributions.iter().map(|part| part.group).collect();
        assert_eq!(groups, FeatureGroup::ALL);
    }

    #[test]
    fn a_feature_counts_in_its_group_alone() {
        let before = contributions(&COEFFICIENTS);
        let after = contributions(&Features { length: 0.0, asks: 0.0, ..COEFFICIENTS });
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(
                after.log_odds != before.log_odds,
                before.group == FeatureGroup::Form,
                "{}",
                before.group.name()
            );
        }
    }

    #[test]
    fn log_odds_are_the_inverse_of_the_logistic_function_and_finite() {
        assert!((log_odds(0.9) - 9f64.ln()).abs() < 1e-6);
        assert!(log_odds(0.5).abs() < 1e-9);
        assert!(log_odds(0.0).is_finite() && log_odds(1.0).is_finite());
    }
}
