//! Opening the database, with the migration to the format of this build.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;

use super::migration::migrate;
use super::ownership::Fences;
use super::store::{DATA_FORMAT, FORMAT_KEY, Store};
use super::usage_state::UsageParts;
use crate::error::{Error, Result};
use crate::key_value::{Batch, Column, Durability, Engine, EngineMemory, MemoryEngine, RocksEngine};

impl Store {
    /// Opens or creates the database in `path` and migrates it to the format of this build.
    ///
    /// # Errors
    /// [`Error::NewerFormat`] if a later version wrote the database.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with_memory(path, EngineMemory::default())
    }

    /// Opens the database like [`Store::open`], with given memory limits.
    ///
    /// # Errors
    /// The errors of [`Store::open`].
    pub fn open_with_memory(path: &Path, memory: EngineMemory) -> Result<Self> {
        let engine = Arc::new(RocksEngine::open_with_memory(path, memory)?);
        let store = Self::over(engine.clone(), Fences::Alone);
        let found = store.format()?.unwrap_or(DATA_FORMAT);
        if found > DATA_FORMAT {
            return Err(Error::NewerFormat { found, known: DATA_FORMAT });
        }
        if found < DATA_FORMAT {
            migrate(&store, &engine, found)?;
        }
        store.record_format()?;
        // A migration copies these families. A crash may have prevented their removal.
        for family in engine.legacy_families() {
            engine.drop_legacy(&family)?;
        }
        Ok(store)
    }

    /// Creates a store in memory, for tests. It has no files, so [`Store::checkpoint`] fails.
    pub fn in_memory() -> Result<Self> {
        let store = Self::over(Arc::new(MemoryEngine::new()), Fences::Alone);
        store.record_format()?;
        Ok(store)
    }

    /// Opens the database of an engine that several processes share. Nothing is claimed yet, so only batches without a
    /// namespace can be written.
    ///
    /// # Errors
    /// [`Error::NewerFormat`] if a later version wrote the database, [`Error::Corrupt`] if an earlier one did.
    pub fn open_shared(engine: Arc<dyn Engine>) -> Result<Self> {
        let store = Self::over(engine, Fences::shared());
        match store.format()? {
            None => store.record_format()?,
            Some(found) if found > DATA_FORMAT => return Err(Error::NewerFormat { found, known: DATA_FORMAT }),
            Some(found) if found < DATA_FORMAT => {
                let reason = format!("shared databases begin with format {DATA_FORMAT}");
                return Err(Error::corrupt(format!("data format {found}"), reason));
            }
            Some(_) => {}
        }
        Ok(store)
    }

    /// Returns the records of a shared database as they are now, to be read only.
    ///
    /// # Errors
    /// [`Error::Engine`] if the database cannot be reached, or if it is that of a data directory: [`Store::checkpoint`]
    /// copies it.
    pub fn snapshot(&self) -> Result<Self> {
        Ok(Self::over(self.kv.snapshot()?, Fences::shared()))
    }

    fn over(kv: Arc<dyn Engine>, fences: Fences) -> Self {
        let usage_parts = match &fences {
            Fences::Alone => UsageParts::Alone,
            Fences::Shared(_) => UsageParts::of_process(),
        };
        Self {
            kv,
            newest_ids: Mutex::default(),
            fences,
            usage_parts,
            abandoned_hold: Mutex::default(),
            has_unstored: AtomicBool::default(),
        }
    }

    /// Returns the format of the database. `None` if it is new.
    fn format(&self) -> Result<Option<u32>> {
        let Some(bytes) = self.kv.get(Column::Meta, FORMAT_KEY)? else { return Ok(None) };
        let bytes = bytes.try_into().map_err(|_| Error::corrupt("data format", "not 4 bytes"))?;
        Ok(Some(u32::from_le_bytes(bytes)))
    }

    /// Records the format of this build in a new database.
    fn record_format(&self) -> Result<()> {
        if self.kv.get(Column::Meta, FORMAT_KEY)?.is_some() {
            return Ok(());
        }
        let mut batch = Batch::new();
        batch.put(Column::Meta, FORMAT_KEY, DATA_FORMAT.to_le_bytes());
        self.kv.write(&batch, Durability::Synced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::AccountId;
    use crate::records::AccountRecord;

    #[test]
    fn a_store_in_memory_keeps_records_and_writes_no_checkpoint() {
        let store = Store::in_memory().expect("creates");
        let account = AccountRecord { account: AccountId::default(), created_at_ms: 1, suspended: false };
        let mut batch = store.batch();
        batch.create_account(&account).expect("encodes");
        store.commit(batch).expect("writes");
        assert_eq!(store.accounts().expect("reads"), [account]);
        assert_eq!(store.check(), (2, Vec::new()));
        assert!(store.checkpoint(Path::new("unused")).is_err());
    }
}
