//! The path of a query through a snapshot, stage by stage. Start at [`Snapshot::search`].
//!
//! 1. **Candidates** (`candidates`): the best documents of the lexical and the cue arm, within the filter's bitmap.
//! 2. **Evidence** (`evidence`): what ranking reads of the arms.
//! 3. **Ranking** (`ranking`): each candidate gets its features and, from these, its probability.
//! 4. **Expansion** (`expansion`): the neighbours of the best candidates in the graph are ranked too.
//! 5. **Recency** (`recency`): of several answers about how something is, the latest is the best.
//! 6. **Reranking** (`reranking`): a model reads the best candidates, if the query has one.
//! 7. **Currency** (`currency`): what no longer holds ranks behind what superseded it.
//! 8. **Reading** (`reading`): the memories of the best candidates are read from the log.
//!
//! The query is [`prepared`] first; `hit` is what comes out. How features are made is in `crate::ranking`.
//! `explanation` says what made a hit's score, and `path_explanation` why a memory is a hit or is none.

mod candidates;
mod currency;
mod evidence;
mod expansion;
mod explanation;
mod hit;
mod path_explanation;
mod prepared;
mod ranking;
mod reading;
mod recency;
mod reranking;

use std::time::Instant;

pub use explanation::{Arm, ArmRank, Explanation, FollowedRelation, NearestCue};
pub use hit::{Arms, Hit, SearchResults};
pub use path_explanation::{Exclusion, PathExplanation, RankedMemory};

use self::candidates::ArmResults;
use self::prepared::Search;
use self::ranking::Ranking;
use crate::arms::soft::SoftMatch;
use crate::error::Result;
use crate::hash::NameHash;
use crate::ids::DocumentId;
use crate::index::Snapshot;
use crate::query::Query;
use crate::ranking::signals::Signals;
use crate::text_budget::{TextBudget, Unlimited};
use crate::threads::RunningSearch;

impl Snapshot {
    /// Answers a query.
    ///
    /// # Errors
    ///
    /// [`Error::Dimensions`](crate::Error::Dimensions) if the query's vector has another length than the index's rows;
    /// otherwise the errors of reading the log.
    pub fn search(&self, query: &Query<'_>) -> Result<SearchResults> {
        self.search_within(query, &Unlimited)
    }

    /// Answers a query whose hits fit into a budget.
    ///
    /// # Errors
    ///
    /// [`Error::OverBudget`](crate::Error::OverBudget) if the hits do not fit; otherwise those of [`Self::search`].
    pub fn search_within(&self, query: &Query<'_>, budget: &dyn TextBudget) -> Result<SearchResults> {
        let start = Instant::now();
        let running = RunningSearch::begin();
        let search = Search::new(self, query, running.threads(self.cues.rows()))?;
        let (mut arms, words) = search.run_arms();

        let ranking_start = Instant::now();
        let candidates = search.candidates(&mut arms);
        let ranking = search.rank_candidates(&candidates, &arms, words.soft_match, &words.names)?;
        let hits = search.read(&ranking, budget)?;
        Ok(SearchResults {
            hits,
            vector_time: arms.cue.time,
            lexical_time: arms.lexical.time,
            graph_time: ranking_start.elapsed(),
            total_time: start.elapsed(),
        })
    }
}

impl Search<'_> {
    /// Ranks the candidates of the arms, their neighbours, and what superseded any of them.
    fn rank_candidates<'s>(
        &'s self,
        candidates: &[DocumentId],
        arms: &'s ArmResults,
        soft_match: SoftMatch<'s>,
        names: &'s [NameHash],
    ) -> Result<Ranking<'s>> {
        let signals = Signals::new(self.evidence(arms, names), soft_match, candidates);
        let mut ranking = Ranking::new(&self.snapshot.table, signals, candidates);
        self.expand(&mut ranking, candidates);
        self.rank_by_recency(&mut ranking);
        if let Some(reranker) = self.query.reranker {
            self.rerank(&mut ranking, reranker)?;
        }
        self.rank_by_currency(&mut ranking);
        Ok(ranking)
    }
}
