//! Queries that ask for several things: whether a memory is admitted for each of them.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use cuebase_language::relevance::{Admission, parts};
use serde::Deserialize;

use super::admitted::{Mean, SearchedQuery, precision};
use super::changes::Share;
use super::namespace::{Setup, ingest};
use super::suite::{self, Session, Units};

/// A dialogue with queries that ask for several things.
#[derive(Debug, Deserialize)]
pub struct Dialogue {
    /// The id in the file.
    pub id: String,
    /// The sessions, in the order in which they are sent.
    pub sessions: Vec<Session>,
    /// The queries.
    pub queries: Vec<PartsQuery>,
}

/// A query that asks for several things.
#[derive(Debug, Deserialize)]
pub struct PartsQuery {
    /// The words of the query.
    pub q: String,
    /// Of each thing that it asks for, the ids of the messages that answer it. Empty for a thing that nothing answers.
    pub parts: Vec<Vec<String>>,
}

/// The figures of one level of admission.
#[derive(Clone, Copy, Debug, Default)]
pub struct LevelFigures {
    /// Answerable parts for which a memory is admitted.
    pub found: Share,
    /// Share of right memories among those that are admitted for a query, if there are any.
    pub precision: Mean,
}

/// The figures of all dialogues.
#[derive(Default)]
pub struct Figures {
    /// In the order of [`Admission::LEVELS`].
    levels: [LevelFigures; Admission::LEVELS.len()],
    /// Queries that are split into as many parts as they have.
    pub split: Share,
    /// What [`Admission::Balanced`] gets wrong, one line each.
    pub misses: Vec<String>,
}

impl Figures {
    /// Returns the figures with their names.
    pub fn report(&self) -> Vec<(String, f64)> {
        let mut report = Vec::new();
        for (level, figures) in Admission::LEVELS.iter().zip(&self.levels) {
            let name = level.name();
            report.push((format!("{name}: parts with a memory admitted"), figures.found.value()));
            report.push((format!("{name}: precision of what is admitted"), figures.precision.value()));
        }
        report.push(("queries split into their parts".to_owned(), self.split.value()));
        report.push(("queries".to_owned(), self.split.of as f64));
        report
    }

    fn add(&mut self, query: &SearchedQuery<'_>) {
        let split = parts(query.text).len();
        self.split.add(split == query.asked.len());
        for (level, figures) in Admission::LEVELS.iter().zip(&mut self.levels) {
            let admitted = query.admitted(*level);
            for (index, ids) in query.asked.iter().enumerate() {
                if ids.is_empty() {
                    continue;
                }
                let is_found = admitted.iter().any(|hit| hit.answers.contains(&index));
                figures.found.add(is_found);
                if *level == Admission::Balanced && !is_found {
                    let SearchedQuery { dialogue, text, asked, .. } = query;
                    let (part, of, best) = (index + 1, asked.len(), query.best_score_of(index));
                    let place = format!("part {part} of {of}, split into {split}");
                    self.misses.push(format!("{dialogue}: {place}: not admitted, best score {best:.3}: {text:?}"));
                }
            }
            if !admitted.is_empty() {
                figures.precision.add(precision(&admitted));
            }
        }
    }
}

/// Ingests a dialogue and sends its queries. Writes the scores of all hits to `scores`, if given.
pub fn measure(
    dialogue: &Dialogue,
    folder: &Path,
    setup: &Setup<'_>,
    figures: &mut Figures,
    mut scores: Option<&mut dyn Write>,
) -> anyhow::Result<()> {
    let index = ingest(&suite::bodies(&dialogue.sessions), folder, setup)
        .with_context(|| format!("dialogue {}", dialogue.id))?;
    let snapshot = index.published().load_full();
    let units = Units::of_sessions(&dialogue.sessions);
    for PartsQuery { q, parts } in &dialogue.queries {
        let asked = parts.iter().map(Vec::as_slice).collect();
        let query = SearchedQuery::search(&dialogue.id, q, asked, &snapshot, &units, setup)?;
        figures.add(&query);
        if let Some(out) = scores.as_deref_mut() {
            query.write_scores(out)?;
        }
    }
    Ok(())
}
