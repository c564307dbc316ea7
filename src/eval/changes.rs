//! Facts that change: whether the value that holds comes first, and whether one that does not is shown as current.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use cuebase_retrieval::Hit;
use jiff::Timestamp;
use serde::Deserialize;

use super::features::{self, FeaturePlace};
use super::namespace::{Asking, Setup, ask, ingest};
use super::suite::{self, Session, Units};

/// Hits of a question.
const LIMIT: usize = 24;
/// Hits in which every message of a dialogue is looked for.
const ALL: usize = 200;

/// A dialogue in which facts change.
#[derive(Debug, Deserialize)]
pub struct Dialogue {
    /// The id in the file.
    pub id: String,
    /// What kind of change it is about.
    pub kind: String,
    /// The sessions, in the order in which they are sent.
    pub sessions: Vec<Session>,
    /// The questions.
    pub questions: Vec<ChangeQuestion>,
    /// Ids of messages that still hold at the end.
    #[serde(default)]
    pub keep: Vec<String>,
}

/// A question about a fact that changes.
#[derive(Debug, Deserialize)]
pub struct ChangeQuestion {
    /// The words of the question.
    pub q: String,
    /// `past` for a question that names a past.
    #[serde(default)]
    pub kind: Option<String>,
    /// If given, the question is asked as of this time.
    #[serde(default)]
    pub as_of: Option<Timestamp>,
    /// Ids of the messages with the right answer.
    pub current_in: Vec<String>,
    /// The right answer, as these messages have it.
    pub answer: String,
    /// The values of other times.
    #[serde(default)]
    pub stale: Vec<String>,
    /// Ids of the messages with a value of another time.
    #[serde(default)]
    pub stale_in: Vec<String>,
}

/// A share: how many of how many.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    /// How many.
    pub count: usize,
    /// Of how many.
    pub of: usize,
}

impl Share {
    pub(super) fn add(&mut self, holds: bool) {
        self.count += usize::from(holds);
        self.of += 1;
    }

    /// Returns the share; 0 of none.
    pub fn value(self) -> f64 {
        self.count as f64 / self.of.max(1) as f64
    }
}

/// The figures of all dialogues.
#[derive(Default)]
pub struct Figures {
    /// Questions about the present whose first labelled hit has the value that holds.
    pub current_first: Share,
    /// Questions about the present whose very first hit has the value that holds.
    pub current_at_once: Share,
    /// Questions about the present with a hit that has a former value and is shown as current.
    pub stale_as_current: Share,
    /// Messages that still hold and are shown as ended.
    pub ended_wrongly: Share,
    /// Questions about a past, or as of a time, whose first labelled hit has the value that held then.
    pub past_first: Share,
    /// What was not answered right, one line each.
    pub misses: Vec<String>,
}

impl Figures {
    /// Returns the figures with their names.
    pub fn report(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("questions about the present", self.current_first.of as f64),
            ("current value first", self.current_first.value()),
            ("current value in the first hit", self.current_at_once.value()),
            ("former value shown as current", self.stale_as_current.value()),
            ("questions about the past", self.past_first.of as f64),
            ("value of the past first", self.past_first.value()),
            ("statements that still hold", self.ended_wrongly.of as f64),
            ("ended wrongly", self.ended_wrongly.value()),
        ]
    }
}

/// Ingests a dialogue and asks its questions.
pub fn measure(
    dialogue: &Dialogue,
    folder: &Path,
    setup: &Setup<'_>,
    figures: &mut Figures,
    mut features: Option<&mut dyn Write>,
) -> anyhow::Result<()> {
    let index = ingest(&suite::bodies(&dialogue.sessions), folder, setup)
        .with_context(|| format!("dialogue {}", dialogue.id))?;
    let snapshot = index.published().load_full();
    let units = Units::of_sessions(&dialogue.sessions);
    for question in &dialogue.questions {
        let as_of = question.as_of.map(Timestamp::as_millisecond);
        let hits = ask(&snapshot, &Asking { text: &question.q, limit: LIMIT, as_of }, setup)?;
        judge(dialogue, question, &hits, &units, figures);
        if let Some(out) = features.as_deref_mut() {
            let all = ask(&snapshot, &Asking { text: &question.q, limit: ALL, as_of }, setup)?;
            write_features(out, dialogue, question, &all, &units)?;
        }
    }
    for question in &dialogue.questions {
        let hits = ask(&snapshot, &Asking::now(&question.q, ALL), setup)?;
        for id in &dialogue.keep {
            let hit = hits.iter().find(|hit| units.of_hit(hit).contains(&id.as_str()));
            let is_ended = hit.is_some_and(|hit| !hit.validity.current);
            figures.ended_wrongly.add(is_ended);
            if is_ended {
                figures.misses.push(format!("{} {}: {id} is ended for {:?}", dialogue.id, dialogue.kind, question.q));
            }
        }
    }
    Ok(())
}

/// Writes the features of every candidate of a question.
fn write_features(
    out: &mut dyn Write,
    dialogue: &Dialogue,
    question: &ChangeQuestion,
    hits: &[Hit],
    units: &Units,
) -> std::io::Result<()> {
    let place = FeaturePlace { sample: &dialogue.id, sessions: dialogue.sessions.len(), question: &question.q };
    for hit in hits {
        let is_right = states(hit, units, &question.current_in, std::slice::from_ref(&question.answer));
        features::write(out, &place, hit, Some(&[is_right]))?;
    }
    Ok(())
}

fn judge(dialogue: &Dialogue, question: &ChangeQuestion, hits: &[Hit], units: &Units, figures: &mut Figures) {
    let mut right = Vec::with_capacity(hits.len());
    let mut stale = Vec::with_capacity(hits.len());
    for hit in hits {
        let is_right = states(hit, units, &question.current_in, std::slice::from_ref(&question.answer));
        right.push(is_right);
        stale.push(!is_right && states(hit, units, &question.stale_in, &question.stale));
    }
    let first = (0..hits.len()).find(|index| right[*index] || stale[*index]);
    let is_right = first.is_some_and(|index| right[index]);
    let at_once = right.first() == Some(&true);
    if question.kind.as_deref() == Some("past") || question.as_of.is_some() {
        figures.past_first.add(is_right);
        if !is_right {
            figures.misses.push(miss(dialogue, question, "the value of the past is not first", hits.first()));
        }
        return;
    }
    figures.current_first.add(is_right);
    figures.current_at_once.add(at_once);
    if !is_right {
        figures.misses.push(miss(dialogue, question, "the current value is not first", hits.first()));
    }
    if question.stale_in.is_empty() {
        return;
    }
    let shown_as_current = (0..hits.len()).find(|index| stale[*index] && hits[*index].validity.current);
    figures.stale_as_current.add(shown_as_current.is_some());
    if let Some(index) = shown_as_current {
        figures.misses.push(miss(dialogue, question, "a former value is shown as current", hits.get(index)));
    }
}

/// Describes a question that was not answered right, with the hit that is wrong.
fn miss(dialogue: &Dialogue, question: &ChangeQuestion, what: &str, hit: Option<&Hit>) -> String {
    let content = match hit {
        Some(hit) => hit.memory.content.split_whitespace().collect::<Vec<_>>().join(" "),
        None => String::new(),
    };
    format!("{} {}: {what}: {:?}: {content}", dialogue.id, dialogue.kind, question.q)
}

/// Whether a hit was made from one of some messages and has one of some values.
fn states(hit: &Hit, units: &Units, labels: &[String], values: &[String]) -> bool {
    let ids = units.of_hit(hit);
    let is_labelled = labels.iter().any(|label| ids.contains(&label.as_str()));
    let content = hit.memory.content.to_lowercase();
    is_labelled && values.iter().any(|value| content.contains(&value.to_lowercase()))
}
