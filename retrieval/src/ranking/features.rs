//! What is known of a candidate: numbers about it, and a few about the query.
//!
//! Every feature is relative to the query's own best or ceiling, to its candidates, or to the spread of cosines over a
//! sample of the namespace, so that it means the same in a namespace of fifty memories and in one of a hundred thousand.

use super::signals::{Seen, Signals};
use crate::index::Document;

/// The features' names, in the order of [`Features`].
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
    /// The features of a memory that was looked at.
    pub(crate) fn of(&self, document: u32, held: Document<'_>) -> Features {
        let lexical = self.from.lexical;
        let nothing = Seen::default();
        let seen = |document: Option<u32>| document.and_then(|document| self.seen(document)).unwrap_or(&nothing);
        let beside = self.beside.get(&document).copied().unwrap_or_default();
        let (own, [previous, next]) = (seen(Some(document)), beside.map(seen));
        let cosine_of_best = if self.best_cosine > 0.0 { own.cosine / self.best_cosine } else { 0.0 };
        let session = self.sessions.get(&held.session());
        let of_session = session.map_or(own.matched, |session| session.matched | own.matched);
        let session_cosine = session.map_or(0.0, |session| session.cosine.mean());
        let soft_of_session = session.map_or(own.soft, |session| {
            let mut joined = own.nearest;
            joined.join(&session.nearest);
            self.soft.mean(&joined).0
        });
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
            lexical.coverage(own.matched | previous.matched),
            lexical.coverage(of_session),
            truth(own.matched & 1 == 1),
            own.soft,
            own.soft_squared,
            if self.best_soft > 0.0 { own.soft / self.best_soft } else { 0.0 },
            previous.soft,
            next.soft,
            own.soft_with_neighbours,
            self.standing(own.soft_with_neighbours),
            soft_of_session,
            previous.length,
            next.length,
            next.asks,
            self.from.times.map_or(0.0, |times| times.likelihood(held)),
            of_ceiling(self.best_bm25),
            self.best_cosine,
            self.best_soft,
            lexical.unknown,
            self.others_stand_out,
        ]
    }
}

fn truth(value: bool) -> f32 {
    f32::from(u8::from(value))
}
