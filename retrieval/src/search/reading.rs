//! Reading: the memories of the best candidates, from the log. A repetition of a better candidate is not a hit of its
//! own, so that all hits say something different.

use std::collections::HashMap;

use super::hit::{Arms, Hit};
use super::prepared::Search;
use super::ranking::{Candidate, Ranking};
use crate::arms::lexical::terms::TermScores;
use crate::error::Result;
use crate::hash::StatementHash;
use crate::index::ValidityState;
use crate::memory::Memory;
use crate::ranking::claims::Standing;
use crate::text_budget::TextBudget;

/// A candidate that becomes a hit, with the candidates that repeat it.
pub(super) struct Chosen<'a> {
    pub(super) candidate: &'a Candidate,
    pub(super) repetitions: Vec<&'a Candidate>,
}

impl Search<'_> {
    /// Reads the best candidates' memories, on two threads if the search may use several.
    pub(super) fn read(&self, ranking: &Ranking<'_>, budget: &dyn TextBudget) -> Result<Vec<Hit>> {
        let best = self.choose(ranking);
        let terms = self.term_scores();
        let (first, second) = best.split_at(best.len() / 2);
        let (first, second) = self.threads.both(
            || self.hits(ranking, first, terms.as_ref(), budget),
            || self.hits(ranking, second, terms.as_ref(), budget),
        );
        let mut hits = first?;
        hits.append(&mut second?);
        Ok(hits)
    }

    /// Chooses the candidates that become hits, best first.
    pub(super) fn choose<'r>(&self, ranking: &'r Ranking<'_>) -> Vec<Chosen<'r>> {
        let mut chosen: Vec<Chosen<'r>> = Vec::new();
        let mut by_statement: HashMap<StatementHash, usize, ahash::RandomState> = HashMap::default();
        for candidate in &ranking.candidates {
            if candidate.score < self.query.min_score {
                break;
            }
            let Some(document) = ranking.table.document(candidate.document) else { continue };
            let statement = document.statement();
            if let Some(index) = by_statement.get(&statement) {
                chosen[*index].repetitions.push(candidate);
                continue;
            }
            if chosen.len() == self.query.limit {
                // Later candidates can still repeat a hit, but they are of no use to anyone.
                break;
            }
            if !statement.is_none() {
                by_statement.insert(statement, chosen.len());
            }
            chosen.push(Chosen { candidate, repetitions: Vec::new() });
        }
        chosen
    }

    /// Reads the chosen memories. `terms` are given if hits are explained.
    fn hits(
        &self,
        ranking: &Ranking<'_>,
        chosen: &[Chosen<'_>],
        terms: Option<&TermScores<'_>>,
        budget: &dyn TextBudget,
    ) -> Result<Vec<Hit>> {
        let mut hits = Vec::with_capacity(chosen.len());
        for one in chosen {
            if let Some(document) = ranking.table.document(one.candidate.document) {
                let memory = self.snapshot.memory_within(document, budget)?;
                let mut explanation = None;
                if let Some(terms) = terms {
                    explanation = Some(Box::new(self.explanation(ranking, one.candidate, &memory, terms)?));
                }
                hits.push(Hit { explanation, ..self.hit(ranking, one, memory)? });
            }
        }
        Ok(hits)
    }

    fn hit(&self, ranking: &Ranking<'_>, chosen: &Chosen<'_>, memory: Memory) -> Result<Hit> {
        let candidate = chosen.candidate;
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
            && let Some(from) = ranking.table.document(from.hit)
        {
            via = Some(self.snapshot.path_name(from)?);
        }
        let mut also = Vec::with_capacity(chosen.repetitions.len());
        for repetition in &chosen.repetitions {
            if let Some(document) = ranking.table.document(repetition.document) {
                also.push(self.snapshot.path_name(document)?);
            }
        }
        let features = ranking.features[candidate.features];
        Ok(Hit {
            validity: self.validity_of(candidate)?,
            memory,
            score: candidate.score,
            arms,
            via,
            also,
            features,
            read: candidate.read,
            explanation: None,
        })
    }

    /// Returns when a candidate holds. If the query asks for some of its claims, these decide whether it is current.
    fn validity_of(&self, candidate: &Candidate) -> Result<ValidityState> {
        let snapshot = self.snapshot;
        let mut validity = snapshot.validity_state(candidate.document, self.validity.at)?;
        if self.claims.asks_for_present()
            && let Some(document) = snapshot.table.document(candidate.document)
        {
            match self.claims.standing(document) {
                Standing::Unrelated => {}
                Standing::Holding => validity.current = true,
                Standing::Outdated => validity.current = false,
            }
        }
        Ok(validity)
    }
}
