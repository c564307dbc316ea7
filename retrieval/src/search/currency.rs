//! Currency: what no longer holds ranks behind what superseded it.
//!
//! If a candidate answers with a value that did not hold at the time in question, the memories whose values held then
//! become candidates too, and the outdated one stays below the best of them. The same goes for every memory that another
//! one replaced by its path. If the query asks for something else, a memory whose claims have ended is ranked behind its
//! successor only if the successor answers the query, too: an old address may tell more about an old neighbour than the
//! new one.
//!
//! If the query asks how something is, the best successor gets at least the score of the outdated memory: both say the
//! same of different times, even if in other words. If no value holds, the successor is the memory that ended the last one.

use std::collections::{HashMap, HashSet};

use super::prepared::Search;
use super::ranking::{Positions, Ranking};
use crate::claim::Currency;
use crate::hash::FacetHash;
use crate::ids::DocumentId;
use crate::index::entry::NEVER;

/// Candidates whose successors are looked up.
const OUTDATED_MAX: usize = 64;
/// Passes over chains of successors: A was superseded by B, and B by C.
const PASSES_MAX: usize = 4;
/// The share of its successor's score that a superseded memory gets at most. Below one, so that it ranks behind.
const BEHIND: f32 = 0.999;
/// If the query asks for something else, the share of a memory's score that its successor must have to answer, too.
const ANSWERS_TOO: f32 = 0.2;

/// Why a candidate ranks behind others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// The query asks for a claim of it that does not hold, or another memory replaced it by its path.
    Replaced,
    /// Its claims have ended, and the query asks for something else.
    Ended,
}

/// A candidate that does not hold, with those that do.
struct Outdated {
    document: DocumentId,
    successors: Vec<DocumentId>,
    reason: Reason,
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
        let mut successors = HashSet::new();
        let mut new = Vec::new();
        for one in outdated.iter().filter(|one| one.reason == Reason::Replaced) {
            for successor in &one.successors {
                if successors.insert(*successor) && !ranking.is_candidate(*successor) {
                    new.push(*successor);
                }
            }
        }
        if !new.is_empty() {
            new.sort_unstable();
            ranking.signals.add(&new);
            ranking.rank(&new);
        }
        if self.claims.asks_for_state() {
            raise_scores(ranking, &outdated);
        }
        if limit_scores(ranking, &outdated) {
            ranking.sort();
        }
    }

    /// Returns the best candidates that do not hold.
    fn outdated(&self, ranking: &Ranking<'_>) -> Vec<Outdated> {
        let mut outdated = Vec::new();
        let mut holding = HashMap::new();
        for candidate in &ranking.candidates {
            if outdated.len() == OUTDATED_MAX {
                break;
            }
            // True of most candidates: they say nothing about the claims in question, and they hold.
            let features = &ranking.features[candidate.features];
            if features.claim_holds + features.claim_outdated + features.superseded == 0.0 {
                continue;
            }
            if let Some(one) = self.outdated_candidate(candidate.document, &mut holding) {
                outdated.push(one);
            }
        }
        outdated
    }

    /// Returns a document with the allowed ones that hold in its place; `None` if it holds itself. `holding` has the
    /// documents that hold, by fact, as far as they were looked up.
    fn outdated_candidate(
        &self,
        id: DocumentId,
        holding: &mut HashMap<FacetHash, Vec<DocumentId>>,
    ) -> Option<Outdated> {
        let table = &self.snapshot.table;
        let ledger = &self.snapshot.ledger;
        let allowed = self.allowed.as_ref();
        let document = table.document(id)?;
        let mut successors = Vec::new();
        let mut reason = Reason::Replaced;
        let outdated_keys = self.claims.outdated_keys(document);
        for key in outdated_keys.iter().copied() {
            let of_fact = holding.entry(key).or_insert_with(|| self.claims.holding(key, allowed));
            successors.extend_from_slice(of_fact);
        }
        if successors.is_empty() && self.claims.asks_for_present() && !self.validity.holds(table, ledger, id) {
            for other in ledger.superseding(table, document) {
                if allowed.is_none_or(|allowed| allowed.contains(other)) {
                    successors.push(other);
                }
            }
            let is_asked_for = !outdated_keys.is_empty() && self.claims.asks_for_state();
            if !is_asked_for && ledger.replaced_from(table.slot_of(id)?) == NEVER {
                reason = Reason::Ended;
            }
        }
        successors.retain(|successor| *successor != id);
        if successors.is_empty() { None } else { Some(Outdated { document: id, successors, reason }) }
    }
}

/// Raises the best successor of each replaced candidate to the candidate's score.
fn raise_scores(ranking: &mut Ranking<'_>, outdated: &[Outdated]) {
    let positions = ranking.positions();
    for _ in 0..PASSES_MAX {
        let mut changed = false;
        for one in outdated.iter().filter(|one| one.reason == Reason::Replaced) {
            let Some(position) = positions.get(&one.document) else { continue };
            let score = ranking.candidates[*position].score;
            let Some(best) = best_successor(ranking, &positions, &one.successors) else { continue };
            let best = &mut ranking.candidates[best];
            if best.score < score {
                best.score = score;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
}

/// Limits the score of each outdated candidate by that of its best successor. Returns whether any score changed.
fn limit_scores(ranking: &mut Ranking<'_>, outdated: &[Outdated]) -> bool {
    let positions = ranking.positions();
    let mut any_changed = false;
    for _ in 0..PASSES_MAX {
        let mut changed = false;
        for one in outdated {
            let Some(best) = best_score(ranking, &positions, &one.successors) else { continue };
            let Some(position) = positions.get(&one.document) else { continue };
            let candidate = &mut ranking.candidates[*position];
            let is_behind = one.reason == Reason::Replaced || best >= candidate.score * ANSWERS_TOO;
            if is_behind && candidate.score > best * BEHIND {
                candidate.score = best * BEHIND;
                changed = true;
            }
        }
        any_changed |= changed;
        if !changed {
            break;
        }
    }
    any_changed
}

/// Returns the highest score of those of some documents that are candidates.
fn best_score(ranking: &Ranking<'_>, positions: &Positions, documents: &[DocumentId]) -> Option<f32> {
    let best = best_successor(ranking, positions, documents)?;
    Some(ranking.candidates[best].score)
}

/// Returns the position of the best of those of some documents that are candidates; the last of equals, which are in the
/// order of their times.
fn best_successor(ranking: &Ranking<'_>, positions: &Positions, documents: &[DocumentId]) -> Option<usize> {
    let mut best: Option<usize> = None;
    for document in documents {
        let Some(position) = positions.get(document) else { continue };
        let score = ranking.candidates[*position].score;
        if best.is_none_or(|best| score >= ranking.candidates[best].score) {
            best = Some(*position);
        }
    }
    best
}
