//! The documents of a namespace: their layers, which of them are current, and statistics of the current ones.

use std::collections::HashMap;
use std::sync::Arc;

use super::entry::{IndexedMemory, NEVER};
use super::habits::Habits;
use super::layer::{Document, Layer, Postings};
use crate::bitmap::Bitmap;
use crate::blocks::Blocks;
use crate::hash::{FacetHash, PathHash, PostingKey, TermHash};
use crate::ids::{ClaimId, DocumentId, SlotId};
use crate::memory::Millis;

/// Limit of the documents of a layer that others are merged into, so that a merge never delays a write for long.
const LAYER_DOCUMENTS_MAX: usize = 1 << 16;
/// The approximate size of the sample that statistics are measured on.
const SAMPLE: usize = 256;
/// Marks a slot without a current document.
const NO_DOCUMENT: DocumentId = DocumentId::new(u32::MAX);

/// The documents of a namespace. Cloning shares nearly everything.
#[derive(Clone, Default)]
pub(crate) struct Table {
    layers: Vec<Arc<Layer>>,
    /// The slot of each document.
    slots: Blocks<SlotId>,
    /// The current document of each slot.
    current: Blocks<DocumentId>,
    /// The current documents.
    alive: Arc<Bitmap>,
    /// The number of current documents.
    live: usize,
    /// The number of rows of current documents.
    live_rows: usize,
    /// The sum of the current documents' lengths in terms.
    terms: u64,
    /// For each term, the number of its postings in documents that are no longer current.
    dead: Arc<HashMap<TermHash, u32>>,
    /// For each token, the number of current documents that contain it.
    tokens: Arc<Vec<u32>>,
    /// The sampled documents, some perhaps no longer current.
    sample: Arc<Vec<DocumentId>>,
    /// A path is sampled if its [bits](PathHash::bits) have none of these.
    sample_mask: u64,
    /// What is usual for the speakers of the sample.
    habits: Arc<Habits>,
    /// Whether the sample changed since `habits` was computed.
    habits_outdated: bool,
    /// The earliest time at which a document expires.
    hidden_from: Millis,
}

impl Table {
    /// Creates an empty table for a vocabulary of `token_count` tokens.
    pub(crate) fn new(token_count: usize) -> Self {
        Self { tokens: Arc::new(vec![0; token_count]), hidden_from: NEVER, ..Self::default() }
    }

    /// Returns the number of documents, current or not.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns the id that the next document gets.
    pub(crate) fn next_document(&self) -> DocumentId {
        DocumentId::new(self.slots.len() as u32)
    }

    /// Returns the id that the next claim gets.
    pub(crate) fn next_claim(&self) -> ClaimId {
        match self.layers.last() {
            Some(layer) => layer.next_begin().claim,
            None => ClaimId::default(),
        }
    }

    /// Returns the number of current documents.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// Returns the number of rows of current documents.
    pub(crate) fn live_rows(&self) -> usize {
        self.live_rows
    }

    /// Whether any document may have expired by `now`.
    pub(crate) fn anything_hidden(&self, now: Millis) -> bool {
        self.hidden_from <= now
    }

    /// Returns the current documents.
    pub(crate) fn alive(&self) -> &Bitmap {
        &self.alive
    }

    pub(crate) fn layers(&self) -> &[Arc<Layer>] {
        &self.layers
    }

    /// Returns a document, current or not.
    pub(crate) fn document(&self, id: DocumentId) -> Option<Document<'_>> {
        let index = self.layers.partition_point(|layer| layer.end() <= id);
        self.layers.get(index).map(|layer| layer.document(id))
    }

    /// Returns the path of a document, which breaks ties; zero if the document does not exist.
    pub(crate) fn path(&self, id: DocumentId) -> PathHash {
        match self.document(id) {
            Some(document) => document.path(),
            None => PathHash::default(),
        }
    }

    pub(crate) fn slot_of(&self, id: DocumentId) -> Option<SlotId> {
        self.slots.get(id.index()).copied()
    }

    /// Prefetches what [`Table::slot_of`] reads.
    pub(crate) fn prefetch_slot_of(&self, id: DocumentId) {
        self.slots.prefetch(id.index());
    }

    /// Prefetches what [`Table::current`] reads.
    pub(crate) fn prefetch_current(&self, slot: SlotId) {
        self.current.prefetch(slot.index());
    }

    /// Returns the current document of a slot; `None` if its path holds no memory.
    pub(crate) fn current(&self, slot: SlotId) -> Option<DocumentId> {
        self.current.get(slot.index()).copied().filter(|document| *document != NO_DOCUMENT)
    }

    /// Returns every current document with its id, ascending.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (DocumentId, Document<'_>)> {
        let all = self.layers.iter().flat_map(|layer| layer.documents());
        all.filter(|(id, _)| self.alive.contains(*id))
    }

    /// Returns the documents that have a facet, current or not, ascending.
    pub(crate) fn holding(&self, facet: FacetHash) -> impl Iterator<Item = DocumentId> {
        self.layers.iter().flat_map(move |layer| layer.postings(PostingKey::from(facet)).documents.iter().copied())
    }

    /// Returns the number of current documents that contain a term. `postings` are those of the term in each layer.
    pub(crate) fn frequency(&self, term: TermHash, postings: &[Postings<'_>]) -> u32 {
        let all: usize = postings.iter().map(|postings| postings.documents.len()).sum();
        let dead = self.dead.get(&term).copied().unwrap_or(0);
        (all as u32).saturating_sub(dead)
    }

    /// Returns the number of current documents that contain a token.
    pub(crate) fn token_frequency(&self, token: u16) -> u32 {
        self.tokens.get(usize::from(token)).copied().unwrap_or(0)
    }

    /// Returns the mean length of a current document in terms; at least one.
    pub(crate) fn mean_length(&self) -> f32 {
        (self.terms as f64 / self.live.max(1) as f64).max(1.0) as f32
    }

    /// Returns a sample of the current documents. Its paths do not depend on the order of writes.
    pub(crate) fn sample(&self) -> impl Iterator<Item = DocumentId> {
        self.sample.iter().copied().filter(|document| self.alive.contains(*document))
    }

    /// Returns what is usual for speakers, as of the last [`Table::refresh_sample`].
    pub(crate) fn habits(&self) -> &Habits {
        &self.habits
    }

    /// Assigns the next slot.
    pub(crate) fn add_slot(&mut self) -> SlotId {
        self.current.push(NO_DOCUMENT);
        SlotId::new(self.current.len() as u32 - 1)
    }

    /// Adds a document of the newest layer and makes it the current one of its slot. Returns the document that was
    /// current before, which the caller must subtract with [`Table::subtract`].
    pub(crate) fn add(&mut self, slot: SlotId, document: Document<'_>) -> Option<DocumentId> {
        let id = self.next_document();
        self.slots.push(slot);
        let former = self.current(slot);
        self.habits_outdated |= self.is_sampled(document.path());
        if let Some(former) = former {
            Arc::make_mut(&mut self.alive).remove(former);
            self.live -= 1;
            if let Some(document) = self.document(former) {
                self.live_rows -= document.row_count();
            }
        }
        if let Some(current) = self.current.get_mut(slot.index()) {
            *current = if document.forgotten() { NO_DOCUMENT } else { id };
        }
        if !document.forgotten() {
            Arc::make_mut(&mut self.alive).insert(id);
            self.live += 1;
            self.live_rows += document.row_count();
            self.terms += u64::from(document.length());
            self.hidden_from = self.hidden_from.min(document.hidden_from());
            let tokens = Arc::make_mut(&mut self.tokens);
            for token in document.tokens() {
                if let Some(count) = tokens.get_mut(usize::from(*token)) {
                    *count += 1;
                }
            }
            if self.is_sampled(document.path()) {
                Arc::make_mut(&mut self.sample).push(id);
            }
        }
        former
    }

    /// Subtracts a former version of a memory from the statistics.
    pub(crate) fn subtract(&mut self, memory: &IndexedMemory) {
        self.terms = self.terms.saturating_sub(u64::from(memory.length));
        let tokens = Arc::make_mut(&mut self.tokens);
        for token in &memory.tokens {
            if let Some(count) = tokens.get_mut(usize::from(*token)) {
                *count = count.saturating_sub(1);
            }
        }
        let dead = Arc::make_mut(&mut self.dead);
        for (term, _) in &memory.terms {
            *dead.entry(*term).or_default() += 1;
        }
    }

    /// Adds the layer of the newest documents, merged with the layers before it that are not much larger. Returns the
    /// merged layer. Layers double in size from the newest to the oldest, up to a limit, so there are never many.
    pub(crate) fn push_layer(&mut self, layer: Layer) -> Arc<Layer> {
        let mut newest = layer;
        while let Some(before) = self.layers.last() {
            if before.len() > 2 * newest.len() || before.len() + newest.len() > LAYER_DOCUMENTS_MAX {
                break;
            }
            newest = before.merge(&newest);
            self.layers.pop();
        }
        let newest = Arc::new(newest);
        self.layers.push(Arc::clone(&newest));
        newest
    }

    /// Adds a layer that was loaded, without merging it.
    pub(crate) fn restore_layer(&mut self, layer: Arc<Layer>) {
        self.layers.push(layer);
    }

    /// Updates the sample and what is usual in it. Must be called after every change. The sample is drawn again if the
    /// number of documents left the range that the current sample is for.
    pub(crate) fn refresh_sample(&mut self) {
        let mask = (self.live / SAMPLE).next_power_of_two().max(1) as u64 - 1;
        if mask != self.sample_mask || self.sample.len() > 8 * SAMPLE {
            self.sample_mask = mask;
            let sampled = self.documents().filter(|(_, document)| self.is_sampled(document.path()));
            self.sample = Arc::new(sampled.map(|(id, _)| id).collect());
            self.habits_outdated = true;
        }
        if self.habits_outdated {
            self.habits = Arc::new(Habits::of(self.sample().filter_map(|id| Some((id, self.document(id)?)))));
            self.habits_outdated = false;
        }
    }

    fn is_sampled(&self, path: PathHash) -> bool {
        path.bits() & self.sample_mask == 0
    }
}
