//! Explanations: what the score of a candidate was made from.
//!
//! Nothing here runs for a search that does not ask for it. The parts of the score come from the same features and
//! coefficients as the score itself; what the arms knew is looked up again for one memory.

use super::prepared::Search;
use super::ranking::{Candidate, Ranking};
use crate::arms::lexical::terms::{TermMatch, TermScores};
use crate::error::Result;
use crate::ids::DocumentId;
use crate::index::Document;
use crate::memory::{Memory, Relation};
use crate::query::Explain;
use crate::ranking::calibration::{base_log_odds, contributions, log_odds};
use crate::ranking::groups::{Contribution, FeatureGroup};

/// Why a memory has its score.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    /// The arms that found the memory. Empty for a memory that was ranked because it superseded a found one.
    pub arms: Vec<ArmRank>,
    /// The memory's cue that is nearest to the query. `None` if the query or the memory has no vector.
    pub cue: Option<NearestCue>,
    /// The parts of the query that the memory holds, the rarest first. Their sum is the score of the lexical arm.
    pub terms: Vec<TermMatch>,
    /// The relation by which the graph arm reached the memory.
    pub relation: Option<FollowedRelation>,
    /// The log-odds before any evidence. With the contributions, it sums to the log-odds of the score.
    pub base_log_odds: f64,
    /// What each group of features adds, in the order of [`FeatureGroup::ALL`].
    pub contributions: Vec<Contribution>,
}

/// An arm that found a memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArmRank {
    /// The arm.
    pub arm: Arm,
    /// The rank in the arm, from 1. The graph arm does not rank: this is the rank of the hit that it started from.
    /// `None` for a memory that is not among the arm's best.
    pub rank: Option<usize>,
    /// BM25 for the lexical arm and the cosine for the cue arm. The graph arm has no score.
    pub score: Option<f32>,
}

/// A way of finding memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// By the words of the query.
    Lexical,
    /// By a cue near the query's vector.
    Cue,
    /// By a relation to one of the best hits.
    Graph,
}

/// The cue that is nearest to a query.
#[derive(Clone, Debug, PartialEq)]
pub struct NearestCue {
    /// The text. `None` if some cues of the memory have no vector: the index does not record which.
    pub text: Option<String>,
    /// The cosine of its vector and the query's.
    pub cosine: f32,
}

/// A relation between a memory and a hit of another arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowedRelation {
    /// The path of the hit.
    pub from: String,
    /// The kind of the relation, which either of the two memories has.
    pub kind: String,
}

impl<'a> Search<'a> {
    /// Prepares the explanations of hits; `None` if the query asks for none.
    pub(super) fn term_scores(&self) -> Option<TermScores<'a>> {
        match self.query.explain {
            Explain::No => None,
            Explain::Yes => Some(TermScores::new(&self.snapshot.table, &self.query)),
        }
    }

    /// Explains the score of a candidate. `memory` is the candidate's.
    pub(super) fn explanation(
        &self,
        ranking: &Ranking<'_>,
        candidate: &Candidate,
        memory: &Memory,
        terms: &TermScores<'_>,
    ) -> Result<Explanation> {
        let id = candidate.document;
        let mut cue = None;
        if let Some(document) = ranking.table.document(id) {
            cue = self.nearest_cue(document, memory);
        }
        Ok(Explanation {
            arms: arms(ranking, id),
            cue,
            terms: terms.of(id),
            relation: self.followed_relation(ranking, id, memory)?,
            base_log_odds: base_log_odds(&ranking.features[candidate.features]),
            contributions: contributions_to(ranking, candidate),
        })
    }

    fn nearest_cue(&self, document: Document<'_>, memory: &Memory) -> Option<NearestCue> {
        let vector = self.vector.as_ref()?;
        let rows = document.rows();
        let mut nearest: Option<(usize, f32)> = None;
        for (index, row) in rows.start.until(rows.end).enumerate() {
            let Some(cosine) = self.snapshot.cues.cosine(vector, row..row.after(1)) else { continue };
            if nearest.is_none_or(|(_, highest)| cosine > highest) {
                nearest = Some((index, cosine));
            }
        }
        let (index, cosine) = nearest?;
        let mut text = None;
        if document.row_count() == memory.cues.len()
            && let Some(cue) = memory.cues.get(index)
        {
            text = Some(cue.text.clone());
        }
        Some(NearestCue { text, cosine })
    }

    /// Returns the relation by which the graph arm reached a candidate.
    fn followed_relation(
        &self,
        ranking: &Ranking<'_>,
        id: DocumentId,
        memory: &Memory,
    ) -> Result<Option<FollowedRelation>> {
        let Some(reached_from) = ranking.reached_from.get(&id) else { return Ok(None) };
        let Some(document) = ranking.table.document(reached_from.hit) else { return Ok(None) };
        let from = self.snapshot.memory(document)?;
        let kind = match relation_to(memory, &from.path).or(relation_to(&from, &memory.path)) {
            Some(relation) => relation.kind.clone(),
            None => return Ok(None),
        };
        Ok(Some(FollowedRelation { from: from.path, kind }))
    }
}

fn relation_to<'m>(memory: &'m Memory, path: &str) -> Option<&'m Relation> {
    memory.relations.iter().find(|relation| relation.path == path)
}

fn arms(ranking: &Ranking<'_>, id: DocumentId) -> Vec<ArmRank> {
    let mut arms = Vec::new();
    if ranking.signals.has_lexical(id) {
        let rank = ranking.signals.lexical_rank(id).map(|rank| rank + 1);
        arms.push(ArmRank { arm: Arm::Lexical, rank, score: Some(ranking.signals.bm25(id)) });
    }
    if let Some((rank, cosine)) = ranking.signals.cue_rank(id) {
        arms.push(ArmRank { arm: Arm::Cue, rank: Some(rank + 1), score: Some(cosine) });
    }
    if let Some(reached_from) = ranking.reached_from.get(&id) {
        arms.push(ArmRank { arm: Arm::Graph, rank: Some(reached_from.rank), score: None });
    }
    arms
}

/// Returns what each group of features adds to the log-odds of a candidate's score. If the score was lowered below that
/// of what superseded the candidate, or raised to that of what it superseded, the difference belongs to the validity.
fn contributions_to(ranking: &Ranking<'_>, candidate: &Candidate) -> Vec<Contribution> {
    let features = &ranking.features[candidate.features];
    let mut contributions = contributions(features);
    for contribution in &mut contributions {
        if contribution.group == FeatureGroup::Reader {
            contribution.log_odds += candidate.added;
        }
    }
    if candidate.score == candidate.score_by_evidence(features) {
        return contributions;
    }
    let by_features: f64 = base_log_odds(features) + contributions.iter().map(|part| part.log_odds).sum::<f64>();
    for contribution in &mut contributions {
        if contribution.group == FeatureGroup::Validity {
            contribution.log_odds += log_odds(candidate.score) - by_features;
        }
    }
    contributions
}
