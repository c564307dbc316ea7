//! What is known of a candidate: numbers about it, and a few about the query.
//!
//! Every feature is relative to the query's own best or ceiling, or to the spread of all cosines in the namespace, so
//! that it means the same in a namespace of fifty memories and in one of a hundred thousand.

use std::collections::HashMap;

use crate::arms::graph::{EdgeKind, Graph};
use crate::index::{Record, Table};

/// The features' names, in the order of [`Features`].
pub const FEATURE_NAMES: [&str; 27] = [
    "bm25_of_ceiling",
    "bm25_of_best",
    "cosine",
    "cosine_of_best",
    "cosine_standardised",
    "agreement",
    "previous_bm25",
    "previous_cosine",
    "next_bm25",
    "next_cosine",
    "second_previous_bm25",
    "second_previous_cosine",
    "second_next_bm25",
    "second_next_cosine",
    "session_bm25",
    "session_cosine",
    "speaker_named",
    "other_speaker_named",
    "entity_named",
    "length",
    "asks",
    "previous_asks",
    "query_terms",
    "lexical_rank",
    "cue_rank",
    "query_best_bm25_of_ceiling",
    "query_best_cosine",
];

/// One number for each of [`FEATURE_NAMES`].
pub type Features = [f32; FEATURE_NAMES.len()];

/// How many of a session's best memories speak for the session.
const SESSION_BEST: usize = 3;
/// Standardised cosines are cut off here and divided by it.
const STANDARDISED_MAX: f32 = 6.0;

/// What the arms say about every memory, for one query.
pub(crate) struct Signals<'a> {
    pub(crate) table: &'a Table,
    pub(crate) graph: &'a Graph,
    /// BM25 by slot; zero where nothing matched.
    bm25: Vec<f32>,
    /// Best cosine by slot; NaN where there is none.
    cosines: Vec<f32>,
    ceiling: f32,
    terms: usize,
    best_bm25: f32,
    best_cosine: f32,
    mean_cosine: f32,
    deviation_cosine: f32,
    lexical_ranks: HashMap<u32, usize>,
    cue_ranks: HashMap<u32, usize>,
    sessions: HashMap<u32, (f32, f32)>,
    query_words: Vec<String>,
    speakers: Vec<String>,
}

/// What [`Signals`] is made from.
pub(crate) struct Evidence<'a> {
    pub(crate) table: &'a Table,
    pub(crate) graph: &'a Graph,
    pub(crate) bm25: Vec<f32>,
    pub(crate) cosines: Vec<f32>,
    pub(crate) ceiling: f32,
    pub(crate) terms: usize,
    /// The best of each arm, best first.
    pub(crate) lexical_order: &'a [u32],
    pub(crate) cue_order: &'a [u32],
    pub(crate) query_words: Vec<String>,
}

impl<'a> Signals<'a> {
    pub(crate) fn new(evidence: Evidence<'a>) -> Self {
        let Evidence { table, graph, bm25, cosines, ceiling, terms, lexical_order, cue_order, query_words } = evidence;
        let best_bm25 = bm25.iter().copied().fold(0.0, f32::max);
        let best_cosine = cosines.iter().copied().fold(0.0, f32::max);
        let (mean_cosine, deviation_cosine) = spread(&cosines);
        let ranks = |order: &[u32]| order.iter().enumerate().map(|(rank, slot)| (*slot, rank)).collect();
        let mut signals = Self {
            lexical_ranks: ranks(lexical_order),
            cue_ranks: ranks(cue_order),
            table,
            graph,
            bm25,
            cosines,
            ceiling,
            terms,
            best_bm25,
            best_cosine,
            mean_cosine,
            deviation_cosine,
            sessions: HashMap::new(),
            query_words,
            speakers: Vec::new(),
        };
        signals.gather(lexical_order, cue_order);
        signals
    }

    pub(crate) fn has_lexical(&self, slot: u32) -> bool {
        self.bm25.get(slot as usize).is_some_and(|score| *score > 0.0)
    }

    pub(crate) fn has_cue(&self, slot: u32) -> bool {
        self.cue_ranks.contains_key(&slot)
    }

    /// The candidates' sessions with the mean of each one's best memories, and the speakers that the query names.
    fn gather(&mut self, lexical_order: &[u32], cue_order: &[u32]) {
        let mut by_session: HashMap<u32, (Vec<f32>, Vec<f32>)> = HashMap::new();
        let mut slots: Vec<u32> = lexical_order.iter().chain(cue_order).copied().collect();
        slots.sort_unstable();
        slots.dedup();
        for slot in slots {
            let Some(record) = self.table.peek(slot) else { continue };
            if let Some(session) = record.session {
                let (bm25, cosines) = by_session.entry(session).or_default();
                bm25.push(self.bm25_of_best(slot));
                cosines.push(self.standardised(slot));
            }
            if let Some(speaker) = &record.memory.speaker {
                let speaker = crate::text::fold(speaker);
                if self.names(&speaker) && !self.speakers.contains(&speaker) {
                    self.speakers.push(speaker);
                }
            }
        }
        let means = by_session.into_iter().map(|(session, (b, c))| (session, (mean_of_best(b), mean_of_best(c))));
        self.sessions = means.collect();
    }

    /// Whether the query holds every word of a name.
    fn names(&self, name: &str) -> bool {
        name.split_whitespace().all(|word| self.query_words.iter().any(|have| have == word))
    }

    fn bm25_of_best(&self, slot: u32) -> f32 {
        let score = self.bm25.get(slot as usize).copied().unwrap_or(0.0);
        if self.best_bm25 > 0.0 { score / self.best_bm25 } else { 0.0 }
    }

    fn cosine(&self, slot: u32) -> Option<f32> {
        self.cosines.get(slot as usize).copied().filter(|cosine| !cosine.is_nan())
    }

    fn standardised(&self, slot: u32) -> f32 {
        let deviations = self.cosine(slot).map_or(0.0, |cosine| (cosine - self.mean_cosine) / self.deviation_cosine);
        deviations.clamp(-STANDARDISED_MAX, STANDARDISED_MAX) / STANDARDISED_MAX
    }

    fn neighbour(&self, slot: u32, kind: EdgeKind) -> Option<u32> {
        self.graph.neighbour(slot, kind).filter(|slot| self.table.peek(*slot).is_some())
    }

    /// The features of one memory.
    pub(crate) fn of(&self, slot: u32, record: &Record) -> Features {
        let bm25 = self.bm25.get(slot as usize).copied().unwrap_or(0.0);
        let bm25_of_best = self.bm25_of_best(slot);
        let cosine = self.cosine(slot).unwrap_or(0.0);
        let cosine_of_best = if self.best_cosine > 0.0 { cosine / self.best_cosine } else { 0.0 };
        let previous = self.neighbour(slot, EdgeKind::Previous);
        let next = self.neighbour(slot, EdgeKind::Next);
        let second_previous = previous.and_then(|slot| self.neighbour(slot, EdgeKind::Previous));
        let second_next = next.and_then(|slot| self.neighbour(slot, EdgeKind::Next));
        let near =
            |slot: Option<u32>| slot.map_or((0.0, 0.0), |slot| (self.bm25_of_best(slot), self.standardised(slot)));
        let (previous_bm25, previous_cosine) = near(previous);
        let (next_bm25, next_cosine) = near(next);
        let (second_previous_bm25, second_previous_cosine) = near(second_previous);
        let (second_next_bm25, second_next_cosine) = near(second_next);
        let session = record.session.and_then(|session| self.sessions.get(&session)).copied().unwrap_or_default();
        let speaker = record.memory.speaker.as_deref().map(crate::text::fold);
        let speaker_named = speaker.as_ref().is_some_and(|speaker| self.names(speaker));
        let other_named = !speaker_named && !self.speakers.is_empty();
        let entity_named = record.names.iter().any(|name| {
            self.query_words.contains(name) && speaker.as_ref().is_none_or(|speaker| !speaker.contains(name.as_str()))
        });
        let previous_asks = previous.and_then(|slot| self.table.peek(slot)).is_some_and(|record| record.question);
        let rank = |ranks: &HashMap<u32, usize>| ranks.get(&slot).map_or(0.0, |rank| 1.0 / (1.0 + *rank as f32));
        [
            if self.ceiling > 0.0 { (bm25 / self.ceiling).min(1.5) } else { 0.0 },
            bm25_of_best,
            cosine,
            cosine_of_best,
            self.standardised(slot),
            bm25_of_best * cosine_of_best,
            previous_bm25,
            previous_cosine,
            next_bm25,
            next_cosine,
            second_previous_bm25,
            second_previous_cosine,
            second_next_bm25,
            second_next_cosine,
            session.0,
            session.1,
            truth(speaker_named),
            truth(other_named),
            truth(entity_named),
            (1.0 + record.words as f32).ln() / 5.0,
            truth(record.question),
            truth(previous_asks),
            (1.0 + self.terms as f32).ln() / 3.0,
            rank(&self.lexical_ranks),
            rank(&self.cue_ranks),
            if self.ceiling > 0.0 { (self.best_bm25 / self.ceiling).min(1.5) } else { 0.0 },
            self.best_cosine,
        ]
    }
}

fn truth(value: bool) -> f32 {
    f32::from(u8::from(value))
}

fn mean_of_best(mut values: Vec<f32>) -> f32 {
    values.sort_by(|a, b| b.total_cmp(a));
    values.truncate(SESSION_BEST);
    values.iter().sum::<f32>() / SESSION_BEST as f32
}

/// Mean and standard deviation of what is not NaN; the deviation is never zero.
fn spread(values: &[f32]) -> (f32, f32) {
    let (mut count, mut sum, mut squares) = (0f64, 0f64, 0f64);
    for value in values.iter().filter(|value| !value.is_nan()) {
        let value = f64::from(*value);
        count += 1.0;
        sum += value;
        squares += value * value;
    }
    if count == 0.0 {
        return (0.0, 1.0);
    }
    let mean = sum / count;
    let variance = (squares / count - mean * mean).max(1e-6);
    (mean as f32, variance.sqrt() as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_ignores_what_has_no_vector() {
        let (mean, deviation) = spread(&[1.0, f32::NAN, 3.0]);
        assert!((mean - 2.0).abs() < 1e-6 && (deviation - 1.0).abs() < 1e-3);
        assert_eq!(spread(&[]), (0.0, 1.0));
    }
}
