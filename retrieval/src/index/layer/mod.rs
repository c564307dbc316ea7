//! A run of documents in columns, with the inverted index of their terms. Immutable; two neighbours merge into one.
//!
//! A document is one version of a memory, numbered in the order in which versions were written. Whether it is the
//! current version is not known here: see [`Table`](super::Table).
//!
//! A layer of [`PERSISTED_MIN`] documents or more is kept in a [`file`], so that opening an index does not work through
//! the log again.

mod document;
mod file;
mod inverted;
mod lists;

use std::ops::Range;
use std::sync::OnceLock;

pub(crate) use document::Document;
pub(crate) use inverted::Postings;

use self::inverted::Inverted;
use self::lists::Lists;
use super::entry::{Body, Entry, NEVER, UNKNOWN};
use super::log::Extent;
use crate::filter::TimeField;
use crate::memory::Millis;

/// Smaller layers are made again from the log when the index is opened.
pub(crate) const PERSISTED_MIN: usize = 512;

const ASKS: u8 = 1;
const FORGOTTEN: u8 = 2;
const WAITING: u8 = 4;

/// Documents in columns. Every column has one element a document unless it says otherwise.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layer {
    first: u32,
    /// Its rows in the log of vectors.
    vectors: Extent,
    path: Vec<u64>,
    session: Vec<u64>,
    times: [Vec<Millis>; 3],
    /// The first and the last of the times when something happened, once somebody asked.
    occurred_between: OnceLock<(Millis, Millis)>,
    hidden_from: Vec<Millis>,
    /// Where each document's frame begins in the log; one more than there are documents.
    frames: Vec<u64>,
    /// Its first row in the cue table; one more than there are documents.
    rows: Vec<u32>,
    words: Vec<u32>,
    length: Vec<u32>,
    flags: Vec<u8>,
    speaker: Lists<u64>,
    entities: Lists<u64>,
    tokens: Lists<u16>,
    links: Lists<u64>,
    inverted: Inverted,
}

impl Layer {
    /// The layer of entries whose documents are numbered from `first`, whose vectors, of `row_bytes` each, begin at
    /// `first_row`, and whose frames end where `frames` says, after its first element.
    pub(crate) fn new(first: u32, entries: &[Entry], frames: Vec<u64>, first_row: u32, row_bytes: usize) -> Self {
        let mut layer = Self {
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
            inverted: Inverted::with_capacity(0, 0),
        };
        let gone = Body { times: [UNKNOWN; 3], hidden_from: NEVER, ..Body::default() };
        let (mut row, mut postings) = (first_row, Vec::new());
        for (entry, document) in entries.iter().zip(first..) {
            let body = entry.body.as_ref().unwrap_or(&gone);
            row += entry.rows;
            layer.vectors.append(u64::from(entry.rows) * row_bytes as u64, entry.rows_checksum);
            layer.path.push(entry.path);
            layer.session.push(body.session);
            layer.times.iter_mut().zip(body.times).for_each(|(column, time)| column.push(time));
            layer.hidden_from.push(body.hidden_from);
            layer.rows.push(row);
            layer.words.push(body.words);
            layer.length.push(body.length);
            let flags = (u8::from(body.asks) * ASKS) | (u8::from(body.waiting) * WAITING);
            layer.flags.push(if entry.body.is_none() { FORGOTTEN } else { flags });
            layer.speaker.push(body.speaker.iter().copied());
            layer.entities.push(body.entities.iter().copied());
            layer.tokens.push(body.tokens.iter().copied());
            layer.links.push(body.links.iter().copied());
            let length = u16::try_from(body.length).unwrap_or(u16::MAX);
            postings.extend(body.terms.iter().map(|(term, count)| (*term, document, *count, length)));
            postings.extend(body.facets.iter().map(|facet| (*facet, document, 0, length)));
        }
        postings.sort_unstable();
        layer.inverted = Inverted::new(&postings);
        layer
    }

    /// This layer and the one whose documents follow, as one.
    pub(crate) fn merge(&self, next: &Self) -> Self {
        let [occurred, created, updated] = [0, 1, 2].map(|at| [&self.times[at][..], &next.times[at]].concat());
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
            speaker: self.speaker.and(&next.speaker),
            entities: self.entities.and(&next.entities),
            tokens: self.tokens.and(&next.tokens),
            links: self.links.and(&next.links),
            inverted: self.inverted.merge(&next.inverted),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.path.len()
    }

    /// Its documents' numbers.
    pub(crate) fn range(&self) -> Range<u32> {
        self.first..self.first + self.len() as u32
    }

    /// Where its last frame ends in the log.
    pub(crate) fn log_end(&self) -> u64 {
        self.frames.last().copied().unwrap_or_default()
    }

    pub(crate) fn vectors(&self) -> &Extent {
        &self.vectors
    }

    /// Whether its rows are the ones of the cue table from `first` on, and fill its part of the log of vectors.
    pub(crate) fn rows_fill(&self, first: usize, row_bytes: usize) -> bool {
        let begin = self.rows.first().copied().unwrap_or_default() as usize;
        let bytes = |rows: usize| rows as u64 * row_bytes as u64;
        begin == first && self.vectors.range == (bytes(begin)..bytes(self.rows_end() as usize))
    }

    /// The document of each of its rows.
    pub(crate) fn owners(&self) -> Vec<u32> {
        let rows = |document: u32| std::iter::repeat_n(document, self.document(document).rows().len());
        self.range().flat_map(rows).collect()
    }

    /// One past its last row in the cue table.
    pub(crate) fn rows_end(&self) -> u32 {
        self.rows.last().copied().unwrap_or_default()
    }

    /// The postings of a term or facet; empty where there are none.
    pub(crate) fn postings(&self, term: u64) -> Postings<'_> {
        self.inverted.terms.binary_search(&term).map_or_else(|_| Postings::default(), |at| self.inverted.at(at))
    }

    /// One time of all its documents.
    pub(crate) fn times(&self, field: TimeField) -> &[Millis] {
        &self.times[field as usize]
    }

    /// The first and the last of the times when something happened; the first is after the last where none is known.
    pub(crate) fn occurred_between(&self) -> (Millis, Millis) {
        *self.occurred_between.get_or_init(|| {
            let known = self.times(TimeField::Occurred).iter().filter(|time| **time != UNKNOWN);
            known.fold((Millis::MAX, Millis::MIN), |(first, last), time| (first.min(*time), last.max(*time)))
        })
    }

    /// From when on each of its documents is not found.
    pub(crate) fn hidden_from(&self) -> &[Millis] {
        &self.hidden_from
    }

    /// The view of one document; its number must be in [`Layer::range`].
    pub(crate) fn document(&self, document: u32) -> Document<'_> {
        Document { layer: self, at: (document - self.first) as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: u64, term: u64) -> Entry {
        let terms = vec![(2, 1), (term, 3)];
        let body = Body { terms, length: 4, tokens: vec![1, 5], ..Body::default() };
        Entry { path, rows: 2, rows_checksum: crc32fast::hash(&path.to_le_bytes()), body: Some(body) }
    }

    /// A layer whose rows are of four bytes.
    pub(super) fn layer(first: u32, first_row: u32, entries: &[Entry]) -> Layer {
        let end = u64::from(first) + entries.len() as u64;
        Layer::new(first, entries, (u64::from(first)..=end).collect(), first_row, 4)
    }

    pub(super) fn two() -> Layer {
        layer(7, 0, &[entry(10, 4), entry(12, 6)])
    }

    #[test]
    fn merged_layers_are_what_one_layer_of_all_would_have_been() {
        let forgotten = Entry { path: 10, rows: 0, rows_checksum: 0, body: None };
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
