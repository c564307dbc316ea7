//! The telling words of a question, and which of them a text holds.

use std::collections::{BTreeSet, HashMap};

use cuebase_retrieval::content_terms;

/// A question's telling words. Those of its synonyms count as well, and a repeated one counts again.
pub(super) struct Question<'a> {
    weights: HashMap<&'a str, usize>,
    total: usize,
}

/// The telling words of a question that a text holds.
pub(super) type Held<'a> = BTreeSet<&'a str>;

impl<'a> Question<'a> {
    pub(super) fn of(terms: &'a [String]) -> Self {
        let mut weights = HashMap::new();
        for term in terms {
            *weights.entry(term.as_str()).or_insert(0) += 1;
        }
        Self { weights, total: terms.len().max(1) }
    }

    /// Returns the words that a text holds; none where the text has no telling word at all.
    pub(super) fn held(&self, text: &str) -> Option<Held<'a>> {
        let words = content_terms(text);
        if words.is_empty() {
            return None;
        }
        let mut held = Held::new();
        for word in &words {
            if let Some((term, _)) = self.weights.get_key_value(word.as_str()) {
                held.insert(*term);
            }
        }
        Some(held)
    }

    /// Returns the share of the question that some of its words are, from 0 to 1.
    pub(super) fn share(&self, held: &Held<'a>) -> f32 {
        let mut weight = 0;
        for term in held {
            weight += self.weights.get(term).copied().unwrap_or_default();
        }
        weight as f32 / self.total as f32
    }

    /// Returns which of some texts answer best: those that hold most of the question, and those that hold a word that
    /// none of these does. Nothing where no text holds any.
    pub(super) fn best_of(&self, texts: &[&str]) -> Vec<usize> {
        let mut all_held = Vec::with_capacity(texts.len());
        let mut share_max = 0.0_f32;
        for text in texts {
            let held = self.held(text).unwrap_or_default();
            share_max = share_max.max(self.share(&held));
            all_held.push(held);
        }
        if share_max == 0.0 {
            return Vec::new();
        }
        let mut best = BTreeSet::new();
        let mut covered = Held::new();
        for (at, held) in all_held.iter().enumerate() {
            if self.share(held) >= share_max {
                best.insert(at);
                covered.extend(held);
            }
        }
        for (at, held) in all_held.iter().enumerate() {
            if !held.is_subset(&covered) {
                best.insert(at);
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
        let question = Question::of(&terms);
        assert_eq!(question.best_of(&["renewal date", "renewal", "owner", "price", ""]), [0, 2]);
        assert!(question.best_of(&["price", ""]).is_empty());
        assert_eq!(question.held("of the"), None);
        let half = question.held("the renewal").expect("a word");
        assert!((question.share(&half) - 1.0 / 3.0).abs() < 1e-6);
    }
}
