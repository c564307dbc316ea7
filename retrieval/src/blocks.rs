//! A growing array that snapshots share: its blocks are copied only when they change while a snapshot holds them.

use std::sync::Arc;

use crate::kernels::prefetch_at;

/// Elements of one block.
const BLOCK: usize = 1024;

/// An array in blocks. A clone copies one pointer per block.
#[derive(Clone)]
pub(crate) struct Blocks<T> {
    /// Blocks of [`BLOCK`] elements; those after the last element are defaults.
    blocks: Vec<Arc<[T]>>,
    len: usize,
}

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Self { blocks: Vec::new(), len: 0 }
    }
}

impl<T: Clone + Default> Blocks<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        if index < self.len { self.blocks.get(index / BLOCK)?.get(index % BLOCK) } else { None }
    }

    /// Prefetches an element.
    pub(crate) fn prefetch(&self, index: usize) {
        if let Some(block) = self.blocks.get(index / BLOCK) {
            prefetch_at(block, index % BLOCK);
        }
    }

    pub(crate) fn push(&mut self, value: T) {
        if self.len.is_multiple_of(BLOCK) {
            self.blocks.push((0..BLOCK).map(|_| T::default()).collect());
        }
        self.len += 1;
        if let Some(element) = self.get_mut(self.len - 1) {
            *element = value;
        }
    }

    /// Returns an element for a change. Copies its block if a snapshot holds it.
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index >= self.len {
            return None;
        }
        let block = self.blocks.get_mut(index / BLOCK)?;
        Arc::make_mut(block).get_mut(index % BLOCK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_never_changes() {
        let mut blocks = Blocks::default();
        (0..3000).for_each(|n| blocks.push(n));
        let before = blocks.clone();
        *blocks.get_mut(2047).expect("is there") = -1;
        blocks.push(3000);
        assert_eq!((before.len(), before.get(2047), before.get(3000)), (3000, Some(&2047), None));
        assert_eq!((blocks.len(), blocks.get(2047), blocks.get(3000)), (3001, Some(&-1), Some(&3000)));
    }
}
