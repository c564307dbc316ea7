//! Ingests a sample into an index, asks the sample's questions, and computes the figures.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;

use cuebase_retrieval::Hit;

use super::calibration::{BestScores, area_under_curve, calibration_error};
use super::features::{self, FeaturePlace};
use super::locomo::{Question, Sample, UNANSWERABLE};
use super::misses::{ExpectedMemory, Miss, Misses, first_hits, shortened};
use super::namespace::{Asking, Setup, ask, ingest};

/// Word budgets within which recall is reported.
pub const BUDGETS: [usize; 3] = [1000, 2000, 4000];
/// The default number of hits, within which recall, MRR and calibration are reported.
const LIMIT: usize = 24;
/// Hits that are retrieved for the word budgets.
const HITS_MAX: usize = 200;
/// A turn counts as found when one hit contains this share of the turn's content words.
const THRESHOLD: f64 = 0.8;

const STOP: &str = "a an the and or but if of at by for with about to from in on off out up down is are was were be been \
    being am i'm you're it's that's do does did have has had i me my we our you your he him his she her it its they them \
    their this that these those so as not no yes hey hi oh wow just too very can will would could should what which who \
    when where why how there here than then really like get got";

/// The figures of one question.
pub struct QuestionResult {
    /// The question's category.
    pub category: u64,
    /// One divided by the rank of the first relevant hit within the default limit.
    pub reciprocal_rank: f64,
    /// Share of the evidence found within the default limit.
    pub within_limit: f64,
    /// Share of the evidence found within each of [`BUDGETS`].
    pub within_words: [f64; 3],
    /// Words per hit.
    pub words: f64,
}

/// The figures of all questions.
#[derive(Default)]
pub struct Figures {
    /// The results of the questions that have an answer.
    pub results: Vec<QuestionResult>,
    /// Score and relevance of every hit within the default limit.
    pub scored: Vec<(f32, bool)>,
    /// The best score of every question that has an answer.
    pub answerable: Vec<f32>,
    /// The best score of every question of category 5: about this conversation, with a false premise.
    pub unanswerable: Vec<f32>,
    /// The best scores of both.
    best: BestScores,
    /// The best score of every question about another conversation.
    pub off_topic: Vec<f32>,
    /// The questions whose first hit does not answer.
    pub misses: Misses,
    /// Questions whose candidates' features were written.
    numbered: usize,
}

/// Returns the lowercase words of a text without stop words.
fn content_words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !(c.is_ascii_alphanumeric() || c == '\''));
    let kept = words.filter(|word| word.len() > 1 && !STOP.split_whitespace().any(|stop| stop == *word));
    kept.map(str::to_owned).collect()
}

/// Ingests a sample and asks all its questions. Writes the candidates' features to `features`.
pub fn measure(
    sample: &Sample,
    folder: &Path,
    setup: &Setup<'_>,
    figures: &mut Figures,
    mut features: Option<&mut dyn Write>,
) -> anyhow::Result<()> {
    let index = ingest(&sample.sessions, folder, setup)?;
    let snapshot = index.published().load_full();
    // A fit needs every candidate: the best candidates of the current fit would be a biased choice.
    let limit = if features.is_some() { usize::MAX } else { HITS_MAX };
    for question in &sample.questions {
        let hits = ask(&snapshot, &Asking::now(&question.text, limit), setup)?;
        let best_score = hits.first().map(|hit| hit.score);
        if question.category == UNANSWERABLE {
            figures.unanswerable.extend(best_score);
            figures.best.add_unanswerable(best_score.unwrap_or(0.0));
            if let Some(out) = features.as_deref_mut() {
                write_features(out, sample, figures.next_number(), &hits, None)?;
            }
            continue;
        }
        let evidence = evidence_words(question, sample);
        if evidence.is_empty() {
            continue;
        }
        let (result, held) = judge(&hits, &evidence, question.category);
        figures.answerable.extend(best_score);
        if let (Some(score), Some(held)) = (best_score, held.first()) {
            figures.best.add_answerable(score, held.contains(&true));
        }
        figures.misses.extend(missed(question, sample, &hits, &held));
        for (hit, held) in hits.iter().zip(&held).take(LIMIT) {
            figures.scored.push((hit.score, held.contains(&true)));
        }
        if let Some(out) = features.as_deref_mut() {
            write_features(out, sample, figures.next_number(), &hits, Some(&held))?;
        }
        figures.results.push(result);
    }
    for question in &sample.off_topic {
        let hits = ask(&snapshot, &Asking::now(&question.text, limit), setup)?;
        figures.off_topic.extend(hits.first().map(|hit| hit.score));
        if let Some(out) = features.as_deref_mut() {
            write_features(out, sample, figures.next_number(), &hits, None)?;
        }
    }
    Ok(())
}

/// Returns the content words of each turn that answers a question, without turns that have none.
fn evidence_words(question: &Question, sample: &Sample) -> Vec<Vec<String>> {
    let mut evidence = Vec::with_capacity(question.evidence.len());
    for turn in answering_turns(question, sample) {
        evidence.push(content_words(&sample.turns[turn]));
    }
    evidence
}

/// Returns the ids of the turns that answer a question and have content words.
fn answering_turns<'a>(question: &'a Question, sample: &Sample) -> Vec<&'a String> {
    let mut turns = Vec::with_capacity(question.evidence.len());
    for turn in &question.evidence {
        if !content_words(&sample.turns[turn]).is_empty() {
            turns.push(turn);
        }
    }
    turns
}

/// Describes a question whose first hit contains no evidence. `held` is, for each hit, which evidence it contains.
fn missed(question: &Question, sample: &Sample, hits: &[Hit], held: &[Vec<bool>]) -> Option<Miss> {
    if held.first().is_some_and(|held| held.contains(&true)) {
        return None;
    }
    let mut expected = Vec::new();
    for (n, turn) in answering_turns(question, sample).into_iter().enumerate() {
        let rank = held.iter().position(|held| held[n]).map(|index| index + 1);
        expected.push(ExpectedMemory { label: turn.clone(), text: shortened(&sample.turns[turn]), rank });
    }
    Some(Miss { place: sample.id.clone(), question: question.text.clone(), expected, hits: first_hits(hits) })
}

/// Writes the features of every candidate of a question. `held` is, for each hit, which evidence it contains; `None` for
/// a question without an answer.
fn write_features(
    out: &mut dyn Write,
    sample: &Sample,
    question: usize,
    hits: &[Hit],
    held: Option<&[Vec<bool>]>,
) -> std::io::Result<()> {
    let question = question.to_string();
    let place = FeaturePlace { sample: &sample.id, sessions: sample.sessions.len(), question: &question };
    for (n, hit) in hits.iter().enumerate() {
        features::write(out, &place, hit, held.map(|held| held[n].as_slice()))?;
    }
    Ok(())
}

/// The position in a list of hits at which a piece of evidence was found first.
#[derive(Clone, Copy)]
struct EvidencePosition {
    rank: usize,
    /// Words of the hits up to and including this one.
    words: usize,
}

/// Returns the figures of a question and, for each hit, which evidence it contains.
fn judge(hits: &[Hit], evidence: &[Vec<String>], category: u64) -> (QuestionResult, Vec<Vec<bool>>) {
    let mut positions: Vec<Option<EvidencePosition>> = vec![None; evidence.len()];
    let mut held_by_hit = Vec::with_capacity(hits.len());
    let mut words = 0;
    let mut reciprocal_rank = 0.0;
    for (rank, hit) in (1..).zip(hits) {
        words += hit.memory.content.split_whitespace().count();
        let held = held_evidence(&hit.memory.content, evidence);
        for (held, position) in held.iter().zip(&mut positions) {
            if *held && position.is_none() {
                *position = Some(EvidencePosition { rank, words });
            }
        }
        if held.contains(&true) && reciprocal_rank == 0.0 && rank <= LIMIT {
            reciprocal_rank = 1.0 / rank as f64;
        }
        held_by_hit.push(held);
    }
    let mut found_within_limit = 0_u32;
    let mut found_within_words = [0_u32; BUDGETS.len()];
    for position in positions.into_iter().flatten() {
        if position.rank <= LIMIT {
            found_within_limit += 1;
        }
        for (found, budget) in found_within_words.iter_mut().zip(BUDGETS) {
            if position.words <= budget {
                *found += 1;
            }
        }
    }
    let result = QuestionResult {
        category,
        reciprocal_rank,
        within_limit: f64::from(found_within_limit) / evidence.len() as f64,
        within_words: found_within_words.map(|found| f64::from(found) / evidence.len() as f64),
        words: words as f64 / hits.len().max(1) as f64,
    };
    (result, held_by_hit)
}

/// Returns which pieces of evidence a text contains.
fn held_evidence(content: &str, evidence: &[Vec<String>]) -> Vec<bool> {
    let words: HashSet<String> = content_words(content).into_iter().collect();
    let mut held = Vec::with_capacity(evidence.len());
    for evidence in evidence {
        let common = evidence.iter().filter(|word| words.contains(*word)).count();
        held.push(common as f64 >= THRESHOLD * evidence.len() as f64);
    }
    held
}

impl Figures {
    /// Returns the name and the value of every figure, in the order of a report.
    pub fn report(&self) -> Vec<(String, f64)> {
        let results = &self.results;
        let mut report = vec![
            ("questions".to_owned(), results.len() as f64),
            ("recall@24".to_owned(), mean(results.iter().map(|result| result.within_limit))),
            ("mrr".to_owned(), mean(results.iter().map(|result| result.reciprocal_rank))),
            ("words_per_hit".to_owned(), mean(results.iter().map(|result| result.words))),
        ];
        for (n, budget) in BUDGETS.iter().enumerate() {
            let recall = mean(results.iter().map(|result| result.within_words[n]));
            report.push((format!("recall@{budget}w"), recall));
        }
        report.push(("auc".to_owned(), area_under_curve(&self.scored)));
        report.push(("ece".to_owned(), calibration_error(&self.scored)));
        report.extend(self.best.report());
        for category in 1..UNANSWERABLE {
            let of_category = results.iter().filter(|result| result.category == category);
            let recall = mean(of_category.map(|result| result.within_words[1]));
            report.push((format!("recall@2000w, category {category}"), recall));
        }
        for (name, scores) in [
            ("best score, answerable", &self.answerable),
            ("best score, category 5", &self.unanswerable),
            ("best score, about something else", &self.off_topic),
        ] {
            report.push((name.to_owned(), mean(scores.iter().map(|score| f64::from(*score)))));
        }
        report
    }

    /// Returns empty figures that continue the numbering of the questions.
    pub fn continued(&self) -> Self {
        Self { numbered: self.numbered, ..Self::default() }
    }

    fn next_number(&mut self) -> usize {
        self.numbered += 1;
        self.numbered
    }
}

/// Returns the mean of some values; zero without values.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_words_are_lowercase_without_stop_words() {
        assert_eq!(content_words("It's the Race, I ran!"), ["race", "ran"]);
    }
}
