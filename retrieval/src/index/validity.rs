//! When memories hold: what a search excludes for it, and what a hit shows of it.

use serde::{Deserialize, Serialize};

use super::Ledger;
use super::entry::{NEVER, UNKNOWN};
use super::layer::Document;
use super::ledger::begin_of;
use super::snapshot::Snapshot;
use super::table::Table;
use crate::bitmap::Bitmap;
use crate::claim::Currency;
use crate::error::Result;
use crate::hash::PathHash;
use crate::ids::DocumentId;
use crate::memory::Millis;

/// How far a clock or a date without a time may be ahead. A memory that begins to hold within this time holds already:
/// a calendar date is noon, and somebody may write about it in the morning.
const AHEAD_MAX: Millis = 24 * 60 * 60 * 1000;

/// When a memory holds, and which memories superseded it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValidityState {
    /// Whether the memory holds at the time of the search.
    pub current: bool,
    /// When it began to hold, if known.
    pub from: Option<Millis>,
    /// When it stopped holding, if it did.
    pub until: Option<Millis>,
    /// Paths of the memories that it ended, by name.
    pub supersedes: Vec<String>,
    /// Paths of the memories that ended it, by name.
    pub superseded_by: Vec<String>,
}

/// The time as of which a search answers, and what becomes of memories that do not hold then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValidityFilter {
    /// The time at which validity is judged.
    pub(crate) at: Millis,
    /// If given, memories after this time are not found.
    pub(crate) as_of: Option<Millis>,
    pub(crate) currency: Currency,
}

impl ValidityFilter {
    pub(crate) fn new(now: Millis, as_of: Option<Millis>, currency: Currency) -> Self {
        Self { at: as_of.unwrap_or_else(|| now.saturating_add(AHEAD_MAX)), as_of, currency }
    }

    /// Whether the filter excludes no memory.
    pub(crate) fn is_empty(&self) -> bool {
        self.as_of.is_none() && self.currency != Currency::Only
    }

    /// Removes the documents that the filter excludes.
    pub(crate) fn apply(&self, table: &Table, ledger: &Ledger, allowed: &mut Bitmap) {
        for (id, document) in table.documents() {
            let is_excluded =
                self.is_later(document) || (self.currency == Currency::Only && !self.holds(table, ledger, id));
            if is_excluded {
                allowed.remove(id);
            }
        }
    }

    /// Whether a document holds at the time of the search.
    pub(crate) fn holds(&self, table: &Table, ledger: &Ledger, id: DocumentId) -> bool {
        let Some(document) = table.document(id) else { return false };
        // True of most documents, and cheap to find out.
        if !document.dated() && !ledger.anything_replaced() {
            return true;
        }
        let Some(slot) = table.slot_of(id) else { return false };
        ledger.validity(document, slot).contains(&self.at)
    }

    /// Whether a document is of a later time: what it says was neither said nor true at the time of the search.
    fn is_later(&self, document: Document<'_>) -> bool {
        let Some(as_of) = self.as_of else { return false };
        let is_claimed = document.claims().iter().any(|claim| claim.from <= as_of);
        begin_of(document) > as_of && !is_claimed
    }
}

impl Snapshot {
    /// Returns when the memory at a path holds. `now` is the present, and `as_of` the time to judge by, if it is
    /// another one. Returns `None` if the path holds no memory. Scans every path once.
    pub fn validity_of(&self, path: &str, now: Millis, as_of: Option<Millis>) -> Result<Option<ValidityState>> {
        let path = PathHash::of(path);
        let Some((id, _)) = self.table.documents().find(|(_, document)| document.path() == path) else {
            return Ok(None);
        };
        let filter = ValidityFilter::new(now, as_of, Currency::Any);
        Ok(Some(self.validity_state(id, filter.at)?))
    }

    /// Returns when a document holds.
    pub(crate) fn validity_state(&self, id: DocumentId, at: Millis) -> Result<ValidityState> {
        let (Some(document), Some(slot)) = (self.table.document(id), self.table.slot_of(id)) else {
            return Ok(ValidityState::default());
        };
        let validity = self.ledger.validity(document, slot);
        Ok(ValidityState {
            current: validity.contains(&at),
            from: known(validity.start),
            until: known(validity.end),
            supersedes: self.paths_of(&self.ledger.superseded(document, id))?,
            superseded_by: self.paths_of(&self.ledger.superseding(&self.table, document))?,
        })
    }

    /// Returns the paths of documents, by name.
    fn paths_of(&self, documents: &[DocumentId]) -> Result<Vec<String>> {
        let mut paths = Vec::with_capacity(documents.len());
        for id in documents {
            if let Some(document) = self.table.document(*id) {
                paths.push(self.path_name(document)?);
            }
        }
        paths.sort();
        Ok(paths)
    }
}

fn known(time: Millis) -> Option<Millis> {
    if time == UNKNOWN || time == NEVER { None } else { Some(time) }
}
