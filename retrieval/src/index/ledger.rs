//! The ledger: when each claim ended, and when each memory was replaced.
//!
//! The claims with one subject and one attribute are compared in the order of their times, in the [history](ClaimHistory)
//! of claims. What ends a claim is decided by [`ClaimedValue::is_ended_by`](super::claim_entry::ClaimedValue). The result
//! depends only on the current memories and not on the order of writes, so a memory that arrives late, is edited or is
//! forgotten changes exactly what follows from it.

use std::collections::HashMap;
use std::ops::Range;

use super::claim_entry::ClaimEntry;
use super::claim_history::{ChangedEnd, ClaimHistory, ClaimOrder, HeldClaim};
use super::entry::{NEVER, UNKNOWN};
use super::layer::Document;
use super::table::Table;
use crate::blocks::Blocks;
use crate::filter::TimeField;
use crate::hash::{FacetHash, PathHash};
use crate::ids::{ClaimId, DocumentId, SlotId};
use crate::memory::Millis;

/// When a memory was replaced; [`NEVER`] by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EndTime(Millis);

impl Default for EndTime {
    fn default() -> Self {
        Self(NEVER)
    }
}

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClaimState {
    /// When the claim ended; [`NEVER`] by default.
    end: Millis,
    /// The document with the claim that ended it. Without a meaning if it never ended.
    ended_by: DocumentId,
}

impl Default for ClaimState {
    fn default() -> Self {
        Self { end: NEVER, ended_by: DocumentId::default() }
    }
}

/// When claims and memories ended. Cloning shares nearly everything.
#[derive(Clone, Default)]
pub(crate) struct Ledger {
    /// The state of each claim.
    claims: Blocks<ClaimState>,
    /// The claims of current memories by fact.
    history: ClaimHistory,
    /// When the memory of each slot was replaced by one that names its path.
    replaced: Blocks<EndTime>,
}

/// The changes that a write made to what the ledger is computed from.
#[derive(Default)]
pub(super) struct LedgerChanges {
    /// The documents with claims that became current, and those that no longer are, in the order of the changes.
    claims: Vec<ClaimChange>,
    /// The paths that added and removed memories replace, with their slots.
    paths: HashMap<PathHash, SlotId>,
}

/// A change of the current memories with claims.
#[derive(Clone, Copy, Debug)]
enum ClaimChange {
    Added(DocumentId),
    Removed(DocumentId),
}

impl LedgerChanges {
    /// Adds a document that became current.
    pub(super) fn add(&mut self, document: Document<'_>, id: DocumentId) {
        if !document.claims().is_empty() {
            self.claims.push(ClaimChange::Added(id));
        }
    }

    /// Adds a document that is no longer current.
    pub(super) fn remove(&mut self, document: Document<'_>, id: DocumentId) {
        if !document.claims().is_empty() {
            self.claims.push(ClaimChange::Removed(id));
        }
    }

    /// Adds a path that such a document replaces.
    pub(super) fn add_path(&mut self, path: PathHash, slot: SlotId) {
        self.paths.insert(path, slot);
    }
}

impl Ledger {
    /// Returns when a claim ended; [`NEVER`] if it holds.
    pub(crate) fn claim_end(&self, claim: ClaimId) -> Millis {
        self.claim_state(claim).end
    }

    fn claim_state(&self, claim: ClaimId) -> ClaimState {
        self.claims.get(claim.index()).copied().unwrap_or_default()
    }

    /// Returns when the memory of a slot was replaced; [`NEVER`] if it was not.
    pub(crate) fn replaced_from(&self, slot: SlotId) -> Millis {
        match self.replaced.get(slot.index()) {
            Some(end) => end.0,
            None => NEVER,
        }
    }

    /// Whether any memory was replaced by one that names its path.
    pub(crate) fn anything_replaced(&self) -> bool {
        self.replaced.len() > 0
    }

    /// Returns from when until when a document holds, as far as it is known. What somebody set counts more than the
    /// claims. A document without claims holds from the beginning.
    pub(crate) fn validity(&self, document: Document<'_>, slot: SlotId) -> Range<Millis> {
        let (mut from, mut until) = self.claims_validity(document);
        if document.valid_from() != UNKNOWN {
            from = document.valid_from();
        }
        let replaced = self.replaced_from(slot);
        if document.valid_until() != NEVER {
            until = document.valid_until();
        } else if replaced != NEVER {
            until = replaced;
        }
        from..until
    }

    /// Returns when the first claim of a document begins, and when the last one ends.
    fn claims_validity(&self, document: Document<'_>) -> (Millis, Millis) {
        let (mut from, mut until) = (NEVER, UNKNOWN);
        let ids = document.claim_ids();
        for (id, entry) in ids.start.until(ids.end).zip(document.claims()) {
            from = from.min(entry.from);
            until = until.max(self.claim_end(id));
        }
        if document.claims().is_empty() { (UNKNOWN, NEVER) } else { (from, until) }
    }

    /// Returns the claims of current memories by fact.
    pub(crate) fn history(&self) -> &ClaimHistory {
        &self.history
    }

    /// Computes the ledger of all current documents.
    pub(super) fn fill(&mut self, table: &Table, changes: &LedgerChanges) {
        let mut held = Vec::new();
        for change in &changes.claims {
            if let ClaimChange::Added(id) = change
                && table.alive().contains(*id)
                && let Some(document) = table.document(*id)
            {
                held.extend(held_claims(document, *id));
            }
        }
        let mut ended = Vec::new();
        self.history.fill(held, &mut ended);
        self.set_states(&ended);
        self.update_replaced(table, changes);
    }

    /// Computes again what depends on the changes.
    pub(super) fn update(&mut self, table: &Table, changes: &LedgerChanges) {
        let mut changed = Vec::new();
        for change in &changes.claims {
            let (ClaimChange::Added(id) | ClaimChange::Removed(id)) = *change;
            let Some(document) = table.document(id) else { continue };
            for claim in held_claims(document, id) {
                match change {
                    ClaimChange::Added(_) => self.history.insert(claim, &mut changed),
                    ClaimChange::Removed(_) => self.history.remove(claim.key, claim.order, &mut changed),
                }
            }
        }
        self.set_states(&changed);
        self.update_replaced(table, changes);
    }

    fn update_replaced(&mut self, table: &Table, changes: &LedgerChanges) {
        for (path, slot) in &changes.paths {
            let mut replaced = NEVER;
            for (_, replacing) in replacing_documents(table, *path) {
                replaced = replaced.min(begin_of(replacing));
            }
            set(&mut self.replaced, slot.index(), EndTime(replaced));
        }
    }

    fn set_states(&mut self, changed: &[ChangedEnd]) {
        for claim in changed {
            let state = match claim.ended_by {
                Some((ended_by, end)) => ClaimState { end, ended_by },
                None => ClaimState::default(),
            };
            set(&mut self.claims, claim.id.index(), state);
        }
    }

    /// Returns the documents that ended a document: those whose claims ended its claims, and those that replace its
    /// path. Ascending, without duplicates.
    pub(crate) fn superseding(&self, table: &Table, document: Document<'_>) -> Vec<DocumentId> {
        let mut superseding = Vec::new();
        if self.anything_replaced() {
            for (id, _) in replacing_documents(table, document.path()) {
                superseding.push(id);
            }
        }
        let ids = document.claim_ids();
        for id in ids.start.until(ids.end) {
            let state = self.claim_state(id);
            if state.end != NEVER {
                superseding.push(state.ended_by);
            }
        }
        superseding.sort_unstable();
        superseding.dedup();
        superseding
    }

    /// Returns the documents with claims that a document's claims ended. Ascending, without duplicates.
    pub(crate) fn superseded(&self, document: Document<'_>, id: DocumentId) -> Vec<DocumentId> {
        let mut superseded = Vec::new();
        for claim in held_claims(document, id) {
            for ended in self.history.ended_by(claim.key, claim.order) {
                superseded.push(ended.document);
            }
        }
        superseded.sort_unstable();
        superseded.dedup();
        superseded
    }
}

/// Returns the claims of a document, without their ends.
fn held_claims(document: Document<'_>, id: DocumentId) -> Vec<HeldClaim> {
    let mut held = Vec::with_capacity(document.claims().len());
    let ids = document.claim_ids();
    for (claim, entry) in ids.start.until(ids.end).zip(document.claims()) {
        held.push(HeldClaim {
            key: entry.key(),
            order: order_of(document, claim, entry),
            document: id,
            claimed: entry.claimed(),
            ender: ClaimOrder::LAST,
        });
    }
    held
}

/// Returns the place of a claim of a document among those of its fact.
fn order_of(document: Document<'_>, id: ClaimId, entry: &ClaimEntry) -> ClaimOrder {
    ClaimOrder {
        from: entry.from,
        created: document.time(TimeField::Created),
        sequence: document.sequence(),
        path: document.path(),
        id,
    }
}

/// Returns the current documents that replace a path.
fn replacing_documents(table: &Table, path: PathHash) -> impl Iterator<Item = (DocumentId, Document<'_>)> {
    let replacing = table.holding(FacetHash::of_superseded(path));
    let current = replacing.filter(|id| table.alive().contains(*id));
    current.filter_map(|id| Some((id, table.document(id)?)))
}

/// Returns when a document begins to hold: as somebody set it, else when it happened, else when it was written.
pub(crate) fn begin_of(document: Document<'_>) -> Millis {
    for time in [document.valid_from(), document.time(TimeField::Occurred), document.time(TimeField::Created)] {
        if time != UNKNOWN {
            return time;
        }
    }
    UNKNOWN
}

/// Sets an element; elements before it that do not exist yet become defaults.
fn set<T: Clone + Default + PartialEq>(elements: &mut Blocks<T>, index: usize, value: T) {
    if index >= elements.len() && value == T::default() {
        return;
    }
    while elements.len() <= index {
        elements.push(T::default());
    }
    // A block is copied only if the element changes.
    if elements.get(index).is_some_and(|former| *former == value) {
        return;
    }
    if let Some(element) = elements.get_mut(index) {
        *element = value;
    }
}
