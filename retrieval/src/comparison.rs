//! Comparisons of a new memory with those that exist: which ones say the same, and which ones it ends.

use crate::claim::{Claim, Currency};
use crate::error::Result;
use crate::hash::{FacetHash, StatementHash};
use crate::index::claim_entry::ClaimEntry;
use crate::index::entry::NEVER;
use crate::index::ledger::held_claims;
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
            let Some(document) = self.table.document(id) else { continue };
            let is_found = document.hidden_from() > now && filter.holds(&self.table, &self.ledger, id);
            if self.table.alive().contains(id) && is_found {
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
            for held in held_claims(&self.table, new.key()) {
                let holds = self.ledger.claim_end(held.id) == NEVER;
                let is_earlier = held.entry.from <= new.from;
                if holds
                    && is_earlier
                    && held.entry.is_ended_by(&new)
                    && let Some(document) = self.table.document(held.document)
                {
                    paths.push(self.path_name(document)?);
                }
            }
        }
        paths.sort();
        paths.dedup();
        Ok(paths)
    }
}
