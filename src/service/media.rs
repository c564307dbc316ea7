//! Uploaded files: upload, access by signed URL, and removal of files without a record.

use std::fs::{self, DirEntry, File};
use std::time::Duration;

use cuebase_storage::AccountId;
use cuebase_storage::records::{MediaRecord, NamespaceRecord};
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use ulid::Ulid;

use super::Service;
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;

/// Lifetime of a signed URL: 15 minutes.
pub const URL_LIFETIME_SECONDS: i64 = 15 * 60;
/// A file without a record is removed if it is older than this. Younger files may be uploads in progress.
const UNRECORDED_AGE_MAX_SECONDS: u64 = 3600;

impl Service {
    /// Stores a file. It is durable when this returns.
    pub fn upload(
        &self,
        namespace: &NamespaceRecord,
        content_type: String,
        filename: Option<String>,
        bytes: &[u8],
    ) -> Result<MediaRecord> {
        let permit = self.billing.reserve_media(&namespace.account, bytes.len() as u64)?;
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
        let record = MediaRecord {
            id: self.ids.fresh(),
            account: namespace.account.clone(),
            namespace: namespace.name.clone(),
            namespace_id: namespace.id,
            content_type,
            filename,
            bytes: bytes.len() as u64,
            sha256: HEXLOWER.encode(digest.as_ref()),
        };
        if let Err(error) = self.store_file(namespace, &record, bytes) {
            return Err(self.withdraw_file(namespace, record.id, error));
        }
        permit.charge();
        Ok(record)
    }

    fn store_file(&self, namespace: &NamespaceRecord, record: &MediaRecord, bytes: &[u8]) -> Result<()> {
        self.media.write(namespace.id, record.id, bytes)?;
        Ok(self.store.put_media(namespace, record)?)
    }

    /// Removes the file of a failed upload, and returns the error for the caller. If the namespace was deleted in the
    /// meantime, its folder disappeared during the upload, and that is the error.
    fn withdraw_file(&self, namespace: &NamespaceRecord, id: Ulid, error: Error) -> Error {
        let _ = fs::remove_file(self.media.path(namespace.id, id));
        match self.store.is_live(&namespace.account, &namespace.name, namespace.id) {
            Ok(false) => {
                // The folder is empty, unless the deletion of the namespace is still running.
                let _ = fs::remove_dir(self.media.folder(namespace.id));
                Error::NamespaceGone
            }
            Ok(true) | Err(_) => error,
        }
    }

    /// Returns the record of a file.
    pub fn media_record(&self, account: &AccountId, id: &str) -> Result<MediaRecord> {
        if let Ok(id) = id.parse()
            && let Some(record) = self.store.media(id)?
            && record.account == *account
        {
            return Ok(record);
        }
        Err(Error::not_found(ErrorCode::NotFound, "no media has that id"))
    }

    /// Opens the file of a signed URL. Returns `None` if the URL is expired or altered, or if the file does not exist.
    pub fn open_media(&self, id: &str, expires: &str, signature: &str) -> Result<Option<(MediaRecord, File)>> {
        let (Ok(id), Ok(expires)) = (id.parse::<Ulid>(), expires.parse::<i64>()) else { return Ok(None) };
        if !self.media.verify(id, expires, signature, Timestamp::now()) {
            return Ok(None);
        }
        let Some(record) = self.store.media(id)? else { return Ok(None) };
        let file = File::open(self.media.path(record.namespace_id, id))?;
        Ok(Some((record, file)))
    }

    /// Removes files without a record, which a crash left behind.
    pub fn sweep_media(&self) -> Result<()> {
        for folder in fs::read_dir(self.media.root())?.flatten() {
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
