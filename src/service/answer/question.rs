//! The content words of a question, and how many of them a text contains.

use std::collections::{BTreeSet, HashMap};

use cuebase_language::tokenize::content_terms;

/// The content words of a question, each with the number of times that it occurs. The words of its synonyms count too.
pub(super) struct QuestionTerms<'a> {
    weights: HashMap<&'a str, usize>,
    total: usize,
}

/// The words of a question that a text contains.
pub(super) type MatchedTerms<'a> = BTreeSet<&'a str>;

impl<'a> QuestionTerms<'a> {
    pub(super) fn of(terms: &'a [String]) -> Self {
        let mut weights = HashMap::new();
        for term in terms {
            *weights.entry(term.as_str()).or_insert(0) += 1;
        }
        Self { weights, total: terms.len().max(1) }
    }

    /// Returns the question's words that a text contains; `None` when the text has no content word at all.
    pub(super) fn matched(&self, text: &str) -> Option<MatchedTerms<'a>> {
        let words = content_terms(text);
        if words.is_empty() {
            return None;
        }
        let mut matched = MatchedTerms::new();
        for word in &words {
            if let Some((term, _)) = self.weights.get_key_value(word.as_str()) {
                matched.insert(*term);
            }
        }
        Some(matched)
    }

    /// Returns which share of the question some of its words make up, from 0 to 1.
    pub(super) fn share(&self, matched: &MatchedTerms<'a>) -> f32 {
        let mut weight = 0;
        for term in matched {
            weight += self.weights.get(term).copied().unwrap_or(0);
        }
        weight as f32 / self.total as f32
    }

    /// Returns the indexes of the texts that answer best: those that contain the largest share of the question, and
    /// those that contain a word which none of the former does. Empty when no text contains any word.
    pub(super) fn best_of(&self, texts: &[&str]) -> Vec<usize> {
        let mut matched_by_text = Vec::with_capacity(texts.len());
        let mut share_max = 0.0_f32;
        for text in texts {
            let matched = self.matched(text).unwrap_or_default();
            share_max = share_max.max(self.share(&matched));
            matched_by_text.push(matched);
        }
        if share_max == 0.0 {
            return Vec::new();
        }
        let mut best = BTreeSet::new();
        let mut covered = MatchedTerms::new();
        for (index, matched) in matched_by_text.iter().enumerate() {
            if self.share(matched) >= share_max {
                best.insert(index);
                covered.extend(matched);
            }
        }
        for (index, matched) in matched_by_text.iter().enumerate() {
            if !matched.is_subset(&covered) {
                best.insert(index);
            }
        }
        best.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_texts_hold_most_of_the_question_or_a_word_of_their_own() {
        let terms = content_terms("renewal date and owner");
        let question = QuestionTerms::of(&terms);
        assert_eq!(question.best_of(&["renewal date", "renewal", "owner", "price", ""]), [0, 2]);
        assert!(question.best_of(&["price", ""]).is_empty());
        assert_eq!(question.matched("of the"), None);
        let half = question.matched("the renewal").expect("a word");
        assert!((question.share(&half) - 1.0 / 3.0).abs() < 1e-6);
    }
}
