//! The view of one document of a layer.

use std::ops::Range;

use super::{ASKS, FORGOTTEN, Layer, WAITING};
use crate::filter::TimeField;
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
        prefetch_at(&self.layer.rows, self.index);
        prefetch_at(&self.layer.session, self.index);
        prefetch_at(&self.layer.words, self.index);
        prefetch_at(&self.layer.flags, self.index);
        prefetch_at(&self.layer.path, self.index);
        prefetch_at(self.layer.times(TimeField::Updated), self.index);
        prefetch_at(&self.layer.speaker.starts, self.index);
        prefetch_at(&self.layer.entities.starts, self.index);
        prefetch_at(&self.layer.tokens.starts, self.index);
    }

    /// Returns the hash of the path.
    pub(crate) fn path(self) -> u64 {
        self.layer.path[self.index]
    }

    /// Returns the hash of the conversation; zero for none.
    pub(crate) fn session(self) -> u64 {
        self.layer.session[self.index]
    }

    pub(crate) fn time(self, field: TimeField) -> Millis {
        self.layer.times(field)[self.index]
    }

    pub(crate) fn hidden_from(self) -> Millis {
        self.layer.hidden_from[self.index]
    }

    /// Returns the byte range of the frame in the log.
    pub(crate) fn frame(self) -> Range<u64> {
        self.layer.frames[self.index]..self.layer.frames[self.index + 1]
    }

    /// Returns the rows of the cues in the cue table.
    pub(crate) fn rows(self) -> Range<usize> {
        self.layer.rows[self.index] as usize..self.layer.rows[self.index + 1] as usize
    }

    /// Returns the number of words of the content.
    pub(crate) fn words(self) -> u32 {
        self.layer.words[self.index]
    }

    /// Returns the number of terms.
    pub(crate) fn length(self) -> u32 {
        self.layer.length[self.index]
    }

    /// Whether the content contains a question.
    pub(crate) fn asks(self) -> bool {
        self.layer.flags[self.index] & ASKS != 0
    }

    /// Whether some cues await vectors.
    pub(crate) fn waiting(self) -> bool {
        self.layer.flags[self.index] & WAITING != 0
    }

    /// Whether this is a tombstone: the path was forgotten.
    pub(crate) fn forgotten(self) -> bool {
        self.layer.flags[self.index] & FORGOTTEN != 0
    }

    pub(crate) fn speaker(self) -> &'a [u64] {
        self.layer.speaker.get(self.index)
    }

    pub(crate) fn entities(self) -> &'a [u64] {
        self.layer.entities.get(self.index)
    }

    pub(crate) fn tokens(self) -> &'a [u16] {
        self.layer.tokens.get(self.index)
    }

    pub(crate) fn links(self) -> &'a [u64] {
        self.layer.links.get(self.index)
    }
}
