//! Uploaded files: upload, and access by signed URL. `media_sweep.rs` removes files without a record.

use std::sync::Arc;

use bytes::Bytes;
use cuebase_storage::records::{MediaRecord, NamespaceRecord};
use cuebase_storage::{AccountId, Store};
use data_encoding::HEXLOWER;
use ulid::Ulid;

use super::media_content::MediaContent;
use super::media_store::MediaStore;
use super::shared_parts::SharedParts;
use crate::billing::Billing;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::namespace::ids::Ids;
use crate::sha256::sha256;

/// Lifetime of a signed URL: 15 minutes.
pub const URL_LIFETIME_SECONDS: i64 = 15 * 60;

/// The uploaded files of all accounts.
pub struct Media {
    /// The open records.
    pub(super) store: Arc<Store>,
    /// The files, and the key that signs URLs.
    pub(super) files: Arc<MediaStore>,
    /// Limits the stored bytes.
    pub(super) billing: Arc<Billing>,
    /// Source of ids.
    pub(super) ids: Arc<Ids>,
    /// Base URL of the API in signed URLs; `None` takes the address that the caller used.
    pub(super) public_url: Option<String>,
    /// The clock by which URLs expire.
    pub(super) clock: Clock,
}

impl Media {
    /// Makes the part of an open data directory.
    pub(crate) fn new(shared: &SharedParts, public_url: Option<String>) -> Self {
        Self {
            store: Arc::clone(&shared.store),
            files: Arc::clone(&shared.media_files),
            billing: Arc::clone(&shared.billing),
            ids: Arc::clone(&shared.ids),
            public_url,
            clock: shared.clock.clone(),
        }
    }

    /// Stores a file. It is durable when this returns.
    pub fn upload(
        &self,
        namespace: &NamespaceRecord,
        content_type: String,
        filename: Option<String>,
        bytes: &Bytes,
    ) -> Result<MediaRecord> {
        self.store.require_owned(&namespace.key())?;
        let permit = self.billing.reserve_media(&namespace.account, bytes.len() as u64)?;
        let record = MediaRecord {
            id: self.ids.fresh(namespace.id),
            account: namespace.account.clone(),
            namespace: namespace.name.clone(),
            namespace_id: namespace.id,
            content_type,
            filename,
            bytes: bytes.len() as u64,
            sha256: HEXLOWER.encode(&sha256(&[bytes])),
        };
        if let Err(error) = self.store_file(namespace, &record, bytes) {
            return Err(self.withdraw_file(namespace, record.id, error));
        }
        permit.charge();
        Ok(record)
    }

    fn store_file(&self, namespace: &NamespaceRecord, record: &MediaRecord, bytes: &Bytes) -> Result<()> {
        self.files.files().write(namespace.id, record.id, bytes)?;
        let mut batch = self.store.batch();
        batch.put_media(record)?;
        Ok(self.store.commit_synced(batch)?)
    }

    /// Removes the file of a failed upload, and returns the error for the caller. If the namespace was deleted in the
    /// meantime, its files disappeared during the upload, and that is the error.
    fn withdraw_file(&self, namespace: &NamespaceRecord, id: Ulid, error: Error) -> Error {
        let files = self.files.files();
        files.withdraw(namespace.id, id);
        match self.store.is_live(namespace.id) {
            Ok(false) => {
                files.withdraw_from_deleted(namespace.id, id);
                Error::NamespaceGone
            }
            Ok(true) | Err(_) => error,
        }
    }

    /// Returns the record of a file.
    pub fn record(&self, account: &AccountId, id: &str) -> Result<MediaRecord> {
        if let Ok(id) = id.parse()
            && let Some(record) = self.store.media(id)?
            && record.account == *account
        {
            return Ok(record);
        }
        Err(Error::not_found(ErrorCode::NotFound, "no media has that id"))
    }

    /// Returns a signed URL of a file, and the time in seconds since the epoch at which it expires. `host` is the
    /// address that the caller used.
    pub fn signed_url(&self, record: &MediaRecord, host: &str) -> (String, i64) {
        let expires = self.clock.now().as_second() + URL_LIFETIME_SECONDS;
        let signature = self.files.sign(record.id, expires);
        let base = match &self.public_url {
            Some(url) => url.clone(),
            None => format!("http://{host}"),
        };
        (format!("{base}/v1/media/{}/content?expires={expires}&signature={signature}", record.id), expires)
    }

    /// Opens the file of a signed URL. Returns `None` if the URL is expired or altered, or if the file does not exist.
    pub fn open(&self, id: &str, expires: &str, signature: &str) -> Result<Option<(MediaRecord, MediaContent)>> {
        let (Ok(id), Ok(expires)) = (id.parse::<Ulid>(), expires.parse::<i64>()) else { return Ok(None) };
        if !self.files.verify(id, expires, signature, self.clock.now()) {
            return Ok(None);
        }
        let Some(record) = self.store.media(id)? else { return Ok(None) };
        let content = self.files.files().open(&record)?;
        Ok(Some((record, content)))
    }
}
