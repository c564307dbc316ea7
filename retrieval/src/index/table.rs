//! The memories of a namespace: layers of documents, which of them are current, and counts over those that are.

use std::collections::HashMap;
use std::sync::Arc;

use super::blocks::Blocks;
use super::entry::{Body, NEVER};
use super::habits::Habits;
use super::layer::{Document, Layer, Postings};
use crate::filter::Bitmap;
use crate::memory::Millis;

/// A layer does not grow past so many documents, so that a merge never holds a write up for long.
const LAYER_DOCUMENTS_MAX: usize = 1 << 16;
/// About so many memories stand for all of them where a spread is asked for.
const SAMPLE: usize = 256;
/// No document.
const NONE: u32 = u32::MAX;

/// What a namespace holds. Cloning shares nearly everything.
///
/// A *slot* is a path's number, given out once; a *document* is one version of the memory at a path.
#[derive(Clone, Default)]
pub(crate) struct Table {
    layers: Vec<Arc<Layer>>,
    /// The slot of each document.
    slots: Blocks<u32>,
    /// The current document of each slot.
    current: Blocks<u32>,
    alive: Arc<Bitmap>,
    live: usize,
    /// How many rows the live documents have.
    live_rows: usize,
    /// The sum of the live documents' lengths in terms.
    terms: u64,
    /// For each term, how many of its postings are of documents that are no longer current.
    dead: Arc<HashMap<u64, u32>>,
    /// For each token, how many live documents hold it.
    tokens: Arc<Vec<u32>>,
    /// Documents that were picked for the sample, some perhaps no longer current, and the mask that picked them.
    sample: Arc<Vec<u32>>,
    sample_mask: u64,
    /// What is usual for the speakers of the sample, and whether that may have changed since.
    habits: Arc<Habits>,
    habits_outdated: bool,
    hidden_from: Millis,
}

impl Table {
    /// An empty table for a vocabulary of so many tokens.
    pub(crate) fn new(vocabulary: usize) -> Self {
        Self { tokens: Arc::new(vec![0; vocabulary]), hidden_from: NEVER, ..Self::default() }
    }

    /// One past the highest document number.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// How many memories there are.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// How many rows in the cue table their cues have.
    pub(crate) fn live_rows(&self) -> usize {
        self.live_rows
    }

    /// Whether any memory is hidden by then.
    pub(crate) fn anything_hidden(&self, now: Millis) -> bool {
        self.hidden_from <= now
    }

    /// Which documents are current.
    pub(crate) fn alive(&self) -> &Bitmap {
        &self.alive
    }

    pub(crate) fn layers(&self) -> &[Arc<Layer>] {
        &self.layers
    }

    /// A document of any layer.
    pub(crate) fn document(&self, document: u32) -> Option<Document<'_>> {
        let at = self.layers.partition_point(|layer| layer.range().end <= document);
        self.layers.get(at).map(|layer| layer.document(document))
    }

    pub(crate) fn slot_of(&self, document: u32) -> Option<u32> {
        self.slots.get(document as usize).copied()
    }

    /// Has the processor fetch what is asked for with [`Table::slot_of`].
    pub(crate) fn prefetch_slot_of(&self, document: u32) {
        self.slots.prefetch(document as usize);
    }

    /// Has the processor fetch what is asked for with [`Table::current`].
    pub(crate) fn prefetch_current(&self, slot: u32) {
        self.current.prefetch(slot as usize);
    }

    /// The current document of a slot, if its path holds a memory.
    pub(crate) fn current(&self, slot: u32) -> Option<u32> {
        self.current.get(slot as usize).copied().filter(|document| *document != NONE)
    }

    /// Every current document, ascending.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (u32, Document<'_>)> {
        let all = self.layers.iter().flat_map(|layer| layer.range().map(move |n| (n, layer.document(n))));
        all.filter(|(number, _)| self.alive.contains(*number))
    }

    /// The documents that hold a term or facet, current or not, ascending.
    pub(crate) fn holding(&self, term: u64) -> impl Iterator<Item = u32> {
        self.layers.iter().flat_map(move |layer| layer.postings(term).documents.iter().copied())
    }

    /// How many memories hold a term that has these postings.
    pub(crate) fn frequency(&self, term: u64, postings: &[Postings<'_>]) -> u32 {
        let all: usize = postings.iter().map(|postings| postings.documents.len()).sum();
        (all as u32).saturating_sub(self.dead.get(&term).copied().unwrap_or_default())
    }

    /// How many memories hold a token.
    pub(crate) fn token_frequency(&self, token: u16) -> u32 {
        self.tokens.get(usize::from(token)).copied().unwrap_or_default()
    }

    /// The mean length of a memory in terms; never zero.
    pub(crate) fn mean_length(&self) -> f32 {
        (self.terms as f64 / self.live.max(1) as f64).max(1.0) as f32
    }

    /// Current documents that stand for all: the same paths whatever the order in which they were written.
    pub(crate) fn sample(&self) -> impl Iterator<Item = u32> {
        self.sample.iter().copied().filter(|document| self.alive.contains(*document))
    }

    /// What is usual for speakers, as of the last [`Table::refresh_sample`].
    pub(crate) fn habits(&self) -> &Habits {
        &self.habits
    }

    /// Gives out the next slot.
    pub(crate) fn add_slot(&mut self) -> u32 {
        self.current.push(NONE);
        self.current.len() as u32 - 1
    }

    /// Takes in a new document's columns, apart from its layer. The one that was current for its slot is returned and
    /// no longer is; its numbers are to be taken out with [`Table::forget`].
    pub(crate) fn add(&mut self, slot: u32, document: Document<'_>) -> Option<u32> {
        let number = self.slots.len() as u32;
        self.slots.push(slot);
        let before = self.current(slot);
        self.habits_outdated |= self.is_sampled(document.path());
        if let Some(before) = before {
            Arc::make_mut(&mut self.alive).remove(before);
            self.live -= 1;
            self.live_rows -= self.document(before).map_or(0, |before| before.rows().len());
        }
        if let Some(current) = self.current.get_mut(slot as usize) {
            *current = if document.forgotten() { NONE } else { number };
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
        before
    }

    /// Takes a document that is no longer current out of the counts.
    pub(crate) fn forget(&mut self, body: &Body) {
        self.terms = self.terms.saturating_sub(u64::from(body.length));
        let tokens = Arc::make_mut(&mut self.tokens);
        for token in &body.tokens {
            if let Some(count) = tokens.get_mut(usize::from(*token)) {
                *count = count.saturating_sub(1);
            }
        }
        let dead = Arc::make_mut(&mut self.dead);
        body.terms.iter().for_each(|(term, _)| *dead.entry(*term).or_default() += 1);
    }

    /// Takes in the layer of the newest documents and returns what became of it. Layers double in size from the newest
    /// to the oldest, up to a limit, so there are never many of them.
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

    /// Takes in a layer as it was read from its file.
    pub(crate) fn restore_layer(&mut self, layer: Arc<Layer>) {
        self.layers.push(layer);
    }

    /// Picks the sample anew when the number of memories has left the range that the present one is for, and looks at what
    /// is usual in it. To be called after every change.
    pub(crate) fn refresh_sample(&mut self) {
        let mask = (self.live / SAMPLE).next_power_of_two().max(1) as u64 - 1;
        if mask != self.sample_mask || self.sample.len() > 8 * SAMPLE {
            self.sample_mask = mask;
            let picked = self.documents().filter(|(_, document)| self.is_sampled(document.path()));
            self.sample = Arc::new(picked.map(|(number, _)| number).collect());
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
