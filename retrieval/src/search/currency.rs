//! Currency: what no longer holds ranks behind what superseded it.
//!
//! If a candidate answers with a value that did not hold at the time in question, the memories whose values held then
//! become candidates too, and the outdated one gets at most their score. The same goes for every memory that another one
//! superseded, whatever the query asks for.

use super::prepared::Search;
use super::ranking::Ranking;
use crate::claim::Currency;
use crate::ids::DocumentId;

/// Candidates whose successors are looked up.
const OUTDATED_MAX: usize = 64;
/// Passes over chains of successors: A was superseded by B, and B by C.
const PASSES_MAX: usize = 4;
/// The share of its successor's score that a superseded memory gets at most. Below one, so that it ranks behind.
const BEHIND: f32 = 0.999;

/// A candidate that does not hold, with those that do.
struct Outdated {
    document: DocumentId,
    successors: Vec<DocumentId>,
}

impl Search<'_> {
    /// Ranks the candidates that do not hold behind those that do.
    pub(super) fn rank_by_currency(&self, ranking: &mut Ranking<'_>) {
        if self.query.currency == Currency::Any {
            return;
        }
        let outdated = self.outdated(ranking);
        if outdated.is_empty() {
            return;
        }
        let mut new = Vec::new();
        for one in &outdated {
            for successor in &one.successors {
                if !ranking.is_candidate(*successor) && !new.contains(successor) {
                    new.push(*successor);
                }
            }
        }
        new.sort_unstable();
        ranking.signals.add(&new);
        ranking.rank(&new);
        for _ in 0..PASSES_MAX {
            let mut changed = false;
            for one in &outdated {
                if let Some(best) = ranking.best_score(&one.successors) {
                    changed |= ranking.limit_score(one.document, best * BEHIND);
                }
            }
            ranking.sort();
            if !changed {
                break;
            }
        }
    }

    /// Returns the best candidates that do not hold.
    fn outdated(&self, ranking: &Ranking<'_>) -> Vec<Outdated> {
        let mut outdated = Vec::new();
        for candidate in &ranking.candidates {
            if outdated.len() == OUTDATED_MAX {
                break;
            }
            let successors = self.successors(candidate.document);
            if !successors.is_empty() {
                outdated.push(Outdated { document: candidate.document, successors });
            }
        }
        outdated
    }

    /// Returns the allowed documents that hold in place of a document; none if it holds itself.
    fn successors(&self, id: DocumentId) -> Vec<DocumentId> {
        let table = &self.snapshot.table;
        let ledger = &self.snapshot.ledger;
        let allowed = self.allowed.as_ref();
        let Some(document) = table.document(id) else { return Vec::new() };
        let mut successors = Vec::new();
        for key in self.claims.outdated_keys(document) {
            successors.extend(self.claims.holding(key, allowed));
        }
        if successors.is_empty() && self.claims.asks_for_present() && !self.validity.holds(table, ledger, id) {
            for other in ledger.superseding(table, document) {
                if allowed.is_none_or(|allowed| allowed.contains(other)) {
                    successors.push(other);
                }
            }
        }
        successors.retain(|successor| *successor != id);
        successors
    }
}
