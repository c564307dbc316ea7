//! An engine that keeps all keys in memory, for tests.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use parking_lot::RwLock;

use super::batch::{Batch, Condition, KeyChange};
use super::columns::Column;
use super::durability::{Durability, OpenGeneration};
use super::engine::{ColumnPrefix, Engine};
use super::key_range::{backward_start, prefix_end};
use super::page::{KeyValuePair, Page};
use super::stats::EngineStats;
use crate::error::{Error, Result};

/// The entries of one column.
type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// An engine that keeps all keys in memory. Nothing survives it: a sync has no effect, and a checkpoint fails.
#[derive(Default)]
pub struct MemoryEngine {
    columns: RwLock<BTreeMap<Column, Entries>>,
}

impl MemoryEngine {
    /// An engine without keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// Fills a page with the entries whose key starts with `prefix` and is greater than `after`, in key order.
    fn fill(&self, column: Column, prefix: &[u8], after: Option<&[u8]>, mut page: Page) -> Vec<KeyValuePair> {
        let columns = self.columns.read();
        let Some(entries) = columns.get(&column) else { return Vec::new() };
        let from = after.unwrap_or(prefix).max(prefix);
        for (key, value) in entries.range::<[u8], _>((Bound::Included(from), Bound::Unbounded)) {
            if page.is_full() || !key.starts_with(prefix) {
                break;
            }
            if Some(key.as_slice()) > after {
                page.push(key.clone(), value.clone());
            }
        }
        page.into_entries()
    }
}

impl Engine for MemoryEngine {
    fn get(&self, column: Column, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let columns = self.columns.read();
        let Some(entries) = columns.get(&column) else { return Ok(None) };
        Ok(entries.get(key).cloned())
    }

    fn scan(&self, column: Column, prefix: &[u8], after: Option<&[u8]>, limit: usize) -> Result<Vec<KeyValuePair>> {
        Ok(self.fill(column, prefix, after, Page::with_limit(limit)))
    }

    fn scan_back(
        &self,
        column: Column,
        prefix: &[u8],
        before: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<KeyValuePair>> {
        let columns = self.columns.read();
        let Some(entries) = columns.get(&column) else { return Ok(Vec::new()) };
        let start = backward_start(prefix, before);
        let end = match &start {
            Some(start) => Bound::Excluded(start.as_slice()),
            None => Bound::Unbounded,
        };
        let mut page = Page::with_limit(limit);
        for (key, value) in entries.range::<[u8], _>((Bound::Unbounded, end)).rev() {
            if page.is_full() || !key.starts_with(prefix) {
                break;
            }
            page.push(key.clone(), value.clone());
        }
        Ok(page.into_entries())
    }

    fn read_page(&self, column: Column, after: Option<&[u8]>) -> Result<Vec<KeyValuePair>> {
        Ok(self.fill(column, b"", after, Page::of_bounded_size()))
    }

    fn write(&self, batch: &Batch, _durability: Durability) -> Result<()> {
        let mut columns = self.columns.write();
        for Condition { column, key, value } in &batch.conditions {
            let found = match columns.get(column) {
                Some(entries) => entries.get(key),
                None => None,
            };
            if found != value.as_ref() {
                return Err(Error::ConditionFailed { column: *column, key: key.clone() });
            }
        }
        for (column, prefix) in &batch.deleted_prefixes {
            if prefix_end(prefix).is_some() {
                columns.entry(*column).or_default().retain(|key, _| !key.starts_with(prefix));
            }
        }
        for KeyChange { column, key, value } in &batch.changes {
            let entries = columns.entry(*column).or_default();
            match value {
                Some(value) => entries.insert(key.clone(), value.clone()),
                None => entries.remove(key),
            };
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn sync_since(&self, _generation: OpenGeneration) -> Result<()> {
        Ok(())
    }

    fn generation(&self) -> OpenGeneration {
        OpenGeneration(0)
    }

    fn stats(&self) -> EngineStats {
        let mut memory_bytes = 0;
        for entries in self.columns.read().values() {
            for (key, value) in entries {
                memory_bytes += (key.len() + value.len()) as u64;
            }
        }
        EngineStats { disk_bytes: 0, memory_bytes, compactions_pending: 0 }
    }

    /// Writes nothing.
    ///
    /// # Errors
    /// Always [`Error::Engine`], without a trouble of the disk.
    fn checkpoint(&self, _folder: &Path) -> Result<()> {
        Err(Error::Engine { trouble: None, source: "the engine in memory has no files".into() })
    }

    /// Copies all keys.
    fn snapshot(&self) -> Result<Arc<dyn Engine>> {
        let columns = self.columns.read().clone();
        Ok(Arc::new(Self { columns: RwLock::new(columns) }))
    }

    /// Does nothing, as there are no files.
    fn purge_deleted(&self, _prefixes: &[ColumnPrefix]) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_has_the_keys_of_its_moment() {
        let engine = MemoryEngine::new();
        let mut batch = Batch::new();
        batch.put(Column::Usage, "a", "1");
        engine.write(&batch, Durability::Synced).expect("writes");
        let snapshot = engine.snapshot().expect("reads");
        let mut batch = Batch::new();
        batch.put(Column::Usage, "a", "2");
        batch.put(Column::Usage, "b", "2");
        engine.write(&batch, Durability::Synced).expect("writes");
        assert_eq!(snapshot.get(Column::Usage, b"a").expect("reads").as_deref(), Some(&b"1"[..]));
        assert_eq!(snapshot.get(Column::Usage, b"b").expect("reads"), None);
    }
}
