//! The documents of a namespace: their layers, which of them are current, and statistics of the current ones.

use std::collections::HashMap;
use std::sync::Arc;

use super::entry::{IndexedMemory, NEVER};
use super::habits::Habits;
use super::layer::{Document, Layer, Postings};
use crate::bitmap::Bitmap;
use crate::blocks::Blocks;
use crate::memory::Millis;

/// Limit of the documents of a layer that others are merged into, so that a merge never delays a write for long.
const LAYER_DOCUMENTS_MAX: usize = 1 << 16;
/// The approximate size of the sample that statistics are measured on.
const SAMPLE: usize = 256;
/// Marks a slot without a current document.
const NO_DOCUMENT: u32 = u32::MAX;

/// The documents of a namespace. Cloning shares nearly everything.
///
/// A *slot* is the number of a path, assigned once. A *document* is one version of the memory at a path.
#[derive(Clone, Default)]
pub(crate) struct Table {
    layers: Vec<Arc<Layer>>,
    /// The slot of each document.
    slots: Blocks<u32>,
    /// The current document of each slot.
    current: Blocks<u32>,
    /// The current documents.
    alive: Arc<Bitmap>,
    /// The number of current documents.
    live: usize,
    /// The number of rows of current documents.
    live_rows: usize,
    /// The sum of the current documents' lengths in terms.
    terms: u64,
    /// For each term, the number of its postings in documents that are no longer current.
    dead: Arc<HashMap<u64, u32>>,
    /// For each token, the number of current documents that contain it.
    tokens: Arc<Vec<u32>>,
    /// The sampled documents, some perhaps no longer current.
    sample: Arc<Vec<u32>>,
    /// A path is sampled if its hash has none of these bits.
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

    /// Returns the number of documents, current or not: one more than the highest document number.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
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

    /// Returns a document by its number, current or not.
    pub(crate) fn document(&self, number: u32) -> Option<Document<'_>> {
        let index = self.layers.partition_point(|layer| layer.range().end <= number);
        self.layers.get(index).map(|layer| layer.document(number))
    }

    /// Returns the hash of a document's path, which breaks ties; zero if the document does not exist.
    pub(crate) fn path(&self, number: u32) -> u64 {
        match self.document(number) {
            Some(document) => document.path(),
            None => 0,
        }
    }

    pub(crate) fn slot_of(&self, document: u32) -> Option<u32> {
        self.slots.get(document as usize).copied()
    }

    /// Prefetches what [`Table::slot_of`] reads.
    pub(crate) fn prefetch_slot_of(&self, document: u32) {
        self.slots.prefetch(document as usize);
    }

    /// Prefetches what [`Table::current`] reads.
    pub(crate) fn prefetch_current(&self, slot: u32) {
        self.current.prefetch(slot as usize);
    }

    /// Returns the current document of a slot; `None` if its path holds no memory.
    pub(crate) fn current(&self, slot: u32) -> Option<u32> {
        self.current.get(slot as usize).copied().filter(|document| *document != NO_DOCUMENT)
    }

    /// Returns every current document with its number, ascending.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (u32, Document<'_>)> {
        let all = self.layers.iter().flat_map(|layer| layer.documents());
        all.filter(|(number, _)| self.alive.contains(*number))
    }

    /// Returns the documents that have a term or facet, current or not, ascending.
    pub(crate) fn holding(&self, term: u64) -> impl Iterator<Item = u32> {
        self.layers.iter().flat_map(move |layer| layer.postings(term).documents.iter().copied())
    }

    /// Returns the number of current documents that contain a term. `postings` are those of the term in each layer.
    pub(crate) fn frequency(&self, term: u64, postings: &[Postings<'_>]) -> u32 {
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
    pub(crate) fn sample(&self) -> impl Iterator<Item = u32> {
        self.sample.iter().copied().filter(|document| self.alive.contains(*document))
    }

    /// Returns what is usual for speakers, as of the last [`Table::refresh_sample`].
    pub(crate) fn habits(&self) -> &Habits {
        &self.habits
    }

    /// Assigns the next slot.
    pub(crate) fn add_slot(&mut self) -> u32 {
        self.current.push(NO_DOCUMENT);
        self.current.len() as u32 - 1
    }

    /// Adds a document of the newest layer and makes it the current one of its slot. Returns the document that was
    /// current before, which the caller must subtract with [`Table::subtract`].
    pub(crate) fn add(&mut self, slot: u32, document: Document<'_>) -> Option<u32> {
        let number = self.slots.len() as u32;
        self.slots.push(slot);
        let former = self.current(slot);
        self.habits_outdated |= self.is_sampled(document.path());
        if let Some(former) = former {
            Arc::make_mut(&mut self.alive).remove(former);
            self.live -= 1;
            if let Some(document) = self.document(former) {
                self.live_rows -= document.rows().len();
            }
        }
        if let Some(current) = self.current.get_mut(slot as usize) {
            *current = if document.forgotten() { NO_DOCUMENT } else { number };
        }
        if !document.forgotten() {
            Arc::make_mut(&mut self.alive).insert(number);
            self.live += 1;
            self.live_rows += document.rows().len();
            self.terms += u64::from(document.length());
            self.hidden_from = self.hidden_from.min(document.hidden_from());
            let tokens = Arc::make_mut(&mut self.tokens);
            for token in document.tokens() {
                if let Some(count) = tokens.get_mut(usize::from(*token)) {
                    *count += 1;
                }
            }
            if self.is_sampled(document.path()) {
                Arc::make_mut(&mut self.sample).push(number);
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
            self.sample = Arc::new(sampled.map(|(number, _)| number).collect());
            self.habits_outdated = true;
        }
        if self.habits_outdated {
            self.habits = Arc::new(Habits::of(self.sample().filter_map(|number| self.document(number))));
            self.habits_outdated = false;
        }
    }

    fn is_sampled(&self, path: u64) -> bool {
        // The lowest bit of a hash is a mark.
        (path >> 1) & self.sample_mask == 0
    }
}
