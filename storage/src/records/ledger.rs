//! Repositories that are kept in the records and the bucket, so that any node can become the owner of a namespace.
//!
//! The head and the list of packs are records. A pack of up to [`INLINE_BYTES_MAX`] is a record too, in the batch that
//! moves the head. A larger one is an object that is stored before that batch, with its index. Each object has a name of
//! its own, also for a pack that was stored before, so a name never has other content than at first.
//!
//! An object whose batch was not written belongs to nothing. [`Store::pack_objects`] tells which objects are in use.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::batch::RecordBatch;
use super::namespaces::key;
use super::store::{Store, decode, encode};
use crate::bucket::Bucket;
use crate::error::{Error, Result};
use crate::files::replace;
use crate::git::{CommitId, Ledger, LedgerState, NewPack, PackId};
use crate::identity::{NamespaceId, NamespaceKey};
use crate::key_value::Column;

/// Largest pack that is a record. The commits of conversations are far smaller.
const INLINE_BYTES_MAX: u64 = 64 << 10;
/// Bytes of an object that are read at a time.
const RANGE_BYTES: u64 = 8 << 20;

/// A pack of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PackRecord {
    /// Size in bytes.
    bytes: u64,
    /// Name of the objects without extension. `None` for a pack that is a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    /// Whether the pack is being erased: its objects may be deleted already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_erased: bool,
}

/// The ledger of one namespace.
pub struct StoreLedger {
    store: Arc<Store>,
    bucket: Arc<Bucket>,
    namespace: NamespaceKey,
}

impl StoreLedger {
    /// The ledger of a namespace that this process owns.
    pub fn new(store: Arc<Store>, bucket: Arc<Bucket>, namespace: NamespaceKey) -> Self {
        Self { store, bucket, namespace }
    }

    fn pack(&self, id: PackId) -> Result<PackRecord> {
        let record = self.store.get_record(Column::Packs, &self.pack_key(id))?;
        record.ok_or_else(|| Error::corrupt("repository", "a pack is not in the records"))
    }

    fn pack_key(&self, id: PackId) -> Vec<u8> {
        key(self.namespace.id, &id.to_bytes())
    }

    /// Stores the packs that are too large for a record, and adds all to a batch.
    fn add_packs(&self, batch: &mut RecordBatch<'_>, added: &[NewPack]) -> Result<()> {
        for new in added {
            let bytes = fs::metadata(&new.pack).map_err(Error::io("read", &new.pack))?.len();
            let object = if bytes > INLINE_BYTES_MAX { Some(self.store_objects(new)?) } else { None };
            if object.is_none() {
                let content = fs::read(&new.pack).map_err(Error::io("read", &new.pack))?;
                batch.changes.put(Column::PackBytes, self.pack_key(new.id), content);
            }
            batch.changes.put(
                Column::Packs,
                self.pack_key(new.id),
                encode(&PackRecord { bytes, object, is_erased: false })?,
            );
        }
        Ok(())
    }

    /// Stores a pack and its index under a new name.
    fn store_objects(&self, new: &NewPack) -> Result<String> {
        let object = format!("{}{}", directory(self.namespace.id), Ulid::generate());
        self.bucket.put_file(&pack_object(&object), &new.pack)?;
        self.bucket.put_file(&index_object(&object), &new.index)?;
        Ok(object)
    }

    fn remove_packs(&self, batch: &mut RecordBatch<'_>, removed: &[PackId]) {
        for id in removed {
            batch.changes.delete(Column::Packs, self.pack_key(*id));
            batch.changes.delete(Column::PackBytes, self.pack_key(*id));
        }
    }

    /// Checks that the bytes of every pack are stored, by their number.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a pack or its index is not stored, or has another size than its record.
    pub fn check_sizes(&self) -> Result<()> {
        for (key, value) in self.store.kv.scan(Column::Packs, &self.namespace.id.to_bytes(), None, usize::MAX)? {
            let record: PackRecord = decode(Column::Packs, &value)?;
            if record.is_erased {
                continue;
            }
            let Some(object) = &record.object else {
                let bytes = self.store.kv.get(Column::PackBytes, &key)?.unwrap_or_default();
                if bytes.len() as u64 != record.bytes {
                    return Err(Error::corrupt("repository", "the bytes of a pack are not in the records"));
                }
                continue;
            };
            let is_stored = self.bucket.size(&pack_object(object))? == Some(record.bytes);
            if !is_stored || self.bucket.size(&index_object(object))?.is_none() {
                return Err(Error::corrupt("repository", format!("{object} is not in the bucket, or incomplete")));
            }
        }
        Ok(())
    }

    /// Writes the content of an object into a file.
    fn download(&self, object: &str, to: &Path) -> Result<()> {
        let missing = || Error::corrupt("repository", format!("{object} is not in the bucket"));
        let bytes = self.bucket.size(object)?.ok_or_else(missing)?;
        // A name that no reader of the folder takes for a pack.
        let temporary = to.with_extension("download");
        let mut file = File::create(&temporary).map_err(Error::io("create", &temporary))?;
        let mut at = 0;
        while at < bytes {
            let end = bytes.min(at + RANGE_BYTES);
            let range = self.bucket.get_range(object, at..end)?.ok_or_else(missing)?;
            file.write_all(&range).map_err(Error::io("write", &temporary))?;
            at = end;
        }
        file.sync_all().map_err(Error::io("write", &temporary))?;
        fs::rename(&temporary, to).map_err(Error::io("write", to))
    }
}

impl Ledger for StoreLedger {
    fn state(&self) -> Result<LedgerState> {
        let prefix = self.namespace.id.to_bytes();
        let mut packs = BTreeSet::new();
        for (key, value) in self.store.kv.scan(Column::Packs, &prefix, None, usize::MAX)? {
            let Some(id) = key.last_chunk() else { continue };
            let record: PackRecord = decode(Column::Packs, &value)?;
            if record.is_erased {
                continue;
            }
            packs.insert(PackId::from_bytes(*id));
        }
        let head = match self.store.kv.get(Column::Heads, &prefix)? {
            Some(bytes) => Some(decode_head(&bytes)?),
            None => None,
        };
        Ok(LedgerState { head, packs })
    }

    fn fetch(&self, id: PackId, pack: &Path, index: &Path) -> Result<()> {
        let record = self.pack(id)?;
        let Some(object) = record.object else {
            // The index of a small pack is built from it.
            let missing = || Error::corrupt("repository", "the bytes of a pack are not in the records");
            let bytes = self.store.kv.get(Column::PackBytes, &self.pack_key(id))?.ok_or_else(missing)?;
            return replace(pack, &bytes).map_err(Error::io("write", pack));
        };
        self.download(&pack_object(&object), pack)?;
        self.download(&index_object(&object), index)
    }

    fn publish(&self, from: Option<CommitId>, to: CommitId, added: &[NewPack]) -> Result<()> {
        let mut batch = self.store.batch();
        batch.require_live_key(self.namespace.clone());
        self.add_packs(&mut batch, added)?;
        let head = self.namespace.id.to_bytes();
        batch.changes.expect(Column::Heads, head, from.map(|commit| commit.to_bytes().to_vec()));
        batch.changes.put(Column::Heads, head, to.to_bytes());
        match self.store.commit_synced(batch) {
            Err(Error::ConditionFailed { column: Column::Heads, .. }) => Err(Error::Conflict),
            written => written,
        }
    }

    fn replace(&self, removed: &[PackId], added: &[NewPack]) -> Result<()> {
        let mut batch = self.store.batch();
        batch.require_live_key(self.namespace.clone());
        self.remove_packs(&mut batch, removed);
        self.add_packs(&mut batch, added)?;
        self.store.commit_synced(batch)
    }

    fn erase(&self, removed: &[PackId]) -> Result<()> {
        // Nobody fetches a marked pack, so a node that ends after the deletion of an object leaves no damage. As long as
        // the records are there, the erasure is repeated.
        let mut objects = Vec::new();
        let mut marks = self.store.batch();
        marks.require_live_key(self.namespace.clone());
        for id in removed {
            let key = self.pack_key(*id);
            let record: Option<PackRecord> = self.store.get_record(Column::Packs, &key)?;
            let Some(record) = record else { continue };
            objects.extend(record.object.clone());
            marks.changes.put(Column::Packs, key.clone(), encode(&PackRecord { is_erased: true, ..record })?);
            marks.changes.delete(Column::PackBytes, key);
        }
        self.store.commit_synced(marks)?;
        for object in objects {
            self.bucket.delete(&pack_object(&object))?;
            self.bucket.delete(&index_object(&object))?;
        }
        let mut batch = self.store.batch();
        batch.require_live_key(self.namespace.clone());
        self.remove_packs(&mut batch, removed);
        self.store.commit_synced(batch)
    }
}

impl Store {
    /// Returns the names of the objects that the packs of a namespace are in.
    pub fn pack_objects(&self, namespace: NamespaceId) -> Result<BTreeSet<String>> {
        let mut objects = BTreeSet::new();
        for (_, value) in self.kv.scan(Column::Packs, &namespace.to_bytes(), None, usize::MAX)? {
            let record: PackRecord = decode(Column::Packs, &value)?;
            if let Some(object) = record.object {
                objects.insert(pack_object(&object));
                objects.insert(index_object(&object));
            }
        }
        Ok(objects)
    }
}

/// The directory of a namespace's packs in the bucket.
fn directory(namespace: NamespaceId) -> String {
    format!("packs/{namespace}/")
}

fn pack_object(object: &str) -> String {
    format!("{object}.pack")
}

fn index_object(object: &str) -> String {
    format!("{object}.idx")
}

fn decode_head(bytes: &[u8]) -> Result<CommitId> {
    match bytes.try_into() {
        Ok(bytes) => Ok(CommitId::from_bytes(bytes)),
        Err(_) => Err(Error::corrupt(Column::Heads.name(), "not 20 bytes")),
    }
}
