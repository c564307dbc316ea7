//! Admission: whether nothing is admitted for a question that nothing answers, and the evidence for one with an answer.

use cuebase_language::relevance::Admission;

use super::admitted::{Mean, SearchedQuery, precision};
use super::changes::Share;

/// The figures of one level of admission.
#[derive(Clone, Copy, Debug, Default)]
pub struct LevelFigures {
    /// Questions without an answer for which nothing is admitted.
    pub empty: Share,
    /// Questions with an answer for which some evidence is admitted.
    pub found: Share,
    /// Share of evidence among the admitted hits of a question with an answer, if there are any.
    pub precision: Mean,
}

/// The figures of all dialogues.
#[derive(Default)]
pub struct Figures {
    /// In the order of [`Admission::LEVELS`].
    levels: [LevelFigures; Admission::LEVELS.len()],
    /// What [`Admission::Balanced`] gets wrong, one line each.
    pub misses: Vec<String>,
}

impl Figures {
    /// Returns the figures with their names.
    pub fn report(&self) -> Vec<(String, f64)> {
        let mut report = Vec::new();
        for (level, figures) in Admission::LEVELS.iter().zip(&self.levels) {
            let name = level.name();
            report.push((format!("{name}: nothing admitted without an answer"), figures.empty.value()));
            report.push((format!("{name}: evidence admitted with an answer"), figures.found.value()));
            report.push((format!("{name}: precision of what is admitted"), figures.precision.value()));
        }
        if let Some(first) = self.levels.first() {
            report.push(("questions without an answer".to_owned(), first.empty.of as f64));
            report.push(("questions with an answer".to_owned(), first.found.of as f64));
        }
        report
    }

    /// Adds a query that was searched.
    pub(super) fn add(&mut self, query: &SearchedQuery<'_>) {
        let is_answerable = query.asked.iter().any(|ids| !ids.is_empty());
        for (level, figures) in Admission::LEVELS.iter().zip(&mut self.levels) {
            let admitted = query.admitted(*level);
            let has_evidence = admitted.iter().any(|hit| !hit.answers.is_empty());
            if is_answerable {
                figures.found.add(has_evidence);
                if !admitted.is_empty() {
                    figures.precision.add(precision(&admitted));
                }
            } else {
                figures.empty.add(admitted.is_empty());
            }
            let is_right = if is_answerable { has_evidence } else { admitted.is_empty() };
            if *level == Admission::Balanced && !is_right {
                self.misses.push(described(query, is_answerable));
            }
        }
    }
}

fn described(query: &SearchedQuery<'_>, is_answerable: bool) -> String {
    let SearchedQuery { dialogue, text, .. } = query;
    let best = query.best_score();
    if !is_answerable {
        return format!("{dialogue}: admitted without an answer, best score {best:.3}: {text:?}");
    }
    let evidence = query.best_score_of(0);
    format!("{dialogue}: no evidence admitted, its best score {evidence:.3} of {best:.3}: {text:?}")
}
