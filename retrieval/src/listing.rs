//! Reads of memories without a query: by filter, by path and relations, or all of them.

use std::cmp::Reverse;
use std::collections::HashSet;

use crate::claim::Currency;
use crate::error::Result;
use crate::filter::Filter;
use crate::hash::PathHash;
use crate::ids::{DocumentId, SlotId};
use crate::index::{Document, Snapshot, ValidityFilter, ValidityState, allowed_documents};
use crate::memory::{Memory, Millis};
use crate::text_budget::{TextBudget, Unlimited};
use crate::time::UNKNOWN;

/// The order of a listing, by the filter's time field. Memories without that time come last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListingOrder {
    /// The latest time first.
    #[default]
    NewestFirst,
    /// The earliest time first.
    OldestFirst,
}

/// A request for the memories that a filter accepts.
#[derive(Clone, Debug)]
pub struct Listing<'a> {
    /// The conditions that every memory meets.
    pub filter: &'a Filter,
    /// The order of the memories.
    pub order: ListingOrder,
    /// The number of memories that are left out at the beginning.
    pub offset: usize,
    /// The maximum number of memories.
    pub limit: usize,
    /// The time at which expiry and validity are judged.
    pub now: Millis,
    /// If given, later memories are left out, and validity is judged at this time.
    pub as_of: Option<Millis>,
    /// Whether memories that do not hold are left out. Otherwise they are listed like all others.
    pub currency: Currency,
}

/// A part of a listing.
#[derive(Clone, Debug, Default)]
pub struct ListedPage {
    /// The memories from the offset on, up to the limit.
    pub memories: Vec<Listed>,
    /// Number of memories that the filter accepts.
    pub total: usize,
}

/// A memory of a listing.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// The memory.
    pub memory: Memory,
    /// When it holds.
    pub validity: ValidityState,
}

/// A memory in the log of an index, not read yet.
#[derive(Clone, Copy)]
pub struct StoredMemory<'a> {
    snapshot: &'a Snapshot,
    id: DocumentId,
    document: Document<'a>,
}

impl StoredMemory<'_> {
    /// Reads the memory.
    pub fn read(&self) -> Result<Memory> {
        self.snapshot.memory(self.document)
    }

    /// Reads the memory for a listing, with its validity at the time of the listing.
    pub fn read_listed(&self, listing: &Listing<'_>) -> Result<Listed> {
        let at = listing.validity_filter().at;
        Ok(Listed { memory: self.read()?, validity: self.snapshot.validity_state(self.id, at)? })
    }
}

impl Listing<'_> {
    fn validity_filter(&self) -> ValidityFilter {
        ValidityFilter::new(self.now, self.as_of, self.currency)
    }
}

impl Snapshot {
    /// Returns memories that a filter accepts.
    pub fn list(&self, listing: &Listing<'_>) -> Result<ListedPage> {
        self.list_within(listing, &Unlimited)
    }

    /// Returns memories that a filter accepts, if they fit into a budget.
    ///
    /// # Errors
    ///
    /// [`Error::OverBudget`](crate::Error::OverBudget) if they do not fit; otherwise those of [`Self::list`].
    pub fn list_within(&self, listing: &Listing<'_>, budget: &dyn TextBudget) -> Result<ListedPage> {
        let field = listing.filter.time_field;
        let validity = listing.validity_filter();
        let mut chosen = self.accepted_documents(listing, &validity);
        match listing.order {
            ListingOrder::NewestFirst => {
                chosen.sort_unstable_by_key(|(_, document)| (Reverse(document.time(field)), document.path()));
            }
            ListingOrder::OldestFirst => chosen.sort_unstable_by_key(|(_, document)| {
                let time = document.time(field);
                (time == UNKNOWN, time, document.path())
            }),
        }
        let total = chosen.len();
        let mut memories = Vec::with_capacity(total.saturating_sub(listing.offset).min(listing.limit));
        for (id, document) in chosen.into_iter().skip(listing.offset).take(listing.limit) {
            let memory = self.memory_within(document, budget)?;
            memories.push(Listed { memory, validity: self.validity_state(id, validity.at)? });
        }
        // Ties by path, where the first sort only had its hash.
        memories.sort_by(|Listed { memory: a, .. }, Listed { memory: b, .. }| {
            let (a_time, b_time) = (field.of(a), field.of(b));
            let by_time = match listing.order {
                ListingOrder::NewestFirst => b_time.cmp(&a_time),
                ListingOrder::OldestFirst => a_time.is_none().cmp(&b_time.is_none()).then_with(|| a_time.cmp(&b_time)),
            };
            by_time.then_with(|| a.path.cmp(&b.path))
        });
        Ok(ListedPage { memories, total })
    }

    /// Returns all memories that the filter of a listing accepts, in the order in which they were written. The order,
    /// the offset and the limit of the listing are not applied. A caller that reads the memories one after the other
    /// holds the content of one at a time.
    pub fn accepted(&self, listing: &Listing<'_>) -> Vec<StoredMemory<'_>> {
        let documents = self.accepted_documents(listing, &listing.validity_filter());
        let mut accepted = Vec::with_capacity(documents.len());
        for (id, document) in documents {
            accepted.push(StoredMemory { snapshot: self, id, document });
        }
        accepted
    }

    fn accepted_documents(&self, listing: &Listing<'_>, validity: &ValidityFilter) -> Vec<(DocumentId, Document<'_>)> {
        let allowed = allowed_documents(self, listing.filter, validity, listing.now);
        let mut accepted = Vec::new();
        for (id, document) in self.table.documents() {
            if allowed.as_ref().is_none_or(|allowed| allowed.contains(id)) {
                accepted.push((id, document));
            }
        }
        accepted
    }

    /// Returns every memory, in the order in which they were written.
    pub fn all(&self) -> impl Iterator<Item = Result<Memory>> {
        self.table.documents().map(|(_, document)| self.memory(document))
    }

    /// Returns the memory at a path and those within `depth` relations of it, in either direction, nearest first, at
    /// most `limit`. Returns nothing if the path holds no memory. Scans every path once.
    pub fn neighbourhood(&self, path: &str, depth: usize, limit: usize) -> Vec<StoredMemory<'_>> {
        let path = PathHash::of(path);
        let Some((start, _)) = self.table.documents().find(|(_, document)| document.path() == path) else {
            return Vec::new();
        };
        let Some(start) = self.table.slot_of(start) else { return Vec::new() };
        let mut memories = Vec::new();
        for slot in self.slots_within(start, depth, limit) {
            if let Some(id) = self.table.current(slot)
                && let Some(document) = self.table.document(id)
            {
                memories.push(StoredMemory { snapshot: self, id, document });
            }
        }
        memories
    }

    /// Returns the slots within `depth` edges of a slot that hold a memory, nearest first, at most `limit`.
    fn slots_within(&self, start: SlotId, depth: usize, limit: usize) -> Vec<SlotId> {
        let mut reached = vec![start];
        let mut seen = HashSet::from([start]);
        // The slots that the last step reached.
        let mut ring = 0..1;
        for _ in 0..depth {
            for index in ring.clone() {
                for edge in self.graph.edges(reached[index], usize::MAX) {
                    if reached.len() < limit && self.table.current(edge.to).is_some() && seen.insert(edge.to) {
                        reached.push(edge.to);
                    }
                }
            }
            ring = ring.end..reached.len();
        }
        reached
    }
}
