//! What is known of an uploaded file; its bytes are in a file of their own.

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::{Store, decode, encode};
use crate::error::Result;
use crate::key_value::columns::{below, prefix};
use crate::key_value::{Batch, Column, Durability};

/// An uploaded file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaRecord {
    /// Its id.
    pub id: Ulid,
    /// The owning account.
    pub account: String,
    /// The namespace that it belongs to.
    pub namespace: String,
    /// As the uploader said.
    pub content_type: String,
    /// As the uploader said.
    pub filename: Option<String>,
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of the bytes, hex.
    pub sha256: String,
}

impl Store {
    /// An uploaded file by its id.
    pub fn media(&self, id: Ulid) -> Result<Option<MediaRecord>> {
        let found = self.kv.get(Column::Media, &id.to_bytes())?;
        found.map(|bytes| decode(Column::Media, &bytes)).transpose()
    }

    /// Records an uploaded file whose bytes are on disk.
    pub fn put_media(&self, record: &MediaRecord) -> Result<()> {
        let mut batch = Batch::new();
        batch.put(Column::Media, record.id.to_bytes(), encode(record)?);
        batch.put(Column::MediaByNamespace, below(&[&record.account, &record.namespace], &record.id.to_bytes()), "");
        self.kv.write(&batch, Durability::Synced)
    }

    /// The ids of a namespace's files.
    pub fn media_ids(&self, account: &str, namespace: &str) -> Result<Vec<Ulid>> {
        let prefix = prefix(&[account, namespace]);
        let entries = self.kv.scan(Column::MediaByNamespace, &prefix, None, usize::MAX)?;
        let id = |key: &[u8]| key.try_into().ok().map(Ulid::from_bytes);
        Ok(entries.iter().filter_map(|(key, _)| id(&key[prefix.len()..])).collect())
    }

    /// Takes a namespace's files out of the records, in a batch.
    pub(super) fn drop_media(&self, batch: &mut Batch, account: &str, namespace: &str) -> Result<()> {
        let prefix = prefix(&[account, namespace]);
        for (key, _) in self.kv.scan(Column::MediaByNamespace, &prefix, None, usize::MAX)? {
            batch.delete(Column::Media, &key[prefix.len()..]);
            batch.delete(Column::MediaByNamespace, key);
        }
        Ok(())
    }
}
