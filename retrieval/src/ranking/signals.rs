//! What the arms say about the candidates, and about what stands next to them.

use std::collections::HashMap;
use std::ops::Range;

use super::naming::roles;
use super::premise::{Told, others_stand_out};
use super::session::Session;
use crate::arms::cue::{CueTable, Row};
use crate::arms::graph::Graph;
use crate::arms::lexical::LexicalScores;
use crate::arms::soft::{Met, Nearest, SoftMatch};
use crate::arms::time::NamedTimes;
use crate::index::{Document, Table};
use crate::kernels::{AHEAD, prefetch};
use crate::threads::Threads;

/// Cosines that differ by less than this differ by chance: rows are rounded.
const DEVIATION_MIN: f64 = 0.02;
/// Standardised cosines are cut off here and divided by it.
const STANDARDISED_MAX: f32 = 6.0;
/// What the mean of the candidates' soft matches with neighbours usually is, and as how many candidates that counts: where
/// there are few, their own mean says little.
const USUAL_TOGETHER: f32 = 0.35;
const USUAL_TOGETHER_COUNT: f32 = 8.0;
/// Where the best is nearer to the mean than this, nothing stands out.
const TOGETHER_RANGE_MIN: f32 = 0.3;
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
    /// The times that the query names, where something is of about then.
    pub(crate) times: Option<&'a NamedTimes<'a>>,
    /// The best of each arm, best first.
    pub(crate) lexical_best: &'a [(u32, f32)],
    pub(crate) cue_best: &'a [(u32, f32)],
    /// How many threads look at documents.
    pub(crate) threads: Threads,
}

/// What the arms say about the candidates of one query, and about what stands next to them.
pub(crate) struct Signals<'a> {
    pub(super) from: Evidence<'a>,
    pub(super) soft: SoftMatch<'a>,
    /// One for each of two threads.
    met: [Met; 2],
    pub(super) best_bm25: f32,
    pub(super) best_cosine: f32,
    pub(super) best_soft: f32,
    /// The mean and the best of the candidates' [`Seen::soft_with_neighbours`], the mean with [`USUAL_TOGETHER`] in it.
    mean_together: f32,
    best_together: f32,
    mean_cosine: f32,
    deviation_cosine: f32,
    pub(super) lexical_ranks: HashMap<u32, usize, ahash::RandomState>,
    /// Place and cosine of the cue arm's best.
    pub(super) cue_ranks: HashMap<u32, (usize, f32), ahash::RandomState>,
    /// Where each document looked at so far stands in `seen`.
    places: HashMap<u32, usize, ahash::RandomState>,
    seen: Vec<Seen>,
    /// The memories said right before and right after each document looked at so far.
    pub(super) beside: HashMap<u32, [Option<u32>; 2], ahash::RandomState>,
    pub(super) sessions: HashMap<u64, Session, ahash::RandomState>,
    pub(super) anybody_named: bool,
    /// How much better others' memories meet the query than those of whom it names.
    pub(super) others_stand_out: f32,
}

/// What the arms say about one memory.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) bm25_of_best: f32,
    pub(super) cosine: f32,
    pub(super) cosine_standardised: f32,
    pub(super) nearest: Nearest,
    pub(super) soft: f32,
    pub(super) soft_squared: f32,
    /// The soft match of its words and of what was said right before and after it, together; of those only whose
    /// features are asked for.
    pub(super) soft_with_neighbours: f32,
    /// Which of the query's parts it holds.
    pub(super) matched: u32,
    /// How long it is for its speaker.
    pub(super) length: f32,
    /// Whether it asks, against how often its speaker does.
    pub(super) asks: f32,
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
            mean_together: 0.0,
            best_together: 0.0,
            mean_cosine: 0.0,
            deviation_cosine: 1.0,
            places: HashMap::default(),
            seen: Vec::new(),
            beside: HashMap::default(),
            sessions: HashMap::default(),
            anybody_named: false,
            others_stand_out: 0.0,
            from,
            soft,
            met: Default::default(),
        };
        let table = signals.from.table;
        let sample = signals.cosines(&table.sample().collect::<Vec<u32>>());
        (signals.mean_cosine, signals.deviation_cosine) =
            spread(&mut sample.into_iter().flatten().collect::<Vec<f32>>());
        signals.look_at(candidates);
        let roles = roles();
        let is_person = |speaker: &[u64]| !speaker.is_empty() && !matches!(speaker, [name] if roles.contains(name));
        let mut told = Vec::with_capacity(candidates.len());
        for document in candidates {
            let Some(held) = table.document(*document) else { continue };
            let Some(seen) = signals.seen(*document).copied() else { continue };
            signals.best_soft = signals.best_soft.max(seen.soft);
            let (speaker, session) = (held.speaker(), held.session());
            let named = signals.names(speaker);
            signals.anybody_named |= named;
            if is_person(speaker) {
                told.push(Told { named, session, soft_match: seen.soft });
            }
            if session != 0 {
                let session = signals.sessions.entry(session).or_default();
                session.cosine.push(seen.cosine_standardised);
                session.matched |= seen.matched;
                session.nearest.join(&seen.nearest);
            }
        }
        signals.others_stand_out = others_stand_out(&told);
        let seen = candidates.iter().filter_map(|document| signals.seen(*document));
        let mut together: Vec<f32> = seen.map(|seen| seen.soft_with_neighbours).collect();
        let count = together.len() as f32;
        let (mean, _) = spread(&mut together);
        signals.mean_together = (mean * count + USUAL_TOGETHER * USUAL_TOGETHER_COUNT) / (count + USUAL_TOGETHER_COUNT);
        // In order now.
        signals.best_together = together.last().copied().unwrap_or_default();
        signals
    }

    /// Where a soft match with neighbours stands among the candidates': 0 at their mean, 1 at the best if it stands out.
    pub(super) fn standing(&self, soft_with_neighbours: f32) -> f32 {
        (soft_with_neighbours - self.mean_together) / (self.best_together - self.mean_together).max(TOGETHER_RANGE_MIN)
    }

    pub(crate) fn has_lexical(&self, document: u32) -> bool {
        self.from.lexical.score(document) > 0.0
    }

    pub(crate) fn has_cue(&self, document: u32) -> bool {
        self.cue_ranks.contains_key(&document)
    }

    /// Whether the query holds every word of a name.
    pub(super) fn names(&self, name: &[u64]) -> bool {
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
        for document in documents {
            let Some(&own) = self.places.get(document) else { continue };
            let mut nearest = self.seen[own].nearest;
            let beside = self.beside.get(document).copied().unwrap_or_default();
            let beside = beside.into_iter().flatten().filter_map(|beside| self.seen(beside));
            beside.for_each(|seen| nearest.join(&seen.nearest));
            self.seen[own].soft_with_neighbours = self.soft.mean(&nearest).0;
        }
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
                soft_with_neighbours: 0.0,
                matched: lexical.matched(*document),
                length,
                asks,
            };
            all.push((*document, seen));
        }
        all
    }

    /// What the arms say about a document that was looked at.
    pub(super) fn seen(&self, document: u32) -> Option<&Seen> {
        self.seen.get(*self.places.get(&document)?)
    }
}

/// Mean and standard deviation, the same whatever the order; the deviation is at least [`DEVIATION_MIN`].
pub(super) fn spread(values: &mut [f32]) -> (f32, f32) {
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
    fn the_spread_does_not_depend_on_the_order() {
        let (mean, deviation) = spread(&mut [3.0, 1.0]);
        assert!((mean - 2.0).abs() < 1e-6 && (deviation - 1.0).abs() < 1e-3);
        assert_eq!(spread(&mut []), (0.0, 1.0));
        let values: Vec<f32> = (0..100u16).map(|n| (f32::from(n) * 0.37).sin()).collect();
        let reversed: Vec<f32> = values.iter().rev().copied().collect();
        assert_eq!(spread(&mut values.clone()), spread(&mut reversed.clone()));
    }
}
