//! The candidates of one query, in the order of their probability.

use std::collections::HashMap;

use crate::arms::graph::{EXPANDED_HITS, NEIGHBOURS_MAX, ReachedFrom};
use crate::filter::TimeField;
use crate::hash::PathHash;
use crate::ids::DocumentId;
use crate::index::Table;
use crate::memory::Millis;
use crate::ranking::calibration::{log_odds, probability, probability_of, reading_contribution};
use crate::ranking::features::Features;
use crate::ranking::signals::Signals;
use crate::reranker::{Judgement, ReadScore};

/// The candidates of one query, ranked.
pub(super) struct Ranking<'a> {
    pub(super) table: &'a Table,
    pub(super) signals: Signals<'a>,
    /// The candidates, best first.
    pub(super) candidates: Vec<Candidate>,
    /// The features of all candidates, in the order in which they were ranked.
    pub(super) features: Vec<Features>,
    /// The documents that the graph arm found, each with the hit that it was reached from.
    pub(super) reached_from: HashMap<DocumentId, ReachedFrom>,
}

/// The positions of candidates, from 0.
pub(super) type Positions = HashMap<DocumentId, usize, ahash::RandomState>;

/// A candidate, and what it is ranked by.
pub(super) struct Candidate {
    pub(super) document: DocumentId,
    pub(super) score: f32,
    /// What the score is made from if the memory was read.
    pub(super) read: Option<ReadScore>,
    /// What the reading added to the log-odds of the score; zero if the memory was not read.
    pub(super) added: f64,
    updated: Millis,
    path: PathHash,
    /// The index of its features.
    pub(super) features: usize,
}

impl Candidate {
    /// Returns the score by the features and the reading alone. Currency may have changed it.
    pub(super) fn score_by_evidence(&self, features: &Features) -> f32 {
        let before = probability(features);
        if self.added == 0.0 { before } else { probability_of(log_odds(before) + self.added) }
    }

    /// Orders by score, highest first, then by time, newest first, then by the path's hash, so that the order never
    /// depends on chance.
    fn order(a: &Self, b: &Self) -> std::cmp::Ordering {
        b.score.total_cmp(&a.score).then_with(|| b.updated.cmp(&a.updated)).then_with(|| a.path.cmp(&b.path))
    }
}

impl<'a> Ranking<'a> {
    /// Ranks the candidates. `signals` are theirs.
    pub(super) fn new(table: &'a Table, signals: Signals<'a>, candidates: &[DocumentId]) -> Self {
        let candidates_max = candidates.len() + EXPANDED_HITS * NEIGHBOURS_MAX;
        let mut ranking = Self {
            table,
            signals,
            candidates: Vec::with_capacity(candidates_max),
            features: Vec::with_capacity(candidates_max),
            reached_from: HashMap::new(),
        };
        ranking.rank(candidates);
        ranking
    }

    /// Ranks documents whose signals were added, among those that were ranked before.
    pub(super) fn rank(&mut self, documents: &[DocumentId]) {
        for id in documents.iter().copied() {
            let Some(document) = self.table.document(id) else { continue };
            let features = self.signals.features(id, document);
            self.candidates.push(Candidate {
                document: id,
                score: probability(&features),
                read: None,
                added: 0.0,
                updated: document.time(TimeField::Updated),
                path: document.path(),
                features: self.features.len(),
            });
            self.features.push(features);
        }
        self.sort();
    }

    /// Sets the recency of a candidate, and with it its score. The caller sorts.
    pub(super) fn set_recency(&mut self, index: usize, recency: f32) {
        let Some(candidate) = self.candidates.get_mut(index) else { return };
        let features = &mut self.features[candidate.features];
        features.recency = recency;
        candidate.score = probability(features);
    }

    /// Adds what the reading of a candidate's memory says to the log-odds of its score. The caller sorts.
    pub(super) fn add_reading(&mut self, index: usize, judgement: Judgement) {
        let Some(candidate) = self.candidates.get_mut(index) else { return };
        let Judgement { log_odds: reader, is_in_parts, is_exact } = judgement;
        let read = ReadScore { before: log_odds(candidate.score), reader, is_in_parts };
        let added = reading_contribution(&self.features[candidate.features], read);
        candidate.read = Some(read);
        candidate.added = if is_exact { added.max(0.0) } else { added };
        candidate.score = candidate.score_by_evidence(&self.features[candidate.features]);
    }

    /// Sorts the candidates, best first.
    pub(super) fn sort(&mut self) {
        self.candidates.sort_unstable_by(Candidate::order);
    }

    pub(super) fn is_candidate(&self, document: DocumentId) -> bool {
        self.position(document).is_some()
    }

    /// Returns the position of a candidate, from 0; `None` if the document is not a candidate.
    pub(super) fn position(&self, document: DocumentId) -> Option<usize> {
        self.candidates.iter().position(|candidate| candidate.document == document)
    }

    /// Returns the position of every candidate. Valid until the candidates are sorted.
    pub(super) fn positions(&self) -> Positions {
        let mut positions = Positions::default();
        positions.reserve(self.candidates.len());
        for (position, candidate) in self.candidates.iter().enumerate() {
            positions.insert(candidate.document, position);
        }
        positions
    }
}
