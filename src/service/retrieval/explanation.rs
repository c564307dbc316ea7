//! What made a score, as the API returns it.

use cuebase_retrieval::{ArmRank, Contribution, Explanation, FollowedRelation, NearestCue, TermMatch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arm::Arm;

/// What a score was made from.
///
/// The MCP tools read it from the response of a server. A field that the response lacks is empty.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(
    rename = "Explanation",
    description = "What a score was made from. `base_log_odds` and all `contributions` sum to the log-odds of the \
                   score, ln(score / (1 - score))."
)]
pub struct ExplanationView {
    /// The arms that found the memory. Empty for a memory that was ranked because it superseded a found one.
    pub arms: Vec<ArmRankView>,
    /// The cue of the memory that is nearest to the query. Null if the query or the memory has no vector.
    pub cue: Option<NearestCueView>,
    /// Words of the query that the memory holds, the rarest first. The values of `bm25` sum to the score of the lexical
    /// arm.
    pub terms: Vec<TermMatchView>,
    /// The relation by which the graph arm reached the memory. Null unless that arm found it.
    pub relation: Option<FollowedRelationView>,
    /// Log-odds before any evidence.
    pub base_log_odds: f64,
    /// What each group of features adds to the log-odds.
    pub contributions: Vec<ContributionView>,
}

/// An arm that found a memory.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ArmRank")]
pub struct ArmRankView {
    /// The arm.
    pub arm: Arm,
    /// Rank in the arm, from 1; for `graph`, the rank of the hit that it started from. Null for a memory that is not
    /// among the arm's best.
    #[schemars(extend("minimum" = 1))]
    pub rank: Option<usize>,
    /// BM25 for `lexical`, the cosine for `cue`, null for `graph`.
    pub score: Option<f32>,
}

/// The cue that is nearest to a query.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NearestCue")]
pub struct NearestCueView {
    /// Text of the cue. Null if some cues of the memory have no vector, since it is not known which ones.
    pub text: Option<String>,
    /// Cosine of the cue's vector and the query's.
    pub cosine: f32,
}

/// A part of the query that a memory holds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TermMatch")]
pub struct TermMatchView {
    /// The word as the query has it. A vocabulary term is one part, whichever of its forms the memory holds.
    pub term: String,
    /// Its part of the BM25 score.
    pub bm25: f32,
}

/// A relation that the graph arm followed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FollowedRelation")]
pub struct FollowedRelationView {
    /// Path of the hit that the arm started from.
    pub from: String,
    /// Kind of the relation, which either of the two memories has.
    pub kind: String,
}

/// What a group of features adds to the log-odds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Contribution")]
pub struct ContributionView {
    /// Name of the group, such as `words` or `meaning`.
    pub feature: String,
    /// Its part of the log-odds. Below zero if the group lowers the score.
    pub log_odds: f64,
}

impl From<Explanation> for ExplanationView {
    fn from(explanation: Explanation) -> Self {
        let Explanation { arms, cue, terms, relation, base_log_odds, contributions } = explanation;
        Self {
            arms: arms.into_iter().map(ArmRankView::from).collect(),
            cue: cue.map(NearestCueView::from),
            terms: terms.into_iter().map(TermMatchView::from).collect(),
            relation: relation.map(FollowedRelationView::from),
            base_log_odds: rounded(base_log_odds),
            contributions: contributions.into_iter().map(ContributionView::from).collect(),
        }
    }
}

impl From<ArmRank> for ArmRankView {
    fn from(found: ArmRank) -> Self {
        Self { arm: found.arm.into(), rank: found.rank, score: found.score }
    }
}

impl From<NearestCue> for NearestCueView {
    fn from(cue: NearestCue) -> Self {
        Self { text: cue.text, cosine: cue.cosine }
    }
}

impl From<TermMatch> for TermMatchView {
    fn from(matched: TermMatch) -> Self {
        Self { term: matched.term, bm25: matched.bm25 }
    }
}

impl From<FollowedRelation> for FollowedRelationView {
    fn from(relation: FollowedRelation) -> Self {
        Self { from: relation.from, kind: relation.kind }
    }
}

impl From<Contribution> for ContributionView {
    fn from(contribution: Contribution) -> Self {
        Self { feature: contribution.group.name().to_owned(), log_odds: rounded(contribution.log_odds) }
    }
}

/// Rounds to a millionth: the coefficients have four digits.
fn rounded(log_odds: f64) -> f64 {
    (log_odds * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use cuebase_retrieval::FeatureGroup;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_view_has_every_part_of_an_explanation() {
        let explanation = Explanation {
            arms: vec![ArmRank { arm: cuebase_retrieval::Arm::Graph, rank: Some(2), score: None }],
            cue: Some(NearestCue { text: None, cosine: 0.5 }),
            terms: vec![TermMatch { term: "ferry".into(), bm25: 1.5 }],
            relation: Some(FollowedRelation { from: "facts/pier.md".into(), kind: "follows".into() }),
            base_log_odds: -7.5,
            contributions: vec![Contribution { group: FeatureGroup::WordSimilarity, log_odds: 1.000_000_04 }],
        };
        let view = serde_json::to_value(ExplanationView::from(explanation)).expect("encodes");
        let expected = json!({
            "arms": [{"arm": "graph", "rank": 2, "score": null}],
            "cue": {"text": null, "cosine": 0.5},
            "terms": [{"term": "ferry", "bm25": 1.5}],
            "relation": {"from": "facts/pier.md", "kind": "follows"},
            "base_log_odds": -7.5,
            "contributions": [{"feature": "word_similarity", "log_odds": 1.0}],
        });
        assert_eq!(view, expected);
    }
}
