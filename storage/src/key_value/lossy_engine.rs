//! An engine in memory whose answers can be lost, for tests of what a caller does then.

use std::mem;
use std::path::Path;

use parking_lot::Mutex;

use super::batch::Batch;
use super::columns::Column;
use super::durability::{Durability, OpenGeneration};
use super::engine::{ColumnPrefix, Engine};
use super::memory_engine::MemoryEngine;
use super::page::KeyValuePair;
use super::stats::EngineStats;
use crate::error::{DiskTrouble, Error, Result};

/// A [`MemoryEngine`] that can apply a batch and report a failure, or apply it only later, as when the connection to a
/// server breaks.
#[derive(Default)]
pub struct LossyEngine {
    inner: MemoryEngine,
    next: Mutex<NextBatch>,
    late: Mutex<Vec<(Batch, Durability)>>,
}

/// What happens to the next batch.
#[derive(Clone, Copy, Default)]
enum NextBatch {
    #[default]
    Answered,
    /// It is applied, and its answer is lost.
    Unanswered,
    /// It is applied by [`LossyEngine::apply_late_batches`], and its answer is lost.
    Late,
}

impl LossyEngine {
    /// Makes the next batch fail after it was applied.
    pub fn lose_next_answer(&self) {
        *self.next.lock() = NextBatch::Unanswered;
    }

    /// Makes the next batch fail before it is applied. It is kept.
    pub fn delay_next_batch(&self) {
        *self.next.lock() = NextBatch::Late;
    }

    /// Applies the batches that were kept, if their conditions hold now. Returns the outcome of each.
    pub fn apply_late_batches(&self) -> Vec<Result<()>> {
        let late = mem::take(&mut *self.late.lock());
        let mut outcomes = Vec::new();
        for (batch, durability) in &late {
            outcomes.push(self.inner.write(batch, *durability));
        }
        outcomes
    }
}

impl Engine for LossyEngine {
    fn get(&self, column: Column, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.inner.get(column, key)
    }

    fn scan(&self, column: Column, prefix: &[u8], after: Option<&[u8]>, limit: usize) -> Result<Vec<KeyValuePair>> {
        self.inner.scan(column, prefix, after, limit)
    }

    fn scan_back(
        &self,
        column: Column,
        prefix: &[u8],
        before: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<KeyValuePair>> {
        self.inner.scan_back(column, prefix, before, limit)
    }

    fn read_page(&self, column: Column, after: Option<&[u8]>) -> Result<Vec<KeyValuePair>> {
        self.inner.read_page(column, after)
    }

    fn write(&self, batch: &Batch, durability: Durability) -> Result<()> {
        match mem::take(&mut *self.next.lock()) {
            NextBatch::Answered => return self.inner.write(batch, durability),
            NextBatch::Unanswered => self.inner.write(batch, durability)?,
            NextBatch::Late => self.late.lock().push((batch.clone(), durability)),
        }
        Err(Error::Engine { trouble: Some(DiskTrouble::Unreachable), source: "the answer was lost".into() })
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }

    fn sync_since(&self, generation: OpenGeneration) -> Result<()> {
        self.inner.sync_since(generation)
    }

    fn generation(&self) -> OpenGeneration {
        self.inner.generation()
    }

    fn stats(&self) -> EngineStats {
        self.inner.stats()
    }

    fn checkpoint(&self, folder: &Path) -> Result<()> {
        self.inner.checkpoint(folder)
    }

    fn purge_deleted(&self, prefixes: &[ColumnPrefix]) -> Result<()> {
        self.inner.purge_deleted(prefixes)
    }
}
