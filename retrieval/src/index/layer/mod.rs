//! Layers: consecutive documents in columns, with the inverted index of their terms. A layer is immutable; two adjacent
//! layers merge into one.
//!
//! A document is one version of a memory, numbered in the order in which versions were written. A layer does not know
//! which version is current: see [`Table`](super::Table).
//!
//! A layer of [`PERSISTED_MIN`] documents or more is also stored in a [`file`], so that opening an index need not
//! process the log again.

mod bounds;
mod column;
mod columns;
mod document;
mod encoding;
mod file;
mod flags;
mod inverted;
mod lists;

use std::sync::OnceLock;

pub(crate) use document::Document;
pub(crate) use inverted::Postings;

use self::bounds::Bounds;
use self::columns::{Columns, DocumentValues};
use self::flags::Flags;
use self::inverted::{InvertedIndex, Posting};
use super::entry::{ChangeEntry, IndexedMemory, UNKNOWN};
use super::log::Extent;
use crate::filter::TimeField;
use crate::hash::PostingKey;
use crate::ids::{ClaimId, DocumentId, RowId};
use crate::memory::Millis;

/// Layers of fewer documents have no file; they are rebuilt from the log when the index is opened.
pub(crate) const PERSISTED_MIN: usize = 512;

/// Consecutive documents.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layer {
    /// The first document.
    first: DocumentId,
    /// The bytes of the layer's rows in the log of vectors.
    vectors: Extent,
    columns: Columns,
    inverted: InvertedIndex,
    /// The earliest and the latest occurred time; computed on first use.
    occurred_between: OnceLock<(Millis, Millis)>,
}

/// Where a layer begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LayerBegin {
    /// The first document.
    pub(crate) document: DocumentId,
    /// The first row.
    pub(crate) row: RowId,
    /// The offset in the log at which the first frame begins.
    pub(crate) frame: u64,
    /// The first claim.
    pub(crate) claim: ClaimId,
}

impl Layer {
    /// Builds the layer of entries. `frame_ends` holds the end of each entry's frame in the log, and `row_bytes` are
    /// the bytes of one row.
    pub(crate) fn new(begin: LayerBegin, entries: &[ChangeEntry], frame_ends: &[u64], row_bytes: usize) -> Self {
        let mut columns = Columns {
            frames: Bounds::starting_at(begin.frame),
            rows: Bounds::starting_at(begin.row),
            claim_ids: Bounds::starting_at(begin.claim),
            ..Columns::default()
        };
        let mut vectors = Extent::at(u64::from(begin.row.get()) * row_bytes as u64);
        let tombstone = IndexedMemory::tombstone();
        let (mut row_end, mut claim_end, mut postings) = (begin.row, begin.claim, Vec::new());
        let ids = begin.document.until(begin.document.after(entries.len() as u32));
        for ((entry, id), frame_end) in entries.iter().zip(ids).zip(frame_ends) {
            row_end = row_end.after(entry.rows);
            vectors.append(u64::from(entry.rows) * row_bytes as u64, entry.rows_checksum);
            let (memory, flags) = match &entry.body {
                Some(memory) => (memory, Flags::of(memory)),
                None => (&tombstone, Flags::FORGOTTEN),
            };
            claim_end = claim_end.after(memory.claims.len() as u32);
            push_postings(&mut postings, id, memory);
            columns.push(DocumentValues {
                path: entry.path,
                session: memory.session,
                occurred: memory.occurred,
                created: memory.created,
                updated: memory.updated,
                hidden_from: memory.hidden_from,
                frames: *frame_end,
                rows: row_end,
                words: memory.words,
                length: memory.length,
                flags,
                speaker: &memory.speaker,
                entities: &memory.entities,
                links: &memory.links,
                tokens: &memory.tokens,
                statement: memory.statement,
                sequence: memory.sequence,
                valid_from: memory.valid_from,
                valid_until: memory.valid_until,
                supersedes: &memory.supersedes,
                claims: &memory.claims,
                claim_ids: claim_end,
                numbers: &memory.numbers,
            });
        }
        postings
            .sort_unstable_by_key(|posting: &Posting| (posting.term, posting.document, posting.count, posting.length));
        let inverted = InvertedIndex::new(&postings);
        Self { first: begin.document, vectors, columns, inverted, occurred_between: OnceLock::new() }
    }

    /// Merges this layer with the one whose documents follow.
    pub(crate) fn merge(&self, next: &Self) -> Self {
        Self {
            first: self.first,
            vectors: self.vectors.and(&next.vectors),
            columns: self.columns.concat(&next.columns),
            inverted: self.inverted.merge(&next.inverted),
            occurred_between: OnceLock::new(),
        }
    }

    /// Returns the number of documents.
    pub(crate) fn len(&self) -> usize {
        self.columns.path.len()
    }

    /// Returns the first document.
    pub(crate) fn first(&self) -> DocumentId {
        self.first
    }

    /// Returns the id after that of the last document.
    pub(crate) fn end(&self) -> DocumentId {
        self.first.after(self.len() as u32)
    }

    /// Returns the ids of the documents, ascending.
    pub(crate) fn ids(&self) -> impl Iterator<Item = DocumentId> {
        self.first.until(self.end())
    }

    /// Returns the offset in the log at which the last frame ends.
    pub(crate) fn log_end(&self) -> u64 {
        self.columns.frames.end()
    }

    /// Returns where the next layer begins.
    pub(crate) fn next_begin(&self) -> LayerBegin {
        LayerBegin {
            document: self.end(),
            row: self.columns.rows.end(),
            frame: self.log_end(),
            claim: self.columns.claim_ids.end(),
        }
    }

    /// Returns the bytes of the layer's rows in the log of vectors.
    pub(crate) fn vectors(&self) -> &Extent {
        &self.vectors
    }

    /// Whether the layer's rows begin with this one and fill exactly the layer's bytes in the log of vectors.
    pub(crate) fn rows_fill(&self, first: RowId, row_bytes: usize) -> bool {
        let (begin, end) = (self.columns.rows.begin(), self.columns.rows.end());
        let bytes = &self.vectors.range;
        begin == first
            && bytes.start == u64::from(begin.get()) * row_bytes as u64
            && bytes.end == u64::from(end.get()) * row_bytes as u64
    }

    /// Returns the document of each row.
    pub(crate) fn documents_of_rows(&self) -> Vec<DocumentId> {
        let mut documents = Vec::new();
        for (id, document) in self.documents() {
            documents.extend(std::iter::repeat_n(id, document.row_count()));
        }
        documents
    }

    /// Returns the postings of a term or facet; empty if there are none.
    pub(crate) fn postings(&self, key: PostingKey) -> Postings<'_> {
        self.inverted.postings(key)
    }

    /// Returns one time of all documents.
    pub(crate) fn times(&self, field: TimeField) -> &[Millis] {
        match field {
            TimeField::Occurred => &self.columns.occurred,
            TimeField::Created => &self.columns.created,
            TimeField::Updated => &self.columns.updated,
        }
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
        &self.columns.hidden_from
    }

    /// Returns a document; its id must be one of [`Layer::ids`].
    pub(crate) fn document(&self, id: DocumentId) -> Document<'_> {
        Document { layer: self, index: (id.get() - self.first.get()) as usize }
    }

    /// Returns every document with its id, ascending.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (DocumentId, Document<'_>)> {
        self.ids().map(move |id| (id, self.document(id)))
    }
}

/// Adds a memory's terms and facets.
fn push_postings(postings: &mut Vec<Posting>, document: DocumentId, memory: &IndexedMemory) {
    let length = u16::try_from(memory.length).unwrap_or(u16::MAX);
    for (term, count) in &memory.terms {
        postings.push(Posting { term: PostingKey::from(*term), document, count: *count, length });
    }
    for facet in &memory.facets {
        postings.push(Posting { term: PostingKey::from(*facet), document, count: 0, length });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{PathHash, TermHash};

    fn entry(path: u64, term: u64) -> ChangeEntry {
        let terms = vec![(TermHash::of_number(2), 1), (TermHash::of_number(term), 3)];
        let body = IndexedMemory { terms, length: 4, tokens: vec![1, 5], ..IndexedMemory::default() };
        let rows_checksum = crc32fast::hash(&path.to_le_bytes());
        ChangeEntry { path: PathHash::of_number(path), rows: 2, rows_checksum, body: Some(body) }
    }

    /// A layer of rows of four bytes.
    pub(super) fn layer(first: u32, first_row: u32, entries: &[ChangeEntry]) -> Layer {
        let frame = u64::from(first);
        let frame_ends: Vec<u64> = (frame + 1..=frame + entries.len() as u64).collect();
        let begin =
            LayerBegin { document: DocumentId::new(first), row: RowId::new(first_row), frame, ..LayerBegin::default() };
        Layer::new(begin, entries, &frame_ends, 4)
    }

    pub(super) fn two() -> Layer {
        layer(7, 0, &[entry(10, 4), entry(12, 6)])
    }

    #[test]
    fn merged_layers_equal_one_layer_of_all_entries() {
        let forgotten = ChangeEntry { path: PathHash::of_number(10), rows: 0, rows_checksum: 0, body: None };
        let entries = [entry(10, 4), entry(12, 6), forgotten, entry(14, 4)];
        let merged = layer(0, 0, &entries[..1]).merge(&layer(1, 2, &entries[1..2]));
        let merged = merged.merge(&layer(2, 4, &entries[2..]));
        assert_eq!(merged, layer(0, 0, &entries));
        let rows = [10u64, 12, 14].map(u64::to_le_bytes).concat();
        assert_eq!((merged.vectors.range.clone(), merged.vectors.checksum), (0..24, crc32fast::hash(&rows)));
        let [four, five] = [4, 5].map(|term| PostingKey::from(TermHash::of_number(term)));
        let [first, third, last] = [0, 2, 3].map(DocumentId::new);
        assert_eq!(merged.postings(four).documents, [first, last]);
        assert!(merged.postings(five).documents.is_empty());
        assert!(merged.document(third).forgotten());
        assert_eq!(merged.document(last).rows(), RowId::new(4)..RowId::new(6));
    }
}
