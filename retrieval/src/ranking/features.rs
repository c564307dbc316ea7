//! What is known of a candidate: numbers about it, and a few about the query.
//!
//! Every feature is relative to the query's own best or ceiling, or to the spread of cosines over a sample of the
//! namespace, so that it means the same in a namespace of fifty memories and in one of a hundred thousand.

use std::collections::HashMap;

use crate::arms::cue::{CueTable, Row};
use crate::arms::graph::{EdgeKind, Graph};
use crate::arms::lexical::LexicalScores;
use crate::arms::soft::SoftMatch;
use crate::index::{Document, Table};

/// The features' names, in the order of [`Features`].
pub const FEATURE_NAMES: [&str; 39] = [
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
    "coverage",
    "coverage_with_previous",
    "coverage_with_neighbours",
    "coverage_of_session",
    "rarest_term",
    "soft_match",
    "soft_match_squared",
    "soft_match_of_best",
    "previous_soft_match",
    "next_soft_match",
    "query_best_bm25_of_ceiling",
    "query_best_cosine",
    "query_best_soft_match",
    "query_unknown",
];

/// One number for each of [`FEATURE_NAMES`].
pub type Features = [f32; FEATURE_NAMES.len()];

/// How many of a session's best memories speak for the session.
const SESSION_BEST: usize = 3;
/// Standardised cosines are cut off here and divided by it.
const STANDARDISED_MAX: f32 = 6.0;

/// What [`Signals`] are made from.
pub(crate) struct Evidence<'a> {
    pub(crate) table: &'a Table,
    pub(crate) graph: &'a Graph,
    pub(crate) cues: &'a CueTable,
    pub(crate) lexical: &'a LexicalScores,
    /// The query's vector, if it has one.
    pub(crate) vector: Option<&'a Row>,
    /// The folded words of the query, as hashes.
    pub(crate) query_words: &'a [u64],
    /// The best of each arm, best first.
    pub(crate) lexical_best: &'a [(u32, f32)],
    pub(crate) cue_best: &'a [(u32, f32)],
}

/// What the arms say about the candidates of one query, and about what stands next to them.
pub(crate) struct Signals<'a> {
    from: Evidence<'a>,
    soft: SoftMatch<'a>,
    best_bm25: f32,
    best_cosine: f32,
    best_soft: f32,
    mean_cosine: f32,
    deviation_cosine: f32,
    lexical_ranks: HashMap<u32, usize, ahash::RandomState>,
    cue_ranks: HashMap<u32, usize, ahash::RandomState>,
    /// Best cosines of documents asked for so far.
    cosines: HashMap<u32, Option<f32>, ahash::RandomState>,
    softs: HashMap<u32, (f32, f32), ahash::RandomState>,
    sessions: HashMap<u64, Session, ahash::RandomState>,
    anybody_named: bool,
}

/// What the candidates of one conversation say about it.
#[derive(Default)]
struct Session {
    bm25: Vec<f32>,
    cosines: Vec<f32>,
    matched: u64,
}

/// A memory's place in its conversation.
#[derive(Clone, Copy, Default)]
struct Neighbours {
    previous: Option<u32>,
    next: Option<u32>,
    second_previous: Option<u32>,
    second_next: Option<u32>,
}

impl<'a> Signals<'a> {
    /// Looks at the candidates as a whole: their sessions, whom the query names, the best of each kind.
    pub(crate) fn new(from: Evidence<'a>, soft: SoftMatch<'a>, candidates: &[u32]) -> Self {
        let ranks = |best: &[(u32, f32)]| best.iter().enumerate().map(|(rank, (n, _))| (*n, rank)).collect();
        let mut signals = Self {
            lexical_ranks: ranks(from.lexical_best),
            cue_ranks: ranks(from.cue_best),
            best_bm25: from.lexical_best.first().map_or(0.0, |best| best.1),
            best_cosine: from.cue_best.first().map_or(0.0, |best| best.1),
            best_soft: 0.0,
            mean_cosine: 0.0,
            deviation_cosine: 1.0,
            cosines: from.cue_best.iter().map(|(document, cosine)| (*document, Some(*cosine))).collect(),
            softs: HashMap::default(),
            sessions: HashMap::default(),
            anybody_named: false,
            from,
            soft,
        };
        let sample: Vec<u32> = signals.from.table.sample().collect();
        let mut sampled: Vec<f32> = sample.into_iter().filter_map(|document| signals.cosine(document)).collect();
        (signals.mean_cosine, signals.deviation_cosine) = spread(&mut sampled);
        for document in candidates {
            signals.best_soft = signals.best_soft.max(signals.soft(*document).0);
            let Some(held) = signals.from.table.document(*document) else { continue };
            signals.anybody_named |= signals.names(held.speaker());
            let (bm25, cosine) = (signals.bm25_of_best(*document), signals.standardised(*document));
            let matched = signals.from.lexical.matched(*document);
            if held.session() != 0 {
                let session = signals.sessions.entry(held.session()).or_default();
                session.bm25.push(bm25);
                session.cosines.push(cosine);
                session.matched |= matched;
            }
        }
        signals
    }

    pub(crate) fn has_lexical(&self, document: u32) -> bool {
        self.from.lexical.score(document) > 0.0
    }

    pub(crate) fn has_cue(&self, document: u32) -> bool {
        self.cue_ranks.contains_key(&document)
    }

    /// Whether the query holds every word of a name.
    fn names(&self, name: &[u64]) -> bool {
        !name.is_empty() && name.iter().all(|word| self.from.query_words.contains(word))
    }

    fn bm25_of_best(&self, document: u32) -> f32 {
        if self.best_bm25 > 0.0 { self.from.lexical.score(document) / self.best_bm25 } else { 0.0 }
    }

    fn cosine(&mut self, document: u32) -> Option<f32> {
        if let Some(known) = self.cosines.get(&document) {
            return *known;
        }
        let held = self.from.table.document(document)?;
        let cosine = self.from.vector.and_then(|vector| self.from.cues.cosine(vector, held.rows()));
        self.cosines.insert(document, cosine);
        cosine
    }

    fn standardised(&mut self, document: u32) -> f32 {
        let deviations = self.cosine(document).map_or(0.0, |c| (c - self.mean_cosine) / self.deviation_cosine);
        deviations.clamp(-STANDARDISED_MAX, STANDARDISED_MAX) / STANDARDISED_MAX
    }

    fn soft(&mut self, document: u32) -> (f32, f32) {
        if let Some(known) = self.softs.get(&document) {
            return *known;
        }
        let soft = self.soft.of(document);
        self.softs.insert(document, soft);
        soft
    }

    fn neighbours(&self, document: u32) -> Neighbours {
        let beside = |document: Option<u32>, kind| {
            let slot = self.from.table.slot_of(document?)?;
            self.from.table.current(self.from.graph.neighbour(slot, kind)?)
        };
        let previous = beside(Some(document), EdgeKind::Previous);
        let next = beside(Some(document), EdgeKind::Next);
        Neighbours {
            previous,
            next,
            second_previous: beside(previous, EdgeKind::Previous),
            second_next: beside(next, EdgeKind::Next),
        }
    }

    /// The features of one memory.
    pub(crate) fn of(&mut self, document: u32, held: Document<'_>) -> Features {
        let lexical = self.from.lexical;
        let bm25_of_best = self.bm25_of_best(document);
        let cosine = self.cosine(document).unwrap_or(0.0);
        let cosine_of_best = if self.best_cosine > 0.0 { cosine / self.best_cosine } else { 0.0 };
        let Neighbours { previous, next, second_previous, second_next } = self.neighbours(document);
        let mut near = |document: Option<u32>| match document {
            Some(document) => (self.bm25_of_best(document), self.standardised(document)),
            None => (0.0, 0.0),
        };
        let (previous_bm25, previous_cosine) = near(previous);
        let (next_bm25, next_cosine) = near(next);
        let (second_previous_bm25, second_previous_cosine) = near(second_previous);
        let (second_next_bm25, second_next_cosine) = near(second_next);
        let mut soft = |document: Option<u32>| document.map_or(0.0, |document| self.soft(document).0);
        let (previous_soft, next_soft) = (soft(previous), soft(next));
        let (soft, soft_squared) = self.soft(document);
        let matched = |document: Option<u32>| document.map_or(0, |document| lexical.matched(document));
        let own = lexical.matched(document);
        let with_previous = own | matched(previous);
        let of_session = self.sessions.get(&held.session()).map_or(own, |session| session.matched | own);
        let (session_bm25, session_cosine) = self
            .sessions
            .get(&held.session())
            .map_or((0.0, 0.0), |session| (mean_of_best(&session.bm25), mean_of_best(&session.cosines)));
        let speaker_named = self.names(held.speaker());
        let entity_named = held.entities().iter().any(|word| self.from.query_words.contains(word));
        let previous_asks = previous.and_then(|n| self.from.table.document(n)).is_some_and(Document::asks);
        let rank = |rank: Option<&usize>| rank.map_or(0.0, |rank| 1.0 / (1.0 + *rank as f32));
        let of_ceiling = |bm25: f32| if lexical.ceiling > 0.0 { (bm25 / lexical.ceiling).min(1.5) } else { 0.0 };
        [
            of_ceiling(lexical.score(document)),
            bm25_of_best,
            cosine,
            cosine_of_best,
            self.standardised(document),
            bm25_of_best * cosine_of_best,
            previous_bm25,
            previous_cosine,
            next_bm25,
            next_cosine,
            second_previous_bm25,
            second_previous_cosine,
            second_next_bm25,
            second_next_cosine,
            session_bm25,
            session_cosine,
            truth(speaker_named),
            truth(!speaker_named && self.anybody_named),
            truth(entity_named),
            (1.0 + held.words() as f32).ln() / 5.0,
            truth(held.asks()),
            truth(previous_asks),
            (1.0 + lexical.parts() as f32).ln() / 3.0,
            rank(self.lexical_ranks.get(&document)),
            rank(self.cue_ranks.get(&document)),
            lexical.coverage(own),
            lexical.coverage(with_previous),
            lexical.coverage(with_previous | matched(next)),
            lexical.coverage(of_session),
            truth(own & 1 == 1),
            soft,
            soft_squared,
            if self.best_soft > 0.0 { soft / self.best_soft } else { 0.0 },
            previous_soft,
            next_soft,
            of_ceiling(self.best_bm25),
            self.best_cosine,
            self.best_soft,
            lexical.unknown,
        ]
    }
}

fn truth(value: bool) -> f32 {
    f32::from(u8::from(value))
}

fn mean_of_best(values: &[f32]) -> f32 {
    let mut values = values.to_vec();
    values.sort_by(|a, b| b.total_cmp(a));
    values.truncate(SESSION_BEST);
    values.iter().sum::<f32>() / SESSION_BEST as f32
}

/// Mean and standard deviation, the same whatever the order; the deviation is never zero.
fn spread(values: &mut [f32]) -> (f32, f32) {
    if values.is_empty() {
        return (0.0, 1.0);
    }
    values.sort_by(f32::total_cmp);
    let count = values.len() as f64;
    let mean = values.iter().map(|value| f64::from(*value)).sum::<f64>() / count;
    let variance = values.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>() / count;
    (mean as f32, variance.max(1e-6).sqrt() as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_does_not_depend_on_the_order() {
        let (mean, deviation) = spread(&mut [3.0, 1.0]);
        assert!((mean - 2.0).abs() < 1e-6 && (deviation - 1.0).abs() < 1e-3);
        assert_eq!(spread(&mut []), (0.0, 1.0));
        let values: Vec<f32> = (0..100u16).map(|n| (f32::from(n) * 0.37).sin()).collect();
        let reversed: Vec<f32> = values.iter().rev().copied().collect();
        assert_eq!(spread(&mut values.clone()), spread(&mut reversed.clone()));
    }
}
