//! The features of a candidate: numbers about the memory, and a few about the query.
//!
//! Every feature is relative: to the query's best or ceiling, to its candidates, or to the distribution of cosines in a
//! sample of the namespace. A feature therefore means the same in a namespace of fifty memories and of a hundred thousand.

use super::signals::{CandidateSignals, Signals};
use crate::index::Document;

/// The names of the features, in the order of [`Features`].
pub const FEATURE_NAMES: [&str; 38] = [
    "bm25_of_ceiling",
    "bm25_of_best",
    "cosine",
    "cosine_standardised",
    "agreement",
    "previous_bm25",
    "previous_cosine",
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
    "coverage_with_previous",
    "coverage_of_session",
    "rarest_term",
    "soft_match",
    "soft_match_squared",
    "soft_match_of_best",
    "previous_soft_match",
    "next_soft_match",
    "soft_match_with_neighbours",
    "soft_match_with_neighbours_standing",
    "soft_match_of_session",
    "previous_length",
    "next_length",
    "next_asks",
    "time_named",
    "query_best_bm25_of_ceiling",
    "query_best_cosine",
    "query_best_soft_match",
    "query_unknown",
    "query_others_stand_out",
];

/// One number for each of [`FEATURE_NAMES`].
pub type Features = [f32; FEATURE_NAMES.len()];

impl Signals<'_> {
    /// Returns the features of a document whose signals were added.
    pub(crate) fn features(&self, number: u32, document: Document<'_>) -> Features {
        let lexical = self.evidence.lexical;
        let empty = CandidateSignals::default();
        let [previous, next] = self.neighbours(number);
        let own = self.get_or(Some(number), &empty);
        let (previous, next) = (self.get_or(previous, &empty), self.get_or(next, &empty));
        let cosine_of_best = if self.best_cosine > 0.0 { own.cosine / self.best_cosine } else { 0.0 };
        let in_session = self.in_session(own, document.session());
        let speaker_named = self.is_named(document.speaker());
        let entity_named = document.entities().iter().any(|word| self.evidence.names.contains(word));
        let time_named = match self.evidence.times {
            Some(times) => times.log_likelihood_ratio(document),
            None => 0.0,
        };
        [
            self.of_ceiling(lexical.score(number)),
            own.bm25_of_best,
            own.cosine,
            own.cosine_standardised,
            own.bm25_of_best * cosine_of_best,
            previous.bm25_of_best,
            previous.cosine_standardised,
            next.cosine_standardised,
            in_session.cosine,
            one_if(speaker_named),
            one_if(!speaker_named && self.any_speaker_named),
            one_if(entity_named),
            own.length,
            own.asks,
            previous.asks,
            (1.0 + lexical.part_count() as f32).ln() / 3.0,
            reciprocal_rank(self.lexical_ranks.get(&number).copied()),
            reciprocal_rank(self.cue_ranks.get(&number).map(|(rank, _)| *rank)),
            lexical.coverage(own.matched | previous.matched),
            lexical.coverage(in_session.matched),
            one_if(own.matched & 1 == 1),
            own.soft,
            own.soft_squared,
            if self.best_soft > 0.0 { own.soft / self.best_soft } else { 0.0 },
            previous.soft,
            next.soft,
            own.soft_with_neighbours,
            self.standing(own.soft_with_neighbours),
            in_session.soft,
            previous.length,
            next.length,
            next.asks,
            time_named,
            self.of_ceiling(self.best_bm25),
            self.best_cosine,
            self.best_soft,
            lexical.unknown_share,
            self.others_stand_out,
        ]
    }

    /// Combines a memory's signals with those of the candidates of its session.
    fn in_session(&self, own: &CandidateSignals, session: u64) -> InSession {
        let Some(session) = self.sessions.get(&session) else {
            return InSession { matched: own.matched, cosine: 0.0, soft: own.soft };
        };
        let mut best_cosines = own.best_cosines;
        best_cosines.merge(&session.best_cosines);
        InSession {
            matched: own.matched | session.matched,
            cosine: session.cosine.mean(),
            soft: self.soft_match.mean(&best_cosines).0,
        }
    }

    /// Returns the signals of a document, or `default` if there are none.
    fn get_or<'s>(&'s self, number: Option<u32>, default: &'s CandidateSignals) -> &'s CandidateSignals {
        match number {
            Some(number) => self.get(number).unwrap_or(default),
            None => default,
        }
    }

    /// Returns a BM25 score relative to the ceiling of the query.
    fn of_ceiling(&self, bm25: f32) -> f32 {
        let ceiling = self.evidence.lexical.ceiling;
        if ceiling > 0.0 { (bm25 / ceiling).min(1.5) } else { 0.0 }
    }
}

/// What a memory and the candidates of its session hold together.
struct InSession {
    /// The parts of the query that any of them holds.
    matched: u32,
    /// The mean of the candidates' highest standardised cosines.
    cosine: f32,
    soft: f32,
}

/// Returns 1 for the first rank, less for later ones, and 0 for none.
fn reciprocal_rank(rank: Option<usize>) -> f32 {
    match rank {
        Some(rank) => 1.0 / (1.0 + rank as f32),
        None => 0.0,
    }
}

fn one_if(condition: bool) -> f32 {
    f32::from(u8::from(condition))
}
