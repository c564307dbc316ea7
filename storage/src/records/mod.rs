//! The typed records in the key-value store, one file a resource.
//!
//! [`Store`] is the open data directory's database; each file adds its resource's methods to it. Writes that belong
//! together go out as one batch, and the ones that were promised to a client are synced before the call returns.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::key_value::{Batch, Column, Durability, KeyValueStore, Levels, Opening};

mod accounts;
mod animals;
mod api_keys;
mod billing;
mod conversations;
mod media;
mod models;
mod namespaces;
mod queue;
mod usage;
mod vectors;
mod vocabulary;

pub use accounts::AccountRecord;
pub use animals::AnimalRecord;
pub use api_keys::ApiKeyRecord;
pub use billing::{BillingChange, PaymentRecord, TransactionRecord, WalletRecord};
pub use conversations::{BranchRecord, ConversationRecord, MessageRecord};
pub use media::MediaRecord;
pub use models::ModelRecord;
pub use namespaces::NamespaceRecord;
pub use queue::{DeadLetter, Enqueued, KnownBy, QueueEntry, QueuedWork};
pub use usage::UsageRecord;
pub use vectors::VectorKey;
pub use vocabulary::{TermChange, TermRecord};

/// The first byte of every record's value.
pub const RECORD_FORMAT: u8 = 1;
/// The data directory's format that this build writes, and the oldest that it reads.
pub const DATA_FORMAT: u32 = 1;

/// The data directory's database, opened.
pub struct Store {
    kv: KeyValueStore,
}

impl Store {
    /// Opens (or creates) the database under `path` and checks its format.
    pub fn open(path: &Path) -> Result<Self> {
        let kv = KeyValueStore::open(path)?;
        let store = Self { kv };
        match store.kv.get(Column::Meta, b"format")? {
            None => {
                let mut batch = Batch::new();
                batch.put(Column::Meta, "format", DATA_FORMAT.to_le_bytes());
                store.kv.write(&batch, Durability::Synced)?;
            }
            Some(bytes) => {
                let bytes = bytes.try_into().map_err(|_| Error::corrupt("data format", "not four bytes"))?;
                let found = u32::from_le_bytes(bytes);
                if found > DATA_FORMAT {
                    return Err(Error::NewerFormat { found, known: DATA_FORMAT });
                }
            }
        }
        Ok(store)
    }

    /// A secret of this data directory by its name (see [`Column::Meta`]), made by `mint` the first time.
    pub fn secret(&self, name: &str, mint: impl FnOnce() -> Vec<u8>) -> Result<Zeroizing<Vec<u8>>> {
        if let Some(key) = self.kv.get(Column::Meta, name.as_bytes())? {
            return Ok(key.into());
        }
        let key = Zeroizing::new(mint());
        let mut batch = Batch::new();
        batch.put(Column::Meta, name, key.to_vec());
        self.kv.write(&batch, Durability::Synced)?;
        Ok(key)
    }

    /// How much the database takes.
    pub fn levels(&self) -> Levels {
        self.kv.levels()
    }

    /// Puts a copy of the database as it is now into a folder that does not exist yet, on the same file system.
    pub fn checkpoint(&self, folder: &Path) -> Result<()> {
        self.kv.checkpoint(folder)
    }

    /// Reads everything there is. Returns how many records there are, and what is wrong with them.
    pub fn check(&self) -> (u64, Vec<String>) {
        let (mut records, mut wrong) = (0, Vec::new());
        for column in Column::ALL {
            let mut unreadable = 0u64;
            let read = self.kv.read_all(column, |_, value| {
                records += 1;
                let whole = match value.split_first() {
                    // Sets of keys.
                    None => true,
                    _ if column.holds_raw_bytes() => true,
                    Some((&RECORD_FORMAT, json)) => serde_json::from_slice::<serde::de::IgnoredAny>(json).is_ok(),
                    Some(_) => false,
                };
                unreadable += u64::from(!whole);
            });
            if let Err(error) = read {
                wrong.push(format!("{}: {error}", column.name()));
            }
            if unreadable > 0 {
                wrong.push(format!("{}: {unreadable} records cannot be read", column.name()));
            }
        }
        (records, wrong)
    }

    /// Makes every buffered write durable that was made before the call.
    pub fn sync(&self) -> Result<()> {
        self.kv.sync()
    }

    /// Which opening of the database this is, for [`Self::sync_since`].
    pub fn opening(&self) -> Opening {
        self.kv.opening()
    }

    /// Makes every buffered write durable that was made since an opening was asked for. Fails where the database has been
    /// opened again meanwhile: what had been written may be there or not.
    pub fn sync_since(&self, opening: Opening) -> Result<()> {
        self.kv.sync_since(opening)
    }
}

fn encode<T: Serialize>(record: &T) -> Result<Vec<u8>> {
    let mut bytes = vec![RECORD_FORMAT];
    serde_json::to_writer(&mut bytes, record).map_err(|e| Error::corrupt("record to be written", e))?;
    Ok(bytes)
}

fn decode<T: DeserializeOwned>(column: Column, bytes: &[u8]) -> Result<T> {
    match bytes.split_first() {
        Some((&RECORD_FORMAT, json)) => {
            serde_json::from_slice(json).map_err(|e| Error::corrupt(format!("record in {}", column.name()), e))
        }
        _ => Err(Error::corrupt(format!("record in {}", column.name()), "unknown record format")),
    }
}
