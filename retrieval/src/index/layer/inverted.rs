//! Which documents hold a term.

/// The documents that hold a term, ascending, with how often each does and how long it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Postings<'a> {
    pub(crate) documents: &'a [u32],
    pub(crate) counts: &'a [u8],
    pub(crate) lengths: &'a [u16],
}

impl Postings<'_> {
    /// These without the first `count`.
    pub(crate) fn skip(&mut self, count: usize) {
        self.documents = &self.documents[count..];
        self.counts = &self.counts[count..];
        self.lengths = &self.lengths[count..];
    }
}

/// Which documents hold a term.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Inverted {
    /// Terms and facets, ascending.
    pub(super) terms: Vec<u64>,
    /// Where each term's postings begin; one more than there are terms.
    pub(super) starts: Vec<u32>,
    pub(super) documents: Vec<u32>,
    pub(super) counts: Vec<u8>,
    /// How many terms the document has, [`u16::MAX`] where they are more. It stands with every posting, since looking it
    /// up would be a jump to another place in memory for each.
    pub(super) lengths: Vec<u16>,
}

/// A term, a document that holds it, how often, and the document's length.
pub(super) type Posting = (u64, u32, u8, u16);

impl Inverted {
    pub(super) fn with_capacity(terms: usize, postings: usize) -> Self {
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

    /// The index of postings, ascending.
    pub(super) fn new(postings: &[Posting]) -> Self {
        let mut inverted = Self::with_capacity(0, postings.len());
        for same in postings.chunk_by(|a, b| a.0 == b.0) {
            inverted.documents.extend(same.iter().map(|posting| posting.1));
            inverted.counts.extend(same.iter().map(|posting| posting.2));
            inverted.lengths.extend(same.iter().map(|posting| posting.3));
            inverted.close(same[0].0);
        }
        inverted
    }

    /// What was added since the last term belongs to this one.
    pub(super) fn close(&mut self, term: u64) {
        self.terms.push(term);
        self.starts.push(self.documents.len() as u32);
    }

    /// The index of these documents and of later ones.
    pub(super) fn merge(&self, next: &Self) -> Self {
        let postings = self.documents.len() + next.documents.len();
        let mut merged = Self::with_capacity(self.terms.len().max(next.terms.len()), postings);
        let (mut a, mut b) = (0, 0);
        while let Some(term) = self.terms.get(a).into_iter().chain(next.terms.get(b)).min().copied() {
            for (from, at) in [(self, &mut a), (next, &mut b)] {
                if from.terms.get(*at) == Some(&term) {
                    let postings = from.at(*at);
                    merged.documents.extend_from_slice(postings.documents);
                    merged.counts.extend_from_slice(postings.counts);
                    merged.lengths.extend_from_slice(postings.lengths);
                    *at += 1;
                }
            }
            merged.close(term);
        }
        merged
    }

    pub(super) fn at(&self, at: usize) -> Postings<'_> {
        let range = self.starts[at] as usize..self.starts[at + 1] as usize;
        Postings {
            documents: &self.documents[range.clone()],
            counts: &self.counts[range.clone()],
            lengths: &self.lengths[range],
        }
    }
}
