//! What every column of a layer can do, whatever it holds of a document.
//!
//! A column is a `Vec` with one value per document, [`Bounds`](super::bounds::Bounds) with one range per document, or
//! [`Lists`](super::lists::Lists) with one list per document.

use std::io::Read;

use super::encoding::{Element, Reader, Writer};
use crate::error::Result;

/// A column of a layer.
pub(super) trait Column: Sized {
    /// What the column holds of one document.
    type Value<'a>;

    /// Appends what the column holds of the next document.
    fn push(&mut self, value: Self::Value<'_>);

    /// Returns this column followed by that of the documents after it.
    fn concat(&self, next: &Self) -> Self;

    fn write(&self, out: &mut Writer);

    fn read<R: Read>(from: &mut Reader<R>) -> Result<Self>;

    /// Whether the column is one of this many documents, and every index in it lies inside of what it is an index into.
    fn fits(&self, documents: usize) -> bool;
}

impl<T: Element> Column for Vec<T> {
    type Value<'a> = T;

    fn push(&mut self, value: Self::Value<'_>) {
        Vec::push(self, value);
    }

    fn concat(&self, next: &Self) -> Self {
        [self.as_slice(), next.as_slice()].concat()
    }

    fn write(&self, out: &mut Writer) {
        out.array(self);
    }

    fn read<R: Read>(from: &mut Reader<R>) -> Result<Self> {
        from.array()
    }

    fn fits(&self, documents: usize) -> bool {
        self.len() == documents
    }
}
