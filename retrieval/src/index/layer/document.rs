//! The view of one document of a layer.

use std::ops::Range;

use super::Layer;
use crate::filter::TimeField;
use crate::hash::{Link, NameHash, PathHash, SessionHash, StatementHash};
use crate::ids::{ClaimId, RowId};
use crate::index::claim_entry::ClaimEntry;
use crate::index::number_entry::NumberEntry;
use crate::kernels::prefetch_at;
use crate::memory::Millis;

/// The view of one document: one version of a memory.
#[derive(Clone, Copy)]
pub(crate) struct Document<'a> {
    pub(super) layer: &'a Layer,
    /// The index of the document in the layer's columns.
    pub(super) index: usize,
}

impl<'a> Document<'a> {
    /// Prefetches what ranking reads.
    pub(crate) fn prefetch(self) {
        let Self { layer, index } = self;
        layer.columns.rows.prefetch(index);
        prefetch_at(&layer.columns.session, index);
        prefetch_at(&layer.columns.words, index);
        prefetch_at(&layer.columns.flags, index);
        prefetch_at(&layer.columns.path, index);
        prefetch_at(&layer.columns.updated, index);
        layer.columns.speaker.prefetch(index);
        layer.columns.entities.prefetch(index);
        layer.columns.tokens.prefetch(index);
        layer.columns.claims.prefetch(index);
        layer.columns.claim_ids.prefetch(index);
    }

    pub(crate) fn path(self) -> PathHash {
        self.layer.columns.path[self.index]
    }

    /// Returns the conversation; `None` if the memory belongs to none.
    pub(crate) fn session(self) -> Option<SessionHash> {
        let session = self.layer.columns.session[self.index];
        if session == SessionHash::NONE { None } else { Some(session) }
    }

    pub(crate) fn time(self, field: TimeField) -> Millis {
        self.layer.times(field)[self.index]
    }

    pub(crate) fn hidden_from(self) -> Millis {
        self.layer.columns.hidden_from[self.index]
    }

    /// Returns the byte range of the frame in the log.
    pub(crate) fn frame(self) -> Range<u64> {
        self.layer.columns.frames.range(self.index)
    }

    /// Returns the rows of the cues.
    pub(crate) fn rows(self) -> Range<RowId> {
        self.layer.columns.rows.range(self.index)
    }

    /// Returns the number of rows.
    pub(crate) fn row_count(self) -> usize {
        let rows = self.rows();
        rows.end.index().saturating_sub(rows.start.index())
    }

    /// Returns the number of words of the content.
    pub(crate) fn words(self) -> u32 {
        self.layer.columns.words[self.index]
    }

    /// Returns the number of terms.
    pub(crate) fn length(self) -> u32 {
        self.layer.columns.length[self.index]
    }

    /// Whether the content contains a question.
    pub(crate) fn asks(self) -> bool {
        self.layer.columns.flags[self.index].asks()
    }

    /// Whether some cues await vectors.
    pub(crate) fn waiting(self) -> bool {
        self.layer.columns.flags[self.index].waiting()
    }

    /// Whether the memory has claims, or somebody set when it holds.
    pub(crate) fn dated(self) -> bool {
        self.layer.columns.flags[self.index].dated()
    }

    /// Whether this is a tombstone: the path was forgotten.
    pub(crate) fn forgotten(self) -> bool {
        self.layer.columns.flags[self.index].forgotten()
    }

    pub(crate) fn speaker(self) -> &'a [NameHash] {
        self.layer.columns.speaker.get(self.index)
    }

    pub(crate) fn entities(self) -> &'a [NameHash] {
        self.layer.columns.entities.get(self.index)
    }

    pub(crate) fn tokens(self) -> &'a [u16] {
        self.layer.columns.tokens.get(self.index)
    }

    /// Returns the statement without its dates, or [`StatementHash::NONE`].
    pub(crate) fn statement(self) -> StatementHash {
        self.layer.columns.statement[self.index]
    }

    /// Returns the position among the memories that were written at the same time.
    pub(crate) fn sequence(self) -> u32 {
        self.layer.columns.sequence[self.index]
    }

    /// Returns when somebody set that the memory begins to hold, or [`UNKNOWN`](crate::index::entry::UNKNOWN).
    pub(crate) fn valid_from(self) -> Millis {
        self.layer.columns.valid_from[self.index]
    }

    /// Returns when somebody set that the memory stops holding, or [`NEVER`](crate::index::entry::NEVER).
    pub(crate) fn valid_until(self) -> Millis {
        self.layer.columns.valid_until[self.index]
    }

    /// Returns the paths of the memories that it replaces.
    pub(crate) fn supersedes(self) -> &'a [PathHash] {
        self.layer.columns.supersedes.get(self.index)
    }

    pub(crate) fn claims(self) -> &'a [ClaimEntry] {
        self.layer.columns.claims.get(self.index)
    }

    /// Returns the ids of the claims.
    pub(crate) fn claim_ids(self) -> Range<ClaimId> {
        self.layer.columns.claim_ids.range(self.index)
    }

    /// Returns the numbers of the metadata.
    pub(crate) fn numbers(self) -> &'a [NumberEntry] {
        self.layer.columns.numbers.get(self.index)
    }

    pub(crate) fn links(self) -> &'a [Link] {
        self.layer.columns.links.get(self.index)
    }
}
