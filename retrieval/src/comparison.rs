//! Comparisons of a new memory with those that exist: which ones say the same, and which ones it ends.

use crate::claim::{Claim, Currency};
use crate::error::Result;
use crate::hash::{FacetHash, StatementHash};
use crate::index::claim_entry::ClaimEntry;
use crate::index::entry::NEVER;
use crate::index::{Snapshot, ValidityFilter};
use crate::memory::Millis;

impl Snapshot {
    /// Returns the path of a memory with a statement that holds at `now`. Of several, the one that was written first.
    pub fn path_with_statement(&self, statement: &str, now: Millis) -> Result<Option<String>> {
        let hash = StatementHash::of(statement);
        if hash.is_none() {
            return Ok(None);
        }
        let filter = ValidityFilter::new(now, None, Currency::Only);
        for id in self.table.holding(FacetHash::of_statement(hash)) {
            // A statement that was repeated often has many former versions.
            if !self.table.alive().contains(id) {
                continue;
            }
            let Some(document) = self.table.document(id) else { continue };
            if document.hidden_from() > now && filter.holds(&self.table, &self.ledger, id) {
                return Ok(Some(self.path_name(document)?));
            }
        }
        Ok(None)
    }

    /// Returns the paths of memories with a claim that holds and that one of some new claims ends. By name, without
    /// duplicates.
    pub fn paths_ended_by(&self, claims: &[Claim]) -> Result<Vec<String>> {
        let mut paths = Vec::new();
        for claim in claims {
            let new = ClaimEntry::new(claim);
            for piece in self.ledger.history().pieces(new.key()) {
                if !piece.may_hold() {
                    continue;
                }
                for held in piece.claims() {
                    if held.end() == NEVER
                        && held.order.from <= new.from
                        && held.claimed.is_ended_by(new.claimed())
                        && let Some(document) = self.table.document(held.document)
                    {
                        paths.push(self.path_name(document)?);
                    }
                }
            }
        }
        paths.sort();
        paths.dedup();
        Ok(paths)
    }
}
