//! A part of a query.

use std::borrow::Cow;

/// A part of a query: one of the things that the query asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// What the part shares with others, such as "what do we know about". Pieces of the query.
    lead: Vec<&'a str>,
    /// The words of the part itself, a piece of the query.
    own: &'a str,
}

impl<'a> Part<'a> {
    /// Makes a part.
    pub(super) fn new(lead: Vec<&'a str>, own: &'a str) -> Self {
        Self { lead, own }
    }

    /// Returns the pieces of the query that the part consists of, in the order in which [`Self::text`] has them.
    pub fn pieces(&self) -> impl Iterator<Item = &'a str> {
        self.lead.iter().copied().chain([self.own])
    }

    /// Returns the part as a query of its own.
    pub fn text(&self) -> Cow<'a, str> {
        if self.lead.is_empty() {
            return Cow::Borrowed(self.own);
        }
        let pieces: Vec<&str> = self.pieces().collect();
        Cow::Owned(pieces.join(" "))
    }
}
