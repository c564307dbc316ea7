//! Reading: the memories of the best candidates, from the log.

use super::hit::{Arms, Hit};
use super::prepared::Search;
use super::ranking::{Candidate, Ranking};
use crate::error::Result;
use crate::memory::Memory;

impl Search<'_> {
    /// Reads the best candidates' memories, on two threads if the search may use several.
    pub(super) fn read(&self, ranking: &Ranking<'_>) -> Result<Vec<Hit>> {
        let best = ranking.candidates.iter().filter(|candidate| candidate.score >= self.query.min_score);
        let best: Vec<&Candidate> = best.take(self.query.limit).collect();
        let (first, second) = best.split_at(best.len() / 2);
        let (first, second) = self.threads.both(|| self.hits(ranking, first), || self.hits(ranking, second));
        let mut hits = first?;
        hits.append(&mut second?);
        Ok(hits)
    }

    fn hits(&self, ranking: &Ranking<'_>, candidates: &[&Candidate]) -> Result<Vec<Hit>> {
        let mut hits = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            if let Some(document) = ranking.table.document(candidate.document) {
                let memory = self.snapshot.memory(document)?;
                hits.push(self.hit(ranking, candidate, memory)?);
            }
        }
        Ok(hits)
    }

    fn hit(&self, ranking: &Ranking<'_>, candidate: &Candidate, memory: Memory) -> Result<Hit> {
        let reached_from = ranking.reached_from.get(&candidate.document);
        let arms = Arms {
            lexical: ranking.signals.has_lexical(candidate.document),
            cue: ranking.signals.has_cue(candidate.document),
            graph: reached_from.is_some(),
        };
        let mut via = None;
        if !arms.lexical
            && !arms.cue
            && let Some(from) = reached_from
            && let Some(from) = ranking.table.document(*from)
        {
            via = Some(self.snapshot.memory(from)?.path);
        }
        Ok(Hit { memory, score: candidate.score, arms, via, features: ranking.features[candidate.features] })
    }
}
