//! Records of uploaded files. The bytes of each upload are in a separate file.

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::batch::RecordBatch;
use super::namespaces::key;
use super::store::{Store, decode, encode};
use crate::error::Result;
use crate::identity::{AccountId, NamespaceId, NamespaceKey, NamespaceName};
use crate::key_value::Column;

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
        Ok(if self.is_live(record.namespace_id)? { Some(record) } else { None })
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

impl RecordBatch<'_> {
    /// Records an uploaded file whose bytes are on disk. The batch requires the namespace of the file to exist.
    pub fn put_media(&mut self, record: &MediaRecord) -> Result<()> {
        let (account, name) = (record.account.clone(), record.namespace.clone());
        self.require_live_key(NamespaceKey { account, name, id: record.namespace_id });
        let id = record.id.to_bytes();
        self.changes.put(Column::Media, id, encode(record)?);
        self.changes.put(Column::MediaByNamespace, key(record.namespace_id, &id), "");
        self.assign_id(record.namespace_id, record.id);
        Ok(())
    }
}
