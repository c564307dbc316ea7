//! The typed records in the key-value store, one file a resource.
//!
//! [`Store`] is the open data directory's database; each file adds its resource's methods to it. Writes that belong
//! together go out as one batch, and the ones that were promised to a client are synced before the call returns.

use std::path::Path;

use parking_lot::{Mutex, RwLock};
use serde::Serialize;
use serde::de::DeserializeOwned;
use ulid::Ulid;
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::key_value::{Batch, Column, Durability, EngineMemory, KeyValueStore, Levels, Opening};

mod accounts;
mod acknowledgement;
mod animals;
mod api_keys;
mod billing;
mod conversations;
mod dead_letters;
mod fingerprints;
mod media;
mod migration;
mod models;
mod namespaces;
mod queue;
mod sources;
mod usage;
mod vectors;
mod vocabulary;

pub use accounts::AccountRecord;
pub use acknowledgement::{Acknowledgement, Ingested, RecordedCommit, Revision};
pub use animals::AnimalRecord;
pub use api_keys::ApiKeyRecord;
pub use billing::{BillingChange, PaymentRecord, PricesRecord, TransactionRecord, WalletRecord};
pub use conversations::{BranchRecord, ConversationRecord, MessageRecord};
pub use dead_letters::{DeadLetter, Unreadable};
pub use fingerprints::{Dedup, Subject};
pub use media::MediaRecord;
pub use models::ModelRecord;
pub use namespaces::{Creation, NamespaceId, NamespaceRecord, RemovalRecord};
pub use queue::{EnqueueOptions, Enqueued, QueueEntry, QueuedWork};
pub use sources::{SourceCheck, SourceRecord};
pub use usage::UsageRecord;
pub use vectors::VectorKey;
pub use vocabulary::{TermChange, TermRecord};

/// The first byte of every record's value.
pub const RECORD_FORMAT: u8 = 1;
/// The data directory's format that this build writes.
pub const DATA_FORMAT: u32 = 3;
/// The oldest format that this build brings up to its own.
pub const DATA_FORMAT_OLDEST: u32 = 1;

/// Key of [`Column::Meta`]: the data directory's format.
const FORMAT_KEY: &[u8] = b"format";
/// Key of [`Column::Meta`]: the greatest id that was given out.
const NEWEST_ID_KEY: &[u8] = b"newest-id";
/// Key of [`Column::Meta`]: for how long services have run.
const RUNNING_KEY: &[u8] = b"running-ms";
/// Key of [`Column::Meta`]: folders still have the names of format 1.
const DIRECTORIES_KEY: &[u8] = b"directories";

/// The data directory's database, opened.
pub struct Store {
    kv: KeyValueStore,
    /// Held for reading around a conditional write to a namespace, for writing around creating or deleting one. Never held
    /// over a sync.
    live: RwLock<()>,
    /// The greatest id that was noted, see [`Store::newest_id`].
    newest: Mutex<Ulid>,
}

impl Store {
    /// Opens (or creates) the database under `path`, and brings it to the format of this build.
    ///
    /// # Errors
    /// [`Error::NewerFormat`] where a later version wrote it.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_within(path, EngineMemory::default())
    }

    /// The same with another amount of memory.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_within(path: &Path, memory: EngineMemory) -> Result<Self> {
        let kv = KeyValueStore::open_within(path, memory)?;
        let store = Self { kv, live: RwLock::new(()), newest: Mutex::new(Ulid::nil()) };
        let found = match store.kv.get(Column::Meta, FORMAT_KEY)? {
            None => DATA_FORMAT,
            Some(bytes) => {
                let bytes = bytes.try_into().map_err(|_| Error::corrupt("data format", "not four bytes"))?;
                u32::from_le_bytes(bytes)
            }
        };
        if found > DATA_FORMAT {
            return Err(Error::NewerFormat { found, known: DATA_FORMAT });
        }
        if found < DATA_FORMAT {
            migration::migrate(&store, found)?;
        }
        let mut batch = Batch::new();
        batch.put(Column::Meta, FORMAT_KEY, DATA_FORMAT.to_le_bytes());
        if store.kv.get(Column::Meta, FORMAT_KEY)?.is_none() {
            store.kv.write(&batch, Durability::Synced)?;
        }
        // What a migration has copied; a crash may have come before it was dropped.
        for family in store.kv.former_families() {
            store.kv.drop_former(&family)?;
        }
        *store.newest.lock() = store.newest_id()?.unwrap_or(Ulid::nil());
        Ok(store)
    }

    /// The greatest id that was ever given out. Ids are noted in the batch of what they are the id of; of two batches at
    /// the same time the later one may note the smaller id, so new ids should begin a second after it.
    pub fn newest_id(&self) -> Result<Option<Ulid>> {
        let Some(bytes) = self.kv.get(Column::Meta, NEWEST_ID_KEY)? else { return Ok(None) };
        let bytes = bytes.try_into().map_err(|_| Error::corrupt("newest id", "not 16 bytes"))?;
        Ok(Some(Ulid::from_bytes(bytes)))
    }

    /// Notes in a batch that an id was given out.
    fn note_id(&self, batch: &mut Batch, id: Ulid) {
        let mut newest = self.newest.lock();
        *newest = id.max(*newest);
        batch.put(Column::Meta, NEWEST_ID_KEY, newest.to_bytes());
    }

    /// For how long services have run on this data directory, milliseconds, as it was noted last.
    pub fn running_ms(&self) -> Result<u64> {
        let Some(bytes) = self.kv.get(Column::Meta, RUNNING_KEY)? else { return Ok(0) };
        let bytes = bytes.try_into().map_err(|_| Error::corrupt("running time", "not 8 bytes"))?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Notes for how long services have run on this data directory, milliseconds. Buffered.
    pub fn note_running(&self, running_ms: u64) -> Result<()> {
        let mut batch = Batch::new();
        batch.put(Column::Meta, RUNNING_KEY, running_ms.to_le_bytes());
        self.kv.write(&batch, Durability::Buffered)
    }

    /// Whether folders still have the names that format 1 gave them.
    pub fn has_former_directories(&self) -> Result<bool> {
        Ok(self.kv.get(Column::Meta, DIRECTORIES_KEY)?.is_some())
    }

    /// All folders have the names of this format.
    pub fn directories_renamed(&self) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete(Column::Meta, DIRECTORIES_KEY);
        self.kv.write(&batch, Durability::Synced)
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
            // The error's own text may quote what a client wrote.
            serde_json::from_slice(json).map_err(|error| {
                let how = format!("{:?} error at byte {}", error.classify(), error.column());
                Error::corrupt(format!("record in {}", column.name()), how)
            })
        }
        _ => Err(Error::corrupt(format!("record in {}", column.name()), "unknown record format")),
    }
}
