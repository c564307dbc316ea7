//! What is known of an uploaded file; its bytes are in a file of their own.

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::namespaces::key;
use super::{NamespaceId, NamespaceRecord, Store, decode, encode};
use crate::error::Result;
use crate::key_value::{Batch, Column};

/// An uploaded file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaRecord {
    /// Its id.
    pub id: Ulid,
    /// The owning account.
    pub account: String,
    /// The namespace that it belongs to.
    pub namespace: String,
    /// That namespace's identity.
    pub namespace_id: NamespaceId,
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
    /// An uploaded file by its id; none where its namespace was deleted.
    pub fn media(&self, id: Ulid) -> Result<Option<MediaRecord>> {
        let Some(bytes) = self.kv.get(Column::Media, &id.to_bytes())? else { return Ok(None) };
        let record: MediaRecord = decode(Column::Media, &bytes)?;
        let live = self.is_live(&record.account, &record.namespace, record.namespace_id)?;
        Ok(Some(record).filter(|_| live))
    }

    /// Records an uploaded file whose bytes are on disk. Durable when this returns.
    pub fn put_media(&self, namespace: &NamespaceRecord, record: &MediaRecord) -> Result<()> {
        let opening = self.kv.opening();
        let mut batch = Batch::new();
        batch.put(Column::Media, record.id.to_bytes(), encode(record)?);
        batch.put(Column::MediaByNamespace, key(record.namespace_id, &record.id.to_bytes()), "");
        self.note_id(&mut batch, record.id);
        self.write_live(namespace, &batch)?;
        self.kv.sync_since(opening)
    }

    /// The records of a namespace's files, also of one that was deleted and not removed yet.
    pub fn media_of(&self, namespace: NamespaceId) -> Result<Vec<MediaRecord>> {
        let prefix = namespace.to_bytes();
        let mut records = Vec::new();
        for (found, _) in self.kv.scan(Column::MediaByNamespace, &prefix, None, usize::MAX)? {
            if let Some(bytes) = self.kv.get(Column::Media, &found[prefix.len()..])? {
                match decode(Column::Media, &bytes) {
                    Ok(record) => records.push(record),
                    Err(error) => tracing::error!(%error, "the record of a file cannot be decoded"),
                }
            }
        }
        Ok(records)
    }
}
