//! Uploaded files: upload, access by signed URL, and removal of files without a record.

use std::fs::{self, DirEntry, File};
use std::sync::Arc;
use std::time::Duration;

use cuebase_storage::records::{MediaRecord, NamespaceRecord};
use cuebase_storage::{AccountId, Store};
use data_encoding::HEXLOWER;
use ulid::Ulid;

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
/// A file without a record is removed if it is older than this. Younger files may be uploads in progress.
const UNRECORDED_AGE_MAX_SECONDS: u64 = 3600;

/// The uploaded files of all accounts.
pub struct Media {
    /// The open records.
    pub(super) store: Arc<Store>,
    /// The folder of the files, and the key that signs URLs.
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
        bytes: &[u8],
    ) -> Result<MediaRecord> {
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

    fn store_file(&self, namespace: &NamespaceRecord, record: &MediaRecord, bytes: &[u8]) -> Result<()> {
        self.files.write(namespace.id, record.id, bytes)?;
        let mut batch = self.store.batch();
        batch.put_media(record)?;
        Ok(self.store.commit_synced(batch)?)
    }

    /// Removes the file of a failed upload, and returns the error for the caller. If the namespace was deleted in the
    /// meantime, its folder disappeared during the upload, and that is the error.
    fn withdraw_file(&self, namespace: &NamespaceRecord, id: Ulid, error: Error) -> Error {
        let _ = fs::remove_file(self.files.path(namespace.id, id));
        match self.store.is_live(namespace.id) {
            Ok(false) => {
                // The folder is empty, unless the deletion of the namespace is still running.
                let _ = fs::remove_dir(self.files.folder(namespace.id));
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
    pub fn open(&self, id: &str, expires: &str, signature: &str) -> Result<Option<(MediaRecord, File)>> {
        let (Ok(id), Ok(expires)) = (id.parse::<Ulid>(), expires.parse::<i64>()) else { return Ok(None) };
        if !self.files.verify(id, expires, signature, self.clock.now()) {
            return Ok(None);
        }
        let Some(record) = self.store.media(id)? else { return Ok(None) };
        let file = File::open(self.files.path(record.namespace_id, id))?;
        Ok(Some((record, file)))
    }

    /// Removes files without a record, which a crash left behind.
    pub fn sweep(&self) -> Result<()> {
        for folder in fs::read_dir(self.files.root())?.flatten() {
            let Ok(files) = fs::read_dir(folder.path()) else { continue };
            for entry in files.flatten() {
                if !self.has_record(&entry)? && is_old(&entry) {
                    fs::remove_file(entry.path())?;
                }
            }
        }
        Ok(())
    }

    fn has_record(&self, file: &DirEntry) -> Result<bool> {
        match file.file_name().to_string_lossy().parse::<Ulid>() {
            Ok(id) => Ok(self.store.media(id)?.is_some()),
            Err(_) => Ok(false),
        }
    }
}

/// Returns whether a file is old enough to be removed; false if its age is unknown.
fn is_old(file: &DirEntry) -> bool {
    file_age(file).is_ok_and(|age| age.as_secs() > UNRECORDED_AGE_MAX_SECONDS)
}

fn file_age(file: &DirEntry) -> anyhow::Result<Duration> {
    Ok(file.metadata()?.modified()?.elapsed()?)
}
