//! The cue table: the rows of all cues, in the order of their documents, and their sketches.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::row::{BLOCK_ROWS, Row, RowBlock};
use super::scan::SketchTable;
use crate::bitmap::Bitmap;
use crate::error::{Error, Result};
use crate::ids::{DocumentId, RowId};
use crate::threads::Threads;

/// All rows of a namespace, in the order of their documents. Cloning shares the blocks.
#[derive(Clone)]
pub(crate) struct CueTable {
    dimensions: usize,
    /// Values of a row: the dimensions, rounded up to a power of two.
    width: usize,
    rows: usize,
    blocks: Vec<Arc<RowBlock>>,
    sketches: SketchTable,
}

impl CueTable {
    pub(crate) fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            width: dimensions.next_power_of_two(),
            rows: 0,
            blocks: Vec::new(),
            sketches: SketchTable::default(),
        }
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the id that the next row gets.
    pub(crate) fn next_row(&self) -> RowId {
        RowId::new(self.rows as u32)
    }

    /// Returns every row, ascending.
    pub(crate) fn all_rows(&self) -> impl Iterator<Item = RowId> {
        RowId::new(0).until(self.next_row())
    }

    /// Returns the bytes that a row takes on disk.
    pub(crate) fn row_bytes(&self) -> usize {
        Row::bytes(self.dimensions)
    }

    /// Appends rows in their on-disk form. `documents` holds the document of each row.
    pub(crate) fn extend(&mut self, bytes: &[u8], documents: &[DocumentId]) {
        let mut rows = bytes.chunks_exact(Row::bytes(self.dimensions)).zip(documents);
        let free = self.blocks.len() * BLOCK_ROWS - self.rows;
        let first: Vec<_> = rows.by_ref().take(free).collect();
        if !first.is_empty()
            && let Some(block) = self.blocks.last_mut()
        {
            let block = Arc::make_mut(block);
            first.into_iter().for_each(|(row, document)| block.push(row, *document));
        }
        let rest: Vec<_> = rows.collect();
        let width = self.width;
        self.blocks.par_extend(rest.par_chunks(BLOCK_ROWS).map(|rows| {
            let mut block = RowBlock::new(width);
            rows.iter().for_each(|(row, document)| block.push(row, **document));
            Arc::new(block)
        }));
        let (from, blocks) = (self.rows, &self.blocks);
        self.rows += documents.len();
        self.sketches.extend(from..self.rows, |row| blocks[row / BLOCK_ROWS].values(row % BLOCK_ROWS));
    }

    /// Quantises a query's vector.
    pub(crate) fn query(&self, vector: &[f32]) -> Result<Row> {
        if vector.len() != self.dimensions {
            return Err(Error::Dimensions { found: vector.len(), expected: self.dimensions });
        }
        Ok(Row::new(vector))
    }

    /// Returns the block of a row, which must exist, and the row's index in it.
    #[inline]
    pub(crate) fn block(&self, row: RowId) -> (&RowBlock, usize) {
        (&self.blocks[row.index() / BLOCK_ROWS], row.index() % BLOCK_ROWS)
    }

    /// Returns the document of a row.
    #[inline]
    pub(crate) fn document(&self, row: RowId) -> Option<DocumentId> {
        self.blocks.get(row.index() / BLOCK_ROWS)?.document(row.index() % BLOCK_ROWS)
    }

    /// Returns the highest cosine of some rows and a query; `None` if no row exists.
    pub(crate) fn cosine(&self, query: &Row, rows: Range<RowId>) -> Option<f32> {
        let mut highest: Option<f32> = None;
        for row in rows.start.until(rows.end) {
            let Some(block) = self.blocks.get(row.index() / BLOCK_ROWS) else { continue };
            let cosine = block.cosine(row.index() % BLOCK_ROWS, query);
            highest = Some(match highest {
                Some(other) => other.max(cosine),
                None => cosine,
            });
        }
        highest
    }

    /// Returns the rows of allowed documents whose sketches are nearest to the query's, at least `target` if there are
    /// as many, ascending.
    pub(crate) fn nearest_sketches(
        &self,
        query: &Row,
        target: usize,
        allowed: Option<&Bitmap>,
        threads: Threads,
    ) -> Vec<RowId> {
        self.sketches.nearest(&query.values, target, threads, |row| match allowed {
            Some(allowed) => self.document(row).is_some_and(|document| allowed.contains(document)),
            None => true,
        })
    }

    /// Prefetches the first line of a row, and with it the translation of its page.
    #[inline]
    pub(crate) fn prefetch_first_line(&self, row: RowId) {
        if let Some(block) = self.blocks.get(row.index() / BLOCK_ROWS) {
            block.prefetch_first_line(row.index() % BLOCK_ROWS);
        }
    }

    /// Prefetches a row.
    #[inline]
    pub(crate) fn prefetch(&self, row: RowId) {
        if let Some(block) = self.blocks.get(row.index() / BLOCK_ROWS) {
            block.prefetch(row.index() % BLOCK_ROWS);
        }
    }
}
