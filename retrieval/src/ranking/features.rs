//! The features of a candidate: numbers about the memory, and a few about the query.
//!
//! Every feature is relative: to the query's best or ceiling, to its candidates, or to the distribution of cosines in a
//! sample of the namespace. A feature therefore means the same in a namespace of fifty memories and of a hundred
//! thousand.

use super::claims::Standing;
use super::groups::{Contribution, FeatureGroup};
use super::signals::{CandidateSignals, Pieces, Signals, Vectors, of_best};
use crate::hash::SessionHash;
use crate::ids::DocumentId;
use crate::index::Document;

/// Declares the features: their struct, their names and their groups, in one order. Every file of `coefficients` names
/// every field of the struct, so it does not compile with a feature too few, too many or of another name.
macro_rules! features {
    ($($(#[$documentation:meta])* $name:ident: $group:ident,)*) => {
        /// The features of a candidate. A score is computed from them alone.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Features {
            $($(#[$documentation])* pub $name: f32,)*
        }

        /// The names of the features, in the order of [`Features::values`].
        pub const FEATURE_NAMES: [&str; [$(stringify!($name)),*].len()] = [$(stringify!($name)),*];

        /// The group of each feature, in the order of [`FEATURE_NAMES`].
        const FEATURE_GROUPS: [FeatureGroup; FEATURE_NAMES.len()] = [$(FeatureGroup::$group),*];

        impl Features {
            /// Returns the values in the order of [`FEATURE_NAMES`].
            pub fn values(&self) -> [f32; FEATURE_NAMES.len()] {
                [$(self.$name),*]
            }

            /// Returns the sum of the features, each times its weight, added in the order of their names.
            pub(crate) fn weighted_sum(&self, weights: &Self) -> f32 {
                let mut sum = 0.0;
                $(sum += self.$name * weights.$name;)*
                sum
            }
        }
    };
}

features! {
    /// BM25 relative to the score of a memory that holds every part of the query ever more often; at most 1.5.
    bm25_of_ceiling: Words,
    /// BM25 relative to the query's best.
    bm25_of_best: Words,
    /// The highest cosine of the memory's cues and the query.
    cosine: Meaning,
    /// The cosine in deviations from the namespace's mean, clamped to 6 and divided by 6.
    cosine_standardised: Meaning,
    /// `bm25_of_best` times the cosine relative to the query's best cosine.
    agreement: Meaning,
    /// `bm25_of_best` of the previous memory.
    previous_bm25: Neighbours,
    /// `cosine_standardised` of the previous memory.
    previous_cosine: Neighbours,
    /// `cosine_standardised` of the next memory.
    next_cosine: Neighbours,
    /// The mean `cosine_standardised` of the session's best candidates.
    session_cosine: Session,
    /// 1 if the query names the memory's speaker.
    speaker_named: Speaker,
    /// 1 if the query names the speaker of other candidates, but not this one's.
    other_speaker_named: Speaker,
    /// 1 if the query holds a word of a name in the memory.
    entity_named: Speaker,
    /// The logarithm of the number of words, relative to what is usual for the speaker.
    length: Form,
    /// Whether the memory asks, minus how often its speaker asks.
    asks: Form,
    /// `asks` of the previous memory.
    previous_asks: Neighbours,
    /// The logarithm of the number of the query's parts that some memory holds.
    query_terms: Query,
    /// The reciprocal rank in the lexical arm; 0 if the arm did not find the memory.
    lexical_rank: Words,
    /// The reciprocal rank in the cue arm; 0 if the arm did not find the memory.
    cue_rank: Meaning,
    /// The share of the query's weight in the parts that the memory and the previous one hold.
    coverage_with_previous: Neighbours,
    /// The share of the query's weight in the parts that the memory and the candidates of its session hold.
    coverage_of_session: Session,
    /// 1 if the memory holds the query's rarest part.
    rarest_term: Words,
    /// The reciprocal of the number of memories that the lexical arm found; 0 if it did not find this one.
    sole_match: Words,
    /// The weighted mean of the best cosines of the query's word pieces.
    soft_match: WordSimilarity,
    /// The weighted mean of the squares of these cosines.
    soft_match_squared: WordSimilarity,
    /// `soft_match` relative to the query's best.
    soft_match_of_best: WordSimilarity,
    /// `soft_match` of the previous memory.
    previous_soft_match: Neighbours,
    /// `soft_match` of the next memory.
    next_soft_match: Neighbours,
    /// `soft_match` of the memory and its neighbours as one text.
    soft_match_with_neighbours: Neighbours,
    /// `soft_match_with_neighbours` relative to the candidates: 0 is their mean, 1 the best if it stands out.
    soft_match_with_neighbours_standing: Neighbours,
    /// `soft_match` of the memory and the candidates of its session as one text.
    soft_match_of_session: Session,
    /// The lowest of the best cosines of the query's heavier word pieces: what of the query the memory matches worst.
    weakest_match: WordSimilarity,
    /// `weakest_match` of the memory and its neighbours as one text.
    weakest_match_with_neighbours: Neighbours,
    /// `length` of the previous memory.
    previous_length: Neighbours,
    /// `length` of the next memory.
    next_length: Neighbours,
    /// `asks` of the next memory.
    next_asks: Neighbours,
    /// The logarithm of the likelihood ratio of the memory's time, if the query names times.
    time_named: Time,
    /// 1 if the memory says what held at the time in question about what the query asks for.
    claim_holds: Validity,
    /// 1 if it says what held at another time only.
    claim_outdated: Validity,
    /// 1 if the memory as a whole no longer holds.
    superseded: Validity,
    /// If the query asks how something is, how recent the memory is among the best candidates: from -1 to 1.
    recency: Time,
    /// The highest `bm25_of_ceiling` of the lexical arm.
    query_best_bm25_of_ceiling: Query,
    /// The highest cosine of the cue arm.
    query_best_cosine: Query,
    /// The highest `soft_match` of the candidates.
    query_best_soft_match: Query,
    /// The highest `weakest_match_with_neighbours` of the candidates.
    query_best_weakest_match: Query,
    /// The share of the query's weight in parts that no memory holds.
    query_unknown: Query,
    /// How much better others match the query than the speakers that it names.
    query_others_stand_out: Query,
    /// 1 if the memory is of no session and no speaker: a document, a note, a fact.
    is_document: Form,
    /// 1 if the memory is what a user and an assistant said in a chat.
    is_assistant_chat: Form,
    /// 1 if the built-in model does not know the language of the query: with the table, if the script is not Latin; with the
    /// encoder, if the language is not English.
    is_other_script: Query,
    /// 1 if there are no two vectors to compare: the query has none, for example while a model does not respond, or the
    /// memory waits for its own.
    is_without_vector: Query,
    /// 1 if cues are embedded by another model than the built-in table.
    is_other_model: Query,
    /// 1 if cues are embedded by the built-in encoder.
    is_encoder: Query,
}

impl Features {
    /// Returns what each group adds to the weighted sum, in the order of [`FeatureGroup::ALL`].
    pub(crate) fn contributions(&self, weights: &Self) -> Vec<Contribution> {
        let (values, weights) = (self.values(), weights.values());
        let mut contributions = FeatureGroup::ALL.map(|group| Contribution { group, log_odds: 0.0 });
        for (index, group) in FEATURE_GROUPS.into_iter().enumerate() {
            let product = f64::from(values[index]) * f64::from(weights[index]);
            for contribution in &mut contributions {
                if contribution.group == group {
                    contribution.log_odds += product;
                }
            }
        }
        contributions.to_vec()
    }
}

impl Signals<'_> {
    /// Returns the features of a document whose signals were added.
    pub(crate) fn features(&self, id: DocumentId, document: Document<'_>) -> Features {
        let lexical = self.evidence.lexical;
        let empty = CandidateSignals::default();
        let [previous, next] = self.neighbours(id);
        let own = self.get_or(Some(id), &empty);
        let (previous, next) = (self.get_or(previous, &empty), self.get_or(next, &empty));
        // A memory that a filter excludes can be better than the best that was found.
        let bm25_of_best = own.bm25_of_best.min(1.0);
        let cosine_of_best = of_best(own.cosine, self.best_cosine).min(1.0);
        let in_session = self.in_session(own, document.session());
        let speaker_named = self.is_named(document.speaker());
        let entity_named = document.entities().iter().any(|word| self.evidence.names.contains(word));
        let time_named = match self.evidence.times {
            Some(times) => times.log_likelihood_ratio(document),
            None => 0.0,
        };
        let standing = self.evidence.claims.standing(document);
        Features {
            bm25_of_ceiling: self.of_ceiling(lexical.score(id)),
            bm25_of_best,
            cosine: own.cosine,
            cosine_standardised: own.cosine_standardised,
            agreement: bm25_of_best * cosine_of_best,
            previous_bm25: previous.bm25_of_best,
            previous_cosine: previous.cosine_standardised,
            next_cosine: next.cosine_standardised,
            session_cosine: in_session.cosine,
            speaker_named: one_if(speaker_named),
            other_speaker_named: one_if(!speaker_named && self.any_speaker_named),
            entity_named: one_if(entity_named),
            length: own.length,
            asks: own.asks,
            previous_asks: previous.asks,
            query_terms: (1.0 + lexical.part_count() as f32).ln() / 3.0,
            lexical_rank: reciprocal_rank(self.lexical_ranks.get(&id).copied()),
            cue_rank: reciprocal_rank(self.cue_ranks.get(&id).map(|(rank, _)| *rank)),
            coverage_with_previous: lexical.coverage(own.matched | previous.matched),
            coverage_of_session: lexical.coverage(in_session.matched),
            rarest_term: one_if(own.matched & 1 == 1),
            sole_match: self.sole_match(id),
            soft_match: own.soft,
            soft_match_squared: own.soft_squared,
            soft_match_of_best: if self.best_soft > 0.0 { own.soft / self.best_soft } else { 0.0 },
            previous_soft_match: previous.soft,
            next_soft_match: next.soft,
            soft_match_with_neighbours: own.soft_with_neighbours,
            soft_match_with_neighbours_standing: self.standing(own.soft_with_neighbours),
            soft_match_of_session: in_session.soft,
            weakest_match: own.weakest,
            weakest_match_with_neighbours: own.weakest_with_neighbours,
            previous_length: previous.length,
            next_length: next.length,
            next_asks: next.asks,
            time_named,
            claim_holds: one_if(standing == Standing::Holding),
            claim_outdated: one_if(standing == Standing::Outdated),
            superseded: one_if(self.is_superseded(id)),
            recency: 0.0,
            query_best_bm25_of_ceiling: self.of_ceiling(self.best_bm25),
            query_best_cosine: self.best_cosine,
            query_best_soft_match: self.best_soft,
            query_best_weakest_match: self.best_weakest,
            query_unknown: lexical.unknown_share,
            query_others_stand_out: self.others_stand_out,
            is_document: one_if(document.session().is_none() && document.speaker().is_empty()),
            is_assistant_chat: one_if(self.is_chat_speaker(document.speaker())),
            is_other_script: one_if(self.evidence.pieces == Pieces::Unknown),
            is_without_vector: one_if(self.evidence.vector.is_none() || waits_for_vectors(document)),
            is_other_model: one_if(self.evidence.vectors != Vectors::Table),
            is_encoder: one_if(self.evidence.vectors == Vectors::Encoder),
        }
    }

    /// Combines a memory's signals with those of the candidates of its session.
    fn in_session(&self, own: &CandidateSignals, session: Option<SessionHash>) -> InSession {
        let Some(session) = session.and_then(|session| self.sessions.get(&session)) else {
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

    /// Returns 1 if the document is the only one that holds a word of the query, less if others do, and 0 if it holds
    /// none.
    fn sole_match(&self, id: DocumentId) -> f32 {
        if self.has_lexical(id) { 1.0 / self.lexical_ranks.len().max(1) as f32 } else { 0.0 }
    }

    /// Whether a document no longer holds. Most documents have no claims and replace nothing.
    fn is_superseded(&self, id: DocumentId) -> bool {
        !self.evidence.validity.holds(self.evidence.table, self.evidence.ledger, id)
    }

    /// Returns the signals of a document, or `default` if there are none.
    fn get_or<'s>(&'s self, id: Option<DocumentId>, default: &'s CandidateSignals) -> &'s CandidateSignals {
        match id {
            Some(id) => self.get(id).unwrap_or(default),
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

/// Whether a memory has cues, and the vectors of all of them are still to be computed.
fn waits_for_vectors(document: Document<'_>) -> bool {
    document.waiting() && document.rows().is_empty()
}

fn one_if(condition: bool) -> f32 {
    f32::from(u8::from(condition))
}
