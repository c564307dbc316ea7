//! Uploaded files: their bytes on disk, their records in the store, and addresses that open one for a while.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::hmac;
use cuebase_storage::Store;
use cuebase_storage::records::{MediaRecord, NamespaceRecord};
use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use jiff::Timestamp;
use ulid::Ulid;

use super::Service;
use super::error::{Failure, Outcome};

/// An address opens a file for so long: 15 minutes.
pub const LIFETIME_SECONDS: i64 = 15 * 60;

/// Where the bytes are, and the key that signs addresses.
pub struct MediaStore {
    folder: PathBuf,
    key: hmac::Key,
}

impl MediaStore {
    /// Opens the folder with the data directory's key, made the first time.
    pub(super) fn open(folder: &Path, store: &Arc<Store>) -> anyhow::Result<Self> {
        let secret = store.secret("media", super::random_secret)?;
        anyhow::ensure!(!secret.is_empty(), "no random bytes for the key that signs addresses of media");
        fs::create_dir_all(folder)?;
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

    /// Where a file's bytes are.
    pub(crate) fn path(&self, id: Ulid) -> PathBuf {
        self.folder.join(id.to_string())
    }

    /// Puts the bytes on disk, whole or not at all.
    fn write(&self, id: Ulid, bytes: &[u8]) -> std::io::Result<()> {
        let path = self.path(id);
        let temporary = path.with_extension("new");
        let mut file = fs::File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, &path)?;
        fs::File::open(&self.folder)?.sync_all()
    }
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
    ) -> Outcome<MediaRecord> {
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
        let record = MediaRecord {
            id: self.fresh_id(),
            account: namespace.account.clone(),
            namespace: namespace.name.clone(),
            content_type,
            filename,
            bytes: bytes.len() as u64,
            sha256: HEXLOWER.encode(digest.as_ref()),
        };
        self.media.write(record.id, bytes)?;
        self.store.put_media(&record)?;
        Ok(record)
    }

    /// A file's record.
    pub fn media_record(&self, account: &str, id: &str) -> Outcome<MediaRecord> {
        let found = id.parse().ok().map(|id| self.store.media(id)).transpose()?.flatten();
        let own = found.filter(|record| record.account == account);
        own.ok_or_else(|| Failure::not_found("not_found", "there is no media with that id"))
    }

    /// The file that a signed address opens; none when it is expired or altered, or the file is gone.
    pub fn open_media(&self, id: &str, expires: &str, signature: &str) -> Outcome<Option<(MediaRecord, Vec<u8>)>> {
        let (Ok(id), Ok(expires)) = (id.parse::<Ulid>(), expires.parse::<i64>()) else { return Ok(None) };
        if !self.media.verify(id, expires, signature, Timestamp::now()) {
            return Ok(None);
        }
        let Some(record) = self.store.media(id)? else { return Ok(None) };
        let bytes = fs::read(self.media.path(id))?;
        Ok(Some((record, bytes)))
    }

    /// Removes a namespace for good, with everything in it. False when there is none.
    pub fn delete_namespace(&self, account: &str, name: &str) -> Outcome<bool> {
        let files = self.store.media_ids(account, name)?;
        let deleted = self.namespaces.delete(account, name)?;
        for id in files.into_iter().filter(|_| deleted) {
            match fs::remove_file(self.media.path(id)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(deleted)
    }

    /// Removes the bytes of files that no record knows: left by a crash.
    pub fn sweep_media(&self) -> Outcome<()> {
        for entry in fs::read_dir(&self.media.folder)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let known = match name.parse::<Ulid>() {
                Ok(id) => self.store.media(id)?.is_some(),
                Err(_) => false,
            };
            // What is being written now has no record yet.
            let age = entry.metadata().and_then(|data| data.modified()).ok().and_then(|at| at.elapsed().ok());
            if !known && age.is_some_and(|age| age.as_secs() > 3600) {
                fs::remove_file(entry.path())?;
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
