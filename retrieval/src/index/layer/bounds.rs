//! Consecutive ranges, stored as the bounds between them.

use std::io::Read;
use std::ops::Range;

use super::column::Column;
use super::encoding::{Element, Reader, Writer};
use crate::error::Result;
use crate::kernels::prefetch_at;

/// Consecutive ranges, one per document: where each begins, then where the last ends. Never without a bound, except in
/// a damaged file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bounds<T>(Vec<T>);

impl<T: Default> Default for Bounds<T> {
    fn default() -> Self {
        Self::starting_at(T::default())
    }
}

impl<T> Bounds<T> {
    /// No ranges yet; the first will begin at `begin`.
    pub(super) fn starting_at(begin: T) -> Self {
        Self(vec![begin])
    }

    /// Prefetches the range of a document.
    pub(super) fn prefetch(&self, index: usize) {
        prefetch_at(&self.0, index);
    }
}

impl<T: Copy + Default> Bounds<T> {
    /// Returns the range of a document, which must exist.
    #[inline]
    pub(super) fn range(&self, index: usize) -> Range<T> {
        self.0[index]..self.0[index + 1]
    }

    /// Returns where the first range begins.
    pub(super) fn begin(&self) -> T {
        self.0.first().copied().unwrap_or_default()
    }

    /// Returns where the last range ends.
    pub(super) fn end(&self) -> T {
        self.0.last().copied().unwrap_or_default()
    }
}

impl<T: Element + PartialOrd> Column for Bounds<T> {
    /// The end of the document's range.
    type Value<'a> = T;

    fn push(&mut self, value: Self::Value<'_>) {
        self.0.push(value);
    }

    fn concat(&self, next: &Self) -> Self {
        Self([&self.0[..], &next.0[1..]].concat())
    }

    fn write(&self, out: &mut Writer) {
        out.array(&self.0);
    }

    fn read<R: Read>(from: &mut Reader<R>) -> Result<Self> {
        Ok(Self(from.array()?))
    }

    fn fits(&self, documents: usize) -> bool {
        self.0.len() == documents + 1 && self.0.is_sorted()
    }
}
