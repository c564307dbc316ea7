//! Records of uploaded files. The bytes of each upload are in a separate file.

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::namespaces::NamespaceRecord;
use super::namespaces::key;
use super::store::{Store, decode, encode};
use crate::error::Result;
use crate::identity::{AccountId, NamespaceId, NamespaceName};
use crate::key_value::{Batch, Column};

/// The record of an uploaded file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaRecord {
    /// The media id.
    pub id: Ulid,
    /// The owning account.
    pub account: AccountId,
    /// The namespace of the file.
    pub namespace: NamespaceName,
    /// The id of the namespace.
    pub namespace_id: NamespaceId,
    /// Content type, as given by the uploader.
    pub content_type: String,
    /// File name, as given by the uploader.
    pub filename: Option<String>,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of the bytes, hex.
    pub sha256: String,
}

impl Store {
    /// Returns the record of an uploaded file. `None` if it is missing or its namespace was deleted.
    pub fn media(&self, id: Ulid) -> Result<Option<MediaRecord>> {
        let Some(record) = self.get_record::<MediaRecord>(Column::Media, &id.to_bytes())? else { return Ok(None) };
        let is_live = self.is_live(&record.account, &record.namespace, record.namespace_id)?;
        Ok(if is_live { Some(record) } else { None })
    }

    /// Records an uploaded file whose bytes are on disk. The record is durable on return.
    pub fn put_media(&self, namespace: &NamespaceRecord, record: &MediaRecord) -> Result<()> {
        let generation = self.kv.generation();
        let mut batch = Batch::new();
        batch.put(Column::Media, record.id.to_bytes(), encode(record)?);
        batch.put(Column::MediaByNamespace, key(record.namespace_id, &record.id.to_bytes()), "");
        self.record_id(&mut batch, record.id);
        self.write_if_live(namespace, &batch)?;
        self.kv.sync_since(generation)
    }

    /// Returns the records of a namespace's files, also of a deleted namespace that is not fully removed yet. Logs and
    /// omits records that cannot be decoded.
    pub fn media_of_namespace(&self, namespace: NamespaceId) -> Result<Vec<MediaRecord>> {
        let prefix = namespace.to_bytes();
        let mut records = Vec::new();
        for (found, _) in self.kv.scan(Column::MediaByNamespace, &prefix, None, usize::MAX)? {
            if let Some(bytes) = self.kv.get(Column::Media, &found[prefix.len()..])? {
                match decode(Column::Media, &bytes) {
                    Ok(record) => records.push(record),
                    Err(error) => tracing::error!(%error, "cannot decode the record of an uploaded file"),
                }
            }
        }
        Ok(records)
    }
}
