//! The inverted index of a layer: for each term, the documents that contain it.

use std::io::Read;
use std::ops::Range;

use super::encoding::{Reader, Writer};
use super::lists::are_starts;
use crate::error::Result;
use crate::hash::PostingKey;
use crate::ids::DocumentId;

/// The documents that contain a term, ascending.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Postings<'a> {
    pub(crate) documents: &'a [DocumentId],
    /// The number of occurrences of the term in each document.
    pub(crate) counts: &'a [u8],
    /// The length of each document in words that have terms, at most [`u16::MAX`].
    pub(crate) lengths: &'a [u16],
}

impl Postings<'_> {
    /// Removes the first `count` postings.
    pub(crate) fn skip(&mut self, count: usize) {
        self.documents = &self.documents[count..];
        self.counts = &self.counts[count..];
        self.lengths = &self.lengths[count..];
    }
}

/// For each term and facet, the documents that have it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InvertedIndex {
    /// The terms and facets, ascending.
    terms: Vec<PostingKey>,
    /// The index at which each term's postings begin, then the end of the last postings.
    starts: Vec<u32>,
    documents: Vec<DocumentId>,
    counts: Vec<u8>,
    /// The length of the document in words that have terms, at most [`u16::MAX`]. Stored with every posting, because a
    /// lookup per posting would read scattered memory.
    lengths: Vec<u16>,
}

/// A document that contains a term.
#[derive(Clone, Copy)]
pub(super) struct Posting {
    pub(super) term: PostingKey,
    pub(super) document: DocumentId,
    /// The number of occurrences of the term; zero for a facet.
    pub(super) count: u8,
    /// The length of the document in words that have terms.
    pub(super) length: u16,
}

impl InvertedIndex {
    fn with_capacity(terms: usize, postings: usize) -> Self {
        let mut starts = Vec::with_capacity(terms + 1);
        starts.push(0);
        Self {
            terms: Vec::with_capacity(terms),
            starts,
            documents: Vec::with_capacity(postings),
            counts: Vec::with_capacity(postings),
            lengths: Vec::with_capacity(postings),
        }
    }

    /// Builds the index of postings that are sorted by term, then by document.
    pub(super) fn new(postings: &[Posting]) -> Self {
        let mut inverted = Self::with_capacity(0, postings.len());
        for same_term in postings.chunk_by(|a, b| a.term == b.term) {
            inverted.documents.extend(same_term.iter().map(|posting| posting.document));
            inverted.counts.extend(same_term.iter().map(|posting| posting.count));
            inverted.lengths.extend(same_term.iter().map(|posting| posting.length));
            inverted.end_term(same_term[0].term);
        }
        inverted
    }

    /// Assigns the postings that were added since the last term to this one.
    fn end_term(&mut self, term: PostingKey) {
        self.terms.push(term);
        self.starts.push(self.documents.len() as u32);
    }

    /// Merges this index with that of later documents.
    pub(super) fn merge(&self, next: &Self) -> Self {
        let postings = self.documents.len() + next.documents.len();
        let mut merged = Self::with_capacity(self.terms.len().max(next.terms.len()), postings);
        let (mut own, mut other) = (0, 0);
        while let Some(term) = self.terms.get(own).into_iter().chain(next.terms.get(other)).min().copied() {
            for (source, index) in [(self, &mut own), (next, &mut other)] {
                if source.terms.get(*index) == Some(&term) {
                    let postings = source.postings_at(*index);
                    merged.documents.extend_from_slice(postings.documents);
                    merged.counts.extend_from_slice(postings.counts);
                    merged.lengths.extend_from_slice(postings.lengths);
                    *index += 1;
                }
            }
            merged.end_term(term);
        }
        merged
    }

    /// Returns the number of postings of all terms.
    pub(super) fn posting_count(&self) -> usize {
        self.documents.len()
    }

    /// Returns the postings of a term or facet; empty if there are none.
    pub(super) fn postings(&self, key: PostingKey) -> Postings<'_> {
        match self.terms.binary_search(&key) {
            Ok(index) => self.postings_at(index),
            Err(_) => Postings::default(),
        }
    }

    /// Returns the postings of the term at an index, which must exist.
    fn postings_at(&self, index: usize) -> Postings<'_> {
        let range = self.starts[index] as usize..self.starts[index + 1] as usize;
        Postings {
            documents: &self.documents[range.clone()],
            counts: &self.counts[range.clone()],
            lengths: &self.lengths[range],
        }
    }

    pub(super) fn write(&self, out: &mut Writer) {
        out.array(&self.terms);
        out.array(&self.starts);
        out.array(&self.documents);
        out.array(&self.counts);
        out.array(&self.lengths);
    }

    pub(super) fn read<R: Read>(from: &mut Reader<R>) -> Result<Self> {
        Ok(Self {
            terms: from.array()?,
            starts: from.array()?,
            documents: from.array()?,
            counts: from.array()?,
            lengths: from.array()?,
        })
    }

    /// Whether the arrays fit together, and every posting is of one of these documents.
    pub(super) fn is_consistent(&self, documents: &Range<DocumentId>) -> bool {
        self.terms.is_sorted()
            && self.counts.len() == self.documents.len()
            && self.lengths.len() == self.documents.len()
            && are_starts(&self.starts, self.terms.len(), self.documents.len())
            && self.documents.iter().all(|document| documents.contains(document))
    }
}
