//! The ledger: when each claim ended, and when each memory was replaced.
//!
//! The claims with one subject and one attribute are compared in the order of their times. What ends a claim is decided
//! by [`ClaimEntry::is_ended_by`]. The result depends only on the current memories and not on the order of writes, so a
//! memory that arrives late, is edited or is forgotten changes exactly what follows from it.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::claim_entry::ClaimEntry;
use super::entry::{NEVER, UNKNOWN};
use super::layer::Document;
use super::table::Table;
use crate::blocks::Blocks;
use crate::claim::ClaimKind;
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

/// What became of a claim, and what it did to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClaimState {
    /// When the claim ended; [`NEVER`] by default.
    end: Millis,
    /// The document with the claim that ended it. Without a meaning if it never ended.
    ended_by: DocumentId,
    /// Whether it ended another claim.
    ends_others: bool,
}

impl Default for ClaimState {
    fn default() -> Self {
        Self { end: NEVER, ended_by: DocumentId::default(), ends_others: false }
    }
}

/// When claims and memories ended. Cloning shares nearly everything.
#[derive(Clone, Default)]
pub(crate) struct Ledger {
    /// The state of each claim.
    claims: Blocks<ClaimState>,
    /// When the memory of each slot was replaced by one that names its path.
    replaced: Blocks<EndTime>,
}

/// The changes that a write made to what the ledger is computed from.
#[derive(Default)]
pub(super) struct LedgerChanges {
    /// The keys of added and removed claims.
    keys: HashSet<FacetHash>,
    /// The paths that added and removed memories replace, with their slots.
    paths: HashMap<PathHash, SlotId>,
}

impl LedgerChanges {
    /// Adds the claims of a document that was added or replaced.
    pub(super) fn add_claims(&mut self, claims: &[ClaimEntry]) {
        for claim in claims {
            self.keys.insert(claim.key());
        }
    }

    /// Adds a path that such a document replaces.
    pub(super) fn add_path(&mut self, path: PathHash, slot: SlotId) {
        self.paths.insert(path, slot);
    }
}

/// A claim of a current memory, with what orders it among others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldClaim {
    pub(crate) document: DocumentId,
    pub(crate) id: ClaimId,
    pub(crate) entry: ClaimEntry,
    /// Time of the claim, time and position of its writing, and path.
    order: (Millis, Millis, u32, PathHash),
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

    /// Computes again what depends on the changes.
    pub(super) fn update(&mut self, table: &Table, changes: &LedgerChanges) {
        for key in &changes.keys {
            self.compare(&held_claims(table, *key));
        }
        for (path, slot) in &changes.paths {
            let mut replaced = NEVER;
            for (_, replacing) in replacing_documents(table, *path) {
                replaced = replaced.min(begin_of(replacing));
            }
            set(&mut self.replaced, slot.index(), EndTime(replaced));
        }
    }

    /// Sets the states of all claims with one key, which are in the order of their times.
    fn compare(&mut self, held: &[HeldClaim]) {
        let mut states = vec![ClaimState::default(); held.len()];
        for index in 0..held.len() {
            if let Some(ender) = ender_of(held, index) {
                states[index].end = held[ender].order.0;
                states[index].ended_by = held[ender].document;
                states[ender].ends_others = true;
            }
        }
        for (claim, state) in held.iter().zip(states) {
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
    pub(crate) fn superseded(&self, table: &Table, document: Document<'_>) -> Vec<DocumentId> {
        let mut superseded = Vec::new();
        let ids = document.claim_ids();
        for (id, entry) in ids.start.until(ids.end).zip(document.claims()) {
            if !self.claim_state(id).ends_others {
                continue;
            }
            let held = held_claims(table, entry.key());
            for (index, claim) in held.iter().enumerate() {
                if ender_of(&held, index).is_some_and(|ender| held[ender].id == id) {
                    superseded.push(claim.document);
                }
            }
        }
        superseded.sort_unstable();
        superseded.dedup();
        superseded
    }
}

/// Returns the claims of current memories with a key, in the order of their times.
pub(crate) fn held_claims(table: &Table, key: FacetHash) -> Vec<HeldClaim> {
    let mut held = Vec::new();
    for document_id in table.holding(key) {
        if !table.alive().contains(document_id) {
            continue;
        }
        let Some(document) = table.document(document_id) else { continue };
        let ids = document.claim_ids();
        for (id, entry) in ids.start.until(ids.end).zip(document.claims()) {
            if entry.key() == key {
                let created = document.time(TimeField::Created);
                let order = (entry.from, created, document.sequence(), document.path());
                held.push(HeldClaim { document: document_id, id, entry: *entry, order });
            }
        }
    }
    held.sort_unstable_by_key(|claim| (claim.order, claim.id));
    held
}

/// Returns the index of the first later claim that ends a claim.
fn ender_of(held: &[HeldClaim], index: usize) -> Option<usize> {
    let claim = &held[index];
    for (later_index, later) in held.iter().enumerate().skip(index + 1) {
        // Claims of one memory do not end each other.
        if later.document != claim.document && claim.entry.is_ended_by(&later.entry) {
            return Some(later_index);
        }
    }
    None
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

/// Whether a kind of claim says that the value holds.
pub(crate) fn is_positive(kind: ClaimKind) -> bool {
    kind != ClaimKind::Ended
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
