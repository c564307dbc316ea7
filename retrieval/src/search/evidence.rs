//! Evidence: what ranking reads of the snapshot, the query and the arms.

use super::candidates::ArmResults;
use super::prepared::Search;
use crate::hash::NameHash;
use crate::ranking::signals::Evidence;

impl Search<'_> {
    pub(super) fn evidence<'s>(&'s self, arms: &'s ArmResults, names: &'s [NameHash]) -> Evidence<'s> {
        Evidence {
            table: &self.snapshot.table,
            graph: &self.snapshot.graph,
            cues: &self.snapshot.cues,
            lexical: &arms.lexical.scores,
            vector: self.vector.as_ref(),
            names,
            times: self.times.as_ref(),
            lexical_best: &arms.lexical.best,
            cue_best: &arms.cue.best,
            claims: &self.claims,
            ledger: &self.snapshot.ledger,
            validity: &self.validity,
            threads: self.threads,
        }
    }
}
