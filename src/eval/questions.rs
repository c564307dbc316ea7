//! Questions with labels of what answers them: where that ranks, and whether it is admitted.
//!
//! [`open_space`](super::open_space) asks them.

use cuebase_retrieval::Hit;
use serde::Deserialize;

use super::admission;
use super::admitted::Mean;
use super::calibration::{BestScores, area_under_curve, calibration_error};
use super::misses::Misses;
use super::ranks::{LIMIT, RankFigures, RankedHit};
use super::suite::{LabelledDocument, Session, Units};

/// The texts of a namespace, with questions of which some may have no answer.
#[derive(Debug, Deserialize)]
pub struct Space {
    /// The id in the file.
    pub id: String,
    /// The kind of its texts: the sample in the features file. By default the id.
    #[serde(default)]
    pub kind: String,
    /// Sessions, in the order in which they are sent.
    #[serde(default)]
    pub sessions: Vec<Session>,
    /// Documents.
    #[serde(default)]
    pub documents: Vec<LabelledDocument>,
    /// The questions.
    pub questions: Vec<Question>,
}

/// A question.
#[derive(Debug, Deserialize)]
pub struct Question {
    /// The words of the question.
    pub q: String,
    /// Ids of the messages or documents that answer it. Empty if nothing does.
    pub evidence: Vec<String>,
    /// Path of the document that is the question itself. It does not count as a hit.
    #[serde(skip)]
    pub own_path: Option<String>,
}

/// The figures of some namespaces.
#[derive(Default)]
pub struct Figures {
    /// The ranking.
    pub ranked: RankFigures,
    /// What the lexical arm alone would have found.
    pub by_words: RankFigures,
    /// What the cue arm alone would have found.
    pub by_cues: RankFigures,
    /// Score and relevance of the first hits of questions with an answer.
    pub scored: Vec<(f32, bool)>,
    /// The best score of a question with an answer, and of one without.
    best_of_answerable: Mean,
    best_of_unanswerable: Mean,
    best: BestScores,
    /// What is admitted.
    pub admission: admission::Figures,
    /// The questions whose first hit does not answer.
    pub misses: Misses,
}

impl Figures {
    /// Returns the figures with their names.
    pub fn report(&self) -> Vec<(String, f64)> {
        let mut report = Vec::new();
        let arms = [("", &self.ranked), (", words alone", &self.by_words), (", cues alone", &self.by_cues)];
        for (arm, figures) in arms {
            for (name, value) in figures.report() {
                report.push((format!("{name}{arm}"), value));
            }
        }
        report.push(("auc".to_owned(), area_under_curve(&self.scored)));
        report.push(("ece".to_owned(), calibration_error(&self.scored)));
        report.extend(self.best.report());
        report.push(("best score with an answer".to_owned(), self.best_of_answerable.value()));
        report.push(("best score without an answer".to_owned(), self.best_of_unanswerable.value()));
        report.extend(self.admission.report());
        report
    }

    /// Adds a question with its candidates, best first.
    pub(super) fn add(&mut self, question: &Question, hits: &[Hit], units: &Units) {
        let best_score = hits.first().map_or(0.0, |hit| hit.score);
        if question.evidence.is_empty() {
            self.best_of_unanswerable.add(f64::from(best_score));
            self.best.add_unanswerable(best_score);
            return;
        }
        self.best_of_answerable.add(f64::from(best_score));
        let ranked = ranked(hits, units);
        for (hit, found) in hits.iter().zip(&ranked).take(LIMIT) {
            let is_relevant = question.evidence.iter().any(|id| found.units.contains(&id.as_str()));
            self.scored.push((hit.score, is_relevant));
        }
        if let Some(first) = ranked.first() {
            let is_right = question.evidence.iter().any(|id| first.units.contains(&id.as_str()));
            self.best.add_answerable(best_score, is_right);
        }
        let mut by_words: Vec<(f32, &RankedHit<'_>)> = Vec::new();
        let mut by_cues: Vec<(f32, &RankedHit<'_>)> = Vec::new();
        for (hit, found) in hits.iter().zip(&ranked) {
            by_words.push((hit.features.lexical_rank, found));
            by_cues.push((hit.features.cue_rank, found));
        }
        self.ranked.add(&ranked.iter().collect::<Vec<_>>(), &question.evidence);
        self.by_words.add(&found_by_arm(by_words), &question.evidence);
        self.by_cues.add(&found_by_arm(by_cues), &question.evidence);
    }
}

/// Returns the hits that an arm found, best first. The number of each is one divided by its rank in the arm, and zero if
/// the arm did not find it.
fn found_by_arm<'a, 'u>(mut hits: Vec<(f32, &'a RankedHit<'u>)>) -> Vec<&'a RankedHit<'u>> {
    hits.retain(|(rank, _)| *rank > 0.0);
    hits.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    hits.into_iter().map(|(_, hit)| hit).collect()
}

fn ranked<'u>(hits: &[Hit], units: &'u Units) -> Vec<RankedHit<'u>> {
    let mut ranked = Vec::with_capacity(hits.len());
    for hit in hits {
        let words = hit.memory.content.split_whitespace().count();
        ranked.push(RankedHit { words, units: units.of_hit(hit) });
    }
    ranked
}
