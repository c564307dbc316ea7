//! One document of a layer.

use std::ops::Range;

use super::{ASKS, FORGOTTEN, Layer, WAITING};
use crate::filter::TimeField;
use crate::kernels::prefetch_at;
use crate::memory::Millis;

/// One document of a layer.
#[derive(Clone, Copy)]
pub(crate) struct Document<'a> {
    pub(super) layer: &'a Layer,
    pub(super) at: usize,
}

impl<'a> Document<'a> {
    /// Asks for what ranking reads of it.
    pub(crate) fn prefetch(self) {
        prefetch_at(&self.layer.rows, self.at);
        prefetch_at(&self.layer.session, self.at);
        prefetch_at(&self.layer.words, self.at);
        prefetch_at(&self.layer.flags, self.at);
        prefetch_at(&self.layer.path, self.at);
        prefetch_at(self.layer.times(TimeField::Updated), self.at);
        prefetch_at(&self.layer.speaker.starts, self.at);
        prefetch_at(&self.layer.entities.starts, self.at);
        prefetch_at(&self.layer.tokens.starts, self.at);
    }

    /// The path's hash.
    pub(crate) fn path(self) -> u64 {
        self.layer.path[self.at]
    }

    /// Its conversation; zero for none.
    pub(crate) fn session(self) -> u64 {
        self.layer.session[self.at]
    }

    pub(crate) fn time(self, field: TimeField) -> Millis {
        self.layer.times(field)[self.at]
    }

    pub(crate) fn hidden_from(self) -> Millis {
        self.layer.hidden_from[self.at]
    }

    /// Its bytes in the log.
    pub(crate) fn frame(self) -> Range<u64> {
        self.layer.frames[self.at]..self.layer.frames[self.at + 1]
    }

    /// Its rows in the cue table.
    pub(crate) fn rows(self) -> Range<usize> {
        self.layer.rows[self.at] as usize..self.layer.rows[self.at + 1] as usize
    }

    pub(crate) fn words(self) -> u32 {
        self.layer.words[self.at]
    }

    pub(crate) fn length(self) -> u32 {
        self.layer.length[self.at]
    }

    /// Whether the content asks something.
    pub(crate) fn asks(self) -> bool {
        self.layer.flags[self.at] & ASKS != 0
    }

    /// Whether vectors of some cues are still to come.
    pub(crate) fn waiting(self) -> bool {
        self.layer.flags[self.at] & WAITING != 0
    }

    /// Whether it says that the path was forgotten.
    pub(crate) fn forgotten(self) -> bool {
        self.layer.flags[self.at] & FORGOTTEN != 0
    }

    pub(crate) fn speaker(self) -> &'a [u64] {
        self.layer.speaker.get(self.at)
    }

    pub(crate) fn entities(self) -> &'a [u64] {
        self.layer.entities.get(self.at)
    }

    pub(crate) fn tokens(self) -> &'a [u16] {
        self.layer.tokens.get(self.at)
    }

    pub(crate) fn links(self) -> &'a [u64] {
        self.layer.links.get(self.at)
    }
}
