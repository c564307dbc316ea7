//! Uploaded files: their bytes on disk, their records in the store, and addresses that open one for a while.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::hmac;
use cuebase_storage::Store;
use cuebase_storage::records::{MediaRecord, NamespaceId, NamespaceRecord};
use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use jiff::Timestamp;
use ulid::Ulid;

use super::Service;
use crate::error::{Error, Result};
use crate::file_errors::explained;
use crate::secrets::random_secret;

/// An address opens a file for so long: 15 minutes.
pub const LIFETIME_SECONDS: i64 = 15 * 60;
/// The ending of a file that is being written.
const UNFINISHED: &str = "new";
/// A file that no record knows is removed when it is that old.
const SWEPT_AFTER_SECONDS: u64 = 3600;

/// Where the bytes are, and the key that signs addresses.
pub struct MediaStore {
    folder: PathBuf,
    key: hmac::Key,
}

impl MediaStore {
    /// Opens the folder with the data directory's key, made the first time.
    pub(super) fn open(folder: &Path, store: &Arc<Store>) -> anyhow::Result<Self> {
        let secret = store.secret("media", random_secret)?;
        anyhow::ensure!(!secret.is_empty(), "no random bytes for the key that signs addresses of media");
        fs::create_dir_all(folder).map_err(explained("create", folder))?;
        Ok(Self { folder: folder.to_path_buf(), key: hmac::Key::new(hmac::HMAC_SHA256, &secret) })
    }

    /// The signature of an address.
    pub fn sign(&self, id: Ulid, expires: i64) -> String {
        BASE64URL_NOPAD.encode(hmac::sign(&self.key, &message(id, expires)).as_ref())
    }

    /// Whether an address opens a file now.
    pub fn verify(&self, id: Ulid, expires: i64, signature: &str, now: Timestamp) -> bool {
        let signature = BASE64URL_NOPAD.decode(signature.as_bytes()).unwrap_or_default();
        now.as_second() < expires && hmac::verify(&self.key, &message(id, expires), &signature).is_ok()
    }

    /// Where the files of a namespace are.
    pub(crate) fn folder(&self, namespace: NamespaceId) -> PathBuf {
        self.folder.join(namespace.to_string())
    }

    /// Where a file's bytes are.
    pub(crate) fn path(&self, namespace: NamespaceId, id: Ulid) -> PathBuf {
        self.folder(namespace).join(id.to_string())
    }

    /// Puts the bytes on disk, whole or not at all.
    fn write(&self, namespace: NamespaceId, id: Ulid, bytes: &[u8]) -> std::io::Result<()> {
        let folder = self.folder(namespace);
        if !folder.exists() {
            fs::create_dir_all(&folder)?;
            File::open(&self.folder)?.sync_all()?;
        }
        let path = self.path(namespace, id);
        let temporary = path.with_extension(UNFINISHED);
        let written = write_synced(&temporary, bytes).and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            // A file that did not fit would fill the disk for nothing.
            let _ = fs::remove_file(&temporary);
        }
        written?;
        File::open(&folder)?.sync_all()
    }

    /// Moves files of format 1, which lay in one folder, to where this format has them. Can be repeated.
    pub(super) fn move_former_files(&self, records: &[MediaRecord]) -> Result<()> {
        for record in records {
            let former = self.folder.join(record.id.to_string());
            fs::create_dir_all(self.folder(record.namespace_id))?;
            match fs::rename(&former, self.path(record.namespace_id, record.id)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn message(id: Ulid, expires: i64) -> Vec<u8> {
    format!("{id} {expires}").into_bytes()
}

impl Service {
    /// Keeps a file: durable when this returns.
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
        let kept = self.media.write(namespace.id, record.id, bytes).map_err(Error::from);
        let kept = kept.and_then(|()| Ok(self.store.put_media(namespace, &record)?));
        if let Err(failure) = kept {
            return Err(self.withdraw_file(namespace, record.id, failure));
        }
        permit.charge();
        Ok(record)
    }

    /// Removes the bytes of an upload that failed, and says why it did: a namespace that is deleted meanwhile takes its
    /// folder away from under an upload.
    fn withdraw_file(&self, namespace: &NamespaceRecord, id: Ulid, failure: Error) -> Error {
        let _ = fs::remove_file(self.media.path(namespace.id, id));
        match self.store.is_live(&namespace.account, &namespace.name, namespace.id) {
            Ok(false) => {
                // Empty, unless the removal is still at it.
                let _ = fs::remove_dir(self.media.folder(namespace.id));
                Error::namespace_deleted()
            }
            Ok(true) | Err(_) => failure,
        }
    }

    /// A file's record.
    pub fn media_record(&self, account: &str, id: &str) -> Result<MediaRecord> {
        let found = id.parse().ok().map(|id| self.store.media(id)).transpose()?.flatten();
        let own = found.filter(|record| record.account == account);
        own.ok_or_else(|| Error::not_found("not_found", "there is no media with that id"))
    }

    /// The file that a signed address opens; none when it is expired or altered, or the file is gone.
    pub fn open_media(&self, id: &str, expires: &str, signature: &str) -> Result<Option<(MediaRecord, File)>> {
        let (Ok(id), Ok(expires)) = (id.parse::<Ulid>(), expires.parse::<i64>()) else { return Ok(None) };
        if !self.media.verify(id, expires, signature, Timestamp::now()) {
            return Ok(None);
        }
        let Some(record) = self.store.media(id)? else { return Ok(None) };
        let file = File::open(self.media.path(record.namespace_id, id))?;
        Ok(Some((record, file)))
    }

    /// Removes the bytes of files that no record knows: left by a crash.
    pub fn sweep_media(&self) -> Result<()> {
        for folder in fs::read_dir(&self.media.folder)?.flatten() {
            let Ok(files) = fs::read_dir(folder.path()) else { continue };
            for entry in files.flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let known = match name.parse::<Ulid>() {
                    Ok(id) => self.store.media(id)?.is_some(),
                    Err(_) => false,
                };
                // What is being written now has no record yet.
                let age = entry.metadata().and_then(|data| data.modified()).ok().and_then(|at| at.elapsed().ok());
                if !known && age.is_some_and(|age| age.as_secs() > SWEPT_AFTER_SECONDS) {
                    fs::remove_file(entry.path())?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_opens_one_file_until_it_expires() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let store = Arc::new(Store::open(&folder.path().join("records")).expect("opens"));
        let media = MediaStore::open(&folder.path().join("media"), &store).expect("opens");
        let now = Timestamp::from_second(1_000_000).expect("a time");
        let (id, other) = (Ulid::from(7), Ulid::from(8));
        let signature = media.sign(id, 1_000_900);
        assert!(media.verify(id, 1_000_900, &signature, now));
        let later = Timestamp::from_second(1_000_900).expect("a time");
        assert!(!media.verify(id, 1_000_900, &signature, later));
        assert!(!media.verify(id, 1_009_000, &signature, now));
        assert!(!media.verify(other, 1_000_900, &signature, now));
        assert!(!media.verify(id, 1_000_900, "", now));
    }
}
