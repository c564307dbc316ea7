//! The open database: its format, its counters and secrets, and the encoding of a record.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use ulid::Ulid;

use super::ownership::Fences;
use super::usage_state::UsageParts;
use crate::error::{Error, Result};
use crate::identity::NamespaceId;
use crate::key_value::{Batch, Column, Durability, Engine, EngineStats, OpenGeneration};

/// The first byte of every record's value.
pub const RECORD_FORMAT: u8 = 1;
/// The data directory format that this build writes.
pub const DATA_FORMAT: u32 = 4;
/// The oldest data directory format that this build can migrate.
pub const DATA_FORMAT_OLDEST: u32 = 1;

/// Key in [`Column::Meta`]: the format of the data directory.
pub(super) const FORMAT_KEY: &[u8] = b"format";
/// Key in [`Column::Meta`]: the greatest id that was assigned in a deleted namespace, or before ids were recorded by
/// namespace.
pub(super) const NEWEST_ID_KEY: &[u8] = b"newest-id";
/// Key in [`Column::Meta`]: the total running time of services.
pub(super) const RUNNING_KEY: &[u8] = b"running-ms";
/// Key in [`Column::Meta`]: present while folders have the names of format 1.
pub(super) const DIRECTORIES_KEY: &[u8] = b"directories";

/// The open database of a data directory.
pub struct Store {
    pub(super) kv: Arc<dyn Engine>,
    /// The greatest id that this process recorded in each namespace, see [`Store::newest_id`].
    pub(super) newest_ids: Mutex<HashMap<NamespaceId, Ulid>>,
    /// What batches expect of the owners of their namespaces.
    pub(super) fences: Fences,
    /// Where this process writes what it counts.
    pub(super) usage_parts: UsageParts,
    /// The hold of a backup of this process that has ended, if its record may still be there.
    pub(super) abandoned_hold: Mutex<Option<Vec<u8>>>,
    /// Whether entries with messages that must not be stored left the queue since the last purge.
    pub(super) has_unstored: AtomicBool,
}

/// The record [`NEWEST_ID_KEY`].
#[derive(Default)]
struct NewestIdOfDeleted {
    /// The id. `None` if there is none, or if it cannot be decoded.
    id: Option<Ulid>,
    /// The bytes of the record, if they cannot be decoded.
    unreadable: Option<Vec<u8>>,
}

impl Store {
    /// The greatest id assigned so far. The batch that writes a record also records its id, for the namespace: one record
    /// for all would make several nodes wait for each other. Of two concurrent batches the later one may record the
    /// smaller id, so new ids should begin one second after this one.
    ///
    /// Records that cannot be decoded are left out. Ids then continue after the clock and the ids of the other records.
    pub fn newest_id(&self) -> Result<Option<Ulid>> {
        let of_deleted = self.newest_id_of_deleted()?;
        let mut newest = of_deleted.id;
        let mut unreadable = Vec::new();
        for entry in self.kv.read_all(Column::NewestIds) {
            let (key, value) = entry?;
            match decode_id(&value) {
                // An id sorts after none.
                Ok(id) => newest = newest.max(Some(id)),
                Err(error) => unreadable.push((key, error)),
            }
        }
        for (key, error) in &unreadable {
            self.set_newest_id_aside(key, error)?;
        }
        if let Some(bytes) = of_deleted.unreadable
            && let Err(error) = self.replace_newest_id(bytes, newest)
        {
            tracing::warn!(%error, "the newest id of deleted namespaces could not be replaced; the next start tries");
        }
        Ok(newest)
    }

    /// Replaces the newest id of deleted namespaces, whose bytes cannot be decoded. `newest` is the greatest other id.
    fn replace_newest_id(&self, unreadable: Vec<u8>, newest: Option<Ulid>) -> Result<()> {
        let mut batch = Batch::new();
        batch.expect(Column::Meta, NEWEST_ID_KEY, Some(unreadable));
        match newest {
            Some(newest) => {
                batch.put(Column::Meta, NEWEST_ID_KEY, newest.to_bytes());
            }
            None => {
                batch.delete(Column::Meta, NEWEST_ID_KEY);
            }
        }
        match self.kv.write(&batch, Durability::Synced) {
            // Another process replaced it.
            Err(Error::ConditionFailed { .. }) => Ok(()),
            written => written,
        }
    }

    /// The greatest id assigned in a namespace, as [`Self::newest_id`]. `None` if it has none, or only ids from before
    /// they were recorded by namespace.
    pub fn newest_id_of(&self, namespace: NamespaceId) -> Result<Option<Ulid>> {
        let key = namespace.to_bytes();
        let Some(bytes) = self.kv.get(Column::NewestIds, &key)? else { return Ok(None) };
        match decode_id(&bytes) {
            Ok(id) => Ok(Some(id)),
            Err(error) => {
                self.set_newest_id_aside(&key, &error)?;
                Ok(None)
            }
        }
    }

    /// Sets aside a newest id that cannot be decoded. The ids of its namespace then continue after the clock and the
    /// newest ids of the other namespaces.
    fn set_newest_id_aside(&self, key: &[u8], error: &Error) -> Result<()> {
        tracing::error!(%error, "cannot decode the newest id of a namespace; `cuebase dead-letters list` shows it");
        self.set_aside(Column::NewestIds, key)
    }

    /// Keeps the greatest id of a namespace whose records are deleted by the batch, since ids must not go back.
    pub(super) fn keep_newest_id(&self, batch: &mut Batch, namespace: NamespaceId) -> Result<()> {
        self.newest_ids.lock().remove(&namespace);
        let kept = self.newest_id_of_deleted()?.id;
        if let Some(newest) = self.newest_id_of(namespace)?
            && kept < Some(newest)
        {
            batch.put(Column::Meta, NEWEST_ID_KEY, newest.to_bytes());
        }
        Ok(())
    }

    /// The greatest id assigned in a deleted namespace, or before ids were recorded by namespace. Logs one that cannot be
    /// decoded.
    fn newest_id_of_deleted(&self) -> Result<NewestIdOfDeleted> {
        let mut of_deleted = NewestIdOfDeleted::default();
        let Some(bytes) = self.kv.get(Column::Meta, NEWEST_ID_KEY)? else { return Ok(of_deleted) };
        match decode_id(&bytes) {
            Ok(id) => of_deleted.id = Some(id),
            Err(error) => {
                let key = String::from_utf8_lossy(NEWEST_ID_KEY);
                tracing::error!(
                    %error,
                    %key,
                    "cannot decode the newest id of deleted namespaces; ids continue after the clock and those of the others"
                );
                of_deleted.unreadable = Some(bytes);
            }
        }
        Ok(of_deleted)
    }

    /// Adds the assignment of an id to a batch.
    pub(super) fn record_id(&self, batch: &mut Batch, namespace: NamespaceId, id: Ulid) {
        let mut newest_ids = self.newest_ids.lock();
        let newest = newest_ids.entry(namespace).or_insert(id);
        *newest = id.max(*newest);
        batch.put(Column::NewestIds, namespace.to_bytes(), newest.to_bytes());
    }

    /// The last recorded total running time of services on this data directory, in milliseconds.
    pub fn running_ms(&self) -> Result<u64> {
        decode_running_ms(self.kv.get(Column::Meta, RUNNING_KEY)?.as_deref())
    }

    /// Adds to the total running time of services on this data directory, in milliseconds. Returns the new total.
    /// Buffered. Concurrent additions add up.
    pub fn add_running_ms(&self, added_ms: u64) -> Result<u64> {
        loop {
            let stored = self.kv.get(Column::Meta, RUNNING_KEY)?;
            let total_ms = decode_running_ms(stored.as_deref())?.saturating_add(added_ms);
            let mut batch = Batch::new();
            batch.expect(Column::Meta, RUNNING_KEY, stored);
            batch.put(Column::Meta, RUNNING_KEY, total_ms.to_le_bytes());
            match self.kv.write(&batch, Durability::Buffered) {
                Ok(()) => return Ok(total_ms),
                // Another process added to it.
                Err(Error::ConditionFailed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether folders still have the names of format 1.
    pub fn has_format_1_directories(&self) -> Result<bool> {
        Ok(self.kv.get(Column::Meta, DIRECTORIES_KEY)?.is_some())
    }

    /// Records that all folders have the names of the current format.
    pub fn mark_directories_renamed(&self) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete(Column::Meta, DIRECTORIES_KEY);
        self.kv.write(&batch, Durability::Synced)
    }

    /// Returns the disk and memory use of the database.
    pub fn engine_stats(&self) -> EngineStats {
        self.kv.stats()
    }

    /// Writes a snapshot of the database into a new folder on the same file system.
    pub fn checkpoint(&self, folder: &Path) -> Result<()> {
        self.kv.checkpoint(folder)
    }

    /// Makes all buffered writes that were made before the call durable.
    pub fn sync(&self) -> Result<()> {
        self.kv.sync()
    }

    /// Returns the current generation of the database, for [`Self::sync_since`].
    pub fn generation(&self) -> OpenGeneration {
        self.kv.generation()
    }

    /// Makes all buffered writes that were made since the caller obtained `generation` durable.
    ///
    /// # Errors
    /// [`Error::Engine`] if the database was reopened since then: these writes may be lost.
    pub fn sync_since(&self, generation: OpenGeneration) -> Result<()> {
        self.kv.sync_since(generation)
    }

    /// Reads and decodes the record with a key.
    pub(super) fn get_record<T: DeserializeOwned>(&self, column: Column, key: &[u8]) -> Result<Option<T>> {
        match self.kv.get(column, key)? {
            Some(bytes) => Ok(Some(decode(column, &bytes)?)),
            None => Ok(None),
        }
    }
}

/// Decodes the total running time. An absent one is none yet.
fn decode_running_ms(stored: Option<&[u8]>) -> Result<u64> {
    let Some(bytes) = stored else { return Ok(0) };
    let bytes = bytes.try_into().map_err(|_| Error::corrupt("running time", "not 8 bytes"))?;
    Ok(u64::from_le_bytes(bytes))
}

pub(super) fn decode_id(bytes: &[u8]) -> Result<Ulid> {
    let bytes = bytes.try_into().map_err(|_| Error::corrupt("newest id", "not 16 bytes"))?;
    Ok(Ulid::from_bytes(bytes))
}

pub(super) fn encode<T: Serialize>(record: &T) -> Result<Vec<u8>> {
    let mut bytes = vec![RECORD_FORMAT];
    serde_json::to_writer(&mut bytes, record).map_err(|e| Error::corrupt("new record", e))?;
    Ok(bytes)
}

pub(super) fn decode<T: DeserializeOwned>(column: Column, bytes: &[u8]) -> Result<T> {
    match bytes.split_first() {
        Some((&RECORD_FORMAT, json)) => {
            // The message of serde may quote a client's data, so the error contains only its class and position.
            serde_json::from_slice(json).map_err(|error| {
                let reason = format!("{:?} error at byte {}", error.classify(), error.column());
                Error::corrupt(format!("record in {}", column.name()), reason)
            })
        }
        _ => Err(Error::corrupt(format!("record in {}", column.name()), "unknown record format")),
    }
}
