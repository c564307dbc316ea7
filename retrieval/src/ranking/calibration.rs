//! The fitted map from features to a probability: logistic regression.
//!
//! What people said to each other, what a user and an assistant said, and documents have coefficients each, because the
//! features mean something else in each: a question is answered by the next turn of a chat, and by the document itself.
//! If the built-in model does not know the language of a query, further coefficients are added. There is one set
//! for what has no vector to compare: for all memories if the query has none, otherwise for those that wait for theirs.
//! The vectors of another model than the built-in table say more of documents, so these have coefficients of their own with
//! it; so have chats with an assistant with the built-in encoder.
//! `retrieval/fit/fit.py`, `fit_kinds.py` and `fit_reader.py` fit the coefficients to the output of
//! `cuebase eval --features`; `docs/evaluation.md` has the figures. Do not edit the coefficients by hand. A file with a
//! feature too few, too many or of another name does not compile.

use super::features::Features;
use super::groups::Contribution;
use crate::reranker::ReadScore;

/// An intercept, and the coefficient of each feature.
struct Model {
    intercept: f32,
    coefficients: Features,
}

/// For what people said to each other, and for what is not known.
static PEOPLE: Model = include!("coefficients/people.rs");
/// For what a user and an assistant said.
static ASSISTANT: Model = include!("coefficients/assistant.rs");
/// For documents: memories without session and speaker.
static DOCUMENT: Model = include!("coefficients/document.rs");
/// For documents, with the vectors of another model than the built-in table.
static ENCODER_DOCUMENT: Model = include!("coefficients/encoder_document.rs");
/// For what a user and an assistant said, with the vectors of the built-in encoder.
static ENCODER_ASSISTANT: Model = include!("coefficients/encoder_assistant.rs");
/// Added if the built-in table does not know the words of the query's script.
static OTHER_SCRIPT: Model = include!("coefficients/other_script.rs");
/// For all memories, if the query has no vector, and for a memory that waits for its vectors.
static WITHOUT_VECTOR: Model = include!("coefficients/without_vector.rs");

/// The logistic regression from the score before reading and the reader's output to the score after it.
struct ReaderModel {
    intercept: f64,
    /// The coefficient of the log-odds before reading.
    before: f64,
    /// The coefficient of the log-odds of the reader.
    reader: f64,
}

/// The regressions for each kind of memory.
struct ReaderModels {
    /// What people said to each other, and what is not known.
    people: ReaderModel,
    /// What a user and an assistant said.
    assistant: ReaderModel,
    /// The same, if it is so long that only parts were read.
    assistant_in_parts: ReaderModel,
    /// Documents.
    document: ReaderModel,
}

/// For memories that were read.
static READER: ReaderModels = include!("coefficients/reader.rs");

/// Returns the probability that a memory with these features answers the query, strictly between 0 and 1.
pub(crate) fn probability(features: &Features) -> f32 {
    let model = model_of(features);
    let mut log_odds = features.weighted_sum(&model.coefficients) + model.intercept;
    if adds_other_script(features) {
        log_odds += features.weighted_sum(&OTHER_SCRIPT.coefficients) + OTHER_SCRIPT.intercept;
    }
    1.0 / (1.0 + (-log_odds).exp())
}

/// Returns the log-odds before any evidence: where an explanation begins.
pub(crate) fn base_log_odds(features: &Features) -> f64 {
    let base = f64::from(model_of(features).intercept);
    if adds_other_script(features) { base + f64::from(OTHER_SCRIPT.intercept) } else { base }
}

/// Returns what each group of features adds to [`base_log_odds`]. The sum is the log-odds of [`probability`].
pub(crate) fn contributions(features: &Features) -> Vec<Contribution> {
    let mut contributions = features.contributions(&model_of(features).coefficients);
    if adds_other_script(features) {
        for (sum, further) in contributions.iter_mut().zip(features.contributions(&OTHER_SCRIPT.coefficients)) {
            sum.log_odds += further.log_odds;
        }
    }
    contributions
}

/// Returns the model of the kind of memory and of query that features describe.
fn model_of(features: &Features) -> &'static Model {
    if features.is_without_vector > 0.0 {
        return &WITHOUT_VECTOR;
    }
    // What the built-in encoder does not know is ranked as with the table.
    let is_known = features.is_other_script == 0.0;
    if features.is_document > 0.0 {
        if features.is_other_model > 0.0 && is_known { &ENCODER_DOCUMENT } else { &DOCUMENT }
    } else if features.is_assistant_chat > 0.0 {
        if features.is_encoder > 0.0 && is_known { &ENCODER_ASSISTANT } else { &ASSISTANT }
    } else {
        &PEOPLE
    }
}

fn adds_other_script(features: &Features) -> bool {
    features.is_other_script > 0.0 && features.is_without_vector == 0.0
}

/// Returns what the reading of a memory with these features adds to the log-odds of its score.
pub(crate) fn reading_contribution(features: &Features, read: ReadScore) -> f64 {
    let model = if features.is_document > 0.0 {
        &READER.document
    } else if features.is_assistant_chat == 0.0 {
        &READER.people
    } else if read.is_in_parts {
        &READER.assistant_in_parts
    } else {
        &READER.assistant
    };
    model.intercept + model.before * read.before + model.reader * read.reader - read.before
}

/// Returns the probability of log-odds.
pub(crate) fn probability_of(log_odds: f64) -> f32 {
    (1.0 / (1.0 + (-log_odds).exp())) as f32
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

    /// Returns features of each kind of memory and script. Every other feature has its coefficient as its value, so that
    /// none is zero.
    fn features_of_each_kind() -> Vec<Features> {
        let people = PEOPLE.coefficients;
        let mut all = Vec::new();
        for (is_document, is_assistant_chat) in [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0)] {
            for is_other_script in [0.0, 1.0] {
                all.push(Features { is_document, is_assistant_chat, is_other_script, is_other_model: 0.0, ..people });
            }
        }
        // With the encoder, documents and chats with an assistant in a known language have coefficients of their own.
        let encoder = Features { is_other_script: 0.0, is_other_model: 1.0, is_encoder: 1.0, ..people };
        for (is_document, is_assistant_chat) in [(1.0, 0.0), (0.0, 1.0)] {
            all.push(Features { is_document, is_assistant_chat, ..encoder });
        }
        all.push(Features { is_without_vector: 1.0, ..people });
        all
    }

    #[test]
    fn base_and_contributions_sum_to_the_log_odds_of_the_probability() {
        for features in features_of_each_kind() {
            // Small values, because the probability has only single precision.
            let features = Features { length: 0.1, query_best_cosine: 0.5, ..features };
            let contributions = contributions(&features);
            let sum = base_log_odds(&features) + contributions.iter().map(|part| part.log_odds).sum::<f64>();
            let single = probability(&features);
            assert!((1.0 / (1.0 + (-sum).exp()) - f64::from(single)).abs() < 1e-5, "{sum}, probability {single}");
            let groups: Vec<FeatureGroup> = contributions.iter().map(|part| part.group).collect();
            assert_eq!(groups, FeatureGroup::ALL);
        }
    }

    #[test]
    fn a_feature_counts_in_its_group_alone() {
        for features in features_of_each_kind() {
            let before = contributions(&features);
            let after = contributions(&Features { length: 0.0, asks: 0.0, ..features });
            for (before, after) in before.iter().zip(&after) {
                let is_form = before.group == FeatureGroup::Form;
                assert_eq!(after.log_odds != before.log_odds, is_form, "{}", before.group.name());
            }
        }
    }

    #[test]
    fn each_kind_of_memory_and_of_query_has_coefficients_of_its_own() {
        let all = features_of_each_kind();
        for (index, features) in all.iter().enumerate() {
            for other in &all[index + 1..] {
                assert_ne!(base_log_odds(features), base_log_odds(other));
            }
        }
    }

    #[test]
    fn log_odds_are_the_inverse_of_the_logistic_function_and_finite() {
        assert!((log_odds(0.9) - 9f64.ln()).abs() < 1e-6);
        assert!(log_odds(0.5).abs() < 1e-9);
        assert!(log_odds(0.0).is_finite() && log_odds(1.0).is_finite());
    }
}
