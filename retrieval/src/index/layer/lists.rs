//! Lists of different lengths, stored in one array.

use std::io::Read;

use super::column::Column;
use super::encoding::{Element, Reader, Writer};
use crate::error::Result;
use crate::kernels::prefetch_at;

/// Lists of different lengths, one per document, stored in one array.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lists<T> {
    /// The index at which each list begins, then the end of the last list.
    starts: Vec<u32>,
    values: Vec<T>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self { starts: vec![0], values: Vec::new() }
    }
}

impl<T> Lists<T> {
    pub(super) fn get(&self, index: usize) -> &[T] {
        match (self.starts.get(index), self.starts.get(index + 1)) {
            (Some(from), Some(to)) => &self.values[*from as usize..*to as usize],
            _ => &[],
        }
    }

    /// Prefetches what [`Lists::get`] reads first.
    pub(super) fn prefetch(&self, index: usize) {
        prefetch_at(&self.starts, index);
    }
}

impl<T: Element> Column for Lists<T> {
    type Value<'a> = &'a [T];

    fn push(&mut self, value: Self::Value<'_>) {
        self.values.extend_from_slice(value);
        self.starts.push(self.values.len() as u32);
    }

    fn concat(&self, next: &Self) -> Self {
        let base = self.values.len() as u32;
        let later = next.starts[1..].iter().map(|start| base + start);
        Self {
            starts: self.starts.iter().copied().chain(later).collect(),
            values: [&self.values[..], &next.values].concat(),
        }
    }

    fn write(&self, out: &mut Writer) {
        out.array(&self.starts);
        out.array(&self.values);
    }

    fn read<R: Read>(from: &mut Reader<R>) -> Result<Self> {
        Ok(Self { starts: from.array()?, values: from.array()? })
    }

    fn fits(&self, documents: usize) -> bool {
        are_starts(&self.starts, documents, self.values.len())
    }
}

/// Whether these are the starts of `lists` consecutive lists in an array of `values` elements.
pub(super) fn are_starts(starts: &[u32], lists: usize, values: usize) -> bool {
    starts.len() == lists + 1 && starts.is_sorted() && starts.last().is_some_and(|end| *end as usize <= values)
}
