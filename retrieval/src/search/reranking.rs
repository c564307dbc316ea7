//! Reranking: a model reads the best candidates together with the query, and their scores change by what it finds.
//!
//! Memories that say the same are read once. A candidate that is not read keeps its score.

use std::collections::HashMap;

use super::prepared::Search;
use super::ranking::Ranking;
use crate::error::Result;
use crate::hash::StatementHash;
use crate::reranker::{Judgement, Reranker};

/// Statements that are read at most.
const READ_MAX: usize = 16;

impl Search<'_> {
    /// Reads the best candidates, and sorts all by their new scores.
    pub(super) fn rerank(&self, ranking: &mut Ranking<'_>, reranker: &dyn Reranker) -> Result<()> {
        let mut found: HashMap<StatementHash, Judgement, ahash::RandomState> = HashMap::default();
        let mut is_reading = true;
        let mut read = 0;
        for index in 0..ranking.candidates.len() {
            let candidate = &ranking.candidates[index];
            let Some(document) = ranking.table.document(candidate.document) else { continue };
            let statement = document.statement();
            let mut judgement = if statement.is_none() { None } else { found.get(&statement).copied() };
            if judgement.is_none() && is_reading && read < READ_MAX {
                judgement = reranker.read(&self.snapshot.memory(document)?);
                is_reading = judgement.is_some();
                read += 1;
                if let Some(judgement) = judgement
                    && !statement.is_none()
                {
                    found.insert(statement, judgement);
                }
            }
            if let Some(judgement) = judgement {
                ranking.add_reading(index, judgement);
            }
        }
        ranking.sort();
        Ok(())
    }
}
