//! Layers: consecutive documents in columns, with the inverted index of their terms. A layer is immutable; two adjacent
//! layers merge into one.
//!
//! A document is one version of a memory, numbered in the order in which versions were written. A layer does not know
//! which version is current: see [`Table`](super::Table).
//!
//! A layer of [`PERSISTED_MIN`] documents or more is also stored in a [`file`], so that opening an index need not
//! process the log again.

mod document;
mod file;
mod inverted;
mod lists;

use std::ops::Range;
use std::sync::OnceLock;

pub(crate) use document::Document;
pub(crate) use inverted::Postings;

use self::inverted::{InvertedIndex, Posting};
use self::lists::Lists;
use super::entry::{ChangeEntry, IndexedMemory, NEVER, UNKNOWN};
use super::log::Extent;
use crate::filter::TimeField;
use crate::memory::Millis;

/// Layers of fewer documents have no file; they are rebuilt from the log when the index is opened.
pub(crate) const PERSISTED_MIN: usize = 512;

/// Bits of [`Layer::flags`].
const ASKS: u8 = 1;
const FORGOTTEN: u8 = 2;
const WAITING: u8 = 4;

/// Documents in columns. A column has one element per document, unless its comment says otherwise. The columns are
/// those of [`IndexedMemory`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layer {
    /// The number of the first document.
    first: u32,
    /// The bytes of the layer's rows in the log of vectors.
    vectors: Extent,
    path: Vec<u64>,
    session: Vec<u64>,
    /// Occurred, created, updated.
    times: [Vec<Millis>; 3],
    /// The earliest and the latest occurred time; computed on first use.
    occurred_between: OnceLock<(Millis, Millis)>,
    hidden_from: Vec<Millis>,
    /// The offset in the log at which each document's frame begins, then the end of the last frame.
    frames: Vec<u64>,
    /// The first row of each document in the cue table, then the end of the last document's rows.
    rows: Vec<u32>,
    words: Vec<u32>,
    length: Vec<u32>,
    flags: Vec<u8>,
    speaker: Lists<u64>,
    entities: Lists<u64>,
    tokens: Lists<u16>,
    links: Lists<u64>,
    inverted: InvertedIndex,
}

impl Layer {
    /// Builds the layer of entries.
    ///
    /// `first` is the number of the first document, and `first_row` that of its first row. `frames` holds the begin of
    /// the first frame in the log, then the end of every frame. `row_bytes` are the bytes of one row.
    pub(crate) fn new(first: u32, entries: &[ChangeEntry], frames: Vec<u64>, first_row: u32, row_bytes: usize) -> Self {
        let mut layer = Self::empty(first, frames, first_row, row_bytes);
        let forgotten = IndexedMemory { times: [UNKNOWN; 3], hidden_from: NEVER, ..IndexedMemory::default() };
        let (mut row, mut postings) = (first_row, Vec::new());
        for (entry, document) in entries.iter().zip(first..) {
            row += entry.rows;
            layer.vectors.append(u64::from(entry.rows) * row_bytes as u64, entry.rows_checksum);
            layer.path.push(entry.path);
            layer.rows.push(row);
            match &entry.body {
                Some(memory) => {
                    layer.push_columns(memory);
                    layer.flags.push((u8::from(memory.asks) * ASKS) | (u8::from(memory.waiting) * WAITING));
                    push_postings(&mut postings, document, memory);
                }
                None => {
                    layer.push_columns(&forgotten);
                    layer.flags.push(FORGOTTEN);
                }
            }
        }
        postings
            .sort_unstable_by_key(|posting: &Posting| (posting.term, posting.document, posting.count, posting.length));
        layer.inverted = InvertedIndex::new(&postings);
        layer
    }

    fn empty(first: u32, frames: Vec<u64>, first_row: u32, row_bytes: usize) -> Self {
        Self {
            first,
            vectors: Extent::at(u64::from(first_row) * row_bytes as u64),
            path: Vec::new(),
            session: Vec::new(),
            times: Default::default(),
            occurred_between: OnceLock::new(),
            hidden_from: Vec::new(),
            frames,
            rows: vec![first_row],
            words: Vec::new(),
            length: Vec::new(),
            flags: Vec::new(),
            speaker: Lists::new(),
            entities: Lists::new(),
            tokens: Lists::new(),
            links: Lists::new(),
            inverted: InvertedIndex::with_capacity(0, 0),
        }
    }

    fn push_columns(&mut self, memory: &IndexedMemory) {
        self.session.push(memory.session);
        for (column, time) in self.times.iter_mut().zip(memory.times) {
            column.push(time);
        }
        self.hidden_from.push(memory.hidden_from);
        self.words.push(memory.words);
        self.length.push(memory.length);
        self.speaker.push(memory.speaker.iter().copied());
        self.entities.push(memory.entities.iter().copied());
        self.tokens.push(memory.tokens.iter().copied());
        self.links.push(memory.links.iter().copied());
    }

    /// Merges this layer with the one whose documents follow.
    pub(crate) fn merge(&self, next: &Self) -> Self {
        let [occurred, created, updated] = [0, 1, 2].map(|field| [&self.times[field][..], &next.times[field]].concat());
        Self {
            first: self.first,
            vectors: self.vectors.and(&next.vectors),
            path: [&self.path[..], &next.path].concat(),
            session: [&self.session[..], &next.session].concat(),
            times: [occurred, created, updated],
            occurred_between: OnceLock::new(),
            hidden_from: [&self.hidden_from[..], &next.hidden_from].concat(),
            frames: [&self.frames[..], &next.frames[1..]].concat(),
            rows: [&self.rows[..], &next.rows[1..]].concat(),
            words: [&self.words[..], &next.words].concat(),
            length: [&self.length[..], &next.length].concat(),
            flags: [&self.flags[..], &next.flags].concat(),
            speaker: self.speaker.concat(&next.speaker),
            entities: self.entities.concat(&next.entities),
            tokens: self.tokens.concat(&next.tokens),
            links: self.links.concat(&next.links),
            inverted: self.inverted.merge(&next.inverted),
        }
    }

    /// Returns the number of documents.
    pub(crate) fn len(&self) -> usize {
        self.path.len()
    }

    /// Returns the numbers of the documents.
    pub(crate) fn range(&self) -> Range<u32> {
        self.first..self.first + self.len() as u32
    }

    /// Returns the offset in the log at which the last frame ends.
    pub(crate) fn log_end(&self) -> u64 {
        self.frames.last().copied().unwrap_or(0)
    }

    /// Returns the bytes of the layer's rows in the log of vectors.
    pub(crate) fn vectors(&self) -> &Extent {
        &self.vectors
    }

    /// Whether the layer's rows begin at row `first` of the cue table and fill exactly its bytes in the log of vectors.
    pub(crate) fn rows_fill(&self, first: usize, row_bytes: usize) -> bool {
        let begin = self.rows.first().copied().unwrap_or(0) as usize;
        let bytes = self.vectors.range.clone();
        begin == first
            && bytes.start == begin as u64 * row_bytes as u64
            && bytes.end == u64::from(self.rows_end()) * row_bytes as u64
    }

    /// Returns the document of each row.
    pub(crate) fn documents_of_rows(&self) -> Vec<u32> {
        let mut documents = Vec::new();
        for (number, document) in self.documents() {
            documents.extend(std::iter::repeat_n(number, document.rows().len()));
        }
        documents
    }

    /// Returns the end of the layer's rows in the cue table.
    pub(crate) fn rows_end(&self) -> u32 {
        self.rows.last().copied().unwrap_or(0)
    }

    /// Returns the postings of a term or facet; empty if there are none.
    pub(crate) fn postings(&self, term: u64) -> Postings<'_> {
        match self.inverted.terms.binary_search(&term) {
            Ok(index) => self.inverted.postings(index),
            Err(_) => Postings::default(),
        }
    }

    /// Returns one time of all documents.
    pub(crate) fn times(&self, field: TimeField) -> &[Millis] {
        &self.times[field as usize]
    }

    /// Returns the earliest and the latest occurred time. If none is known, the earliest is after the latest.
    pub(crate) fn occurred_between(&self) -> (Millis, Millis) {
        *self.occurred_between.get_or_init(|| {
            let known = self.times(TimeField::Occurred).iter().filter(|time| **time != UNKNOWN);
            known.fold((Millis::MAX, Millis::MIN), |(first, last), time| (first.min(*time), last.max(*time)))
        })
    }

    /// Returns the time of expiry of each document.
    pub(crate) fn hidden_from(&self) -> &[Millis] {
        &self.hidden_from
    }

    /// Returns a document; its number must be in [`Layer::range`].
    pub(crate) fn document(&self, number: u32) -> Document<'_> {
        Document { layer: self, index: (number - self.first) as usize }
    }

    /// Returns every document with its number, ascending.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (u32, Document<'_>)> {
        self.range().map(move |number| (number, self.document(number)))
    }
}

/// Adds a memory's terms and facets.
fn push_postings(postings: &mut Vec<Posting>, document: u32, memory: &IndexedMemory) {
    let length = u16::try_from(memory.length).unwrap_or(u16::MAX);
    postings.extend(memory.terms.iter().map(|(term, count)| Posting { term: *term, document, count: *count, length }));
    postings.extend(memory.facets.iter().map(|facet| Posting { term: *facet, document, count: 0, length }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: u64, term: u64) -> ChangeEntry {
        let terms = vec![(2, 1), (term, 3)];
        let body = IndexedMemory { terms, length: 4, tokens: vec![1, 5], ..IndexedMemory::default() };
        ChangeEntry { path, rows: 2, rows_checksum: crc32fast::hash(&path.to_le_bytes()), body: Some(body) }
    }

    /// A layer of rows of four bytes.
    pub(super) fn layer(first: u32, first_row: u32, entries: &[ChangeEntry]) -> Layer {
        let end = u64::from(first) + entries.len() as u64;
        Layer::new(first, entries, (u64::from(first)..=end).collect(), first_row, 4)
    }

    pub(super) fn two() -> Layer {
        layer(7, 0, &[entry(10, 4), entry(12, 6)])
    }

    #[test]
    fn merged_layers_equal_one_layer_of_all_entries() {
        let forgotten = ChangeEntry { path: 10, rows: 0, rows_checksum: 0, body: None };
        let entries = [entry(10, 4), entry(12, 6), forgotten, entry(14, 4)];
        let merged = layer(0, 0, &entries[..1]).merge(&layer(1, 2, &entries[1..2]));
        let merged = merged.merge(&layer(2, 4, &entries[2..]));
        assert_eq!(merged, layer(0, 0, &entries));
        let rows = [10u64, 12, 14].map(u64::to_le_bytes).concat();
        assert_eq!((merged.vectors.range.clone(), merged.vectors.checksum), (0..24, crc32fast::hash(&rows)));
        assert_eq!(merged.postings(4).documents, [0, 3]);
        assert!(merged.postings(5).documents.is_empty());
        assert!(merged.document(2).forgotten() && merged.document(3).rows() == (4..6));
    }
}
