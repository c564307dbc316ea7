//! The searches of a query as the service makes them: for the query and for each of its parts, and what is admitted.

use std::io::Write;

use cuebase_language::relevance::{Admission, Searched, asking_part, parts};
use cuebase_retrieval::{Hit, Snapshot};
use serde::Serialize;

use super::namespace::{Asking, Setup, ask};
use super::suite::Units;

/// Hits of a search.
const LIMIT: usize = 24;

/// A query with the searches that were made for it.
pub(super) struct SearchedQuery<'a> {
    /// Id of the dialogue.
    pub(super) dialogue: &'a str,
    /// The words of the query.
    pub(super) text: &'a str,
    /// The things that it asks for: of each, the ids of the messages that answer it.
    pub(super) asked: Vec<&'a [String]>,
    /// The hits for the query, and for each of its parts if there are several.
    pub(super) searches: Vec<Vec<JudgedHit>>,
}

/// A hit, and what it answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct JudgedHit {
    pub(super) path: String,
    pub(super) score: f32,
    /// Indexes of the things that it answers.
    pub(super) answers: Vec<usize>,
}

/// A line of the scores file.
#[derive(Serialize)]
struct ScoresLine<'a> {
    dialogue: &'a str,
    q: &'a str,
    /// For each thing that the query asks for, whether anything answers it.
    answerable: Vec<bool>,
    searches: &'a [Vec<JudgedHit>],
}

/// A mean of numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean {
    sum: f64,
    of: usize,
}

impl Mean {
    pub(super) fn add(&mut self, value: f64) {
        self.sum += value;
        self.of += 1;
    }

    /// Returns the mean; 0 of none.
    pub fn value(self) -> f64 {
        self.sum / self.of.max(1) as f64
    }
}

impl<'a> SearchedQuery<'a> {
    /// Makes the searches of a query.
    pub(super) fn search(
        dialogue: &'a str,
        text: &'a str,
        asked: Vec<&'a [String]>,
        snapshot: &Snapshot,
        units: &Units,
        setup: &Setup<'_>,
    ) -> anyhow::Result<Self> {
        let asked_text = asking_part(text);
        let mut searches = vec![judged(&ask(snapshot, &Asking::now(text, LIMIT), setup)?, &asked, units)];
        let parts = parts(&asked_text);
        if parts.len() > 1 {
            for part in &parts {
                let hits = ask(snapshot, &Asking::now(&part.text(), LIMIT), setup)?;
                searches.push(judged(&hits, &asked, units));
            }
        }
        Ok(Self { dialogue, text, asked, searches })
    }

    /// Leaves out the hits of a path.
    pub(super) fn leave_out(&mut self, path: &str) {
        for hits in &mut self.searches {
            hits.retain(|hit| hit.path != path);
        }
    }

    /// Returns the hits that a level admits, each memory once.
    pub(super) fn admitted(&self, level: Admission) -> Vec<&JudgedHit> {
        let mut admitted: Vec<&JudgedHit> = Vec::new();
        for (index, hits) in self.searches.iter().enumerate() {
            // The first search is for the whole query.
            let searched = if index == 0 { Searched::Whole } else { Searched::Part };
            let scores: Vec<f32> = hits.iter().map(|hit| hit.score).collect();
            for (hit, is_admitted) in hits.iter().zip(level.admitted(&scores, searched)) {
                if is_admitted && !admitted.iter().any(|known| known.path == hit.path) {
                    admitted.push(hit);
                }
            }
        }
        admitted
    }

    /// Returns the best score of all searches; 0 without a hit.
    pub(super) fn best_score(&self) -> f32 {
        let mut best: f32 = 0.0;
        for hit in self.searches.iter().flatten() {
            best = best.max(hit.score);
        }
        best
    }

    /// Returns the best score of a hit that answers one of the things that the query asks for; 0 without such a hit.
    pub(super) fn best_score_of(&self, asked: usize) -> f32 {
        let mut best: f32 = 0.0;
        for hit in self.searches.iter().flatten() {
            if hit.answers.contains(&asked) {
                best = best.max(hit.score);
            }
        }
        best
    }

    /// Writes the scores of all hits as a line of JSON.
    pub(super) fn write_scores(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let answerable = self.asked.iter().map(|ids| !ids.is_empty()).collect();
        let line = ScoresLine { dialogue: self.dialogue, q: self.text, answerable, searches: &self.searches };
        writeln!(out, "{}", serde_json::to_string(&line)?)?;
        Ok(())
    }
}

/// Returns the share of the hits that answer anything.
pub(super) fn precision(hits: &[&JudgedHit]) -> f64 {
    let right = hits.iter().filter(|hit| !hit.answers.is_empty()).count();
    right as f64 / hits.len().max(1) as f64
}

fn judged(hits: &[Hit], asked: &[&[String]], units: &Units) -> Vec<JudgedHit> {
    let mut judged = Vec::with_capacity(hits.len());
    for hit in hits {
        let ids = units.of_hit(hit);
        let mut answers = Vec::new();
        for (index, labels) in asked.iter().enumerate() {
            if labels.iter().any(|label| ids.contains(&label.as_str())) {
                answers.push(index);
            }
        }
        judged.push(JudgedHit { path: hit.memory.path.clone(), score: hit.score, answers });
    }
    judged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(path: &str, score: f32, answers: &[usize]) -> JudgedHit {
        JudgedHit { path: path.to_owned(), score, answers: answers.to_vec() }
    }

    #[test]
    fn each_search_is_admitted_by_itself_and_each_memory_counts_once() {
        let searches = vec![
            vec![hit("a", 0.9, &[0]), hit("b", 0.0, &[])],
            vec![hit("a", 0.9, &[0]), hit("c", 0.8, &[])],
            vec![hit("b", 0.0, &[1])],
        ];
        let ids = ["1.1".to_owned()];
        let asked = vec![&ids[..], &ids[..0]];
        let query = SearchedQuery { dialogue: "d", text: "q", asked, searches };
        let admitted = query.admitted(Admission::Balanced);
        let paths: Vec<&str> = admitted.iter().map(|hit| hit.path.as_str()).collect();
        assert_eq!(paths, ["a", "c"]);
        assert!((precision(&admitted) - 0.5).abs() < 1e-9);
        assert!((query.best_score_of(0) - 0.9).abs() < 1e-6 && query.best_score_of(1) == 0.0);
        let mut line = Vec::new();
        query.write_scores(&mut line).expect("writes");
        let line = String::from_utf8(line).expect("text");
        assert!(
            line.starts_with(r#"{"dialogue":"d","q":"q","answerable":[true,false],"searches":[[{"path":"a","#),
            "{line}"
        );
    }
}
