//! What is known of a candidate: numbers about it, and a few about the query.
//!
//! Every feature is relative to the query's own best or ceiling, or to the spread of cosines over a sample of the
//! namespace, so that it means the same in a namespace of fifty memories and in one of a hundred thousand.

use std::collections::HashMap;
use std::ops::Range;

use crate::arms::cue::{CueTable, Row};
use crate::arms::graph::Graph;
use crate::arms::lexical::LexicalScores;
use crate::arms::soft::{Met, Nearest, SoftMatch};
use crate::index::{Document, Table};
use crate::kernels::{AHEAD, prefetch};
use crate::threads::Threads;

/// The features' names, in the order of [`Features`].
pub const FEATURE_NAMES: [&str; 38] = [
    "bm25_of_ceiling",
    "bm25_of_best",
    "cosine",
    "cosine_standardised",
    "agreement",
    "previous_bm25",
    "previous_cosine",
    "next_bm25",
    "next_cosine",
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
    "soft_match_with_neighbours",
    "soft_match_of_session",
    "previous_length",
    "next_length",
    "next_asks",
    "query_best_bm25_of_ceiling",
    "query_best_cosine",
    "query_best_soft_match",
    "query_unknown",
];

/// One number for each of [`FEATURE_NAMES`].
pub type Features = [f32; FEATURE_NAMES.len()];

/// How many of a session's best memories speak for the session.
const SESSION_BEST: usize = 3;
/// Cosines that differ by less than this differ by chance: rows are rounded.
const DEVIATION_MIN: f64 = 0.02;
/// Standardised cosines are cut off here and divided by it.
const STANDARDISED_MAX: f32 = 6.0;

/// Fewer documents than this are looked at by one thread.
const SIDE_BY_SIDE_MIN: usize = 128;

/// What [`Signals`] are made from.
pub(crate) struct Evidence<'a> {
    pub(crate) table: &'a Table,
    pub(crate) graph: &'a Graph,
    pub(crate) cues: &'a CueTable,
    pub(crate) lexical: &'a LexicalScores,
    /// The query's vector, if it has one.
    pub(crate) vector: Option<&'a Row>,
    /// The words of the query that may be names, as hashes.
    pub(crate) names: &'a [u64],
    /// The best of each arm, best first.
    pub(crate) lexical_best: &'a [(u32, f32)],
    pub(crate) cue_best: &'a [(u32, f32)],
    /// How many threads look at documents.
    pub(crate) threads: Threads,
}

/// What the arms say about the candidates of one query, and about what stands next to them.
pub(crate) struct Signals<'a> {
    from: Evidence<'a>,
    soft: SoftMatch<'a>,
    /// One for each of two threads.
    met: [Met; 2],
    best_bm25: f32,
    best_cosine: f32,
    best_soft: f32,
    mean_cosine: f32,
    deviation_cosine: f32,
    lexical_ranks: HashMap<u32, usize, ahash::RandomState>,
    /// Place and cosine of the cue arm's best.
    cue_ranks: HashMap<u32, (usize, f32), ahash::RandomState>,
    /// Where each document looked at so far stands in `seen`.
    places: HashMap<u32, usize, ahash::RandomState>,
    seen: Vec<Seen>,
    /// The memories said right before and right after each document looked at so far.
    beside: HashMap<u32, [Option<u32>; 2], ahash::RandomState>,
    sessions: HashMap<u64, Session, ahash::RandomState>,
    anybody_named: bool,
}

/// What the arms say about one memory.
#[derive(Clone, Copy, Default)]
struct Seen {
    bm25_of_best: f32,
    cosine: f32,
    cosine_standardised: f32,
    nearest: Nearest,
    soft: f32,
    soft_squared: f32,
    /// Which of the query's parts it holds.
    matched: u32,
    /// How long it is for its speaker.
    length: f32,
    /// Whether it asks, against how often its speaker does.
    asks: f32,
}

/// What the candidates of one conversation say about it.
#[derive(Default)]
struct Session {
    cosine: MeanOfBest,
    matched: u32,
    nearest: Nearest,
}

impl<'a> Signals<'a> {
    /// Looks at the candidates as a whole: their sessions, whom the query names, the best of each kind.
    pub(crate) fn new(from: Evidence<'a>, soft: SoftMatch<'a>, candidates: &[u32]) -> Self {
        let lexical_best = from.lexical_best.iter().enumerate();
        let cue_best = from.cue_best.iter().enumerate();
        let mut signals = Self {
            lexical_ranks: lexical_best.map(|(rank, (document, _))| (*document, rank)).collect(),
            cue_ranks: cue_best.map(|(rank, (document, cosine))| (*document, (rank, *cosine))).collect(),
            best_bm25: from.lexical_best.first().map_or(0.0, |best| best.1),
            best_cosine: from.cue_best.first().map_or(0.0, |best| best.1),
            best_soft: 0.0,
            mean_cosine: 0.0,
            deviation_cosine: 1.0,
            places: HashMap::default(),
            seen: Vec::new(),
            beside: HashMap::default(),
            sessions: HashMap::default(),
            anybody_named: false,
            from,
            soft,
            met: Default::default(),
        };
        let table = signals.from.table;
        let sample = signals.cosines(&table.sample().collect::<Vec<u32>>());
        (signals.mean_cosine, signals.deviation_cosine) =
            spread(&mut sample.into_iter().flatten().collect::<Vec<f32>>());
        signals.look_at(candidates);
        for document in candidates {
            let Some(held) = table.document(*document) else { continue };
            let Some(seen) = signals.seen(*document).copied() else { continue };
            signals.best_soft = signals.best_soft.max(seen.soft);
            signals.anybody_named |= signals.names(held.speaker());
            if held.session() != 0 {
                let session = signals.sessions.entry(held.session()).or_default();
                session.cosine.push(seen.cosine_standardised);
                session.matched |= seen.matched;
                session.nearest.join(&seen.nearest);
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
        !name.is_empty() && name.iter().all(|word| self.from.names.contains(word))
    }

    /// The best cosine of each document; their rows are fetched ahead of their turn, two a document.
    fn cosines(&self, documents: &[u32]) -> Vec<Option<f32>> {
        let rows = |document: &u32| match self.cue_ranks.get(document) {
            Some(_) => 0..0,
            None => self.from.table.document(*document).map_or(0..0, Document::rows),
        };
        let rows: Vec<Range<usize>> = documents.iter().map(rows).collect();
        let cosine = |(n, document): (usize, &u32)| {
            let ahead = rows.get(n + AHEAD / 2).cloned().unwrap_or_default();
            ahead.for_each(|row| self.from.cues.prefetch(row));
            let known = self.cue_ranks.get(document).map(|(_, cosine)| *cosine);
            known.or_else(|| self.from.cues.cosine(self.from.vector?, rows[n].clone()))
        };
        documents.iter().enumerate().map(cosine).collect()
    }

    /// Looks at documents whose features will be asked for, and at what was said beside each, all at once: most of the
    /// time goes into waiting for memory.
    pub(crate) fn look_at(&mut self, documents: &[u32]) {
        let (table, graph) = (self.from.table, self.from.graph);
        documents.iter().for_each(|document| table.prefetch_slot_of(*document));
        let slots: Vec<Option<u32>> = documents.iter().map(|document| table.slot_of(*document)).collect();
        slots.iter().flatten().for_each(|slot| graph.prefetch_beside(*slot));
        let slot_beside = |slot: &Option<u32>| slot.map_or([None; 2], |slot| graph.beside(slot));
        let beside: Vec<[Option<u32>; 2]> = slots.iter().map(slot_beside).collect();
        beside.iter().flatten().flatten().for_each(|slot| table.prefetch_current(*slot));
        let current = |slot: Option<u32>| table.current(slot?);
        self.beside.extend(documents.iter().copied().zip(beside.into_iter().map(|slots| slots.map(current))));

        let beside = documents.iter().filter_map(|document| self.beside.get(document)).flatten().flatten();
        let mut around: Vec<u32> = beside.chain(documents).copied().collect();
        around.sort_unstable();
        around.dedup();
        around.retain(|document| !self.places.contains_key(document));
        self.see_all(&around);
        for held in documents.iter().filter_map(|document| table.document(*document)) {
            prefetch(held.speaker());
            prefetch(held.entities());
        }
    }

    /// Works out what the arms say about documents.
    fn see_all(&mut self, documents: &[u32]) {
        let mut met = std::mem::take(&mut self.met);
        let [here, there] = &mut met;
        let threads = if documents.len() < SIDE_BY_SIDE_MIN { Threads::One } else { self.from.threads };
        // One thread meets every piece once.
        let parts = if threads == Threads::One { 1 } else { 2 };
        let (front, back) = documents.split_at(documents.len() / parts);
        let (front, back) = threads.both(|| self.see(front, here), || self.see(back, there));
        self.met = met;
        for (document, seen) in front.into_iter().chain(back) {
            self.places.insert(document, self.seen.len());
            self.seen.push(seen);
        }
    }

    /// What the arms say about each of some documents.
    fn see(&self, documents: &[u32], met: &mut Met) -> Vec<(u32, Seen)> {
        let (table, lexical) = (self.from.table, self.from.lexical);
        documents.iter().filter_map(|document| table.document(*document)).for_each(Document::prefetch);
        documents.iter().for_each(|document| lexical.prefetch(*document));
        let mut all = Vec::with_capacity(documents.len());
        for (n, (document, cosine)) in documents.iter().zip(self.cosines(documents)).enumerate() {
            let ahead = documents.get(n + AHEAD).and_then(|document| table.document(*document));
            if let Some(ahead) = ahead {
                prefetch(ahead.tokens());
                prefetch(ahead.speaker());
            }
            let Some(held) = table.document(*document) else { continue };
            let deviations = cosine.map_or(0.0, |cosine| (cosine - self.mean_cosine) / self.deviation_cosine);
            let nearest = self.soft.of(held, met);
            let (soft, soft_squared) = self.soft.mean(&nearest);
            let bm25 = lexical.score(*document);
            let (length, asks) = table.habits().relative(held);
            let seen = Seen {
                bm25_of_best: if self.best_bm25 > 0.0 { bm25 / self.best_bm25 } else { 0.0 },
                cosine: cosine.unwrap_or(0.0),
                cosine_standardised: deviations.clamp(-STANDARDISED_MAX, STANDARDISED_MAX) / STANDARDISED_MAX,
                nearest,
                soft,
                soft_squared,
                matched: lexical.matched(*document),
                length,
                asks,
            };
            all.push((*document, seen));
        }
        all
    }

    /// What the arms say about a document that was looked at.
    fn seen(&self, document: u32) -> Option<&Seen> {
        self.seen.get(*self.places.get(&document)?)
    }

    /// The features of a memory that was looked at.
    pub(crate) fn of(&self, document: u32, held: Document<'_>) -> Features {
        let lexical = self.from.lexical;
        let nothing = Seen::default();
        let seen = |document: Option<u32>| document.and_then(|document| self.seen(document)).unwrap_or(&nothing);
        let beside = self.beside.get(&document).copied().unwrap_or_default();
        let (own, [previous, next]) = (seen(Some(document)), beside.map(seen));
        let cosine_of_best = if self.best_cosine > 0.0 { own.cosine / self.best_cosine } else { 0.0 };
        let with_previous = own.matched | previous.matched;
        let session = self.sessions.get(&held.session());
        let of_session = session.map_or(own.matched, |session| session.matched | own.matched);
        let session_cosine = session.map_or(0.0, |session| session.cosine.mean());
        let soft_with = |others: &[&Nearest]| {
            let mut joined = own.nearest;
            others.iter().for_each(|other| joined.join(other));
            self.soft.mean(&joined).0
        };
        let speaker_named = self.names(held.speaker());
        let entity_named = held.entities().iter().any(|word| self.from.names.contains(word));
        let rank = |rank: Option<usize>| rank.map_or(0.0, |rank| 1.0 / (1.0 + rank as f32));
        let of_ceiling = |bm25: f32| if lexical.ceiling > 0.0 { (bm25 / lexical.ceiling).min(1.5) } else { 0.0 };
        [
            of_ceiling(lexical.score(document)),
            own.bm25_of_best,
            own.cosine,
            own.cosine_standardised,
            own.bm25_of_best * cosine_of_best,
            previous.bm25_of_best,
            previous.cosine_standardised,
            next.bm25_of_best,
            next.cosine_standardised,
            session_cosine,
            truth(speaker_named),
            truth(!speaker_named && self.anybody_named),
            truth(entity_named),
            own.length,
            own.asks,
            previous.asks,
            (1.0 + lexical.parts() as f32).ln() / 3.0,
            rank(self.lexical_ranks.get(&document).copied()),
            rank(self.cue_ranks.get(&document).map(|(rank, _)| *rank)),
            lexical.coverage(own.matched),
            lexical.coverage(with_previous),
            lexical.coverage(with_previous | next.matched),
            lexical.coverage(of_session),
            truth(own.matched & 1 == 1),
            own.soft,
            own.soft_squared,
            if self.best_soft > 0.0 { own.soft / self.best_soft } else { 0.0 },
            previous.soft,
            next.soft,
            soft_with(&[&previous.nearest, &next.nearest]),
            session.map_or(own.soft, |session| soft_with(&[&session.nearest])),
            previous.length,
            next.length,
            next.asks,
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

/// The mean of the largest values; those that are missing count as zero.
#[derive(Default)]
struct MeanOfBest {
    /// Largest first; the first `held` are there.
    best: [f32; SESSION_BEST],
    held: usize,
}

impl MeanOfBest {
    fn push(&mut self, value: f32) {
        let at = self.best[..self.held].partition_point(|better| *better >= value);
        if at < SESSION_BEST {
            self.held = (self.held + 1).min(SESSION_BEST);
            self.best[at..self.held].rotate_right(1);
            self.best[at] = value;
        }
    }

    fn mean(&self) -> f32 {
        self.best.iter().sum::<f32>() / SESSION_BEST as f32
    }
}

/// Mean and standard deviation, the same whatever the order; the deviation is at least [`DEVIATION_MIN`].
fn spread(values: &mut [f32]) -> (f32, f32) {
    if values.is_empty() {
        return (0.0, 1.0);
    }
    values.sort_by(f32::total_cmp);
    let count = values.len() as f64;
    let mean = values.iter().map(|value| f64::from(*value)).sum::<f64>() / count;
    let variance = values.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>() / count;
    (mean as f32, variance.sqrt().max(DEVIATION_MIN) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_a_session_are_kept_whatever_the_order() {
        for values in [[0.5, -1.0, 0.25, 2.0, 0.0], [2.0, 0.5, 0.25, 0.0, -1.0], [-1.0, 0.0, 0.25, 0.5, 2.0]] {
            let mut best = MeanOfBest::default();
            values.into_iter().for_each(|value| best.push(value));
            assert_eq!(best.best, [2.0, 0.5, 0.25]);
        }
        let mut few = MeanOfBest::default();
        few.push(-0.6);
        assert!((few.mean() + 0.2).abs() < 1e-6);
    }

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
