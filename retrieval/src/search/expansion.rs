//! Expansion: the neighbours of the best candidates become candidates too.

use super::prepared::Search;
use super::ranking::Ranking;
use crate::arms::graph::expand;
use crate::ids::DocumentId;

impl Search<'_> {
    /// Ranks the allowed neighbours of the best candidates too. `ranked` holds the candidates so far, ascending.
    pub(super) fn expand(&self, ranking: &mut Ranking<'_>, ranked: &[DocumentId]) {
        let best = ranking.candidates.iter().map(|candidate| candidate.document);
        ranking.reached_from = expand(ranking.table, &self.snapshot.graph, best, self.allowed.as_ref());
        let mut new = Vec::with_capacity(ranking.reached_from.len());
        for document in ranking.reached_from.keys() {
            if ranked.binary_search(document).is_err() {
                new.push(*document);
            }
        }
        ranking.signals.add(&new);
        ranking.rank(&new);
    }
}
