//! Opening the database, with the migration to the format of this build.

use std::path::Path;

use parking_lot::{Mutex, RwLock};
use ulid::Ulid;

use super::migration::migrate;
use super::store::{DATA_FORMAT, FORMAT_KEY, Store};
use crate::error::{Error, Result};
use crate::key_value::{Batch, Column, Durability, EngineMemory, KeyValueStore};

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
        let kv = KeyValueStore::open_with_memory(path, memory)?;
        let store = Self { kv, namespace_existence: RwLock::new(()), newest_id: Mutex::new(Ulid::nil()) };
        let found = match store.kv.get(Column::Meta, FORMAT_KEY)? {
            None => DATA_FORMAT,
            Some(bytes) => {
                let bytes = bytes.try_into().map_err(|_| Error::corrupt("data format", "not 4 bytes"))?;
                u32::from_le_bytes(bytes)
            }
        };
        if found > DATA_FORMAT {
            return Err(Error::NewerFormat { found, known: DATA_FORMAT });
        }
        if found < DATA_FORMAT {
            migrate(&store, found)?;
        }
        let mut batch = Batch::new();
        batch.put(Column::Meta, FORMAT_KEY, DATA_FORMAT.to_le_bytes());
        if store.kv.get(Column::Meta, FORMAT_KEY)?.is_none() {
            store.kv.write(&batch, Durability::Synced)?;
        }
        // A migration copies these families. A crash may have prevented their removal.
        for family in store.kv.legacy_families() {
            store.kv.drop_legacy(&family)?;
        }
        *store.newest_id.lock() = store.newest_id()?.unwrap_or(Ulid::nil());
        Ok(store)
    }
}
