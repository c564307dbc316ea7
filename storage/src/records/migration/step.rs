//! The changes of a step in batches, and the entries of a legacy column family.

use serde::Deserialize;

use crate::error::Result;
use crate::identity::NamespaceId;
use crate::key_value::{Batch, Column, Durability, KeyValuePair, RocksEngine};
use crate::records::namespaces::put_live;
use crate::records::store::{FORMAT_KEY, Store, decode};

/// The format that the steps lead to.
const FORMAT: u32 = 4;
/// Maximum number of changes in one batch.
const BATCH_CHANGES_MAX: usize = 1000;
/// Size at which a batch is written, 4 MiB of values. A queue entry may have megabytes.
const BATCH_BYTES_FULL: usize = 4 << 20;

/// The changes of a step, which are written in batches.
pub(super) struct StepChanges<'a> {
    pub(super) store: &'a Store,
    /// The changes that are not written yet.
    pub(super) batch: Batch,
    /// Number of changes in `batch`.
    count: usize,
    /// Bytes of the values in `batch`.
    bytes: usize,
}

impl<'a> StepChanges<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self { store, batch: Batch::new(), count: 0, bytes: 0 }
    }

    pub(super) fn put(&mut self, column: Column, key: impl Into<Vec<u8>>, value: Vec<u8>) -> Result<()> {
        let bytes = value.len();
        self.batch.put(column, key, value);
        self.count_change(bytes)
    }

    /// Counts a change of `batch`. Writes the batch when it is full.
    pub(super) fn count_change(&mut self, bytes: usize) -> Result<()> {
        self.count += 1;
        self.bytes += bytes;
        if self.count < BATCH_CHANGES_MAX && self.bytes < BATCH_BYTES_FULL {
            return Ok(());
        }
        self.count = 0;
        self.bytes = 0;
        self.store.kv.write(&std::mem::take(&mut self.batch), Durability::Buffered)
    }

    /// Records of each namespace that it exists. A namespace whose record cannot be decoded stays out of service.
    pub(super) fn put_live_namespaces(&mut self) -> Result<()> {
        let store = self.store;
        for entry in store.kv.read_all(Column::Namespaces) {
            let (_, value) = entry?;
            match decode::<NamespaceIdOnly>(Column::Namespaces, &value) {
                Ok(record) => {
                    put_live(&mut self.batch, record.id);
                    self.count_change(0)?;
                }
                Err(error) => tracing::error!(%error, "cannot decode the record of a namespace"),
            }
        }
        Ok(())
    }

    /// Writes the remaining changes together with the format number.
    pub(super) fn finish(mut self) -> Result<()> {
        self.batch.put(Column::Meta, FORMAT_KEY, FORMAT.to_le_bytes());
        self.store.kv.write(&self.batch, Durability::Synced)
    }
}

/// The part of a namespace's record that migrations read.
#[derive(Deserialize)]
pub(super) struct NamespaceIdOnly {
    pub(super) id: NamespaceId,
}

/// The entries of a legacy column family. Reads them in pages, without holding a lock.
pub(super) struct LegacyEntries<'a> {
    engine: &'a RocksEngine,
    family: &'a str,
    page: std::vec::IntoIter<KeyValuePair>,
    last_key: Option<Vec<u8>>,
}

impl<'a> LegacyEntries<'a> {
    pub(super) fn new(engine: &'a RocksEngine, family: &'a str) -> Self {
        Self { engine, family, page: Vec::new().into_iter(), last_key: None }
    }
}

impl Iterator for LegacyEntries<'_> {
    type Item = Result<KeyValuePair>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(entry) = self.page.next() {
            return Some(Ok(entry));
        }
        let page = match self.engine.read_legacy_page(self.family, self.last_key.as_deref()) {
            Ok(page) => page,
            Err(error) => return Some(Err(error)),
        };
        let (last_key, _) = page.last()?;
        self.last_key = Some(last_key.clone());
        self.page = page.into_iter();
        self.page.next().map(Ok)
    }
}
